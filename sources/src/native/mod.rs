//! Events of the MPI itself, where it was built with some, as event types of the core like any other.
//!
//! MPIs offer their events by the interface of the standard (MPI-5.0, section 15.3.8). To them, this room is a
//! tool: it describes their types to the core ([`types`], [`known`]), registers with the MPI for those that
//! somebody listens to, and raises in the core the events of the MPI's callbacks ([`callback`]). An MPI without
//! the interface, or without events, costs nothing after [`NativeEvents::find`].
//!
//! Some MPIs have their events before `MPI_Init*`, and raise some in it: those are [`held`] until somebody
//! listens. Such registrations stay until the process ends, for what is raised in `MPI_Finalize`. Types that are
//! bound to a communicator or a window have a registration for each ([`bound`]). Sources without order may keep
//! their events until they are asked for the time: they are [polled](NativeEvents::poll).
//!
//! What this room must not know: who listens, and which MPI the events come from.
//!
//! Not taken over: types that are bound to other objects, or that the MPI has from `MPI_Init*` on only and that
//! are bound to an object; and types of more than [`LARGEST_EVENT`] bytes.

mod bound;
mod callback;
mod held;
mod known;
mod types;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mpi_abi::{Abi, Handle, ToolEvents, ToolSource, pmpi};
use mpit_events::{BindKind, Clock, Core, EventIndex, Object, Ordering as SourceOrder, Source, SourceIndex};

use bound::Objects;
use held::Waiting;

/// Bytes of the largest event that is taken over.
pub const LARGEST_EVENT: usize = 256;

/// Between two polls of sources without order passes at least this.
const POLL_MILLISECONDS: u64 = 10;

/// The MPI's events in this process. Lives as long as the process.
pub struct NativeEvents {
    abi: &'static Abi,
    core: &'static Core,
    mpi: &'static ToolEvents,
    /// What the MPI had before `MPI_Init*`, and what came in it.
    found: [OnceLock<Part>; 2],
    /// For events that name no source which is known.
    any_source: SourceIndex,
    /// One at a time makes and ends registrations.
    changing: Mutex<()>,
    bound: Mutex<Objects>,
    /// Whether what comes is kept until somebody listens.
    holds: AtomicBool,
    waiting: Waiting,
    /// When sources without order were polled, in ticks; zero where they are not.
    polled: AtomicU64,
}

/// When the MPI is asked for its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At the entry of `MPI_Init*`.
    BeforeInit,
    /// At its exit.
    AfterInit,
}

/// Types and sources that were found at the same time.
struct Part {
    /// Each with what is registered for it where it is bound to no object.
    types: Vec<&'static Heard>,
    sources: Vec<FoundSource>,
    /// The number of types that the MPI had.
    known: i32,
}

/// A source of the MPI's and its copy in the core.
#[derive(Clone, Copy)]
struct FoundSource {
    index: SourceIndex,
    /// How many ticks of our clock are in one of its.
    rate: f64,
    ordered: bool,
}

/// A type of the MPI's and its copy in the core.
struct Type {
    /// The MPI's index.
    native: i32,
    event: EventIndex,
    bind: BindKind,
    /// Bytes of an event.
    extent: usize,
}

/// What the MPI's callbacks are given: a type, on an object.
struct Heard {
    native: &'static Type,
    object: Arc<Object>,
    /// The registration with the MPI while there is one, else 0.
    registration: AtomicUsize,
}

impl Heard {
    fn new(native: &'static Type, object: Arc<Object>) -> Self {
        Heard { native, object, registration: AtomicUsize::new(0) }
    }

    fn is(&self, registration: usize) -> bool {
        self.registration.load(Ordering::Acquire) == registration
    }
}

/// What was found, for the MPI's callbacks.
static FOUND: OnceLock<NativeEvents> = OnceLock::new();

impl NativeEvents {
    /// Finds the events of the MPI and adds their types and sources to the core; `None` where there are
    /// none. Call it at the entry of `MPI_Init*` and, as some MPIs have no events before, at its end. Types that are
    /// bound to objects are found at the entry only, and where its hook is registered then.
    ///
    /// Where the MPI has the interface, it is initialised and stays so: MPICH 4.0 forgets its variables
    /// when it is ended, also for others.
    pub fn find(abi: &'static Abi, core: &'static Core, at: Moment) -> Option<&'static NativeEvents> {
        if let Some(found) = FOUND.get() {
            found.find_more();
            return Some(found);
        }
        let mpi = ToolEvents::get(true)?;
        mpi.initialise().ok()?;
        if mpi.num_events() == 0 {
            return None;
        }
        let sources = add_sources(abi, core, described_sources(mpi, 0));
        let found = NativeEvents {
            abi,
            core,
            mpi,
            found: [const { OnceLock::new() }; 2],
            any_source: sources.first().map_or_else(|| add_any_source(core), |source| source.index),
            changing: Mutex::default(),
            bound: Mutex::default(),
            holds: AtomicBool::new(false),
            waiting: Waiting::new(),
            polled: AtomicU64::new(0),
        };
        let types = types::add_all(&found, 0, at);
        if types.is_empty() {
            return None;
        }
        let part = Part { types, sources, known: mpi.num_events() };
        Some(FOUND.get_or_init(|| NativeEvents { found: [OnceLock::from(part), OnceLock::new()], ..found }))
    }

    /// The MPI has been initialised since the first time.
    fn find_more(&self) {
        let Some(first) = self.found[0].get() else { return };
        self.found[1].get_or_init(|| {
            let types = types::add_all(self, first.known, Moment::AfterInit);
            let described = described_sources(self.mpi, first.sources.len() as i32);
            let sources = add_sources(self.abi, self.core, described);
            Part { types, sources, known: self.mpi.num_events() }
        });
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.found.iter().filter_map(OnceLock::get)
    }

    fn types(&self) -> impl Iterator<Item = &'static Type> {
        self.parts().flat_map(|part| part.types.iter().map(|heard| heard.native))
    }

    /// The types that are bound to no object, with their registrations.
    fn unbound(&self) -> impl Iterator<Item = &'static Heard> {
        let all = self.parts().flat_map(|part| part.types.iter().copied());
        all.filter(|heard| heard.native.bind == BindKind::None)
    }

    fn sources(&self) -> impl Iterator<Item = FoundSource> {
        self.parts().flat_map(|part| part.sources.iter().copied())
    }

    /// The types, as the core knows them.
    pub fn events(&self) -> impl Iterator<Item = EventIndex> {
        self.types().map(|native| native.event)
    }

    /// Registers with the MPI for those of these types that are bound to no object, and keeps what comes until
    /// [`follow`](NativeEvents::follow). Call it before `MPI_Init*`.
    pub fn hold(&self, wanted: &[EventIndex]) {
        self.holds.store(true, Ordering::Release);
        self.change(|native| wanted.contains(&native.event), true);
    }

    /// Registers with the MPI for what somebody has begun to listen to since the last time, and ends the
    /// registrations that nobody needs any more; raises what was [held](NativeEvents::hold). Call it after
    /// registrations in the core have changed, on a thread that may call MPI, outside of callbacks (in one it
    /// does nothing).
    ///
    /// Where several threads may call MPI at the same time, registrations stay until
    /// [`finish`](NativeEvents::finish): MPICH does not protect its list of them from the thread that is
    /// raising. Their events are then dropped here.
    pub fn follow(&self) {
        self.change(|native| self.core.is_active(native.event), self.is_alone());
        // What comes between is older than what comes after: again when nothing more is held.
        self.raise_held();
        self.holds.store(false, Ordering::Release);
        self.raise_held();
        let is_kept = |heard: &Heard| {
            heard.registration.load(Ordering::Relaxed) != 0 && self.sources().any(|source| !source.ordered)
        };
        if self.unbound().any(is_kept) {
            self.polled.store(Clock::best().now().0.max(1), Ordering::Relaxed);
            mpi_intercept::ask_again();
        }
    }

    /// Whether events are heard that the MPI may raise in `MPI_Finalize` and after it.
    pub fn stays(&self) -> bool {
        self.staying().next().is_some()
    }

    /// The sources that they may come from.
    pub fn staying_sources(&self) -> Vec<SourceIndex> {
        self.sources().map(|source| source.index).collect()
    }

    /// Those for which there is a registration and which the MPI had before `MPI_Init*`: others were found when that was over, as the
    /// first.
    fn staying(&self) -> impl Iterator<Item = &'static Heard> {
        let first = self.found[0].get().filter(|_| self.found[1].get().is_some());
        let of_first = first.into_iter().flat_map(|part| part.types.iter().copied());
        of_first.filter(|heard| heard.registration.load(Ordering::Relaxed) != 0)
    }

    /// Ends registrations with the MPI: all, but for those of types that the MPI had before `MPI_Init*`, and so has
    /// after `MPI_Finalize`. Call it at the entry of `MPI_Finalize`, when nobody else calls MPI any more.
    pub fn finish(&self) {
        self.holds.store(false, Ordering::Release);
        self.poll();
        self.polled.store(0, Ordering::Relaxed);
        self.forget_objects();
        let staying: Vec<&Type> = self.staying().map(|heard| heard.native).collect();
        self.change(|native| staying.iter().any(|staying| std::ptr::eq(*staying, native)), true);
    }

    /// Whether sources without order are polled.
    fn is_polled(&self) -> bool {
        self.polled.load(Ordering::Relaxed) != 0
    }

    /// [Polls](NativeEvents::poll), where that is due.
    fn poll_now_and_then(&self) {
        let (last, now, clock) = (self.polled.load(Ordering::Relaxed), Clock::best().now().0, Clock::best());
        let between = POLL_MILLISECONDS * clock.ticks_per_second() / 1000;
        // One thread is enough.
        let is_due = last != 0 && now.saturating_sub(last) >= between;
        if is_due && self.polled.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.poll();
        }
    }

    /// Asks the sources without order for the time: an MPI may keep what happened there, and raise it when that is safe,
    /// which is then (Open MPI does).
    fn poll(&self) {
        if callback::is_running() || !self.is_polled() {
            return;
        }
        for (index, _) in self.sources().enumerate().filter(|(_, source)| !source.ordered) {
            let _ = self.mpi.source_timestamp(index as i32);
        }
    }

    /// Whether one thread alone calls MPI at a time.
    fn is_alone(&self) -> bool {
        pmpi::query_thread().is_ok_and(|level| level != self.abi.constants.thread.multiple)
    }

    fn change(&self, wanted: impl Fn(&Type) -> bool, may_end: bool) {
        if callback::is_running() {
            return;
        }
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        for heard in self.unbound() {
            match (wanted(heard.native), heard.registration.load(Ordering::Relaxed)) {
                (true, 0) => {
                    // SAFETY: a type that is bound to no object; it lives as long as the process.
                    unsafe { self.register(heard, std::ptr::null_mut()) };
                }
                (false, registration) if registration != 0 && may_end => self.unregister(heard),
                _ => {}
            }
        }
    }

    /// Registers with the MPI; whether that has succeeded.
    ///
    /// # Safety
    /// `heard` stays where it is for the life of the process, unless this fails; `object` is null, or the address of a handle of the kind
    /// that its type is bound to.
    unsafe fn register(&self, heard: &Heard, object: *mut c_void) -> bool {
        let no_info = self.abi.constants.info_null.word();
        let mut registration = 0;
        // SAFETY: a type of the MPI's, an object as the caller promises, and a valid output.
        let code = unsafe {
            (self.mpi.event_handle_alloc)(heard.native.native, object, no_info, &raw mut registration)
        };
        if code != 0 {
            return false;
        }
        // The handler of drops finds the type by the registration.
        heard.registration.store(registration, Ordering::Release);
        let data = std::ptr::from_ref(heard).cast_mut().cast();
        // SAFETY: a live registration. Both functions are of these types, and fit for signal handlers; the data
        // lives as the caller promises.
        unsafe {
            (self.mpi.event_set_dropped_handler)(registration, Some(callback::on_dropped));
            // At each level: some MPIs call the one of the level of the event, or of one below, and others one
            // above. One of them is called for an event.
            for level in self.abi.constants.tool.cb_safety {
                (self.mpi.event_register_callback)(
                    registration,
                    level,
                    no_info,
                    data,
                    Some(callback::on_event),
                );
            }
        }
        true
    }

    fn unregister(&self, heard: &Heard) {
        let registration = heard.registration.swap(0, Ordering::AcqRel);
        if registration != 0 {
            // SAFETY: made in `register`, and ended once: whoever has taken it out of its place.
            unsafe { (self.mpi.event_handle_free)(registration, std::ptr::null_mut(), None) };
        }
    }
}

/// The MPI's sources from this number on.
fn described_sources(mpi: &ToolEvents, first: i32) -> impl Iterator<Item = ToolSource> {
    (first..mpi.num_sources()).map_while(|index| mpi.source(index).ok())
}

/// Where the MPI has no source.
fn add_any_source(core: &Core) -> SourceIndex {
    let description = "events of the MPI library that name no source";
    core.add_source(Source::new("MPI", description, SourceOrder::Unordered, Clock::best()).shared())
}

/// The MPI's sources in the core, each with its name and order, and with our clock: the events' times are
/// converted as they come.
fn add_sources(abi: &Abi, core: &Core, described: impl Iterator<Item = ToolSource>) -> Vec<FoundSource> {
    let ours = Clock::best().ticks_per_second() as f64;
    let [first, _] = abi.constants.tool.source_order;
    described
        .map(|source| {
            let ordered = source.ordering == first;
            let order = if ordered { SourceOrder::Ordered } else { SourceOrder::Unordered };
            // Any thread may raise from any of them.
            let copy = Source::new(source.name, source.description, order, Clock::best()).shared();
            let rate = ours / source.ticks_per_second.max(1) as f64;
            FoundSource { index: core.add_source(copy), rate, ordered }
        })
        .collect()
}
