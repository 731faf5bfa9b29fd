//! What costs time in a run and who is the cause, exactly: from each call of its trace.
//!
//! - [`names`]: what numbers stand for.
//! - [`model`]: what a trace says, as the rules want it.
//! - [`reader`]: one rank's log, step by step; [`numbering`]: which message a receive takes.
//! - [`polling`]: calls that ask until they find something are one wait.
//! - [`units`]: calls with both sides of their messages; [`operations`]: collective operations with all who take part.
//! - [`rules`]: what a call has lost.
//! - [`judge`]: everything in the order of time, and each wait followed back.
//! - [`on_path`]: who did what on the critical path.
//! - [`rendezvous`]: which protocol would suit long messages.
//! - [`overlap`]: how much of nonblocking messages was hidden behind work.
//! - [`by_hand`]: collective operations that are made of messages between two.
//! - [`checks`]: mistakes that did no harm.
//! - [`did`]: what a rank did while others waited for it.
//! - `in_parts`: how well the ranks are used in each phase and region.
//! - [`sent`]: who sends to whom from which call site.
//! - [`found`]: losses added up, for the room of findings in `mel-verdict`.
//!
//! Logs are read by several threads, all ranks in step, so that what is kept is what is under way; for [`checks`] the first million calls
//! that wait are kept, too. Nothing is drawn here and no command line is read.

pub mod by_hand;
pub mod checks;
pub mod did;
pub mod found;
mod in_parts;
pub mod judge;
pub mod model;
pub mod names;
pub mod numbering;
pub mod on_path;
pub mod operations;
pub mod overlap;
pub mod polling;
pub mod reader;
pub mod rendezvous;
mod report;
pub mod rules;
mod run;
pub mod sent;
#[cfg(test)]
mod testing;
pub mod units;

pub use by_hand::ByHand;
pub use overlap::Overlap;
pub use rendezvous::Rendezvous;
pub use report::{Analysis, HIDDEN, PathInWords, PlaceOnPath, RankOnPath};
pub use run::{Options, analyze};
