//! What goes into the event log: MPI calls, messages, and instances of the chosen event types.
//!
//! - `log`: the consumer: what is recorded of which communicators and windows, from `MPI_Init*` to the end.
//! - [`recorder`]: the streams of each thread, and what appends to them.
//! - [`calls`]: the hook, the observer and the listener of a trace: MPI calls, messages, searches.
//! - [`collectives`]: what a collective call moves, and on which communicator.
//! - `modules`: the program and its libraries, and where their code lies.
//! - `check`: what is recorded beside, under `mel run --check`.
//! - `buffers`: where the data of a blocking call is in memory.
//! - `callsites`: from where MPI functions are called.
//! - `chosen`: keeps from the tracer what is not wanted.
//! - [`samples`]: variables that are read while the process runs.
//! - `unseen`: what is counted while recording is off.
//! - [`windows`]: the observer of a trace for one-sided communication.
//! - [`events`]: the generic logger, which knows no event by name.

mod buffers;
pub mod calls;
mod callsites;
mod check;
mod chosen;
pub(crate) mod collectives;
pub mod events;
pub(crate) mod log;
pub(crate) mod modules;
pub mod recorder;
pub mod samples;
#[cfg(test)]
mod tests;
mod unseen;
pub mod windows;

pub use recorder::Recorder;
pub use samples::SampleLog;
