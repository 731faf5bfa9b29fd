//! `profile.json` in the directory of a run.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::schema::Profile;
use crate::ranks::contradiction;
use crate::{access, regular_file};

/// The name of the profile of a whole run.
pub const FILE_NAME: &str = "profile.json";

/// Why a profile cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file system said no.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the file system said.
        error: io::Error,
    },
    /// It is not a profile.
    #[error("{path} is not a profile of mel: {error}")]
    NotAProfile {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        error: serde_json::Error,
    },
    /// There is no profile at all.
    #[error(
        "{0} holds no profile: was the program run with `mel run`, without `--profile none`, and did it call MPI_Init?"
    )]
    Absent(PathBuf),
}

/// Writes a profile in one step: a reader sees the old file or the new one, never half of it.
///
/// # Errors
/// Those of the file system; no half file is left behind.
pub fn write(path: &Path, profile: &Profile) -> io::Result<()> {
    let unfinished = path.with_extension("json.part");
    let result = write_whole(&unfinished, profile).and_then(|()| fs::rename(&unfinished, path));
    if result.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    result
}

/// One rank per line, so that the file can be looked at as well as parsed.
fn write_whole(path: &Path, profile: &Profile) -> io::Result<()> {
    let mut out = io::BufWriter::new(access::replace(path)?);
    let ranks = profile.ranks.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let mut run = serde_json::to_value(Profile { ranks: Vec::new(), ..profile.clone() })?;
    if let Some(fields) = run.as_object_mut() {
        fields.remove("ranks");
    }
    let run = serde_json::to_string_pretty(&run)?;
    let run = run.trim_end().trim_end_matches('}').trim_end();
    writeln!(out, "{run},\n  \"ranks\": [\n    {}\n  ]\n}}", ranks.join(",\n    "))?;
    out.flush()
}

/// Reads one profile.
///
/// # Errors
/// [`ProfileError::Io`], [`ProfileError::NotAProfile`].
pub fn read(path: &Path) -> Result<Profile, ProfileError> {
    let text = regular_file::read(path).map_err(|error| ProfileError::Io { path: path.to_owned(), error })?;
    parse(&text).map_err(|error| ProfileError::NotAProfile { path: path.to_owned(), error })
}

/// A profile from its text, if what it says of its ranks can be.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &[u8]) -> Result<Profile, serde_json::Error> {
    let mut profile: Profile = serde_json::from_slice(text)?;
    // Of two entries of a rank the first one stays.
    profile.ranks.sort_by_key(|rank| rank.rank);
    profile.ranks.dedup_by_key(|rank| rank.rank);
    let ranks = profile.ranks.iter().map(|rank| rank.rank).chain([0]);
    let many = profile.reduced.iter().map(|reduced| reduced.ranks.saturating_sub(1));
    match ranks.chain(many).find_map(|rank| contradiction(rank, profile.world_size)) {
        Some(why) => Err(serde::de::Error::custom(why)),
        None => Ok(profile),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Histogram, RankProfile};

    fn profile(ranks: &[u32], host: &str) -> Profile {
        let ranks =
            ranks.iter().map(|rank| RankProfile { rank: *rank, host: host.into(), ..RankProfile::default() });
        Profile { command: vec!["./a \"b\"}".into()], ranks: ranks.collect(), ..Profile::default() }
    }

    #[test]
    fn a_profile_comes_back_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        for mut written in [profile(&[], ""), profile(&[0], "a"), profile(&[0, 1, 2], "b")] {
            if let Some(rank) = written.ranks.first_mut() {
                rank.posted.lifetimes = Histogram(vec![(1, 2, 3)]);
                rank.posted.max_s = 0.1 + 0.2;
            }
            write(&path, &written).unwrap();
            assert_eq!(read(&path).unwrap(), written);
        }
        let names: Vec<_> = fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, [FILE_NAME], "nothing unfinished is left");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains("\"rank\":")).count(), 3, "{text}");
    }

    #[test]
    fn no_mutilated_profile_is_more_than_an_error() {
        use crate::profile::{sample, text};
        use crate::ranks::MOST_RANKS;
        let whole = serde_json::to_vec(&sample::traffic(3)).unwrap();
        let mut state = 1u64;
        let mut next = |most: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most
        };
        let pieces =
            ["4294967295", "-1", "1e308", "18446744073709551615", "4194304", "null", "[]", "{}", "\"\"", ","];
        let mut read = 0;
        for _ in 0..1000 {
            let mut bytes = whole.clone();
            for _ in 0..=next(2) {
                let digits: Vec<usize> = (1..bytes.len())
                    .filter(|at| bytes[*at].is_ascii_digit() && !bytes[at - 1].is_ascii_digit())
                    .collect();
                let at = if next(4) == 0 { next(bytes.len()) } else { digits[next(digits.len())] };
                let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count().max(1);
                bytes.splice(at..at + length, pieces[next(pieces.len())].bytes());
            }
            let Some(profile) = parse(&bytes).ok() else { continue };
            read += 1;
            assert!(
                profile.world_size <= MOST_RANKS && profile.ranks.iter().all(|rank| rank.rank < MOST_RANKS)
            );
            let _ = (profile.missing_ranks().in_words(), text::report(&profile, text::Options::default()));
        }
        assert!(read > 150, "{read} of them are profiles still");
    }

    #[test]
    fn errors_name_the_file_and_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let absent = ProfileError::Absent(directory.path().to_owned()).to_string();
        assert!(absent.contains("`mel run`"), "{absent}");
        let path = directory.path().join(FILE_NAME);
        fs::write(&path, "{").unwrap();
        let broken = read(&path).unwrap_err().to_string();
        assert!(broken.contains("profile.json is not a profile"), "{broken}");
        let missing = read(&directory.path().join("none")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read "), "{missing}");
    }
}
