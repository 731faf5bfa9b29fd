//! Which MPI runs in this process: its handles, constants, status layout and next functions.
//!
//! One binary serves every MPI: nothing here is linked to an MPI library, and nothing is decided
//! when the program is compiled. At the first intercepted call [`Abi::detect`] finds out which of
//! three families the process uses and fixes one table of [`Constants`]:
//!
//! | family | handles | predefined objects |
//! |---|---|---|
//! | [`Family::OpenMpi`] | pointers | addresses of `ompi_mpi_*`, found at run time |
//! | [`Family::Mpich`] (Intel MPI, MVAPICH, Cray MPI too) | 32-bit integers | fixed numbers |
//! | [`Family::Standard`] (the ABI of MPI-5) | pointers | fixed small numbers |
//!
//! What this crate must not know: that calls are intercepted, by whom and what for. It has no
//! state except the ABI, the addresses found, and which communicator is the world.
//!
//! [`next`] finds the function that an interposed symbol continues with; [`pmpi`] calls MPI for
//! the tool's own purposes, unseen by other tools; [`questions`] asks it about the program's handles.

mod constants;
mod detect;
mod handles;
pub mod next;
pub mod pmpi;
pub mod questions;
mod status;
mod tool;
mod tool_events;
pub mod tool_vars;
mod world;

pub use constants::{Constants, ThreadLevels};
pub use detect::{Abi, Family, Unknown};
pub use handles::{
    Comm, Datatype, Errhandler, File, Group, Handle, HandlePtr, Info, Message, Op, Request, Session, Win,
};
pub use pmpi::call::{Error, Result};
pub use status::{StatusLayout, StatusPtr};
pub use tool::ToolConstants;
pub use tool_events::{
    LARGEST_ELEMENT, ToolDroppedFn, ToolEventFn, ToolEventType, ToolEvents, ToolFreeFn, ToolSource,
};
