//! The twin in this process: its event types exist from the start, it follows the application's
//! messages from the end of `MPI_Init*` to the beginning of `MPI_Finalize`.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::{Abi, questions};
use mpi_intercept::standard_error::say;
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_sources::between_calls::BetweenCalls;
use mpit_sources::calls::{Observer, Path};
use mpit_sources::netops::NetOps;
use mpit_sources::rma::Rma;
use mpit_sources::vars::QueueCounts;
use mpit_sources::{Following, QueueEvents, Selection};

struct Session {
    abi: &'static Abi,
    queue_events: QueueEvents,
    variables: Option<&'static QueueCounts>,
    rma: Option<Rma>,
    netops: Option<NetOps>,
    complaint: Option<String>,
    begun: AtomicBool,
    over: AtomicBool,
}

/// Adds the event types. Called before MPI is initialised, by the first function that starts it or
/// its tool information interface.
pub(crate) fn prepare(abi: &'static Abi) {
    let (selection, complaint) = match Selection::from_environment() {
        Ok(selection) => (selection, None),
        Err(complaint) => (Selection::default(), Some(complaint)),
    };
    let Ok(queue_events) = QueueEvents::new(abi, core_events::core(), selection) else {
        return say("there is no room for the event types: no events are raised");
    };
    // Another tool that has them too would be as good.
    let variables = mpit_sources::vars::add(abi, core_events::core(), &queue_events).ok();
    // Without room for its event types there are none.
    let rma = Rma::new(abi, core_events::core()).ok();
    let netops = NetOps::new(abi, core_events::core()).ok();
    // Whoever wants the event says so later.
    netops.into_iter().for_each(NetOps::watch_devices);
    let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let session: &'static Session =
        Box::leak(Box::new(Session { abi, queue_events, variables, rma, netops, complaint, begun, over }));
    // Leaving runs in reverse: the twin has followed a call before the session ends or begins.
    let hooks = [session as &'static dyn Hook].into_iter().chain(session.queue_events.hooks());
    for hook in hooks.chain(session.rma.map(Rma::hook)) {
        if let Err(full) = mpi_intercept::register(hook) {
            say(&format!("{full}: events are missing"));
        }
    }
}

impl Session {
    /// All processes together, at the exit of `MPI_Init*`.
    fn begin(&self) {
        if let Err(error) = self.try_begin() {
            say(&format!("{error}: no events are raised"));
            mpi_intercept::stop();
        }
    }

    fn try_begin(&self) -> mpi_abi::Result<()> {
        let mut lines: Vec<String> = Vec::new();
        let between_calls = BetweenCalls::from_environment().unwrap_or_else(|line| {
            lines.push(line);
            BetweenCalls::None
        });
        lines.extend(self.complaint.clone());
        if questions::comm_rank(self.abi.constants.comm_world)? != 0 {
            lines.clear();
        }
        // With MPICH, receives that are posted after a late start are missed on some of its devices: it is followed from the start.
        let may_wait = !mpi_intercept::has_listened() && self.abi.family == mpi_abi::Family::OpenMpi;
        let following = Following { path: Path::Best, between_calls, may_wait, ..Following::default() };
        if let Some(rma) = self.rma {
            rma.start(true, Vec::new())?;
        }
        if let Some(netops) = self.netops {
            netops.start(true)?;
        }
        let observers = self.variables.map(|counts| counts as &'static dyn Observer).into_iter().collect();
        lines.extend(self.queue_events.start(observers, following)?);
        lines.iter().for_each(|line| say(line));
        if let Some(netops) = self.netops {
            netops.begin();
        }
        Ok(())
    }

    /// All processes together, at the entry of `MPI_Finalize`. Events that were under way are raised
    /// in here.
    fn finish(&self) {
        if !self.begun.load(Ordering::Acquire) || self.over.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(netops) = self.netops {
            netops.finish();
        }
        self.queue_events.finish();
        mpi_intercept::stop();
    }
}

impl Hook for Session {
    fn wants(&self, function: FunctionId) -> Wants {
        match function {
            FunctionId::Init | FunctionId::Init_thread | FunctionId::Session_init => Wants::Leave,
            FunctionId::Finalize => Wants::Enter,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        if let Call::Finalize(_) = call {
            self.finish();
        }
    }

    fn leave(&self, _: FunctionId, call: &mut Call<'_>, code: c_int) {
        match call {
            _ if code != self.abi.constants.success => {}
            Call::Init(_) | Call::Init_thread(_) if !self.begun.swap(true, Ordering::AcqRel) => {
                mpi_intercept::without_traps(|| self.begin());
            }
            // In how many threads MPI is called then, only the session knows.
            Call::Session_init(_) if !self.begun.load(Ordering::Acquire) => {
                self.queue_events.model().set_threads()
            }
            _ => {}
        }
    }
}
