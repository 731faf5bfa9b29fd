//! What threads share: atomics, fences and locks of the standard library, or, under `--cfg loom`, of
//! the model checker that tries every order in which threads can run (`src/models.rs`).
//!
//! Loom takes a sequentially consistent access for an acquiring and releasing one, and knows fences.
//! It knows no `membarrier`, which makes a barrier of the *compiler* in one thread as good as one of
//! the *processor*: so under loom [`light_barrier`] is a processor's.

#[cfg(loom)]
pub(crate) use self::modelled::*;
#[cfg(not(loom))]
pub(crate) use self::real::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock};

    /// The barrier between a store and a load where the other side calls [`heavy_barrier`](super::heavy_barrier).
    #[inline(always)]
    pub(crate) fn light_barrier() {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// The pointer of an atomic that the caller owns alone.
    pub(crate) fn exclusive<T>(pointer: &mut AtomicPtr<T>) -> *mut T {
        *pointer.get_mut()
    }

    /// Marks a value that is retired before it is dropped. Under loom, a use that overlaps the drop or follows it is an
    /// error; here the mark does nothing.
    #[derive(Debug)]
    pub(crate) struct Alive;

    impl Alive {
        pub(crate) fn new() -> Self {
            Alive
        }

        /// Called wherever the value is used.
        #[inline(always)]
        pub(crate) fn used(&self) {}
    }
}

/// An array of atomics: `shared_array![AtomicUsize::new(0); N]`.
#[cfg(not(loom))]
macro_rules! shared_array {
    ($value:expr; $length:expr) => {
        [const { $value }; $length]
    };
}

/// An array of atomics: loom's cannot be made at compile time.
#[cfg(loom)]
macro_rules! shared_array {
    ($value:expr; $length:expr) => {
        std::array::from_fn::<_, { $length }, _>(|_| $value)
    };
}
pub(crate) use shared_array;

pub(crate) use self::barrier::{heavy_barrier, heavy_barrier_is_available};

#[cfg(not(any(miri, loom)))]
mod barrier {
    const QUERY: i32 = 0;
    const PRIVATE_EXPEDITED: i32 = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

    fn membarrier(command: i32) -> i64 {
        // SAFETY: the call takes numbers only and changes no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }

    /// Whether the kernel can make all threads of this process pass a barrier (Linux 4.14).
    pub(crate) fn heavy_barrier_is_available() -> bool {
        let commands = membarrier(QUERY);
        commands > 0
            && commands & i64::from(PRIVATE_EXPEDITED) != 0
            && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0
    }

    /// Makes all threads of this process pass a barrier; whether it did.
    pub(crate) fn heavy_barrier() -> bool {
        membarrier(PRIVATE_EXPEDITED) == 0
    }
}

#[cfg(miri)]
mod barrier {
    pub(crate) fn heavy_barrier_is_available() -> bool {
        false
    }
    pub(crate) fn heavy_barrier() -> bool {
        true
    }
}

#[cfg(loom)]
mod barrier {
    pub(crate) fn heavy_barrier_is_available() -> bool {
        true
    }
    pub(crate) fn heavy_barrier() -> bool {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
        true
    }
}

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn light_barrier() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn exclusive<T>(pointer: &mut AtomicPtr<T>) -> *mut T {
        pointer.with_mut(|pointer| *pointer)
    }

    #[derive(Debug)]
    pub(crate) struct Alive(loom::cell::UnsafeCell<()>);

    impl Alive {
        pub(crate) fn new() -> Self {
            Alive(loom::cell::UnsafeCell::new(()))
        }

        pub(crate) fn used(&self) {
            self.0.with(|_| ());
        }
    }

    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.with_mut(|_| ());
        }
    }

    /// What `std::sync::OnceLock` promises, for one writer at a time: who sees the value sees all
    /// that was done before it was set.
    #[derive(Debug)]
    pub(crate) struct OnceLock<T> {
        set: loom::sync::atomic::AtomicBool,
        value: std::sync::OnceLock<T>,
        written: loom::cell::UnsafeCell<()>,
    }

    // SAFETY: `std::sync::OnceLock<T>` is `Sync` under these bounds, and loom reports a use of `written` by two threads at
    // a time.
    unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

    impl<T> OnceLock<T> {
        pub(crate) fn new() -> Self {
            OnceLock {
                set: loom::sync::atomic::AtomicBool::new(false),
                value: std::sync::OnceLock::new(),
                written: loom::cell::UnsafeCell::new(()),
            }
        }

        pub(crate) fn set(&self, value: T) -> Result<(), T> {
            self.written.with_mut(|_| ());
            self.value.set(value)?;
            self.set.store(true, Ordering::Release);
            Ok(())
        }

        pub(crate) fn get(&self) -> Option<&T> {
            if !self.set.load(Ordering::Acquire) {
                return None;
            }
            self.written.with(|_| ());
            self.value.get()
        }
    }
}
