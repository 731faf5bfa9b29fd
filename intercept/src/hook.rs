//! The hook interface: who listens to MPI calls.

use std::{
    ffi::c_int,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{Call, FunctionId, dispatch};

/// A listener to MPI calls.
///
/// Both functions run in the thread of the application, inside its MPI call. They must not block,
/// should not allocate, and may call MPI, which no hook then sees. A panic does not reach the
/// application: it ends measurement.
///
/// `function` tells `MPI_X` from `MPI_X_c` where both share a variant of [`Call`], and has the name.
pub trait Hook: Sync {
    /// Before the real function. Arguments may be changed: the real function is called with what
    /// the last hook leaves in `call`. What a changed argument points to must stay valid until
    /// [`Hook::leave`] of the same thread, or, where MPI keeps the address, as long as MPI does.
    fn enter(&self, function: FunctionId, call: &mut Call<'_>) {
        let _ = (function, call);
    }

    /// After the real function has returned `code`, with the arguments as it was called.
    ///
    /// Not called for functions that do not return, such as `MPI_Abort`, or that are left by an
    /// exception. A hook registered while a call is under way sees the next one first.
    fn leave(&self, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let _ = (function, call, code);
    }
}

/// How many hooks there may be.
const MAX: usize = 4;

static HOOKS: [OnceLock<&'static dyn Hook>; MAX] = [const { OnceLock::new() }; MAX];
/// How many of [`HOOKS`] are set; only grows.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// There are as many hooks as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{MAX} hooks are registered, and there is room for no more")
    }
}

impl std::error::Error for Full {}

/// Adds a hook, for the life of the process. `enter` runs in the order of registration, `leave` in
/// the reverse order.
///
/// Allowed at any time, from any thread, but not inside a hook and not in a signal handler. Calls
/// are seen from `MPI_Init` on.
///
/// # Errors
/// [`Full`] when there are four already.
pub fn register(hook: &'static dyn Hook) -> Result<(), Full> {
    static REGISTERING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = REGISTERING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let count = COUNT.load(Ordering::Relaxed);
    let slot = HOOKS.get(count).ok_or(Full)?;
    slot.set(hook).map_err(|_| Full)?;
    // Release: who reads this count finds the slot set.
    COUNT.store(count + 1, Ordering::Release);
    dispatch::hook_was_registered();
    Ok(())
}

/// How many hooks there are now.
#[inline]
pub(crate) fn count() -> usize {
    COUNT.load(Ordering::Acquire)
}

/// The first `count` hooks, where `count` is at most what [`count`] has returned.
#[inline]
pub(crate) fn first(count: usize) -> impl DoubleEndedIterator<Item = &'static dyn Hook> {
    HOOKS[..count.min(MAX)].iter().filter_map(|slot| slot.get().copied())
}
