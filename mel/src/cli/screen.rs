//! The terminal on which the end of a run is read: that of `mel run`, or that to which a launcher passes on what ranks write.

use std::fs::{File, OpenOptions, read_link, read_to_string};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mel_log::profile::text::Screen;
use terminal_size::{Width, terminal_size_of};

/// Launchers are below so many processes, such as shells, proxies and wrappers.
const MOST_PARENTS: usize = 8;

/// The terminal of this process or, where that writes into a pipe, of the next process above it that does not. `None` where it is a file,
/// or cannot be known: on another node than the launcher's, say.
pub(super) fn screen() -> Option<Screen> {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let is_plain = is_set("NO_COLOR") || std::env::var("TERM").is_ok_and(|term| term == "dumb");
    let width = width_of(std::io::stderr())
        .or_else(|| if is_passed_on(Path::new("/proc/self/fd/2")) { of_parents() } else { None })?;
    Some(Screen::new(width.into(), !is_plain))
}

/// How wide a terminal is; one without a size is a launcher's own.
fn width_of(terminal: impl AsFd + IsTerminal) -> Option<u16> {
    let (Width(width), _) = terminal.is_terminal().then(|| terminal_size_of(&terminal))??;
    (width > 0).then_some(width)
}

/// Whether what is written there goes to another process: into a pipe, a socket, or the terminal that a launcher has made.
fn is_passed_on(descriptor: &Path) -> bool {
    read_link(descriptor).is_ok_and(|target| {
        let target = target.to_string_lossy();
        target.starts_with("pipe:") || target.starts_with("socket:") || target.starts_with("/dev/pts/")
    })
}

fn of_parents() -> Option<u16> {
    let mut process = parent("self")?;
    for _ in 0..MOST_PARENTS {
        let descriptor = PathBuf::from(format!("/proc/{process}/fd/2"));
        if let Some(width) = opened(&descriptor).and_then(width_of) {
            return Some(width);
        }
        if !is_passed_on(&descriptor) {
            return None;
        }
        process = parent(&process)?;
    }
    None
}

/// The terminal that a process writes to, without becoming its own.
fn opened(descriptor: &Path) -> Option<File> {
    let target = read_link(descriptor).ok().filter(|target| target.starts_with("/dev"))?;
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(target)
        .ok()
}

fn parent(process: &str) -> Option<String> {
    let stat = read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may have any letters: the state, and the parent.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
    (parent != "0").then(|| parent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_is_found() {
        assert_eq!(parent("self"), Some(std::os::unix::process::parent_id().to_string()));
        assert_eq!(parent("1"), None);
        assert_eq!(parent("no process"), None);
    }

    #[test]
    fn a_file_is_no_terminal() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(width_of(file), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        let link = file.path().with_extension("link");
        std::os::unix::fs::symlink(file.path(), &link).unwrap();
        assert!(!is_passed_on(&link) && opened(&link).is_none());
        std::fs::remove_file(link).unwrap();
    }
}
