//! Raising: everything that runs for each event instance is in this file,
//! [`Inner::deliver`](crate::registration::Inner::deliver) and [`Section`].

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::bulk::Record;
use crate::clock::Ticks;
use crate::core::Core;
use crate::event_type::EventIndex;
use crate::grace::{Grace, Section, ThisThread};
use crate::instance::{Instance, Mark};
use crate::object::Object;
use crate::payload::Payload;
use crate::safety::Safety;
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
    thread: ThisThread,
}

impl<'a> Raiser<'a> {
    pub(crate) fn new(
        core: &'a Core,
        grace: &'a Grace,
        source: &'a Source,
        source_index: SourceIndex,
    ) -> Self {
        Raiser { core, grace, source, source_index, thread: ThisThread::get() }
    }

    /// Opens a section for raising events at `safety`. Signal-safe at [`Safety::AsyncSignalSafe`].
    #[inline(always)]
    pub fn section(&self, safety: Safety) -> Raise<'a> {
        let section = self.grace.enter_on(self.thread, safety < Safety::AsyncSignalSafe);
        Raise::new(self.core, self.source, self.source_index, safety, section)
    }
}

/// A section in which one thread raises events of one source. It costs two stores to a counter of the
/// thread's own (atomic additions, where the kernel has no `membarrier`), so a producer with several events at hand raises them in one section. Callbacks run
/// in it, without any lock.
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

    /// Raises an event that is observed now. The clock is read when somebody asks for the time, and not before.
    #[inline]
    pub fn event_now<P: Payload>(&self, event: EventIndex, object: &Object, payload: &P) {
        let payload = bytemuck::bytes_of(payload);
        let mut observed = None;
        if self.core.is_in_bulk(event) {
            let now = self.source.now();
            observed = Some(now);
            self.in_bulk(event, now, payload);
        }
        self.to_registrations(event, object, observed, payload);
    }

    /// Raises an event whose payload is at hand as bytes, laid out as its type says.
    #[inline]
    pub fn event_bytes(&self, event: EventIndex, object: &Object, observed: Ticks, payload: &[u8]) {
        if self.core.is_in_bulk(event) {
            self.in_bulk(event, observed, payload);
        }
        self.to_registrations(event, object, Some(observed), payload);
    }

    /// A single event for bulk listeners, as a slice of one; a payload that does not fit a record
    /// is cut off.
    #[cold]
    fn in_bulk(&self, event: EventIndex, observed: Ticks, payload: &[u8]) {
        if self.may_tell_in_bulk() {
            let record = Record::cut(event, observed, payload);
            self.core.bulk().for_each(|bulk| bulk.listener.events(self.source_index, &[record]));
        }
    }

    /// Bulk listeners have not promised to be safe in a signal handler.
    #[inline]
    fn may_tell_in_bulk(&self) -> bool {
        self.safety < Safety::AsyncSignalSafe && self.section.depth() <= MAX_DEPTH
    }

    /// Without a time: it is now, if anybody asks.
    #[inline]
    fn to_registrations(&self, event: EventIndex, object: &Object, observed: Option<Ticks>, payload: &[u8]) {
        let list = object.list(event);
        if list.is_null() {
            return;
        }
        // SAFETY: a list that is replaced lives until every raise section that could have loaded it
        // is over; `self.section` is such a section and outlives this call.
        let list = unsafe { &*list };
        list.alive.used();
        if self.section.depth() > MAX_DEPTH {
            return list.registrations.iter().for_each(|registration| registration.drop_events(1));
        }
        let instance = Instance {
            mark: Mark::ours(),
            event_type: &list.event_type,
            source: self.source,
            event,
            source_index: self.source_index,
            safety: self.safety,
            token: object.token(),
            ticks: Cell::new(observed.map(|observed| self.source.stamp(observed))),
            asked: self.core.asked(event),
            payload,
        };
        for registration in &list.registrations {
            registration.deliver(&instance);
        }
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

    /// [`records`](Raise::records) without registrations: for a producer that is where no callback of a
    /// tool may run, and that has no room left.
    #[inline]
    pub fn records_in_bulk(&self, records: &[Record]) {
        if self.may_tell_in_bulk() {
            self.core.bulk().for_each(|bulk| bulk.listener.events(self.source_index, records));
        }
    }

    /// [`records`](Raise::records) without bulk listeners: the producer hands the same records to them
    /// in a later section, as [`told`](Record::told).
    #[inline]
    pub fn records_to_registrations(&self, records: &[Record], late: bool, objects: &[Arc<Object>]) {
        if !self.core.has_registrations() {
            return;
        }
        for record in records.iter().filter(|record| record.late == late && !record.told) {
            if let Some(object) = objects.get(record.object as usize) {
                self.to_registrations(record.event, object, Some(record.ticks), record.payload());
            }
        }
    }

    /// Tells everybody who listens to `event` on `object` that `count` instances were lost before
    /// they could be raised.
    pub fn lost(&self, event: EventIndex, object: &Object, count: u64) {
        let list = object.list(event);
        if !list.is_null() {
            // SAFETY: as in `event_bytes`.
            let list = unsafe { &*list };
            list.registrations.iter().for_each(|registration| registration.drop_events(count));
        }
    }
}
