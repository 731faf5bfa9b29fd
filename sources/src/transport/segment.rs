//! Shared memory without a name: it is gone when its last process is, however that ends.
//!
//! A segment is a `memfd`. Another process of the same user opens it through `/proc/PID/fd/N`; no
//! file and no shared-memory object ever has a name that could be left behind.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

use memmap2::{MmapOptions, MmapRaw};

/// A mapped piece of shared memory.
#[derive(Debug)]
pub struct Segment {
    map: MmapRaw,
    /// The owner's descriptor, by which others find the segment.
    file: Option<File>,
}

/// Where another process finds a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The owner's process number.
    pub pid: i32,
    /// The owner's descriptor.
    pub descriptor: i32,
}

impl Segment {
    /// A new segment of `bytes` zeros.
    ///
    /// # Errors
    /// What the system says: no more descriptors or address space, or no `memfd` (before Linux 3.17).
    pub fn create(bytes: usize) -> io::Result<Segment> {
        // SAFETY: the name is a C string; the call has no other requirement.
        let descriptor = unsafe { libc::memfd_create(c"mel-envelopes".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours alone.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(bytes as u64)?;
        let map = MmapOptions::new().len(bytes).map_raw(&file)?;
        Ok(Segment { map, file: Some(file) })
    }

    /// Another process's segment. The process must still run; afterwards the memory stays valid
    /// even if it ends.
    ///
    /// # Errors
    /// Where `/proc` does not let us (another user, a container), or the size is not `bytes`.
    pub fn open(address: Address, bytes: usize) -> io::Result<Segment> {
        let path = format!("/proc/{}/fd/{}", address.pid, address.descriptor);
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() != bytes as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a segment of this size"));
        }
        Ok(Segment { map: MmapOptions::new().len(bytes).map_raw(&file)?, file: None })
    }

    /// Where others find this segment; `None` if it is not ours.
    pub fn address(&self) -> Option<Address> {
        let descriptor = self.file.as_ref()?.as_raw_fd();
        Some(Address { pid: std::process::id() as i32, descriptor })
    }

    /// The start of the memory, aligned to a page.
    pub fn start(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// The size of the memory in bytes.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether the segment has no memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
