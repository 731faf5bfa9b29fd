//! The communicators that rows and handles are for: what MPI says of them, while it is running.

use std::io;

use hashbrown::HashMap;
use mpi_abi::{Abi, Comm, Family, Handle, Win, pmpi};
use mpit_events::{BindKind, Token, core};
use rustc_hash::FxBuildHasher;

use super::counts::{Counts, Group, WORLD};
use crate::calls::world_ranks;

/// The communicators that are there, by handle.
#[derive(Debug, Default)]
pub(super) struct Known {
    communicators: HashMap<usize, u64, FxBuildHasher>,
    /// The ranks in `MPI_COMM_WORLD` of the processes of windows.
    windows: HashMap<usize, Vec<i32>, FxBuildHasher>,
}

impl Known {
    /// The communicator of a handle. `None` where MPI does not say.
    pub(super) fn communicator(&mut self, abi: &Abi, counts: &mut Counts, handle: usize) -> Option<u64> {
        if let Some(&id) = self.communicators.get(&handle) {
            return Some(id);
        }
        let world = abi.constants.comm_world.word();
        // The world is the first one.
        if handle != world && counts.group(WORLD).is_none() {
            self.communicator(abi, counts, world)?;
        }
        let comm = Comm(handle);
        let is_inter = pmpi::comm_test_inter(comm).ok()?;
        let own = if is_inter { None } else { usize::try_from(pmpi::comm_rank(comm).ok()?).ok() };
        let id = counts.add(Group { own, ranks: world_ranks(abi, handle, is_inter) });
        self.communicators.insert(handle, id);
        Some(id)
    }

    /// The rank in `MPI_COMM_WORLD` of a process of a window; negative where it has none.
    pub(super) fn of_window(&mut self, abi: &Abi, counts: &mut Counts, handle: usize, rank: i32) -> i32 {
        // By the world's ranks it is known which process is this one.
        let _ = self.communicator(abi, counts, abi.constants.comm_world.word());
        let ranks =
            self.windows.entry(handle).or_insert_with(|| window_ranks(abi, handle).unwrap_or_default());
        usize::try_from(rank).ok().and_then(|rank| ranks.get(rank)).copied().unwrap_or(-1)
    }

    /// The communicators that are there, by handle.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, u64)> {
        self.communicators.iter().map(|(&handle, &id)| (handle, id))
    }

    /// A communicator is freed: its handle may become another's.
    pub(super) fn forget_communicator(&mut self, handle: usize) {
        self.communicators.remove(&handle);
    }

    /// A window is freed: its handle may become another's.
    pub(super) fn forget_window(&mut self, handle: usize) {
        self.windows.remove(&handle);
    }
}

fn window_ranks(abi: &Abi, handle: usize) -> Option<Vec<i32>> {
    let group = pmpi::win_get_group(Win(handle)).ok()?;
    let ranks = (|| {
        let world = pmpi::comm_group(abi.constants.comm_world).ok()?;
        let ranks: Vec<i32> = (0..pmpi::group_size(group).ok()?).collect();
        let mut translated = vec![-1; ranks.len()];
        let done = pmpi::group_translate_ranks(group, &ranks, world, &mut translated);
        let _ = pmpi::group_free(world);
        done.ok().map(|()| translated)
    })();
    let _ = pmpi::group_free(group);
    ranks
}

/// Whether MPI may be asked about this handle: some MPIs end the program for one that is no communicator.
pub(super) fn may_be_communicator(abi: &Abi, handle: usize) -> bool {
    let constants = &abi.constants;
    if handle == constants.comm_null.word() {
        return false;
    }
    let always = [constants.comm_world.word(), constants.comm_self.word()];
    if always.contains(&handle) || core().is_bound(BindKind::Comm, Token(handle as u64)) {
        return true;
    }
    match abi.family {
        // An object begins with the address of its class.
        Family::OpenMpi => {
            let class = word_at(handle);
            class.is_some() && class == word_at(constants.comm_world.word())
        }
        // Two bits say that it is a handle, the four after them of what kind.
        Family::Mpich => handle >> 30 != 0 && handle >> 32 == 0 && (handle >> 26) & 0xf == 1,
        Family::Standard => true,
    }
}

/// The word at an address, where there is memory.
fn word_at(address: usize) -> Option<usize> {
    let mut word = 0usize;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<usize>() };
    let remote =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: size_of::<usize>() };
    // SAFETY: there is room for a word; where is read from, the system checks.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    let forbidden = copied < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT);
    // Some sandboxes forbid to ask: then all answers are alike.
    (forbidden || copied == size_of::<usize>() as isize).then_some(word)
}
