//! The consumer: six event types, taken in bulk on all communicators.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

use mpit_events::{BulkListener, Core, Error, Record, SourceIndex};
use mpit_sources::{QueueChange, QueueChanges, Serial};

use crate::warn;
use mel_log::profile;
use mel_log::table::durations::Counts;
use mel_log::table::layout::STOPPED;
use mel_log::table::queues::QueuesOf;
use mel_log::table::{Identity, ProfileTable, Queues, QueuesKey};

use super::by_communicator::{Around, ByCommunicator};
use crate::registry::Registry;

/// So many phases have queues of their own, of 90 kB each; those beyond share those of the last of them.
const MOST_PHASES: usize = 32;

/// Everything that runs per event.
#[inline(always)]
fn count<D: Counts>(queues: &QueuesOf<D>, what: QueueChange, record: &Record) {
    let (since, time) = (record.since.0, record.ticks.0);
    match what {
        QueueChange::PostedInsert => queues.posted.insert_several(time, record.count()),
        QueueChange::PostedRemove => queues.posted.remove_one_of(since, time, record.count()),
        QueueChange::UnexpectedInsert => queues.unexpected.insert_several(time, record.count()),
        QueueChange::UnexpectedRemove => queues.unexpected.remove_one_of(since, time, record.count()),
        QueueChange::PostedSearchEnd => queues.posted_search.end_several(since, time, record.count()),
        QueueChange::UnexpectedSearchEnd => queues.unexpected_search.end_several(since, time, record.count()),
        QueueChange::Nothing => {}
    }
}

/// Counts what happens in the queues of this process. Thread-safe.
#[derive(Clone, Debug)]
pub struct QueueProfiler(Arc<Listener>);

#[derive(Debug)]
struct Listener {
    /// Where it counts.
    table: OnceLock<ProfileTable>,
    /// Whether this is a second backend.
    is_second: bool,
    /// The sets that are there.
    sets: Mutex<Vec<(QueuesKey, usize)>>,
    /// The set in use of the application's messages, and that of the MPI's own.
    current: [AtomicUsize; 2],
    /// Held by who counts.
    counting: Serial<ByCommunicator>,
    /// Has the numbers of communicators, where these are counted apart.
    registry: Option<&'static Registry>,
    /// What to count, by event type.
    changes: QueueChanges,
}

impl BulkListener for Listener {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        let Some(table) = self.table.get() else { return };
        self.counting.with(|by_communicator| {
            let sets = self.current.each_ref().map(|number| table.queues(number.load(Relaxed)));
            for record in records {
                let queues = sets[usize::from(record.internal)];
                let what = self.changes.by(record.event);
                // Before it is counted in the whole queues, which may be all that there is of a communicator so far.
                let own = match self.registry {
                    Some(registry) if !record.internal && what != QueueChange::Nothing => {
                        by_communicator.row(record.object, |find| self.around(table, registry, find))
                    }
                    _ => None,
                };
                count(queues, what, record);
                if let Some(row) = own {
                    count(table.communicator_queues(row), what, record);
                }
            }
        });
    }

    fn counts(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        true
    }
}

impl Listener {
    /// What the rows of communicators need. For who counts.
    #[cold]
    #[inline(never)]
    fn around<R>(&self, table: &ProfileTable, registry: &Registry, with: impl FnOnce(&Around<'_>) -> R) -> R {
        let number = |place| registry.number_at(place);
        let whole = |each: &mut dyn FnMut(&Queues, u16, bool)| {
            let current = self.current[0].load(Relaxed);
            for number in 0..table.header().queues.get() as usize {
                let set = table.queues(number);
                let QueuesKey { whose, phase } = set.key();
                if whose == 0 {
                    each(set, phase, number == current);
                }
            }
        };
        with(&Around { table, number: &number, whole: &whole })
    }

    fn sets(&self) -> MutexGuard<'_, Vec<(QueuesKey, usize)>> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is counted by phase: the application's messages, as the first backend sees them.
    fn key(&self, internal: u16, phase: u16) -> QueuesKey {
        let whose = internal + if self.is_second { 2 } else { 0 };
        QueuesKey { whose, phase: if whose == 0 || phase == STOPPED { phase } else { 0 } }
    }

    /// The set of this key; where there are too many, or there is no space, the one that was made last of the same queues.
    fn set(&self, table: &ProfileTable, sets: &mut Vec<(QueuesKey, usize)>, key: QueuesKey) -> usize {
        if let Some((_, known)) = sets.iter().find(|(known, _)| *known == key) {
            return *known;
        }
        let counting = |known: &QueuesKey| known.whose == key.whose && known.phase != STOPPED;
        let is_full =
            key.phase != STOPPED && sets.iter().filter(|(known, _)| counting(known)).count() >= MOST_PHASES;
        let added = if is_full { None } else { table.add_queues(key) };
        if let Some(number) = added {
            sets.push((key, number));
            return number;
        }
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            warn(&format!(
                "{MOST_PHASES} phases have queues of their own; all further phases are counted with the last of these"
            ));
        });
        let last = sets.iter().rev().find(|(known, _)| counting(known));
        last.map_or(0, |(_, number)| *number)
    }
}

impl QueueProfiler {
    /// Counts from [`begin`](QueueProfiler::begin) on, for the life of the core, the events whose types have `prefix` before their
    /// names. Types that do not exist are left out. Those of each communicator are counted apart, too, where a `registry` has their numbers.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core takes no further bulk listener.
    pub fn listen(
        core: &Core,
        prefix: &str,
        registry: Option<&'static Registry>,
    ) -> Result<QueueProfiler, Error> {
        let changes = QueueChanges::of(core, prefix);
        let events = changes.events().to_vec();
        let listener = Arc::new(Listener {
            table: OnceLock::new(),
            is_second: !prefix.is_empty(),
            sets: Mutex::default(),
            current: Default::default(),
            counting: Serial::default(),
            registry,
            changes,
        });
        // The core keeps it for ever: so does this reference.
        let kept: &'static Arc<Listener> = Box::leak(Box::new(listener.clone()));
        core.listen_in_bulk(&events, kept.as_ref())?;
        Ok(QueueProfiler(listener))
    }

    /// Counts in this table from now on; in memory of its own where that has no space.
    pub fn begin(&self, table: &ProfileTable) {
        let phase = crate::phases::current();
        let add = |table: &ProfileTable| {
            let keys = [0, 1].map(|internal| self.0.key(internal, phase));
            Some(
                [table.add_queues(keys[0])?, table.add_queues(keys[1])?]
                    .map(|number| number)
                    .into_iter()
                    .zip(keys),
            )
        };
        let in_table = add(table).map(|sets| (table.clone(), sets));
        let place = in_table.or_else(|| {
            let own = ProfileTable::in_memory(&Identity::default()).ok()?;
            add(&own).map(|sets| (own, sets))
        });
        if let Some((table, sets)) = place {
            for ((number, key), current) in sets.zip(&self.0.current) {
                current.store(number, Relaxed);
                self.0.sets().push((key, number));
            }
            let _ = self.0.table.set(table);
        }
    }

    /// The process is in this phase from `now` on, in ticks. One thread at a time.
    pub fn enter_phase(&self, phase: u16, now: u64) {
        let Some(table) = self.0.table.get() else { return };
        let mut sets = self.0.sets();
        let next = [0, 1].map(|internal| self.0.set(table, &mut sets, self.0.key(internal, phase)));
        self.0.counting.with(|by_communicator| {
            by_communicator.set_stopped(phase == STOPPED, now, table);
            for (current, next) in self.0.current.iter().zip(next) {
                let before = current.swap(next, Relaxed);
                table.queues(before).go_on_in(table.queues(next), now);
            }
        });
    }

    /// Forgets what was counted until `now`, in ticks. One thread at a time.
    pub fn clear(&self, now: u64) {
        let Some(table) = self.0.table.get() else { return };
        let sets = self.0.sets();
        self.0.counting.with(|by_communicator| {
            by_communicator.clear(now, table);
            sets.iter().for_each(|(_, number)| table.queues(*number).clear(now));
        });
    }

    /// The communicator at this place of the model is another one from now on. One thread at a time.
    pub fn forget_place(&self, place: u32) {
        self.with_communicators(|by_communicator, around| by_communicator.forget_place(place, around));
    }

    fn with_communicators(&self, with: impl FnOnce(&mut ByCommunicator, &Around<'_>)) {
        let (Some(table), Some(registry)) = (self.0.table.get(), self.0.registry) else { return };
        self.0.counting.with(|rows| self.0.around(table, registry, |around| with(rows, around)));
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

    fn stats(&self, whose: u16, ticks_per_second: u64) -> Option<profile::Queues> {
        let table = self.0.table.get()?;
        let sum = Box::<Queues>::default();
        let sets = self.0.sets();
        let of = |key: &QueuesKey| key.phase != STOPPED && key.whose == self.0.key(whose, 0).whose;
        self.0.counting.with(|_| {
            sets.iter().filter(|(key, _)| of(key)).for_each(|(_, number)| sum.join(table.queues(*number)));
        });
        Some(sum.stats(ticks_per_second))
    }
}
