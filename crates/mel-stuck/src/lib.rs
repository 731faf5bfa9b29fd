//! Who waits for whom in a job that hangs or was killed, from the tables of its ranks alone.
//!
//! - `positions`: where each rank is, and its how many-th operation on a communicator that is.
//! - `pulse`: what of a rank changes only when something was achieved.
//! - `messages`: what calls wait for that are no collective operations.
//! - `waiting`: which operations never meet, and who has not come to them.
//! - `words`: the sentences.
//!
//! Nothing here reads a file. Tables say what a call waits for only once it has lasted for a second or two, and nothing of the counts of
//! collective operations: what depends on what they do not say is said to be not known.

mod messages;
mod positions;
mod pulse;
#[cfg(test)]
mod tests;
mod waiting;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::{CallSite, Ended};
use mel_log::table::TableRows;
use mel_verdict::run::Run;
use serde::{Deserialize, Serialize};

pub use positions::{Group, State};
pub use pulse::{Pulse, Pulses};
pub use waiting::{Finding, Kind};

/// A call that is under way for less, in seconds, is no hang yet: while the job runs nothing is concluded from it.
pub const SETTLED_S: f64 = 1.0;

/// What the job as a whole does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// All ranks have called `MPI_Finalize`, and have ended.
    EndedWell,
    /// No process is there any more, and not all have ended well.
    Gone,
    /// Ranks run, and one has entered or left a call in the last [`SETTLED_S`].
    Moves,
    /// Ranks run, and none has entered or left a call for longer.
    Still,
}

/// What the tables say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stuck {
    /// What the job does.
    pub job: Job,
    /// For how many seconds no rank has entered or left a call; of a job that is gone, 0.
    pub still_s: f64,
    /// The number of its ranks.
    pub world_size: u32,
    /// Ranks that do the same, by their lowest rank.
    pub groups: Vec<Group>,
    /// What blocks whom, most certain first.
    pub findings: Vec<Finding>,
    /// The same in at most three sentences, after one about the job.
    pub sentences: Vec<String>,
    /// Where ranks are that are in no call, as far as that may be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Stack>,
}

/// Where a rank is in the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// The rank.
    pub rank: u32,
    /// Its frames, the innermost first, as `mesh.c:212 (assemble)`.
    pub frames: Vec<String>,
}

impl Stuck {
    /// Whether ranks wait, and have done so for [`SETTLED_S`] or longer: of a run that has ended otherwise than well, that it hung before is
    /// worth a word.
    #[must_use]
    pub fn is_hang(&self) -> bool {
        let waits = |group: &Group| group.state == State::InCall && group.longest_s >= SETTLED_S;
        let is_told = self.findings.iter().any(|finding| {
            let here =
                |group: &&Group| finding.waiting.iter().any(|rank| group.ranks.binary_search(rank).is_ok());
            self.groups.iter().filter(here).any(waits)
        });
        matches!(self.job, Job::Still | Job::Gone) && is_told
    }

    /// What was seen while the job hung, of which nothing is there any more: who was killed then has kept nobody waiting.
    #[must_use]
    pub fn before_the_end(self) -> Stuck {
        let before = words::before_the_end(self.still_s);
        let sentences = std::iter::once(before).chain(self.sentences.into_iter().skip(1)).collect();
        Stuck { job: Job::Gone, still_s: 0.0, sentences, ..self }
    }

    /// Ranks of which a stack would say more: of each group that is in no call, the first.
    pub fn wants_stacks(&self) -> Vec<u32> {
        if self.job != Job::Still {
            return Vec::new();
        }
        let outside = self.groups.iter().filter(|group| group.state == State::Outside);
        outside.filter_map(|group| group.ranks.first().copied()).take(MOST_STACKS).collect()
    }

    /// Adds where a rank is.
    pub fn add_stack(&mut self, stack: Stack) {
        self.sentences.extend(words::stack(stack.rank, &stack.frames));
        self.stacks.push(stack);
    }

    /// That of a run of so many ranks which has ended well.
    pub fn ended_well(world_size: u32) -> Stuck {
        let job = Job::EndedWell;
        let sentences = vec![words::of_job(job, 0.0, false)];
        let (groups, findings, stacks) = (Vec::new(), Vec::new(), Vec::new());
        Stuck { job, still_s: 0.0, world_size, groups, findings, sentences, stacks }
    }
}

/// How the tables were read.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When, in nanoseconds since 1970.
    pub now: u64,
    /// Ranks that have entered or left a call while the tables were read: nothing is concluded from them.
    pub moved: BTreeSet<u32>,
    /// Those that have only tested, without success, and for how many seconds that is known.
    pub polls: BTreeMap<u32, f64>,
    /// Whether these are the tables of one node of several.
    pub is_of_one_node: bool,
}

/// The most stacks.
const MOST_STACKS: usize = 3;
/// The most sentences about findings.
const MOST_SENTENCES: usize = 3;

/// What these tables say. `resolve` says what a return address stands for.
pub fn of(tables: Vec<TableRows>, look: &Look, resolve: impl FnMut(&str, u64) -> CallSite) -> Stuck {
    let world_size = tables.iter().map(|rows| rows.world_size).max().unwrap_or(0);
    let run = Run::of(tables, resolve);
    let ends: Vec<Ended> = run.ranks.iter().map(positions::ended).collect();
    let is_running = ends.contains(&Ended::Running);
    let last = run.ranks.iter().map(positions::seen_until).max();
    let look = &Look { now: if is_running { look.now } else { last.unwrap_or(look.now) }, ..look.clone() };
    let positions = positions::of(&run, world_size, look);
    let still = run.ranks.iter().filter(|rank| positions::ended(rank) == Ended::Running);
    let still = still.map(|rank| match look.polls.get(&rank.rank) {
        Some(seconds) => *seconds,
        None => positions::seconds(positions::last_seen(rank), look.now),
    });
    let still_s = still.fold(f64::INFINITY, f64::min);
    let still_s = if is_running { still_s } else { 0.0 };
    let moved = &look.moved;
    let job = match is_running {
        true if still_s < SETTLED_S || !moved.is_empty() => Job::Moves,
        true => Job::Still,
        false if ends.len() == world_size as usize && ends.iter().all(|ended| *ended == Ended::Finalised) => {
            Job::EndedWell
        }
        false => Job::Gone,
    };
    let settled_s = if is_running { SETTLED_S } else { 0.0 };
    let findings =
        if job == Job::EndedWell { Vec::new() } else { waiting::findings(&run, &positions, settled_s) };
    let mut sentences = vec![words::of_job(job, still_s, !look.polls.is_empty())];
    sentences.extend(findings.iter().take(MOST_SENTENCES).map(|finding| finding.sentence.clone()));
    if findings.is_empty() && job != Job::EndedWell {
        sentences.push(words::nothing_found(job));
    }
    let (groups, stacks) = (positions::groups(&run, &positions), Vec::new());
    Stuck { job, still_s, world_size, groups, findings, sentences, stacks }
}
