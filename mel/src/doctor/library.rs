//! Can `libmel.so` be preloaded?

use std::env;
use std::path::Path;
use std::process::Command;

use super::Finding;
use super::command::output_of;
use crate::cli::library::{self, Origin};

const WHAT: &str = "libmel.so";

pub(super) fn examine() -> Finding {
    let nothing = "nothing is measured";
    let command = match env::current_exe() {
        Ok(command) => command,
        Err(error) => return Finding::broken(WHAT, error.to_string(), nothing, "mount /proc"),
    };
    let (library, origin) = match library::find() {
        Ok(found) => found,
        // The sentence has the remedy.
        Err(error) => return Finding::broken(WHAT, error.to_string(), nothing, ""),
    };
    match why_not(&command, &library) {
        None => Finding::ok(WHAT, format!("{}{}, can be preloaded", library.display(), from(origin))),
        Some(why) => Finding::broken(
            WHAT,
            format!("{} cannot be preloaded: {why}", library.display()),
            nothing,
            "build MEL on this system or take a release for an older one (docs/install.md)",
        ),
    }
}

/// Where the library is from, if not from where it was installed.
fn from(origin: Origin) -> String {
    match origin {
        Origin::Installed => String::new(),
        Origin::Given => format!(", which {} names", library::VARIABLE),
        Origin::Bundled => ", unpacked from this command".into(),
    }
}

/// What the dynamic linker says against preloading a library. It only warns, and starts the program without.
fn why_not(command: &Path, library: &Path) -> Option<String> {
    let ended = output_of(Command::new(command).arg("--version").env("LD_PRELOAD", library), 20);
    let Some(ended) = ended else { return Some("a program with it does not start".into()) };
    let complaint = ended.err.lines().find(|line| line.contains("cannot be preloaded"));
    match complaint {
        Some(line) => Some(
            line.rsplit("preloaded").next().unwrap_or(line).trim_matches([' ', ':', '.', '(', ')']).into(),
        ),
        None if ended.well => None,
        None => Some(ended.last_words().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused_with_the_linkers_words() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libmel.so");
        std::fs::write(&library, "no library").unwrap();
        let why = why_not(Path::new("/bin/sh"), &library).unwrap();
        assert!(why.contains("invalid ELF header") || why.contains("file too short"), "{why}");
    }
}
