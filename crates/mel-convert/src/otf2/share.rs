//! Which ranks a process converts, and what it has to know of the others before.

use std::ops::Range;
use std::rc::Rc;

use ranks::{CommunicationError, Processes, tree};
use serde::{Deserialize, Serialize};

use super::Summary;
use super::pairs::{FoundPairs, Pairs};
use crate::partners::Recorded;
use crate::time::{Clocks, Offset, Start, Timeline};
use mel_log::RankLog;

/// The ranks of a run that a process converts.
///
/// Each process has as many ranks as the others, or one more, in the order of the processes.
#[derive(Clone)]
pub struct Share<'a> {
    /// The logs of these ranks, ascending; a rank may have none.
    pub logs: &'a [RankLog],
    /// Number of ranks of the run.
    pub world: u32,
    /// The processes that convert the run together.
    pub processes: Rc<dyn Processes>,
}

impl std::fmt::Debug for Share<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share")
            .field("ranks", &self.ranks())
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}

impl Share<'_> {
    /// The ranks that one of so many processes converts, of a run of so many ranks.
    pub fn ranks_of(process: u32, processes: u32, world: u32) -> Range<u32> {
        let first =
            |process: u32| (u64::from(process) * u64::from(world) / u64::from(processes.max(1))) as u32;
        first(process)..first(process + 1)
    }

    /// The ranks of this process.
    pub(super) fn ranks(&self) -> Range<u32> {
        Self::ranks_of(self.processes.rank(), self.processes.size(), self.world)
    }

    /// The process that converts a rank.
    fn process_of(&self, rank: u32) -> u32 {
        let (rank, world) = (u64::from(rank.min(self.world.saturating_sub(1))), u64::from(self.world.max(1)));
        (((rank + 1) * u64::from(self.processes.size()) - 1) / world) as u32
    }

    /// What all processes have written.
    pub(super) fn sum(&self, own: Summary) -> Result<Summary, CommunicationError> {
        tree::all_reduce(&*self.processes, own, Summary::add)
    }
}

/// What all processes have to know of all logs: sizes that grow with hosts and kinds of events, not with ranks.
#[derive(Serialize, Deserialize)]
struct Found {
    clocks: Clocks,
    pairs: FoundPairs,
    /// Whether recording was off at times.
    has_gaps: bool,
}

/// The same as a process makes use of it.
pub(super) struct Common {
    pub(super) timeline: Timeline,
    pub(super) offsets: Vec<Vec<Offset>>,
    pub(super) pairs: Pairs,
    pub(super) recorded: Option<Recorded>,
}

impl Common {
    /// Looks at the logs of this process and hears of those of the others.
    pub(super) fn of(share: &Share<'_>) -> Result<Common, CommunicationError> {
        let Share { logs, processes, .. } = share;
        let own = Found {
            clocks: Clocks::of(logs),
            pairs: FoundPairs::of(logs),
            has_gaps: logs.iter().any(|log| log.definitions.phases),
        };
        let all = tree::all_reduce(&**processes, own, |all, later| {
            all.clocks.merge(later.clocks);
            all.pairs.merge(later.pairs);
            all.has_gaps |= later.has_gaps;
        })?;
        let start = tree::all_reduce(&**processes, all.clocks.start(logs), Start::merge)?;
        let recorded = match all.has_gaps {
            true => Some(Recorded::among(&**processes, logs, |rank| share.process_of(rank))?),
            false => None,
        };
        let (timeline, offsets) = Timeline::uncorrected(&all.clocks, start, logs);
        Ok(Common { timeline, offsets, pairs: all.pairs.into(), recorded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranks::ThreadAsProcess;

    #[test]
    fn each_rank_has_one_process() {
        for (size, world) in [(1, 1), (1, 5), (3, 10), (4, 4), (7, 3), (5, 1000)] {
            let mut next = 0;
            for (process, processes) in (0..).zip(ThreadAsProcess::group(size)) {
                let share = Share { logs: &[], world, processes: Rc::new(processes) };
                let ranks = share.ranks();
                assert_eq!(ranks.start, next);
                assert!(
                    ranks.clone().all(|rank| share.process_of(rank) == process),
                    "{process} of {size}: {ranks:?}"
                );
                next = ranks.end;
            }
            assert_eq!(next, world);
        }
    }
}
