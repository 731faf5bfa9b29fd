//! The profile of a run from what is in its directory: `profile.json`, or the tables of its ranks, where these did not reach `MPI_Finalize`,
//! such as those that were killed.

use std::path::Path;
use std::{fs, io};

use mel_convert::callsites::CallSites;
use mel_log::number;
use mel_log::profile::file::{self, ProfileError};
use mel_log::profile::{CallSite, Profile};
use mel_log::table::{self, TableError, TableRows};

/// Reads the profile of a run. Where there is no `profile.json`, it is made of the tables that processes have left. What could not be read is in [`Profile::incomplete`].
///
/// # Errors
/// [`ProfileError`]; [`ProfileError::Absent`] where there is nothing.
pub fn read(directory: &Path) -> Result<Profile, ProfileError> {
    let mut sites = CallSites::default();
    read_with(directory, tables(directory), |path, address| sites.place(path, address))
}

/// The same, with tables that have been read already; `resolve` says what a return address stands for, as the file at a path counts
/// addresses.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    directory: &Path,
    (tables, complaints): (Vec<TableRows>, Vec<String>),
    resolve: impl FnMut(&str, u64) -> CallSite,
) -> Result<Profile, ProfileError> {
    match file::read(&directory.join(file::FILE_NAME)) {
        Err(ProfileError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    // A directory that is not there says so.
    fs::read_dir(directory).map_err(|error| ProfileError::Io { path: directory.to_owned(), error })?;
    if tables.is_empty() && complaints.is_empty() {
        return Err(ProfileError::Absent(directory.to_owned()));
    }
    let mut profile = mel_verdict::profile(tables, resolve);
    profile.incomplete.splice(0..0, complaints);
    Ok(profile)
}

/// The same with the traffic of each rank: of very many ranks, of which the profile has sums, from the tables that they have left.
///
/// # Errors
/// As [`read`].
pub fn read_with_traffic(directory: &Path) -> Result<Profile, ProfileError> {
    let profile = read(directory)?;
    if profile.has_traffic() || profile.reduced.is_none() {
        return Ok(profile);
    }
    let (tables, complaints) = tables(directory);
    if tables.is_empty() {
        return Ok(profile);
    }
    let mut sites = CallSites::default();
    let mut each = mel_verdict::profile(tables, |path, address| sites.place(path, address));
    each.incomplete.splice(0..0, complaints);
    Ok(each)
}

/// The tables in a directory, and a sentence for each that is not whole.
pub fn tables(directory: &Path) -> (Vec<TableRows>, Vec<String>) {
    let (mut tables, mut complaints) = (Vec::new(), Vec::new());
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    for name in names {
        let rank = name.strip_prefix("rank-").and_then(|name| name.strip_suffix(".table"));
        if rank.is_none_or(|rank| rank.parse::<u32>().is_err()) {
            continue;
        }
        match table::reader::read(&directory.join(&name)) {
            Ok(rows) => {
                complaints.extend(cut(&name, &rows));
                complaints.extend(damaged(&name, &rows));
                tables.push(rows);
            }
            // It was there a moment ago: its process has ended.
            Err(TableError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => complaints.push(format!("{error}; left out")),
        }
    }
    tables.sort_by_key(|rows| rows.rank);
    (tables, complaints)
}

/// What is missing of a table that was cut off.
fn cut(name: &str, rows: &TableRows) -> Option<String> {
    let (of, there) = rows.bytes;
    (there < of).then(|| {
        format!(
            "{name} is cut off: {there} of {of} bytes are there, with {} of {} rows of calls; the remaining data of rank {} is not included",
            rows.contexts.len(),
            rows.contexts_made,
            rows.rank
        )
    })
}

/// What is left out of a table, because it is damaged.
fn damaged(name: &str, rows: &TableRows) -> Option<String> {
    let parts: Vec<String> = rows
        .damaged
        .iter()
        .map(|(section, bytes)| format!("{section} ({})", number::size(*bytes as f64)))
        .collect();
    (!parts.is_empty())
        .then(|| format!("{name} is damaged: of rank {} these are left out: {}", rows.rank, parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::Definition;
    use mel_log::profile::Ended;
    use mel_log::table::{ContextKey, Identity, ProfileTable, QueuesKey, file_name};

    /// A directory in which this rank has left a table without an end.
    fn killed(directory: &Path, rank: u32) {
        let identity = Identity {
            rank,
            world_size: 3,
            ticks_per_second: 1000,
            started: 1000,
            started_realtime_nanos: 1_700_000_000_000_000_000,
            runs_since: 2000,
            host: "node".into(),
        };
        let table = ProfileTable::create(&directory.join(file_name(rank)), &identity).unwrap();
        let queues = table.add_queues(QueuesKey::default()).unwrap();
        table.queues(queues).posted.insert(2000);
        table.queues(queues).posted.remove(2000, 2500);
        table.define(&Definition::Function { number: 7, name: "MPI_Recv".into() });
        table.define(&mel_log::profile::sample::program(&["calls", "queues"]));
        let context = table.add_context(ContextKey { function: 7, ..ContextKey::default() });
        table.add_thread(0);
        table.thread(0).enter(context, 3000);
        table.thread(0).leave(3500);
        table.context(context).count(500);
        table.thread(0).enter(context, 4000);
    }

    #[test]
    fn a_killed_run_has_calls_and_queues_and_says_where_ranks_were() {
        let directory = tempfile::tempdir().unwrap();
        (0..3).for_each(|rank| killed(directory.path(), rank));
        let profile = read(directory.path()).unwrap();
        assert_eq!((profile.ranks.len(), profile.world_size, profile.backend.as_str()), (3, 3, "model"));
        assert!(profile.has_queues() && profile.has_calls() && profile.incomplete.is_empty());
        let rank = &profile.ranks[1];
        assert_eq!((rank.ended, rank.posted.messages, rank.posted.max_s), (Ended::Killed, 1, 0.5));
        assert_eq!(rank.calls[0].calls, 2, "the one that it was in, too");
        assert_eq!((rank.last_seen_s, rank.run_s), (Some(3.0), 2.0));
        let last = rank.last_call.as_ref().unwrap();
        assert_eq!((last.function.as_str(), last.entered_s, last.returned_s), ("MPI_Recv", 3.0, None));
    }

    #[test]
    fn the_call_of_a_killed_rank_lasts_until_any_rank_was_last_seen() {
        let directory = tempfile::tempdir().unwrap();
        (0..3).for_each(|rank| killed(directory.path(), rank));
        let table = |rank: u32| directory.path().join(file_name(rank));
        fs::remove_file(table(2)).unwrap();
        let identity = Identity {
            rank: 2,
            world_size: 3,
            ticks_per_second: 1000,
            started: 1000,
            runs_since: 2000,
            host: "node".into(),
            ..Identity::default()
        };
        ProfileTable::create(&table(2), &identity).unwrap().finish(Ended::Aborted, 9000);
        let profile = read(directory.path()).unwrap();
        let [first, _, aborted] = &profile.ranks[..] else { panic!("{:?}", profile.ranks) };
        let calls = &first.calls[0];
        assert_eq!((calls.calls, calls.total_s, calls.max_s, calls.times.count()), (2, 5.5, 5.0, 2));
        assert_eq!((first.last_seen_s, first.run_s), (Some(3.0), 7.0));
        assert_eq!((aborted.ended, aborted.run_s), (Ended::Aborted, 7.0));
    }

    #[test]
    fn what_is_missing_is_said_and_the_rest_is_there() {
        let directory = tempfile::tempdir().unwrap();
        (0..3).for_each(|rank| killed(directory.path(), rank));
        let path = |rank| directory.path().join(file_name(rank));
        let whole = fs::metadata(path(0)).unwrap().len();
        for length in [whole / 2, 5000, 0] {
            fs::File::options().write(true).open(path(1)).unwrap().set_len(length).unwrap();
            let profile = read(directory.path()).unwrap();
            assert_eq!(profile.incomplete.len(), 1, "{length}: {:?}", profile.incomplete);
            let sentence = &profile.incomplete[0];
            assert!(sentence.contains("rank-1.table"), "{sentence}");
            if length > 0 {
                let bytes = format!("{length} of {whole} bytes");
                assert!(sentence.contains("cut off") && sentence.contains(&bytes), "{sentence}");
            }
            assert_eq!(profile.ranks[0].calls[0].calls, 2);
        }
        fs::remove_file(path(2)).unwrap();
        let profile = read(directory.path()).unwrap();
        assert_eq!(profile.missing_ranks().in_words().unwrap(), "ranks 1, 2");
        fs::remove_file(path(0)).unwrap();
        let profile = read(directory.path()).unwrap();
        assert!(profile.ranks.is_empty() && profile.incomplete.len() == 1, "all that is left cannot be read");
    }
}
