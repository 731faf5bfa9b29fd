//! Where the twin's events go: a buffer that is raised from later, when no lock is held.

use mpit_events::{Payload, Ticks};

use super::engine::CommIndex;
use super::events::Event;

/// Takes the events that the twin emits, in order, and gives the time.
pub trait Sink {
    /// Whether anybody wants this event.
    fn wants(&self, event: Event) -> bool;

    /// Whether anybody wants one of these events (bits `1 << event`).
    fn wants_any(&self, mask: u16) -> bool;

    /// The time now.
    fn now(&self) -> Ticks;

    /// Takes an event. Called only where [`wants`](Sink::wants) is true.
    fn push(&mut self, record: Record);

    /// `count` envelopes of this communicator were lost before they could be seen.
    fn lost(&mut self, comm: CommIndex, count: u64);

    /// Emits an event, where somebody wants it.
    #[inline(always)]
    fn emit<P: Payload>(&mut self, event: Event, comm: CommIndex, time: Ticks, late: bool, payload: P) {
        if self.wants(event) {
            self.push(Record::new(event, comm, time, late, &payload));
        }
    }
}

/// An event that waits to be raised.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When it was observed.
    pub time: Ticks,
    /// Which event.
    pub event: Event,
    /// Whether it comes out of order: the message's envelope came after its completion.
    pub late: bool,
    length: u8,
    /// The communicator that it belongs to.
    pub comm: CommIndex,
    payload: [u8; 20],
}

impl Record {
    #[inline(always)]
    fn new<P: Payload>(event: Event, comm: CommIndex, time: Ticks, late: bool, payload: &P) -> Self {
        const { assert!(size_of::<P>() <= 20, "the payload of an ob1 event fits a record") };
        let mut bytes = [0; 20];
        bytes[..size_of::<P>()].copy_from_slice(bytemuck::bytes_of(payload));
        Record { time, event, late, length: size_of::<P>() as u8, comm, payload: bytes }
    }

    /// The payload, laid out as the event's type says.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.payload[..usize::from(self.length)]
    }
}
