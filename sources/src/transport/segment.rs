//! Shared memory without a name: it is gone when its last process is, however that ends.
//!
//! A segment is a `memfd`. Another process of the same user opens it through `/proc/PID/fd/N`; no
//! file and no shared-memory object ever has a name that could be left behind.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use in_process::own_file::{Identity, OwnFile};
use memmap2::{MmapOptions, MmapRaw};

/// A mapped piece of shared memory.
#[derive(Debug)]
pub struct Segment {
    map: MmapRaw,
    /// The owner's descriptor, by which others find the segment.
    file: Option<OwnFile>,
}

/// Where another process finds a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The owner's process number.
    pub pid: i32,
    /// The owner's descriptor.
    pub descriptor: i32,
    /// What is behind it, as long as its program leaves it alone.
    pub identity: Identity,
}

impl Address {
    /// Numbers of an address as others send them.
    pub const WORDS: usize = 6;

    /// Where no segment is.
    pub const NOWHERE: Address =
        Address { pid: 0, descriptor: -1, identity: Identity { device: 0, inode: 0 } };

    /// The address as numbers.
    pub fn words(&self) -> [i32; Address::WORDS] {
        let Identity { device, inode } = self.identity;
        let [low, high] = [|word: u64| word as i32, |word: u64| (word >> 32) as i32];
        [self.pid, self.descriptor, low(device), high(device), low(inode), high(inode)]
    }

    /// The address of which these are the [`words`](Self::words).
    pub fn of_words([pid, descriptor, device @ .., low, high]: [i32; Address::WORDS]) -> Address {
        let word = |low: i32, high: i32| u64::from(low as u32) | u64::from(high as u32) << 32;
        let identity = Identity { device: word(device[0], device[1]), inode: word(low, high) };
        Address { pid, descriptor, identity }
    }
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
        let file = OwnFile::keep(unsafe { File::from_raw_fd(descriptor) })?;
        file.with(|file| file.set_len(bytes as u64))?;
        let map = file.with(|file| MmapOptions::new().len(bytes).map_raw(file))?;
        Ok(Segment { map, file: Some(file) })
    }

    /// Another process's segment. The process must still run; afterwards the memory stays valid
    /// even if it ends.
    ///
    /// # Errors
    /// Where `/proc` does not let us (another user, a container), the size is not `bytes`, or its program has closed the descriptor.
    pub fn open(address: Address, bytes: usize) -> io::Result<Segment> {
        let path = format!("/proc/{}/fd/{}", address.pid, address.descriptor);
        let check = |found: std::fs::Metadata| {
            let identity = Identity { device: found.dev(), inode: found.ino() };
            if identity == address.identity && found.len() == bytes as u64 {
                return Ok(());
            }
            Err(io::Error::new(io::ErrorKind::InvalidData, "not the segment that was there"))
        };
        // Before it is opened, too: what the program has there now may be a device, to which opening is something.
        check(std::fs::metadata(&path)?)?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        check(file.metadata()?)?;
        Ok(Segment { map: MmapOptions::new().len(bytes).map_raw(&file)?, file: None })
    }

    /// Where others find this segment; `None` if it is not ours.
    pub fn address(&self) -> Option<Address> {
        let (descriptor, identity) = self.file.as_ref()?.place();
        Some(Address { pid: std::process::id() as i32, descriptor, identity })
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

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn an_address_is_the_same_as_numbers() {
        let identity = Identity { device: 0x1_8000_0001, inode: u64::MAX - 5 };
        let address = Address { pid: 4711, descriptor: 898, identity };
        assert_eq!(Address::of_words(address.words()), address);
    }

    #[test]
    fn what_a_program_has_under_the_number_is_not_opened() {
        let segment = Segment::create(4096).unwrap();
        let address = segment.address().unwrap();
        assert!(Segment::open(address, 4096).is_ok());
        let other = Segment::create(4096).unwrap();
        let theirs = other.address().unwrap().descriptor;
        // SAFETY: two open descriptors: what a program does that closes ours.
        assert_eq!(unsafe { libc::dup2(theirs, address.descriptor) }, address.descriptor);
        assert!(Segment::open(address, 4096).is_err(), "of the same size, but not the segment");
        drop(segment);
        let left = Identity::of(address.descriptor);
        assert_eq!(left, Some(other.address().unwrap().identity), "it is not closed either");
        let none = File::open("/dev/null").unwrap();
        assert!(Segment::open(Address { descriptor: none.as_raw_fd(), ..address }, 4096).is_err());
    }
}
