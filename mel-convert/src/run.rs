//! The event logs of a run, all ranks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use mel_log::profile::text::layout::ranks;
use mel_log::{RankLog, ReadError};

/// Why a run cannot be converted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The directory cannot be read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the file system said.
        error: std::io::Error,
    },
    /// The directory holds no event log.
    #[error("{0} holds no event log: run the program with `mel run -e LIST` or `mel run --trace`")]
    Empty(PathBuf),
}

/// The event logs of a run that could be opened, and the errors of those that could not.
#[derive(Debug)]
pub struct Run {
    /// One log per rank, ascending.
    pub ranks: Vec<RankLog>,
    /// Why logs were left out.
    pub left_out: Vec<ReadError>,
}

impl Run {
    /// Opens all event logs in the directory of a run.
    ///
    /// # Errors
    /// [`RunError`] if the directory cannot be read or holds no log. A log that cannot be opened is
    /// no error as long as there is any other.
    pub fn open(directory: &Path) -> Result<Run, RunError> {
        let run = Run::open_ranks(directory, |_| true)?;
        if run.ranks.is_empty() && run.left_out.is_empty() {
            return Err(RunError::Empty(directory.to_owned()));
        }
        Ok(run)
    }

    /// Opens the event logs of some ranks, by the names of their files. There may be none.
    ///
    /// # Errors
    /// [`RunError::Io`] if the directory cannot be read.
    pub fn open_ranks(directory: &Path, is_wanted: impl Fn(u32) -> bool) -> Result<Run, RunError> {
        let io = |error| RunError::Io { path: directory.to_owned(), error };
        let mut run = Run { ranks: Vec::new(), left_out: Vec::new() };
        for entry in fs::read_dir(directory).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            let rank = name.to_str().and_then(|name| name.strip_prefix("rank-")?.strip_suffix(".mlog"));
            let rank = rank.and_then(|rank| rank.parse::<u32>().ok());
            if !rank.is_some_and(&is_wanted) {
                continue;
            }
            match RankLog::open(&directory.join(&name)) {
                Ok(log) => run.ranks.push(log),
                Err(error) => run.left_out.push(error),
            }
        }
        run.ranks.sort_by_key(|log| log.info.rank);
        run.ranks.dedup_by_key(|log| log.info.rank);
        Ok(run)
    }

    /// Number of ranks that the run had.
    pub fn world_size(&self) -> u32 {
        let written = self.ranks.iter().map(|log| log.info.world_size).max();
        let seen = self.ranks.iter().map(|log| log.info.rank.saturating_add(1)).max();
        written.max(seen).unwrap_or(0)
    }

    /// The ranks whose logs end before `MPI_Finalize`.
    pub fn ended_early(&self) -> usize {
        self.ranks.iter().filter(|log| log.ended_early()).count()
    }

    /// The ranks that have left no log, or one that cannot be read.
    pub fn missing_ranks(&self) -> Vec<u32> {
        let has = |rank: &u32| self.ranks.binary_search_by_key(rank, |log| log.info.rank).is_ok();
        (0..self.world_size()).filter(|rank| !has(rank)).collect()
    }

    /// A sentence for each log that is not whole, although its process has written it, and for ranks without a log. That a process
    /// ended early, or that its disk was full, is not meant.
    pub fn incomplete(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|error| format!("{error}; left out"));
        let mut sentences: Vec<String> =
            left_out.chain(self.ranks.iter().filter_map(RankLog::incomplete)).collect();
        // Each file that was left out belongs to one of these.
        if let Some(who) = ranks(&self.missing_ranks()).filter(|_| !self.ranks.is_empty()) {
            let has = if self.missing_ranks().len() == 1 { "has" } else { "have" };
            sentences.push(format!("{who} {has} no event log here: nothing of what happened there is shown"));
        }
        sentences
    }

    /// The records that the logs have lost.
    pub fn lost(&self) -> u64 {
        self.ranks.iter().map(RankLog::dropped_total).sum()
    }

    /// What the user wanted to be recorded, if not everything: mostly the same on all ranks.
    pub fn filters(&self) -> BTreeSet<&str> {
        let filters = self.ranks.iter().map(|log| log.definitions.filtered.as_str());
        filters.filter(|filter| !filter.is_empty()).collect()
    }

    /// An upper bound of the number of records, to measure progress by.
    pub fn records_at_most(&self) -> usize {
        self.ranks.iter().map(RankLog::records_at_most).sum()
    }
}
