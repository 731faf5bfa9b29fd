//! Files by which a watcher asks the processes of a run to set control variables, and by which they answer.
//!
//! The watcher leaves a request in the run's directory, `rank-3.control`: a whole file at once, under a name that is not taken. The
//! process takes it away, sets the variables in its next MPI call, and leaves the answer, `rank-3.answer`, of which there is one from
//! the beginning: so a watcher knows who can be asked. Nothing of it is mapped. Whatever is in a request, or becomes of a watcher,
//! the process reads a small file, or does not.
//!
//! Only files of the user who reads them are read, which nobody else can read or write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::setting::Setting;
use crate::{access, regular_file};

/// The most bytes of a request, or of an answer.
pub const MOST_BYTES: u64 = 64 << 10;
/// The most settings in a request.
pub const MOST_SETTINGS: usize = 64;
/// The most bytes of a setting.
const MOST_TEXT: usize = 4096;

/// What is to be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// A number that no other request has.
    pub id: u64,
    /// The settings, each as `NAME=VALUE`.
    pub set: Vec<String>,
}

/// What a process says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The request that is answered; 0 where there was none yet.
    pub id: u64,
    /// What came of each setting.
    pub outcomes: Vec<Outcome>,
}

/// What came of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// `NAME=VALUE`
    pub setting: String,
    /// In a word.
    pub verdict: Verdict,
    /// In a line for the user, without the setting.
    pub text: String,
}

/// What came of a setting, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It has the value, as it was read back.
    Set,
    /// It has the value, which is known to change nothing.
    WithoutEffect,
    /// It was accepted, and reads back as something else.
    Otherwise,
    /// It may not have this value, or not now.
    Refused,
    /// It cannot be set any more.
    ReadOnly,
    /// There is no such variable.
    Unknown,
}

impl Verdict {
    /// Whether it has its value, and that may have an effect.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Verdict::Set
    }
}

/// The file of a request for this rank.
#[must_use]
pub fn request_file(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("rank-{rank}.control"))
}

/// The file of an answer of this rank.
#[must_use]
pub fn answer_file(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("rank-{rank}.answer"))
}

/// The ranks that can be asked, ascending.
#[must_use]
pub fn ranks(directory: &Path) -> Vec<u32> {
    let rank = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.strip_prefix("rank-")?.strip_suffix(".answer")?.parse().ok()
    };
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut ranks: Vec<u32> = entries.filter_map(rank).collect();
    ranks.sort_unstable();
    ranks
}

/// Reads a small file that belongs to this user alone.
///
/// # Errors
/// There is no such file; it is no plain file, is another user's, can be read or written by others, or is too large.
fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let file = regular_file::open(path)?;
    let found = file.metadata()?;
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()));
    if found.uid() != access::user() {
        return refused("it is another user's");
    }
    if found.mode() & 0o077 != 0 {
        return refused("others can read or write it");
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return refused("it is too large");
    }
    Ok(bytes)
}

/// Writes a file that belongs to this user alone, whole or not at all: in place of an earlier one, or, if not `replaces`, only where
/// there is none.
fn write_own(path: &Path, bytes: &[u8], replaces: bool) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = (|| {
        let _ = fs::remove_file(&part);
        let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(bytes)?;
        if replaces {
            return fs::rename(&part, path);
        }
        // Fails where there is one.
        fs::hard_link(&part, path)
    })();
    let _ = fs::remove_file(&part);
    written
}

impl Request {
    /// The request in some bytes.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub fn from_bytes(bytes: &[u8]) -> Result<Request, String> {
        let request: Request = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if request.id == 0 || request.set.is_empty() || request.set.len() > MOST_SETTINGS {
            return Err("it has no number, or none or too many settings".into());
        }
        let is_plain = |text: &String| text.len() <= MOST_TEXT && !text.chars().any(char::is_control);
        if !request.set.iter().all(is_plain) {
            return Err("a setting is too long, or no plain text".into());
        }
        Ok(request)
    }

    /// The settings, and those that are none.
    pub fn settings(&self) -> impl Iterator<Item = (&str, Result<Setting, &'static str>)> {
        self.set.iter().map(|text| (text.as_str(), text.parse()))
    }

    /// Leaves it for a rank.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] where the rank has not yet taken an earlier one; those of the file system.
    pub fn leave(&self, directory: &Path, rank: u32) -> io::Result<()> {
        write_own(&request_file(directory, rank), &serde_json::to_vec(self)?, false)
    }

    /// Takes the request for a rank away and gives it; `None` where there is none.
    ///
    /// # Errors
    /// The file is not this user's alone, or has no request, in a few words. It is gone nevertheless, if it can be.
    pub fn take(directory: &Path, rank: u32) -> Result<Option<Request>, String> {
        let path = request_file(directory, rank);
        let bytes = match read_own(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read,
        };
        let _ = fs::remove_file(&path);
        Request::from_bytes(&bytes.map_err(|error| error.to_string())?).map(Some)
    }
}

impl Answer {
    /// Leaves it, in place of the one before.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn leave(&self, directory: &Path, rank: u32) -> io::Result<()> {
        write_own(&answer_file(directory, rank), &serde_json::to_vec(self)?, true)
    }

    /// The last answer of a rank.
    ///
    /// # Errors
    /// There is none, or it is none.
    pub fn read(directory: &Path, rank: u32) -> io::Result<Answer> {
        Ok(serde_json::from_slice(&read_own(&answer_file(directory, rank))?)?)
    }
}

/// Removes what a rank has left, and a request that nobody will take. Rank 0 does so with requests that a watcher was killed over, too.
pub fn remove(directory: &Path, rank: u32) {
    let _ = fs::remove_file(answer_file(directory, rank));
    let _ = fs::remove_file(request_file(directory, rank));
    if rank == 0 {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("rank-") && name.contains(".control.") && name.ends_with(".part") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rank_0_removes_what_a_killed_watcher_was_about_to_write() {
        let room = tempfile::tempdir().unwrap();
        for name in ["rank-3.control.77.part", "rank-0.control", "rank-3.table", "notes.control.part"] {
            fs::write(room.path().join(name), "").unwrap();
        }
        remove(room.path(), 1);
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 4);
        remove(room.path(), 0);
        let mut left: Vec<_> =
            fs::read_dir(room.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["notes.control.part", "rank-3.table"]);
    }

    fn request() -> Request {
        Request { id: 7, set: vec!["mel_recording=0".into(), "a=b=c".into()] }
    }

    #[test]
    fn a_request_is_taken_once_as_it_was_left() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(Request::take(room.path(), 3), Ok(None));
        request().leave(room.path(), 3).unwrap();
        let error = request().leave(room.path(), 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "the first is not yet taken");
        assert_eq!(Request::take(room.path(), 3), Ok(Some(request())));
        assert_eq!(Request::take(room.path(), 3), Ok(None));
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn an_answer_replaces_the_one_before_and_names_who_can_be_asked() {
        let room = tempfile::tempdir().unwrap();
        Answer::default().leave(room.path(), 12).unwrap();
        Answer::default().leave(room.path(), 2).unwrap();
        let outcome = Outcome { setting: "a=1".into(), verdict: Verdict::Set, text: "set".into() };
        let answer = Answer { id: 7, outcomes: vec![outcome] };
        answer.leave(room.path(), 2).unwrap();
        assert_eq!(Answer::read(room.path(), 2).unwrap(), answer);
        assert_eq!(ranks(room.path()), [2, 12]);
        remove(room.path(), 2);
        assert_eq!(ranks(room.path()), [12]);
    }

    #[test]
    fn what_is_not_the_users_alone_is_refused_and_gone() {
        let room = tempfile::tempdir().unwrap();
        let path = request_file(room.path(), 0);
        let left = || request().leave(room.path(), 0).unwrap();
        for mode in [0o640, 0o604, 0o622, 0o666] {
            left();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Request::take(room.path(), 0), Err("others can read or write it".into()), "{mode:o}");
            assert!(!path.exists());
        }
        let elsewhere = room.path().join("elsewhere");
        left();
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(Request::take(room.path(), 0).is_err(), "a link");
        assert!(elsewhere.exists() && !path.exists());
        fs::create_dir(&path).unwrap();
        assert!(Request::take(room.path(), 0).unwrap_err().contains("it is a directory"));
        fs::remove_dir(&path).unwrap();
        write_own(&path, &vec![b' '; MOST_BYTES as usize + 1], false).unwrap();
        assert_eq!(Request::take(room.path(), 0), Err("it is too large".into()));
    }

    #[test]
    fn a_pipe_holds_nobody_up() {
        let room = tempfile::tempdir().unwrap();
        let path = request_file(room.path(), 0);
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(Request::take(room.path(), 0).unwrap_err().contains("it is a named pipe"));
    }

    #[test]
    fn a_setting_is_plain_text() {
        for set in [
            vec![],
            vec!["a=\n".to_owned()],
            vec!["a=".to_owned() + &"x".repeat(5000)],
            vec!["a=1".into(); 65],
        ] {
            let bytes = serde_json::to_vec(&Request { id: 1, set }).unwrap();
            assert!(Request::from_bytes(&bytes).is_err());
        }
        assert!(
            Request::from_bytes(&serde_json::to_vec(&Request { id: 0, set: vec!["a=1".into()] }).unwrap())
                .is_err()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// What a watcher leaves that has gone mad, or died while it wrote.
        #[test]
        fn rubbish_is_refused_or_is_a_request(
            rubbish in proptest::collection::vec(any::<u8>(), 0..200),
            cut in 0..100usize,
            (place, byte) in (0..100usize, any::<u8>()),
        ) {
            let _ = Request::from_bytes(&rubbish);
            let mut bytes = serde_json::to_vec(&request()).unwrap();
            if let Some(changed) = bytes.get_mut(place) {
                *changed = byte;
            }
            if let Ok(request) = Request::from_bytes(&bytes) {
                prop_assert!(!request.set.is_empty() && request.set.len() <= MOST_SETTINGS);
                request.settings().for_each(|(_, setting)| _ = setting);
            }
            let whole = serde_json::to_vec(&request()).unwrap();
            if cut < whole.len() {
                prop_assert!(Request::from_bytes(&whole[..cut]).is_err());
            }
        }
    }
}
