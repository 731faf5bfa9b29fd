//! What a process has to bring: messages to others.

use std::error::Error;

/// Processes could not communicate, and none of them can go on.
#[derive(Debug, Default, thiserror::Error)]
#[error("the processes that work together could not communicate")]
pub struct CommunicationError {
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CommunicationError {
    /// One with its cause, which is its [`source`](Error::source).
    pub fn of(cause: impl Error + Send + Sync + 'static) -> CommunicationError {
        CommunicationError { source: Some(Box::new(cause)) }
    }
}

/// Processes that do a piece of work together, such as to write one archive. They send messages to each
/// other; what all do together is made of these, along a tree, by [`tree`](crate::tree). All take part in the
/// same steps, in the same order.
///
/// A value of this belongs to one process, and is used on one thread.
pub trait Processes {
    /// Number of processes.
    fn size(&self) -> u32;

    /// Rank of this process. Rank 0 is the root of the tree.
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

    /// Waits until what was sent is on its way, so that nobody waits for this process while it does something
    /// else.
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
        Err(CommunicationError::default())
    }

    fn receive(&self, _: u32) -> Result<Vec<u8>, CommunicationError> {
        Err(CommunicationError::default())
    }
}
