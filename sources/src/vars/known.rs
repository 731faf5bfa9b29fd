//! The communicators that rows and handles are for: what MPI says of them, while it is running.

use hashbrown::HashMap;
use mpi_abi::{Abi, Comm, Handle, Win, pmpi, questions};
use rustc_hash::FxBuildHasher;

use super::counts::{Counts, Group, WORLD};
use crate::calls::world_ranks;
use crate::communicators::ask_about;

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
        let world = abi.world().word();
        // The world is the first one.
        if handle != world && counts.group(WORLD).is_none() {
            self.communicator(abi, counts, world)?;
        }
        let comm = Comm(handle);
        let group = ask_about(abi, comm, || {
            let is_inter = questions::comm_test_inter(comm)?;
            let own = if is_inter { None } else { usize::try_from(questions::comm_rank(comm)?).ok() };
            Ok(Group { own, ranks: world_ranks(abi, handle, is_inter) })
        })?;
        let id = counts.add(group);
        self.communicators.insert(handle, id);
        Some(id)
    }

    /// The rank in `MPI_COMM_WORLD` of a process of a window; negative where it has none.
    pub(super) fn of_window(&mut self, abi: &Abi, counts: &mut Counts, handle: usize, rank: i32) -> i32 {
        // By the world's ranks it is known which process is this one.
        let _ = self.communicator(abi, counts, abi.world().word());
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
    let group = questions::win_get_group(Win(handle)).ok()?;
    let ranks = (|| {
        let ranks: Vec<i32> = (0..questions::group_size(group).ok()?).collect();
        let mut translated = vec![-1; ranks.len()];
        let translate = |world| questions::group_translate_ranks(group, &ranks, world, &mut translated);
        abi.with_world_group(translate).ok().map(|()| translated)
    })();
    let _ = pmpi::group_free(group);
    ranks
}
