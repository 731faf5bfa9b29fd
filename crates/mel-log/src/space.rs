//! Space on the file system: reserved before it is used, mapped, given back when it was not used. In files that are kept open while the
//! program runs, and only as long as they are ours. The size that a log may have, where the user has set one.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

use in_process::own_file::OwnFile;
use memmap2::{MmapOptions, MmapRaw};

/// Reserves a range of a file, which grows if need be. What was not there before reads as zero.
///
/// # Errors
/// A full disk, an exhausted quota, a file size limit. The limit is looked up first: growing beyond
/// it would raise `SIGXFSZ`, which ends a process that did not expect it. The descriptor [is not ours any more](in_process::own_file).
pub(super) fn reserve(file: &OwnFile, offset: u64, length: u64) -> io::Result<()> {
    if offset.saturating_add(length) > size_limit() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let offset = libc::off_t::try_from(offset).map_err(too_large)?;
    let length = libc::off_t::try_from(length).map_err(too_large)?;
    loop {
        // SAFETY: a system call on an open file, with numbers only.
        match file.with(|file| Ok(unsafe { libc::posix_fallocate(file.as_raw_fd(), offset, length) }))? {
            0 => return Ok(()),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Maps a range of a file. Whoever touches it has reserved it.
///
/// # Errors
/// No address space; the descriptor [is not ours any more](in_process::own_file), and then nothing has been mapped.
pub(super) fn map(file: &OwnFile, offset: u64, length: usize) -> io::Result<MmapRaw> {
    file.with(|file| MmapOptions::new().offset(offset).len(length).map_raw(file))
}

/// Allows or forbids access to a range of a mapping. Pages that are in the range in part only are not forbidden, and allowed.
///
/// # Errors
/// The process may not have as many mappings.
///
/// # Safety
/// Nobody accesses what is forbidden. What is allowed has been reserved.
pub(super) unsafe fn set_accessible(
    map: &MmapRaw,
    range: Range<usize>,
    is_accessible: bool,
) -> io::Result<()> {
    // SAFETY: the function takes a number, and knows this one.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let (begin, end, access) = if is_accessible {
        (range.start / page * page, range.end.next_multiple_of(page), libc::PROT_READ | libc::PROT_WRITE)
    } else {
        (range.start.next_multiple_of(page), range.end.next_multiple_of(page), libc::PROT_NONE)
    };
    debug_assert!(begin <= end && end <= map.len().next_multiple_of(page));
    // SAFETY: pages of the mapping, which is there; the rest is the caller's promise.
    match unsafe { libc::mprotect(map.as_mut_ptr().add(begin).cast(), end - begin, access) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives a range back to the file system; it then reads as zero. Where the file system cannot, the
/// range stays reserved. Returns whether it could.
pub(super) fn give_back(file: &OwnFile, offset: u64, length: u64) -> bool {
    let (Ok(offset), Ok(length)) = (libc::off_t::try_from(offset), libc::off_t::try_from(length)) else {
        return false;
    };
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a system call on an open file, with numbers only.
    file.with(|file| Ok(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) }))
        .is_ok_and(|code| code == 0)
}

/// The largest size that a file of this process may have, in bytes.
fn size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is a valid `rlimit` to write to.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    if result == 0 && limit.rlim_cur != libc::RLIM_INFINITY { limit.rlim_cur } else { u64::MAX }
}

/// Chunks that a log has room for however small its limit is: definitions, calls, and events of one thread.
pub(super) const FEWEST_CHUNKS: u32 = 4;

/// The log has reached the size that it may have.
#[derive(Debug)]
pub(super) struct Limit;

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log has the size that it may have")
    }
}

impl std::error::Error for Limit {}

/// Whether a log has taken nothing more because of its limit, and not for lack of space.
pub fn is_limit(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Limit>())
}
