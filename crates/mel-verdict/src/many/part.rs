//! What some ranks have counted, in sums. Joining is the same in any order: all numbers are integers, and what is cut off is what is
//! least. What grows with the number of ranks are six numbers for each.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::{Ended, LeftOut, NotFollowed, Truth};
use serde::{Deserialize, Serialize};

use crate::findings::Rule;

/// The most call sites, of each kind of sum; the most hosts; the most operations of which the ranks that wait least are kept.
pub const MOST: usize = 4096;
/// The most collective call sites of communicators of which not all members are known yet.
pub const MOST_OPEN: usize = 16 * 1024;

/// A sum over ranks, in nanoseconds: of 100 000 ranks, two days are more than 64 bits hold.
pub type Nanos = u128;

/// An MPI function called from one place of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The MPI function.
    pub function: String,
    /// The program or library; empty where it is not known.
    pub module: String,
    /// The return address of the call, as that file counts addresses; 0 where it is not known.
    pub offset: u64,
}

/// Calls of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the column of that name of the profile table, times in nanoseconds")]
pub struct Calls {
    pub ranks: u64,
    pub calls: u64,
    pub nanos: Nanos,
    pub longest: u64,
    pub sent: u64,
    pub received: u64,
    pub given: u64,
    pub expected: u64,
    pub unexpected: u64,
    pub unexpected_bytes: u64,
    pub search_nanos: u64,
    pub longest_search: u64,
}

/// Time lost at one place for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How often.
    pub count: u64,
    /// The time, in nanoseconds.
    pub nanos: Nanos,
    /// The most in one call.
    pub longest: u64,
}

/// What is known of one rank's time and waits, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[Nanos; 6]", into = "[Nanos; 6]")]
pub struct Blame {
    /// What it has lost, waiting for late senders.
    pub lost: Nanos,
    /// What others have lost, waiting for its messages.
    pub caused: Nanos,
    /// How long others have blocked in sends to it.
    pub blocked: Nanos,
    /// How long messages have waited for the receives that it posted late.
    pub posted_late: Nanos,
    /// What others have lost in collective operations that it came to last.
    pub came_last: Nanos,
    /// Its time in MPI.
    pub in_mpi: Nanos,
}

/// Calls of a collective operation from one place on one communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Members of the communicator.
    pub size: u64,
    /// Members that are in the sums.
    pub seen: u64,
    /// Calls.
    pub count: u64,
    /// Time in them.
    pub nanos: Nanos,
    /// The longest call.
    pub longest: u64,
    /// The two members that spent least time there: how much, and which.
    pub least: Vec<(u64, u32)>,
}

impl Group {
    /// One member with that much time in its calls.
    pub fn of(rank: u32, size: usize, count: u64, nanos: u64, longest: u64) -> Group {
        Group { size: size as u64, seen: 1, count, nanos: nanos.into(), longest, least: vec![(nanos, rank)] }
    }

    /// Adds calls of others.
    pub fn join(&mut self, other: Group) {
        self.size = self.size.max(other.size);
        self.seen += other.seen;
        self.count = self.count.saturating_add(other.count);
        self.nanos += other.nanos;
        self.longest = self.longest.max(other.longest);
        self.least.extend(other.least);
        self.least.sort_unstable();
        self.least.truncate(2);
    }

    /// What the operation itself takes: the time of the member that spent least.
    pub fn least(&self) -> u64 {
        self.least.first().map_or(0, |least| least.0)
    }

    /// The time that the others spent longer than the one that spent least.
    pub fn lost(&self) -> Nanos {
        let lost = self.nanos.saturating_sub(Nanos::from(self.least()) * Nanos::from(self.seen));
        // Shorter than what is counted of messages.
        if lost < 1000 * Nanos::from(self.count) { 0 } else { lost }
    }

    /// The member that the others waited for: the one that spends least time in the operation, and by far.
    pub fn last(&self) -> Option<u32> {
        let [(least, rank), (next, _)] = self.least[..] else { return None };
        let others =
            self.nanos.saturating_sub(least.into()) / Nanos::from(self.seen.saturating_sub(1).max(1));
        let by_far = Nanos::from(next - least) * 2 >= others.saturating_sub(least.into());
        (self.lost() > 0 && by_far).then_some(rank)
    }
}

/// The identity of a communicator, and a place.
pub type GroupKey = (u64, Place);

/// How ranks have ended: how many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// How many.
    pub ranks: u32,
    /// The first ones.
    pub first: BTreeSet<u32>,
}

/// What some ranks have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many.
    pub ranks: u32,
    /// Their hosts.
    pub hosts: BTreeSet<String>,
    /// How they ended.
    pub ends: BTreeMap<Ended, Ends>,
    /// The sum of their checks.
    pub truth: Truth,
    /// What is missing.
    pub not_followed: NotFollowed,
    /// Time between `MPI_Init` and `MPI_Finalize`, in nanoseconds.
    pub nanos: Nanos,
    /// Whether calls were counted.
    pub has_calls: bool,
    /// Calls by place.
    pub calls: BTreeMap<Place, Calls>,
    /// Time lost by reason and place.
    pub lost: BTreeMap<(Rule, Place), Lost>,
    /// By rank: its time in MPI, and who waited for whom.
    pub blame: BTreeMap<u32, Blame>,
    /// Collective operations of communicators of which not all members are here.
    pub open: BTreeMap<GroupKey, Group>,
    /// Those of which all are: where most was lost.
    pub closed: BTreeMap<GroupKey, Group>,
    /// The four distributions: by tenth of a decade of nanoseconds, how many.
    pub times: [BTreeMap<u32, u64>; 4],
    /// Entries that found no space.
    pub left_out: u64,
    /// The same of the ranks' tables.
    #[serde(with = "as_numbers")]
    pub tables_left_out: LeftOut,
}

/// [`LeftOut`] with all of its numbers, in their order: what is sent has no names of fields, so zeros may not be
/// left out as in `profile.json`.
mod as_numbers {
    use mel_log::profile::LeftOut;
    use mel_log::profile::left_out::NUMBERS;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(of: &LeftOut, serializer: S) -> Result<S::Ok, S::Error> {
        <[u64; NUMBERS]>::from(*of).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LeftOut, D::Error> {
        <[u64; NUMBERS]>::deserialize(deserializer).map(LeftOut::from)
    }
}

impl Part {
    /// Adds what other ranks have counted.
    pub fn join(&mut self, other: Part) {
        self.ranks += other.ranks;
        self.hosts.extend(other.hosts);
        while self.hosts.len() > MOST {
            self.hosts.pop_last();
        }
        for (ended, other) in other.ends {
            let end = self.ends.entry(ended).or_default();
            end.ranks += other.ranks;
            end.first.extend(other.first);
            while end.first.len() > 4 {
                end.first.pop_last();
            }
        }
        self.truth = self.truth.plus(other.truth);
        self.not_followed = self.not_followed.plus(other.not_followed);
        self.nanos += other.nanos;
        self.has_calls |= other.has_calls;
        self.left_out += other.left_out;
        self.tables_left_out = self.tables_left_out.plus(other.tables_left_out);
        for (place, more) in other.calls {
            self.calls.entry(place).or_default().join(&more);
        }
        for (key, more) in other.lost {
            self.lost.entry(key).or_default().join(&more);
        }
        for (rank, more) in other.blame {
            self.blame.entry(rank).or_default().join(more);
        }
        self.closed.extend(other.closed);
        for (key, more) in other.open {
            self.meet(key, more);
        }
        for (times, other) in self.times.iter_mut().zip(other.times) {
            for (bin, count) in other {
                let known = times.entry(bin).or_default();
                *known = known.saturating_add(count);
            }
        }
        self.keep_largest();
    }

    /// Adds members to a collective operation: where all are there now, what was lost is known.
    pub fn meet(&mut self, key: GroupKey, more: Group) {
        let group = self.open.entry(key.clone()).or_default();
        group.join(more);
        if group.seen >= group.size {
            let Some(group) = self.open.remove(&key) else { return };
            self.close(key, group);
        }
    }

    /// All members of a collective operation are known.
    pub fn close(&mut self, key: GroupKey, group: Group) {
        let lost = group.lost();
        if lost == 0 {
            return;
        }
        let rule = Rule::of_collective(&key.1.function);
        let sum = self.lost.entry((rule, key.1.clone())).or_default();
        // Who is last loses nothing.
        sum.join(&Lost {
            count: group.count - group.count / group.seen,
            nanos: lost,
            longest: group.longest,
        });
        if let Some(last) = group.last() {
            self.blame.entry(last).or_default().came_last += lost;
        }
        self.closed.insert(key, group);
    }

    /// Beyond what there is space for, the entries with the least time are left out.
    fn keep_largest(&mut self) {
        let mut left_out = keep(&mut self.calls, MOST, |calls| calls.nanos);
        left_out += keep(&mut self.lost, MOST, |lost| lost.nanos);
        left_out += keep(&mut self.open, MOST_OPEN, |group| group.nanos);
        // What these have lost is in the sums already.
        keep(&mut self.closed, MOST, Group::lost);
        self.left_out += left_out;
    }
}

/// Leaves the entries with the greatest values; how many are left out.
fn keep<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, most: usize, value: impl Fn(&V) -> Nanos) -> u64 {
    let Some(too_many) = map.len().checked_sub(most).filter(|more| *more > 0) else { return 0 };
    let mut all: Vec<(Nanos, &K)> = map.iter().map(|(key, of)| (value(of), key)).collect();
    all.sort();
    let least: Vec<K> = all[..too_many].iter().map(|(_, key)| (*key).clone()).collect();
    least.iter().for_each(|key| {
        map.remove(key);
    });
    too_many as u64
}

impl Calls {
    /// Adds calls of the same place.
    pub fn join(&mut self, other: &Calls) {
        self.ranks += other.ranks;
        self.calls = self.calls.saturating_add(other.calls);
        self.nanos += other.nanos;
        self.longest = self.longest.max(other.longest);
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.given = self.given.saturating_add(other.given);
        self.expected = self.expected.saturating_add(other.expected);
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
        self.unexpected_bytes = self.unexpected_bytes.saturating_add(other.unexpected_bytes);
        self.search_nanos = self.search_nanos.saturating_add(other.search_nanos);
        self.longest_search = self.longest_search.max(other.longest_search);
    }
}

impl Lost {
    /// Adds what was lost for the same reason.
    pub fn join(&mut self, other: &Lost) {
        self.count = self.count.saturating_add(other.count);
        self.nanos += other.nanos;
        self.longest = self.longest.max(other.longest);
    }
}

// A list is a third of the size.
impl From<[Nanos; 6]> for Blame {
    fn from([lost, caused, blocked, posted_late, came_last, in_mpi]: [Nanos; 6]) -> Blame {
        Blame { lost, caused, blocked, posted_late, came_last, in_mpi }
    }
}

impl From<Blame> for [Nanos; 6] {
    fn from(blame: Blame) -> [Nanos; 6] {
        let Blame { lost, caused, blocked, posted_late, came_last, in_mpi } = blame;
        [lost, caused, blocked, posted_late, came_last, in_mpi]
    }
}

impl Blame {
    /// Adds what others know of the rank.
    pub fn join(&mut self, other: Blame) {
        self.lost += other.lost;
        self.caused += other.caused;
        self.blocked += other.blocked;
        self.posted_late += other.posted_late;
        self.came_last += other.came_last;
        self.in_mpi += other.in_mpi;
    }

    /// What others have lost for the rank.
    pub fn all_caused(self) -> Nanos {
        self.caused + self.came_last + self.blocked.min(self.posted_late)
    }
}
