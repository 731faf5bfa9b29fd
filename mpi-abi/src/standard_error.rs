//! What the user reads while the program runs: text on standard error, which may be closed, or a pipe that nobody reads any more.

use std::io::{ErrorKind, Write};
use std::ptr;

/// Writes a text on standard error, in one piece, so that texts of several processes do not mix. A closed stream is no error, and a
/// pipe without a reader raises no `SIGPIPE`, which would end a program that has written nothing itself.
///
/// For any thread; not for signal handlers.
pub fn write(text: &str) {
    // SAFETY: zeros are a valid set of signals, the functions get sets and times of this frame, and the mask that they change is that of
    // this thread, which gets its own back below.
    unsafe {
        let mut pipe: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, &mut before);
        libc::sigpending(&mut pending);
        let written = std::io::stderr().write_all(text.as_bytes());
        let raised = written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        // One that waited before is the program's.
        if raised && libc::sigismember(&pending, libc::SIGPIPE) == 0 {
            let at_once: libc::timespec = std::mem::zeroed();
            libc::sigtimedwait(&pipe, ptr::null_mut(), &at_once);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
}
