//! What the events of the queues do to them, for who counts.

use mpit_events::{Core, EventIndex, MAX_EVENT_TYPES};

/// What an event does to the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueChange {
    /// Nothing that counts.
    Nothing,
    /// A receive is put into the posted queue.
    PostedInsert,
    /// A receive leaves it.
    PostedRemove,
    /// A message is put into the unexpected queue.
    UnexpectedInsert,
    /// A message leaves it.
    UnexpectedRemove,
    /// A search of the posted queue ends.
    PostedSearchEnd,
    /// A search of the unexpected queue ends.
    UnexpectedSearchEnd,
}

const EVENTS: [(&str, QueueChange); 6] = [
    ("pml_ob1_posted_insert", QueueChange::PostedInsert),
    ("pml_ob1_posted_remove", QueueChange::PostedRemove),
    ("pml_ob1_unex_insert", QueueChange::UnexpectedInsert),
    ("pml_ob1_unex_remove", QueueChange::UnexpectedRemove),
    ("pml_ob1_search_posted_end", QueueChange::PostedSearchEnd),
    ("pml_ob1_search_unexpected_end", QueueChange::UnexpectedSearchEnd),
];

/// What each event type of a core does to the queues.
#[derive(Clone, Debug)]
pub struct QueueChanges {
    by_type: [QueueChange; MAX_EVENT_TYPES],
    events: Vec<EventIndex>,
}

impl QueueChanges {
    /// Those of the event types whose names have this before those of the queue events. Types that the core does not have are left out.
    pub fn of(core: &Core, prefix: &str) -> QueueChanges {
        let mut by_type = [QueueChange::Nothing; MAX_EVENT_TYPES];
        let mut events = Vec::new();
        for (name, change) in EVENTS {
            if let Ok(event) = core.type_by_name(&format!("{prefix}{name}")) {
                by_type[event.get()] = change;
                events.push(event);
            }
        }
        QueueChanges { by_type, events }
    }

    /// The event types that change something.
    pub fn events(&self) -> &[EventIndex] {
        &self.events
    }

    /// Whether the core has all of them.
    pub fn are_complete(&self) -> bool {
        self.events.len() == EVENTS.len()
    }

    /// What an event of this type does.
    #[inline(always)]
    pub fn by(&self, event: EventIndex) -> QueueChange {
        self.by_type[event.get() % MAX_EVENT_TYPES]
    }
}
