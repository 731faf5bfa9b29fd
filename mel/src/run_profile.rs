//! The profile of a run from what is in its directory: `profile.json`, profiles of single ranks, and the tables of ranks that did not
//! reach `MPI_Finalize`, such as those that were killed.

use std::io;
use std::path::Path;

use mel_convert::callsites::CallSites;
use mel_log::profile::file::{self, ProfileError};
use mel_log::profile::{CallSite, Profile};
use mel_log::table::{self, TableError, TableRows};
use mel_log::{Definition, number};

/// Reads the profile of a run. Where there is no `profile.json` with calls, they are those of the tables that processes have left. What
/// could not be read is in [`Profile::incomplete`].
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
    let mut profile = match file::read_run(directory) {
        Ok(profile) if profile.has_calls() || profile.reduced.is_some() => return Ok(profile),
        Ok(profile) => profile,
        Err(ProfileError::Absent(_)) if !(tables.is_empty() && complaints.is_empty()) => Profile::default(),
        Err(error) => return Err(error),
    };
    profile.incomplete.extend(complaints);
    if !tables.is_empty() {
        fill(&mut profile, tables, resolve);
    }
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
    let mut each = Profile { reduced: None, incomplete: complaints, ..profile };
    let mut sites = CallSites::default();
    fill(&mut each, tables, |path, address| sites.place(path, address));
    Ok(each)
}

/// Fills a profile with what the tables of its ranks have.
fn fill(profile: &mut Profile, mut tables: Vec<TableRows>, resolve: impl FnMut(&str, u64) -> CallSite) {
    describe(profile, &tables);
    tables.retain(|rows| profile.world_size == 0 || rows.rank < profile.world_size);
    profile.number_phases();
    mel_verdict::fill(profile, tables, resolve);
    let longest = profile.ranks.iter().map(|rank| rank.run_s + rank.init_s).fold(0.0, f64::max);
    profile.duration_s = profile.duration_s.max(longest);
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
            "{name} is cut off: {there} of {of} bytes are there, with {} of {} rows of calls; the rest of rank {} is in no number here",
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

/// What the tables say of the run and of ranks that the profile lacks.
fn describe(profile: &mut Profile, tables: &[TableRows]) {
    let mut said = profile.said_sizes();
    for rows in tables {
        said.push((rows.rank, rows.world_size));
        if profile.started_unix_s == 0.0 {
            profile.started_unix_s = rows.started_realtime_nanos as f64 * 1e-9;
        }
        if profile.ranks.iter().all(|rank| rank.rank != rows.rank) {
            profile.ranks.push(rows.rank_profile());
        }
        let program = rows.definitions.iter().find_map(|definition| match definition {
            Definition::Program { command, mpi, backend, mel_version, profiled }
                if profile.command.is_empty() =>
            {
                Some((command, mpi, backend, mel_version, profiled))
            }
            _ => None,
        });
        if let Some((command, mpi, backend, mel_version, profiled)) = program {
            (profile.command, profile.mpi) = (command.clone(), mpi.clone());
            (profile.backend, profile.mel_version) = (backend.clone(), mel_version.clone());
            profile.profiled.clone_from(profiled);
        }
    }
    if profile.profiled.is_empty() && tables.iter().all(|rows| rows.queues.is_empty()) {
        profile.profiled = vec!["calls".into()];
    }
    profile.ranks.sort_by_key(|rank| rank.rank);
    profile.settle_size(&said, "profile table");
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::Ended;
    use mel_log::table::{ContextKey, Identity, ProfileTable, QueuesKey, file_name};
    use std::fs;

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
        table.define(&Definition::Program {
            command: vec!["./app".into()],
            mpi: "an MPI".into(),
            backend: "model".into(),
            mel_version: "1".into(),
            profiled: vec!["calls".into(), "queues".into()],
        });
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
        assert_eq!(rank.calls[0].calls, 1);
        assert_eq!((rank.last_seen_s, rank.run_s), (Some(3.0), 2.0));
        let last = rank.last_call.as_ref().unwrap();
        assert_eq!((last.function.as_str(), last.entered_s, last.returned_s), ("MPI_Recv", 3.0, None));
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
            assert_eq!(profile.ranks[0].calls[0].calls, 1);
        }
        fs::remove_file(path(2)).unwrap();
        let profile = read(directory.path()).unwrap();
        assert_eq!(profile.missing_ranks().in_words().unwrap(), "ranks 1, 2");
        fs::remove_file(path(0)).unwrap();
        let profile = read(directory.path()).unwrap();
        assert!(profile.ranks.is_empty() && profile.incomplete.len() == 1, "all that is left cannot be read");
    }
}
