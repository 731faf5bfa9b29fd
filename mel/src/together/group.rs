//! The processes once they have met, until they part.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::life::{Identity, Watch};
use super::outbox::{Outbox, Reader};
use super::plan::Plan;

/// So often a process shows that it lives.
pub(super) const SIGNS: Duration = Duration::from_secs(1);
/// So long one waits between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// This process, among those that work together. Dropped, it says to the others that it does no more, and why, if it has failed; process 0
/// waits then until all have said so, and removes the folder.
#[derive(Debug)]
pub struct Together {
    pub(super) folder: PathBuf,
    pub(super) process: u32,
    pub(super) size: u32,
    pub(super) patience: Duration,
    pub(super) outbox: Arc<Outbox>,
    pub(super) plan: Plan,
    /// Why this process cannot go on; the first reason.
    pub(super) failure: Mutex<Option<String>>,
    pub(super) signs: Signs,
}

/// Shows that the process lives, until it is dropped.
#[derive(Debug)]
pub(super) struct Signs {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Signs {
    pub(super) fn of(outbox: Arc<Outbox>, patience: Duration) -> Signs {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let pause = SIGNS.min(patience / 5);
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Acquire) {
                thread::park_timeout(pause);
                // What cannot be written now is noticed where there is something to say.
                let _ = outbox.alive();
            }
        });
        Signs { is_over, thread: Some(thread) }
    }

    fn end(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Signs {
    fn drop(&mut self) {
        self.end();
    }
}

impl Together {
    /// Who does what.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of this process.
    pub fn process(&self) -> u32 {
        self.process
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// A reader of what a process sends to a thread, and who it is.
    pub(super) fn reader(&self, process: u32, to: u32) -> (Reader, Identity) {
        let hello = self.plan.all.get(process as usize).cloned().unwrap_or_default();
        (Reader::new(&self.folder.join(hello.outbox), to), hello.identity)
    }

    /// How many processes there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// This process cannot go on. The first reason counts.
    pub fn fail(&self, why: &str) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| why.to_owned());
    }

    /// Why this process cannot go on, if so.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether no process before this one lives: then it is this one that speaks. Takes some seconds for each that has ended on another
    /// node.
    pub fn is_first_alive(&self) -> bool {
        (0..self.process).all(|process| {
            let (mut reader, identity) = self.reader(process, u32::MAX);
            let mut watch = Watch::new(identity);
            // It has spoken, or somebody before it has.
            if reader.is_gone() {
                return false;
            }
            let begun = Instant::now();
            let (mut first, patience) = (None, (3 * SIGNS).min(self.patience));
            loop {
                let _ = reader.is_gone();
                let bytes = reader.bytes();
                if *first.get_or_insert(bytes) < bytes {
                    return false;
                }
                if watch.is_over(&reader, patience) || begun.elapsed() > 2 * patience {
                    return true;
                }
                thread::sleep(LOOK);
            }
        })
    }

    fn end(&mut self) {
        self.signs.end();
        let _ = self.outbox.gone(&self.failure().unwrap_or_default());
        if self.process > 0 {
            return;
        }
        let came = |process: &u32| !self.plan.all[*process as usize].outbox.is_empty();
        for process in (1..self.plan.all.len() as u32).filter(came) {
            let (mut reader, identity) = self.reader(process, u32::MAX);
            let mut watch = Watch::new(identity);
            while !reader.is_gone() && !watch.is_over(&reader, self.patience) {
                thread::sleep(LOOK);
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// However the process ends, the others hear of it, if it can still say so.
impl Drop for Together {
    fn drop(&mut self) {
        if thread::panicking() {
            self.fail("a process has ended by a fault of its own");
        }
        self.end();
    }
}
