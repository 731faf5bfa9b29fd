//! Threads in place of processes.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::{CommunicationError, Processes};

/// A thread that does the work of one process, beside others in the same program.
#[derive(Debug)]
pub struct ThreadAsProcess {
    rank: u32,
    all: Arc<[Inbox]>,
}

/// What a thread was sent.
#[derive(Debug, Default)]
struct Inbox {
    by_sender: Mutex<HashMap<u32, VecDeque<Vec<u8>>>>,
    changed: Condvar,
    /// Whether the thread is gone: it sends no more.
    gone: AtomicBool,
}

/// How often a thread that waits looks whether the other one is gone.
const PATIENCE: Duration = Duration::from_millis(50);

impl ThreadAsProcess {
    /// One for each of so many threads, by rank.
    pub fn group(size: u32) -> Vec<ThreadAsProcess> {
        let all: Arc<[Inbox]> = (0..size).map(|_| Inbox::default()).collect();
        (0..size).map(|rank| ThreadAsProcess { rank, all: Arc::clone(&all) }).collect()
    }

    fn inbox(&self, rank: u32) -> Result<&Inbox, CommunicationError> {
        self.all.get(rank as usize).ok_or_else(CommunicationError::default)
    }
}

impl Processes for ThreadAsProcess {
    fn size(&self) -> u32 {
        self.all.len() as u32
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<(), CommunicationError> {
        let inbox = self.inbox(to)?;
        let mut by_sender = inbox.by_sender.lock().unwrap_or_else(PoisonError::into_inner);
        by_sender.entry(self.rank).or_default().push_back(bytes);
        inbox.changed.notify_one();
        Ok(())
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, CommunicationError> {
        let (inbox, sender) = (self.inbox(self.rank)?, self.inbox(from)?);
        let mut by_sender = inbox.by_sender.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // Before the look into the box: what is sent before the end is received.
            let gone = sender.gone.load(Ordering::Acquire);
            if let Some(bytes) = by_sender.get_mut(&from).and_then(VecDeque::pop_front) {
                return Ok(bytes);
            }
            if gone {
                return Err(CommunicationError::default());
            }
            let waited = inbox.changed.wait_timeout(by_sender, PATIENCE);
            by_sender = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// However the thread ends, nobody waits for it.
impl Drop for ThreadAsProcess {
    fn drop(&mut self) {
        if let Ok(inbox) = self.inbox(self.rank) {
            inbox.gone.store(true, Ordering::Release);
        }
    }
}

/// Runs the same on this number of threads, each in place of a process, and waits for all; what each gives,
/// by rank.
///
/// # Panics
/// Where a thread has, or the system has no thread more.
pub fn on_threads<T: Send>(size: u32, process: impl Fn(ThreadAsProcess) -> T + Sync) -> Vec<T> {
    /// Enough for what goes along a tree; a thousand threads are no burden.
    const STACK: usize = 1 << 20;
    let process = &process;
    std::thread::scope(|scope| {
        let start = |rank| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, move || process(rank)).expect("the system has a thread more")
        };
        let threads: Vec<_> = ThreadAsProcess::group(size).into_iter().map(start).collect();
        let given = threads.into_iter().map(|thread| thread.join());
        given.map(|given| given.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
