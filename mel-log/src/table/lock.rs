//! Whether a process runs that writes a file: it holds a lock, which ends with it, however it ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Holds the lock as long as the file is open. Where the file system has no locks, its process is taken to have ended.
pub(super) fn hold(file: &File) {
    // SAFETY: a system call on an open file, with numbers only.
    let _ = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
}

/// Whether a process holds the lock.
pub(super) fn is_held(file: &File) -> bool {
    // SAFETY: a system call on an open file, with numbers only. The lock ends when the file is closed.
    let refused = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } != 0;
    refused && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}
