//! The MPI's own events and sources beside ours: who has which number and which handle.
//!
//! Tools see one set of event types and one of sources. The MPI's come first, with the numbers that the
//! MPI gives them, and ours follow. Some MPIs (MPICH) make their own in `MPI_Init` only: where a tool has
//! asked before, they come after ours, because a number that was told never means another thing
//! (MPI-5.0, section 15.3.8). Everything about an object of the MPI is passed on to the MPI.
//!
//! | handle | how it is told whose it is |
//! |---|---|
//! | event and source index | by [`Indices`] |
//! | registration | the MPI's are in a list ([`Registrations`]); ours are no addresses |
//! | instance | ours begin with a mark that nobody else has |
//! | enumeration | ours are addresses in this library |
//!
//! A type or source of our core that has the name of one of the MPI's is a copy of that, made for
//! listeners in Rust. Tools see the original only.

mod indices;
mod registrations;

use std::ffi::{CString, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use mpi_abi::{Abi, Family, ToolEvents};
use mpit_events::{Error, EventIndex, Instance, Registration, SourceIndex, UserData, core};

use crate::callback::DroppedFunction;
use crate::failure::Failure;
use indices::{Indices, Owner};
use registrations::Registrations;

static EVENTS: Indices<1024> = Indices::new();
static SOURCES: Indices<8192> = Indices::new();
/// How many of our types and sources have been looked at.
static SEEN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static OF_MPI: Registrations = Registrations::new();
/// The bytes of the MPI's largest event.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// One of the MPI's, with its functions and its own index or handle; or one of ours.
pub(crate) enum Whose<Native, Ours> {
    Mpi(&'static ToolEvents, Native),
    Ours(Ours),
}

/// What an MPI has answered.
pub(crate) fn answer(code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure::Mpi(code)) }
}

impl From<mpi_abi::Error> for Failure {
    fn from(error: mpi_abi::Error) -> Self {
        match error {
            mpi_abi::Error::Code { code, .. } => Failure::Mpi(code),
            _ => Failure::Internal,
        }
    }
}

/// Gives numbers to what has none yet, the MPI's first. Called where the interface is initialised; not
/// signal-safe.
pub(crate) fn refresh() {
    let mpi = ToolEvents::get(true);
    if let Some(mpi) = mpi {
        for index in 0..mpi.num_events() {
            if EVENTS.number_of(Owner::Mpi(index as u32)).is_some_and(|number| number + 1 == EVENTS.len()) {
                let extent = mpi.event_type(index).map_or(0, |event_type| event_type.extent());
                LARGEST.fetch_max(extent, Ordering::AcqRel);
            }
        }
        (0..mpi.num_sources()).for_each(|index| _ = SOURCES.number_of(Owner::Mpi(index as u32)));
    }
    let core = core();
    // Several threads may do the same: the numbers are the same for all.
    let (events, sources) = (core.num_types(), core.num_sources());
    for (index, event_type) in core.event_types().take(events).skip(SEEN[0].load(Ordering::Acquire)) {
        if !mpi.is_some_and(|mpi| has_event(mpi, &event_type.name)) {
            EVENTS.number_of(Owner::Ours(index.get() as u32));
        }
    }
    SEEN[0].fetch_max(events, Ordering::AcqRel);
    for (index, source) in core.sources().take(sources).skip(SEEN[1].load(Ordering::Acquire)) {
        if !mpi.is_some_and(|mpi| has_source(mpi, &source.name)) {
            SOURCES.number_of(Owner::Ours(index.get() as u32));
        }
    }
    SEEN[1].fetch_max(sources, Ordering::AcqRel);
}

fn has_event(mpi: &ToolEvents, name: &str) -> bool {
    CString::new(name).is_ok_and(|name| mpi.event_of_name(&name).is_some())
}

fn has_source(mpi: &ToolEvents, name: &str) -> bool {
    (0..mpi.num_sources()).any(|index| mpi.source(index).is_ok_and(|source| source.name == name))
}

/// The number of event types.
pub(crate) fn num_events() -> c_int {
    refresh();
    EVENTS.len() as c_int
}

/// The number of sources.
pub(crate) fn num_sources() -> c_int {
    refresh();
    SOURCES.len() as c_int
}

/// Whose event type has this number. `profiling`: how the tool has called us.
pub(crate) fn event(number: c_int, profiling: bool) -> Result<Whose<c_int, EventIndex>, Failure> {
    match owner(&EVENTS, number)? {
        Owner::Mpi(index) => Ok(Whose::Mpi(mpi(profiling)?, index as c_int)),
        Owner::Ours(index) => Ok(Whose::Ours(core().event_index(index.into())?)),
    }
}

/// Whose source has this number.
pub(crate) fn source(number: c_int, profiling: bool) -> Result<Whose<c_int, SourceIndex>, Failure> {
    match owner(&SOURCES, number)? {
        Owner::Mpi(index) => Ok(Whose::Mpi(mpi(profiling)?, index as c_int)),
        Owner::Ours(index) => Ok(Whose::Ours(core().source_index(index.into())?)),
    }
}

fn owner<const N: usize>(indices: &Indices<N>, number: c_int) -> Result<Owner, Failure> {
    let number = usize::try_from(number).map_err(|_| Error::InvalidIndex)?;
    if number >= indices.len() {
        refresh();
    }
    indices.owner(number).ok_or(Failure::Core(Error::InvalidIndex))
}

fn mpi(profiling: bool) -> Result<&'static ToolEvents, Failure> {
    ToolEvents::get(profiling).ok_or(Failure::Internal)
}

/// The number of the event type of this name.
pub(crate) fn event_of_name(name: &str, profiling: bool) -> Result<c_int, Failure> {
    refresh();
    let text = CString::new(name).map_err(|_| Error::InvalidName)?;
    match ToolEvents::get(profiling).and_then(|mpi| mpi.event_of_name(&text)) {
        Some(index) => number_of_mpi_event(index),
        None => number_of_event(core().type_by_name(name)?).ok_or(Failure::Core(Error::InvalidName)),
    }
}

/// The number under which tools know an event type of the MPI.
pub(crate) fn number_of_mpi_event(index: c_int) -> Result<c_int, Failure> {
    number(&EVENTS, Owner::Mpi(index as u32)).ok_or(Failure::Core(Error::OutOfHandles))
}

/// The number under which tools know an event type of ours; none for the copies of the MPI's.
pub(crate) fn number_of_event(index: EventIndex) -> Option<c_int> {
    let index = Owner::Ours(index.get() as u32);
    (0..EVENTS.len()).find(|&number| EVENTS.owner(number) == Some(index)).map(|number| number as c_int)
}

/// The number under which tools know a source of the MPI. Signal-safe.
pub(crate) fn number_of_mpi_source(index: c_int) -> c_int {
    number(&SOURCES, Owner::Mpi(index as u32)).unwrap_or(index)
}

/// The number under which tools know a source of ours. Signal-safe.
pub(crate) fn number_of_source(index: SourceIndex) -> c_int {
    number(&SOURCES, Owner::Ours(index.get() as u32)).unwrap_or(c_int::MAX)
}

/// The same for a number of the core's.
pub(crate) fn number_of_source_number(index: c_int) -> c_int {
    core().source_index(index.into()).map_or(index, number_of_source)
}

fn number<const N: usize>(indices: &Indices<N>, owner: Owner) -> Option<c_int> {
    indices.number_of(owner).map(|number| number as c_int)
}

// Handles.

/// Whose registration this is. One that nobody has is taken for ours, and the core refuses it.
pub(crate) fn registration(
    handle: Registration,
    profiling: bool,
) -> Result<Whose<usize, Registration>, Failure> {
    if OF_MPI.contains(handle.0) {
        Ok(Whose::Mpi(mpi(profiling)?, handle.0))
    } else {
        Ok(Whose::Ours(handle))
    }
}

/// The MPI has made this registration.
pub(crate) fn add_registration(handle: usize) {
    OF_MPI.add(handle);
}

/// The MPI is about to end this registration; an error where another thread was first.
pub(crate) fn remove_registration(handle: usize) -> Result<(), Failure> {
    if OF_MPI.remove(handle) { Ok(()) } else { Err(Error::InvalidHandle.into()) }
}

/// Ends all registrations of the MPI's that tools have made and not freed.
pub(crate) fn end_registrations() {
    let left = OF_MPI.take_all();
    if let Some(mpi) = ToolEvents::get(true) {
        for handle in left {
            // SAFETY: the MPI has made it, and it was not freed since.
            unsafe { (mpi.event_handle_free)(handle, std::ptr::null_mut(), None) };
        }
    }
}

/// Whose instance this is. Signal-safe.
pub(crate) fn instance(
    event: *const Instance<'static>,
    profiling: bool,
) -> Result<Whose<usize, &'static Instance<'static>>, Failure> {
    if event.is_null() {
        return Err(Error::InvalidHandle.into());
    }
    // SAFETY: MPI allows instance handles in the callback that they were given to only. There it is one
    // of ours, or an address of the MPI's, behind which there are at least a type and data.
    if unsafe { Instance::is_at(event) } {
        // SAFETY: it is one of ours and lives as long as its callback, in which we are.
        return Ok(Whose::Ours(unsafe { &*event }));
    }
    match ToolEvents::get(profiling) {
        Some(mpi) => Ok(Whose::Mpi(mpi, event as usize)),
        None => Err(Error::InvalidHandle.into()),
    }
}

/// The bytes that an event of the MPI's has at most. Signal-safe.
pub(crate) fn largest_event_of_mpi() -> usize {
    LARGEST.load(Ordering::Acquire)
}

/// Installs, replaces or removes the handler of dropped events of a registration of the MPI's. It is
/// called with this user data, or, where there is none, with what the MPI gives.
pub(crate) fn set_dropped_handler(
    mpi: &ToolEvents,
    handle: usize,
    handler: Option<(DroppedFunction, Option<UserData>)>,
) -> Result<(), Failure> {
    /// Called by the MPI. Signal-safe.
    unsafe extern "C" fn on_dropped(
        count: i64,
        handle: usize,
        source: c_int,
        level: c_int,
        user_data: *mut c_void,
    ) {
        let Some((function, own)) = OF_MPI.dropped(handle) else { return };
        let user_data = own.map_or(user_data, |UserData(own)| own);
        // SAFETY: the tool has promised a function of this type; the arguments are the MPI's.
        unsafe { function(count, Registration(handle), number_of_mpi_source(source), level, user_data) };
    }
    OF_MPI.set_dropped(handle, handler);
    // Also where the tool wants none any more: MPICH calls a handler that was removed.
    // SAFETY: a live registration of the MPI's, and a function of this type that takes any user data.
    answer(unsafe { (mpi.event_set_dropped_handler)(handle, Some(on_dropped)) })
}

/// Whether the MPI's interface is better left open when the last tool ends it: MPICH forgets its
/// variables and events then, and does not make them again when it is initialised once more.
pub(crate) fn stays_open() -> bool {
    Abi::current().is_some_and(|abi| abi.family == Family::Mpich || abi.library.contains("MPICH"))
}
