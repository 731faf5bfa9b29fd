//! `sched_yield`, by which MPI libraries yield the processor while they wait for messages: interposed, so that a listener
//! can record when the thread was descheduled.
//!
//! Cost without a listener: an atomic load before the system call.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

type Yield = unsafe extern "C" fn() -> c_int;

struct Listener {
    around: fn(&dyn Fn()),
    /// The next function of this name.
    next: Option<Yield>,
}

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Calls `around`, in any thread, instead of each `sched_yield` from now on. `around` must call its argument, the real
/// function, exactly once, and must not panic. Only the first listener counts; later ones are ignored.
pub fn on_yield(around: fn(&dyn Fn())) {
    // SAFETY: a valid C string; what comes after this object, so never the function below.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"sched_yield".as_ptr()) };
    // SAFETY: the C library's function of this name has this type, as has whatever replaces it.
    let next = (!next.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Yield>(next) });
    let _ = LISTENER.set(Listener { around, next });
}

fn call() {
    // SAFETY: a system call without arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

// It never fails on Linux.
#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    match LISTENER.get() {
        None => call(),
        Some(Listener { around, next: None }) => around(&call),
        Some(Listener { around, next: Some(next) }) => around(&|| {
            // SAFETY: takes nothing, and may be called at any time.
            unsafe { next() };
        }),
    }
    0
}
