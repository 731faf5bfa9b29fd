//! What MEL keeps in this process: what is switched on, and what is known of the run.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use mel_log::table::ProfileTable;
use mpi_abi::Abi;
use mpi_intercept::FunctionId;
use mpit_events::{Core, Ticks};
use mpit_sources::QueueEvents;
use mpit_sources::native::NativeEvents;
use mpit_sources::netops::NetOps;
use mpit_sources::rma::Rma;
use mpit_sources::vars::QueueCounts;

use crate::config::Config;
use crate::consumer::Consumer;
use crate::registry::Registry;
use crate::trace::recorder::Recorder;
use crate::trace::samples::SampleLog;

/// MEL in this process. Lives as long as the process.
pub struct Session {
    pub(crate) abi: &'static Abi,
    pub(crate) core: &'static Core,
    pub(crate) config: &'static Config,
    pub(crate) queue_events: &'static QueueEvents,
    /// The queues as performance variables have them.
    pub(crate) variables: Option<&'static QueueCounts>,
    /// The events of one-sided communication, where the core has room for them.
    pub(crate) rma: Option<Rma>,
    /// The event of the transports below the calls, where the core has room for it.
    pub(crate) netops: Option<NetOps>,
    pub(crate) registry: &'static Registry,
    /// Who makes something of all this.
    pub(crate) consumers: Vec<&'static dyn Consumer>,
    /// Events of the MPI itself, where there are any and somebody may want them.
    pub(crate) native: OnceLock<Option<&'static NativeEvents>>,
    /// When `MPI_Init*` was entered.
    pub(crate) prepared: Ticks,
    pub(crate) run: OnceLock<Run>,
    pub(crate) over: AtomicBool,
    /// Sessions of MPI that the program has made, and those that are open.
    pub(crate) sessions: AtomicU32,
    pub(crate) open_sessions: AtomicU32,
    /// When the last one of them began to end, where a program has no world; in ticks.
    pub(crate) closed_at: AtomicU64,
}

static SESSION: OnceLock<Session> = OnceLock::new();

impl Session {
    /// Events of the MPI itself.
    pub(crate) fn native(&self) -> Option<&'static NativeEvents> {
        self.native.get().copied().flatten()
    }

    /// The session of this process, if MPI was initialised under MEL.
    pub(crate) fn get() -> Option<&'static Session> {
        SESSION.get()
    }

    /// The session of this process, made now if there is none.
    pub(crate) fn get_or_make(make: impl FnOnce() -> Session) -> &'static Session {
        SESSION.get_or_init(make)
    }
}

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
