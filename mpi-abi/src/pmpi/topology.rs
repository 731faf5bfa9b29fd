//! Who the neighbours of a process are in a communicator with a topology.

use std::ffi::c_int;

use super::call::{abi, mpi};
use super::comms::comm_rank;
use crate::{Comm, Handle, Result};

/// The neighbours of a process, in the order in which neighbourhood collectives have them: whether there is a process at
/// each place, or `MPI_PROC_NULL`, as at the edge of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Those that data comes from.
    pub sources: Vec<bool>,
    /// Those that data goes to.
    pub destinations: Vec<bool>,
}

/// The neighbours of this process (MPI-5.0, section 8.6); none in a communicator without a topology. Allocates; calls only
/// procedures that are local.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing), or [`Error::Code`](crate::Error::Code).
pub fn neighbours(comm: Comm) -> Result<Neighbours> {
    let constants = &abi()?.constants;
    let mut kind = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Topo_test(comm.word() => usize, &mut kind => *mut c_int)) }?;
    let places = |count: c_int| vec![true; usize::try_from(count).unwrap_or(0)];
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
            neighbours.sources.extend([below, above].map(|rank| rank != constants.proc_null));
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
        return Ok(Neighbours { sources: places(count), destinations: places(count) });
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
        return Ok(Neighbours { sources: places(sources), destinations: places(destinations) });
    }
    Ok(Neighbours::default())
}
