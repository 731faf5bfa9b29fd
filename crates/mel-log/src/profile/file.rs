//! `profile.json` and `rank-N.profile.json` in the directory of a run.
//!
//! A rank that ends without `MPI_Finalize` can no longer hand its numbers to rank 0: it leaves a
//! partial profile, which holds itself as the only rank. Reading a run joins what there is.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::phases::place_of;
use super::schema::Profile;
use crate::ranks::contradiction;
use crate::{access, regular_file};

/// The name of the profile of a whole run.
pub const FILE_NAME: &str = "profile.json";

/// The name of the profile of one rank.
pub fn partial_name(rank: u32) -> String {
    format!("rank-{rank}.profile.json")
}

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
    let profile: Profile = serde_json::from_slice(text)?;
    let ranks = profile.ranks.iter().map(|rank| rank.rank).chain([0]);
    let many = profile.reduced.iter().map(|reduced| reduced.ranks.saturating_sub(1));
    match ranks.chain(many).find_map(|rank| contradiction(rank, profile.world_size)) {
        Some(why) => Err(serde::de::Error::custom(why)),
        None => Ok(profile),
    }
}

/// Reads the profile of a run: `profile.json`, and the partial profiles of ranks that it lacks.
///
/// # Errors
/// [`ProfileError`]; [`ProfileError::Absent`] if there is neither.
pub fn read_run(directory: &Path) -> Result<Profile, ProfileError> {
    let io = |error| ProfileError::Io { path: directory.to_owned(), error };
    let mut partials = Vec::new();
    for entry in fs::read_dir(directory).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        let rank = name.to_str().and_then(|name| name.strip_prefix("rank-")?.strip_suffix(".profile.json"));
        if rank.is_some_and(|rank| rank.parse::<u32>().is_ok()) {
            partials.push(directory.join(name));
        }
    }
    partials.sort();
    let whole = directory.join(FILE_NAME);
    let mut profiles = Vec::new();
    for path in whole.exists().then_some(whole).into_iter().chain(partials) {
        profiles.push(read(&path)?);
    }
    merge(profiles).ok_or_else(|| ProfileError::Absent(directory.to_owned()))
}

/// Joins profiles of one run. What is said about the run comes from the first, the ranks from all;
/// where two have the same rank, the first is taken. Call sites and communicators that several have are one, and so are
/// phases of one name.
pub fn merge(profiles: impl IntoIterator<Item = Profile>) -> Option<Profile> {
    let mut profiles = profiles.into_iter();
    let mut merged = profiles.next()?;
    let mut said = merged.said_sizes();
    for mut profile in profiles {
        said.extend(profile.said_sizes());
        merged.duration_s = merged.duration_s.max(profile.duration_s);
        let sites = places_in(&mut merged.sites, std::mem::take(&mut profile.sites));
        let communicators = places_in(&mut merged.communicators, std::mem::take(&mut profile.communicators));
        let phases: Vec<u32> = profile.phases.iter().map(|name| place_of(&mut merged.phases, name)).collect();
        let phase_of = |place: u32| phases.get(place as usize).copied().unwrap_or(0);
        merged.incomplete.append(&mut profile.incomplete);
        for last in profile.ranks.iter_mut().filter_map(|rank| rank.last_call.as_mut()) {
            last.site = last.site.and_then(|place| sites.get(place as usize).copied());
            last.communicator =
                last.communicator.and_then(|place| communicators.get(place as usize).copied());
        }
        for rank in &mut profile.ranks {
            rank.calls.iter_mut().for_each(|call| call.phase = phase_of(call.phase));
            rank.phases.iter_mut().for_each(|phase| phase.phase = phase_of(phase.phase));
            rank.connections.iter_mut().for_each(|row| row.phase = phase_of(row.phase));
            for traffic in &mut rank.traffic {
                traffic.phase = phase_of(traffic.phase);
                traffic.communicator =
                    traffic.communicator.and_then(|place| communicators.get(place as usize).copied());
            }
        }
        for call in profile.ranks.iter_mut().flat_map(|rank| &mut rank.calls) {
            call.site = call.site.and_then(|place| sites.get(place as usize).copied());
            call.communicator =
                call.communicator.and_then(|place| communicators.get(place as usize).copied());
            for wait in &mut call.waits {
                wait.peer_site = wait.peer_site.and_then(|place| sites.get(place as usize).copied());
            }
        }
        merged.ranks.extend(profile.ranks);
    }
    // Stable, so that of two entries of a rank the first one stays first.
    merged.ranks.sort_by_key(|rank| rank.rank);
    merged.ranks.dedup_by_key(|rank| rank.rank);
    merged.settle_size(&said, "profile");
    Some(merged)
}

/// Adds what a list lacks of another; where each entry of the other is in it then.
fn places_in<T: PartialEq>(list: &mut Vec<T>, others: Vec<T>) -> Vec<u32> {
    let place = |other: T| {
        let place = list.iter().position(|one| *one == other).unwrap_or_else(|| {
            list.push(other);
            list.len() - 1
        });
        place as u32
    };
    others.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Ended, Histogram, RankProfile};

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
    fn partial_profiles_fill_the_gaps() {
        let directory = tempfile::tempdir().unwrap();
        let write_to = |name: &str, profile: &Profile| write(&directory.path().join(name), profile).unwrap();
        assert!(matches!(read_run(directory.path()), Err(ProfileError::Absent(_))));
        let mut partial = profile(&[10], "partial");
        partial.ranks[0].ended = Ended::Exited;
        write_to(&partial_name(10), &partial);
        write_to(&partial_name(2), &profile(&[2], "partial"));
        let alone = read_run(directory.path()).unwrap();
        assert_eq!(alone.ranks.iter().map(|r| r.rank).collect::<Vec<_>>(), [2, 10]);
        write_to(FILE_NAME, &profile(&[0, 2], "whole"));
        fs::write(directory.path().join("rank-x.profile.json"), "not ours").unwrap();
        let joined = read_run(directory.path()).unwrap();
        let ranks: Vec<_> = joined.ranks.iter().map(|r| (r.rank, r.host.as_str(), r.ended)).collect();
        assert_eq!(
            ranks,
            [(0, "whole", Ended::Finalised), (2, "whole", Ended::Finalised), (10, "partial", Ended::Exited)]
        );
    }

    #[test]
    fn joined_profiles_keep_their_call_sites() {
        use crate::profile::{sample, sums};
        let whole = sample::late_rank(4, 1);
        let mut partials: Vec<Profile> =
            (0..4).map(|rank| Profile { ranks: vec![whole.ranks[rank].clone()], ..whole.clone() }).collect();
        // The others have found their call sites in another order.
        for partial in &mut partials[1..] {
            partial.sites.reverse();
            let last = partial.sites.len() as u32 - 1;
            for call in &mut partial.ranks[0].calls {
                call.site = call.site.map(|place| last - place);
                call.waits
                    .iter_mut()
                    .for_each(|wait| wait.peer_site = wait.peer_site.map(|place| last - place));
            }
        }
        let joined = merge(partials).unwrap();
        assert_eq!(joined.sites, whole.sites);
        assert_eq!(sums::by_site(&joined), sums::by_site(&whole));
        assert_eq!(sums::waits(&joined), sums::waits(&whole));
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
            let Some(profile) = parse(&bytes).ok().and_then(|profile| merge([profile])) else { continue };
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
        let absent = read_run(directory.path()).unwrap_err().to_string();
        assert!(absent.contains("`mel run`"), "{absent}");
        let path = directory.path().join(FILE_NAME);
        fs::write(&path, "{").unwrap();
        let broken = read_run(directory.path()).unwrap_err().to_string();
        assert!(broken.contains("profile.json is not a profile"), "{broken}");
        let missing = read_run(&directory.path().join("none")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read "), "{missing}");
    }
}
