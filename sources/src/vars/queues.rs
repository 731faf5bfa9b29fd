//! The counts of the queue variables: from the events of whoever raises them, from the first handle on.
//!
//! Cost: nothing but an entry for each communicator before that; then an addition or two for each event of a queue. Counts are
//! read without the model, so that any thread may read.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use mpit_events::{BulkListener, Clock, Core, Record, SourceIndex};
use mpit_vars::Error;
use mpit_vars::gauge::Writers;
use mpit_vars::queues::{Counts, InUse, Queues};
use rustc_hash::FxHashMap;

use crate::calls::{Communicator, Ob1Model, Observer, Waited};
use crate::peruse::Peruse;
use crate::queue_changes::{QueueChange, QueueChanges};

/// Communicators at the same time whose queues are counted; those beyond have no handles.
const MOST: usize = 1024;

/// The communicators that are there.
#[derive(Debug, Default)]
struct Book {
    /// Index and counts, by handle.
    there: FxHashMap<u64, (u32, &'static Counts)>,
    /// Counts of communicators that were freed.
    freed: Vec<&'static Counts>,
}

/// The queues of this process. Lives as long as the process.
pub struct QueueCounts {
    core: &'static Core,
    model: Ob1Model,
    peruse: Option<&'static Peruse>,
    clock: Clock,
    book: Mutex<Book>,
    /// The counts by the index of the communicator, for those who count.
    by_index: Box<[AtomicPtr<Counts>]>,
    begun: OnceLock<Result<(), Error>>,
    /// Whether what was in the queues before is counted.
    is_complete: AtomicBool,
    /// Envelopes lost, as far as it was looked at.
    lost: AtomicU64,
    /// The counts of all communicators together, once somebody wants them.
    everything: OnceLock<&'static Counts>,
    /// How often any of the counts have changed.
    changes: AtomicU64,
    /// What to count, by event type.
    what: OnceLock<QueueChanges>,
}

impl QueueCounts {
    pub(super) fn new(
        core: &'static Core,
        model: Ob1Model,
        peruse: Option<&'static Peruse>,
    ) -> &'static QueueCounts {
        Box::leak(Box::new(QueueCounts {
            core,
            model,
            peruse,
            clock: Clock::best(),
            book: Mutex::default(),
            by_index: (0..MOST).map(|_| AtomicPtr::default()).collect(),
            begun: OnceLock::new(),
            is_complete: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            everything: OnceLock::new(),
            changes: AtomicU64::new(0),
            what: OnceLock::new(),
        }))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn at(&self, index: u32) -> Option<&'static Counts> {
        let address = self.by_index.get(index as usize)?.load(Ordering::Acquire);
        // SAFETY: null, or counts that `communicator_created` has put there: these are never freed.
        unsafe { address.as_ref() }
    }

    fn listen(&'static self) -> Result<(), Error> {
        let changes = QueueChanges::of(self.core, "");
        if !changes.are_complete() {
            return Err(Error::Failed);
        }
        let events = changes.events().to_vec();
        let _ = self.what.set(changes);
        self.model.catch_up_between_calls();
        self.model.ask_for_bytes(self);
        self.core.listen_in_bulk(&events, self).map_err(|_| Error::Failed)?;
        self.complete();
        Ok(())
    }

    /// Adds what was in the queues before anybody listened, as soon as a thread comes by that may look.
    fn complete(&self) {
        if self.is_complete.load(Ordering::Acquire) {
            return;
        }
        if !self.model.raises() {
            return self.is_complete.store(true, Ordering::Release);
        }
        let Some(census) = self.model.census() else { return };
        for (index, waiting) in (0..).zip(census) {
            if let Some(counts) = self.at(index) {
                counts.posted.set(waiting.receives);
                counts.unexpected.set(waiting.messages);
                counts.unexpected_bytes.set(waiting.bytes);
            }
        }
        self.complete_everything();
        self.is_complete.store(true, Ordering::Release);
    }
}

impl QueueCounts {
    /// All communicators together have what they have one by one.
    fn complete_everything(&self) {
        let Some(everything) = self.everything.get() else { return };
        let book = self.book();
        let all = || book.there.values().map(|(_, counts)| *counts);
        everything.posted.set(all().map(|counts| counts.posted.level()).sum());
        everything.unexpected.set(all().map(|counts| counts.unexpected.level()).sum());
        everything.unexpected_bytes.set(all().map(|counts| counts.unexpected_bytes.level()).sum());
    }

    /// Lets the model follow what the calls of this thread have left for later, and counts that. In a hook, but not one of the model.
    #[inline]
    pub fn catch_up_in_call(&self) {
        match self.peruse {
            Some(peruse) if !self.model.raises() => peruse.catch_up(),
            _ => self.model.catch_up_in_call(),
        }
    }
}

impl QueueCounts {
    /// Who changes the counts now.
    #[inline]
    fn writers(&self) -> Writers {
        if self.model.is_shared() { Writers::Several } else { Writers::One }
    }

    /// Counts these events. Compiled for either of the writers.
    #[inline(always)]
    fn count(&self, records: &[Record], writers: Writers) {
        let Some(changes) = self.what.get() else { return };
        let everything = self.everything.get().copied();
        // Those of the program only, as in the profile.
        for record in records.iter().filter(|record| !record.internal) {
            let what = changes.by(record.event);
            if what == QueueChange::Nothing {
                continue;
            }
            if let Some(counts) = self.at(record.object) {
                count_in(counts, what, record, writers);
            }
            if let Some(counts) = everything {
                count_in(counts, what, record, writers);
            }
        }
        self.has_changed(writers);
    }

    #[inline]
    fn has_changed(&self, writers: Writers) {
        writers.add(&self.changes, 1);
    }

    /// Another number after each change of the counts: where it is the same, they are.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Whether calls are followed later than they return, by the only thread that calls MPI, or the only one at a time.
    pub fn defers(&self) -> bool {
        self.model.raises() && self.model.defers()
    }

    /// Looks how many envelopes were lost. In a hook, but not one of the model.
    pub fn count_lost_in_call(&self) {
        if let Some(lost) = self.model.lost_in_call() {
            self.set_lost(lost);
        }
    }

    fn set_lost(&self, lost: u64) {
        if self.lost.fetch_max(lost, Ordering::Relaxed) < lost {
            self.has_changed(Writers::Several);
        }
    }
}

/// Counts one event in the counts of its communicator, or in those of all.
#[inline(always)]
fn count_in(counts: &Counts, what: QueueChange, record: &Record, writers: Writers) {
    let took = || record.ticks.since(record.since);
    let (number, change) = (record.count(), i64::from(record.count()));
    match what {
        QueueChange::PostedInsert => counts.posted.add(change, writers),
        QueueChange::PostedRemove => counts.posted.add(-change, writers),
        QueueChange::UnexpectedInsert => counts.unexpected.add(change, writers),
        QueueChange::UnexpectedRemove => counts.unexpected.add(-change, writers),
        QueueChange::PostedSearchEnd => counts.posted_search.add(took(), number, writers),
        QueueChange::UnexpectedSearchEnd => counts.unexpected_search.add(took(), number, writers),
        QueueChange::Nothing => {}
    }
}

impl BulkListener for QueueCounts {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        match self.writers() {
            Writers::One => self.count(records, Writers::One),
            Writers::Several => self.count(records, Writers::Several),
        }
    }

    fn counts(&self) -> bool {
        true
    }
}

impl Observer for QueueCounts {
    fn communicator_created(&self, communicator: &Communicator) {
        let Some(place) = self.by_index.get(communicator.index as usize) else { return };
        let mut book = self.book();
        let vacant = book.freed.iter().position(|counts| counts.is_vacant());
        let counts: &'static Counts = match vacant {
            Some(vacant) => {
                let counts = book.freed.swap_remove(vacant);
                for gauge in [&counts.posted, &counts.unexpected, &counts.unexpected_bytes] {
                    gauge.set(0);
                }
                counts
            }
            None => Box::leak(Box::default()),
        };
        place.store(std::ptr::from_ref(counts).cast_mut(), Ordering::Release);
        book.there.insert(communicator.token.0, (communicator.index, counts));
    }

    fn communicator_freed(&self, communicator: &Communicator) {
        let mut book = self.book();
        if let Some((_, counts)) = book.there.remove(&communicator.token.0) {
            book.freed.push(counts);
        }
    }

    fn unexpected_bytes(&self, comm: u32, change: i64) {
        let writers = self.writers();
        for counts in self.at(comm).into_iter().chain(self.everything.get().copied()) {
            counts.unexpected_bytes.add(change, writers);
        }
        self.has_changed(writers);
    }

    fn waited(&self, waited: &Waited) {
        let writers = self.writers();
        for counts in self.at(waited.comm).into_iter().chain(self.everything.get().copied()) {
            writers.add(&counts.waited, waited.end.since(waited.begin));
        }
        self.has_changed(writers);
    }
}

impl Queues for &'static QueueCounts {
    fn communicator(&self, handle: u64) -> Option<InUse> {
        let book = self.book();
        book.there.get(&handle).map(|(_, counts)| counts.in_use())
    }

    fn begin(&self, waits: bool) -> Result<(), Error> {
        if waits {
            self.model.ask_for_waits(*self);
        }
        (*self.begun.get_or_init(|| self.listen()))?;
        self.complete();
        Ok(())
    }

    fn everything(&self) -> Option<&'static Counts> {
        let is_new = self.everything.get().is_none();
        let everything = *self.everything.get_or_init(|| Box::leak(Box::default()));
        if is_new && self.is_complete.load(Ordering::Acquire) {
            self.complete_everything();
        }
        Some(everything)
    }

    fn catch_up(&self) {
        match self.peruse {
            Some(peruse) if !self.model.raises() => {
                mpi_intercept::asked(|| peruse.catch_up());
            }
            _ => {
                self.model.catch_up_between_calls();
            }
        }
        self.complete();
    }

    fn knows_bytes(&self) -> bool {
        self.model.raises()
    }

    fn lost(&self) -> u64 {
        if let Some(lost) = self.model.lost() {
            self.set_lost(lost);
        }
        self.lost.load(Ordering::Relaxed)
    }

    fn lost_so_far(&self) -> Option<&'static AtomicU64> {
        let this: &'static QueueCounts = self;
        Some(&this.lost)
    }

    fn nanoseconds(&self, ticks: u64) -> u64 {
        let per_second = u128::from(self.clock.ticks_per_second().max(1));
        (u128::from(ticks) * 1_000_000_000 / per_second) as u64
    }
}
