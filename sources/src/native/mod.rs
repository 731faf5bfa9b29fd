//! Events of the MPI itself, where it was built with some, as event types of the core like any other.
//!
//! MPIs offer their events by the interface of the standard (MPI-5.0, section 15.3.8). To them, this room is a
//! tool: it describes their types to the core ([`types`]), registers with the MPI for those that somebody listens
//! to, and raises in the core the events of the MPI's callbacks ([`callback`]). An MPI without the interface, or
//! without events, costs nothing after [`NativeEvents::find`].
//!
//! What this room must not know: who listens, what the events mean, and which MPI they come from.
//!
//! Not taken over: types that are bound to an object, as a registration with the MPI would be needed for
//! each object, and types of more than [`LARGEST_EVENT`] bytes.

mod callback;
mod types;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use mpi_abi::{Abi, Handle, ToolEvents, ToolSource, pmpi};
use mpit_events::{Clock, Core, EventIndex, Ordering as SourceOrder, Source, SourceIndex};

/// Bytes of the largest event that is taken over.
pub const LARGEST_EVENT: usize = 256;

/// The MPI's events in this process. Lives as long as the process.
pub struct NativeEvents {
    abi: &'static Abi,
    core: &'static Core,
    mpi: &'static ToolEvents,
    types: Vec<Type>,
    /// The core's sources, by the MPI's index; never empty.
    sources: Vec<SourceIndex>,
    /// How many ticks of our clock are in one of the source's, by the MPI's index.
    rates: Vec<f64>,
    /// One at a time makes and ends registrations.
    changing: Mutex<()>,
}

/// A type of the MPI's and its copy in the core.
struct Type {
    /// The MPI's index.
    native: i32,
    event: EventIndex,
    /// Bytes of an event.
    extent: usize,
    /// The registration with the MPI while there is one, else 0.
    registration: AtomicUsize,
}

/// What was found, for the MPI's callbacks.
static FOUND: OnceLock<NativeEvents> = OnceLock::new();

impl NativeEvents {
    /// Finds the events of the MPI and adds their types and sources to the core; `None` where there are
    /// none. Call it at the end of `MPI_Init*`, as some MPIs have no events before. Later calls in the process
    /// return the result of the first one.
    ///
    /// Where the MPI has the interface, it is initialised and stays so: MPICH 4.0 forgets its variables
    /// when it is ended, also for others.
    pub fn find(abi: &'static Abi, core: &'static Core) -> Option<&'static NativeEvents> {
        if let Some(found) = FOUND.get() {
            return Some(found);
        }
        let mpi = ToolEvents::get(true)?;
        mpi.initialise().ok()?;
        let types = types::add_all(abi, core, mpi);
        if types.is_empty() {
            return None;
        }
        let ours = Clock::best().ticks_per_second() as f64;
        let described: Vec<ToolSource> =
            (0..mpi.num_sources()).map_while(|index| mpi.source(index).ok()).collect();
        let rates = described.iter().map(|source| ours / source.ticks_per_second.max(1) as f64).collect();
        let sources = add_sources(abi, core, described);
        let found = NativeEvents { abi, core, mpi, types, sources, rates, changing: Mutex::default() };
        Some(FOUND.get_or_init(|| found))
    }

    /// The types, as the core knows them.
    pub fn events(&self) -> impl Iterator<Item = EventIndex> {
        self.types.iter().map(|native| native.event)
    }

    /// Registers with the MPI for what somebody has begun to listen to since the last time, and ends the
    /// registrations that nobody needs any more. Call it after registrations in the core have changed,
    /// on a thread that may call MPI, outside of callbacks (in one it does nothing).
    ///
    /// Where several threads may call MPI at the same time, registrations stay until
    /// [`finish`](NativeEvents::finish): MPICH does not protect its list of them from the thread that is
    /// raising. Their events are then dropped here.
    pub fn follow(&self) {
        let multiple = self.abi.constants.thread.multiple;
        let alone = pmpi::query_thread().is_ok_and(|level| level != multiple);
        self.change(|native| self.core.is_active(native.event), alone);
    }

    /// Ends all registrations with the MPI. Call it at the entry of `MPI_Finalize`, when nobody else
    /// calls MPI any more.
    pub fn finish(&self) {
        self.change(|_| false, true);
    }

    fn change(&self, wanted: impl Fn(&Type) -> bool, may_end: bool) {
        if callback::is_running() {
            return;
        }
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        for native in &self.types {
            match (wanted(native), native.registration.load(Ordering::Relaxed)) {
                (true, 0) => self.register(native),
                (false, registration) if registration != 0 && may_end => {
                    native.registration.store(0, Ordering::Release);
                    // SAFETY: made below, and ended once: only here, under the lock.
                    unsafe { (self.mpi.event_handle_free)(registration, std::ptr::null_mut(), None) };
                }
                _ => {}
            }
        }
    }

    fn register(&self, native: &Type) {
        let no_info = self.abi.constants.info_null.word();
        let mut registration = 0;
        // SAFETY: a type of the MPI's that is bound to no object, and a valid output.
        let code = unsafe {
            (self.mpi.event_handle_alloc)(native.native, std::ptr::null_mut(), no_info, &raw mut registration)
        };
        if code != 0 {
            return;
        }
        // The handler of drops finds the type by the registration.
        native.registration.store(registration, Ordering::Release);
        let [.., every_level] = self.abi.constants.tool.cb_safety;
        let data = std::ptr::from_ref(native).cast_mut().cast();
        // SAFETY: a live registration. Both functions are of these types, and fit for signal handlers;
        // the data is the type, which lives as long as the process.
        unsafe {
            (self.mpi.event_set_dropped_handler)(registration, Some(callback::on_dropped));
            (self.mpi.event_register_callback)(
                registration,
                every_level,
                no_info,
                data,
                Some(callback::on_event),
            );
        }
    }
}

/// The MPI's sources in the core, each with its name and order, and with our clock: the events' times are
/// converted as they come.
fn add_sources(abi: &Abi, core: &Core, described: Vec<ToolSource>) -> Vec<SourceIndex> {
    let add = |name: String, description: String, order| {
        // Any thread may raise from any of them.
        core.add_source(Source::new(name, description, order, Clock::best()).shared())
    };
    let [ordered, _] = abi.constants.tool.source_order;
    let mut sources: Vec<SourceIndex> = described
        .into_iter()
        .map(|source| {
            let order =
                if source.ordering == ordered { SourceOrder::Ordered } else { SourceOrder::Unordered };
            add(source.name, source.description, order)
        })
        .collect();
    if sources.is_empty() {
        let description = "events of the MPI library that name no source";
        sources.push(add("MPI".into(), description.into(), SourceOrder::Unordered));
    }
    sources
}
