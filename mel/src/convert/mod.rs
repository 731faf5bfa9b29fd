//! From the event logs of a run to what people and other tools read.
//!
//! - [`run`]: the logs of a run, all ranks.
//! - [`merge`]: the streams of a rank in the order of time.
//! - [`spans`]: what a rank did as calls with their messages, searches, and single events.
//! - [`value`]: elements of a payload, by their MPI datatypes.
//! - [`text`]: the generic events log, one line per event.
//! - [`otf2`]: an OTF2 archive.
//! - [`perfetto`]: a Perfetto trace.
//! - `windows`: records of one-sided communication as text.
//!
//! Conversion knows no event by name: all it knows of an event is what the log's definitions say.

pub mod merge;
pub mod otf2;
pub mod perfetto;
pub mod run;
pub mod spans;
pub mod text;
pub mod value;
mod windows;

pub use run::Run;

/// Tells the progress, now and then: `tick` hears of every 4096 records, `count` of which came before this one.
fn tell(tick: impl Fn(u64), count: usize) {
    if count % 4096 == 4095 {
        tick(4096);
    }
}
