//! From the event logs of a run to what it did, and to what other tools read: inside the program, where rank 0 leaves
//! text and an OTF2 archive at the end, and in the command.
//!
//! - [`run`]: the logs of a run, all ranks; the streams of a rank in the order of time.
//! - [`content`]: what a record says by itself.
//! - [`facts`]: what a rank did, fact by fact: where records are interpreted, for all that follows.
//! - [`spans`]: the same as calls with their messages, searches, and single events; those that overlap, on rows.
//! - [`partners`]: which send belongs to which receive.
//! - [`queues`]: how long queues are, and how long what leaves them was in them.
//! - [`one_sided`]: operations on windows, and epochs; what happens to windows as text.
//! - [`types`]: what event types are to each other: pairs, and changes of queues; which are operations of a transport.
//! - [`time`]: the clocks of all ranks, brought together.
//! - [`callsites`]: from where MPI functions are called, as lines.
//! - [`value`]: elements of a payload, by their MPI datatypes.
//! - [`text`]: the generic events log, one line per event.
//! - [`otf2`]: an OTF2 archive.
//!
//! Nothing here knows an event by name: all it knows of an event is what the log's definitions say. Nothing is drawn here,
//! and no MPI function is called.

pub mod callsites;
pub mod content;
mod debug_info;
pub mod facts;
pub mod nested;
pub mod one_sided;
pub mod otf2;
pub mod partners;
pub mod queues;
pub mod run;
pub mod spans;
pub mod text;
pub mod time;
pub mod types;
pub mod value;

pub use run::Run;

/// Calls `tick` now and then, with how many records were converted since it was called last: with 4096 at every
/// 4096th record. `count` records came before this one.
fn advance(tick: impl Fn(u64), count: usize) {
    if count % 4096 == 4095 {
        tick(4096);
    }
}
