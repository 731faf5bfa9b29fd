//! Every MPI function as an interposed symbol, with one hook interface.
//!
//! Linked into a shared object that is loaded before the MPI library (by `LD_PRELOAD`, or by the
//! order of linking), this crate defines the `MPI_*` functions. Each calls the *next* function of
//! its name, so other tools keep working beside it, and around that call lets the registered
//! [`Hook`]s see and change the arguments.
//!
//! # Life cycle
//!
//! 1. Loading does nothing. The final library may name a function with [`on_startup`], for instance
//!    from a constructor that does nothing else; it is kept in mind where standard error leads.
//! 2. MPI functions called before `MPI_Init` go straight to MPI.
//! 3. At `MPI_Init`, `MPI_Init_thread` or `MPI_Session_init` (or [`start`], for entry points that
//!    are not here, such as `MPI_T_init_thread`) the ABI is detected and the startup functions run.
//!    They may [`register`] hooks. If any is registered, this very call is the first that they see.
//! 4. From then on hooks see every call that the application makes, in all threads.
//! 5. A hook that panics ends measurement for this process; [`stop`] ends it on purpose.
//!
//! # What is seen
//!
//! Calls by the application, in C or in Fortran, once each: an MPI function that MPI implements through another one, a
//! call made by a hook, and a call made inside a callback that MPI runs (attribute and error
//! handler functions) are not seen. `MPI_Wtime`, `MPI_Wtick`, `MPI_Aint_add`, `MPI_Aint_diff`, the
//! conversions between C and Fortran handles and statuses are not interposed. Calls that another tool redirects to
//! `PMPI_*` before they reach us are not seen.
//! Functions that the program finds by `dlsym` in an MPI library that it has opened itself are seen, on x86-64.
//! Of other libraries' functions, `dlsym` is interposed for that, `sched_yield` for [`on_yield`], and the system calls that
//! move data for [`io`].
//! A thread that leaves an MPI call by `longjmp` is not seen from then on; C++ exceptions are fine.
//!
//! # Cost
//!
//! While calls [pass by](pass_until) it is a load and a branch more for each of two bytes. With no hook registered a wrapper is one relaxed load, one predicted branch, and a jump through
//! the table of next functions. With hooks: no allocation, no lock, no formatting of our own; in calls
//! from Fortran, arrays of handles take memory that the thread keeps.
//!
//! What this crate must not know: events, queues, files, and what a hook does.

mod attending;
mod depth;
mod dispatch;
// Its entry is written for one processor.
#[cfg(target_arch = "x86_64")]
mod dlsym;
mod floats;
mod fortran;
mod hook;
pub mod io;
mod lifecycle;
pub mod own_thread;
mod passing;
mod pcontrol;
mod per_thread;
#[cfg(target_arch = "x86_64")]
mod registers;
pub mod signals;
pub mod standard_error;
mod straight;
pub mod under_way;
mod wrapper;
mod yields;

// What the MPI standard defines needs no second documentation, and has names of its own.
#[allow(missing_docs, non_camel_case_types, non_snake_case, clippy::too_many_arguments)]
#[rustfmt::skip]
mod generated;

pub use attending::attend;
pub use depth::{current_function, runs_hook, untracked};
pub use dispatch::{asked, asked_without_floats, pause, stop};
pub use floats::without_traps;
pub use generated::{Call, FunctionId, args};
pub use hook::{
    Contexts, Full, Hook, InThread, ThreadSlot, Wants, ask_again, register, set_clock, set_contexts,
};
pub use lifecycle::{has_started, on_startup, start};
pub use passing::{has_listened, listen, pass_until};
pub use per_thread::{Numbered, PerThread, at_thread_end};
pub use straight::{Outer, straighten};
pub use yields::on_yield;
