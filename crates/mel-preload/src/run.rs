//! What is known of the run once MPI is initialised, and where its numbers and records go.

use std::path::PathBuf;
use std::sync::OnceLock;

use mel_log::table::ProfileTable;
use mpi_intercept::FunctionId;
use mpit_events::Ticks;

use crate::trace::recorder::Recorder;
use crate::trace::samples::SampleLog;

/// The run, as this process knows it.
pub struct Run {
    pub(crate) rank: i32,
    pub(crate) size: i32,
    pub(crate) host: String,
    pub(crate) directory: Option<PathBuf>,
    /// Where calls and queues are counted.
    pub(crate) table: Option<ProfileTable>,
    pub(crate) recorder: Option<&'static Recorder>,
    /// Where samples go in the event log, where somebody has some.
    pub(crate) samples: OnceLock<&'static SampleLog>,
    pub(crate) pid: u32,
    /// Its effective user at the start.
    pub(crate) user: u32,
    /// The function that has initialised MPI, and when it was entered.
    pub(crate) function: FunctionId,
    pub(crate) started: Ticks,
}

impl Run {
    /// Where samples go in the event log, if there is one. For who has some: it takes memory.
    pub(crate) fn samples(&self) -> Option<&'static SampleLog> {
        let make = |recorder| *self.samples.get_or_init(|| Box::leak(Box::new(SampleLog::new(recorder))));
        self.recorder.map(make)
    }
}
