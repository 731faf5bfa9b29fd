//! Other programs, for a limited time.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a program left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether it ended with exit code 0.
    pub well: bool,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Ended {
    /// The last line that says something, of standard error or else of standard output.
    pub fn last_words(&self) -> &str {
        let last = |text: &'_ str| text.trim_end().lines().next_back().map(str::len).unwrap_or(0);
        let text = if last(&self.err) > 0 { &self.err } else { &self.out };
        text.trim_end().lines().next_back().unwrap_or("nothing was printed").trim()
    }
}

/// Runs a program without input for at most `seconds`; then it is ended with what it has started. `None` where it cannot be
/// started.
pub fn output<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: &[S], seconds: u32) -> Option<Ended> {
    output_of(Command::new(program).args(arguments), seconds)
}

/// The same for a command with an environment of its own.
pub fn output_of(command: &Command, seconds: u32) -> Option<Ended> {
    // Of the core utilities: it ends a whole group of processes.
    let mut limited = Command::new("timeout");
    limited
        .args(["--kill-after=2", &seconds.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.stdin(Stdio::null()).output().ok()?;
    // By `timeout`: there is no such program, or it cannot be executed.
    if matches!(output.status.code(), Some(126 | 127)) {
        return None;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Ended { well: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) })
}

/// The first file of this name in the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let ended = output("sh", &["-c", "echo begun; sleep 600"], 1).unwrap();
        assert_eq!((ended.well, ended.out.as_str()), (false, "begun\n"));
    }

    #[test]
    fn a_program_that_is_not_there_is_none() {
        assert_eq!(output("/no/such/program", &[""; 0], 5), None);
        assert!(on_path("no-such-program-anywhere").is_none() && on_path("sh").is_some());
    }

    #[test]
    fn the_last_words_are_of_standard_error() {
        let ended = output("sh", &["-c", "echo out; echo err >&2; exit 3"], 20).unwrap();
        assert_eq!((ended.well, ended.last_words()), (false, "err"));
        let ended = output("sh", &["-c", "echo out"], 20).unwrap();
        assert_eq!((ended.well, ended.last_words()), (true, "out"));
        assert_eq!(output("true", &[""; 0], 20).unwrap().last_words(), "nothing was printed");
    }
}
