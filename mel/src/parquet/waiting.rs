//! Where the encoded columns of a rank wait until those of the ranks before are written: in memory, and beyond that in a file without a
//! name, in the directory that the tables go to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// The waiting columns of all threads.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Bytes that may wait in memory.
    room: u64,
    /// Bytes that do.
    in_memory: AtomicU64,
    file: File,
    /// Bytes that have a place in the file.
    in_file: AtomicU64,
}

/// Bytes that wait.
#[derive(Debug)]
pub(super) enum Place {
    Memory(Vec<u8>),
    /// In the file: from where on, and how many.
    File(u64, usize),
}

impl Waiting {
    /// So many bytes wait in memory, the others in a file in this directory.
    pub(super) fn new(directory: &Path, room: u64) -> io::Result<Waiting> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(Waiting { room, in_memory: 0.into(), file, in_file: 0.into() })
    }

    /// Keeps bytes.
    pub(super) fn keep(&self, bytes: Vec<u8>) -> io::Result<Place> {
        let length = bytes.len() as u64;
        if self.in_memory.fetch_add(length, Ordering::Relaxed) + length <= self.room {
            return Ok(Place::Memory(bytes));
        }
        self.in_memory.fetch_sub(length, Ordering::Relaxed);
        let at = self.in_file.fetch_add(length, Ordering::Relaxed);
        self.file.write_all_at(&bytes, at)?;
        Ok(Place::File(at, bytes.len()))
    }

    /// Gives them back.
    pub(super) fn take(&self, place: Place) -> io::Result<Bytes> {
        match place {
            Place::Memory(bytes) => {
                self.in_memory.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
                Ok(bytes.into())
            }
            Place::File(at, length) => {
                let mut bytes = vec![0; length];
                self.file.read_exact_at(&mut bytes, at)?;
                Ok(bytes.into())
            }
        }
    }
}
