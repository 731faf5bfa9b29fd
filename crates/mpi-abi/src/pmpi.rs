//! Calling MPI for the tool's own purposes. What is asked about the program's handles is in [`questions`](crate::questions).
//!
//! Each function calls `PMPI_X` where there is one, so that neither our own wrappers nor other
//! tools see the traffic of this tool. Handles are typed, output parameters are results, and a
//! function that the MPI in use does not have is an error, not a crash. Errors of MPI come back as
//! [`crate::Error::Code`] only on communicators whose error handler is `MPI_ERRORS_RETURN`
//! ([`comm_return_errors`]); otherwise MPI acts as the application's handler says.
//!
//! MPI's own rules hold: between `MPI_Init` and `MPI_Finalize`, from threads as its thread level
//! allows, not in signal handlers. The functions here do not allocate except where they return a
//! `String` or a `Vec`, and, once, to find a function.

pub(crate) mod call;
mod collectives;
mod comms;
mod p2p;
mod process;

pub use collectives::{Reducible, allgather, allreduce, barrier, bcast, gather, gatherv, ibarrier, reduce};
pub(crate) use comms::Out;
pub use comms::{
    comm_compare, comm_dup, comm_free, comm_return_errors, comm_split, comm_split_type, group_free,
    has_parent, info_create, info_set,
};
pub(crate) use p2p::request_toint;
pub use p2p::{Probed, cancel, iprobe, irecv, isend, issend, recv, request_free, send, test, wait};
pub(crate) use process::{abi_version_beside, library_version_of_any_mpi, text};
pub use process::{
    abort, error_class, error_string, finalized, get_library_version, get_processor_name, get_version,
    initialized, query_thread, wtime,
};
