//! Opens what lies in the directory of a run: regular files, and nothing else.
//!
//! Others may have written into such a directory. A named pipe, a device, a socket or a link in the place of a file must neither hold the
//! reader up nor lead it elsewhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file for reading. The last part of the path must be no link; directories before it may be reached by links.
///
/// # Errors
/// Those of the file system; [`io::ErrorKind::InvalidInput`], with the remedy, where it is no regular file. It never waits.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, libc::O_NOFOLLOW).map_err(|error| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => refused("a link", "put the file itself there"),
        _ => error,
    })
}

/// The same for a file that somebody has named, or that a program has loaded: it may be reached by a link.
///
/// # Errors
/// As [`open`].
pub fn open_named(path: &Path) -> io::Result<File> {
    opened(path, 0)
}

/// All bytes of a regular file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn opened(path: &Path, flags: i32) -> io::Result<File> {
    // Without waiting: neither for somebody who writes into a pipe, nor for a device; and none becomes our terminal.
    let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => refused("a socket or a device", "remove it"),
        _ => error,
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(match kind {
        kind if kind.is_dir() => refused("a directory", "remove it"),
        kind if kind.is_fifo() => refused("a named pipe", "remove it"),
        _ => refused("a device", "remove it"),
    })
}

fn refused(what: &str, remedy: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file; {remedy}"))
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let room = tempfile::tempdir().unwrap();
        let path = |name: &str| room.path().join(name);
        fs::write(path("file"), "text").unwrap();
        fs::create_dir(path("directory")).unwrap();
        let pipe = CString::new(path("pipe").to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        let _listener = UnixListener::bind(path("socket")).unwrap();
        symlink(path("file"), path("link")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        symlink(path("pipe"), path("link-to-pipe")).unwrap();
        symlink(room.path(), path("elsewhere")).unwrap();

        assert_eq!(read(&path("file")).unwrap(), b"text");
        assert_eq!(read(&path("elsewhere/file")).unwrap(), b"text", "the directory may be reached by a link");
        for (name, what) in [
            ("directory", "a directory"),
            ("pipe", "a named pipe"),
            ("socket", "a socket"),
            ("link", "a link"),
            ("zero", "a link"),
            ("link-to-pipe", "a link"),
        ] {
            let error = open(&path(name)).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("not a regular file"), "{name}: {error}");
        }
        assert!(open_named(&path("link")).is_ok());
        assert!(open_named(&path("zero")).unwrap_err().to_string().contains("a device"));
        assert!(open_named(&path("link-to-pipe")).unwrap_err().to_string().contains("a named pipe"));
        assert_eq!(open(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
