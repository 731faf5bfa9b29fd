//! The event logs of a run, all ranks.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use mel_log::names::of_communicator;
use mel_log::profile::NamedCommunicator;
use mel_log::ranks::{RankRanges, SizeOfRun};
use mel_log::reader::Records;
use mel_log::{RankLog, ReadError, Record};

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
#[derive(Debug, Default)]
pub struct Run {
    /// One log per rank, ascending.
    pub ranks: Vec<RankLog>,
    /// Why logs were left out.
    pub left_out: Vec<ReadError>,
    /// How many ranks there are.
    size: SizeOfRun,
}

impl Run {
    /// Opens all event logs in the directory of a run.
    ///
    /// # Errors
    /// [`RunError`] if the directory cannot be read or holds no log. A log that cannot be opened is
    /// no error as long as there is any other.
    pub fn open(directory: &Path) -> Result<Run, RunError> {
        let mut run = Run::look(directory)?;
        if run.ranks.is_empty() && run.left_out.is_empty() {
            return Err(RunError::Empty(directory.to_owned()));
        }
        run.check();
        Ok(run)
    }

    /// Communicators get the names that the profile of the run has for them: where the program gave none, that of the line that made it.
    pub fn name_communicators(&mut self, named: &[NamedCommunicator]) {
        let names: HashMap<u64, &str> = named.iter().map(|of| (of.context, of.name.as_str())).collect();
        let known = self.ranks.iter_mut().flat_map(|log| log.definitions.communicators.values_mut());
        for communicator in known {
            let name = names.get(&communicator.context).filter(|name| !name.is_empty());
            if let Some(name) = name.filter(|_| communicator.name == of_communicator(communicator.context)) {
                (*name).clone_into(&mut communicator.name);
            }
        }
    }

    /// Leaves out what is damaged in the logs, on all cores.
    fn check(&mut self) {
        let logs = Mutex::new(self.ranks.iter_mut().collect::<Vec<_>>());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = || logs.lock().unwrap_or_else(PoisonError::into_inner).pop();
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| std::iter::from_fn(next).for_each(RankLog::check));
            }
        });
    }

    /// The logs, without reading them as a whole.
    fn look(directory: &Path) -> Result<Run, RunError> {
        let io = |error| RunError::Io { path: directory.to_owned(), error };
        let mut run = Run::default();
        for entry in fs::read_dir(directory).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            let rank = name.to_str().and_then(|name| name.strip_prefix("rank-")?.strip_suffix(".mlog"));
            let rank = rank.and_then(|rank| rank.parse::<u32>().ok());
            if rank.is_none() {
                continue;
            }
            match RankLog::look(&directory.join(&name)) {
                Ok(log) => run.ranks.push(log),
                Err(error) => run.left_out.push(error),
            }
        }
        run.ranks.sort_by_key(|log| log.info.rank);
        run.ranks.dedup_by_key(|log| log.info.rank);
        let said: Vec<(u32, u32)> =
            run.ranks.iter().map(|log| (log.info.rank, log.info.world_size)).collect();
        run.size = SizeOfRun::of(&said);
        run.ranks.retain(|log| log.info.rank < run.size.ranks);
        Ok(run)
    }

    /// Number of ranks that the run had.
    pub fn world_size(&self) -> u32 {
        self.size.ranks
    }

    /// The ranks whose logs end before `MPI_Finalize`.
    pub fn ended_early(&self) -> usize {
        self.ranks.iter().filter(|log| log.ended_early()).count()
    }

    /// The ranks that have left no log, or one that cannot be read.
    pub fn missing_ranks(&self) -> RankRanges {
        RankRanges::missing(self.ranks.iter().map(|log| log.info.rank), self.world_size())
    }

    /// A sentence for each log that is not whole, although its process has written it, and for ranks without a log. That a process
    /// ended early, or that its disk was full, is not meant.
    pub fn incomplete(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|error| format!("{error}; left out"));
        let mut sentences: Vec<String> =
            left_out.chain(self.ranks.iter().filter_map(RankLog::incomplete)).collect();
        sentences.extend(self.size.contradiction("event log"));
        // Each file that was left out belongs to one of these.
        let missing = self.missing_ranks();
        if let Some(who) = missing.in_words().filter(|_| !self.ranks.is_empty()) {
            let has = if missing.len() == 1 { "has" } else { "have" };
            sentences.push(format!("{who} {has} no event log here: nothing of what happened there is shown"));
        }
        sentences
    }

    /// The records that the logs have lost.
    pub fn lost(&self) -> u64 {
        self.ranks.iter().map(RankLog::dropped_total).sum()
    }

    /// Whether it has all calls: none were left out, are lost, or in a log that lacks its end.
    pub fn has_all(&self) -> bool {
        self.filters().is_empty() && self.lost() == 0 && self.incomplete().is_empty()
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

/// Records of several streams, merged by their time stamps. The order within a stream is kept, even
/// where its time stamps go back.
#[derive(Debug)]
pub struct Merged<'a> {
    streams: Vec<(u32, Peekable<Records<'a>>)>,
}

impl<'a> Merged<'a> {
    /// Merges the given streams of a log.
    pub fn new(log: &'a RankLog, streams: impl IntoIterator<Item = u32>) -> Merged<'a> {
        Merged { streams: streams.into_iter().map(|s| (s, log.records(s).peekable())).collect() }
    }
}

impl<'a> Iterator for Merged<'a> {
    /// The number of the stream, and the record.
    type Item = (u32, Record);

    fn next(&mut self) -> Option<(u32, Record)> {
        // A rank has a few streams: looking at each is cheaper than keeping a heap in order.
        let heads = self.streams.iter_mut().enumerate();
        let (_, next) = heads.filter_map(|(i, (_, records))| Some((records.peek()?.time, i))).min()?;
        let (stream, records) = &mut self.streams[next];
        Some((*stream, records.next()?))
    }
}
