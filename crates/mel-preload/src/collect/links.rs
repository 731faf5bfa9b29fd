//! The tree over MPI.

use mel_verdict::many::tree::{Links, Tree};
use mpi_abi::{Comm, Error, pmpi};

/// The tag of all messages.
const TAG: i32 = 0x4d45;
/// The most bytes of a message; what is longer goes in several.
const PIECE: usize = 1 << 20;

/// All ranks, on a communicator that the application knows nothing of: what it has left unreceived, or still wants to receive, meets
/// none of the messages.
pub(super) struct MpiLinks {
    tree: Tree,
    comm: Comm,
}

impl MpiLinks {
    /// The links among the processes of a communicator. Collective, and so is the end of it.
    pub(super) fn new(rank: i32, size: i32, of: Comm) -> Result<MpiLinks, Error> {
        // Split rather than duplicated: a duplicate would call what the application has attached to the communicator.
        let comm = pmpi::comm_split(of, 0, rank)?;
        pmpi::comm_return_errors(comm)?;
        let tree = Tree { rank: u32::try_from(rank).unwrap_or(0), size: u32::try_from(size).unwrap_or(1) };
        Ok(MpiLinks { tree, comm })
    }
}

impl Drop for MpiLinks {
    fn drop(&mut self) {
        let _ = pmpi::comm_free(self.comm);
    }
}

impl Links for MpiLinks {
    type Error = Error;

    fn tree(&self) -> Tree {
        self.tree
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error> {
        pmpi::send(&(bytes.len() as u64).to_ne_bytes(), to as i32, TAG, self.comm)?;
        bytes.chunks(PIECE).try_for_each(|piece| pmpi::send(piece, to as i32, TAG, self.comm))
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, Error> {
        let mut length = [0; 8];
        pmpi::recv(&mut length, from as i32, TAG, self.comm)?;
        let mut bytes = vec![0; u64::from_ne_bytes(length) as usize];
        for piece in bytes.chunks_mut(PIECE) {
            pmpi::recv(piece, from as i32, TAG, self.comm)?;
        }
        Ok(bytes)
    }
}
