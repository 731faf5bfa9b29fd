//! What a process writes for the others: frames in a file that only grows. Each reader goes through it at its own speed.
//!
//! A file system between nodes may show a file's length before its bytes. Each frame therefore has checks of its head and of its bytes, and
//! one that is not right is not there yet. The file is opened anew for each frame that is written and for each look: NFS brings up to date
//! what is opened, and writes what is closed.

use std::fs::{File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mel_log::regular_file;
use rustc_hash::FxHasher;

/// At the beginning of each frame.
const MAGIC: u32 = 0x4d45_4c54;
/// Bytes of a frame's head: magic, from, to, check of the head, length, check of the bytes.
const HEAD: usize = 32;
/// To nobody: the process lives.
const ALIVE: u32 = u32::MAX;
/// To all: the process does no more; the bytes say why, if it has failed.
const GONE: u32 = u32::MAX - 1;

/// The file of this process. Several threads may write.
#[derive(Debug)]
pub struct Outbox {
    path: PathBuf,
    lock: Mutex<()>,
}

impl Outbox {
    /// Makes the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path) -> io::Result<Outbox> {
        let outbox = Outbox { path: path.to_owned(), lock: Mutex::default() };
        outbox.alive()?;
        Ok(outbox)
    }

    /// A message from one thread to another one, of this process or of another.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn send(&self, from: u32, to: u32, bytes: &[u8]) -> io::Result<()> {
        self.write(from, to, bytes)
    }

    /// Shows that the process lives.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn alive(&self) -> io::Result<()> {
        self.write(0, ALIVE, &[])
    }

    /// Says that the process does no more, and why, if it has failed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn gone(&self, why: &str) -> io::Result<()> {
        self.write(0, GONE, why.as_bytes())
    }

    fn write(&self, from: u32, to: u32, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        let mut frame = Vec::with_capacity(HEAD + bytes.len());
        for word in [MAGIC, from, to, check_of_head(from, to, length)] {
            frame.extend(word.to_le_bytes());
        }
        frame.extend(length.to_le_bytes());
        frame.extend(check_of(bytes).to_le_bytes());
        frame.extend(bytes);
        let _alone = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let mut file = options.open(&self.path)?;
        let begin = file.metadata()?.len();
        let written = file.write_all(&frame);
        if written.is_err() {
            // A piece of a frame would hide what comes behind it.
            let _ = file.set_len(begin);
        }
        written
    }
}

fn check_of_head(from: u32, to: u32, length: u64) -> u32 {
    let mut hasher = FxHasher::default();
    // Of zeros alone, as a file has them before its bytes are there, it would be zero.
    hasher.write_u32(MAGIC);
    hasher.write_u32(from);
    hasher.write_u32(to);
    hasher.write_u64(length);
    (hasher.finish() >> 16) as u32
}

fn check_of(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(bytes.len() as u64 + 1);
    hasher.write(bytes);
    hasher.finish()
}

/// What a frame says to a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message to this reader.
    Message {
        /// The thread that has sent it.
        from: u32,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Nothing more will come; why, if the process has failed.
    Gone(String),
}

/// Goes through the file of another process.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    /// The messages to whom are read.
    to: u32,
    offset: u64,
    bytes: u64,
}

impl Reader {
    /// A reader of what is sent to one thread.
    pub fn new(path: &Path, to: u32) -> Reader {
        Reader { path: path.to_owned(), to, offset: 0, bytes: 0 }
    }

    /// How long the file was when it was last looked at.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is new; nothing where the file is not there.
    pub fn read(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Ok(mut file) = regular_file::open(&self.path) else { return frames };
        let Ok(bytes) = file.metadata().map(|metadata| metadata.len()) else { return frames };
        self.bytes = bytes;
        while let Ok(Some(frame)) = self.next(&mut file) {
            frames.extend(frame);
        }
        frames
    }

    /// Whether its process does no more. For readers that take no messages.
    pub fn is_gone(&mut self) -> bool {
        self.read().iter().any(|frame| matches!(frame, Frame::Gone(_)))
    }

    /// The next frame: `None` where there is none yet, `Some(None)` where it is nothing for this reader.
    fn next(&mut self, file: &mut File) -> io::Result<Option<Option<Frame>>> {
        if self.bytes < self.offset + HEAD as u64 {
            return Ok(None);
        }
        let mut head = [0; HEAD];
        file.seek(SeekFrom::Start(self.offset))?;
        file.read_exact(&mut head)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let (from, to, length) = (word(4), word(8), long(16));
        if (word(0), word(12)) != (MAGIC, check_of_head(from, to, length)) {
            return Ok(None);
        }
        let Some(end) = (self.offset + HEAD as u64).checked_add(length).filter(|end| *end <= self.bytes)
        else {
            return Ok(None);
        };
        let mut frame = None;
        if to == self.to || to == GONE {
            let mut bytes = vec![0; length as usize];
            file.read_exact(&mut bytes)?;
            if check_of(&bytes) != long(24) {
                return Ok(None);
            }
            frame = Some(match to {
                GONE => Frame::Gone(String::from_utf8_lossy(&bytes).into_owned()),
                _ => Frame::Message { from, bytes },
            });
        }
        self.offset = end;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_hears_what_is_for_it_and_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("of-0");
        let mut reader = Reader::new(&path, 2);
        assert_eq!(reader.read(), []);
        let outbox = Outbox::create(&path).unwrap();
        outbox.send(0, 1, b"another").unwrap();
        outbox.send(1, 2, b"").unwrap();
        outbox.alive().unwrap();
        assert_eq!(reader.read(), [Frame::Message { from: 1, bytes: vec![] }]);
        assert_eq!(reader.read(), []);
        outbox.send(0, 2, b"one").unwrap();
        outbox.gone("why").unwrap();
        let message = Frame::Message { from: 0, bytes: b"one".to_vec() };
        assert_eq!(reader.read(), [message, Frame::Gone("why".into())]);
    }

    #[test]
    fn what_is_not_whole_is_not_there_yet() {
        let directory = tempfile::tempdir().unwrap();
        let (whole, part) = (directory.path().join("whole"), directory.path().join("part"));
        Outbox::create(&whole).unwrap().send(3, 2, b"a message").unwrap();
        let bytes = std::fs::read(&whole).unwrap();
        let mut reader = Reader::new(&part, 2);
        for cut in 0..bytes.len() {
            std::fs::write(&part, &bytes[..cut]).unwrap();
            assert_eq!(reader.read(), [], "{cut}");
            // The length is there before the bytes.
            let mut holes = bytes[..cut].to_vec();
            holes.resize(bytes.len(), 0);
            std::fs::write(&part, holes).unwrap();
            assert_eq!(reader.read(), [], "{cut}");
        }
        std::fs::write(&part, &bytes).unwrap();
        assert_eq!(reader.read().len(), 1);
    }
}
