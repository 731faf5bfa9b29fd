//! Calls that pass by: a library that is there for tools lets MPI calls jump to MPI as long as there is no tool. A byte says when there is
//! one, which other processes may write: each call looks at it.
//!
//! Only functions that no hook wants pass by; others are seen all the while.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use crate::depth::Depth;
use crate::dispatch::{self, ACTIVE, PASSING, Running, SHARED};
use crate::{attending, hook};

static NOBODY: AtomicU8 = AtomicU8::new(0);

/// The byte that each call looks at: calls pass by while it is zero.
pub(crate) static WATCHED: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const NOBODY).cast_mut());

/// Whether a tool in this process has asked.
static ASKED: AtomicBool = AtomicBool::new(false);

/// What runs when that is over.
static OVER: Mutex<Option<fn()>> = Mutex::new(None);

/// A tool in this process listens: no call passes by any more, here and wherever the same byte is watched. For any thread.
pub fn listen() {
    ASKED.store(true, Ordering::SeqCst);
    watched().store(1, Ordering::SeqCst);
}

/// Whether a tool in this process has ever listened.
pub fn has_listened() -> bool {
    ASKED.load(Ordering::SeqCst)
}

fn watched() -> &'static AtomicU8 {
    // SAFETY: only addresses of bytes that live as long as the process are stored.
    unsafe { &*WATCHED.load(Ordering::SeqCst) }
}

/// From now on calls pass by that no hook wants, until somebody writes into this byte. The next call after that runs `over`, before the
/// hooks see it, and all hooks are asked again. In a hook, or where one could run; once in a process.
pub fn pass_until(byte: &'static AtomicU8, over: fn()) {
    *OVER.lock().unwrap_or_else(PoisonError::into_inner) = Some(over);
    WATCHED.store(std::ptr::from_ref(byte).cast_mut(), Ordering::SeqCst);
    if has_listened() {
        listen();
    }
    let _ = SHARED.state.compare_exchange(ACTIVE, PASSING, Ordering::SeqCst, Ordering::SeqCst);
    hook::ask_again();
}

/// Whether hooks run, where some calls pass by, in a call that has something `here` on the stack: that ends here, where somebody has written
/// into the byte.
#[cold]
#[inline(never)]
pub(crate) fn look(here: usize) -> bool {
    if watched().load(Ordering::Acquire) != 0
        && Depth::begins_at_top(here)
        && SHARED.state.compare_exchange(PASSING, ACTIVE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    {
        let over = OVER.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(over) = over {
            dispatch::guarded(&Depth::enter(), Running::Startup, over);
        }
        hook::ask_again();
        attending::take_up();
    }
    matches!(SHARED.state.load(Ordering::Relaxed), ACTIVE | PASSING)
}
