//! The progress thread: polls the ring about every 100 microseconds.
//!
//! It calls no MPI function, takes no signal, and shares the model with the application's calls by the lock
//! of the state. It ends with `MPI_Finalize`, with `exit`, or after a panic; a forked child has none.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mel_settings::PROGRESS;
use mpi_intercept::own_thread::OwnThread;
use mpit_events::Safety;

use super::{Tracker, Watch};

/// Between two polls. The kernel adds some 50 microseconds of its own.
const PAUSE: Duration = Duration::from_micros(100);

/// How long the end of the thread is waited for: a callback may be stuck in something that only ends with the process.
const PATIENCE: Duration = Duration::from_secs(1);

static HELPER: OnceLock<OwnThread> = OnceLock::new();
static STOP: AtomicBool = AtomicBool::new(false);

/// Starts the thread; the state is shared by threads from then on.
///
/// # Errors
/// A line for the user.
pub(crate) fn start(tracker: &'static Tracker) -> Result<(), String> {
    tracker.set_threads();
    let description = "the ob1 model, as it runs in a thread of its own, while the application computes";
    let watch = Watch::new(tracker, Safety::ThreadSafe, "ob1 progress thread", description);
    let thread = OwnThread::start("mpit-progress", move || run(watch))
        .map_err(|error| format!("{PROGRESS}=thread: no thread: {error}"))?;
    let _ = HELPER.set(thread);
    extern "C" fn at_exit() {
        stop();
    }
    // SAFETY: the function does not unwind and stays loaded: this library is never closed.
    unsafe { libc::atexit(at_exit) };
    Ok(())
}

/// Ends the thread and waits for it.
pub(crate) fn stop() {
    STOP.store(true, Ordering::Release);
    if let Some(thread) = HELPER.get() {
        thread.ends_within(PATIENCE);
    }
}

fn run(mut watch: Watch) {
    let polls = AssertUnwindSafe(|| {
        while !STOP.load(Ordering::Acquire) {
            if !watch.poll() {
                thread::sleep(PAUSE);
            }
        }
    });
    if let Err(panic) = catch_unwind(polls) {
        mpi_intercept::stop();
        resume_unwind(panic);
    }
}
