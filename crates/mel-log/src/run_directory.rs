//! The directory of a run: its name, and what an earlier run has left in it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::launcher::Job;

/// What stands for the job where there is none.
const NO_JOB: &str = "none";

/// The directory that a user has given, with the job in place of `%j` (`4711`, or `4711_3` in an array of jobs), the number of the
/// array in place of `%A`, the index in place of `%a`, as in the names of Slurm's own files; `%%` is a percent sign. Outside of a job each
/// is `none`.
pub fn of_pattern(given: &Path, job: Option<&Job>) -> PathBuf {
    let mut name = Vec::new();
    let mut bytes = given.as_os_str().as_bytes().iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            name.push(byte);
            continue;
        }
        let of_job = |part: &dyn Fn(&Job) -> Option<String>| job.and_then(part).unwrap_or(NO_JOB.to_owned());
        match bytes.next() {
            Some(b'j') => name.extend(of_job(&|job| Some(job.name())).bytes()),
            Some(b'A') => name.extend(of_job(&|job| Some(job.id.clone())).bytes()),
            Some(b'a') => name.extend(of_job(&|job| job.index.clone()).bytes()),
            Some(b'%') => name.push(b'%'),
            other => name.extend([b'%'].into_iter().chain(other)),
        }
    }
    OsString::from_vec(name).into()
}

/// The name of a run's directory where none is given, without its number: `mel-app`, in a job of a batch system `mel-app-4711`.
pub fn default_stem(program: &str, job: Option<&Job>) -> String {
    match job {
        Some(job) => format!("mel-{program}-{}", job.name()),
        None => format!("mel-{program}"),
    }
}

/// The file with what the watchdog of a run has said, which `mel run --stuck-after` starts: that of a rank other than 0 has its number before.
pub const STUCK: &str = "stuck.json";

/// Whether a run leaves a file or directory of this name.
fn is_of_a_run(name: &str) -> bool {
    name == "profile.json"
        || name == "ranks.table"
        || name == "profile.json.part"
        || name == STUCK
        || name == "stuck.part"
        || name == "traces"
        || name.starts_with("traces.")
        || (name.starts_with("rank-")
            && [".mlog", ".table", ".json", ".part", ".control", ".answer"]
                .iter()
                .any(|ending| name.ends_with(ending)))
        || (name.starts_with("events-") && name.ends_with(".txt"))
}

/// What an earlier run has left in a directory: files and directories. Nothing where there is no such directory.
///
/// # Errors
/// Those of the file system, other than that.
pub fn earlier(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let of_a_run = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_of_a_run))
        .map(|entry| entry.path());
    Ok(of_a_run.collect())
}

/// What is to be said of an earlier run that is in the way.
pub fn in_the_way(directory: &Path) -> String {
    format!(
        "{} holds an earlier run; overwrite it with --force or give another directory with -o",
        directory.display()
    )
}

/// Whether one of these files was there before an instant.
pub fn is_older(files: &[PathBuf], instant: SystemTime) -> bool {
    files.iter().filter_map(|file| fs::metadata(file).ok()).any(|file| {
        let times = [file.created(), file.modified()];
        times.into_iter().flatten().any(|time| time < instant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_pattern_names_the_job() {
        let array = Job { id: "4711".into(), index: Some("3".into()) };
        let one = Job { id: "4711".into(), index: None };
        let name = |given: &str, job| of_pattern(Path::new(given), job).display().to_string();
        assert_eq!(name("/scratch/run-%j", Some(&array)), "/scratch/run-4711_3");
        assert_eq!(name("run-%A/%a", Some(&array)), "run-4711/3");
        assert_eq!(name("run-%j-%a", Some(&one)), "run-4711-none");
        assert_eq!(name("run-%j", None), "run-none");
        assert_eq!(name("50%%, 5%x, 1%", Some(&one)), "50%, 5%x, 1%");
    }

    #[test]
    fn in_a_job_the_default_name_has_its_number() {
        assert_eq!(default_stem("app", None), "mel-app");
        let job = Job { id: "4711".into(), index: Some("3".into()) };
        assert_eq!(default_stem("app", Some(&job)), "mel-app-4711_3");
    }

    #[test]
    fn files_of_others_are_no_run() {
        let room = tempfile::tempdir().unwrap();
        assert!(earlier(&room.path().join("none")).unwrap().is_empty());
        fs::write(room.path().join("notes"), "mine").unwrap();
        assert!(earlier(room.path()).unwrap().is_empty());
        for name in ["profile.json", "rank-3.table", "traces.otf2", STUCK, "rank-8.stuck.json"] {
            let file = room.path().join(name);
            fs::write(&file, "").unwrap();
            assert_eq!(earlier(room.path()).unwrap(), std::slice::from_ref(&file));
            fs::remove_file(file).unwrap();
        }
    }

    #[test]
    fn a_file_of_now_is_not_older() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let files = [file.path().to_owned()];
        let (hour, now) = (Duration::from_secs(3600), SystemTime::now());
        assert!(!is_older(&files, now - hour) && is_older(&files, now + hour));
        assert!(!is_older(&[], now + hour));
    }
}
