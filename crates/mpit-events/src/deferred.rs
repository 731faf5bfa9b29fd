//! Deferred events: for producers that may not call back where something happens, as an allocator, an
//! interrupt or a hook of another library may not.
//!
//! Such a producer only counts ([`Deferred::note`]): one atomic addition, no lock, no clock, no callback.
//! The next safe call of a consumer, whoever it is, delivers what was counted as *one* event with the
//! number of occurrences. Safe calls are those that MPI allows only where callbacks may run:
//! [`Core::alloc`], [`Core::free`], [`Core::set_dropped_handler`] and, for consumers that want their events
//! now, [`Core::deliver_deferred`] (behind `MPI_T_source_get_timestamp`). The first three deliver
//! *before* they change who listens: a new registration gets no event that was counted before it, and one
//! that ends has got all.

use crate::append_only::AppendOnly;
use crate::callback::Safety;
use crate::core::Core;
use crate::event_payload;
use crate::event_type::{EventIndex, EventType};
use crate::object::BindKind;
use crate::registration::Error;
use crate::source::SourceIndex;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The most deferred event types that a core holds.
const MAX_DEFERRED: usize = if cfg!(loom) { 2 } else { 16 };

event_payload! {
    /// The payload of a deferred event: how often it happened since it was last delivered.
    pub struct Occurrences { "count" count: u64 }
}

/// A deferred event type: occurrences that were counted and not yet delivered.
#[derive(Debug)]
pub struct Deferred {
    event: EventIndex,
    source: SourceIndex,
    safety: Safety,
    pending: AtomicU64,
}

impl Deferred {
    /// The index of its event type.
    pub fn event(&self) -> EventIndex {
        self.event
    }

    /// It happened `count` times. Thread-safe, signal-safe, allowed everywhere: two relaxed loads and a
    /// branch where nobody listens, else an atomic addition besides.
    #[inline(always)]
    pub fn note(&self, core: &Core, count: u64) {
        if core.is_active(self.event) {
            self.pending.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// All deferred event types of a core.
pub(crate) struct DeferredTypes {
    all: AppendOnly<Deferred, MAX_DEFERRED>,
    writer: Mutex<()>,
}

impl DeferredTypes {
    pub(crate) fn new() -> Self {
        DeferredTypes { all: AppendOnly::new(), writer: Mutex::default() }
    }
}

impl Core {
    /// Adds an event type that is bound to no object and whose payload is [`Occurrences`]. Its events
    /// are raised from `source`, at `safety`: as any thread may be the one that delivers them, that is
    /// [`Safety::ThreadSafe`] or more where there are several.
    ///
    /// # Errors
    /// [`Error::InvalidName`] where there is an event type of this name, [`Error::OutOfHandles`] when
    /// there are too many.
    pub fn add_deferred(
        &self,
        name: &str,
        description: &str,
        source: SourceIndex,
        safety: Safety,
    ) -> Result<&Deferred, Error> {
        let types = self.deferred();
        let _writer = types.writer.lock();
        if types.all.len() == MAX_DEFERRED {
            return Err(Error::OutOfHandles);
        }
        if self.type_by_name(name).is_ok() {
            return Err(Error::InvalidName);
        }
        let event = self.add_type(EventType::of::<Occurrences>(name, description, BindKind::None))?;
        let index = types.all.push(Deferred { event, source, safety, pending: AtomicU64::new(0) });
        index.ok().and_then(|index| types.all.get(index)).ok_or(Error::OutOfHandles)
    }

    /// Delivers what was counted, one event for each deferred type with occurrences. Callbacks run in
    /// here, so not for signal handlers; with nothing to deliver it costs a load for each deferred type.
    pub fn deliver_deferred(&self) {
        for deferred in self.deferred().all.iter() {
            // What is counted from here on belongs to the next event.
            if deferred.pending.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let count = deferred.pending.swap(0, Ordering::Relaxed);
            let Some(source) = self.source(deferred.source).filter(|_| count != 0) else { continue };
            let section = self.raise_section(deferred.source, deferred.safety);
            let no_object = self.no_object();
            section.event(deferred.event, &no_object, source.now(), &Occurrences { count });
        }
    }
}
