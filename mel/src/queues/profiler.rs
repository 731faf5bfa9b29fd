//! The consumer: six event types, taken in bulk on all communicators.

use std::sync::Arc;

use mpit_events::{BulkListener, Core, Error, EventIndex, MAX_EVENT_TYPES, Record, SourceIndex};
use mpit_sources::Serial;

use super::accumulate::{Queue, Searches};
use crate::profile::RankProfile;

/// What is counted: both queues of this process and their searches, over all communicators.
#[derive(Debug, Default)]
struct Queues {
    posted: Queue,
    unexpected: Queue,
    posted_search: Searches,
    unexpected_search: Searches,
}

/// What an event does to the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Nothing,
    PostedInsert,
    PostedRemove,
    UnexpectedInsert,
    UnexpectedRemove,
    PostedSearchEnd,
    UnexpectedSearchEnd,
}

const COUNTED: [(&str, Count); 6] = [
    ("pml_ob1_posted_insert", Count::PostedInsert),
    ("pml_ob1_posted_remove", Count::PostedRemove),
    ("pml_ob1_unex_insert", Count::UnexpectedInsert),
    ("pml_ob1_unex_remove", Count::UnexpectedRemove),
    ("pml_ob1_search_posted_end", Count::PostedSearchEnd),
    ("pml_ob1_search_unexpected_end", Count::UnexpectedSearchEnd),
];

impl Queues {
    /// Everything that runs per event.
    #[inline(always)]
    fn count(&mut self, what: Count, since: u64, time: u64) {
        match what {
            Count::PostedInsert => self.posted.insert(time),
            Count::PostedRemove => self.posted.remove(since, time),
            Count::UnexpectedInsert => self.unexpected.insert(time),
            Count::UnexpectedRemove => self.unexpected.remove(since, time),
            Count::PostedSearchEnd => self.posted_search.end(since, time),
            Count::UnexpectedSearchEnd => self.unexpected_search.end(since, time),
            Count::Nothing => {}
        }
    }
}

/// Counts what happens in the queues of this process. Thread-safe.
#[derive(Clone, Debug)]
pub struct QueueProfiler(Arc<Listener>);

#[derive(Debug)]
struct Listener {
    queues: Serial<Queues>,
    /// What to count, by event type.
    counts: [Count; MAX_EVENT_TYPES],
}

impl BulkListener for Listener {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        self.queues.with(|queues| {
            for record in records {
                queues.count(self.counts[record.event.get()], record.since.0, record.ticks.0);
            }
        });
    }
}

impl QueueProfiler {
    /// Counts from now on, for the life of the core. Types that do not exist are left out.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core takes no further bulk listener.
    pub fn listen(core: &Core) -> Result<QueueProfiler, Error> {
        let mut counts = [Count::Nothing; MAX_EVENT_TYPES];
        let mut events: Vec<EventIndex> = Vec::new();
        for (name, count) in COUNTED {
            if let Ok(event) = core.type_by_name(name) {
                counts[event.get()] = count;
                events.push(event);
            }
        }
        let listener = Arc::new(Listener { queues: Serial::default(), counts });
        // The core keeps it for ever: so does this reference.
        let kept: &'static Arc<Listener> = Box::leak(Box::new(listener.clone()));
        core.listen_in_bulk(&events, kept.as_ref())?;
        Ok(QueueProfiler(listener))
    }

    /// Several threads may call MPI at the same time from now on.
    pub fn set_threads(&self) {
        self.0.queues.set_threads();
    }

    /// Fills in the numbers so far.
    pub fn fill(&self, profile: &mut RankProfile, ticks_per_second: u64) {
        self.0.queues.with(|queues| {
            profile.posted = queues.posted.stats(ticks_per_second);
            profile.unexpected = queues.unexpected.stats(ticks_per_second);
            profile.posted_search = queues.posted_search.stats(ticks_per_second);
            profile.unexpected_search = queues.unexpected_search.stats(ticks_per_second);
        });
    }
}
