//! What MEL asks MPI about handles that the program has: the only room that does.
//!
//! MPI answers a question about a handle that is null, freed or no handle at all with an error, and an error calls the program's
//! error handler, which ends the program by default: on `MPI_COMM_WORLD` or `MPI_COMM_SELF`, whatever the program has set on the
//! communicator that it uses. So the rule is: **MPI is asked only where it has an answer.**
//!
//! - Each function here refuses, without asking, a handle that is null or of another kind, and `MPI_COMM_WORLD` and `MPI_COMM_SELF`
//!   while MPI has none: before `MPI_Init`, after `MPI_Finalize`, in a program of sessions alone. An error comes back as a value.
//! - A handle that is freed looks like one that is not. So the callers ask about a communicator, a group or a window only
//!   - when the program's own call with it has succeeded, before that call returns to the program; or
//!   - while they know that it was made and is not freed yet.
//! - Whether a value is the handle of a communicator at all, [`is_communicator`] says; about one that may be freed is asked
//!   [`with_errors_returned`], which exchanges the error handlers, where no other thread can meet them.
//! - A datatype may be asked about as a call begins that uses it. With a count of 0, or where the call does not look at it
//!   (`MPI_NO_OP`, the arguments of the root elsewhere), it may be anything: then it is not asked about.
//!
//! Local procedures all of them. MPI's own rules hold, and those of [`pmpi`](crate::pmpi): calls are unseen by other tools.

mod communicators;
mod handlers;
mod infos;
mod kinds;
mod signatures;
mod topology;
mod types;

pub use communicators::{
    comm_get_name, comm_group, comm_rank, comm_remote_group, comm_remote_size, comm_size, comm_test_inter,
    group_rank, group_size, group_translate_ranks, is_communicator, win_get_group, win_get_name,
};
pub use handlers::{returning_errors, returning_errors_on, with_errors_returned};
pub use infos::info_entries;
pub use kinds::world_is_there;
pub use signatures::signature;
pub use topology::{Neighbours, neighbours};
pub use types::{
    TypeSizes, bytes_of, get_count, test_cancelled, type_extent, type_name, type_name_at_any_time, type_size,
    type_size_at_any_time, type_true_extent,
};
