//! Whole-system tests: MPI programs run under MEL on every installed MPI.
//!
//! The library is the harness; the tests are in `tests/`, one file per rule, and the programs in
//! `programs/`. The harness finds the MPIs ([`Mpi`]), reads what a program promises and compiles it
//! ([`Program`]), starts it without or with MEL ([`Job`]), and reads back what MEL left
//! ([`profile`], [`trace`], [`events`]).
//!
//! It knows MEL only from outside: the command, its files, its output. It links to no other crate of
//! the workspace, so that a test here sees what a user sees.
//!
//! Everything here is for tests: what cannot be done is a failed test, so the functions panic with a
//! sentence that says what was tried.

pub mod artifacts;
pub mod browser;
pub mod cases;
pub mod counts;
pub mod docs;
pub mod events;
pub mod fortran;
pub mod instructions;
mod job;
mod mpi;
pub mod planted;
pub mod profile;
mod program;
pub mod readers;
pub mod slurm;
pub mod terminal;
pub mod trace;
pub mod verdict;
pub mod watching;
pub mod windows;

pub use job::{Finished, Job, Output, Running, marked_sentences};
pub use mpi::Mpi;
pub use program::{
    Exit, Expectation, Leaves, Program, compile_for_scorep, compile_preloadable, compile_source,
    compile_special, compile_verdicts, compile_with_events,
};
