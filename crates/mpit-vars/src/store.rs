//! Where counts of messages come from: who counts implements [`Store`].

use std::collections::BTreeMap;

use crate::Error;
use crate::direct::Sent;

/// Bins of a histogram of sizes: bin 0 is for empty messages, bin `k + 1` for 2^k up to 2^(k+1) - 1 bytes.
pub const BINS: usize = 66;

/// What kind of communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Messages between two processes that the program sends.
    Message,
    /// One-sided, to the peer.
    Put,
    /// One-sided, from the peer.
    Get,
    /// Collective operations, by logical pairs.
    Collective,
}

/// What collective operations look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// From a root to all, counted at the root.
    OneToAll,
    /// From all to a root, counted at the root.
    AllToOne,
    /// From all to all, and all others.
    AllToAll,
}

/// A number of messages, or of operations, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub messages: u64,
    /// Bytes of all together.
    pub bytes: u64,
}

impl Amount {
    /// Both together. Wraps around.
    #[must_use]
    pub fn plus(self, other: Amount) -> Amount {
        Amount {
            messages: self.messages.wrapping_add(other.messages),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }

    /// What has come since.
    #[must_use]
    pub fn since(self, before: Amount) -> Amount {
        Amount {
            messages: self.messages.wrapping_sub(before.messages),
            bytes: self.bytes.wrapping_sub(before.bytes),
        }
    }
}

/// A communicator that handles can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Its identity: never that of another one, also after it was freed.
    pub id: u64,
    /// How many processes one can send to in it.
    pub size: usize,
}

/// What was counted. Counts only grow; they may wrap around. All methods are thread-safe and may take a lock.
pub trait Store: Send + Sync {
    /// The communicator with this handle; `None` where there is none, or MPI is not running.
    fn communicator(&self, handle: u64) -> Option<Communicator>;

    /// Begins to count, if nobody has asked before. A store that nobody has asked costs nothing.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot.
    fn begin(&self) -> Result<(), Error>;

    /// Gives rank in the communicator and amount of what this process has sent there, or got from there; a rank may come
    /// several times.
    fn by_peer(&self, communicator: u64, kind: Kind, each: &mut dyn FnMut(usize, Amount));

    /// The collective operations on a communicator.
    fn operations(&self, communicator: u64, shape: Shape) -> Amount;

    /// Messages that the program has sent to other processes, on all communicators, since [`begin`](Store::begin).
    fn sent(&self) -> Option<&'static Sent> {
        None
    }

    /// All that was counted.
    fn everything(&self) -> Everything;
}

/// What goes to one process, or comes from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// How much.
    pub amount: Amount,
    /// The histogram of sizes, in [`BINS`]; empty where there is none.
    pub sizes: Vec<u64>,
}

/// A communicator and its collective operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfCommunicator {
    /// Its name; empty for none.
    pub name: String,
    /// The ranks of its processes in `MPI_COMM_WORLD`.
    pub ranks: Vec<u32>,
    /// By [`Shape`], in its order.
    pub operations: [Amount; 3],
}

/// All that a process has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Everything {
    /// The rank of this process in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// By kind and the other process's rank in `MPI_COMM_WORLD`.
    pub peers: BTreeMap<(Kind, u32), Peer>,
    /// By identity.
    pub communicators: BTreeMap<u64, OfCommunicator>,
}

impl Everything {
    /// What has come since.
    #[must_use]
    pub fn since(mut self, before: &Everything) -> Everything {
        for (key, peer) in &mut self.peers {
            let Some(before) = before.peers.get(key) else { continue };
            peer.amount = peer.amount.since(before.amount);
            for (bin, before) in peer.sizes.iter_mut().zip(&before.sizes) {
                *bin = bin.wrapping_sub(*before);
            }
        }
        for (id, communicator) in &mut self.communicators {
            let Some(before) = before.communicators.get(id) else { continue };
            for (now, before) in communicator.operations.iter_mut().zip(before.operations) {
                *now = now.since(before);
            }
        }
        self
    }
}

/// The bin of a message of so many bytes.
#[must_use]
pub fn bin(bytes: u64) -> usize {
    match bytes.checked_ilog2() {
        None => 0,
        Some(power) => (power as usize + 1).min(BINS - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_the_bins_of_their_powers_of_two() {
        let bins: Vec<usize> = [0, 1, 2, 3, 4, 1023, 1024, u64::MAX].into_iter().map(bin).collect();
        assert_eq!(bins, [0, 1, 2, 2, 3, 10, 11, 64]);
    }
}
