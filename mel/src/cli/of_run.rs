//! The run that a command is about: its directory, or a file in it; and what is missing of its files: a line each on standard error, and an
//! exit code of its own, so that scripts notice. The output is written all the same.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mel_log::profile::Profile;

use super::output;

/// What a run leaves in its directory has these names, or begins with a rank's.
const FILES: [&str; 3] = [mel_log::profile::file::FILE_NAME, "ranks.table", "traces.otf2"];
const OF_RANK: &str = "rank-";

/// The directory of a run, as users name it: itself, or a file in it that the run has left. What is not there yet is a directory.
pub(super) fn directory(word: &str) -> Result<PathBuf, String> {
    let path = Path::new(word);
    if !path.is_file() {
        return Ok(path.to_owned());
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if FILES.contains(&name) || name.starts_with(OF_RANK) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        return Ok(parent.unwrap_or(Path::new(".")).to_owned());
    }
    Err("it is a file; give the directory of a run, such as mel-app-1, which `mel run` names when it begins and ends".into())
}

/// Something of the run is missing: files were cut off, damaged, or are not there.
pub const INCOMPLETE: u8 = 3;

/// Complains of what is missing; the exit code of a command that has written what there is.
pub fn complain<S: AsRef<str>>(sentences: &[S]) -> ExitCode {
    for sentence in sentences {
        output::warn(sentence.as_ref());
    }
    code(sentences.is_empty())
}

/// The exit code of a command that has written what there is.
pub fn code(is_whole: bool) -> ExitCode {
    if is_whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) }
}

/// What is missing of a profile, in a sentence each.
pub fn missing(profile: &Profile) -> Vec<String> {
    let who = profile.missing_ranks().in_words();
    let of_many = Some(profile.missing_of_many()).filter(|missing| *missing > 0);
    let who = who.or_else(|| of_many.map(|missing| format!("{missing} of the ranks")));
    profile.incomplete.iter().cloned().chain(who.map(|who| format!("{who} left no profile"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_run_stands_for_its_directory() {
        let run = tempfile::tempdir().unwrap();
        let at = |name: &str| run.path().join(name).display().to_string();
        for name in [FILES[0], "rank-0.melog", "other.txt"] {
            std::fs::write(at(name), "").unwrap();
        }
        let here = Ok(run.path().to_owned());
        assert_eq!(directory(&at(FILES[0])), here);
        assert_eq!(directory(&at("rank-0.melog")), here);
        assert_eq!(directory(&run.path().display().to_string()), here);
        assert!(directory(&at("other.txt")).unwrap_err().contains("directory of a run"));
        assert_eq!(directory("not-there-yet"), Ok("not-there-yet".into()));
    }
}
