//! The consumer of what goes into the event log: which event types, of which communicators and windows, and calls and messages where there
//! is a trace.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use mel_log::format::NO_OBJECT;
use mel_log::names::{meant_events, unknown_events};
use mel_log::profile::{Ended, LeftOut};
use mel_log::table::ProfileTable;
use mel_log::{Definition, Members, State};
use mpi_abi::Comm;
use mpi_intercept::{Call, FunctionId, Hook, InThread, Wants};
use mpit_events::{BindKind, Core, EventIndex, Registration, Ticks, Token};
use mpit_sources::calls::{Communicator, Observer};
use mpit_sources::rma;
use mpit_sources::transport::clocks::NodeClock;

use super::calls::{TRACED, Tracer, queues};
use super::events;
use super::recorder::Recorder;
use super::windows::object;
use crate::consumer::{Consumer, Parts};
use crate::full::{or_warn, or_warn_once};
use crate::state::Run;
use crate::{described, regions, warn};

/// What the log has of the program.
struct Log {
    parts: Parts,
    /// The event types that were asked for.
    logged: OnceLock<Vec<EventIndex>>,
    /// Where they go, once there is a log.
    recorder: OnceLock<&'static Recorder>,
    /// The registrations on each window.
    on_windows: Mutex<HashMap<u32, Vec<Registration>>>,
    /// Numbers of communicators; never reused, because the log keeps them all.
    numbers: AtomicU32,
    /// Communicators and windows that have none: there are no more.
    lost: AtomicU64,
    /// Where that is counted, where there is a profile.
    table: OnceLock<ProfileTable>,
    /// What it knows of each communicator, to define it again when it gets a name.
    communicators: Mutex<HashMap<Token, Logged>>,
    /// The phase that the process is in.
    phase: AtomicU32,
    /// Whether calls are recorded.
    started: AtomicBool,
}

/// A communicator that the log knows of.
struct Logged {
    communicator: Communicator,
    /// Its number in the log.
    number: u16,
    /// Whether the user does not want to see it.
    hidden: bool,
    /// The registrations of the log on it.
    handles: Vec<Registration>,
}

static TRACER: OnceLock<&'static Tracer> = OnceLock::new();

/// Who records calls and messages in this process.
pub(crate) fn tracer() -> Option<&'static Tracer> {
    TRACER.get().copied()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The consumer of the event log.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let make = || Log {
        parts: *parts,
        logged: OnceLock::new(),
        recorder: OnceLock::new(),
        on_windows: Mutex::default(),
        numbers: AtomicU32::new(0),
        lost: AtomicU64::new(0),
        table: OnceLock::new(),
        communicators: Mutex::default(),
        phase: AtomicU32::new(0),
        started: AtomicBool::new(false),
    };
    parts.config.logs().then(|| Box::leak(Box::new(make())) as &dyn Consumer)
}

impl Consumer for Log {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        if self.parts.config.trace { vec![self, &Late] } else { vec![self] }
    }

    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        let own: &dyn Observer = self;
        std::iter::once(own).chain(tracer().map(Tracer::observer)).collect()
    }

    fn window_observers(&'static self) -> Vec<&'static dyn rma::Observer> {
        let own: &dyn rma::Observer = self;
        std::iter::once(own).chain(tracer().map(Tracer::window_observer)).collect()
    }

    fn hears(&self, event: EventIndex) -> bool {
        self.logged().contains(&event)
    }

    fn begin(&'static self, run: &'static Run) {
        let Parts { abi, core, config, .. } = self.parts;
        let _ = self.logged.set(wanted(core, config.events.iter().flatten()));
        if run.rank == 0 {
            self.warn_of_unknown_names();
        }
        let Some(recorder) = run.recorder else { return };
        let _ = self.recorder.set(recorder);
        self.define_types(recorder);
        self.listen_to_unbound(recorder);
        if config.trace {
            let chosen = !config.comms.is_all();
            let tracer =
                Tracer::listen(abi, recorder, core, self.logged(), (&config.calls, chosen), config.check);
            if let Some(tracer) = or_warn(tracer, "calls and messages are not recorded") {
                let _ = TRACER.set(tracer);
            }
        }
    }

    fn start(&'static self, run: Option<&'static Run>) {
        let Some(Run { recorder: Some(recorder), function, started, .. }) = run else { return };
        define_clock(recorder, self.parts.queue_events.model().clocks().first());
        if self.parts.config.trace {
            // Of a program without a world it is not seen when a session began that matters.
            if !self.parts.abi.has_adopted_a_world() {
                recorder.whole_call(*function as u16, *started);
            }
            self.started.store(true, Ordering::Release);
            if let phase @ 1.. = self.phase.load(Ordering::Relaxed) {
                recorder.phase(phase as u16);
            }
            regions::record(recorder);
        }
    }

    fn phase_named(&self, number: u16, name: &str) {
        let recorder = self.recorder.get();
        recorder
            .iter()
            .for_each(|recorder| recorder.define(&Definition::Phase { number, name: name.to_owned() }));
    }

    fn enter_phase(&self, phase: u16, _: u64) {
        // What begins before the log does stands behind `MPI_Init`.
        let is_new = self.phase.swap(phase.into(), Ordering::Relaxed) != u32::from(phase);
        if let (Some(recorder), true) = (self.recorder.get(), is_new && self.started.load(Ordering::Acquire))
        {
            recorder.phase(phase);
        }
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn settle(&self, run: &Run, ended: Ended, at: Ticks) {
        if run.table.is_none() && run.rank == 0 {
            let lost = LeftOut { logged: self.lost.load(Ordering::Relaxed), ..LeftOut::default() };
            lost.sentence().iter().for_each(|line| warn(line));
        }
        let Some(recorder) = run.recorder else { return };
        if ended == Ended::Finalised {
            if self.parts.config.trace && !self.parts.abi.has_adopted_a_world() {
                // What happens in it afterwards is MEL's own work and is not shown.
                recorder.whole_call(FunctionId::Finalize as u16, at);
            }
            define_clock(recorder, self.parts.queue_events.model().clocks().get(1));
        }
        if let Some(samples) = run.samples.get() {
            samples.finish();
            run.table.iter().for_each(|table| table.header().lost_samples.add(samples.lost()));
        }
        recorder.finish(if ended == Ended::Finalised { State::Finalised } else { State::Aborted });
    }

    fn forked(&self) {
        self.recorder.get().iter().for_each(|recorder| recorder.abandon());
        // Another thread may have been in the midst of a new one.
        regions::abandon();
    }
}

impl Hook for Log {
    fn wants(&self, function: FunctionId) -> Wants {
        match function {
            FunctionId::Comm_set_name => Wants::Leave,
            FunctionId::Pcontrol => Wants::Enter,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        let (Call::Pcontrol(a), Some(recorder)) = (call, self.recorder.get()) else { return };
        match a.level {
            // What was before belongs to the phase before.
            0 | 1 => {
                let latest = self.parts.queue_events.model().catch_up();
                recorder.set_recording(a.level == 1, latest);
            }
            2 => recorder.flush(),
            _ => {}
        }
    }

    fn leave(&self, _: FunctionId, call: &mut Call<'_>, code: c_int) {
        if let Call::Comm_set_name(a) = call
            && code == self.parts.abi.constants.success
        {
            self.define_again(a.comm);
        }
    }
}

/// The tracer, once there is one.
struct Late;

impl Hook for Late {
    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        if let Some(tracer) = tracer() {
            tracer.enter_in_thread(here, function, call);
        }
    }

    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        if let Some(tracer) = tracer() {
            tracer.leave_in_thread(here, function, call, code);
        }
    }
}

/// Writes into a log how this node's clock stands beside that of rank 0, where there are several nodes.
fn define_clock(recorder: &Recorder, compared: Option<&NodeClock>) {
    if let Some(NodeClock { offset, compared, .. }) = compared {
        recorder.define(&Definition::ClockReading {
            local_ticks: compared.ticks.0,
            reference_nanos: (compared.nanos as i64).saturating_add(offset.nanos),
            error_nanos: offset.error.unsigned_abs(),
        });
    }
}

impl Log {
    /// The event types to log.
    fn logged(&self) -> &[EventIndex] {
        self.logged.get().map_or(&[], Vec::as_slice)
    }

    /// Handles for the listed types that are bound to no object.
    fn listen_to_unbound(&self, recorder: &'static Recorder) {
        for &event in self.logged() {
            if self.parts.core.event_type(event).is_some_and(|event_type| event_type.bind == BindKind::None) {
                or_warn_once(events::listen(recorder, self.parts.core, event, None, NO_OBJECT));
            }
        }
    }

    fn define_types(&self, recorder: &Recorder) {
        for event in self.recorded() {
            if let Some(event_type) = self.parts.core.event_type(event) {
                events::define(recorder, event, event_type);
            }
        }
        if !self.parts.config.calls.is_all() || !self.parts.config.comms.is_all() {
            let ((only_calls, no_calls), (only_comms, no_comms)) =
                (self.parts.config.calls.given(), self.parts.config.comms.given());
            recorder.define(&Definition::Filter { only_calls, no_calls, only_comms, no_comms });
        }
        if self.parts.config.trace {
            for function in FunctionId::all() {
                recorder
                    .define(&Definition::Function { number: function as u16, name: function.name().into() });
            }
        }
    }

    /// The event types that go into the log: those asked for, and those that a trace shows.
    fn recorded(&self) -> Vec<EventIndex> {
        let mut all = self.logged().to_vec();
        if self.parts.config.trace {
            let searches = TRACED.iter().flat_map(|(begin, end)| [*begin, *end]);
            let traced = searches.chain(queues());
            all.extend(traced.filter_map(|name| self.parts.core.type_by_name(name).ok()));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn warn_of_unknown_names(&self) {
        let core = self.parts.core;
        let words = self.parts.config.events.iter().flatten().map(String::as_str);
        let unknown = words.filter(|word| meant(core, word).is_empty());
        unknown_events(unknown, &known(core)).iter().for_each(|(line, _)| warn(line));
    }
}

/// The names of all event types, in the order of their indices.
fn known(core: &Core) -> Vec<&str> {
    core.event_types().map(|(_, event_type)| event_type.name.as_str()).collect()
}

/// The event types that a word means: the one of this name, an alias included, or [those](meant_events) of a pattern or an end.
fn meant(core: &Core, word: &str) -> Vec<EventIndex> {
    let of_places = |places: Vec<usize>| {
        core.event_types()
            .enumerate()
            .filter(|(place, _)| places.contains(place))
            .map(|(_, (event, _))| event)
            .collect()
    };
    core.type_by_name(word).map_or_else(|_| of_places(meant_events(word, &known(core))), |event| vec![event])
}

/// The event types that these words mean, each once.
pub(crate) fn wanted<'a>(core: &Core, words: impl Iterator<Item = &'a String>) -> Vec<EventIndex> {
    let mut wanted = Vec::new();
    for event in words.flat_map(|word| meant(core, word)) {
        if !wanted.contains(&event) {
            wanted.push(event);
        }
    }
    wanted
}

impl Observer for Log {
    /// Handles for all listed types, for each communicator as it comes (the paper, section 5.2).
    fn communicator_created(&self, communicator: &Communicator) {
        let Some(&recorder) = self.recorder.get() else { return };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed).min(u32::from(NO_OBJECT)) as u16;
        let described = described::now(self.parts.queue_events.model(), communicator);
        if number == NO_OBJECT {
            self.lose();
        } else {
            recorder.define(&described.definition(number));
        }
        let hidden = self.hides(&described.name, number);
        if let Some(tracer) = tracer() {
            tracer.set_number(communicator.index, communicator.token.0, number);
            tracer.set_hidden(communicator.index, communicator.token.0, hidden);
        }
        let handles = if hidden { Vec::new() } else { self.listen_on(recorder, communicator, number) };
        let logged = Logged { communicator: *communicator, number, hidden, handles };
        lock(&self.communicators).insert(communicator.token, logged);
    }

    /// A program may make and free any number of communicators.
    fn communicator_freed(&self, communicator: &Communicator) {
        lock(&self.communicators).remove(&communicator.token);
        if let Some(tracer) = tracer() {
            tracer.forget_number(communicator.token.0);
        }
    }
}

impl rma::Observer for Log {
    /// Handles for all listed types, for each window as it comes.
    fn window_created(&self, created: &rma::Created<'_>) {
        let Some(&recorder) = self.recorder.get() else { return };
        let index = object(created.window);
        // As its communicator is.
        let hidden = lock(&self.communicators).get(&created.comm).is_some_and(|logged| logged.hidden);
        if let Some(tracer) = tracer() {
            tracer.set_window_hidden(created.window, created.token.0, hidden);
        }
        if hidden {
            return;
        }
        if index == NO_OBJECT {
            self.lose();
        } else {
            let members = Members::from_ranks(created.members.iter().copied());
            recorder.define(&Definition::Window { index, members });
        }
        for &event in self.logged() {
            let Some(event_type) = self.parts.core.event_type(event) else { continue };
            if event_type.bind == BindKind::Win
                && let Some(handle) =
                    or_warn_once(events::listen(recorder, self.parts.core, event, Some(created.token), index))
            {
                lock(&self.on_windows).entry(created.window).or_default().push(handle);
            }
        }
    }

    /// A program may make and free any number of windows.
    fn window_freed(&self, window: u32, _: Token) {
        let handles = lock(&self.on_windows).remove(&window);
        for handle in handles.into_iter().flatten() {
            let _ = self.parts.core.free(handle, None);
        }
    }
}

impl Log {
    /// There is no number for a communicator or a window: counted, and told with what else found no space.
    fn lose(&self) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(table) = self.table.get() {
            table.header().lost_logged.fetch_max(lost);
        }
    }

    /// Whether the user does not want to see the communicator of this name.
    fn hides(&self, name: &str, number: u16) -> bool {
        let comms = &self.parts.config.comms;
        !comms.is_all() && !comms.wants(&[name, &number.to_string()])
    }

    /// Registrations of all listed types on a communicator.
    fn listen_on(
        &self,
        recorder: &'static Recorder,
        communicator: &Communicator,
        number: u16,
    ) -> Vec<Registration> {
        let is_bound = |event: &&EventIndex| {
            self.parts.core.event_type(**event).is_some_and(|event_type| event_type.bind == BindKind::Comm)
        };
        let listen = |event: &EventIndex| {
            events::listen(recorder, self.parts.core, *event, Some(communicator.token), number)
        };
        self.logged().iter().filter(is_bound).filter_map(|event| or_warn_once(listen(event))).collect()
    }

    /// The communicator has a name now.
    fn define_again(&self, comm: Comm) {
        let Some(&recorder) = self.recorder.get() else { return };
        let mut communicators = lock(&self.communicators);
        let Some(logged) = communicators.get_mut(&Token(comm.0 as u64)) else { return };
        let Logged { communicator, number, hidden, handles } = logged;
        let described = described::now(self.parts.queue_events.model(), communicator);
        if *number != NO_OBJECT {
            recorder.define(&described.definition(*number));
        }
        let hides = self.hides(&described.name, *number);
        if std::mem::replace(hidden, hides) == hides {
            return;
        }
        if let Some(tracer) = tracer() {
            tracer.set_hidden(communicator.index, communicator.token.0, hides);
        }
        if hides {
            for handle in handles.drain(..) {
                let _ = self.parts.core.free(handle, None);
            }
        } else {
            *handles = self.listen_on(recorder, communicator, *number);
        }
    }
}
