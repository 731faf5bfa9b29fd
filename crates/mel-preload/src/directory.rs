//! The run's directory: chosen by rank 0, agreed by all.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mel_log::access;
use mel_log::launcher::Job;
use mel_log::run_directory::{default_stem, earlier, in_the_way, of_pattern};
use mpi_abi::{Comm, pmpi};

use super::config::Config;

/// Makes the directory of a run. A given one may exist: empty, with other files, or with an earlier
/// run if `force`, which is then removed. Without one, the first free `mel-PROGRAM-N` is made, in a job of a batch system
/// `mel-PROGRAM-JOB-N`. A job that another one has started gets the first free `GIVEN-spawned-N`.
///
/// # Errors
/// A line for the user that says what to do.
pub fn make(config: &Config, spawned: bool) -> Result<PathBuf, String> {
    let advice = |path: &Path, error: io::Error| {
        format!(
            "cannot write into {}: {error}; give another directory with -o (no files are written)",
            path.display()
        )
    };
    let first_free = |stem: &OsStr| {
        let mut numbers = 1u64..;
        loop {
            let mut path = stem.to_owned();
            path.push(format!("-{}", numbers.next().unwrap_or_default()));
            match access::create_directory(path.as_ref()) {
                Ok(()) => return absolute(path.as_ref()).map_err(|error| advice(path.as_ref(), error)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(advice(path.as_ref(), error)),
            }
        }
    };
    let job = Job::here();
    let Some(given) = &config.output else {
        return first_free(default_stem(&config.program, job.as_ref()).as_ref());
    };
    let given = &of_pattern(given, job.as_ref());
    if spawned {
        let mut stem = given.clone().into_os_string();
        stem.push("-spawned");
        return first_free(&stem);
    }
    if let Some(objection) = access::objection_to_directory(given) {
        return Err(format!("{objection} (no files are written)"));
    }
    access::create_directories(given).map_err(|error| advice(given, error))?;
    let earlier = earlier(given).map_err(|error| advice(given, error))?;
    if !earlier.is_empty() && !config.force {
        return Err(format!("{} (no files are written)", in_the_way(given)));
    }
    for path in earlier {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| advice(given, error))?;
    }
    // Seen now rather than at the end: may we write here at all?
    let probe = given.join("rank-0.part");
    access::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(|error| advice(given, error))?;
    absolute(given).map_err(|error| advice(given, error))
}

fn absolute(path: &Path) -> io::Result<PathBuf> {
    // The program may change its working directory.
    fs::canonicalize(path)
}

/// Rank 0 makes the directory, names it in a line, and sends its path to all; `None` where there is none.
pub fn agree(config: &Config, rank: i32, world: Comm) -> Option<PathBuf> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut path = Vec::new();
    if rank == 0 {
        // Both jobs have inherited the same wishes, and must not write into each other's files.
        match make(config, pmpi::has_parent()) {
            Ok(made) => {
                // Whoever is killed is left with what stands there.
                super::warn(&format!("measuring; the results go to {}", made.display()));
                path = made.as_os_str().as_bytes().to_vec();
            }
            Err(line) => super::warn(&line),
        }
    }
    let mut length = [path.len() as u64];
    pmpi::bcast(&mut length, 0, world).ok()?;
    path.resize(length[0] as usize, 0);
    if path.is_empty() {
        return None;
    }
    pmpi::bcast(&mut path, 0, world).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(output: &Path, force: bool) -> Config {
        Config { output: Some(output.to_owned()), force, ..Config::default() }
    }

    #[test]
    fn an_earlier_run_is_never_overwritten_without_force() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("run");
        make(&config(&path, false), false).unwrap();
        fs::write(path.join("notes"), "mine").unwrap();
        make(&config(&path, false), false).unwrap();
        // All that a run of more ranks leaves when it is killed.
        fs::write(path.join("rank-7.table"), "").unwrap();
        assert!(make(&config(&path, false), false).unwrap_err().contains("--force"));
        fs::write(path.join("profile.json"), "{}").unwrap();
        let error = make(&config(&path, false), false).unwrap_err();
        assert!(error.contains("--force"), "{error}");
        assert!(path.join("profile.json").exists());
        make(&config(&path, true), false).unwrap();
        assert!(!path.join("profile.json").exists() && !path.join("rank-7.table").exists());
        assert!(path.join("notes").exists(), "only what is ours is removed");
    }

    #[test]
    fn a_job_that_another_one_has_started_has_a_place_of_its_own() {
        let room = tempfile::tempdir().unwrap();
        let room = room.path().canonicalize().unwrap();
        let config = config(&room.join("run"), true);
        assert_eq!(make(&config, false).unwrap(), room.join("run"));
        assert_eq!(make(&config, true).unwrap(), room.join("run-spawned-1"));
        assert_eq!(make(&config, true).unwrap(), room.join("run-spawned-2"));
    }

    #[test]
    fn an_unwritable_place_is_told_with_the_remedy() {
        let error = make(&config(Path::new("/proc/none/run"), false), false).unwrap_err();
        assert!(error.contains("-o") && error.contains("/proc/none/run"), "{error}");
    }
}
