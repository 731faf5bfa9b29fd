//! What the program's communicators are called, and which processes they have: asked once for all who define them.
//!
//! Cost: a duplicate has the processes of the communicator that it was made from, which are at hand as long as few others come between.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use mel_log::{Definition, Members};
use mpi_abi::{Comm, questions};
use mpit_sources::calls::{Communicator, Ob1Model};

/// A communicator, as definitions have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Described {
    /// Its identity.
    pub(crate) context: u64,
    /// Its name, or one that is made of its identity.
    pub(crate) name: String,
    groups: Groups,
}

/// The ranks in `MPI_COMM_WORLD` of its processes, and of those of a remote group.
pub(crate) type Groups = Arc<(Members, Option<Members>)>;

impl Described {
    /// A communicator of these processes.
    pub(crate) fn new(communicator: &Communicator, name: &str, groups: Groups) -> Described {
        Described { context: communicator.context, name: name.into(), groups }
    }

    /// Its definition under this number.
    pub(crate) fn definition(&self, index: u16) -> Definition {
        let (members, remote) = (*self.groups).clone();
        Definition::Communicator { index, context: self.context, name: self.name.clone(), members, remote }
    }

    /// The definition of a window under this number, the `before`-th of this communicator.
    pub(crate) fn window(&self, index: u16, before: u32) -> Definition {
        Definition::Communicator {
            index,
            // No communicator has it: those have 48 bits.
            context: self.context | u64::from(before.wrapping_add(1)) << 48,
            name: format!("window {before} of {}", self.name),
            members: self.groups.0.clone(),
            remote: None,
        }
    }
}

/// As many groups are at hand.
const AT_HAND: usize = 8;

/// By number; those that were used last come first.
static RECENT: Mutex<VecDeque<(u64, Groups)>> = Mutex::new(VecDeque::new());

/// What is to be known of a communicator. Where MPI may be asked about it; takes a short lock.
pub(crate) fn now(model: Ob1Model, communicator: &Communicator) -> Described {
    Described::new(communicator, &name(communicator), groups(model, communicator))
}

/// What MPI calls it; where that is nothing, a name made of its identity. Asks MPI.
pub(crate) fn name(communicator: &Communicator) -> String {
    let given = questions::comm_get_name(Comm(communicator.token.0 as usize));
    given.ok().filter(|name| !name.is_empty()).unwrap_or_else(|| made_of(communicator))
}

/// A name made of its identity.
pub(crate) fn made_of(communicator: &Communicator) -> String {
    mel_log::names::of_communicator(communicator.context)
}

/// Its processes. Where MPI may be asked; takes a short lock.
pub(crate) fn groups(model: Ob1Model, communicator: &Communicator) -> Groups {
    let groups = &mut *RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = groups.iter().position(|(number, _)| *number == communicator.group);
    let known = place.and_then(|place| groups.remove(place)).unwrap_or_else(|| {
        let members = |remote| Members::from_ranks(model.members(communicator.token, remote));
        (communicator.group, Arc::new((members(false), communicator.inter.then(|| members(true)))))
    });
    groups.truncate(AT_HAND - 1);
    groups.push_front(known.clone());
    known.1
}
