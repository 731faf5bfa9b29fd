//! From the event logs of a run to what people and other tools read.
//!
//! - [`partners`]: which send belongs to which receive.
//! - [`run`]: the logs of a run, all ranks.
//! - [`lanes`]: spans that overlap, on rows.
//! - [`merge`]: the streams of a rank in the order of time.
//! - [`callsites`]: from where MPI functions are called, as lines.
//! - [`spans`]: what a rank did as calls with their messages, searches, and single events.
//! - [`types`]: what event types are to each other: pairs, and changes of queues.
//! - [`queues`]: how long queues are, and how long what leaves them was in them.
//! - [`one_sided`]: operations on windows, and epochs.
//! - [`value`]: elements of a payload, by their MPI datatypes.
//! - [`text`]: the generic events log, one line per event.
//! - [`otf2`]: an OTF2 archive.
//! - [`perfetto`]: a Perfetto trace.
//! - `windows`: records of one-sided communication as text.
//!
//! Conversion knows no event by name: all it knows of an event is what the log's definitions say.

pub mod callsites;
pub mod lanes;
pub mod merge;
pub mod one_sided;
pub mod otf2;
pub mod partners;
pub mod perfetto;
pub mod queues;
pub mod run;
pub mod spans;
pub mod text;
pub mod types;
pub mod value;
pub(crate) mod windows;

pub use run::Run;

/// Tells the progress, now and then: `tick` hears of every 4096 records, `count` of which came before this one.
fn tell(tick: impl Fn(u64), count: usize) {
    if count % 4096 == 4095 {
        tick(4096);
    }
}
