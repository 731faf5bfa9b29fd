//! The sixteen events of ob1: names, payloads, descriptions; and where the model's go: a buffer that is raised from later, when no lock is
//! held.

use mpit_events::{
    BindKind, Core, Error, EventIndex, EventType, Payload, Record, Ticks, Verbosity, event_payload,
};

use super::envelope::CommIndex;

event_payload! {
    /// `message_arrived`.
    pub struct Arrived {
        "context id" context: u32,
        "source" source: i32,
        "tag" tag: i32,
        "sequence number" sequence: u32,
    }
}
event_payload! {
    /// `search_posted_begin` and `search_posted_end`: the message that looks for its receive.
    pub struct Searched { "source" source: i32, "tag" tag: i32, "sequence number" sequence: u32 }
}
event_payload! {
    /// `search_unexpected_begin` and `search_unexpected_end`: the receive that looks for a message.
    pub struct SearchedFor { "request" request: u64, "source" source: i32, "tag" tag: i32 }
}
event_payload! {
    /// `posted_insert` and `posted_remove`: the receive in the posted queue.
    pub struct Queued { "request" request: u64, "source" source: i32, "tag" tag: i32 }
}
event_payload! {
    /// `unex_insert` and `unex_remove`: the message in the unexpected queue.
    pub struct Unexpected {
        "request" request: u64,
        "source" source: i32,
        "tag" tag: i32,
        "sequence number" sequence: u32,
    }
}
event_payload! {
    /// `transfer`: so many bytes move.
    pub struct Transferred { "request" request: u64, "length" length: u64 }
}
event_payload! {
    /// The events of a request's life.
    pub struct Request { "request" request: u64 }
}

macro_rules! events {
    ($($variant:ident $name:literal $payload:ty, $description:literal;)*) => {
        /// The events, in the order of the prototype.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Event { $(#[doc = $description] $variant),* }

        impl Event {
            /// All events, in order.
            pub const ALL: [Event; 16] = [$(Event::$variant),*];

            /// The event's name without the component prefix.
            pub fn name(self) -> &'static str {
                match self { $(Event::$variant => $name),* }
            }

            fn event_type(self, prefix: &str) -> EventType {
                let name = format!("{prefix}pml_ob1_{}", self.name());
                let event_type = match self {
                    $(Event::$variant => EventType::of::<$payload>(name, $description, BindKind::Comm)),*
                };
                event_type.of_verbosity(self.verbosity())
            }
        }
    };
}
events! {
    MessageArrived "message_arrived" Arrived, "The envelope of a message was seen by the receiver.";
    SearchPostedBegin "search_posted_begin" Searched, "The search of the posted queue for a message begins.";
    SearchPostedEnd "search_posted_end" Searched, "The search of the posted queue for a message ends.";
    SearchUnexpectedBegin "search_unexpected_begin" SearchedFor, "The search of the unexpected queue for a receive or probe begins.";
    SearchUnexpectedEnd "search_unexpected_end" SearchedFor, "The search of the unexpected queue for a receive or probe ends.";
    PostedInsert "posted_insert" Queued, "A receive was put into the posted queue.";
    PostedRemove "posted_remove" Queued, "A receive was taken out of the posted queue.";
    UnexInsert "unex_insert" Unexpected, "A message was put into the unexpected queue.";
    UnexRemove "unex_remove" Unexpected, "A message was taken out of the unexpected queue.";
    TransferBegin "transfer_begin" Request, "The transfer of a message's data begins.";
    Transfer "transfer" Transferred, "Data of a message is transferred.";
    TransferEnd "transfer_end" Request, "The transfer of a message's data ends.";
    Cancel "cancel" Request, "A receive was cancelled.";
    Free "free" Request, "A request was freed.";
    RequestActivate "request_activate" Request, "A request became active.";
    RequestComplete "request_complete" Request, "A request is complete.";
}

impl Event {
    /// Requests and messages are for who tunes a program, the queues in more detail, and the library's own steps for who works on it.
    fn verbosity(self) -> Verbosity {
        use Event::{
            Cancel, Free, MessageArrived, PostedInsert, PostedRemove, RequestActivate, RequestComplete,
            SearchPostedBegin, SearchPostedEnd, SearchUnexpectedBegin, SearchUnexpectedEnd, Transfer,
            TransferBegin, TransferEnd, UnexInsert, UnexRemove,
        };
        match self {
            RequestActivate | RequestComplete | Cancel | Free => Verbosity::TunerBasic,
            MessageArrived | PostedInsert | PostedRemove | UnexInsert | UnexRemove => Verbosity::TunerDetail,
            TransferBegin | Transfer | TransferEnd => Verbosity::TunerAll,
            SearchPostedBegin | SearchPostedEnd | SearchUnexpectedBegin | SearchUnexpectedEnd => {
                Verbosity::MpidevDetail
            }
        }
    }
}

/// The events' indices in a core.
#[derive(Clone, Copy, Debug)]
pub struct Ob1Events {
    indices: [EventIndex; 16],
    /// Whether the indices follow each other, so that the core can answer for all at once.
    contiguous: bool,
}

impl Ob1Events {
    /// Adds the sixteen types, with `prefix` before their names, to a core.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] when the core is full.
    pub fn register(core: &Core, prefix: &str) -> Result<Self, Error> {
        let mut indices = Vec::with_capacity(16);
        for event in Event::ALL {
            indices.push(core.add_type(event.event_type(prefix))?);
        }
        let indices: [EventIndex; 16] = indices.try_into().map_err(|_| Error::OutOfHandles)?;
        let contiguous = indices.windows(2).all(|pair| pair[0].get() + 1 == pair[1].get());
        Ok(Ob1Events { indices, contiguous })
    }

    /// The index of an event.
    #[inline]
    pub fn index(&self, event: Event) -> EventIndex {
        self.indices[event as usize]
    }

    /// Which of the events somebody listens to, as bits `1 << event`.
    #[inline]
    pub fn active(&self, core: &Core) -> u16 {
        if self.contiguous {
            return core.active_from(self.indices[0]) as u16;
        }
        let bit = |(bit, index): (usize, &EventIndex)| u16::from(core.is_active(*index)) << bit;
        self.indices.iter().enumerate().map(bit).sum()
    }
}

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

    /// Whether who listens only counts: events that took the same time may be [several](Record::several) in one.
    #[inline(always)]
    fn only_counts(&self) -> bool {
        false
    }

    /// Emits so many events at once, the first of which was from when to when, to who [only counts](Sink::only_counts).
    #[inline(always)]
    fn emit_several(&mut self, event: Event, comm: CommIndex, times: (Ticks, Ticks), count: u16) {
        if self.wants(event) && count != 0 {
            self.push(Record::several(self.index(event), comm.0, times, count));
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_have_the_documented_layout() {
        let core = Core::new();
        let events = Ob1Events::register(&core, "").unwrap();
        let layout = |event: Event| {
            let event_type = core.event_type(events.index(event)).unwrap();
            let elements: Vec<_> =
                event_type.elements.iter().map(|e| format!("{}@{}", e.name, e.displacement)).collect();
            (event_type.name.clone(), elements.join(" "), event_type.extent)
        };
        assert_eq!(
            layout(Event::MessageArrived),
            ("pml_ob1_message_arrived".into(), "context id@0 source@4 tag@8 sequence number@12".into(), 16)
        );
        assert_eq!(
            layout(Event::UnexInsert),
            ("pml_ob1_unex_insert".into(), "request@0 source@8 tag@12 sequence number@16".into(), 20)
        );
        assert_eq!(layout(Event::Transfer), ("pml_ob1_transfer".into(), "request@0 length@8".into(), 16));
        assert_eq!(core.num_types(), 16);
    }
}
