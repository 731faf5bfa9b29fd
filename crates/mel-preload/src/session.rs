//! What is switched on when MPI is initialised.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use in_process::own_file;
use mpi_abi::{Abi, next, pmpi, questions};
use mpi_intercept::{Call, FunctionId, Hook, Wants, signals};
use mpit_events::{BindKind, Clock, Ticks};
use mpit_sources::between_calls::BetweenCalls;
use mpit_sources::calls::{Mode, Observer};
use mpit_sources::native::{Moment, NativeEvents};
use mpit_sources::netops::NetOps;
use mpit_sources::rma::Rma;
use mpit_sources::{Following, QueueEvents};

use super::config::Config;
use super::full::or_warn;
use super::growth::Growth;
use super::state::Session;
use super::{controls, directory, finish, launch, settings, tools, warn};
use crate::asked::{self, Asked};
use crate::consumer::Parts;
use crate::registry::Registry;
use crate::state::Run;
use crate::trace::Recorder;
use crate::{consumers, phases, processors, trace};
use mel_log::launcher::is_first_rank;
use mel_log::table::{self, ProfileTable};
use mel_log::{Definition, HeaderInfo, LogFile};

impl Session {
    /// Switches on what was asked for, at the entry of `MPI_Init*`.
    pub(super) fn prepare(abi: &'static Abi, config: Config) {
        let core = mpit_events::core();
        let queue_events = QueueEvents::new(abi, core, config.sources.clone());
        let Some(queue_events) = or_warn(queue_events, "nothing is measured") else { return };
        let (config, queue_events): (&Config, &QueueEvents) =
            (Box::leak(Box::new(config)), Box::leak(Box::new(queue_events)));
        let rma = or_warn(Rma::new(abi, core), "one-sided communication is not measured");
        let netops = or_warn(NetOps::new(abi, core), "what is moved below the calls is not measured");
        if let Some(netops) = netops.filter(|_| config.watches_devices()) {
            netops.watch_devices();
        }
        // For programs and tools that ask for them: nothing is counted before.
        let variables = mpit_sources::vars::add(abi, core, queue_events).ok();
        controls::add();
        let model = queue_events.model();
        if config.measures() {
            model.set_mode(if config.logs() { Mode::Trace } else { Mode::Profile });
            config.model_budget.iter().for_each(|share| model.set_budget(share.0));
        }
        // What is counted on communicators needs their numbers.
        let numbers = config.call_profile || config.matrix || config.profile;
        let registry = Registry::new(numbers.then(|| (abi, queue_events.model())));
        let parts = Parts { abi, core, config, queue_events, netops, variables, registry };
        let session = Session::get_or_make(|| Session {
            abi,
            core,
            config,
            queue_events,
            variables,
            rma,
            netops,
            registry,
            consumers: consumers::make(&parts),
            native: OnceLock::new(),
            prepared: Clock::best().now(),
            run: OnceLock::new(),
            over: AtomicBool::new(false),
            sessions: AtomicU32::new(0),
            open_sessions: AtomicU32::new(0),
            closed_at: AtomicU64::new(0),
        });
        // Leaving runs in reverse: first the model, then the records of calls, last of all ourselves,
        // so that `MPI_Init` itself is not yet recorded but everything after it is.
        let register = |hook| {
            if let Err(full) = mpi_intercept::register(hook) {
                warn(&format!("{full}: something is not measured"));
            }
        };
        register(session);
        if let Some(native) = session.native_at(Moment::BeforeInit) {
            register(native);
            native.hold(&trace::log::wanted(core, config.events.iter().flatten()));
        }
        session.consumers.iter().flat_map(|consumer| consumer.hooks()).for_each(register);
        session.queue_events.hooks().into_iter().chain(session.rma.map(Rma::hook)).for_each(register);
        session.consumers.iter().for_each(|consumer| consumer.straighten(queue_events.calls()));
        let reads = config.vars.is_some() || config.attribute.is_some() || config.policy.is_some();
        if reads && mpit_sources::vars::follow().is_err() {
            warn("there is no place for a further hook: variables of MEL that count what is sent stay zero");
        }
    }

    pub(super) fn set_threads(&self) {
        self.queue_events.model().set_threads();
        self.consumers.iter().for_each(|consumer| consumer.set_threads());
    }

    /// Runs what all processes do together, at the beginning and at the end: neither the program's floating-point traps nor its error
    /// handler are called for what MEL does.
    pub(super) fn with_others(f: impl FnOnce()) {
        mpi_intercept::without_traps(|| questions::returning_errors(f));
    }

    /// All processes together, at the exit of `MPI_Init*`.
    fn begin(&'static self, function: FunctionId) {
        self.know_the_mpi();
        if !self.config.measures() {
            self.consumers.iter().for_each(|consumer| consumer.start(None));
            // Asked nothing: the list of event types is all there is to do, at the end.
            let first = questions::comm_rank(self.abi.world()).is_ok_and(|rank| rank == 0);
            if first && self.config.lists_types() {
                finish::print_types_at_exit();
            }
            return tools::begin(self);
        }
        self.begin_or_end(function);
    }

    /// What the MPI has of its own, and what is set of it.
    pub(super) fn know_the_mpi(&self) {
        let _ = self.native.set(self.native_at(Moment::AfterInit));
        if let Some(list) = &self.config.set {
            let first = questions::comm_rank(self.abi.world()).is_ok_and(|rank| rank == 0);
            settings::apply(list, settings::Whose::Mpi, first);
        }
    }

    pub(super) fn begin_or_end(&'static self, function: FunctionId) {
        if let Err(error) = self.try_begin(function) {
            warn(&format!("{error}: nothing is measured"));
            self.over.store(true, Ordering::Release);
            mpi_intercept::stop();
        }
    }

    fn try_begin(&'static self, function: FunctionId) -> mpi_abi::Result<()> {
        let level = self.find_threads();
        let run = self.find_run(function, level)?;
        finish::arm();
        if let Some(table) = &run.table {
            self.consumers.iter().for_each(|consumer| consumer.attach(table));
        }
        self.consumers.iter().for_each(|consumer| consumer.begin(run));
        self.follow(run)?;
        if self.is_one(level) {
            asked::leave_to_this_thread();
        }
        let reading = processors::scheduled();
        let now = Clock::best().now().0;
        if let Some(table) = &run.table {
            table.define(&finish::program(self));
            table.define(&processors::allowed());
            table.define(&processors::resources());
            reading.iter().for_each(|reading| table.define(reading));
            table.header().runs_since.set(now);
        }
        let is_this = |&(first, last): &(u64, u64)| (first..=last).contains(&(run.rank as u64));
        if self.config.idle.iter().any(is_this) {
            run.table.iter().for_each(|table| table.define(&Definition::Idle {}));
            run.recorder.iter().for_each(|recorder| recorder.define(&Definition::Idle {}));
        }
        asked::begin(self, run, now);
        self.consumers.iter().for_each(|consumer| consumer.start(Some(run)));
        self.queue_events.model().notice_listeners();
        if let Some(list) = &self.config.set {
            settings::apply(list, settings::Whose::Mel, run.rank == 0);
        }
        Ok(())
    }

    /// In how many threads the program calls MPI: the level that it has.
    fn find_threads(&self) -> c_int {
        let multiple = self.abi.constants.thread.multiple;
        let level = pmpi::query_thread().unwrap_or(multiple);
        if level == multiple {
            self.set_threads();
        } else if self.sessions.load(Ordering::Acquire) == 0 {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6).
            self.consumers.iter().for_each(|consumer| unsafe { consumer.leave_to_one_thread() });
        }
        level
    }

    /// Whether one thread alone may call MPI.
    fn is_one(&self, level: c_int) -> bool {
        let threads = self.abi.constants.thread;
        level == threads.single || level == threads.funneled
    }

    /// Finds what there is to know of the run, and opens its files.
    fn find_run(&'static self, function: FunctionId, level: c_int) -> mpi_abi::Result<&'static Run> {
        let (world, started, clock) = (self.abi.world(), self.prepared, Clock::best());
        let (rank, size) = (questions::comm_rank(world)?, questions::comm_size(world)?);
        own_file::on_taken(move || {
            warn(&format!(
                "rank {rank}: the program has closed file descriptors of MEL, so recording ends here: an event log takes no more records, \
                 the profile no more call sites and peers; let the program close only what it has opened"
            ));
        });
        let directory = self.find_directory(rank, size);
        let host = pmpi::get_processor_name().unwrap_or_default();
        let started_realtime_nanos = realtime_at(started);
        let header = HeaderInfo {
            rank: rank as u32,
            world_size: size as u32,
            pid: std::process::id(),
            ticks_per_second: clock.ticks_per_second(),
            origin_ticks: started.0,
            origin_realtime_nanos: started_realtime_nanos,
            host: host.clone(),
        };
        let recorder = directory.as_deref().filter(|_| self.config.logs());
        let recorder = recorder.and_then(|directory| self.open_log(directory, &header, self.is_one(level)));
        if rank == 0 {
            warn_of_other_mpis();
            let known: Vec<&str> = FunctionId::all().map(FunctionId::name).collect();
            self.config.calls.complaints("MPI function", &known).iter().for_each(|line| warn(line));
        }
        let identity = table::Identity {
            rank: header.rank,
            world_size: header.world_size,
            ticks_per_second: header.ticks_per_second,
            started: started.0,
            started_realtime_nanos,
            runs_since: clock.now().0,
            host: host.clone(),
        };
        let table = self.config.profiles().then(|| make_table(directory.as_deref(), &identity)).flatten();
        Ok(self.run.get_or_init(|| Run {
            rank,
            size,
            host,
            directory,
            table,
            recorder,
            samples: OnceLock::new(),
            pid: header.pid,
            user: mel_log::access::user(),
            function,
            started,
        }))
    }

    /// The run's directory, in which this rank makes its own where nodes have disks of their own.
    fn find_directory(&self, rank: i32, size: i32) -> Option<PathBuf> {
        let directory = match launch::alone_among(size) {
            // Each would want the directory that was given.
            Some(_) if self.config.output.is_some() && !is_first_rank() => None,
            started => {
                if let Some(started) = started.filter(|_| is_first_rank()) {
                    launch::warn_of_launcher(self.abi, started);
                }
                directory::agree(self.config, rank, self.abi.world())
            }
        };
        directory.iter().for_each(|directory| super::disks::make(directory));
        directory
    }

    /// The event log of this rank; `one` where one thread alone may call MPI.
    fn open_log(&self, directory: &Path, header: &HeaderInfo, one: bool) -> Option<&'static Recorder> {
        let path = directory.join(mel_log::file_name(header.rank));
        let log = match LogFile::create_limited(&path, header, self.config.limit.unwrap_or(u64::MAX)) {
            Ok(log) => log,
            Err(error) => {
                warn(&format!(
                    "rank {} cannot keep an event log in {}: {error}; make room or use -o",
                    header.rank,
                    directory.display()
                ));
                return None;
            }
        };
        if header.rank == 0 {
            let growth = Growth::new(directory.to_owned(), self.config.tell_size);
            log.on_growth(move |bytes| growth.check(bytes).iter().for_each(|line| warn(line)));
        }
        let recorder: &'static Recorder = Box::leak(Box::new(Recorder::new(log, self.core)));
        if one && self.config.following.between_calls != BetweenCalls::Thread {
            recorder.set_home();
        }
        if self.config.call_sites {
            recorder.record_call_sites();
        }
        if self.config.paused {
            recorder.set_recording(false, 0);
        }
        Some(recorder)
    }

    /// The sources follow the program from now on, and all who want to hear of it do.
    fn follow(&'static self, run: &'static Run) -> mpi_abi::Result<()> {
        self.follow_windows()?;
        if let Some(netops) = self.netops {
            netops.start(self.consumers.iter().any(|consumer| consumer.hears(netops.event())))?;
        }
        match (self.native(), run.recorder) {
            (Some(native), Some(_)) => native.follow(),
            // Nobody will listen to what was kept.
            (Some(native), None) => native.finish(),
            (None, _) => {}
        }
        let of_variables = self.variables.map(|counts| counts as &'static dyn Observer);
        let native = self.native().filter(|native| native.has_bound(BindKind::Comm));
        let observers = self.consumers.iter().flat_map(|consumer| consumer.observers()).chain(of_variables);
        // After those who register on communicators as they hear of them.
        let observers = observers.chain(native.map(|native| native as _));
        let following = Following {
            messages: self.config.trace && run.recorder.is_some(),
            communicators_only: !self.config.needs_messages(),
            ..self.config.following
        };
        let lines = self.queue_events.start(observers.collect(), following)?;
        lines.iter().for_each(|line| warn(line));
        self.netops.into_iter().for_each(NetOps::begin);
        Ok(())
    }

    /// Follows one-sided communication, where something of it is to be measured.
    fn follow_windows(&self) -> mpi_abi::Result<()> {
        let Some(rma) = self.rma else { return Ok(()) };
        let native = self.native().filter(|native| native.has_bound(BindKind::Win));
        let observers = self.consumers.iter().flat_map(|consumer| consumer.window_observers());
        let observers = observers.chain(native.map(|native| native as _)).collect();
        let of_windows = self.core.event_types().filter(|(_, known)| known.bind == BindKind::Win);
        let hears = |event| self.consumers.iter().any(|consumer| consumer.hears(event));
        let any = of_windows.map(|(event, _)| event).any(hears);
        rma.start(self.config.windows || self.config.trace || any, observers)
    }

    /// Looks for events of the MPI itself, which some MPIs have from `MPI_Init*` on only.
    fn native_at(&self, moment: Moment) -> Option<&'static NativeEvents> {
        let wanted =
            self.config.sources.native && (self.config.events.is_some() || self.config.lists_types());
        wanted.then(|| NativeEvents::find(self.abi, self.core, moment)).flatten()
    }
}

/// A table in the run's directory, or in memory where that cannot be.
fn make_table(directory: Option<&Path>, identity: &table::Identity) -> Option<ProfileTable> {
    let path = directory.map(|directory| directory.join(table::file_name(identity.rank)));
    let in_file = path.map(|path| {
        // Of an earlier run, which may be overwritten.
        let _ = std::fs::remove_file(&path);
        // Without space it is kept in memory, and lost only if the process is killed: `profile.json` will say what is to be said.
        ProfileTable::create(&path, identity)
    });
    let table = in_file.and_then(Result::ok).map_or_else(|| ProfileTable::in_memory(identity), Ok);
    table.inspect_err(|error| warn(&format!("calls and queues are not counted: {error}"))).ok()
}

/// One line where several MPIs are in the process, of which the calls of one alone are seen.
fn warn_of_other_mpis() {
    let all = next::libraries();
    let ours = next::file_of(next::unseen(c"MPI_Init") as usize);
    if let (2.., Some(ours)) = (all.len(), ours) {
        let others: Vec<&str> = all.iter().map(String::as_str).filter(|file| *file != ours).collect();
        warn(&format!(
            "there are {} MPI libraries in this process: calls of {ours} are followed; a program that calls {} too is to be \
             run without MEL",
            all.len(),
            others.join(" or ")
        ));
    }
}

impl Hook for Session {
    fn wants(&self, function: FunctionId) -> Wants {
        match function {
            FunctionId::Init | FunctionId::Init_thread | FunctionId::Session_init => Wants::Leave,
            FunctionId::Comm_create_from_group => Wants::Leave,
            FunctionId::Session_finalize => Wants::Enter,
            FunctionId::Pcontrol if self.config.measures() => Wants::Enter,
            FunctionId::Finalize | FunctionId::Abort => Wants::Enter,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        let Some(session) = Session::get() else { return };
        match call {
            Call::Session_finalize(_) => session.session_ends(),
            // What stands for the world may have been freed: the ranks end one by one, with their processes.
            Call::Finalize(_) if self.abi.has_adopted_a_world() => session.close(),
            Call::Finalize(_) => {
                // Where files may not grow, writing fails; the program is not ended by the signal.
                signals::without_signal(libc::SIGXFSZ, || {
                    Session::with_others(|| finish::at_finalize(session))
                });
                tools::finish(session);
            }
            Call::Abort(a) => {
                mpi_intercept::without_traps(|| finish::at_abort(session, a.errorcode));
            }
            // Levels that MPI leaves to tools name phases (MPI-5.0, section 15.2.4).
            Call::Pcontrol(a) if a.level >= phases::FIRST_LEVEL => {
                asked::ask(Asked::Phase(&a.level.to_string()));
            }
            _ => {}
        }
    }

    fn leave(&self, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let Some(session) = Session::get() else { return };
        match call {
            _ if code != self.abi.constants.success => {}
            Call::Session_init(_) => session.session_begins(),
            // SAFETY: MPI has filled the new handle, because the call succeeded.
            Call::Comm_create_from_group(a) => session.adopt(unsafe { a.newcomm.read() }),
            Call::Init(_) | Call::Init_thread(_) if session.run.get().is_none() => {
                Session::with_others(|| session.begin(function));
            }
            Call::Init(_) | Call::Init_thread(_) if self.abi.has_adopted_a_world() => {
                Session::with_others(|| session.world_comes());
            }
            _ => {}
        }
    }
}

/// The wall clock at an instant of the past, in nanoseconds since 1970-01-01 UTC. `MPI_Init` may have taken
/// seconds, and another time on each rank: the wall clock of now would put the ranks apart by that.
fn realtime_at(past: Ticks) -> u64 {
    let clock = Clock::best();
    // The reading that was interrupted least.
    let readings = (0..5).map(|_| {
        let before = clock.now();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (clock.now().since(before), before, wall.as_nanos())
    });
    let Some((_, at, wall)) = readings.min_by_key(|(gap, ..)| *gap) else { return 0 };
    let passed = u128::from(at.since(past)) * 1_000_000_000 / u128::from(clock.ticks_per_second().max(1));
    wall.saturating_sub(passed) as u64
}
