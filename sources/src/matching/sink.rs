//! Where the model's events go: a buffer that is raised from later, when no lock is held.

use mpit_events::{EventIndex, Payload, Record, Ticks};

use super::envelope::CommIndex;
use super::events::Event;

/// Takes the events that the model emits, in order, and gives the time.
pub trait Sink {
    /// The index of an event in the core that it will be raised in.
    fn index(&self, event: Event) -> EventIndex;

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

    /// The messages in the unexpected queue of this communicator have so many bytes more, or less.
    #[inline(always)]
    fn unexpected_bytes(&mut self, _comm: CommIndex, _change: i64) {}

    /// Emits an event, where somebody wants it.
    #[inline(always)]
    fn emit<P: Payload>(&mut self, event: Event, comm: CommIndex, time: Ticks, late: bool, payload: P) {
        if self.wants(event) {
            self.push(Record::new(self.index(event), comm.0, time, late, &payload));
        }
    }

    /// Emits an event that ends what began at `since`: a search, or an entry's time in a queue.
    #[inline(always)]
    fn emit_end<P: Payload>(
        &mut self,
        event: Event,
        comm: CommIndex,
        since: Ticks,
        time: Ticks,
        late: bool,
        payload: P,
    ) {
        if self.wants(event) {
            self.push(Record::new(self.index(event), comm.0, time, late, &payload).ending(since));
        }
    }
}
