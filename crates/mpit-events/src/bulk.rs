//! Delivery in bulk: a producer's events as a slice, for consumers in Rust that take many.
//!
//! A registration costs some nanoseconds per event and gets the events of one object. A bulk listener gets its event
//! types on *all* objects, all that a producer has collected in one call, and costs per call. It gets events before
//! registrations do, and like them with no lock held.

use crate::clock::Ticks;
use crate::event_type::{EventIndex, MAX_EVENT_TYPES};
use crate::payload::Payload;
use crate::source::SourceIndex;

/// Largest payload of an event that a producer collects, in bytes.
pub const MAX_RECORD_PAYLOAD: usize = 20;

/// An event that a producer has collected, to be raised later.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When it was observed.
    pub ticks: Ticks,
    /// When that began which this event ends, where the producer knows it: a search, or an entry's
    /// time in a queue. Otherwise the same as [`ticks`](Record::ticks).
    pub since: Ticks,
    /// Its type.
    pub event: EventIndex,
    /// Whether it comes out of order, so that it belongs to an unordered source.
    pub late: bool,
    /// Whether registrations have got it already, so that only bulk listeners get it.
    pub bulk_only: bool,
    /// Whether it is about a message of the MPI itself (of a collective, for example), not of the application.
    pub internal: bool,
    length: u8,
    /// How many events it stands for.
    count: u16,
    /// The object it happened to: its place in the producer's list of objects; `u32::MAX` where the
    /// producer has none.
    pub object: u32,
    payload: [u8; MAX_RECORD_PAYLOAD],
}

impl Record {
    /// A record of an event with a payload of at most [`MAX_RECORD_PAYLOAD`] bytes.
    #[inline(always)]
    pub fn new<P: Payload>(event: EventIndex, object: u32, ticks: Ticks, late: bool, payload: &P) -> Self {
        const { assert!(size_of::<P>() <= MAX_RECORD_PAYLOAD, "the payload fits a record") };
        let mut bytes = [0; MAX_RECORD_PAYLOAD];
        bytes[..size_of::<P>()].copy_from_slice(bytemuck::bytes_of(payload));
        let length = size_of::<P>() as u8;
        Record {
            ticks,
            since: ticks,
            event,
            late,
            bulk_only: false,
            internal: false,
            length,
            count: 1,
            object,
            payload: bytes,
        }
    }

    /// The same record, of an event that ends what began at `since`.
    #[inline(always)]
    #[must_use]
    pub fn ending(self, since: Ticks) -> Self {
        Record { since, ..self }
    }

    /// A record of so many events of one type that happened to the object one after the other, each of which took as long as the first,
    /// from `since` to `ticks`; it has no payload. For bulk listeners that [count](BulkListener::counts).
    #[inline(always)]
    pub fn several(event: EventIndex, object: u32, (since, ticks): (Ticks, Ticks), count: u16) -> Self {
        let (late, bulk_only, internal, length) = (false, true, false, 0);
        let payload = [0; MAX_RECORD_PAYLOAD];
        Record { ticks, since, event, late, bulk_only, internal, length, count, object, payload }
    }

    /// How many events it stands for.
    #[inline(always)]
    pub fn count(&self) -> u16 {
        self.count
    }

    /// A record of an event of no producer's object, with as much of the payload as fits.
    pub(crate) fn cut(event: EventIndex, ticks: Ticks, payload: &[u8]) -> Self {
        let length = payload.len().min(MAX_RECORD_PAYLOAD);
        let mut bytes = [0; MAX_RECORD_PAYLOAD];
        bytes[..length].copy_from_slice(&payload[..length]);
        Record {
            ticks,
            since: ticks,
            event,
            late: false,
            bulk_only: false,
            internal: false,
            length: length as u8,
            count: 1,
            object: u32::MAX,
            payload: bytes,
        }
    }

    /// The same record, about a message of the MPI itself if `internal`.
    #[inline(always)]
    #[must_use]
    pub fn internal(self, internal: bool) -> Self {
        Record { internal, ..self }
    }

    /// The same record, as if all of it had been at this time.
    #[must_use]
    pub fn at(self, time: Ticks) -> Self {
        Record { ticks: time, since: time, ..self }
    }

    /// The same record, for bulk listeners only: registrations have got it already.
    #[must_use]
    pub fn bulk_only(self) -> Self {
        Record { bulk_only: true, ..self }
    }

    /// The payload, laid out as the event's type says.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.payload[..usize::from(self.length)]
    }

    /// The payload and zeros behind it: always of one size, so that it can be copied in a few pieces.
    #[inline(always)]
    pub fn padded(&self) -> &[u8; MAX_RECORD_PAYLOAD] {
        &self.payload
    }

    /// Bytes of the payload.
    #[inline(always)]
    pub fn payload_len(&self) -> usize {
        self.length.into()
    }
}

/// Takes events in bulk. Called on the raising thread, at
/// [`MpiRestricted`](crate::Safety::MpiRestricted) or, where several threads call MPI,
/// [`ThreadSafe`](crate::Safety::ThreadSafe): it must not block. Never called in a signal handler: a
/// producer that raises there keeps its records for a later section ([`Record::bulk_only`]).
pub trait BulkListener: Sync {
    /// Events of `source`, in order of their delivery. There may be types among them that were not
    /// asked for.
    fn events(&self, source: SourceIndex, records: &[Record]);

    /// Whether it only counts: it looks at no payload, and a record may stand for [several](Record::several) events. Where somebody else
    /// listens, too, each record is one event; but one who has just begun to listen may get what was collected before.
    fn counts(&self) -> bool {
        false
    }

    /// Whether it [counts](BulkListener::counts), and takes a record of a removal as one entry that counts as [several](Record::count): the
    /// others have come in no record, nor have their searches.
    fn weighs(&self) -> bool {
        false
    }
}

/// An installed listener.
pub(crate) struct Bulk {
    pub(crate) listener: &'static dyn BulkListener,
}

/// A bit for each event type.
pub(crate) const WORDS: usize = MAX_EVENT_TYPES / 64;
