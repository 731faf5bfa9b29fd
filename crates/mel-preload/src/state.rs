//! What MEL keeps in this process: what is switched on, and what is known of the run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use mel_log::table::ProfileTable;
use mpi_abi::Abi;
use mpit_events::{Core, EventIndex, Registration, Ticks, Token};
use mpit_sources::calls::Communicator;
use mpit_sources::native::NativeEvents;
use mpit_sources::netops::NetOps;
use mpit_sources::rma::Rma;
use mpit_sources::vars::QueueCounts;
use mpit_sources::{Backend, QueueEvents};

use crate::attribution::Attributor;
use crate::calls::CallProfiler;
use crate::config::Config;
use crate::matrix::{Carried, Connections, Matrix};
use crate::policies::Policies;
use crate::queues::QueueProfiler;
use crate::requests::Requests;
use crate::trace::calls::Tracer;
use crate::trace::{Recorder, SampleLog};
use crate::vars::Sampler;
use crate::windows::WindowProfiler;

/// MEL in this process. Lives as long as the process.
pub struct Session {
    pub(crate) abi: &'static Abi,
    pub(crate) core: &'static Core,
    pub(crate) config: Config,
    pub(crate) queue_events: QueueEvents,
    /// The queues as performance variables have them.
    pub(crate) variables: Option<&'static QueueCounts>,
    /// The events of one-sided communication, where the core has room for them.
    pub(crate) rma: Option<Rma>,
    /// The event of the transports below the calls, where the core has room for it.
    pub(crate) netops: Option<NetOps>,
    /// Counts the events of the first backend.
    pub(crate) profiler: Option<QueueProfiler>,
    /// Counts calls; or knows only communicators, for what is counted on them.
    pub(crate) calls: Option<&'static CallProfiler>,
    /// Counts who sends what to whom.
    pub(crate) matrix: Option<&'static Matrix>,
    /// Counts what is moved below the calls.
    pub(crate) carried: Option<&'static Carried>,
    /// Counts what connections carry.
    pub(crate) connections: Option<&'static Connections>,
    /// Counts what is done with windows.
    pub(crate) windows: Option<&'static WindowProfiler>,
    /// Attributes performance variables to calls and regions.
    pub(crate) attributor: Option<&'static Attributor>,
    /// Where samples go in the event log, where there is one and something is sampled.
    pub(crate) samples: OnceLock<&'static SampleLog>,
    /// Samples performance variables.
    pub(crate) sampler: OnceLock<&'static Sampler>,
    /// What a watcher asks to be set, where the user allows it.
    pub(crate) requests: OnceLock<&'static Requests>,
    /// Applies policies.
    pub(crate) policies: Option<&'static Policies>,
    /// Counts those of a second one, for comparison.
    pub(crate) second: OnceLock<(Backend, QueueProfiler)>,
    /// Events of the MPI itself, where there are any and somebody may want them.
    pub(crate) native: OnceLock<Option<&'static NativeEvents>>,
    /// The event types to log, found by name.
    pub(crate) logged: OnceLock<Vec<EventIndex>>,
    /// When `MPI_Init*` was entered.
    pub(crate) prepared: Ticks,
    pub(crate) run: OnceLock<Run>,
    pub(crate) over: AtomicBool,
    /// Whether the program has made a session of MPI.
    pub(crate) sessions: AtomicBool,
    /// The registrations of the log on each window.
    pub(crate) on_windows: Mutex<HashMap<u32, Vec<Registration>>>,
    /// Numbers of communicators in the log; never reused, because the log keeps them all.
    pub(crate) numbers: AtomicU32,
    /// What the log knows of each communicator, to define it again when it gets a name.
    pub(crate) logged_communicators: Mutex<HashMap<Token, Logged>>,
}

/// What is known once MPI is initialised.
pub(crate) struct Run {
    pub(crate) rank: i32,
    pub(crate) size: i32,
    pub(crate) host: String,
    pub(crate) directory: Option<PathBuf>,
    /// Where calls and queues are counted.
    pub(crate) table: Option<ProfileTable>,
    pub(crate) recorder: Option<&'static Recorder>,
    pub(crate) tracer: Option<&'static Tracer>,
    pub(crate) pid: u32,
    /// Its effective user at the start.
    pub(crate) user: u32,
    pub(crate) started: Ticks,
    pub(crate) started_unix_s: f64,
}

static SESSION: OnceLock<Session> = OnceLock::new();

impl Session {
    /// The session of this process, if MPI was initialised under MEL.
    pub(crate) fn get() -> Option<&'static Session> {
        SESSION.get()
    }

    /// The session of this process, made now if there is none.
    pub(crate) fn get_or_make(make: impl FnOnce() -> Session) -> &'static Session {
        SESSION.get_or_init(make)
    }

    /// The event types to log.
    pub(crate) fn logged(&self) -> &[EventIndex] {
        self.logged.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn logged_communicators(&self) -> MutexGuard<'_, HashMap<Token, Logged>> {
        self.logged_communicators.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn on_windows(&self) -> MutexGuard<'_, HashMap<u32, Vec<Registration>>> {
        self.on_windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A communicator that the log knows of.
pub(crate) struct Logged {
    pub(crate) communicator: Communicator,
    /// Its number in the log.
    pub(crate) number: u16,
    /// Whether the user does not want to see it.
    pub(crate) hidden: bool,
    /// The registrations of the log on it.
    pub(crate) handles: Vec<Registration>,
}
