//! The consumer: six event types, taken in bulk on all communicators.

use std::sync::{Arc, OnceLock};

use mpit_events::{BulkListener, Core, Error, EventIndex, MAX_EVENT_TYPES, Record, SourceIndex};
use mpit_sources::Serial;

use mel_log::profile;
use mel_log::table::{Identity, ProfileTable, Queues};

/// Sets of queues in the table: that of the application's messages, and that of the MPI's own.
const SETS: usize = 2;

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

/// Everything that runs per event.
#[inline(always)]
fn count(queues: &Queues, what: Count, since: u64, time: u64) {
    match what {
        Count::PostedInsert => queues.posted.insert(time),
        Count::PostedRemove => queues.posted.remove(since, time),
        Count::UnexpectedInsert => queues.unexpected.insert(time),
        Count::UnexpectedRemove => queues.unexpected.remove(since, time),
        Count::PostedSearchEnd => queues.posted_search.end(since, time),
        Count::UnexpectedSearchEnd => queues.unexpected_search.end(since, time),
        Count::Nothing => {}
    }
}

/// Counts what happens in the queues of this process. Thread-safe.
#[derive(Clone, Debug)]
pub struct QueueProfiler(Arc<Listener>);

#[derive(Debug)]
struct Listener {
    /// Where it counts, and the number of the first set there.
    table: OnceLock<(ProfileTable, usize)>,
    /// Held by who counts.
    counting: Serial<()>,
    /// What to count, by event type.
    counts: [Count; MAX_EVENT_TYPES],
}

impl BulkListener for Listener {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        let Some((table, first)) = self.table.get() else { return };
        let sets = [table.queues(*first), table.queues(first + 1)];
        self.counting.with(|()| {
            for record in records {
                let queues = sets[usize::from(record.internal)];
                count(queues, self.counts[record.event.get()], record.since.0, record.ticks.0);
            }
        });
    }
}

impl QueueProfiler {
    /// Counts from [`begin`](QueueProfiler::begin) on, for the life of the core, the events whose types have `prefix` before their
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
        let listener = Arc::new(Listener { table: OnceLock::new(), counting: Serial::default(), counts });
        // The core keeps it for ever: so does this reference.
        let kept: &'static Arc<Listener> = Box::leak(Box::new(listener.clone()));
        core.listen_in_bulk(&events, kept.as_ref())?;
        Ok(QueueProfiler(listener))
    }

    /// Counts in this table from now on; in memory of its own where that has no space.
    pub fn begin(&self, table: &ProfileTable) {
        let in_table = table.add_queues(SETS).map(|first| (table.clone(), first));
        let place = in_table.or_else(|| {
            let own = ProfileTable::in_memory(&Identity::default()).ok()?;
            own.add_queues(SETS).map(|first| (own, first))
        });
        if let Some(place) = place {
            let _ = self.0.table.set(place);
        }
    }

    /// From now on counting takes no lock.
    ///
    /// # Safety
    /// As for [`Serial::leave_to_one_thread`]: the program's threads do not call MPI at the same time.
    pub unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it; events are raised in MPI calls, or by a thread of ours that shares the state first.
        unsafe { self.0.counting.leave_to_one_thread() };
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
        let (table, first) = self.0.table.get()?;
        self.0.counting.with(|()| table.queues(first + whose).stats(ticks_per_second))
    }
}
