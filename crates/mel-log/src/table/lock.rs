//! Whether a process runs that writes a file: it holds a lock, which ends with it, however it ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Holds the lock as long as the file is open or mapped; whether nobody else holds it. Where the file system has no locks, its process is taken to
/// have ended.
pub fn hold(file: &File) -> bool {
    lock(file, libc::LOCK_EX)
}

/// Lets it go.
pub fn release(file: &File) {
    lock(file, libc::LOCK_UN);
}

/// Whether a process holds the lock.
#[must_use]
pub fn is_held(file: &File) -> bool {
    // If not, this one has it for a moment, and it ends when the file is closed.
    !lock(file, libc::LOCK_SH) && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

fn lock(file: &File, how: libc::c_int) -> bool {
    // SAFETY: a system call on an open file, with numbers only.
    unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) == 0 }
}
