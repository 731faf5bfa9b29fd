//! Who the neighbours of a process are in a communicator with a topology.

use std::ffi::c_int;

use super::communicators::comm_rank;
use super::kinds::checked;
use crate::pmpi::call::mpi;
use crate::{Comm, Handle, Result};

/// The neighbours of a process, in the order in which neighbourhood collectives have them: the rank at each place, or `None` for
/// `MPI_PROC_NULL`, as at the edge of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Those that data comes from.
    pub sources: Vec<Option<c_int>>,
    /// Those that data goes to.
    pub destinations: Vec<Option<c_int>>,
}

/// The neighbours of this process (MPI-5.0, section 8.6); none in a communicator without a topology. Allocates; calls only
/// procedures that are local.
///
/// # Errors
/// Those of [`comm_rank`].
pub fn neighbours(comm: Comm) -> Result<Neighbours> {
    let constants = &checked("MPI_Topo_test", comm)?.constants;
    let mut kind = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Topo_test(comm.word() => usize, &mut kind => *mut c_int)) }?;
    let ranks = |count: c_int| vec![constants.proc_null; usize::try_from(count).unwrap_or(0)];
    let is_there = |rank: c_int| (rank != constants.proc_null).then_some(rank);
    if kind == constants.cart {
        let (mut dimensions, mut neighbours) = (0, Neighbours::default());
        // SAFETY: the output is writable; the communicator has a Cartesian topology.
        unsafe { mpi!(MPI_Cartdim_get(comm.word() => usize, &mut dimensions => *mut c_int)) }?;
        for dimension in 0..dimensions {
            let (mut below, mut above) = (0, 0);
            // SAFETY: the outputs are writable; the communicator has a Cartesian topology with this dimension.
            unsafe {
                mpi!(MPI_Cart_shift(
                    comm.word() => usize,
                    dimension => c_int,
                    1 => c_int,
                    &mut below => *mut c_int,
                    &mut above => *mut c_int,
                ))
            }?;
            neighbours.sources.extend([below, above].map(is_there));
        }
        neighbours.destinations.clone_from(&neighbours.sources);
        return Ok(neighbours);
    }
    if kind == constants.graph {
        let (rank, mut count) = (comm_rank(comm)?, 0);
        // SAFETY: the output is writable; the communicator has a graph topology, and `rank` is in it.
        unsafe {
            mpi!(MPI_Graph_neighbors_count(comm.word() => usize, rank => c_int, &mut count => *mut c_int))
        }?;
        let mut all = ranks(count);
        // SAFETY: the array has as many elements as MPI may write.
        unsafe {
            mpi!(MPI_Graph_neighbors(
                comm.word() => usize,
                rank => c_int,
                count => c_int,
                all.as_mut_ptr() => *mut c_int,
            ))
        }?;
        let all: Vec<_> = all.into_iter().map(is_there).collect();
        return Ok(Neighbours { sources: all.clone(), destinations: all });
    }
    if kind == constants.dist_graph {
        let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
        // SAFETY: the outputs are writable; the communicator has a distributed graph topology.
        unsafe {
            mpi!(MPI_Dist_graph_neighbors_count(
                comm.word() => usize,
                &mut sources => *mut c_int,
                &mut destinations => *mut c_int,
                &mut weighted => *mut c_int,
            ))
        }?;
        let (mut from, mut to) = (ranks(sources), ranks(destinations));
        let mut weights = (from.clone(), to.clone());
        // SAFETY: the arrays have as many elements as MPI may write.
        unsafe {
            mpi!(MPI_Dist_graph_neighbors(
                comm.word() => usize,
                sources => c_int,
                from.as_mut_ptr() => *mut c_int,
                weights.0.as_mut_ptr() => *mut c_int,
                destinations => c_int,
                to.as_mut_ptr() => *mut c_int,
                weights.1.as_mut_ptr() => *mut c_int,
            ))
        }?;
        let is_there = |ranks: Vec<c_int>| ranks.into_iter().map(is_there).collect();
        return Ok(Neighbours { sources: is_there(from), destinations: is_there(to) });
    }
    Ok(Neighbours::default())
}
