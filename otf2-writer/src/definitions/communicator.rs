//! Communicators, within one group or between two; windows for one-sided communication.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::refs::{CommRef, GroupRef, RmaWinRef, StringRef};

/// A communicator within one group.
#[derive(Clone, Copy, Debug)]
pub struct Communicator<'a> {
    /// Its name; empty: readers make one up.
    pub name: &'a str,
    /// Its group, of [`GroupMembers::CommGroup`](crate::GroupMembers::CommGroup) or `CommSelf`.
    pub group: GroupRef,
    /// The communicator that it was made from.
    pub parent: Option<CommRef>,
    /// Whether each member records `CommCreate` and `CommDestroy`.
    pub create_destroy_events: bool,
    /// What the processes that write the archive know it by: communicators of one identity and group are one, whatever
    /// their names, and those of several identities are several. Without one, those of the same name and group are one.
    pub identity: Option<u64>,
}

/// A communicator between two groups.
///
/// The Python reader of OTF2 3.0 fails on any archive that has one; libotf2 itself reads it.
#[derive(Clone, Copy, Debug)]
pub struct InterCommunicator<'a> {
    /// Its name; empty: readers make one up.
    pub name: &'a str,
    /// The two groups.
    pub groups: (GroupRef, GroupRef),
    /// The communicator through which the groups met, where it is known.
    pub common: Option<CommRef>,
    /// Whether each member records `CommCreate` and `CommDestroy`.
    pub create_destroy_events: bool,
    /// As that of a [`Communicator`]. The groups are in the same order in all processes.
    pub identity: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct CommRecord {
    pub(crate) name: StringRef,
    pub(crate) group: GroupRef,
    /// The second group of an intercommunicator.
    pub(crate) other_group: Option<GroupRef>,
    pub(crate) parent: Option<CommRef>,
    pub(crate) create_destroy_events: bool,
    pub(crate) identity: Option<u64>,
}

impl CommRecord {
    /// What makes two communicators one.
    pub(crate) fn key(&self) -> Self {
        let named = self.clone();
        match self.identity {
            Some(_) => Self { name: StringRef(0), parent: None, ..named },
            None => named,
        }
    }
}

impl Definitions {
    /// Defines a communicator. Parents are defined before their children.
    pub fn communicator(&mut self, comm: Communicator<'_>) -> CommRef {
        let Communicator { name, group, parent, create_destroy_events, identity } = comm;
        let name = self.string(name);
        self.comm(CommRecord { name, group, other_group: None, parent, create_destroy_events, identity })
    }

    /// Defines an intercommunicator.
    pub fn inter_communicator(&mut self, comm: InterCommunicator<'_>) -> CommRef {
        let InterCommunicator { name, groups: (group, other), common, create_destroy_events, identity } =
            comm;
        let name = self.string(name);
        let (other_group, parent) = (Some(other), common);
        self.comm(CommRecord { name, group, other_group, parent, create_destroy_events, identity })
    }

    fn comm(&mut self, record: CommRecord) -> CommRef {
        let reference = CommRef(next_number(&self.shared.communicators));
        self.shared.communicators.push(record);
        reference
    }
}

/// A window.
#[derive(Clone, Copy, Debug)]
pub struct RmaWindow<'a> {
    /// Its name; empty: readers make one up.
    pub name: &'a str,
    /// The communicator of its processes: ranks in the window are ranks in it.
    pub comm: CommRef,
    /// Whether each process records `RmaWinCreate` and `RmaWinDestroy`.
    pub create_destroy_events: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct RmaWinRecord {
    pub(crate) name: StringRef,
    pub(crate) comm: CommRef,
    pub(crate) create_destroy_events: bool,
}

impl Definitions {
    /// Defines a window.
    pub fn rma_window(&mut self, window: RmaWindow<'_>) -> RmaWinRef {
        let RmaWindow { name, comm, create_destroy_events } = window;
        let name = self.string(name);
        let reference = RmaWinRef(next_number(&self.shared.windows));
        self.shared.windows.push(RmaWinRecord { name, comm, create_destroy_events });
        reference
    }
}
