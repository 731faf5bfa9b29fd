//! What `profile.json` has of a run with very many ranks in the place of an entry for each: sums over all ranks, and how each number
//! is distributed over them. The numbers of each rank are in [`ranks.table`](super::columns).

use serde::{Deserialize, Serialize};

use super::calls::{MessagesFound, WaitKind};
use super::ends::Ended;
use super::left_out::LeftOut;
use super::over_ranks::OverRanks;
use super::schema::{NotFollowed, Profile, Truth};
use super::sums::{OfFunction, OfSite, OfWaits, Sum};
use super::{Histogram, columns};

/// A run in sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reduced {
    /// How many ranks are in the sums.
    pub ranks: u32,
    /// On how many hosts.
    pub hosts: u32,
    /// Names of some of them.
    pub some_hosts: Vec<String>,
    /// How ranks ended, and how many; nothing of those that ended with `MPI_Finalize`.
    pub ended: Vec<EndedRanks>,
    /// The time of all ranks between `MPI_Init` and `MPI_Finalize`.
    pub run_s: f64,
    /// How far the numbers of queues can be trusted.
    pub truth: Truth,
    /// What is missing in them.
    pub not_followed: NotFollowed,
    /// Calls by call site and MPI function, those that took longest first.
    pub calls: Vec<SumOfCalls>,
    /// Time lost, by reason, call site and causing rank, the most first.
    pub waits: Vec<SumOfWaits>,
    /// Distributions of the lifetimes in the posted and in the unexpected queue, and of the durations of searches of the two.
    pub times: [Histogram; 4],
    /// Each number of the ranks, over all of them.
    pub over_ranks: Vec<OverRanks>,
    /// Call sites, and communicators, that were too many to be kept apart: their time is in no sum by call site.
    pub left_out: u64,
    /// What found no space in the tables of the ranks.
    #[serde(skip_serializing_if = "LeftOut::is_none")]
    pub tables_left_out: LeftOut,
}

/// Ranks that ended alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedRanks {
    /// How they ended.
    pub ended: Ended,
    /// How many.
    pub ranks: u32,
    /// The first of them.
    pub first: Vec<u32>,
}

/// The calls of one function from one call site, on all ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each is the field of that name of `CallProfile`, over all ranks")]
pub struct SumOfCalls {
    pub function: String,
    /// The call site, as a place in the profile's `sites`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// On how many ranks there were such calls.
    pub ranks: u32,
    pub calls: u64,
    pub total_s: f64,
    pub max_s: f64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub bytes_given: u64,
    #[serde(skip_serializing_if = "MessagesFound::is_empty")]
    pub messages: MessagesFound,
    /// The part of the time that was lost waiting; estimated.
    pub lost_s: f64,
}

/// Time lost for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SumOfWaits {
    /// Why.
    pub kind: WaitKind,
    /// The MPI function.
    pub function: String,
    /// Where: a place in the profile's `sites`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// The rank that they waited for; absent where they waited for many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// The call there that ended the waiting, where it is known: a place in `sites`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_site: Option<u32>,
    /// How many ranks lost time.
    pub ranks: u32,
    /// Those that lost most, and how much.
    pub victims: Vec<(u32, f64)>,
    /// How often.
    pub count: u64,
    /// The time lost.
    pub lost_s: f64,
    /// The most in one call.
    pub max_s: f64,
}

impl SumOfCalls {
    /// The sum that others take it for.
    pub fn sum(&self) -> Sum {
        Sum {
            calls: self.calls,
            total_s: self.total_s,
            max_s: self.max_s,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            bytes_given: self.bytes_given,
            messages: self.messages,
            lost_s: self.lost_s,
        }
    }
}

impl Reduced {
    /// A number over the ranks.
    pub fn over(&self, group: &str, name: &str) -> Option<&OverRanks> {
        self.over_ranks.iter().find(|over| over.group == group && over.name == name)
    }

    /// All calls.
    pub fn whole(&self) -> Sum {
        let mut sum = Sum::default();
        self.calls.iter().for_each(|calls| sum.join(&calls.sum()));
        sum
    }

    /// The MPI functions, the one that took longest first. What they took by rank is in [`Reduced::over_ranks`].
    pub fn by_function(&self) -> Vec<OfFunction> {
        let mut functions: Vec<OfFunction> = Vec::new();
        for calls in &self.calls {
            let place =
                functions.iter().position(|known| known.function == calls.function).unwrap_or_else(|| {
                    functions.push(OfFunction { function: calls.function.clone(), ..OfFunction::default() });
                    functions.len() - 1
                });
            functions[place].sum.join(&calls.sum());
        }
        functions.sort_by(|a, b| {
            b.sum.total_s.total_cmp(&a.sum.total_s).then_with(|| a.function.cmp(&b.function))
        });
        functions
    }

    /// The call sites, the one that took longest first.
    pub fn by_site(&self, profile: &Profile) -> Vec<OfSite> {
        let name = |site: Option<u32>| profile.sites.get(site? as usize).map(ToString::to_string);
        let of = |calls: &SumOfCalls| {
            let waits =
                self.waits.iter().filter(|wait| (&wait.function, wait.site) == (&calls.function, calls.site));
            let mut waited_for: Vec<(Option<u32>, f64)> =
                waits.map(|wait| (wait.peer, wait.lost_s)).collect();
            waited_for.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            OfSite { site: name(calls.site), function: calls.function.clone(), sum: calls.sum(), waited_for }
        };
        self.calls.iter().map(of).collect()
    }

    /// Who waited for whom, the most first.
    pub fn of_waits(&self, profile: &Profile) -> Vec<OfWaits> {
        let name = |site: Option<u32>| profile.sites.get(site? as usize).map(ToString::to_string);
        let of = |wait: &SumOfWaits| OfWaits {
            kind: wait.kind,
            peer: wait.peer,
            site: name(wait.site),
            function: wait.function.clone(),
            peer_site: name(wait.peer_site),
            victims: wait.victims.clone(),
            victims_all: wait.ranks as usize,
            count: wait.count,
            lost_s: wait.lost_s,
            max_s: wait.max_s,
        };
        self.waits.iter().map(of).collect()
    }

    /// The ranks that others waited for longest, and how long.
    pub fn causes(&self) -> Vec<(u32, f64)> {
        let over = self.over(columns::TIME, columns::CAUSED);
        over.map(|over| over.highest.iter().filter(|(_, lost)| *lost > 0.0).copied().collect())
            .unwrap_or_default()
    }
}
