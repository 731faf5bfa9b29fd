//! The profile of a run from what is in its directory: `profile.json`, profiles of single ranks, and the tables of ranks that did not
//! reach `MPI_Finalize`, such as those that were killed.

use std::path::Path;

use mel_convert::callsites::CallSites;
use mel_log::Definition;
use mel_log::profile::file::{self, ProfileError};
use mel_log::profile::{Ended, Profile, RankProfile};
use mel_log::table::{self, TableRows};

/// Reads the profile of a run. Where there is no `profile.json` with calls, they are those of the tables that processes have left.
///
/// # Errors
/// [`ProfileError`]; [`ProfileError::Absent`] where there is nothing.
pub fn read(directory: &Path) -> Result<Profile, ProfileError> {
    let tables = tables(directory);
    let mut profile = match file::read_run(directory) {
        Ok(profile) if tables.is_empty() || profile.has_calls() => return Ok(profile),
        Ok(profile) => profile,
        Err(ProfileError::Absent(_)) if !tables.is_empty() => Profile::default(),
        Err(error) => return Err(error),
    };
    describe(&mut profile, &tables);
    let mut sites = CallSites::default();
    mel_verdict::fill(&mut profile, tables, |path, address| sites.place(path, address));
    let longest = profile.ranks.iter().map(|rank| rank.run_s + rank.init_s).fold(0.0, f64::max);
    profile.duration_s = profile.duration_s.max(longest);
    Ok(profile)
}

/// The tables in a directory that can be read.
fn tables(directory: &Path) -> Vec<TableRows> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_table = |name: &String| {
        let rank = name.strip_prefix("rank-").and_then(|name| name.strip_suffix(".table"));
        rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
    };
    names.filter(is_table).filter_map(|name| table::reader::read(&directory.join(name)).ok()).collect()
}

/// What the tables say of the run and of ranks that the profile lacks.
fn describe(profile: &mut Profile, tables: &[TableRows]) {
    for rows in tables {
        profile.world_size = profile.world_size.max(rows.world_size);
        if profile.started_unix_s == 0.0 {
            profile.started_unix_s = rows.started_realtime_nanos as f64 * 1e-9;
        }
        if profile.command.is_empty()
            && let Some((command, mpi)) = rows.definitions.iter().find_map(|definition| match definition {
                Definition::Program { command, mpi } => Some((command, mpi)),
                _ => None,
            })
        {
            (profile.command, profile.mpi) = (command.clone(), mpi.clone());
        }
        if profile.ranks.iter().all(|rank| rank.rank != rows.rank) {
            let ended = match rows.ended {
                1 => Ended::Finalised,
                2 => Ended::Aborted,
                3 => Ended::Exited,
                _ => Ended::Killed,
            };
            let host = rows.host.clone();
            profile.ranks.push(RankProfile { rank: rows.rank, host, ended, ..RankProfile::default() });
        }
    }
    if profile.profiled.is_empty() {
        profile.profiled = vec!["calls".into()];
    }
    profile.ranks.sort_by_key(|rank| rank.rank);
}
