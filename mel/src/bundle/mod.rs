//! The libraries as a part of the command, where it was built with the feature `bundled`: one file to copy. They are unpacked when they are
//! needed, since the dynamic linker preloads files.
//!
//! They go into a folder of the user's cache that has their version in its name, and that nobody else can write. Many ranks may do so at the
//! same time: a file is there as a whole, or it is not there.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

/// Libraries that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// MEL's version, and a hash of the libraries.
    pub version: &'static str,
    /// Their names and contents.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// What this command contains.
pub fn here() -> Option<Bundle> {
    #[cfg(feature = "bundled")]
    {
        mod made {
            use super::Bundle;
            include!(concat!(env!("OUT_DIR"), "/bundle.rs"));
            pub(in crate::bundle) const HERE: Bundle = BUNDLE;
        }
        Some(made::HERE)
    }
    #[cfg(not(feature = "bundled"))]
    None
}

/// The folders in which the libraries may be unpacked, best first: the user's cache, which the nodes of a cluster mostly share; else the node's
/// folder for temporary files. `variable` reads the environment.
pub fn folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home = || Some(set("HOME")?.join(".cache"));
    let user = mel_log::access::user();
    let temporary = set("TMPDIR").unwrap_or_else(|| "/tmp".into()).join(format!("mel-{user}"));
    let cache = set("XDG_CACHE_HOME").or_else(of_home).map(|cache| cache.join("mel"));
    let can_be_preloaded = |path: &PathBuf| !crate::cli::library::has_separator(path);
    cache.into_iter().chain([temporary]).filter(can_be_preloaded).collect()
}

impl Bundle {
    /// Unpacks the libraries into the first of the folders where that is possible, if they are not there already: the folder that has them.
    ///
    /// # Errors
    /// It is possible in none of them; the error is that of the first one.
    pub fn unpack(&self, folders: &[PathBuf]) -> anyhow::Result<PathBuf> {
        let mut first = None;
        for folder in folders {
            match self.unpack_into(folder) {
                Ok(folder) => return Ok(folder),
                Err(error) => _ = first.get_or_insert(error),
            }
        }
        let error = first.unwrap_or_else(|| anyhow!("there is no folder for them"));
        Err(error.context(
            "cannot unpack the libraries; let XDG_CACHE_HOME name a folder of yours, without blank and colon",
        ))
    }

    fn unpack_into(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let own = folder.join(self.version);
        for path in [folder, &own] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .with_context(|| format!("cannot make {}", path.display()))?;
            is_private(path)?;
        }
        let failed = || format!("cannot write into {}", own.display());
        let missing = || self.files.iter().filter(|(name, bytes)| !is_there(&own.join(name), bytes));
        if missing().next().is_none() {
            return Ok(own);
        }
        // One of many ranks writes; where it takes too long, each.
        let lock = File::create(own.join("lock")).with_context(failed)?;
        wait_for(&lock);
        for (name, bytes) in missing() {
            let mut file = tempfile::NamedTempFile::new_in(&own).with_context(failed)?;
            file.write_all(bytes).and_then(|()| file.as_file().sync_all()).with_context(failed)?;
            file.persist(own.join(name)).map_err(|error| error.error).with_context(failed)?;
        }
        Ok(own)
    }
}

/// Nobody but the user may have put something there: it is loaded into the user's programs.
fn is_private(folder: &Path) -> anyhow::Result<()> {
    let metadata =
        fs::symlink_metadata(folder).with_context(|| format!("cannot look at {}", folder.display()))?;
    let user = mel_log::access::user();
    ensure!(
        metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o022 == 0,
        "others can write into {}, so no library is loaded from there; remove it, or chmod go-w",
        folder.display()
    );
    Ok(())
}

/// Whether a file was unpacked. It has its name only when it is whole.
fn is_there(path: &Path, bytes: &[u8]) -> bool {
    fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.len() == bytes.len() as u64)
}

/// The longest that one waits for another that unpacks.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until nobody else has the file locked. Not all file systems have locks; then nobody waits.
fn wait_for(file: &File) {
    let begun = Instant::now();
    loop {
        // SAFETY: the descriptor is open as long as the file is borrowed.
        let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
        let is_taken = !locked && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
        if !is_taken || begun.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const BUNDLE: Bundle =
        Bundle { version: "0.1.0-abc", files: &[("libmel.so", b"one"), ("libother.so", b"two")] };

    fn is_whole(folder: &Path) {
        for (name, bytes) in BUNDLE.files {
            assert_eq!(fs::read(folder.join(name)).unwrap(), *bytes);
            assert_eq!(fs::metadata(folder.join(name)).unwrap().mode() & 0o077, 0);
        }
        assert_eq!(
            fs::read_dir(folder).unwrap().count(),
            BUNDLE.files.len() + 1,
            "nothing else but the lock"
        );
    }

    #[test]
    fn many_ranks_unpack_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let cache = vec![directory.path().join("cache/mel")];
        std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..8).map(|_| scope.spawn(|| BUNDLE.unpack(&cache).unwrap())).collect();
            for rank in ranks {
                assert_eq!(rank.join().unwrap(), cache[0].join("0.1.0-abc"));
            }
        });
        is_whole(&cache[0].join("0.1.0-abc"));
        assert_eq!(fs::metadata(&cache[0]).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn what_is_there_stays_and_what_is_cut_off_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let cache = vec![directory.path().join("mel")];
        let folder = BUNDLE.unpack(&cache).unwrap();
        let inode = |name: &str| fs::metadata(folder.join(name)).unwrap().ino();
        fs::write(folder.join("libother.so"), "t").unwrap();
        let before = inode("libmel.so");
        BUNDLE.unpack(&cache).unwrap();
        is_whole(&folder);
        assert_eq!(inode("libmel.so"), before);
    }

    #[test]
    fn nothing_is_loaded_from_where_others_can_write() {
        let directory = tempfile::tempdir().unwrap();
        let (open, own) = (directory.path().join("open"), directory.path().join("own"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let error = format!("{:#}", BUNDLE.unpack(std::slice::from_ref(&open)).unwrap_err());
        assert!(error.contains("others can write into") && error.contains("XDG_CACHE_HOME"), "{error}");
        assert_eq!(BUNDLE.unpack(&[open, own.clone()]).unwrap(), own.join("0.1.0-abc"));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(BUNDLE.unpack(&[link]).is_err(), "it may lead anywhere");
    }

    #[test]
    fn the_cache_comes_before_temporary_files() {
        let of = |set: &[(&str, &str)]| {
            let set = set.to_vec();
            folders(move |name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert!(of(&[])[0].starts_with("/tmp"));
        assert_eq!(of(&[("HOME", "/home/me")])[0], Path::new("/home/me/.cache/mel"));
        assert_eq!(of(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/cache")])[0], Path::new("/cache/mel"));
        assert!(of(&[("HOME", "/home/my self"), ("TMPDIR", "/scratch")])[0].starts_with("/scratch"));
    }
}
