//! The run that a command is about: its directory, or a file in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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
