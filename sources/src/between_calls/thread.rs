//! The progress thread: polls the ring about every 100 microseconds.
//!
//! It calls no MPI function, takes no signal, and shares the model with the application's calls by the lock
//! of the state. It ends with `MPI_Finalize`, with `exit`, or after a panic; a forked child has none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mel_settings::PROGRESS;
use mpi_intercept::signals::without_signals;
use mpit_events::Safety;

use super::{Tracker, Watch};

/// Between two polls. The kernel adds some 50 microseconds of its own.
const PAUSE: Duration = Duration::from_micros(100);

/// How often the end of the thread is waited for, with a pause of a millisecond each time: a callback may
/// be stuck in something that only ends with the process.
const PATIENCE: u32 = 1000;

struct Helper {
    thread: JoinHandle<()>,
    /// The process that it belongs to.
    pid: u32,
}

static HELPER: OnceLock<Helper> = OnceLock::new();
static STOP: AtomicBool = AtomicBool::new(false);

/// Starts the thread; the state is shared by threads from then on.
///
/// # Errors
/// A line for the user.
pub(crate) fn start(tracker: &'static Tracker) -> Result<(), String> {
    tracker.set_threads();
    let description = "the ob1 model, as it runs in a thread of its own, while the application computes";
    let watch = Watch::new(tracker, Safety::ThreadSafe, "ob1 progress thread", description);
    let spawned =
        without_signals(|| thread::Builder::new().name("mpit-progress".into()).spawn(move || run(watch)));
    let thread = spawned.map_err(|error| format!("{PROGRESS}=thread: no thread: {error}"))?;
    let _ = HELPER.set(Helper { thread, pid: std::process::id() });
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
    let Some(Helper { thread, pid }) = HELPER.get() else { return };
    if *pid != std::process::id() || thread.thread().id() == thread::current().id() {
        return;
    }
    for _ in 0..PATIENCE {
        if thread.is_finished() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
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
        // Its destructor might panic in turn.
        std::mem::forget(panic);
    }
}
