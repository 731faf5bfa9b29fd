//! State that one MPI call at a time works on.
//!
//! A mutex protects it. Below `MPI_THREAD_MULTIPLE` MPI itself forbids calls at the same time (MPI-5.0, section 11.6): whoever knows
//! that may take the mutex away ([`Serial::leave_to_one_thread`]). Either way a second use inside the first (a callback that comes
//! back, a signal) is noticed and refused, never undefined.

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value for one MPI call at a time.
#[derive(Debug)]
pub struct Serial<T> {
    value: UnsafeCell<T>,
    busy: AtomicBool,
    /// Whether the lock is taken.
    shared: AtomicBool,
    lock: Mutex<()>,
    /// Who has the lock keeps it here.
    held: UnsafeCell<Option<Held>>,
}

// SAFETY: `with` gives access to one user at a time: by the mutex, or because the caller of `leave_to_one_thread` has promised it.
// `busy` and `held` are only touched under the same protection, and `busy` in signal handlers of the thread that has it.
unsafe impl<T: Send> Sync for Serial<T> {}
// SAFETY: a lock is held while `with` runs only, which borrows the value: it does not move then.
unsafe impl<T: Send> Send for Serial<T> {}

impl<T: Default> Default for Serial<T> {
    fn default() -> Self {
        Serial::new(T::default())
    }
}

thread_local!(static HELD: Cell<*const ()> = const { Cell::new(std::ptr::null()) });

/// A lock that this thread has, and the one that it had taken before.
#[derive(Debug)]
struct Held {
    outer: *const (),
    _lock: MutexGuard<'static, ()>,
}

/// The value whose lock is taken, if it is. Where it is not, dropping it costs one comparison.
struct MaybeHeld<'a, T>(Option<&'a Serial<T>>);

impl<T> Drop for MaybeHeld<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(serial) = self.0 {
            serial.release();
        }
    }
}

impl<T> Serial<T> {
    /// A value that any thread may use.
    pub const fn new(value: T) -> Self {
        Serial {
            value: UnsafeCell::new(value),
            busy: AtomicBool::new(false),
            shared: AtomicBool::new(true),
            lock: Mutex::new(()),
            held: UnsafeCell::new(None),
        }
    }

    /// From now on uses take no lock.
    ///
    /// # Safety
    /// Until [`share`](Serial::share) no two threads use the value at the same time, nor one after the other without what orders
    /// them: so it is where only MPI calls use it, and the program's threads may not call MPI at the same time.
    pub unsafe fn leave_to_one_thread(&self) {
        self.shared.store(false, Ordering::Release);
    }

    /// Whether uses take the lock.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }

    /// Where the value is: for who looks at a copy of the memory, and not at the value.
    pub(crate) fn place(&self) -> *const T {
        self.value.get()
    }

    /// From now on uses take the lock again. No other thread uses the value meanwhile.
    pub fn share(&self) {
        self.shared.store(true, Ordering::Release);
    }

    /// Uses the value; `None` if this thread is using it already.
    ///
    /// The user stands here once, so that it is inlined and what it is given stays in registers: from memory it
    /// would be loaded in other pieces than it was stored in, and so wait for all stores before it.
    #[inline(always)]
    pub fn with<R>(&self, user: impl FnOnce(&mut T) -> R) -> Option<R> {
        let is_shared = self.is_shared();
        if is_shared && !self.hold() {
            return None;
        }
        let _held = MaybeHeld(is_shared.then_some(self));
        self.enter(user)
    }

    /// Takes the lock; false if this thread has it already.
    #[inline(never)]
    fn hold(&self) -> bool {
        // The lock of one value may be held while another's is taken, but never its own.
        let me = std::ptr::from_ref(self).cast::<()>();
        let outer = HELD.get();
        if outer == me {
            return false;
        }
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        HELD.set(me);
        // SAFETY: only its lifetime changes: it is dropped by `release`, before `with` ends, which borrows `self`.
        let lock = unsafe { std::mem::transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(lock) };
        // SAFETY: who has the lock is alone here.
        unsafe { *self.held.get() = Some(Held { outer, _lock: lock }) };
        true
    }

    /// Gives back the lock.
    #[cold]
    #[inline(never)]
    fn release(&self) {
        // SAFETY: this thread has the lock, and so is alone here.
        let held = unsafe { (*self.held.get()).take() };
        if let Some(held) = held {
            HELD.set(held.outer);
        }
    }

    #[inline(always)]
    fn enter<R>(&self, user: impl FnOnce(&mut T) -> R) -> Option<R> {
        struct Busy<'a>(&'a AtomicBool);
        impl Drop for Busy<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                compiler_fence(Ordering::SeqCst);
                self.0.store(false, Ordering::Relaxed);
            }
        }
        // A signal handler of this thread comes before, between or after these two, and is over then.
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.busy.store(true, Ordering::Relaxed);
        // What is done with the value stays between the two stores, for a signal handler, too.
        compiler_fence(Ordering::SeqCst);
        let _busy = Busy(&self.busy);
        // SAFETY: `busy` was false, so nobody uses the value on this thread, and a signal handler that
        // interrupts this use finds it true; the type's Sync argument excludes other threads.
        Some(user(unsafe { &mut *self.value.get() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_inside_a_use_is_refused() {
        let serial = Serial::new(1);
        assert_eq!(serial.with(|_| serial.with(|_| ())), Some(None));
        // SAFETY: there is one thread.
        unsafe { serial.leave_to_one_thread() };
        assert_eq!(serial.with(|_| serial.with(|_| ())), Some(None));
        assert_eq!(serial.with(|value| *value), Some(1));
    }

    #[test]
    fn every_use_of_every_thread_counts() {
        let serial = Serial::new(0);
        // SAFETY: there is one thread until it is shared.
        unsafe { serial.leave_to_one_thread() };
        assert_eq!(serial.with(|count| *count += 1), Some(()));
        serial.share();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| assert!(serial.with(|count| *count += 1).is_some())));
            }
        });
        assert_eq!(serial.with(|count| *count), Some(40_001));
    }
}
