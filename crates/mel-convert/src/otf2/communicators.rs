//! Communicators of all ranks, joined by their identity.

use std::collections::HashMap;

use otf2_writer::{CommRef, Communicator, Definitions, GroupRef, InterCommunicator};

use super::tables::Tables;
use mel_log::{Members, RankLog};

/// The communicators of a run.
#[derive(Debug, Default)]
pub(super) struct Communicators {
    /// Of the log at hand: the communicator of each index, and how many peers it has.
    of_log: HashMap<u16, (CommRef, u32)>,
    known: HashMap<Key, CommRef>,
    selves: HashMap<String, CommRef>,
}

/// Where a message went or came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) comm: CommRef,
    pub(super) peer: u32,
}

/// What makes two communicators one: identity and members, own side first or last.
type Key = (u64, Vec<u32>, Option<Vec<u32>>);

impl Communicators {
    /// Defines the communicators of a log, each once, and is then about this log. One whose members lie outside of the
    /// world is damage, and left out.
    pub(super) fn define(
        &mut self,
        definitions: &mut Definitions,
        tables: &mut Tables,
        (log, world): (&RankLog, u32),
    ) {
        let Communicators { of_log, known, selves } = self;
        of_log.clear();
        for (index, communicator) in &log.definitions.communicators {
            let remote = communicator.remote.as_ref().map(|remote| ranks_of(remote, world));
            let (Some(members), Some(remote)) =
                (ranks_of(&communicator.members, world), remote.map_or(Some(None), |r| r.map(Some)))
            else {
                continue;
            };
            let peers = remote.as_ref().unwrap_or(&members).len() as u32;
            let name = communicator.name.as_str();
            // Processes that define them by themselves know of the names of their own ranks, too.
            definitions.string(name);
            let comm = if members.len() == 1 && remote.is_none() {
                // Each process has such communicators of its own; a reader sees one of each name.
                let group = tables.group(definitions, &[]);
                *selves.entry(name.to_owned()).or_insert_with(|| define(definitions, name, group, None))
            } else {
                let key = key(communicator.context, members, remote);
                let mut group = |members: &Vec<u32>| tables.group(definitions, members);
                let pair = (group(&key.1), key.2.as_ref().map(&mut group));
                let identity = Some(communicator.context);
                *known.entry(key).or_insert_with(|| match pair {
                    (group, None) => define(definitions, name, group, identity),
                    (first, Some(second)) => definitions.inter_communicator(InterCommunicator {
                        name,
                        groups: (first, second),
                        common: None,
                        create_destroy_events: false,
                        identity,
                    }),
                })
            };
            of_log.insert(*index, (comm, peers));
        }
    }

    /// The communicator of this index, if it is known.
    pub(super) fn of(&self, object: u16) -> Option<CommRef> {
        Some(self.of_log.get(&object)?.0)
    }

    /// Communicator and peer of a message, if both are known.
    pub(super) fn target(&self, object: u16, peer: i32) -> Option<Target> {
        let (comm, peers) = *self.of_log.get(&object)?;
        let peer = u32::try_from(peer).ok()?;
        (peer < peers).then_some(Target { comm, peer })
    }
}

/// Both sides of an intercommunicator see the same one: the side with the lower members goes first.
fn key(context: u64, members: Vec<u32>, remote: Option<Vec<u32>>) -> Key {
    match remote {
        Some(remote) if remote < members => (context, remote, Some(members)),
        remote => (context, members, remote),
    }
}

/// The members as ranks of the world; none if one of them is not.
fn ranks_of(members: &Members, world: u32) -> Option<Vec<u32>> {
    if members.len() > world as usize {
        return None;
    }
    members.ranks().map(|rank| u32::try_from(rank).ok().filter(|rank| *rank < world)).collect()
}

fn define(definitions: &mut Definitions, name: &str, group: GroupRef, identity: Option<u64>) -> CommRef {
    let (parent, create_destroy_events) = (None, false);
    definitions.communicator(Communicator { name, group, parent, create_destroy_events, identity })
}
