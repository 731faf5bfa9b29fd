//! What was done on each communicator, by a rank and by all ranks. Times are in seconds.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Histogram;
use super::schema::{Profile, QueueStats, Queues, SearchStats};

/// What one rank did on one communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommunicatorProfile {
    /// Its name, for example `MPI_COMM_WORLD`.
    pub name: String,
    /// Its identity, the same in all of its processes; 0 for the communicators together that have no numbers of their own.
    pub context: u64,
    /// Number of its processes.
    pub size: u32,
    /// The queues of the application's messages on it, without distributions; absent where queues were not counted, and where nothing
    /// was in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// Calls on it. Those that complete requests, such as `MPI_Waitall`, are on none.
    #[serde(skip_serializing_if = "is_default")]
    pub calls: u64,
    /// Time in them.
    #[serde(skip_serializing_if = "is_default")]
    pub in_mpi_s: f64,
    /// Time lost waiting for its messages and in its collective operations; estimated.
    #[serde(skip_serializing_if = "is_default")]
    pub waiting_s: f64,
    /// Messages that the program has sent on it, where that was counted.
    #[serde(skip_serializing_if = "is_default")]
    pub messages: u64,
    /// Their bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub bytes: u64,
}

/// The name of the communicators together that have no numbers of their own.
pub const OTHER_COMMUNICATORS: &str = "(others)";

fn is_default<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// What all ranks did on one communicator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfCommunicator {
    /// Its name, identity and size, and the sums over the ranks; of lengths the longest of any rank.
    pub sum: CommunicatorProfile,
    /// How many ranks did something on it.
    pub ranks: u32,
}

/// The communicators of a run, the one with the most time in MPI first, then by messages in the queues. None of very many ranks.
pub fn by_communicator(profile: &Profile) -> Vec<OfCommunicator> {
    let mut places: HashMap<(u64, &str), usize> = HashMap::new();
    let mut all: Vec<OfCommunicator> = Vec::new();
    for of_rank in profile.ranks.iter().flat_map(|rank| &rank.communicators) {
        let place = *places.entry((of_rank.context, &of_rank.name)).or_insert_with(|| {
            let CommunicatorProfile { name, context, size, .. } = of_rank;
            let (name, context, size) = (name.clone(), *context, *size);
            let sum = CommunicatorProfile { name, context, size, ..CommunicatorProfile::default() };
            all.push(OfCommunicator { sum, ranks: 0 });
            all.len() - 1
        });
        all[place].ranks += 1;
        all[place].sum.join(of_rank);
    }
    let queued = |of: &OfCommunicator| {
        of.sum
            .queues
            .as_ref()
            .map_or(0, |queues| queues.posted.messages.saturating_add(queues.unexpected.messages))
    };
    all.sort_by(|a, b| {
        let by_time = b.sum.in_mpi_s.total_cmp(&a.sum.in_mpi_s);
        by_time.then_with(|| queued(b).cmp(&queued(a))).then_with(|| a.sum.name.cmp(&b.sum.name))
    });
    all
}

impl CommunicatorProfile {
    /// Adds what another rank did on it.
    pub fn join(&mut self, other: &CommunicatorProfile) {
        if let Some(more) = &other.queues {
            self.queues.get_or_insert_default().join(more);
        }
        for (own, more) in [
            (&mut self.calls, other.calls),
            (&mut self.messages, other.messages),
            (&mut self.bytes, other.bytes),
        ] {
            *own = own.saturating_add(more);
        }
        self.in_mpi_s += other.in_mpi_s;
        self.waiting_s += other.waiting_s;
    }
}

impl Queues {
    /// The same without the distributions of times.
    #[must_use]
    pub fn without_distributions(&self) -> Queues {
        let mut queues = self.clone();
        queues.posted.lifetimes = Histogram::default();
        queues.unexpected.lifetimes = Histogram::default();
        queues.posted_search.times = Histogram::default();
        queues.unexpected_search.times = Histogram::default();
        queues
    }

    /// Adds other queues: of lengths the longest; without distributions.
    pub fn join(&mut self, other: &Queues) {
        self.posted.join(&other.posted);
        self.unexpected.join(&other.unexpected);
        self.posted_search.join(&other.posted_search);
        self.unexpected_search.join(&other.unexpected_search);
    }
}

/// Mean and shortest of the values of both, of which there are so many: count, mean, shortest.
fn joined(a: (u64, f64, f64), b: (u64, f64, f64)) -> (f64, f64) {
    match (a.0, b.0) {
        (_, 0) => (a.1, a.2),
        (0, _) => (b.1, b.2),
        (of_a, of_b) => {
            let sum = a.1 * of_a as f64 + b.1 * of_b as f64;
            (sum / (of_a as f64 + of_b as f64), a.2.min(b.2))
        }
    }
}

impl QueueStats {
    /// Entries that have a lifetime.
    fn ended(&self) -> u64 {
        self.messages.saturating_sub(self.left)
    }

    fn join(&mut self, other: &QueueStats) {
        let of = |stats: &QueueStats| (stats.ended(), stats.mean_s, stats.min_s);
        (self.mean_s, self.min_s) = joined(of(self), of(other));
        self.messages = self.messages.saturating_add(other.messages);
        self.left = self.left.saturating_add(other.left);
        self.max_length = self.max_length.max(other.max_length);
        self.max_s = self.max_s.max(other.max_s);
        self.populated_s += other.populated_s;
        self.total_s += other.total_s;
    }
}

impl SearchStats {
    fn join(&mut self, other: &SearchStats) {
        let of = |stats: &SearchStats| (stats.searches, stats.mean_s, stats.min_s);
        (self.mean_s, self.min_s) = joined(of(self), of(other));
        self.searches = self.searches.saturating_add(other.searches);
        self.max_s = self.max_s.max(other.max_s);
        self.total_s += other.total_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RankProfile;

    #[test]
    fn sums_over_ranks_are_by_communicator_and_lengths_the_longest() {
        let of = |name: &str, context, length, mean_s| {
            let posted = QueueStats {
                messages: 2,
                max_length: length,
                mean_s,
                min_s: mean_s,
                ..QueueStats::default()
            };
            CommunicatorProfile {
                name: name.into(),
                context,
                queues: Some(Queues { posted, ..Queues::default() }),
                calls: 3,
                in_mpi_s: context as f64,
                ..CommunicatorProfile::default()
            }
        };
        let rank = |communicators| RankProfile { communicators, ..RankProfile::default() };
        let without = CommunicatorProfile { queues: None, messages: 7, ..of("halo", 2, 0, 0.0) };
        let ranks = vec![
            rank(vec![of("world", 1, 5, 1.0), of("halo", 2, 1, 3.0)]),
            rank(vec![of("halo", 2, 9, 1.0), without]),
        ];
        let all = by_communicator(&Profile { ranks, ..Profile::default() });
        let names: Vec<_> = all.iter().map(|of| (&*of.sum.name, of.ranks, of.sum.calls)).collect();
        assert_eq!(names, [("halo", 3, 9), ("world", 1, 3)]);
        let posted = &all[0].sum.queues.as_ref().unwrap().posted;
        assert_eq!((posted.messages, posted.max_length, posted.mean_s, posted.min_s), (4, 9, 2.0, 1.0));
        assert_eq!(all[0].sum.messages, 7);
    }
}
