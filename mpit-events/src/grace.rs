//! Grace periods: when is what was replaced or freed no longer in use?
//!
//! Raising takes no lock, so a list, a callback or a registration may still be in use when it is
//! replaced. What was replaced is *retired* here and released once every raise section that could
//! have seen it is over. A section is counted in one of two sets, by the parity of the epoch at its
//! start. An epoch ends when the set of the *other* parity is empty; after two ends, both sets have
//! been seen empty since the retirement, so that nobody can hold what was retired. New sections
//! never delay an end, because they go into the set that is not waited for.
//!
//! Memory order: a section first adds itself to its set and then loads pointers; retiring first
//! swaps a pointer and then reads the sets; all four are sequentially consistent. So a section that
//! the reader of the sets has missed loads the new pointer.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sections are counted in this many shards, so that threads do not share a cache line.
const SHARDS: usize = 16;

#[derive(Debug)]
#[repr(align(128))]
struct Count(AtomicUsize);

/// Something that is released at the end of its grace period.
pub(crate) trait Retired: Send {
    /// Runs outside every lock; may call into the core.
    fn release(self: Box<Self>);
}

pub(crate) struct Grace {
    epoch: AtomicUsize,
    sections: [[Count; SHARDS]; 2],
    /// How many things wait: the one word that the end of a section looks at.
    waiting: AtomicUsize,
    retired: Mutex<Vec<(usize, Box<dyn Retired>)>>,
}

/// What a thread knows of itself: its shard, and how deep in raise sections it is.
#[derive(Clone, Copy)]
struct Thread {
    shard: u8,
    depth: u8,
}

thread_local! {
    static THREAD: Cell<Thread> = const { Cell::new(Thread { shard: u8::MAX, depth: 0 }) };
}

/// The counted presence of a thread in a raise section.
pub(crate) struct Section<'a> {
    grace: &'a Grace,
    set: usize,
    shard: usize,
    depth: u8,
    /// Whether releasing (which may allocate and lock) is allowed at the end.
    may_release: bool,
}

impl Grace {
    pub(crate) const fn new() -> Self {
        Grace {
            epoch: AtomicUsize::new(0),
            sections: [const { [const { Count(AtomicUsize::new(0)) }; SHARDS] }; 2],
            waiting: AtomicUsize::new(0),
            retired: Mutex::new(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn enter(&self, may_release: bool) -> Section<'_> {
        let mut thread = THREAD.get();
        if thread.shard == u8::MAX {
            thread.shard = next_shard();
        }
        thread.depth += 1;
        THREAD.set(thread);
        let (set, shard) = (self.epoch.load(Ordering::Relaxed) & 1, usize::from(thread.shard));
        self.sections[set][shard].0.fetch_add(1, Ordering::SeqCst);
        Section { grace: self, set, shard, depth: thread.depth, may_release }
    }

    /// Hands over what was replaced *before* this call.
    pub(crate) fn retire(&self, what: Box<dyn Retired>) {
        let mut retired = self.lock();
        retired.push((self.epoch.load(Ordering::SeqCst), what));
        self.waiting.store(retired.len(), Ordering::SeqCst);
    }

    /// Releases whatever can be released now.
    #[cold]
    #[inline(never)]
    pub(crate) fn release(&self) {
        loop {
            let mut retired = self.lock();
            // Two ends of an epoch at the most are needed, and possible, at one time.
            for _ in 0..2 {
                let epoch = self.epoch.load(Ordering::SeqCst);
                let other = &self.sections[(epoch + 1) & 1];
                if other.iter().all(|count| count.0.load(Ordering::SeqCst) == 0) {
                    self.epoch.store(epoch + 1, Ordering::SeqCst);
                }
            }
            let epoch = self.epoch.load(Ordering::SeqCst);
            let over = retired.extract_if(.., |(since, _)| epoch >= *since + 2).collect::<Vec<_>>();
            self.waiting.store(retired.len(), Ordering::SeqCst);
            drop(retired);
            if over.is_empty() {
                return;
            }
            for (_, what) in over {
                what.release();
            }
        }
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(usize, Box<dyn Retired>)>> {
        self.retired.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cold]
fn next_shard() -> u8 {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    (NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS) as u8
}

impl Section<'_> {
    /// How many sections of this thread are open, this one included.
    #[inline]
    pub(crate) fn depth(&self) -> u8 {
        self.depth
    }
}

impl Drop for Section<'_> {
    #[inline]
    fn drop(&mut self) {
        let mut thread = THREAD.get();
        thread.depth -= 1;
        THREAD.set(thread);
        self.grace.sections[self.set][self.shard].0.fetch_sub(1, Ordering::SeqCst);
        if self.may_release && self.grace.waiting.load(Ordering::SeqCst) != 0 {
            self.grace.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Bell(Arc<AtomicUsize>);
    impl Retired for Bell {
        fn release(self: Box<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn without_a_section_the_release_is_immediate() {
        let (grace, rung) = (Grace::new(), Arc::new(AtomicUsize::new(0)));
        grace.retire(Box::new(Bell(rung.clone())));
        grace.release();
        assert_eq!(rung.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_section_delays_the_release_to_its_end() {
        let (grace, rung) = (Grace::new(), Arc::new(AtomicUsize::new(0)));
        let section = grace.enter(true);
        grace.retire(Box::new(Bell(rung.clone())));
        grace.release();
        assert_eq!(rung.load(Ordering::SeqCst), 0);
        drop(section);
        assert_eq!(rung.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn later_sections_do_not_delay_it_for_ever() {
        let (grace, rung) = (Grace::new(), Arc::new(AtomicUsize::new(0)));
        let mut section = Some(grace.enter(true));
        grace.retire(Box::new(Bell(rung.clone())));
        for _ in 0..4 {
            // There is always a section open, never the same for long.
            let next = grace.enter(true);
            drop(section.replace(next));
            grace.release();
        }
        assert_eq!(rung.load(Ordering::SeqCst), 1);
    }
}
