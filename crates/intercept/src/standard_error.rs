//! Standard error, as long as it is that: a program that has closed it gets its number for a file of its own.

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;

use mel_settings::MARK;

use crate::signals::without_signal;

/// What is behind the descriptor of standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    device: u64,
    inode: u64,
}

/// What was behind it when this library was loaded; `None` where it was closed.
static AT_LOAD: OnceLock<Option<Stream>> = OnceLock::new();

/// Keeps in mind where standard error leads: before the program can change that. Two system calls.
pub(crate) fn remember() {
    AT_LOAD.get_or_init(|| stream(std::io::stderr().as_raw_fd()).map(|(stream, _)| stream));
}

/// Writes to standard error, in one piece, so that lines of several processes do not mix. A closed stream is no error. Nothing is written
/// where the program has put something else in its place that may be data: a file that is not written at its end, a pipe, a socket.
///
/// From any thread; not from a signal handler.
pub fn write(text: &str) {
    remember();
    if is_standard_error(AT_LOAD.get().copied().flatten(), std::io::stderr().as_raw_fd()) {
        // A pipe that nobody reads any more would end a program that has written nothing itself.
        let _ = without_signal(libc::SIGPIPE, || std::io::stderr().write_all(text.as_bytes()));
    }
}

/// Says something in one line, which begins with [`MARK`]. As [`write()`] otherwise.
pub fn say(line: &str) {
    write(&format!("{MARK}{}\n", line.replace('\n', " ")));
}

/// Whether a descriptor still leads where it led before, or to a log or a terminal, to which a program may have redirected it.
fn is_standard_error(before: Option<Stream>, descriptor: RawFd) -> bool {
    let (Some(before), Some((now, is_log))) = (before, stream(descriptor)) else { return false };
    now == before || is_log
}

/// What is behind a descriptor, and whether it is a file that is written at its end, or a device such as a terminal.
fn stream(descriptor: RawFd) -> Option<(Stream, bool)> {
    // SAFETY: plain data, for which zeros are valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a valid output; the system checks the descriptor.
    if unsafe { libc::fstat(descriptor, &raw mut status) } != 0 {
        return None;
    }
    // SAFETY: a system call with numbers only, which checks the descriptor.
    let appends = unsafe { libc::fcntl(descriptor, libc::F_GETFL) } & libc::O_APPEND != 0;
    let is_log = match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => appends,
        libc::S_IFCHR => true,
        _ => false,
    };
    Some((Stream { device: status.st_dev, inode: status.st_ino }, is_log))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_file_of_the_program_is_not_standard_error() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("data");
        let (data, other) = (File::create(&path).unwrap(), File::create(room.path().join("other")).unwrap());
        let before = |file: &File| stream(file.as_raw_fd()).map(|(stream, _)| stream);
        assert!(is_standard_error(before(&data), data.as_raw_fd()), "as it was");
        assert!(!is_standard_error(before(&other), data.as_raw_fd()), "another file");
        assert!(!is_standard_error(None, data.as_raw_fd()), "it was closed");
        assert!(!is_standard_error(before(&other), -1), "it is closed");
        let (socket, _end) = UnixStream::pair().unwrap();
        assert!(!is_standard_error(before(&other), socket.as_raw_fd()), "a connection");
    }

    #[test]
    fn a_log_or_terminal_of_the_program_is() {
        let room = tempfile::tempdir().unwrap();
        let before = stream(File::create(room.path().join("before")).unwrap().as_raw_fd());
        let before = before.map(|(stream, _)| stream);
        let log = File::options().append(true).create(true).open(room.path().join("log")).unwrap();
        assert!(is_standard_error(before, log.as_raw_fd()));
        let device = File::open("/dev/null").unwrap();
        assert!(is_standard_error(before, device.as_raw_fd()));
    }
}
