//! Communicators of all ranks, joined by their identity.

use std::collections::HashMap;

use otf2_writer::{
    CommRef, Communicator, Definitions, Group, GroupMembers, GroupRef, InterCommunicator, Paradigm,
};

use mel_log::{Members, RankLog};

/// The communicators of a run.
#[derive(Debug, Default)]
pub(super) struct Communicators {
    /// For the log at each position: the communicator of each index, and how many peers it has.
    ranks: Vec<HashMap<u16, (CommRef, u32)>>,
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
    /// Defines the communicators of all logs, each once. One whose members lie outside of the world
    /// is damage, and left out.
    pub(super) fn define(definitions: &mut Definitions, logs: &[RankLog], world: u32) -> Communicators {
        let mut known: HashMap<Key, CommRef> = HashMap::new();
        let mut groups: HashMap<Vec<u32>, GroupRef> = HashMap::new();
        let mut selves: HashMap<&str, CommRef> = HashMap::new();
        let mut self_group = None;
        let mut ranks = Vec::new();
        for log in logs {
            let mut indices = HashMap::new();
            for (index, communicator) in &log.definitions.communicators {
                let remote = communicator.remote.as_ref().map(|remote| ranks_of(remote, world));
                let (Some(members), Some(remote)) =
                    (ranks_of(&communicator.members, world), remote.map_or(Some(None), |r| r.map(Some)))
                else {
                    continue;
                };
                let peers = remote.as_ref().unwrap_or(&members).len() as u32;
                let name = communicator.name.as_str();
                let comm = if members.len() == 1 && remote.is_none() {
                    // Each process has such communicators of its own; a reader sees one of each name.
                    let group =
                        *self_group.get_or_insert_with(|| group_of(definitions, GroupMembers::CommSelf));
                    *selves.entry(name).or_insert_with(|| define(definitions, name, group))
                } else {
                    let mut group = |members: &Vec<u32>| match groups.get(members) {
                        Some(group) => *group,
                        None => {
                            let group = group_of(definitions, GroupMembers::CommGroup(members));
                            groups.insert(members.clone(), group);
                            group
                        }
                    };
                    let pair = (group(&members), remote.as_ref().map(&mut group));
                    *known.entry(key(communicator.context, members, remote)).or_insert_with(|| match pair {
                        (group, None) => define(definitions, name, group),
                        (local, Some(remote)) => definitions.inter_communicator(InterCommunicator {
                            name,
                            groups: (local, remote),
                            common: None,
                            create_destroy_events: false,
                        }),
                    })
                };
                indices.insert(*index, (comm, peers));
            }
            ranks.push(indices);
        }
        Communicators { ranks }
    }

    /// The communicator of this index in the log at a position, if it is known.
    pub(super) fn of(&self, position: usize, object: u16) -> Option<CommRef> {
        Some(self.ranks.get(position)?.get(&object)?.0)
    }

    /// Communicator and peer of a message in the log at a position, if both are known.
    pub(super) fn target(&self, position: usize, object: u16, peer: i32) -> Option<Target> {
        let (comm, peers) = *self.ranks.get(position)?.get(&object)?;
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

fn group_of(definitions: &mut Definitions, members: GroupMembers<'_>) -> GroupRef {
    definitions.group(Group { name: "", paradigm: Paradigm::Mpi, members })
}

fn define(definitions: &mut Definitions, name: &str, group: GroupRef) -> CommRef {
    definitions.communicator(Communicator { name, group, parent: None, create_destroy_events: false })
}
