//! Signals that this thread does not take for a while.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// Runs `work` while this thread takes no signal: a thread that is started in it never takes one.
pub fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    let mut all = MaybeUninit::uninit();
    // SAFETY: `sigfillset` fills the set.
    let all = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        all.assume_init()
    };
    blocking(&all, work)
}

/// Runs `work`, which may raise `signal` in this thread, for example `SIGPIPE`, or `SIGXFSZ` where a file grows too long: system calls
/// fail, as they do where the program ignores the signal, and the program gets none of it.
pub fn without_signal<R>(signal: c_int, work: impl FnOnce() -> R) -> R {
    let set = alone(signal);
    let waited_before = is_pending(signal);
    blocking(&set, || {
        let result = work();
        // One that waited before is the program's.
        if !waited_before && is_pending(signal) {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: a set and a time of this function; no information is asked for.
            unsafe { libc::sigtimedwait(&set, ptr::null_mut(), &at_once) };
        }
        result
    })
}

/// The set of this signal.
fn alone(signal: c_int) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` fills the set that is used next.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        set.assume_init()
    }
}

/// Whether this signal waits for this thread or the process.
fn is_pending(signal: c_int) -> bool {
    let mut pending = MaybeUninit::uninit();
    // SAFETY: `sigpending` fills the set.
    unsafe { libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), signal) == 1 }
}

/// Gives a thread its signals back.
struct Restore(libc::sigset_t);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: the mask that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
    }
}

/// Runs `work` while this thread does not take these signals.
fn blocking<R>(signals: &libc::sigset_t, work: impl FnOnce() -> R) -> R {
    let mut before = MaybeUninit::uninit();
    // SAFETY: sets of these functions; the second is filled, as the arguments are valid.
    let _restore = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, signals, before.as_mut_ptr());
        Restore(before.assume_init())
    };
    work()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_raises_a_signal_that_would_end_the_process_fails() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        drop(reader);
        // SAFETY: the default of a signal, which would end this process, and what it was before.
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let written = without_signal(libc::SIGPIPE, || writer.write_all(b"nobody reads this"));
        assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
        assert!(!is_pending(libc::SIGPIPE), "it was taken back");
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGPIPE, before) };
    }

    #[test]
    fn a_signal_of_the_program_that_waits_is_left_to_it() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        drop(reader);
        // Blocked by the program, and raised by it in this thread.
        blocking(&alone(libc::SIGPIPE), || {
            assert!(writer.write_all(b"nobody reads this").is_err());
            assert!(is_pending(libc::SIGPIPE));
            without_signal(libc::SIGPIPE, || writer.write_all(b"nor this").unwrap_err());
            assert!(is_pending(libc::SIGPIPE), "it waits still");
            without_signals(|| File::open("/dev/null").unwrap());
            // SAFETY: takes the signal, so that it does not end this process.
            unsafe { libc::sigwait(&alone(libc::SIGPIPE), &mut 0) };
        });
    }
}
