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
//! swaps a pointer and then reads the sets. The order within each pair is what everything rests on:
//! so a section that the reader of the sets has missed loads the new pointer. Sections are many and
//! retirements few, so the price is paid by the latter: where the kernel has `membarrier`, a section
//! uses plain stores to a counter of its own thread, and retiring makes all threads pass a barrier.
//! Elsewhere both sides are sequentially consistent.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::sync::{
    AtomicUsize, Mutex, MutexGuard, Ordering, fence, heavy_barrier, heavy_barrier_is_available,
    light_barrier, shared_array,
};

/// Counters of sections. Each of the first threads has a pair of its own; all later ones share the
/// last.
const SHARDS: usize = if cfg!(loom) { 3 } else { 64 };

/// The sections that are open in each of the two sets.
#[derive(Debug)]
#[repr(align(128))]
struct Shard([AtomicUsize; 2]);

/// A thread and its shard. Without padding, which would be copied about where this is moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat<'a> {
    shard: &'a Shard,
    /// Where the thread counts its sections; `None` where nobody else uses the shard, whose counters then give the
    /// depth.
    sharing: Option<ThisThread>,
    /// Keeps the value on its thread.
    thread: PhantomData<*const ()>,
}

impl Seat<'_> {
    /// Counts one section more; returns how many are open on this thread.
    #[inline(always)]
    fn add(&self, set: usize) -> usize {
        let counts = &self.shard.0;
        let depth = match self.sharing {
            None => {
                // A signal handler on this thread counts its sections up and down again before we go on.
                let [this, other] = [set, 1 - set].map(|set| counts[set].load(Ordering::Relaxed));
                counts[set].store(this + 1, Ordering::Relaxed);
                this + other + 1
            }
            Some(thread) => {
                let depth = &thread.state().depth;
                depth.set(depth.get() + 1);
                counts[set].fetch_add(1, Ordering::SeqCst);
                depth.get()
            }
        };
        light_barrier();
        depth
    }

    /// Counts one section less.
    #[inline(always)]
    fn subtract(&self, set: usize) {
        let count = &self.shard.0[set];
        match self.sharing {
            None => count.store(count.load(Ordering::Relaxed) - 1, Ordering::Release),
            Some(thread) => {
                let depth = &thread.state().depth;
                depth.set(depth.get() - 1);
                count.fetch_sub(1, Ordering::SeqCst);
            }
        }
        light_barrier();
    }
}

/// Something that is released at the end of its grace period.
pub(crate) trait Retired: Send {
    /// Runs outside every lock and section; may call into the core, and enter a section of its own.
    fn release(self: Box<Self>, grace: &Grace);
}

pub(crate) struct Grace {
    /// Whether retiring makes all threads pass a barrier, so that sections use plain stores.
    asymmetric: bool,
    epoch: AtomicUsize,
    shards: [Shard; SHARDS],
    /// How many things wait: the only word that the end of a section reads.
    waiting: AtomicUsize,
    retired: Mutex<Vec<(usize, Box<dyn Retired>)>>,
}

/// The state of a thread: its shard, and, where it shares that, how deep in raise sections it is.
struct Thread {
    shard: Cell<usize>,
    depth: Cell<usize>,
}

const NO_SHARD: usize = usize::MAX;

#[cfg(not(loom))]
thread_local! {
    static THREAD: Thread = const { Thread { shard: Cell::new(NO_SHARD), depth: Cell::new(0) } };
}
#[cfg(loom)]
loom::thread_local! {
    static THREAD: Thread = Thread { shard: Cell::new(NO_SHARD), depth: Cell::new(0) };
}

/// The calling thread's [`Thread`], found once: finding it in a library takes a function call of some nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThisThread(NonNull<Thread>);

impl ThisThread {
    #[inline]
    pub(crate) fn get() -> Self {
        THREAD.with(|thread| {
            if thread.shard.get() == NO_SHARD {
                thread.shard.set(next_shard());
            }
            ThisThread(NonNull::from(thread))
        })
    }

    #[inline(always)]
    fn state(&self) -> &Thread {
        // SAFETY: the thread's own variable, which has no destructor and lives as long as the thread; the pointer in
        // here keeps this value on that thread.
        unsafe { self.0.as_ref() }
    }
}

/// An open raise section of a thread, counted in a set. Without padding, as [`Seat`].
pub(crate) struct Section<'a> {
    /// Where releasing (which may allocate and lock) is allowed at the end.
    releases: Option<&'a Grace>,
    seat: Seat<'a>,
    set: usize,
    depth: usize,
}

impl Grace {
    pub(crate) fn new() -> Self {
        Grace {
            asymmetric: heavy_barrier_is_available(),
            epoch: AtomicUsize::new(0),
            shards: shared_array![Shard([AtomicUsize::new(0), AtomicUsize::new(0)]); SHARDS],
            waiting: AtomicUsize::new(0),
            retired: Mutex::new(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn enter(&self, may_release: bool) -> Section<'_> {
        self.enter_at(self.seat(), may_release)
    }

    /// The calling thread's seat.
    #[inline]
    pub(crate) fn seat(&self) -> Seat<'_> {
        let thread = ThisThread::get();
        let shard = thread.state().shard.get();
        let own = self.asymmetric && shard < SHARDS - 1;
        Seat { shard: &self.shards[shard], sharing: (!own).then_some(thread), thread: PhantomData }
    }

    /// [`enter`](Grace::enter) for a thread that has its seat at hand.
    #[inline(always)]
    pub(crate) fn enter_at<'a>(&'a self, seat: Seat<'a>, may_release: bool) -> Section<'a> {
        let set = self.epoch.load(Ordering::Relaxed) & 1;
        let depth = seat.add(set);
        Section { releases: may_release.then_some(self), seat, set, depth }
    }

    /// Hands over what was replaced *before* this call.
    pub(crate) fn retire(&self, what: Box<dyn Retired>) {
        let mut retired = self.lock();
        retired.push((self.epoch.load(Ordering::SeqCst), what));
        self.waiting.store(retired.len(), Ordering::SeqCst);
    }

    /// Releases everything whose grace period is over.
    #[cold]
    #[inline(never)]
    pub(crate) fn release(&self) {
        loop {
            let mut retired = self.lock();
            if retired.is_empty() {
                return;
            }
            fence(Ordering::SeqCst);
            if self.asymmetric && !heavy_barrier() {
                // Without the barrier nothing can be known; a later call tries again.
                return;
            }
            // Two ends of an epoch at the most are needed, and possible, at one time.
            for _ in 0..2 {
                let epoch = self.epoch.load(Ordering::SeqCst);
                let other = (epoch + 1) & 1;
                if self.shards.iter().all(|shard| shard.0[other].load(Ordering::SeqCst) == 0) {
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
                what.release(self);
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<(usize, Box<dyn Retired>)>> {
        self.retired.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cold]
fn next_shard() -> usize {
    #[cfg(not(loom))]
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    #[cfg(loom)]
    loom::lazy_static! { static ref NEXT: AtomicUsize = AtomicUsize::new(0); }
    NEXT.fetch_add(1, Ordering::Relaxed).min(SHARDS - 1)
}

impl Section<'_> {
    /// How many sections of this thread are open, this one included.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }
}

impl Drop for Section<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.seat.subtract(self.set);
        if let Some(grace) = self.releases
            && grace.waiting.load(Ordering::SeqCst) != 0
        {
            grace.release();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Bell(Arc<AtomicUsize>);
    impl Retired for Bell {
        fn release(self: Box<Self>, _: &Grace) {
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
