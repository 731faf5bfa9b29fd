//! The consumer: six event types, taken in bulk on all communicators.

use std::sync::Arc;

use mpit_events::{BulkListener, Core, Error, EventIndex, MAX_EVENT_TYPES, Record, SourceIndex};
use mpit_sources::Serial;

use super::accumulate::{Queue, Searches};
use mel_log::profile;

/// What is counted, over all communicators: messages of the application, and those of the MPI's own.
type Counted = [Queues; 2];

/// Both queues and their searches.
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
    queues: Serial<Counted>,
    /// What to count, by event type.
    counts: [Count; MAX_EVENT_TYPES],
}

impl BulkListener for Listener {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        self.queues.with(|queues| {
            for record in records {
                let queues = &mut queues[usize::from(record.internal)];
                queues.count(self.counts[record.event.get()], record.since.0, record.ticks.0);
            }
        });
    }
}

impl QueueProfiler {
    /// Counts from now on, for the life of the core, the events whose types have `prefix` before their
    /// names. Types that do not exist are left out.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core takes no further bulk listener.
    pub fn listen(core: &Core, prefix: &str) -> Result<QueueProfiler, Error> {
        let mut counts = [Count::Nothing; MAX_EVENT_TYPES];
        let mut events: Vec<EventIndex> = Vec::new();
        for (name, count) in COUNTED {
            if let Ok(event) = core.type_by_name(&format!("{prefix}{name}")) {
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

    /// From now on counting takes no lock.
    ///
    /// # Safety
    /// As for [`Serial::leave_to_one_thread`]: the program's threads do not call MPI at the same time.
    pub unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it; events are raised in MPI calls, or by a thread of ours that shares the state first.
        unsafe { self.0.queues.leave_to_one_thread() };
    }

    /// The numbers of the application's messages so far.
    pub fn application(&self, ticks_per_second: u64) -> profile::Queues {
        self.stats(0, ticks_per_second).unwrap_or_default()
    }

    /// The numbers of the MPI's own messages so far; `None` where none were seen.
    pub fn internal(&self, ticks_per_second: u64) -> Option<profile::Queues> {
        let stats = self.stats(1, ticks_per_second)?;
        (stats.posted_search.searches + stats.unexpected_search.searches != 0).then_some(stats)
    }

    fn stats(&self, whose: usize, ticks_per_second: u64) -> Option<profile::Queues> {
        self.0.queues.with(|counted| {
            let queues = &mut counted[whose];
            profile::Queues {
                posted: queues.posted.stats(ticks_per_second),
                unexpected: queues.unexpected.stats(ticks_per_second),
                posted_search: queues.posted_search.stats(ticks_per_second),
                unexpected_search: queues.unexpected_search.stats(ticks_per_second),
            }
        })
    }
}
