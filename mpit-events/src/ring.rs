//! A list that one thread adds to without a lock, and that any thread takes from.
//!
//! The owner writes a place behind the end and then moves the end (release); who takes holds a lock, reads the end
//! (acquire), owns all places before it, and moves the beginning (release) when it is done with them; the owner reads
//! the beginning (acquire) before it uses a place again. Only the owner makes the list longer, under the lock.
//!
//! Cost: adding is the copy and a store. Taking all is a copy; taking some looks at all and moves those that stay.

use std::sync::PoisonError;

use self::shared::Shared;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

/// Places that a list has from the first value on.
const ROOM: usize = if cfg!(loom) { 1 } else { 64 };

/// A list of one producing thread, from which any thread takes.
///
/// Not in the same cache line as another thread's, nor in the one that is fetched with it.
#[derive(Debug)]
#[repr(align(128))]
pub struct Ring<T> {
    /// The owner's: values added so far.
    end: AtomicUsize,
    /// What the owner has last seen of `begin`: there may be fewer values by now, never more.
    seen: Shared<usize>,
    /// A power of two of places, or none: the value number `n` is at `n` modulo that. Changed by the owner under the
    /// lock; read by the owner, or under the lock.
    places: Shared<Box<[Shared<T>]>>,
    takers: Takers,
}

/// Away from the owner's.
#[derive(Debug)]
#[repr(align(128))]
struct Takers {
    /// Values taken so far.
    begin: AtomicUsize,
    lock: Mutex<()>,
}

// SAFETY: places are written by the owner while they are not among the values, and used by the one who has the lock
// while they are; see the head of this file for the order in which each sees what the other did.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// An empty list, which takes no room.
    pub fn new() -> Self {
        Ring {
            end: AtomicUsize::new(0),
            seen: Shared::new(0),
            places: Shared::new(Box::default()),
            takers: Takers { begin: AtomicUsize::new(0), lock: Mutex::new(()) },
        }
    }

    /// Whether there is nothing. Of other threads' additions, those are seen that come before in the application's order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are, as seen by [`is_empty`](Ring::is_empty).
    #[inline]
    pub fn len(&self) -> usize {
        let begin = self.takers.begin.load(Ordering::Relaxed);
        // Who reads an old end and a new beginning has seen that what came before was taken.
        self.end.load(Ordering::Relaxed).saturating_sub(begin)
    }

    /// Adds a value; false where there are `most` (a power of two) already. Allocates when the list becomes longer than
    /// it ever was.
    ///
    /// # Safety
    /// One thread at a time adds.
    ///
    /// The value comes in registers: from memory it would be loaded in other pieces than it was just stored in, and so wait
    /// for all stores before it.
    #[inline(always)]
    pub unsafe fn add(&self, value: T, most: usize) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.put(value, most).map(|_| self.publish()).is_some() }
    }

    /// Puts a value where the next one comes, as [`add`](Ring::add) does, and gives it there; it is not among the values
    /// before [`publish`](Ring::publish).
    ///
    /// # Safety
    /// One thread at a time adds, and nothing is put or added while what this gives is used.
    #[inline(always)]
    pub unsafe fn put(&self, value: T, most: usize) -> Option<&T> {
        let end = self.end.load(Ordering::Relaxed);
        // SAFETY: the caller is the owner, who alone uses `seen` and changes `places`.
        let (seen, capacity) = unsafe { (self.seen.get(), self.places.with(|places| places.len())) };
        if end - seen >= capacity {
            // SAFETY: as the caller promises.
            if !unsafe { self.make_room(end, most) } {
                return None;
            }
        }
        // SAFETY: the owner reads `places`; the place is not among the values: `begin` has passed the value that was
        // there, and takers are done with it. They look at what comes before the end, so that it stays as it is until then.
        unsafe {
            self.places.with(|places| {
                let place = places.get_unchecked(end & (places.len() - 1));
                place.set(value);
                Some(&*place.with(std::ptr::from_ref))
            })
        }
    }

    /// Makes the value that was put last one of the values.
    ///
    /// # Safety
    /// One thread at a time adds, and has just [put](Ring::put) a value.
    #[inline(always)]
    pub unsafe fn publish(&self) {
        self.end.store(self.end.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Makes room for one more; false where there are `most` already.
    ///
    /// # Safety
    /// As [`add`](Ring::add).
    #[cold]
    #[inline(never)]
    unsafe fn make_room(&self, end: usize, most: usize) -> bool {
        let begin = self.takers.begin.load(Ordering::Acquire);
        // SAFETY: the caller is the owner.
        let capacity = unsafe {
            self.seen.set(begin);
            self.places.with(|places| places.len())
        };
        if end - begin < capacity {
            return true;
        }
        if capacity >= most {
            return false;
        }
        let longer: Box<[Shared<T>]> =
            (0..(2 * capacity).max(ROOM)).map(|_| Shared::new(T::default())).collect();
        let _lock = self.lock();
        for value in self.takers.begin.load(Ordering::Relaxed)..end {
            // SAFETY: under the lock the values are ours.
            unsafe {
                let value_there = self.places.with(|places| places[value & (places.len() - 1)].get());
                longer[value & (longer.len() - 1)].set(value_there);
            }
        }
        // SAFETY: the owner, under the lock: nobody reads `places` now.
        unsafe { self.places.set(longer) };
        true
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.takers.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the values that are `wanted` to the end of `taken`, in order. `all`: every one is.
    pub fn take(&self, all: bool, wanted: impl Fn(&T) -> bool, taken: &mut Vec<T>) {
        let _lock = self.lock();
        let (begin, end) = (self.takers.begin.load(Ordering::Relaxed), self.end.load(Ordering::Acquire));
        if begin == end {
            return;
        }
        // SAFETY: under the lock `places` stays as it is, and the values from `begin` to `end` are ours.
        let kept = unsafe {
            self.places.with(|places| {
                let place = |value: usize| places.get_unchecked(value & (places.len() - 1));
                // Most often all are wanted, or none: a look at them is less than a copy.
                let some = if all {
                    end - begin
                } else {
                    (begin..end).filter(|value| place(*value).with(&wanted)).count()
                };
                let mut kept = end;
                if some == end - begin {
                    let first = begin & (places.len() - 1);
                    let (later, sooner) = (&places[..first], &places[first..]);
                    let at_once = sooner.len().min(some);
                    shared::copy(&sooner[..at_once], taken);
                    shared::copy(&later[..some - at_once], taken);
                } else if some == 0 {
                    kept = begin;
                } else {
                    taken.extend((begin..end).map(|value| place(value).get()).filter(&wanted));
                    // What stays moves towards the end.
                    for value in
                        (begin..end).rev().map(|value| place(value).get()).filter(|value| !wanted(value))
                    {
                        kept -= 1;
                        place(kept).set(value);
                    }
                }
                kept
            })
        };
        self.takers.begin.store(kept, Ordering::Release);
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
            // SAFETY: as the caller promises.
            user(unsafe { &*self.0.get() })
        }

        /// # Safety
        /// As [`with`](Shared::with).
        #[inline(always)]
        pub(super) unsafe fn get(&self) -> T
        where
            T: Copy,
        {
            // SAFETY: as the caller promises.
            unsafe { self.0.get().read() }
        }

        /// # Safety
        /// Nobody else uses it meanwhile.
        #[inline(always)]
        pub(super) unsafe fn set(&self, value: T) {
            // SAFETY: as the caller promises.
            unsafe { *self.0.get() = value };
        }
    }
}

#[cfg(loom)]
mod shared {
    use loom::cell::UnsafeCell;

    pub(super) unsafe fn copy<T: Copy>(from: &[Shared<T>], to: &mut Vec<T>) {
        // SAFETY: as the caller promises, which loom checks.
        to.extend(from.iter().map(|value| unsafe { value.get() }));
    }

    #[derive(Debug)]
    pub(super) struct Shared<T>(UnsafeCell<T>);

    impl<T> Shared<T> {
        pub(super) fn new(value: T) -> Self {
            Shared(UnsafeCell::new(value))
        }

        pub(super) unsafe fn with<R>(&self, user: impl FnOnce(&T) -> R) -> R {
            // SAFETY: as the caller promises, which loom checks.
            self.0.with(|value| user(unsafe { &*value }))
        }

        pub(super) unsafe fn get(&self) -> T
        where
            T: Copy,
        {
            // SAFETY: as the caller promises, which loom checks.
            self.0.with(|value| unsafe { value.read() })
        }

        pub(super) unsafe fn set(&self, value: T) {
            // SAFETY: as the caller promises, which loom checks.
            self.0.with_mut(|place| unsafe { *place = value });
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
    fn a_place_is_used_again_when_takers_are_done_with_it() {
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
        // SAFETY: as above.
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
