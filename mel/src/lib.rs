//! MEL, the MPI_T Events Logger: what happens inside MPI's message queues.
//!
//! This is the command `mel`: it starts programs under measurement, and shows what they left behind. What runs inside
//! them is another crate, and no part of the command.
//!
//! - [`bundle`]: the libraries as a part of the command.
//! - [`cli`]: the subcommands.
//! - [`tables`]: a profile in 100 columns, or as comma-separated values.
//! - [`mod@diff`]: two runs side by side.
//! - [`cubex`]: a Cube profile.
//! - [`doctor`]: whether MEL works on a machine, and what to do where it does not.
//! - [`gather`]: a run whose directory is on a disk of each node, watched from one place.
//! - [`mod@in_order`]: work on many parts by several threads, taken in order.
//! - [`mod@net`]: a run on its network, as text.
//! - [`mod@own_folder`]: temporary folders of this user alone.
//! - [`perfetto`]: a Perfetto trace from event logs.
//! - [`mod@place`]: a better placement of the ranks of a run, as text and JSON.
//! - [`mod@tune`]: settings of an MPI, tried in paired runs.
//! - [`view`]: what a page or a picture shows of a run.
//! - [`html`]: the page of a run.
//! - [`mod@png`]: pictures of a run.
//! - [`run_profile`]: the profile of a run, from what is in its directory.
//! - [`mod@watch`]: a run that goes on, in a terminal and in a browser.
//! - [`progress_bar`]: how far work on records is, for who waits.
//!
//! No room here knows an event by name.

pub mod bundle;
pub mod cli;
pub mod cubex;
pub mod diff;
pub mod doctor;
pub mod gather;
pub mod html;
pub mod in_order;
pub mod net;
pub mod own_folder;
pub mod perfetto;
pub mod place;
pub mod png;
pub mod progress_bar;
pub mod run_profile;
pub mod tables;
pub mod tune;
pub mod view;
pub mod watch;
