//! The core: the tables of types, sources, objects and registrations, and who may change them.

use std::ffi::c_void;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::append_only::AppendOnly;
use crate::bulk::{Bulk, BulkListener, WORDS};
use crate::callback::{Callback, DroppedFn, DroppedHandler, EventFn, FreeFn, Safety, UserData};
use crate::deferred::DeferredTypes;
use crate::dispatch::{Raise, Raiser};
use crate::event_type::{EventIndex, EventType, MAX_EVENT_TYPES};
use crate::grace::{Grace, Retired};
use crate::instance::Instance;
use crate::object::{BindKind, List, Object, Registrations, Token};
use crate::registration::{Error, Inner, MAX_GENERATION, MAX_REGISTRATIONS, Registration};
use crate::source::{Source, SourceIndex};
use crate::sync::{Alive, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, shared_array};

const MAX_SOURCES: usize = if cfg!(loom) { 4 } else { 4096 };
const MAX_BULK: usize = 6;
const MAX_PRODUCERS: usize = 8;
/// Further names of event types.
const MAX_ALIASES: usize = 8;

/// A producer that is asked for events only while somebody listens.
pub trait Producer: Sync {
    /// Somebody has begun or ended to listen. Called on the thread that did so, with no lock held.
    fn listeners_changed(&self);
}

/// The events engine. A process has one ([`core()`]); tests make their own.
///
/// All methods are thread-safe. Those that change something take a short lock and may allocate, so
/// they are not signal-safe; no callback ever runs under that lock.
pub struct Core {
    types: AppendOnly<Arc<EventType>, MAX_EVENT_TYPES>,
    /// Further names of types.
    aliases: AppendOnly<(String, EventIndex), MAX_ALIASES>,
    /// Each in a box of its own: the list has a large capacity, and few sources.
    sources: AppendOnly<Box<Source>, MAX_SOURCES>,
    /// A bit for each event type that has a registration.
    active: [AtomicU64; WORDS],
    /// A bit for each event type that a bulk listener wants.
    in_bulk: [AtomicU64; WORDS],
    /// Counts the changes of who listens.
    version: AtomicU32,
    bulk: AppendOnly<Bulk, MAX_BULK>,
    producers: AppendOnly<&'static dyn Producer, MAX_PRODUCERS>,
    deferred: DeferredTypes,
    no_object: Arc<Object>,
    /// For each event type, whether a callback has ever asked for the time of an instance.
    asked: [AtomicBool; MAX_EVENT_TYPES],
    grace: Grace,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    objects: FxHashMap<(BindKind, Token), Known>,
    slots: Vec<Slot>,
    vacant: Vec<usize>,
    /// Live registrations of each event type.
    listeners: FxHashMap<EventIndex, usize>,
}

/// An object that somebody has named.
struct Known {
    object: Arc<Object>,
    /// Whether a producer has: registrations may name what there is not.
    bound: bool,
}

#[derive(Default)]
struct Slot {
    generation: usize,
    live: Option<Arc<Inner>>,
}

/// The core of this process.
pub fn core() -> &'static Core {
    static CORE: LazyLock<Core> = LazyLock::new(Core::new);
    &CORE
}

impl Default for Core {
    fn default() -> Self {
        Core::new()
    }
}

impl Core {
    /// An empty core: no types, no sources.
    pub fn new() -> Self {
        Core {
            types: AppendOnly::new(),
            aliases: AppendOnly::new(),
            sources: AppendOnly::new(),
            active: shared_array![AtomicU64::new(0); WORDS],
            in_bulk: shared_array![AtomicU64::new(0); WORDS],
            version: AtomicU32::new(0),
            bulk: AppendOnly::new(),
            producers: AppendOnly::new(),
            deferred: DeferredTypes::new(),
            no_object: Object::new(BindKind::None, Token(0)),
            asked: [const { AtomicBool::new(false) }; MAX_EVENT_TYPES],
            grace: Grace::new(),
            tables: Mutex::default(),
        }
    }

    // Types and sources.

    /// Adds an event type. Where its name exists already, returns the existing type's index.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] when there are [`MAX_EVENT_TYPES`] already.
    pub fn add_type(&self, event_type: EventType) -> Result<EventIndex, Error> {
        let _writer = self.tables();
        if let Ok(known) = self.type_by_name(&event_type.name) {
            return Ok(known);
        }
        let index = self.types.push(Arc::new(event_type)).map_err(|_| Error::OutOfHandles)?;
        Ok(EventIndex(index as u16))
    }

    /// Gives an event type a further name, by which [`type_by_name`](Core::type_by_name) finds it.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] when there are eight further names already.
    pub fn add_alias(&self, name: &str, event: EventIndex) -> Result<(), Error> {
        let _writer = self.tables();
        if self.type_by_name(name).is_ok() {
            return Ok(());
        }
        self.aliases.push((name.to_owned(), event)).map(|_| ()).map_err(|_| Error::OutOfHandles)
    }

    /// Adds a source. When there are too many, returns the index of the last one: the two then share that
    /// source.
    pub fn add_source(&self, source: Source) -> SourceIndex {
        let _writer = self.tables();
        let index = self.sources.push(Box::new(source)).unwrap_or(MAX_SOURCES - 1);
        SourceIndex(index as u16)
    }

    /// The number of event types (`MPI_T_event_get_num`).
    pub fn num_types(&self) -> usize {
        self.types.len()
    }

    /// The number of sources (`MPI_T_source_get_num`).
    pub fn num_sources(&self) -> usize {
        self.sources.len()
    }

    /// The event type with this number, as a typed index.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`] outside `0..num_types()`.
    pub fn event_index(&self, number: i64) -> Result<EventIndex, Error> {
        let known = usize::try_from(number).is_ok_and(|number| number < self.types.len());
        if known { Ok(EventIndex(number as u16)) } else { Err(Error::InvalidIndex) }
    }

    /// The source with this number, as a typed index.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`] outside `0..num_sources()`.
    pub fn source_index(&self, number: i64) -> Result<SourceIndex, Error> {
        let known = usize::try_from(number).is_ok_and(|number| number < self.sources.len());
        if known { Ok(SourceIndex(number as u16)) } else { Err(Error::InvalidIndex) }
    }

    /// The description of an event type (`MPI_T_event_get_info`). Thread-safe.
    #[inline]
    pub fn event_type(&self, event: EventIndex) -> Option<&EventType> {
        self.types.get(event.get()).map(Arc::as_ref)
    }

    /// All event types with their indices, in order.
    pub fn event_types(&self) -> impl Iterator<Item = (EventIndex, &EventType)> {
        self.types
            .iter()
            .enumerate()
            .map(|(index, event_type)| (EventIndex(index as u16), event_type.as_ref()))
    }

    /// The description of a source (`MPI_T_source_get_info`). Thread-safe.
    #[inline]
    pub fn source(&self, source: SourceIndex) -> Option<&Source> {
        self.sources.get(source.get()).map(Box::as_ref)
    }

    /// All sources with their indices, in order.
    pub fn sources(&self) -> impl Iterator<Item = (SourceIndex, &Source)> {
        self.sources.iter().enumerate().map(|(index, source)| (SourceIndex(index as u16), source.as_ref()))
    }

    /// The index of the event type of this name; the prototype's exported form, with `ompi_` in
    /// front, is understood too (`MPI_T_event_get_index`). Thread-safe; compares all names.
    ///
    /// # Errors
    /// [`Error::InvalidName`] when there is none.
    pub fn type_by_name(&self, name: &str) -> Result<EventIndex, Error> {
        let short = name.strip_prefix("ompi_").unwrap_or(name);
        self.event_types()
            .find(|(_, event_type)| event_type.name == name || event_type.name == short)
            .map(|(index, _)| index)
            .or_else(|| {
                let mut aliases = self.aliases.iter();
                aliases.find(|(alias, _)| alias == name || alias == short).map(|(_, event)| *event)
            })
            .ok_or(Error::InvalidName)
    }

    // Objects.

    /// The object of events that are bound to none.
    pub fn no_object(&self) -> Arc<Object> {
        self.no_object.clone()
    }

    /// The object with this identity, made on first use.
    pub fn bind(&self, kind: BindKind, token: Token) -> Arc<Object> {
        let mut tables = self.tables();
        let known = tables.known(kind, token);
        known.bound = true;
        known.object.clone()
    }

    /// Whether a producer has bound an object with this identity, which is still there. Thread-safe; takes a short
    /// lock.
    pub fn is_bound(&self, kind: BindKind, token: Token) -> bool {
        self.tables().objects.get(&(kind, token)).is_some_and(|known| known.bound)
    }

    /// Removes an object that exists no more. Registrations on it stay valid and get no events; the same token may
    /// be bound again, as another object.
    pub fn unbind(&self, object: &Arc<Object>) {
        let mut tables = self.tables();
        let key = (object.kind, object.token);
        if tables.objects.get(&key).is_some_and(|known| Arc::ptr_eq(&known.object, object)) {
            tables.objects.remove(&key);
        }
    }

    // Registrations.

    /// Registers for an event type and, where the type is bound to a kind of object, one object
    /// (`MPI_T_event_handle_alloc`). Thread-safe and allowed in callbacks: the event that is being
    /// delivered is not heard. Copies the list of the others who listen to the same.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`], [`Error::ObjectNeeded`], or [`Error::OutOfHandles`].
    pub fn alloc(&self, event: EventIndex, token: Option<Token>) -> Result<Registration, Error> {
        let kind = self.event_type(event).ok_or(Error::InvalidIndex)?.bind;
        let object = match (kind, token) {
            (BindKind::None, _) => self.no_object(),
            (_, None) => return Err(Error::ObjectNeeded),
            (kind, Some(token)) => self.tables().known(kind, token).object.clone(),
        };
        self.deliver_deferred();
        let mut tables = self.tables();
        let index = match tables.vacant.pop() {
            Some(index) => index,
            None if tables.slots.len() >= MAX_REGISTRATIONS => return Err(Error::OutOfHandles),
            None => {
                tables.slots.push(Slot::default());
                tables.slots.len() - 1
            }
        };
        let slot = &mut tables.slots[index];
        let handle = Registration::new(index, slot.generation);
        let inner = Arc::new(Inner::new(handle, event, object));
        slot.live = Some(inner.clone());
        let old = self.publish(&inner.object, event, |list| list.push(inner.clone()));
        *tables.listeners.entry(event).or_default() += 1;
        self.active[event.get() / 64].fetch_or(1 << (event.get() % 64), Ordering::Release);
        self.version.fetch_add(1, Ordering::Release);
        drop(tables);
        self.retire(old);
        self.notify_producers();
        Ok(handle)
    }

    /// Ends a registration (`MPI_T_event_handle_free`). Its callbacks get no event that is raised after this; `free`, if given,
    /// is called exactly once, when the last event in flight is through: in this call, or at the
    /// end of the raise section that still uses the registration. Allowed in its own callback.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for a handle that is not live.
    pub fn free(&self, handle: Registration, free: Option<(FreeFn, UserData)>) -> Result<(), Error> {
        self.deliver_deferred();
        let mut tables = self.tables();
        let slot = tables.slot(handle).ok_or(Error::InvalidHandle)?;
        let inner = slot.live.take().ok_or(Error::InvalidHandle)?;
        slot.generation = (slot.generation + 1) & MAX_GENERATION;
        let (event, index) = (inner.event, handle.index().unwrap_or(0));
        tables.vacant.push(index);
        let old = self.publish(&inner.object, event, |list| list.retain(|other| other.handle != handle));
        let listeners = tables.listeners.entry(event).or_default();
        *listeners -= 1;
        if *listeners == 0 {
            self.active[event.get() / 64].fetch_and(!(1 << (event.get() % 64)), Ordering::Release);
        }
        self.version.fetch_add(1, Ordering::Release);
        drop(tables);
        self.grace.retire(Box::new(Freed { inner, free }));
        self.retire(old);
        self.notify_producers();
        Ok(())
    }

    /// Installs, replaces or (with `None`) removes the callback of one safety level
    /// (`MPI_T_event_register_callback`). Thread-safe and allowed in callbacks, also in the one that
    /// is replaced.
    ///
    /// # Safety
    /// The function must be callable with `user_data` at that level for as long as the
    /// registration lives.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for a handle that is not live.
    pub unsafe fn set_callback_raw(
        &self,
        handle: Registration,
        level: Safety,
        callback: Option<(EventFn, UserData)>,
    ) -> Result<(), Error> {
        let callback = callback.map(|(function, user_data)| Callback {
            function,
            user_data,
            release: None,
            alive: Alive::new(),
        });
        self.install(handle, level, callback)
    }

    /// Installs or replaces the callback of one safety level by a closure, which the core owns.
    /// A panic in it is contained.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for a handle that is not live.
    pub fn set_callback<F>(&self, handle: Registration, level: Safety, callback: F) -> Result<(), Error>
    where
        F: Fn(&Instance<'_>) + Send + Sync + 'static,
    {
        self.install(handle, level, Some(Callback::of(callback)))
    }

    fn install(&self, handle: Registration, level: Safety, callback: Option<Callback>) -> Result<(), Error> {
        let old = self.live(handle)?.set_callback(level, callback.map(Box::new));
        self.retire(old);
        Ok(())
    }

    /// Whether a callback is installed at exactly this level. Thread-safe.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for a handle that is not live.
    pub fn has_callback(&self, handle: Registration, level: Safety) -> Result<bool, Error> {
        Ok(self.live(handle)?.has_callback(level))
    }

    /// Installs, replaces or (with `None`) removes the handler of dropped events; the count starts
    /// at zero.
    ///
    /// # Safety
    /// The function must be callable with `user_data`, at every level at which events are raised,
    /// for as long as the registration lives.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for a handle that is not live.
    pub unsafe fn set_dropped_handler(
        &self,
        handle: Registration,
        handler: Option<(DroppedFn, UserData)>,
    ) -> Result<(), Error> {
        let handler = handler.map(|(function, user_data)| {
            Box::new(DroppedHandler { function, user_data, alive: Alive::new() })
        });
        self.deliver_deferred();
        let old = self.live(handle)?.set_dropped_handler(handler);
        self.retire(old);
        Ok(())
    }

    /// The events that a registration lost and that were not reported yet. Thread-safe.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for a handle that is not live.
    pub fn dropped(&self, handle: Registration) -> Result<u64, Error> {
        Ok(self.live(handle)?.dropped())
    }

    /// Adds a bulk listener for these event types, on all objects, for the life of the core.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] when there are six already.
    pub fn listen_in_bulk(
        &self,
        events: &[EventIndex],
        listener: &'static dyn BulkListener,
    ) -> Result<(), Error> {
        let writer = self.tables();
        self.bulk.push(Bulk { listener }).map_err(|_| Error::OutOfHandles)?;
        for event in events {
            self.in_bulk[event.get() / 64].fetch_or(1 << (event.get() % 64), Ordering::Release);
        }
        self.version.fetch_add(1, Ordering::Release);
        drop(writer);
        self.notify_producers();
        Ok(())
    }

    /// Adds a producer that is notified when somebody begins or ends to listen, for the life of the core.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] when there are eight already.
    pub fn add_producer(&self, producer: &'static dyn Producer) -> Result<(), Error> {
        let _writer = self.tables();
        self.producers.push(producer).map(|_| ()).map_err(|_| Error::OutOfHandles)
    }

    // Raising.

    /// Whether anybody listens to this event, on any object: two relaxed loads. Thread-safe and
    /// signal-safe.
    #[inline(always)]
    pub fn is_active(&self, event: EventIndex) -> bool {
        self.word(event.get() / 64) & (1 << (event.get() % 64)) != 0
    }

    #[inline(always)]
    fn word(&self, word: usize) -> u64 {
        self.active[word].load(Ordering::Relaxed) | self.in_bulk[word].load(Ordering::Relaxed)
    }

    /// Whether there is a registration for this event, on any object. Thread-safe and signal-safe.
    pub fn has_registration(&self, event: EventIndex) -> bool {
        self.active[event.get() / 64].load(Ordering::Relaxed) & (1 << (event.get() % 64)) != 0
    }

    /// A number that changes whenever somebody begins or ends to listen: a producer that caches the result of
    /// [`active_from`](Core::active_from) need only compare this. One load, which acquires: queries after a new
    /// version see that version or a later one. Thread-safe and signal-safe.
    #[inline(always)]
    pub fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether there is any registration, as opposed to bulk listeners.
    #[inline(always)]
    pub fn has_registrations(&self) -> bool {
        self.active.iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Whether there is any bulk listener. Thread-safe and signal-safe.
    pub fn has_bulk_listeners(&self) -> bool {
        self.bulk.len() != 0
    }

    /// Whether nobody listens but bulk listeners that [count](BulkListener::counts).
    pub fn only_counts(&self) -> bool {
        !self.has_registrations() && self.bulk.iter().all(|bulk| bulk.listener.counts())
    }

    /// Whether nobody listens but bulk listeners that [weigh](BulkListener::weighs).
    pub fn only_weighs(&self) -> bool {
        !self.has_registrations() && self.bulk.iter().all(|bulk| bulk.listener.weighs())
    }

    /// Whether a bulk listener wants this event: on all objects, then. Thread-safe and signal-safe.
    #[inline(always)]
    pub fn is_in_bulk(&self, event: EventIndex) -> bool {
        // An index of a type is always below `MAX_EVENT_TYPES`: the modulo avoids a bounds check.
        self.in_bulk[event.get() / 64 % WORDS].load(Ordering::Relaxed) & (1 << (event.get() % 64)) != 0
    }

    /// Whether a callback has ever asked for the time of an instance of this event. Until then, a producer may save the
    /// reading of the clock and raise such events with [`Raiser::event`]. Thread-safe and signal-safe.
    #[inline]
    pub fn time_is_asked(&self, event: EventIndex) -> bool {
        self.asked[event.get()].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn asked(&self, event: EventIndex) -> &AtomicBool {
        &self.asked[event.get() % MAX_EVENT_TYPES]
    }

    pub(crate) fn deferred(&self) -> &DeferredTypes {
        &self.deferred
    }

    #[inline(always)]
    pub(crate) fn bulk(&self) -> impl Iterator<Item = &Bulk> {
        self.bulk.iter()
    }

    /// Whether anybody listens to `first` and the event types after it, as bits from the lowest:
    /// at least the next sixteen that exist. A few relaxed loads.
    #[inline(always)]
    pub fn active_from(&self, first: EventIndex) -> u64 {
        let (word, bit) = (first.get() / 64, first.get() % 64);
        let low = self.word(word) >> bit;
        let next = if word + 1 < WORDS { self.word(word + 1) } else { 0 };
        // Shifting by 64 is not defined: shift in two steps.
        low | (next << (63 - bit) << 1)
    }

    /// Opens a section for raising events of `source` at `safety`. Signal-safe at
    /// [`Safety::AsyncSignalSafe`], in threads that have raised an event before.
    #[inline]
    pub fn raise_section(&self, source: SourceIndex, safety: Safety) -> Raise<'_> {
        let section = self.grace.enter(safety < Safety::AsyncSignalSafe);
        let described = self.sources.get(source.get()).expect("a SourceIndex is made by add_source only");
        Raise::new(self, described, source, safety, section)
    }

    /// A [`Raiser`] of `source` for the calling thread: it holds what [`raise_section`](Core::raise_section) finds anew
    /// each time.
    pub fn raiser(&self, source: SourceIndex) -> Raiser<'_> {
        let described = self.sources.get(source.get()).expect("a SourceIndex is made by add_source only");
        Raiser::new(self, &self.grace, described, source)
    }

    // Helpers.

    fn notify_producers(&self) {
        self.producers.iter().for_each(|producer| producer.listeners_changed());
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, handle: Registration) -> Result<Arc<Inner>, Error> {
        self.tables().slot(handle).and_then(|slot| slot.live.clone()).ok_or(Error::InvalidHandle)
    }

    /// Publishes a changed copy of a list; called under the lock.
    fn publish(
        &self,
        object: &Object,
        event: EventIndex,
        change: impl FnOnce(&mut Registrations),
    ) -> Option<Box<List>> {
        let current = object.list(event);
        // SAFETY: only `publish` replaces lists, and it runs under the lock of the tables, which
        // the caller holds; so the current list is not retired while we read it.
        let current = unsafe { current.as_ref() };
        let mut registrations = current.map_or_else(Registrations::new, |list| list.registrations.clone());
        change(&mut registrations);
        let event_type = self.types.get(event.get()).cloned();
        let list = event_type
            .filter(|_| !registrations.is_empty())
            .map(|event_type| Box::new(List { registrations, event_type, alive: Alive::new() }));
        object.publish(event, list)
    }

    fn retire<T: Send + 'static>(&self, old: Option<Box<T>>) {
        if let Some(old) = old {
            self.grace.retire(Box::new(Replaced(old)));
        }
        self.grace.release();
    }
}

impl Tables {
    /// The object with this identity, made on first use.
    fn known(&mut self, kind: BindKind, token: Token) -> &mut Known {
        let made = || Known { object: Object::new(kind, token), bound: false };
        self.objects.entry((kind, token)).or_insert_with(made)
    }

    fn slot(&mut self, handle: Registration) -> Option<&mut Slot> {
        let index = handle.index()?;
        let slot = self.slots.get_mut(index)?;
        (Registration::new(index, slot.generation) == handle).then_some(slot)
    }
}

/// A list, callback or handler that was replaced: dropped at the end of its grace period.
struct Replaced<T>(#[allow(dead_code, reason = "held for its Drop")] Box<T>);

impl<T: Send> Retired for Replaced<T> {
    fn release(self: Box<Self>, _: &Grace) {}
}

/// A registration that was freed: its last drops are reported, then its free callback is called.
struct Freed {
    inner: Arc<Inner>,
    free: Option<(FreeFn, UserData)>,
}

impl Retired for Freed {
    fn release(self: Box<Self>, grace: &Grace) {
        if self.inner.dropped() != 0 {
            // Another thread may have taken the registration for live just before it was freed, and
            // may be replacing its handler now: a section keeps the old one.
            let _section = grace.enter(false);
            self.inner.report_dropped(Safety::None, 0);
        }
        if let Some((free, UserData(user_data))) = self.free {
            let user_data: *mut c_void = user_data;
            // SAFETY: the consumer promised a function of this type in `free`; it is called once,
            // because `Freed` is consumed here.
            unsafe { free(self.inner.handle, Safety::None as i32, user_data) };
        }
    }
}
