//! Files of ours that stay open in somebody else's process.
//!
//! A program may close descriptors that it has not opened: by closing one of its own twice, with `closefrom`, or to become a daemon.
//! The numbers then go to files of its own. Hence a descriptor that we keep has a high number, which such programs meet last; all use of
//! it goes through [`OwnFile`], which first looks whether it still leads to our file; and nothing is done where it does not.
//!
//! Between that look and the use lies one system call. Only a program that closes our descriptor and opens a file in another thread, just
//! then, and gets the same high number, is not noticed.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the system calls a file, as long as somebody has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The number of its device.
    pub device: u64,
    /// Its number on that device.
    pub inode: u64,
}

impl Identity {
    /// That of the file behind a descriptor; `None` where the descriptor is closed. A system call. From any thread, and signal-safe.
    pub fn of(descriptor: RawFd) -> Option<Identity> {
        // SAFETY: plain data, for which zeros are valid.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: a valid output; the system checks the descriptor.
        let found = unsafe { libc::fstat(descriptor, &raw mut status) } == 0;
        found.then_some(Identity { device: status.st_dev, inode: status.st_ino })
    }
}

/// A file of ours that stays open while the program runs. From any thread. Closed when it is dropped, if it still is ours.
#[derive(Debug)]
pub struct OwnFile {
    file: ManuallyDrop<File>,
    identity: Identity,
}

impl OwnFile {
    /// Keeps a file open, under a high number where the system has one.
    ///
    /// # Errors
    /// [`is_taken`]: somebody has closed it at the same time.
    pub fn keep(file: File) -> io::Result<OwnFile> {
        let identity = Identity::of(file.as_raw_fd()).ok_or(Taken)?;
        let own = OwnFile { file: ManuallyDrop::new(out_of_the_way(file)), identity };
        own.check()?;
        Ok(own)
    }

    /// Does one thing with the file, if it still is ours, and looks again afterwards: what a mapping leads to is known then.
    ///
    /// # Errors
    /// [`is_taken`]; else those of `act`.
    pub fn with<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        self.check()?;
        let done = act(&self.file);
        self.check()?;
        done
    }

    /// By which number and as what others find the file.
    pub fn place(&self) -> (RawFd, Identity) {
        (self.file.as_raw_fd(), self.identity)
    }

    fn check(&self) -> io::Result<()> {
        if self.is_ours() {
            return Ok(());
        }
        if !TAKEN.swap(true, Ordering::Relaxed)
            && let Some(notify) = NOTIFY.get()
        {
            notify();
        }
        Err(Taken.into())
    }

    fn is_ours(&self) -> bool {
        Identity::of(self.file.as_raw_fd()) == Some(self.identity)
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: here only, and nobody uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// Whether a descriptor was found to be the program's.
static TAKEN: AtomicBool = AtomicBool::new(false);
static NOTIFY: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Names who is notified when the first descriptor of ours is found to be closed or the program's; once in a process, the first one who
/// asks. It runs in whatever thread finds it, possibly with locks of its own held, and must use no [`OwnFile`].
pub fn on_taken(notify: impl Fn() + Send + Sync + 'static) {
    let _ = NOTIFY.set(Box::new(notify));
}

/// The descriptor leads to a file of the program's, or nowhere.
#[derive(Debug, thiserror::Error)]
#[error("the program has closed its file descriptor")]
struct Taken;

impl From<Taken> for io::Error {
    fn from(taken: Taken) -> io::Error {
        io::Error::other(taken)
    }
}

/// Whether a file could not be used because its descriptor is not ours any more.
pub fn is_taken(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Taken>())
}

/// The same file under a high number, an eighth below the limit and below 1024: the system's table of descriptors is as long as the
/// highest of them. Where there is none, the file as it is.
#[must_use]
pub fn out_of_the_way(file: File) -> File {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid output.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return file;
    }
    let limit = limit.rlim_cur.min(1024) as libc::c_int;
    // SAFETY: a system call on an open file, with numbers only.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, limit - limit / 8) };
    if high < 0 {
        return file;
    }
    // SAFETY: the descriptor is new and ours alone.
    unsafe { File::from_raw_fd(high) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn content(file: &File) -> Vec<u8> {
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn a_descriptor_that_is_the_programs_is_neither_used_nor_closed() {
        let ours = tempfile::tempfile().unwrap();
        let own = OwnFile::keep(ours.try_clone().unwrap()).unwrap();
        own.with(|file| file.write_all_at(b"ours", 0)).unwrap();
        let (number, _) = own.place();
        let mut theirs = tempfile::tempfile().unwrap();
        theirs.write_all(b"theirs").unwrap();
        // SAFETY: two open descriptors: what a program does that closes ours.
        assert_eq!(unsafe { libc::dup2(theirs.as_raw_fd(), number) }, number);
        let error = own.with(|file| file.write_all_at(b"more", 4)).unwrap_err();
        assert!(is_taken(&error), "{error}");
        drop(own);
        assert_eq!(Identity::of(number), Identity::of(theirs.as_raw_fd()), "it is left open");
        // SAFETY: the descriptor that was made above, which nobody uses.
        unsafe { libc::close(number) };
        assert_eq!((content(&theirs), content(&ours)), (b"theirs".into(), b"ours".into()));
    }

    #[test]
    fn what_happens_to_the_descriptor_during_the_use_is_noticed() {
        let own = OwnFile::keep(tempfile::tempfile().unwrap()).unwrap();
        let (number, _) = own.place();
        // SAFETY: what a program does that closes ours.
        let done = own.with(|_| Ok(unsafe { libc::close(number) }));
        assert!(is_taken(&done.unwrap_err()));
    }

    #[test]
    fn a_kept_file_has_a_high_number_and_ends_with_exec() {
        let file = tempfile::tempfile().unwrap();
        let low = file.as_raw_fd();
        let own = OwnFile::keep(file).unwrap();
        let (number, identity) = own.place();
        assert!(number > low && number < 1024, "{number}");
        // SAFETY: a system call on an open file, with numbers only.
        assert_eq!(unsafe { libc::fcntl(number, libc::F_GETFD) }, libc::FD_CLOEXEC);
        drop(own);
        assert_ne!(Identity::of(number), Some(identity));
    }
}
