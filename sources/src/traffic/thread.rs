//! What a thread keeps at hand: the rows that it has used last, sizes of datatypes, and what communicators are.
//!
//! Cost: one line of a cache for a message to a peer as before, one for the size of its datatype.

use mpi_abi::questions::{self, TypeSizes};
use mpi_abi::{Abi, Comm, Datatype, Handle};

use super::{Kind, Store, To};
use crate::communicators::ask_about;

/// Rows at hand: a power of two.
const ROWS: usize = 512;
/// Communicators at hand: a power of two.
const COMMUNICATORS: usize = 8;

/// A communicator, as collective operations see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Processes that data goes to: those of the other group, for an intercommunicator.
    pub(super) size: i32,
    /// The rank of this process.
    pub(super) rank: i32,
    pub(super) is_inter: bool,
}

/// The state of a thread.
#[derive(Debug)]
pub(super) struct Thread<R> {
    epoch: u64,
    rows: Box<[(To, Option<R>); ROWS]>,
    sizes: TypeSizes,
    groups: [(usize, Option<Group>); COMMUNICATORS],
    /// The persistent requests that the call under way starts.
    pub(super) starting: Vec<usize>,
}

/// What nothing is counted under.
const NOTHING: To = To { kind: Kind::Message, object: usize::MAX, peer: -1, root: -1, function: None };

impl<R: Copy> Default for Thread<R> {
    fn default() -> Self {
        Thread {
            epoch: 0,
            rows: Box::new([(NOTHING, None); ROWS]),
            sizes: TypeSizes::default(),
            groups: [(usize::MAX, None); COMMUNICATORS],
            starting: Vec::new(),
        }
    }
}

impl<R: Copy> Thread<R> {
    /// Forgets what was asked for in another epoch.
    #[inline(always)]
    pub(super) fn keep_up(&mut self, epoch: u64) {
        if self.epoch != epoch {
            self.forget(epoch);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.rows.fill((NOTHING, None));
        self.sizes = TypeSizes::default();
        self.groups = [(usize::MAX, None); COMMUNICATORS];
    }

    /// So many elements, in bytes.
    #[inline(always)]
    pub(super) fn size(&mut self, count: i64, datatype: Datatype) -> u64 {
        self.sizes.of(count, datatype)
    }

    /// Counts a message of so many bytes.
    #[inline(always)]
    pub(super) fn count<S: Store<Row = R>>(&mut self, store: &S, number: u16, to: To, bytes: u64) {
        let function = to.function.map_or(0, |function| function as usize + 1);
        let mixed = (to.object ^ (to.object >> 6)).wrapping_mul(31)
            ^ (to.peer as usize)
            ^ (to.root as usize).wrapping_mul(7)
            ^ function.wrapping_mul(13)
            ^ (to.kind as usize) << 7;
        let entry = &mut self.rows[mixed % ROWS];
        if entry.0 != to {
            *entry = (to, ask(store, number, to));
        }
        if let Some(row) = entry.1 {
            store.count(row, bytes);
        }
    }

    /// What a communicator is; `None` where MPI does not say.
    #[inline]
    pub(super) fn group(&mut self, abi: &Abi, comm: Comm) -> Option<Group> {
        let word = comm.word();
        let entry = &mut self.groups[(word ^ (word >> 6)) % COMMUNICATORS];
        if entry.0 != word {
            *entry = (word, ask_group(abi, comm));
        }
        entry.1
    }
}

#[cold]
#[inline(never)]
fn ask<S: Store>(store: &S, number: u16, to: To) -> Option<S::Row> {
    store.row(to, number)
}

#[cold]
#[inline(never)]
fn ask_group(abi: &Abi, comm: Comm) -> Option<Group> {
    ask_about(abi, comm, || {
        let is_inter = questions::comm_test_inter(comm)?;
        let size = if is_inter { questions::comm_remote_size(comm) } else { questions::comm_size(comm) }?;
        Ok(Group { size, rank: questions::comm_rank(comm)?, is_inter })
    })
}
