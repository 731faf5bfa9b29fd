//! The functions that a consumer hands in, in the shape in which the core calls them.

use std::ffi::{c_int, c_void};

use crate::instance::Instance;
use crate::registration::Registration;
use crate::sync::Alive;

/// The consumer's own pointer, handed back to its callbacks.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct UserData(pub *mut c_void);

// SAFETY: the core never dereferences the pointer, it only passes it back; the consumer has promised the thread
// safety of the level it registered for.
unsafe impl Send for UserData {}
// SAFETY: the core never dereferences the pointer; the consumer has promised the thread safety of the level it
// registered for.
unsafe impl Sync for UserData {}

/// The requirement on a callback in the context in which an event is raised.
///
/// The levels are ordered: a callback that is registered for a higher level may run wherever a
/// lower level is required, never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Safety {
    /// No restriction: any MPI function may be called (`MPI_T_CB_REQUIRE_NONE`).
    None = 0,
    /// Inside an MPI call: only functions that MPI allows there (`MPI_T_CB_REQUIRE_MPI_RESTRICTED`).
    MpiRestricted = 1,
    /// Additionally several threads at once (`MPI_T_CB_REQUIRE_THREAD_SAFE`).
    ThreadSafe = 2,
    /// Additionally from a signal handler (`MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE`).
    AsyncSignalSafe = 3,
}

impl Safety {
    /// All levels, from the least to the most demanding.
    pub const ALL: [Safety; 4] =
        [Safety::None, Safety::MpiRestricted, Safety::ThreadSafe, Safety::AsyncSignalSafe];

    /// The level with this number (`MPI_T_cb_safety` as an integer counted from zero).
    pub fn from_index(index: usize) -> Option<Safety> {
        Self::ALL.get(index).copied()
    }
}

/// An event callback. The third argument is the level at which the event was raised
/// ([`Safety`] as an integer). The instance is valid until the function returns.
/// Runs on the raising thread, without a lock; it must not unwind.
pub type EventFn = unsafe extern "C" fn(*const Instance<'_>, Registration, c_int, *mut c_void);

/// Called once, when a freed registration is no longer in use by anybody: in the freeing call or at
/// the end of a raise section, on any thread, without a lock, never in a signal handler. The second
/// argument is always [`Safety::None`].
pub type FreeFn = unsafe extern "C" fn(Registration, c_int, *mut c_void);

/// Called with the number of dropped events (above zero), before the next event is delivered and when
/// the registration ends, at the level of that event. The third argument is the source's index, zero
/// at the end of a registration.
pub type DroppedFn = unsafe extern "C" fn(i64, Registration, c_int, c_int, *mut c_void);

/// An installed event callback.
#[derive(Debug)]
pub(crate) struct Callback {
    pub(crate) function: EventFn,
    pub(crate) user_data: UserData,
    /// Frees the user data, where the core owns it (a Rust closure).
    pub(crate) release: Option<unsafe fn(*mut c_void)>,
    pub(crate) alive: Alive,
}

impl Callback {
    /// A Rust closure as a callback: the core owns it.
    pub(crate) fn of<F: Fn(&Instance<'_>) + Send + Sync + 'static>(closure: F) -> Self {
        unsafe extern "C" fn call<F: Fn(&Instance<'_>)>(
            instance: *const Instance<'_>,
            _: Registration,
            _: c_int,
            closure: *mut c_void,
        ) {
            // SAFETY: the dispatcher passes a live instance, and the user data is the closure that
            // this callback was made of, which lives until no raise section can call it.
            let (closure, instance) = unsafe { (&*closure.cast::<F>(), &*instance) };
            // A panic must not cross into the raising MPI function, nor one of what it carries.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| closure(instance)));
            outcome.unwrap_or_else(std::mem::forget);
        }
        unsafe fn release<F>(closure: *mut c_void) {
            // SAFETY: made by `Box::into_raw` below and released once, by `Drop`.
            drop(unsafe { Box::from_raw(closure.cast::<F>()) });
        }
        Callback {
            function: call::<F>,
            user_data: UserData(Box::into_raw(Box::new(closure)).cast()),
            release: Some(release::<F>),
            alive: Alive::new(),
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `release` belongs to `user_data`, and the callback is dropped once.
            unsafe { release(self.user_data.0) };
        }
    }
}

/// An installed handler of dropped events.
#[derive(Debug)]
pub(crate) struct DroppedHandler {
    pub(crate) function: DroppedFn,
    pub(crate) user_data: UserData,
    pub(crate) alive: Alive,
}
