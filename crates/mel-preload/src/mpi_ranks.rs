//! The ranks of a run as processes that work together at its end: messages over MPI, on a communicator of our
//! own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use mpi_abi::{Comm, Request, pmpi};
use ranks::{CommunicationError, Processes};

/// All messages have this tag: the order in which a process sends them is that in which they are received.
const TAG: i32 = 0;

/// The most bytes of a message of MPI. Bytes travel in pieces of this length, and a shorter one, which is the
/// last.
const PIECE: usize = 1 << 20;

/// So often a process that waits looks again at once.
const AT_ONCE: u32 = 200;
/// Then it sleeps, each time longer, as other ranks may need its core; at most so long.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));

/// The ranks of `MPI_COMM_WORLD`.
#[derive(Debug)]
pub struct MpiRanks {
    comm: Comm,
    rank: u32,
    size: u32,
    /// What MPI may not have read yet.
    sent: RefCell<VecDeque<(Request, Rc<Vec<u8>>)>>,
}

impl MpiRanks {
    /// To be called by all ranks of `world`, between its `MPI_Init` and its `MPI_Finalize`. It is a split and
    /// not a copy of the communicator, so that no function of the program is called.
    ///
    /// # Errors
    /// Where MPI refuses.
    pub fn new(world: Comm, rank: i32, size: i32) -> Result<MpiRanks, mpi_abi::Error> {
        let comm = pmpi::comm_split(world, 0, rank)?;
        pmpi::comm_return_errors(comm)?;
        let (rank, size) = (rank.unsigned_abs(), size.unsigned_abs());
        Ok(MpiRanks { comm, rank, size, sent: RefCell::default() })
    }

    /// Forgets what is sent.
    fn tidy(&self) -> Result<usize, CommunicationError> {
        let mut sent = self.sent.borrow_mut();
        while let Some((request, _)) = sent.front_mut() {
            if pmpi::test(request).map_err(CommunicationError::of)?.is_none() {
                break;
            }
            sent.pop_front();
        }
        Ok(sent.len())
    }
}

/// The places of the pieces of a message of this length.
fn pieces(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..=length / PIECE).map(move |number| number * PIECE..length.min((number + 1) * PIECE))
}

/// Calls `look` until it gives something.
fn wait<T>(mut look: impl FnMut() -> Result<Option<T>, CommunicationError>) -> Result<T, CommunicationError> {
    let (mut sleep, longest) = SLEEPS;
    for number in 0u64.. {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if number < AT_ONCE.into() {
            std::thread::yield_now();
        } else {
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(longest);
        }
    }
    Err(CommunicationError::default())
}

impl Processes for MpiRanks {
    fn size(&self) -> u32 {
        self.size
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<(), CommunicationError> {
        self.tidy()?;
        let bytes = Rc::new(bytes);
        for place in pieces(bytes.len()) {
            let piece = &bytes[place];
            // SAFETY: the bytes lie where they are until the request is complete: the vector is kept with it,
            // and `drop` does not free it before.
            let request = unsafe { pmpi::isend(piece.as_ptr(), piece.len(), to as i32, TAG, self.comm) };
            let request = request.map_err(CommunicationError::of)?;
            self.sent.borrow_mut().push_back((request, Rc::clone(&bytes)));
        }
        Ok(())
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, CommunicationError> {
        let mut bytes = Vec::new();
        loop {
            let found = wait(|| {
                self.tidy()?;
                pmpi::iprobe(from as i32, TAG, self.comm).map_err(CommunicationError::of)
            })?;
            let begin = bytes.len();
            bytes.resize(begin + found.bytes, 0);
            pmpi::recv(&mut bytes[begin..], from as i32, TAG, self.comm).map_err(CommunicationError::of)?;
            if found.bytes < PIECE {
                return Ok(bytes);
            }
        }
    }

    fn flush(&self) -> Result<(), CommunicationError> {
        wait(|| Ok((self.tidy()? == 0).then_some(())))
    }
}

impl Drop for MpiRanks {
    fn drop(&mut self) {
        if self.flush().is_err() {
            // MPI may still read them.
            self.sent.take().into_iter().for_each(|(_, bytes)| std::mem::forget(bytes));
        }
        let _ = pmpi::comm_free(self.comm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_piece_alone_is_shorter() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            let pieces: Vec<Range<usize>> = pieces(length).collect();
            let (last, others) = pieces.split_last().unwrap();
            assert!(last.len() < PIECE && others.iter().all(|piece| piece.len() == PIECE), "{length}");
            assert!(pieces.iter().cloned().flatten().eq(0..length), "{length}");
        }
    }
}
