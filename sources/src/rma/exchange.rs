//! What the processes of a new window exchange, once, inside the collective call that creates it.

use mpi_abi::{Abi, Comm, Group, Win, pmpi, questions};

use super::window::Base;

/// The ranks in `MPI_COMM_WORLD` of a window's processes, and its group; −1 for a process of another job. Takes
/// memory for each process.
pub(super) fn members(abi: &Abi, win: Win) -> mpi_abi::Result<(Group, Vec<i32>)> {
    let group = questions::win_get_group(win)?;
    let world = questions::comm_group(abi.constants.comm_world)?;
    let ranks: Vec<i32> = (0..questions::group_size(group)?).collect();
    let mut translated = vec![abi.constants.undefined; ranks.len()];
    let result = questions::group_translate_ranks(group, &ranks, world, &mut translated);
    let _ = pmpi::group_free(world);
    result?;
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
