//! A list that one thread adds to without a lock, and that any thread takes from.
//!
//! The owner writes a slot behind the end and then moves the end (release). A taker holds a lock, reads the end
//! (acquire), owns all slots before it, and moves the beginning (release) when it is done with them. The owner reads the
//! beginning (acquire) before it uses a slot again. Only the owner makes the list longer, under the lock.
//!
//! Cost: adding is the copy and a store. Taking all is a copy; taking some reads all and moves those that stay.

use std::sync::PoisonError;

use self::shared::Shared;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

/// Slots of a list from the first value on.
const FIRST_CAPACITY: usize = if cfg!(loom) { 1 } else { 64 };

/// A list of one producing thread, from which any thread takes.
///
/// Shares no cache line with another thread's data, nor with the line that is fetched with it.
#[derive(Debug)]
#[repr(align(128))]
pub struct Ring<T> {
    /// The owner's: values added so far.
    end: AtomicUsize,
    /// What the owner has last seen of `begin`: there may be fewer values by now, never more.
    seen: Shared<usize>,
    /// A power of two of slots, or none: value number `n` is in slot `n` modulo that. Changed by the owner under the
    /// lock; read by the owner, or under the lock.
    slots: Shared<Box<[Shared<T>]>>,
    takers: Takers,
}

/// The takers' part, in other cache lines than the owner's.
#[derive(Debug)]
#[repr(align(128))]
struct Takers {
    /// Values taken so far.
    begin: AtomicUsize,
    lock: Mutex<()>,
}

// SAFETY: the owner writes slots that hold no value; the holder of the lock uses slots that hold one. The head of this
// file says how each sees what the other did.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// An empty list, which allocates nothing.
    pub fn new() -> Self {
        Ring {
            end: AtomicUsize::new(0),
            seen: Shared::new(0),
            slots: Shared::new(Box::default()),
            takers: Takers { begin: AtomicUsize::new(0), lock: Mutex::new(()) },
        }
    }

    /// Whether the list is empty. An addition of another thread is seen if the application has ordered it before this
    /// call.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of values, as seen by [`is_empty`](Ring::is_empty).
    #[inline]
    pub fn len(&self) -> usize {
        let begin = self.takers.begin.load(Ordering::Relaxed);
        // An old end with a new beginning means that all values before it were taken: the difference saturates at zero.
        self.end.load(Ordering::Relaxed).saturating_sub(begin)
    }

    /// Adds a value; false where there are `most` (a power of two) already. Allocates when the list becomes longer than
    /// ever before.
    ///
    /// # Safety
    /// One thread at a time adds.
    ///
    /// The value comes in registers. From memory it would be loaded in other pieces than those in which it was just stored,
    /// and would wait for all earlier stores.
    #[inline(always)]
    pub unsafe fn add(&self, value: T, most: usize) -> bool {
        // SAFETY: the caller promises that one thread at a time adds.
        unsafe { self.put(value, most).map(|_| self.publish()).is_some() }
    }

    /// Writes a value into the next slot, as [`add`](Ring::add) does, and returns a reference to it; `None` where there are
    /// `most` already. Takers do not see the value before [`publish`](Ring::publish).
    ///
    /// # Safety
    /// One thread at a time adds, and nothing is put or added while the returned reference is used.
    #[inline(always)]
    pub unsafe fn put(&self, value: T, most: usize) -> Option<&T> {
        let end = self.end.load(Ordering::Relaxed);
        // SAFETY: the caller is the owner, who alone uses `seen` and changes `slots`.
        let (seen, capacity) = unsafe { (self.seen.get(), self.slots.with(|slots| slots.len())) };
        if end - seen >= capacity {
            // SAFETY: the caller promises that one thread at a time adds.
            if !unsafe { self.reserve(end, most) } {
                return None;
            }
        }
        // SAFETY: the owner reads `slots`. The slot holds no value: `begin` has passed the one that was there, and takers
        // are done with it. Takers read slots before the end only, so that this one stays unchanged until it is published.
        unsafe {
            self.slots.with(|slots| {
                let slot = slots.get_unchecked(end & (slots.len() - 1));
                slot.set(value);
                Some(&*slot.with(std::ptr::from_ref))
            })
        }
    }

    /// Shows the value that was [put](Ring::put) last to takers.
    ///
    /// # Safety
    /// One thread at a time adds, and has just [put](Ring::put) a value.
    #[inline(always)]
    pub unsafe fn publish(&self) {
        self.end.store(self.end.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Provides a slot for one more value; false where there are `most` already.
    ///
    /// # Safety
    /// One thread at a time adds.
    #[cold]
    #[inline(never)]
    unsafe fn reserve(&self, end: usize, most: usize) -> bool {
        let begin = self.takers.begin.load(Ordering::Acquire);
        // SAFETY: the caller is the owner, who alone uses `seen` and changes `slots`.
        let capacity = unsafe {
            self.seen.set(begin);
            self.slots.with(|slots| slots.len())
        };
        if end - begin < capacity {
            return true;
        }
        if capacity >= most {
            return false;
        }
        let longer: Box<[Shared<T>]> =
            (0..(2 * capacity).max(FIRST_CAPACITY)).map(|_| Shared::new(T::default())).collect();
        let _lock = self.lock();
        for value in self.takers.begin.load(Ordering::Relaxed)..end {
            // SAFETY: under the lock the values are ours.
            unsafe {
                let value_there = self.slots.with(|slots| slots[value & (slots.len() - 1)].get());
                longer[value & (longer.len() - 1)].set(value_there);
            }
        }
        // SAFETY: the owner, under the lock: nobody reads `slots` now.
        unsafe { self.slots.set(longer) };
        true
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.takers.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the values that are `wanted` to the end of `taken`, in order. `all`: every value is wanted.
    pub fn take(&self, all: bool, wanted: impl Fn(&T) -> bool, taken: &mut Vec<T>) {
        let _lock = self.lock();
        let (begin, end) = (self.takers.begin.load(Ordering::Relaxed), self.end.load(Ordering::Acquire));
        if begin == end {
            return;
        }
        // SAFETY: under the lock `slots` does not change, and the values from `begin` to `end` are ours.
        let new_begin = unsafe {
            self.slots.with(|slots| {
                let slot = |value: usize| slots.get_unchecked(value & (slots.len() - 1));
                // Most often all are wanted, or none: counting them costs less than a copy.
                let some = if all {
                    end - begin
                } else {
                    (begin..end).filter(|value| slot(*value).with(&wanted)).count()
                };
                let mut new_begin = end;
                if some == end - begin {
                    let first = begin & (slots.len() - 1);
                    let (later, sooner) = (&slots[..first], &slots[first..]);
                    let at_once = sooner.len().min(some);
                    shared::copy(&sooner[..at_once], taken);
                    shared::copy(&later[..some - at_once], taken);
                } else if some == 0 {
                    new_begin = begin;
                } else {
                    taken.extend((begin..end).map(|value| slot(value).get()).filter(&wanted));
                    // The values that stay move towards the end.
                    for value in
                        (begin..end).rev().map(|value| slot(value).get()).filter(|value| !wanted(value))
                    {
                        new_begin -= 1;
                        slot(new_begin).set(value);
                    }
                }
                new_begin
            })
        };
        self.takers.begin.store(new_begin, Ordering::Release);
    }
}

/// A cell that threads share: of the standard library, or of the model checker.
#[cfg(not(loom))]
mod shared {
    use std::cell::UnsafeCell;

    /// Copies these values to the end of `to`.
    ///
    /// # Safety
    /// Nobody changes them meanwhile.
    pub(super) unsafe fn copy<T: Copy>(from: &[Shared<T>], to: &mut Vec<T>) {
        // SAFETY: a `Shared<T>` is laid out as a `T`, and the caller promises that nobody changes these.
        to.extend_from_slice(unsafe { std::slice::from_raw_parts(from.as_ptr().cast::<T>(), from.len()) });
    }

    /// A value that its user must know to have alone, or to be only read.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(super) struct Shared<T>(UnsafeCell<T>);

    impl<T> Shared<T> {
        pub(super) fn new(value: T) -> Self {
            Shared(UnsafeCell::new(value))
        }

        /// # Safety
        /// Nobody changes it meanwhile.
        #[inline(always)]
        pub(super) unsafe fn with<R>(&self, user: impl FnOnce(&T) -> R) -> R {
            // SAFETY: the caller promises that nobody changes the value meanwhile.
            user(unsafe { &*self.0.get() })
        }

        /// # Safety
        /// Nobody changes it meanwhile.
        #[inline(always)]
        pub(super) unsafe fn get(&self) -> T
        where
            T: Copy,
        {
            // SAFETY: the caller promises that nobody changes the value meanwhile.
            unsafe { self.0.get().read() }
        }

        /// # Safety
        /// Nobody else uses it meanwhile.
        #[inline(always)]
        pub(super) unsafe fn set(&self, value: T) {
            // SAFETY: the caller promises that nobody else uses the value meanwhile.
            unsafe { *self.0.get() = value };
        }
    }
}

#[cfg(loom)]
mod shared {
    use loom::cell::UnsafeCell;

    pub(super) unsafe fn copy<T: Copy>(from: &[Shared<T>], to: &mut Vec<T>) {
        // SAFETY: the caller promises that nobody changes these meanwhile, which loom checks.
        to.extend(from.iter().map(|value| unsafe { value.get() }));
    }

    #[derive(Debug)]
    pub(super) struct Shared<T>(UnsafeCell<T>);

    impl<T> Shared<T> {
        pub(super) fn new(value: T) -> Self {
            Shared(UnsafeCell::new(value))
        }

        pub(super) unsafe fn with<R>(&self, user: impl FnOnce(&T) -> R) -> R {
            // SAFETY: the caller promises that nobody changes the value meanwhile, which loom checks.
            self.0.with(|value| user(unsafe { &*value }))
        }

        pub(super) unsafe fn get(&self) -> T
        where
            T: Copy,
        {
            // SAFETY: the caller promises that nobody changes the value meanwhile, which loom checks.
            self.0.with(|value| unsafe { value.read() })
        }

        pub(super) unsafe fn set(&self, value: T) {
            // SAFETY: the caller promises that nobody else uses the value meanwhile, which loom checks.
            self.0.with_mut(|there| unsafe { *there = value });
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    fn check(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn what_is_added_is_taken_once_while_the_list_grows() {
        check(|| {
            let ring = Arc::new(Ring::new());
            let owner = {
                let ring = ring.clone();
                // SAFETY: this thread alone adds.
                thread::spawn(move || (1..=3_u32).for_each(|value| assert!(unsafe { ring.add(value, 4) })))
            };
            let taker = {
                let ring = ring.clone();
                thread::spawn(move || {
                    let mut taken = Vec::new();
                    ring.take(false, |value| value % 2 == 1, &mut taken);
                    taken
                })
            };
            let mut taken = Vec::new();
            ring.take(true, |_| true, &mut taken);
            owner.join().unwrap();
            let odd = taker.join().unwrap();
            assert!(odd.iter().all(|value| value % 2 == 1) && odd.is_sorted() && taken.is_sorted());
            taken.extend(odd);
            ring.take(true, |_| true, &mut taken);
            taken.sort_unstable();
            assert_eq!(taken, [1, 2, 3]);
        });
    }

    #[test]
    fn a_slot_is_used_again_when_takers_are_done_with_it() {
        check(|| {
            let ring = Arc::new(Ring::new());
            let owner = {
                let ring = ring.clone();
                // SAFETY: this thread alone adds.
                thread::spawn(move || (1..=2_u32).filter(|value| unsafe { ring.add(*value, 1) }).count())
            };
            let mut taken = Vec::new();
            ring.take(true, |_| true, &mut taken);
            let added = owner.join().unwrap();
            ring.take(true, |_| true, &mut taken);
            assert_eq!(taken, (1..=2).take(added).collect::<Vec<_>>());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn add(ring: &Ring<u32>, value: u32) -> bool {
        // SAFETY: tests here have one thread.
        unsafe { ring.add(value, 128) }
    }

    fn take(ring: &Ring<u32>, wanted: impl Fn(&u32) -> bool) -> Vec<u32> {
        let mut taken = Vec::new();
        ring.take(false, wanted, &mut taken);
        taken
    }

    #[test]
    fn what_stays_stays_in_order() {
        let ring = Ring::new();
        for round in 0..40 {
            (0..10).for_each(|value| assert!(add(&ring, round * 10 + value)));
            let odd: Vec<u32> =
                (0..10).map(|value| round * 10 + value).filter(|value| value % 2 == 1).collect();
            assert_eq!(take(&ring, |value| value % 2 == 1), odd);
            if round % 4 == 3 {
                let even: Vec<u32> =
                    ((round - 3) * 10..round * 10 + 10).filter(|value| value % 2 == 0).collect();
                assert_eq!(take(&ring, |_| true), even);
                assert!(ring.is_empty());
            }
        }
    }

    #[test]
    fn what_is_put_is_there_when_it_is_published() {
        let ring = Ring::new();
        add(&ring, 1);
        // SAFETY: tests here have one thread.
        assert_eq!(unsafe { ring.put(2, 128) }, Some(&2));
        assert_eq!(take(&ring, |_| true), [1]);
        // SAFETY: tests here have one thread, which has just put a value.
        unsafe { ring.publish() };
        assert_eq!(take(&ring, |_| true), [2]);
    }

    #[test]
    fn it_grows_to_its_end_and_no_further() {
        let ring = Ring::new();
        assert_eq!((0..200).filter(|value| add(&ring, *value)).count(), 128);
        assert_eq!(take(&ring, |value| *value < 5), [0, 1, 2, 3, 4]);
        assert_eq!((200..300).filter(|value| add(&ring, *value)).count(), 5);
        assert_eq!(take(&ring, |_| true).len(), 128);
    }
}
