//! A window: the addresses of its targets' memory, its pending operations, its epochs; what its processes exchange once, inside the
//! collective call that creates it; and all windows of this process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytemuck::{Pod, Zeroable};
use mpi_abi::{Abi, Comm, Group, Win, pmpi, questions};
use mpit_events::{Object, Ticks};
use rustc_hash::FxHashMap;

use super::pending::Pending;
use super::synchronisation::Call;
use crate::Serial;

/// Where a target's memory begins, and the unit of displacements into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Base {
    pub(super) address: u64,
    pub(super) unit: u64,
}

/// The kinds of epochs (MPI-5.0, section 12.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EpochKind {
    /// Between two fences.
    Fence,
    /// From `MPI_Win_start` to `MPI_Win_complete`.
    Access,
    /// From `MPI_Win_post` to `MPI_Win_wait`.
    Exposure,
    /// From `MPI_Win_lock` of this target to `MPI_Win_unlock`.
    Lock(i32),
    /// From `MPI_Win_lock_all` to `MPI_Win_unlock_all`.
    LockAll,
}

/// An epoch that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Which kind.
    pub kind: EpochKind,
    /// When the call that opened it returned.
    pub since: Ticks,
}

/// A window of this process.
pub(super) struct Window {
    /// The number of the window in this process, from zero.
    pub(super) index: u32,
    /// The value of its handle.
    pub(super) handle: usize,
    /// What its events are bound to.
    pub(super) object: Arc<Object>,
    /// Its processes.
    pub(super) group: Option<Group>,
    /// Sixteen bytes for each target; none where displacements are addresses, or where the bases are not known.
    bases: Box<[Base]>,
    pub(super) pending: Pending,
    epochs: Serial<Vec<Epoch>>,
    /// The targets of the access epoch that is open.
    pub(super) accessed: Serial<Vec<i32>>,
    /// The origins of the exposure epoch that is open.
    pub(super) exposed: Serial<Vec<i32>>,
}

impl Window {
    pub(super) fn new(
        index: u32,
        handle: usize,
        object: Arc<Object>,
        group: Option<Group>,
        bases: Vec<Base>,
        threads: bool,
    ) -> Self {
        let (epochs, accessed, exposed) = (Serial::default(), Serial::default(), Serial::default());
        if !threads {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and nothing else uses it.
            unsafe { epochs.leave_to_one_thread() };
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and nothing else uses it.
            unsafe { accessed.leave_to_one_thread() };
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and nothing else uses it.
            unsafe { exposed.leave_to_one_thread() };
        }
        let (bases, pending) = (bases.into_boxed_slice(), Pending::new(threads));
        Window { index, handle, object, group, bases, pending, epochs, accessed, exposed }
    }

    /// The address of a displacement into a target's memory.
    #[inline]
    pub(super) fn address(&self, target: i32, displacement: isize) -> u64 {
        let displacement = displacement as u64;
        let base = usize::try_from(target).ok().and_then(|target| self.bases.get(target));
        base.map_or(displacement, |base| base.address.wrapping_add(displacement.wrapping_mul(base.unit)))
    }

    /// A call that opens or ends an epoch has returned at `now`; returns the epoch that it has ended. `opens`:
    /// whether another one follows (a fence may be the last).
    pub(super) fn pass(&self, call: Call, now: Ticks, opens: bool) -> Option<Epoch> {
        let ended = match call {
            Call::Fence => Some(EpochKind::Fence),
            Call::Complete => Some(EpochKind::Access),
            Call::Wait => Some(EpochKind::Exposure),
            Call::Unlock(target) => Some(EpochKind::Lock(target)),
            Call::UnlockAll => Some(EpochKind::LockAll),
            _ => None,
        };
        let begun = match call {
            Call::Fence if opens => Some(EpochKind::Fence),
            Call::Start => Some(EpochKind::Access),
            Call::Post => Some(EpochKind::Exposure),
            Call::Lock(target, _) => Some(EpochKind::Lock(target)),
            Call::LockAll => Some(EpochKind::LockAll),
            _ => None,
        };
        let pass = |epochs: &mut Vec<Epoch>| {
            let place = epochs.iter().position(|epoch| Some(epoch.kind) == ended);
            let ended = place.map(|place| epochs.swap_remove(place));
            epochs.extend(begun.map(|kind| Epoch { kind, since: now }));
            ended
        };
        self.epochs.with(pass).flatten()
    }

    /// No process has started anything since the last fence: it has opened no epoch.
    pub(super) fn forget_fence_epoch(&self) {
        self.epochs.with(|epochs| epochs.retain(|epoch| epoch.kind != EpochKind::Fence));
    }
}

/// The ranks in `MPI_COMM_WORLD` of a window's processes, and its group; −1 for a process of another job. Takes
/// memory for each process.
pub(super) fn members(abi: &Abi, win: Win) -> mpi_abi::Result<(Group, Vec<i32>)> {
    let group = questions::win_get_group(win)?;
    let ranks: Vec<i32> = (0..questions::group_size(group)?).collect();
    let mut translated = vec![abi.constants.undefined; ranks.len()];
    abi.with_world_group(|world| questions::group_translate_ranks(group, &ranks, world, &mut translated))?;
    for rank in &mut translated {
        if *rank == abi.constants.undefined {
            *rank = -1;
        }
    }
    Ok((group, translated))
}

/// The bases of all processes of the window's communicator: sixteen bytes each. None where some are of another job,
/// which may have no such tool.
pub(super) fn bases(mine: Base, members: &[i32], comm: Comm) -> Vec<Base> {
    if members.is_empty() || members.contains(&-1) {
        return Vec::new();
    }
    let mut all = vec![Base::default(); members.len()];
    match questions::returning_errors_on(comm, || pmpi::allgather(&[mine], &mut all, comm)) {
        Ok(()) => all,
        Err(_) => Vec::new(),
    }
}

/// The ranks in a window of the processes of a group.
pub(super) fn ranks_in(window: Group, group: Group) -> Vec<i32> {
    let Ok(size) = questions::group_size(group) else { return Vec::new() };
    let ranks: Vec<i32> = (0..size).collect();
    let mut translated = vec![0; ranks.len()];
    match questions::group_translate_ranks(group, &ranks, window, &mut translated) {
        Ok(()) => translated,
        Err(_) => Vec::new(),
    }
}

/// The windows of this process, by the values of their handles. Finding one takes a lock, so a thread caches the window that it used last,
/// until the version changes.
#[derive(Default)]
#[repr(C)]
pub(super) struct Windows {
    /// Changes when the handle of a window or of a datatype may have got another meaning. The first field, beside the
    /// other fields that each operation reads.
    version: AtomicU64,
    table: RwLock<FxHashMap<usize, Arc<Window>>>,
}

impl Windows {
    /// What is cached outside of this table is valid as long as this does not change.
    #[inline(always)]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Invalidates all caches: a handle is no longer valid.
    pub(super) fn forget(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn insert(&self, window: Arc<Window>) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).insert(window.handle, window);
        self.forget();
    }

    pub(super) fn remove(&self, handle: usize) -> Option<Arc<Window>> {
        let window = self.table.write().unwrap_or_else(PoisonError::into_inner).remove(&handle);
        self.forget();
        window
    }

    pub(super) fn each(&self, visit: impl FnMut(&Arc<Window>)) {
        self.table.read().unwrap_or_else(PoisonError::into_inner).values().for_each(visit);
    }

    pub(super) fn get(&self, handle: usize) -> Option<Arc<Window>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }
}

#[cfg(test)]
mod tests {
    use mpit_events::Core;

    use super::*;

    fn window(bases: Vec<Base>) -> Window {
        Window::new(0, 1, Core::new().no_object(), None, bases, false)
    }

    #[test]
    fn an_address_is_base_and_displacement_in_units() {
        let bases = [Base { address: 1000, unit: 8 }, Base { address: 5000, unit: 1 }];
        let known = window(bases.to_vec());
        assert_eq!((known.address(0, 2), known.address(1, 2)), (1016, 5002));
        assert_eq!(known.address(1, -1), 4999);
        assert_eq!((known.address(2, 77), known.address(-2, 77)), (77, 77));
        assert_eq!(window(Vec::new()).address(0, 4096), 4096);
    }

    #[test]
    fn epochs_of_different_kinds_are_apart() {
        let window = window(Vec::new());
        let pass =
            |call, now, opens| window.pass(call, Ticks(now), opens).map(|epoch| (epoch.kind, epoch.since.0));
        assert_eq!(pass(Call::Post, 1, false), None);
        assert_eq!(pass(Call::Start, 2, false), None);
        assert_eq!(pass(Call::Complete, 3, false), Some((EpochKind::Access, 2)));
        assert_eq!(pass(Call::Wait, 4, false), Some((EpochKind::Exposure, 1)));
        assert_eq!(pass(Call::Lock(1, true), 5, false), None);
        assert_eq!(pass(Call::Lock(0, true), 6, false), None);
        assert_eq!(pass(Call::Unlock(1), 7, false), Some((EpochKind::Lock(1), 5)));
        assert_eq!(pass(Call::Unlock(1), 8, false), None);
        assert_eq!(pass(Call::UnlockAll, 8, false), None);
    }

    #[test]
    fn a_fence_ends_an_epoch_and_opens_the_next_unless_it_is_the_last() {
        let window = window(Vec::new());
        assert_eq!(window.pass(Call::Fence, Ticks(1), true), None);
        assert_eq!(window.pass(Call::Fence, Ticks(5), true).unwrap().since, Ticks(1));
        assert_eq!(window.pass(Call::Fence, Ticks(9), false).unwrap().since, Ticks(5));
        assert_eq!(window.pass(Call::Fence, Ticks(11), true), None);
        window.forget_fence_epoch();
        assert_eq!(window.pass(Call::Fence, Ticks(12), true), None);
    }
}
