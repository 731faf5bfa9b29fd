//! How processes that write one archive together talk to each other.

/// A collective operation failed; on every process of the group, or none can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a collective operation failed")]
pub struct CollectiveError;

/// The communication among the processes that write one archive.
///
/// Over MPI this is a communicator of the tool's own and the functions of these names, with
/// `MPI_BYTE` as the datatype. Each operation is called on every process, in the same order.
///
/// The archive calls these functions on the thread that calls the archive, and only from
/// [`ArchiveOptions::create`](crate::ArchiveOptions::create) and
/// [`Archive::finish`](crate::Archive::finish). A panic counts as a [`CollectiveError`].
pub trait Collectives {
    /// Number of processes.
    fn size(&self) -> u32;

    /// Rank of this process. Rank 0 makes the directories and writes the global definitions.
    fn rank(&self) -> u32;

    /// Returns when all processes have called it.
    ///
    /// # Errors
    /// Where the communication fails; so for the others.
    fn barrier(&self) -> Result<(), CollectiveError>;

    /// Copies `data` of the root to all others; it has the same length everywhere.
    ///
    /// # Errors
    /// Where the communication fails.
    fn bcast(&self, data: &mut [u8], root: u32) -> Result<(), CollectiveError>;

    /// Collects `send`, of the same length everywhere, in `receive` of the root, by rank.
    /// `receive` is empty elsewhere.
    ///
    /// # Errors
    /// Where the communication fails.
    fn gather(&self, send: &[u8], receive: &mut [u8], root: u32) -> Result<(), CollectiveError>;

    /// Collects `send` in `receive` of the root, by rank: `receive_bytes[r]` bytes of rank `r`.
    /// `receive` and `receive_bytes` are empty elsewhere.
    ///
    /// # Errors
    /// Where the communication fails.
    fn gatherv(
        &self,
        send: &[u8],
        receive: &mut [u8],
        receive_bytes: &[usize],
        root: u32,
    ) -> Result<(), CollectiveError>;

    /// Deals out `send` of the root, by rank, in parts of the length of `receive`, which is the same
    /// everywhere. `send` is empty elsewhere.
    ///
    /// # Errors
    /// Where the communication fails.
    fn scatter(&self, send: &[u8], receive: &mut [u8], root: u32) -> Result<(), CollectiveError>;

    /// Deals out `send` of the root, by rank: `send_bytes[r]` bytes to rank `r`, which is the length
    /// of its `receive`. `send` and `send_bytes` are empty elsewhere.
    ///
    /// # Errors
    /// Where the communication fails.
    fn scatterv(
        &self,
        send: &[u8],
        send_bytes: &[usize],
        receive: &mut [u8],
        root: u32,
    ) -> Result<(), CollectiveError>;
}

/// One process that writes all locations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Collectives for Serial {
    fn size(&self) -> u32 {
        1
    }

    fn rank(&self) -> u32 {
        0
    }

    fn barrier(&self) -> Result<(), CollectiveError> {
        Ok(())
    }

    fn bcast(&self, _data: &mut [u8], root: u32) -> Result<(), CollectiveError> {
        copy(&[], &mut [], root)
    }

    fn gather(&self, send: &[u8], receive: &mut [u8], root: u32) -> Result<(), CollectiveError> {
        copy(send, receive, root)
    }

    fn gatherv(
        &self,
        send: &[u8],
        receive: &mut [u8],
        _receive_bytes: &[usize],
        root: u32,
    ) -> Result<(), CollectiveError> {
        copy(send, receive, root)
    }

    fn scatter(&self, send: &[u8], receive: &mut [u8], root: u32) -> Result<(), CollectiveError> {
        copy(send, receive, root)
    }

    fn scatterv(
        &self,
        send: &[u8],
        _send_bytes: &[usize],
        receive: &mut [u8],
        root: u32,
    ) -> Result<(), CollectiveError> {
        copy(send, receive, root)
    }
}

fn copy(send: &[u8], receive: &mut [u8], root: u32) -> Result<(), CollectiveError> {
    if root != 0 || send.len() != receive.len() {
        return Err(CollectiveError);
    }
    receive.copy_from_slice(send);
    Ok(())
}
