//! Threads of ours beside those of the program.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Duration;

use crate::signals::without_signals;

/// A thread that takes no signal of the program's, and whose panic ends it alone.
#[derive(Debug)]
pub struct OwnThread {
    /// The process that it belongs to: one that is forked has none.
    process: u32,
    id: ThreadId,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl OwnThread {
    /// Starts it, with a name of at most 15 letters.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<OwnThread> {
        let run = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                // Its destructor might panic in turn.
                std::mem::forget(panic);
            }
        };
        let thread = without_signals(|| thread::Builder::new().name(name.into()).spawn(run))?;
        let id = thread.thread().id();
        Ok(OwnThread { process: std::process::id(), id, thread: Mutex::new(Some(thread)) })
    }

    /// Waits until it has ended, but no longer than this: what it does may hang. Whether it has ended. In a forked process it has; on the
    /// thread itself, which ends the process, it has not.
    pub fn ends_within(&self, patience: Duration) -> bool {
        const STEP: Duration = Duration::from_millis(1);
        if self.process != std::process::id() {
            return true;
        }
        if self.id == thread::current().id() {
            return false;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = Duration::ZERO;
        while thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if waited >= patience {
                return false;
            }
            thread::sleep(STEP);
            waited += STEP;
        }
        // A thread that has ended and that nobody joins is a leak, for those who look for leaks.
        thread.take().is_none_or(|thread| thread.join().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn its_end_is_waited_for_as_long_as_there_is_patience() {
        let (end, ends) = mpsc::channel::<()>();
        let thread = OwnThread::start("waits", move || _ = ends.recv()).unwrap();
        assert!(!thread.ends_within(Duration::from_millis(5)));
        drop(end);
        assert!(thread.ends_within(Duration::from_secs(60)) && thread.ends_within(Duration::ZERO));
    }

    #[test]
    fn it_does_not_wait_for_itself() {
        let (give, given) = mpsc::channel::<std::sync::Arc<OwnThread>>();
        let (tell, told) = mpsc::channel();
        let work = move || _ = tell.send(given.recv().unwrap().ends_within(Duration::from_secs(3600)));
        let thread = std::sync::Arc::new(OwnThread::start("itself", work).unwrap());
        give.send(std::sync::Arc::clone(&thread)).unwrap();
        assert!(!told.recv().unwrap());
        assert!(thread.ends_within(Duration::from_secs(60)));
    }

    #[test]
    fn its_panic_is_its_own() {
        let thread = OwnThread::start("panics", || panic!("on purpose")).unwrap();
        assert!(thread.ends_within(Duration::from_secs(60)));
    }
}
