//! MEL, the MPI_T Events Logger: what happens inside MPI's message queues.
//!
//! This is the command `mel`: it starts programs under measurement, and shows what they left behind. What runs inside
//! them is another crate, and no part of the command.
//!
//! - [`bundle`]: the libraries as a part of the command.
//! - [`cli`]: the subcommands.
//! - [`speedscope`]: sampled stacks for speedscope.
//! - [`tables`]: a profile in 100 columns, or as comma-separated values.
//! - [`mod@diff`]: two runs side by side.
//! - [`cubex`]: a Cube profile.
//! - [`doctor`]: whether MEL works on a machine, and what to do where it does not.
//! - [`mod@in_order`]: work on many parts by several threads, taken in order.
//! - [`mod@net`]: a run on its network, as text.
//! - [`mod@parquet`]: tables of event logs, as Parquet files.
//! - [`perfetto`]: a Perfetto trace from event logs.
//! - [`mod@place`]: a better placement of the ranks of a run, as text and JSON.
//! - [`progress_bar`]: how far work on records is, for who waits.
//!
//! No room here knows an event by name.

pub mod bundle;
pub mod cli;
pub mod cubex;
pub mod diff;
pub mod doctor;
pub mod in_order;
pub mod parquet;
pub mod perfetto;
pub mod place;
pub mod progress_bar;
pub mod speedscope;
pub mod tables;

pub mod net {
    //! A run on its network, as text: [`terminal`]; [`beside`]: two runs.

    pub mod beside;
    pub mod terminal;
}
