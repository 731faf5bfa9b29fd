//! What a process leaves on disk, written inside the program and read by the command: the event log, and the profile.
//!
//! The event log is a memory-mapped file per rank, of fixed-size records, that survives `kill -9`:
//!
//! - [`format`](mod@format): the layout in bytes, shared by both sides. `docs/event-log.md` is its prose.
//! - [`definitions`]: what the numbers in the records mean, as JSON lines inside the same file.
//! - [`writer`]: runs inside the application. Appending copies 32 bytes; nothing else.
//! - [`packed`]: chunks of records that are full, in a fraction of their space.
//! - [`gaps`]: what is known of times in which recording was off.
//! - [`samples`]: variables that were read while the process ran.
//! - [`expand`]: what one record holds of several, for readers.
//! - [`reader`]: runs in the command `mel`, on whole files as on torn ones.
//!
//! The numbers of a run are in `profile.json`:
//!
//! - [`profile`]: its types, its file, and its numbers as lines, table and sentences.
//! - [`table`]: what each process counts, in a mapped file, while it counts.
//! - [`number`]: numbers and sizes as text.
//!
//! What both sides know beside that:
//!
//! - [`launcher`]: which of the processes speaks for all, and in which job of a batch system.
//! - [`run_directory`]: the name of a run's directory, and what an earlier run has left there.
//! - [`control`]: files by which a watcher has a process set control variables.
//! - [`offers`]: what `libmel.so` says where it is asked outside of a program.
//! - [`plugin_list`]: plugins as users name them, and where their files are.
//! - [`access`]: who may read what a run leaves, and whose files are believed; [`regular_file`]: what of it is opened.
//! - [`printable`]: text that a terminal shows as it is; [`csv`](mod@csv): values that a spreadsheet takes for values.
//! - [`ranks`]: which ranks a file may speak of, and which are missing.
//! - [`settings`]: what MEL does, as the environment and `mel run` say it: values of the catalogue's entries.
//! - [`names`] and [`choice`]: names of events, calls and communicators as users type them.
//!
//! Nothing here knows where records and numbers come from, or what becomes of them: no event has a name here, no MPI
//! function is called, no command line is read, nothing is drawn.

// The header of the profile table has more columns than the compiler expands by itself.
#![recursion_limit = "256"]

pub mod access;
mod checksum;
pub mod choice;
pub mod control;
pub mod csv;
pub mod definitions;
mod expand;
pub mod format;
mod gaps;
pub mod launcher;
pub mod names;
pub mod number;
pub mod offers;
pub mod packed;
mod payload;
pub mod plugin_list;
pub mod printable;
pub mod profile;
pub mod ranks;
pub mod reader;
pub mod regular_file;
pub mod run_directory;
mod samples;
pub mod setting;
pub mod settings;
mod space;
pub mod table;
pub mod writer;

pub use definitions::{Definition, Definitions, Element, Members, StreamKind};
pub use format::{
    Call, Collective, Completion, Described, Entry, Epoch, HeaderInfo, Message, Operation, Overlap, Pair,
    State, kind,
};
pub use gaps::{Switch, UnseenEvents, UnseenMessages};
pub use reader::{RankLog, ReadError, Record};
pub use samples::{Sample, title_of_element};
pub use space::is_limit;
pub use writer::{Appender, LogFile};

/// The name of the event log of a rank inside the directory of its run.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank}.mlog")
}

#[cfg(test)]
mod tests;
