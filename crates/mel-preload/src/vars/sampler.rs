//! Which variables are read for which objects, when, and by whom.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_queue::ArrayQueue;
use mel_log::Definition;
use mel_log::choice::Choice;
use mel_log::table::ProfileTable;
use mel_log::table::layout::MAX_SAMPLED;
use mpi_abi::{Abi, Comm, Handle as _, Win, questions};
use mpi_intercept::Call;
use mpi_intercept::own_thread::OwnThread;
use mpit_events::{BindKind, Clock, Token};
use mpit_events_entry_points::reading::{Described, Number, Reading};
use mpit_sources::calls::{Communicator, Observer};
use mpit_sources::rma;

use super::series::{Keeper, Sample, Series, class_name, unit_of};
use crate::trace::SampleLog;
use crate::{plugins, warn};

/// So many samples may be on their way.
const QUEUE: usize = 16 * 1024;
/// How often they are kept where no interval says so.
const KEEPS: Duration = Duration::from_secs(1);
/// How long the end of the thread is waited for: a read may be stuck in the MPI.
const PATIENCE: Duration = Duration::from_secs(1);

/// Samples the variables of this process. Lives as long as the process.
pub(crate) struct Sampler {
    abi: &'static Abi,
    choice: Choice,
    /// Microseconds between two samples; zero where only the program asks for them.
    every: AtomicU64,
    clock: Clock,
    /// The process that it belongs to.
    pid: u32,
    /// How a definition is written, on a thread that may call MPI, where it may.
    define: Box<dyn Fn(&Definition) + Send + Sync>,
    /// Used by one thread at a time that may call MPI.
    known: Mutex<Known>,
    /// Objects that were made since.
    made: Mutex<Vec<Object>>,
    /// All that is read.
    series: Mutex<Arc<Vec<Arc<Series>>>>,
    queue: ArrayQueue<Sample>,
    lost: AtomicU64,
    keeper: Mutex<Keeper>,
    /// Whether there is something to do before the next call; and whether that is a sample.
    attends: AtomicBool,
    is_due: AtomicBool,
    stopped: (Mutex<bool>, Condvar),
    thread: OnceLock<OwnThread>,
}

/// What there is to be read.
struct Known {
    reading: Reading,
    /// How many variables were looked at.
    looked_at: usize,
    /// Those that are wanted and can be read.
    variables: Vec<Described>,
    objects: Vec<Object>,
    /// How many definitions there are.
    defined: u32,
    left_out: u64,
}

/// What a variable may be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Object {
    kind: BindKind,
    /// Its handle.
    word: usize,
}

/// The object of what is bound to nothing.
const NOTHING: Object = Object { kind: BindKind::None, word: 0 };

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be sampled, and where it goes.
pub(crate) struct Wanted {
    pub(crate) choice: Choice,
    pub(crate) every: Duration,
    pub(crate) table: ProfileTable,
    pub(crate) log: Option<&'static SampleLog>,
    pub(crate) define: Box<dyn Fn(&Definition) + Send + Sync>,
}

impl Sampler {
    /// Opens the interface of the MPI. Where the program may call MPI, between `MPI_Init*` and `MPI_Finalize`.
    pub(crate) fn new(abi: &'static Abi, wanted: Wanted) -> Sampler {
        let known = Known {
            reading: Reading::open(abi),
            looked_at: 0,
            variables: Vec::new(),
            objects: vec![NOTHING],
            defined: 0,
            left_out: 0,
        };
        Sampler {
            abi,
            choice: wanted.choice,
            every: AtomicU64::new(u64::try_from(wanted.every.as_micros()).unwrap_or(u64::MAX)),
            clock: Clock::best(),
            pid: std::process::id(),
            define: wanted.define,
            known: Mutex::new(known),
            made: Mutex::default(),
            series: Mutex::default(),
            queue: ArrayQueue::new(QUEUE),
            lost: AtomicU64::new(0),
            keeper: Mutex::new(Keeper::new(wanted.table, wanted.log)),
            attends: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            stopped: (Mutex::new(false), Condvar::new()),
            thread: OnceLock::new(),
        }
    }

    /// Takes the first sample, and starts the thread. Where the program may call MPI; `tells` whether names that nothing has are told.
    pub(crate) fn begin(&'static self, tells: bool) {
        self.take_up();
        if tells {
            let known = lock(&self.known);
            let names: Vec<String> = (0..known.looked_at)
                .filter_map(|number| known.reading.describe(number).map(|variable| variable.name))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.choice.complaints("performance variable", &names).iter().for_each(|line| warn(line));
        }
        self.read(|_| true, true);
        // However far the next one is: a process that is killed, or whose log is full by then, leaves the first.
        self.keep(&mut lock(&self.keeper));
        match OwnThread::start("mel-sample", move || self.run()) {
            Ok(thread) => _ = self.thread.set(thread),
            Err(error) => warn(&format!("variables are sampled where the program asks for it only: {error}")),
        }
    }

    /// What the thread does.
    fn run(&self) {
        let (stopped, changed) = &self.stopped;
        let (_, mut every) = self.interval();
        let mut next = Instant::now() + every;
        let mut guard = lock(stopped);
        while !*guard {
            let now = Instant::now();
            let (sampled, wanted) = self.interval();
            if wanted != every {
                (every, next) = (wanted, now + wanted);
            }
            if now < next {
                guard = changed.wait_timeout(guard, next - now).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(guard);
            if sampled {
                self.read(|series| series.any_thread, false);
                self.is_due.store(true, Ordering::Relaxed);
            }
            self.ask();
            self.keep(&mut lock(&self.keeper));
            if let Some(plugins) = plugins::host().filter(|_| sampled) {
                plugins.interrupt(self.clock.now().0);
            }
            // What was missed is not made up for.
            let now = Instant::now();
            while next <= now {
                next += every;
            }
            guard = lock(stopped);
        }
    }

    /// Whether samples are taken by themselves, and the time until something is to be done.
    fn interval(&self) -> (bool, Duration) {
        match self.every.load(Ordering::Relaxed) {
            0 => (false, KEEPS),
            micros => (true, Duration::from_micros(micros)),
        }
    }

    /// Microseconds between two samples; zero where only the program asks for them.
    pub(crate) fn every(&self) -> u64 {
        self.every.load(Ordering::Relaxed)
    }

    /// From now on so many microseconds are between two samples.
    pub(crate) fn set_every(&self, micros: u64) {
        self.every.store(micros, Ordering::Relaxed);
        // The thread may be between its look and its sleep.
        drop(lock(&self.stopped.0));
        self.stopped.1.notify_all();
    }

    /// The program enters a call that frees a communicator or a window.
    pub(crate) fn enter(&self, call: &Call<'_>) {
        match call {
            Call::Comm_free(a) if !a.comm.is_null() => {
                // SAFETY: the program gives MPI a communicator to free.
                self.end_of(BindKind::Comm, unsafe { a.comm.read() }.word());
            }
            Call::Comm_disconnect(a) if !a.comm.is_null() => {
                // SAFETY: the program gives MPI a communicator to free.
                self.end_of(BindKind::Comm, unsafe { a.comm.read() }.word());
            }
            Call::Win_free(a) if !a.win.is_null() => {
                // SAFETY: the program gives MPI a window to free.
                self.end_of(BindKind::Win, unsafe { a.win.read() }.word());
            }
            _ => {}
        }
    }

    /// Something is to be done before the program's next call.
    fn ask(&self) {
        self.attends.store(true, Ordering::Release);
        mpi_intercept::attend();
    }

    /// Takes up what is new, and reads what only the threads of the program may read. Where the program may call MPI.
    #[cold]
    pub(crate) fn attend(&self) {
        if self.pid != std::process::id() || !self.attends.swap(false, Ordering::AcqRel) {
            return;
        }
        self.take_up();
        if self.is_due.swap(false, Ordering::AcqRel) {
            self.read(|series| !series.any_thread, false);
            // A process that is killed leaves what it has read.
            if let Ok(mut keeper) = self.keeper.try_lock() {
                self.keep(&mut keeper);
            }
        }
    }

    /// Takes a sample of everything. Where the program may call MPI.
    pub(crate) fn sample(&self) {
        if self.pid == std::process::id() && !*lock(&self.stopped.0) {
            self.take_up();
            self.read(|_| true, true);
        }
    }

    /// Takes up variables and objects that are new.
    fn take_up(&self) {
        // Another thread of the program does.
        let Ok(mut known) = self.known.try_lock() else { return };
        let known = &mut *known;
        let (variables, objects) = (known.variables.len(), known.objects.len());
        known.objects.append(&mut lock(&self.made));
        let count = known.reading.count();
        for number in known.looked_at..count {
            let Some(variable) = known.reading.describe(number) else { continue };
            let for_plugins = plugins::host().is_some_and(|plugins| plugins.wants(&variable.name));
            if for_plugins || self.choice.wants(&[&variable.name]) {
                known.variables.push(variable);
            }
        }
        known.looked_at = count;
        let mut made = Vec::new();
        for (place, variable) in known.variables.iter().enumerate() {
            let mut define = |object: String| {
                let number = known.defined;
                known.defined += 1;
                let definition = Definition::Variable {
                    number,
                    name: variable.name.clone(),
                    description: variable.description.clone(),
                    class: class_name(variable.class).into(),
                    object,
                    of_mpi: !variable.is_ours,
                    unit: unit_of(variable).into(),
                    is_whole: matches!(variable.element, Some(Number::Unsigned(_))),
                };
                (self.define)(&definition);
                if let Some(plugins) = plugins::host() {
                    plugins.variable(&definition);
                }
                (number, definition)
            };
            let is_new = place >= variables;
            let is_listed = variable.element.is_none()
                || class_name(variable.class) == "generic"
                || !matches!(variable.bind, BindKind::None | BindKind::Comm | BindKind::Win);
            if is_listed {
                if is_new {
                    define(String::new());
                }
                continue;
            }
            for object in known.objects.iter().skip(if is_new { 0 } else { objects }) {
                if object.kind != variable.bind {
                    continue;
                }
                if made.len() + lock(&self.series).len() >= MAX_SAMPLED {
                    known.left_out += 1;
                    continue;
                }
                let word = (object.kind != BindKind::None).then_some(object.word);
                let Some(bound) = known.reading.bind(variable, word) else { continue };
                let is_whole = *object == NOTHING || object.word == self.abi.world().word();
                let definition = define(name_of(*object));
                let of = (object.kind, object.word);
                made.push(Arc::new(Series::new(definition, variable, of, is_whole, bound)));
            }
        }
        if !made.is_empty() {
            let mut series = lock(&self.series);
            let all = series.iter().cloned().chain(made).collect();
            *series = Arc::new(all);
        }
    }

    /// Reads these variables; where `waits`, one that is being read just now, too.
    fn read(&self, which: impl Fn(&Series) -> bool, waits: bool) {
        let all = lock(&self.series).clone();
        let (at, mut scratch) = (self.clock.now().0, Vec::new());
        for series in all.iter().filter(|series| which(series)) {
            let bound = if waits { Some(series.bound()) } else { series.try_bound() };
            let Some(mut bound) = bound else { continue };
            if let Some(sample) = series.sample(&mut bound, at, &mut scratch) {
                drop(bound);
                self.push(sample);
            }
        }
        if self.queue.len() > QUEUE / 2
            && let Ok(mut keeper) = self.keeper.try_lock()
        {
            self.keep(&mut keeper);
        }
    }

    fn push(&self, sample: Sample) {
        if self.queue.push(sample).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What is in the queue is kept.
    fn keep(&self, keeper: &mut Keeper) {
        while let Some(sample) = self.queue.pop() {
            keeper.keep(&sample);
            if let Some(plugins) = plugins::host() {
                plugins.sampled(sample.series.number, sample.at, &sample.values);
            }
        }
        keeper.lost(self.lost.load(Ordering::Relaxed));
    }

    /// An object is about to be freed: its last samples are taken, and its handles end.
    fn end_of(&self, kind: BindKind, word: usize) {
        if self.pid != std::process::id() {
            return;
        }
        let object = Object { kind, word };
        lock(&self.made).retain(|made| *made != object);
        lock(&self.known).objects.retain(|known| *known != object);
        let ended: Vec<Arc<Series>> = {
            let mut series = lock(&self.series);
            let (ended, kept): (Vec<_>, Vec<_>) =
                series.iter().cloned().partition(|series| series.object == (kind, word));
            if ended.is_empty() {
                return;
            }
            *series = Arc::new(kept);
            ended
        };
        self.end(&ended);
    }

    /// Takes last samples, and ends handles.
    fn end(&self, all: &[Arc<Series>]) {
        let (at, mut scratch) = (self.clock.now().0, Vec::new());
        for series in all {
            let mut bound = series.bound();
            if let Some(sample) = series.sample(&mut bound, at, &mut scratch) {
                self.push(sample);
            }
            bound.end();
            self.define_again(series);
        }
    }

    /// The object of a variable may have got a name since it was made.
    fn define_again(&self, series: &Series) {
        let mut definition = series.definition.clone();
        if let Definition::Variable { object, .. } = &mut definition {
            let (kind, word) = series.object;
            let name = name_of(Object { kind, word });
            if *object != name {
                *object = name;
                (self.define)(&definition);
            }
        }
    }

    /// The program is in `MPI_Finalize`: last samples are taken, and all handles end.
    pub(crate) fn finish(&self) {
        if self.pid != std::process::id() || !self.stop() {
            return;
        }
        let all = std::mem::take(&mut *lock(&self.series));
        self.end(&all);
        let mut known = lock(&self.known);
        known.reading.close();
        self.keep_last(known.left_out);
    }

    /// The program ends otherwise: MPI is not called.
    pub(crate) fn finish_alone(&self) {
        if self.pid == std::process::id() && self.stop() {
            self.read(|series| series.is_ours, false);
            self.keep_last(self.known.try_lock().map_or(0, |known| known.left_out));
        }
    }

    fn keep_last(&self, left_out: u64) {
        if let Ok(mut keeper) = self.keeper.try_lock() {
            self.keep(&mut keeper);
            keeper.left_out(left_out);
        }
    }

    /// Ends the thread and waits for it, but not for ever; whether it has ended.
    fn stop(&self) -> bool {
        let (stopped, changed) = &self.stopped;
        *lock(stopped) = true;
        changed.notify_all();
        self.thread.get().is_none_or(|thread| thread.ends_within(PATIENCE))
    }

    fn add(&self, object: Object) {
        lock(&self.made).push(object);
        self.ask();
    }
}

/// What an object is called.
fn name_of(object: Object) -> String {
    let given = match object.kind {
        BindKind::None => return String::new(),
        BindKind::Win => questions::win_get_name(Win(object.word)),
        _ => questions::comm_get_name(Comm(object.word)),
    };
    let given = given.ok().filter(|name| !name.is_empty());
    given
        .unwrap_or_else(|| if object.kind == BindKind::Win { "window".into() } else { "communicator".into() })
}

impl Observer for Sampler {
    fn communicator_created(&self, communicator: &Communicator) {
        let word = communicator.token.0 as usize;
        // Nothing goes anywhere on that.
        if word != self.abi.constants.comm_self.word() {
            self.add(Object { kind: BindKind::Comm, word });
        }
    }
}

impl rma::Observer for Sampler {
    fn window_created(&self, created: &rma::Created<'_>) {
        let Token(word) = created.token;
        self.add(Object { kind: BindKind::Win, word: word as usize });
    }
}
