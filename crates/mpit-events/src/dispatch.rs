//! Raising: everything that runs for each event instance is in this file,
//! [`Inner::deliver`](crate::registration::Inner::deliver) and [`Section`].

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::bulk::Record;
use crate::callback::Safety;
use crate::clock::Ticks;
use crate::core::Core;
use crate::event_type::EventIndex;
use crate::grace::{Grace, Seat, Section};
use crate::instance::{Instance, Mark, Time};
use crate::object::{List, Object};
use crate::payload::Payload;
use crate::source::{Source, SourceIndex};

/// How deep events raised inside callbacks nest before they are dropped (and counted).
pub const MAX_DEPTH: usize = 8;

/// A thread that raises events of one source, and what it needs for that: opening a section then takes some
/// instructions and no lookup.
#[derive(Clone, Copy)]
pub struct Raiser<'a> {
    core: &'a Core,
    grace: &'a Grace,
    source: &'a Source,
    source_index: SourceIndex,
    /// Keeps the value on its thread.
    seat: Seat<'a>,
}

impl<'a> Raiser<'a> {
    pub(crate) fn new(
        core: &'a Core,
        grace: &'a Grace,
        source: &'a Source,
        source_index: SourceIndex,
    ) -> Self {
        Raiser { core, grace, source, source_index, seat: grace.seat() }
    }

    /// Opens a section for raising events at `safety`. Signal-safe at [`Safety::AsyncSignalSafe`].
    #[inline(always)]
    pub fn section(&self, safety: Safety) -> Raise<'a> {
        let section = self.grace.enter_at(self.seat, safety < Safety::AsyncSignalSafe);
        Raise::new(self.core, self.source, self.source_index, safety, section)
    }

    /// Prepares for raising `event` on `object` again and again.
    pub fn prepare(&self, safety: Safety, event: EventIndex, object: &Object) -> Option<Prepared<'a>> {
        let instance = Instance {
            mark: Mark::ours(),
            event,
            source_index: self.source_index,
            safety,
            time: Cell::new(Time::Now),
            payload: NonNull::<[u8; 0]>::from(&[]),
            token: object.token(),
            event_type: self.core.event_type(event)?,
            source: self.source,
            asked: self.core.asked(event),
        };
        Some(Prepared { instance })
    }

    /// Raises a single event, as in a [`section`](Raiser::section) of its own, in fewer instructions.
    ///
    /// It was observed at `observed`, or now where that is none: then the clock is read only when a callback asks for the
    /// time. `object` is the one that the event was prepared for.
    #[inline(always)]
    pub fn event<P: Payload>(
        &self,
        prepared: &mut Prepared<'a>,
        object: &Object,
        observed: Option<Ticks>,
        payload: &P,
    ) {
        if self.core.is_in_bulk(prepared.instance.event) {
            let Instance { safety, event, .. } = prepared.instance;
            return self.event_in_bulk(safety, event, object, observed, bytemuck::bytes_of(payload));
        }
        self.event_to_registrations(prepared, object, observed, payload);
    }

    /// [`event`](Raiser::event) to registrations only: for a producer that knows that no bulk listener wants the event.
    #[inline(always)]
    pub fn event_to_registrations<P: Payload>(
        &self,
        prepared: &mut Prepared<'a>,
        object: &Object,
        observed: Option<Ticks>,
        payload: &P,
    ) {
        let instance = &mut prepared.instance;
        let section = self.grace.enter_at(self.seat, instance.safety < Safety::AsyncSignalSafe);
        let list = object.list(instance.event);
        if !list.is_null() {
            // SAFETY: a list that is replaced lives until every raise section that could have loaded it is over;
            // `section` is open until the end of this function.
            let list = unsafe { &*list };
            list.alive.used();
            if section.depth() > MAX_DEPTH {
                drop_one(list);
            } else {
                *instance.time.get_mut() = observed.map_or(Time::Now, Time::Observed);
                instance.payload = NonNull::from(bytemuck::bytes_of(payload));
                list.deliver(instance);
            }
        }
    }

    /// [`event`](Raiser::event), where a bulk listener wants it too.
    #[cold]
    #[inline(never)]
    fn event_in_bulk(
        &self,
        safety: Safety,
        event: EventIndex,
        object: &Object,
        observed: Option<Ticks>,
        payload: &[u8],
    ) {
        let observed = observed.unwrap_or_else(|| self.source.now());
        self.section(safety).event_bytes(event, object, observed, payload);
    }
}

/// The constant part of the instances of one event on one object, which one thread raises one after the other
/// ([`Raiser::prepare`]). Raising then writes only time and payload.
pub struct Prepared<'a> {
    instance: Instance<'a>,
}

/// The raiser of an event, inside a section. Passed by value, so that it stays in registers.
#[derive(Clone, Copy)]
struct Raising<'a> {
    core: &'a Core,
    source: &'a Source,
    source_index: SourceIndex,
    safety: Safety,
    /// Of the section.
    depth: usize,
}

impl Raising<'_> {
    /// Whether bulk listeners may be called: they have not promised to be safe in a signal handler.
    #[inline]
    fn may_call_bulk(self) -> bool {
        self.safety < Safety::AsyncSignalSafe && self.depth <= MAX_DEPTH
    }

    /// To be called inside a section only.
    #[inline(always)]
    fn to_registrations(self, event: EventIndex, object: &Object, time: Time, payload: &[u8]) {
        let list = object.list(event);
        if list.is_null() {
            return;
        }
        // SAFETY: a list that is replaced lives until every raise section that could have loaded it
        // is over; the caller is in such a section, and leaves it after this call.
        let list = unsafe { &*list };
        list.alive.used();
        if self.depth > MAX_DEPTH {
            return drop_one(list);
        }
        list.deliver(&self.instance(list, event, object, time, payload));
    }

    #[inline(always)]
    fn instance<'b>(
        &'b self,
        list: &'b List,
        event: EventIndex,
        object: &Object,
        time: Time,
        payload: &[u8],
    ) -> Instance<'b> {
        Instance {
            mark: Mark::ours(),
            event,
            source_index: self.source_index,
            safety: self.safety,
            time: Cell::new(time),
            payload: NonNull::from(payload),
            token: object.token(),
            event_type: &list.event_type,
            source: self.source,
            asked: self.core.asked(event),
        }
    }

    /// Events that were observed together, in order, to registrations: those that follow each other with one instance. To
    /// be called inside a section only.
    #[inline(always)]
    fn all_to_registrations<'p, P: Payload>(
        self,
        object: &Object,
        observed: Ticks,
        mut events: impl Iterator<Item = (EventIndex, &'p P)>,
    ) {
        let mut next = events.next();
        while let Some((event, payload)) = next {
            let address = object.list(event);
            if address.is_null() {
                next = events.next();
                continue;
            }
            // SAFETY: a list that is replaced lives until every raise section that could have loaded it is over; the
            // caller is in such a section, and leaves it after this call.
            let list = unsafe { &*address };
            list.alive.used();
            if self.depth > MAX_DEPTH {
                drop_one(list);
                next = events.next();
                continue;
            }
            let payload = bytemuck::bytes_of(payload);
            let mut instance = self.instance(list, event, object, Time::Observed(observed), payload);
            loop {
                list.deliver(&instance);
                next = events.next();
                // A callback may have changed who listens.
                let Some((_, payload)) =
                    next.filter(|(next, _)| *next == event && object.list(event) == address)
                else {
                    break;
                };
                // A callback that asked for the time has made a time stamp; the next instance gets its own.
                if let Time::Stamp(_) = instance.time.get() {
                    instance.time.set(Time::Observed(observed));
                }
                instance.payload = NonNull::from(bytemuck::bytes_of(payload));
            }
        }
    }
}

impl List {
    /// To be called inside a section only.
    #[inline(always)]
    fn deliver(&self, instance: &Instance<'_>) {
        for registration in &self.registrations {
            registration.deliver(instance);
        }
    }
}

/// A single event for bulk listeners, as a slice of one; a payload that does not fit a record
/// is cut off.
#[cold]
#[inline(never)]
fn in_bulk(from: Raising<'_>, event: EventIndex, observed: Ticks, payload: &[u8]) {
    if from.may_call_bulk() {
        let record = Record::cut(event, observed, payload);
        from.core.bulk().for_each(|bulk| bulk.listener.events(from.source_index, &[record]));
    }
}

/// Callbacks have raised events too deep.
#[cold]
#[inline(never)]
fn drop_one(list: &List) {
    list.registrations.iter().for_each(|registration| registration.drop_events(1));
}

/// A section in which one thread raises events of one source. Callbacks run in it, without any lock.
///
/// A section costs two stores to a counter of the thread (atomic additions, where the kernel has no `membarrier`), so a
/// producer with several events at hand raises them in one section.
pub struct Raise<'a> {
    core: &'a Core,
    source: &'a Source,
    source_index: SourceIndex,
    safety: Safety,
    section: Section<'a>,
    /// A section belongs to the thread that opened it.
    thread: PhantomData<*const ()>,
}

impl<'a> Raise<'a> {
    #[inline(always)]
    pub(crate) fn new(
        core: &'a Core,
        source: &'a Source,
        source_index: SourceIndex,
        safety: Safety,
        section: Section<'a>,
    ) -> Self {
        Raise { core, source, source_index, safety, section, thread: PhantomData }
    }

    /// Raises an event that was observed at `observed`.
    #[inline]
    pub fn event<P: Payload>(&self, event: EventIndex, object: &Object, observed: Ticks, payload: &P) {
        self.event_bytes(event, object, observed, bytemuck::bytes_of(payload));
    }

    /// Raises an event whose payload is at hand as bytes, laid out as its type says.
    #[inline]
    pub fn event_bytes(&self, event: EventIndex, object: &Object, observed: Ticks, payload: &[u8]) {
        if self.core.is_in_bulk(event) {
            in_bulk(self.raising(), event, observed, payload);
        }
        self.to_registrations(event, object, observed, payload);
    }

    /// Raises events that were observed together at `observed`, in order.
    #[inline(always)]
    pub fn events<'p, P: Payload>(
        &self,
        object: &Object,
        observed: Ticks,
        events: impl Iterator<Item = (EventIndex, &'p P)>,
    ) {
        if self.core.has_bulk_listeners() {
            return events.for_each(|(event, payload)| self.event(event, object, observed, payload));
        }
        self.raising().all_to_registrations(object, observed, events);
    }

    #[inline(always)]
    fn raising(&self) -> Raising<'a> {
        let (core, source, source_index, safety) = (self.core, self.source, self.source_index, self.safety);
        Raising { core, source, source_index, safety, depth: self.section.depth() }
    }

    #[inline]
    fn to_registrations(&self, event: EventIndex, object: &Object, observed: Ticks, payload: &[u8]) {
        self.raising().to_registrations(event, object, Time::Observed(observed), payload);
    }

    /// Raises what a producer has collected, in order: to bulk listeners as a whole, then one by
    /// one to registrations. `objects` are the producer's, by [`Record::object`]. Of the records,
    /// those are raised for which [`late`](Record::late) is as given.
    #[inline]
    pub fn records(&self, records: &[Record], late: bool, objects: &[Arc<Object>]) {
        // Bulk listeners get all at once, in the ordered pass.
        if !late {
            self.records_in_bulk(records);
        }
        self.records_to_registrations(records, late, objects);
    }

    /// [`records`](Raise::records) to bulk listeners only: for a producer whose buffer is full where no callback of a
    /// tool may run.
    #[inline]
    pub fn records_in_bulk(&self, records: &[Record]) {
        if self.raising().may_call_bulk() {
            self.core.bulk().for_each(|bulk| bulk.listener.events(self.source_index, records));
        }
    }

    /// [`records`](Raise::records) to registrations only: the producer delivers the same records to bulk listeners in a
    /// later section, as [`bulk_only`](Record::bulk_only).
    #[inline]
    pub fn records_to_registrations(&self, records: &[Record], late: bool, objects: &[Arc<Object>]) {
        if !self.core.has_registrations() {
            return;
        }
        for record in records.iter().filter(|record| record.late == late && !record.bulk_only) {
            if let Some(object) = objects.get(record.object as usize) {
                self.to_registrations(record.event, object, record.ticks, record.payload());
            }
        }
    }

    /// Counts `count` instances that were lost before they could be raised, for every registration of `event` on
    /// `object`.
    pub fn lost(&self, event: EventIndex, object: &Object, count: u64) {
        let list = object.list(event);
        if !list.is_null() {
            // SAFETY: a list that is replaced lives until every raise section that could have loaded it is over;
            // `self.section` is such a section.
            let list = unsafe { &*list };
            list.registrations.iter().for_each(|registration| registration.drop_events(count));
        }
    }
}
