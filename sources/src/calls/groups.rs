//! Ranks of `MPI_COMM_WORLD` in the groups of communicators. All of this calls local procedures of MPI only.

use mpi_abi::{Abi, Comm, Handle, pmpi, questions};

use super::comms::{self, mix};

/// The rank in `MPI_COMM_WORLD` of a rank of a communicator; of the remote group if `remote` and
/// there is one. `None` for a process of another job.
pub(crate) fn world_rank_of(abi: &Abi, comm: usize, rank: i32, remote: bool) -> Option<i32> {
    with_group(abi, comm, remote, |group, world| {
        let mut translated = [abi.constants.undefined];
        questions::group_translate_ranks(group, &[rank], world, &mut translated).ok()?;
        (translated[0] != abi.constants.undefined).then_some(translated[0])
    })
}

/// The ranks in `MPI_COMM_WORLD` of all members of a communicator (or of its remote group), −1 for
/// a process of another job. Takes memory for each member.
pub(crate) fn world_ranks(abi: &Abi, comm: usize, remote: bool) -> Vec<i32> {
    let ranks = with_group(abi, comm, remote, |group, world| {
        let size = questions::group_size(group).ok()?;
        let ranks: Vec<i32> = (0..size).collect();
        let mut translated = vec![abi.constants.undefined; ranks.len()];
        questions::group_translate_ranks(group, &ranks, world, &mut translated).ok()?;
        translated
            .iter_mut()
            .for_each(|rank| *rank = if *rank == abi.constants.undefined { -1 } else { *rank });
        Some(translated)
    });
    ranks.unwrap_or_default()
}

/// A hash of the members of a group; `None` where some are of another job.
pub(crate) fn group_key(abi: &Abi, comm: Comm, remote: bool) -> Option<u64> {
    let ranks = world_ranks(abi, comm.word(), remote);
    (!ranks.is_empty() && !ranks.contains(&-1))
        .then(|| ranks.iter().fold(comms::WORLD, |key, &rank| mix(key, rank as u64 + 1)))
}

fn with_group<R>(
    abi: &Abi,
    comm: usize,
    remote: bool,
    user: impl FnOnce(mpi_abi::Group, mpi_abi::Group) -> Option<R>,
) -> Option<R> {
    let comm = Comm(comm);
    let remote = remote && questions::comm_test_inter(comm).unwrap_or(false);
    let group = if remote { questions::comm_remote_group(comm) } else { questions::comm_group(comm) }.ok()?;
    let result = questions::comm_group(abi.constants.comm_world).ok().and_then(|world| {
        let result = user(group, world);
        let _ = pmpi::group_free(world);
        result
    });
    let _ = pmpi::group_free(group);
    result
}
