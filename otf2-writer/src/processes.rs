//! The processes that do a piece of work together, and how they talk to each other.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Processes could not communicate, and none of them can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the processes that work together could not communicate")]
pub struct CommunicationError;

/// Processes that do a piece of work together, such as to write one archive. All they have to bring is messages
/// from one to another; what all do together is made of these, along a tree, by [`tree`](crate::tree).
///
/// A value of this belongs to one process, and is used on one thread.
pub trait Processes {
    /// Number of processes.
    fn size(&self) -> u32;

    /// Rank of this process. Rank 0 makes the directories and writes the global definitions.
    fn rank(&self) -> u32;

    /// Sends bytes to another process, without waiting until that receives them.
    ///
    /// # Errors
    /// Where the communication fails.
    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<(), CommunicationError>;

    /// The bytes that another process has sent, in the order in which it has. Waits for them.
    ///
    /// # Errors
    /// Where the communication fails.
    fn receive(&self, from: u32) -> Result<Vec<u8>, CommunicationError>;

    /// Waits until what was sent is on its way, so that nobody waits for this process while it does something else.
    ///
    /// # Errors
    /// Where the communication fails.
    fn flush(&self) -> Result<(), CommunicationError> {
        Ok(())
    }
}

/// One process that does everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Processes for Alone {
    fn size(&self) -> u32 {
        1
    }

    fn rank(&self) -> u32 {
        0
    }

    fn send(&self, _: u32, _: Vec<u8>) -> Result<(), CommunicationError> {
        Err(CommunicationError)
    }

    fn receive(&self, _: u32) -> Result<Vec<u8>, CommunicationError> {
        Err(CommunicationError)
    }
}

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
        self.all.get(rank as usize).ok_or(CommunicationError)
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
                return Err(CommunicationError);
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
