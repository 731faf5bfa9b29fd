//! MEL, the MPI_T Events Logger: what happens inside MPI's message queues.
//!
//! This crate is both the library `libmel.so`, which is preloaded into an MPI program, and the
//! command `mel`, which starts such programs and shows what they left behind.
//!
//! | room | what lives there | runs in |
//! |---|---|---|
//! | [`tables`] | a profile in 80 columns, or as comma-separated values | the command |
//! | [`perfetto`] | event log → Perfetto trace | the command |
//! | [`view`] | what a page or a picture shows of a run | the command |
//! | [`html`] | the page of a run | the command |
//! | [`mod@png`] | pictures of a run | the command |
//! | [`cli`] | the command `mel` | the command |
//! | [`progress`] | how far work on records is, for who waits | both |
//! | [`names`] | event names as users type them | both |
//!
//! No room here knows an event by name, except where the queue statistics are counted.

pub mod cli;
pub mod html;
pub mod names;
pub mod perfetto;
pub mod png;
pub mod preload;
pub mod progress;
pub mod queues;
pub mod tables;
pub mod trace;
pub mod view;
pub mod windows;
