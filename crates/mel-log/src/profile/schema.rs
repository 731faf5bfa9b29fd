//! The types behind `profile.json`. Times are in seconds unless their names say otherwise.
//!
//! A field that a file lacks reads as zero, empty or its default, so that older files stay readable.

use serde::{Deserialize, Serialize};

use super::Histogram;
use super::actions::ActionProfile;
use super::attribution::AttributedProfile;
use super::budget::{Budget, Parts};
use super::calls::{CallProfile, CallSite, NamedCommunicator};
use super::communicators::CommunicatorProfile;
use super::connections::{Connection, Port};
use super::counters::Counters;
use super::efficiency::Efficiencies;
use super::ends::{Ended, LastCall};
use super::left_out::LeftOut;
use super::one_sided::WindowProfile;
use super::processors::{Processors, Resources};
use super::reduced::Reduced;
use super::remarks::Remark;
use super::stacks::StackProfile;
use super::told::Told;
use super::traffic::Traffic;
use super::variables::VariableProfile;
use super::verdict::Finding;
use crate::ranks::{RankRanges, SizeOfRun};

/// The profile of a run: the whole of `profile.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The version of MEL that measured.
    pub mel_version: String,
    /// The MPI library, as it names itself.
    pub mpi: String,
    /// Where the queue events came from: `model` or `peruse`.
    pub backend: String,
    /// What was counted: `queues`, `rma`; absent where only the queues were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiled: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What has started its processes: the launcher and the job of a batch system; absent where nothing is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub launcher: String,
    /// When `MPI_Init` was called on rank 0, in seconds since 1970-01-01 UTC.
    pub started_unix_s: f64,
    /// From `MPI_Init` to the end of the measurement on rank 0.
    pub duration_s: f64,
    /// Number of ranks of the run. `ranks` has fewer if some left nothing behind.
    pub world_size: u32,
    /// What could not be read of what the run has left, in a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// What costs time and who is the cause, worst first, if calls were counted; empty where MPI is not what holds the program
    /// back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Vec<Finding>>,
    /// Where the time of all ranks goes, if calls were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How well the ranks are used, if calls were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiencies>,
    /// Mistakes in the use of MPI that did no harm in this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// The call sites that the entries of `calls` refer to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<CallSite>,
    /// The communicators that they refer to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<NamedCommunicator>,
    /// The phases that the program has named; the first is what came before them. Empty where it has named none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// One entry per rank, ascending. Empty where there are too many: then `reduced` is there.
    pub ranks: Vec<RankProfile>,
    /// The sums over very many ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduced: Option<Box<Reduced>>,
}

/// The profile of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankProfile {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// How the rank ended.
    pub ended: Ended,
    /// The last instant that it is known to have been there, in seconds since it called `MPI_Init*`, where no end is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_s: Option<f64>,
    /// The call that it has made last, where it did not end with `MPI_Finalize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_call: Option<LastCall>,
    /// From the exit of `MPI_Init*` to the entry of `MPI_Finalize`, or to the end of the measurement. Shares are of this.
    #[serde(skip_serializing_if = "is_zero")]
    pub run_s: f64,
    /// Time in `MPI_Init*`.
    #[serde(skip_serializing_if = "is_zero")]
    pub init_s: f64,
    /// Time that other ranks lost waiting for this one, their waiting followed back to its cause; estimated.
    #[serde(skip_serializing_if = "is_zero")]
    pub caused_s: f64,
    /// Where its time goes, if calls were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Parts>,
    /// The processors that it may use, and how long it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<Processors>,
    /// Where it was outside of MPI, by samples of its stacks, the one with most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackProfile>,
    /// How many hundredths of a second each of those samples stands for.
    #[serde(skip_serializing_if = "is_none")]
    pub stack_step: u64,
    /// What the operating system counted of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// What the processor counted of it outside of MPI; absent where it has no counters, or nobody may read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// The posted receive queue.
    pub posted: QueueStats,
    /// The unexpected message queue.
    pub unexpected: QueueStats,
    /// Searches of the posted receive queue: for each message that arrived.
    pub posted_search: SearchStats,
    /// Searches of the unexpected message queue: for each receive that was posted, and each probe.
    pub unexpected_search: SearchStats,
    /// How far the numbers can be trusted.
    pub truth: Truth,
    /// What the clock of rank 0's node was ahead of this node's at the start, where there are several nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset_s: Option<f64>,
    /// How far that may be from the truth, and what was found at the end: the greater of the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset_error_s: Option<f64>,
    /// Messages of the MPI's own, such as those of collectives, where the backend sees them: they are not
    /// in the numbers above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal: Option<Queues>,
    /// The same run as another backend saw it, where two were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What is missing in them.
    pub not_followed: NotFollowed,
    /// What found no space in the tables.
    #[serde(skip_serializing_if = "LeftOut::is_none")]
    pub left_out: LeftOut,
    /// The time of each phase and its queues, if the program has named phases. Calls have their phase, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseProfile>,
    /// How long the rank was in each region, if the program has named regions and calls were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionProfile>,
    /// What the rank did on each communicator: queues, calls, messages, as far as they were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<CommunicatorProfile>,
    /// Calls by function, call site, communicator and thread, if they were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallProfile>,
    /// One-sided communication by window, if it was counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowProfile>,
    /// What the rank has sent to whom, if that was counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<Traffic>,
    /// Its connections by interface and peer, if they were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<Connection>,
    /// Of the first rank of each host: what the interfaces of the host have counted, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    /// Performance variables over time, if they were sampled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableProfile>,
    /// Samples of them that were lost, and variables, elements or objects that found no space.
    #[serde(skip_serializing_if = "is_none")]
    pub samples_lost: u64,
    /// What performance variables did in each call and region, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributed: Vec<AttributedProfile>,
    /// Regions that were begun beyond the most that there can be: they count in what they lie in.
    #[serde(skip_serializing_if = "is_none")]
    pub lost_regions: u64,
    /// Ends of regions that were not those of the region begun last.
    #[serde(skip_serializing_if = "is_none")]
    pub mismatched_regions: u64,
    /// What plugins have told of this rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
    /// What policies have set, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionProfile>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// Both queues and their searches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queues {
    /// The posted receive queue.
    pub posted: QueueStats,
    /// The unexpected message queue.
    pub unexpected: QueueStats,
    /// Searches of the posted receive queue.
    pub posted_search: SearchStats,
    /// Searches of the unexpected message queue.
    pub unexpected_search: SearchStats,
}

/// One phase of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseProfile {
    /// The phase, as a place in the profile's `phases`.
    pub phase: u32,
    /// Its name, where that is not in the profile's `phases`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How long the rank was in it, between `MPI_Init*` and `MPI_Finalize`.
    pub run_s: f64,
    /// The part of that outside of MPI, but for what lies between the tests of a thread that polls; if calls were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computing_s: Option<f64>,
    /// What the processor counted in this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// The queues of the application's messages in this phase; absent where they were not counted, and where there are so many phases
    /// that this one has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
}

/// One region of one rank, with those that lie in it. Of several threads in it the mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegionProfile {
    /// The region, as a path of names; empty for what is in none.
    pub region: String,
    /// How often it was begun.
    pub times: u64,
    /// How long the rank was in it, between `MPI_Init*` and `MPI_Finalize`.
    pub run_s: f64,
    /// The part of that outside of MPI, but for what lies between the tests of a thread that polls.
    pub computing_s: f64,
    /// How many threads of the rank were in it.
    pub threads: u32,
    /// What the processor counted of it outside of MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
}

/// A run as a second backend saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// Its name.
    pub backend: String,
    /// Messages of the application.
    #[serde(flatten)]
    pub queues: Queues,
    /// Messages of the MPI's own, where this backend sees them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal: Option<Queues>,
}

/// One message queue of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueStats {
    /// Entries that were put into the queue.
    pub messages: u64,
    /// The most entries at any one time.
    pub max_length: u64,
    /// How long the queue was not empty.
    pub populated_s: f64,
    /// The sum of the lifetimes of the entries.
    pub total_s: f64,
    /// The mean lifetime; 0 without messages.
    pub mean_s: f64,
    /// The shortest lifetime; 0 without messages.
    pub min_s: f64,
    /// The longest lifetime.
    pub max_s: f64,
    /// Entries still in the queue when the measurement ended. They have no lifetime.
    pub left: u64,
    /// Distribution of the lifetimes.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub lifetimes: Histogram,
}

/// The searches of one message queue of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchStats {
    /// Number of searches.
    pub searches: u64,
    /// The sum of their durations.
    pub total_s: f64,
    /// Their mean duration; 0 without searches.
    pub mean_s: f64,
    /// The shortest duration; 0 without searches.
    pub min_s: f64,
    /// The longest duration.
    pub max_s: f64,
    /// Distribution of the durations.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub times: Histogram,
}

/// What the comparison with the real library's results says, in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Truth {
    /// Receives whose match was confirmed by the `MPI_Status` of the real receive.
    pub matched: u64,
    /// Wildcard receives that the real library matched with another message.
    pub rematched: u64,
    /// Receives that completed although no envelope had come.
    pub envelopes_lost: u64,
    /// Envelopes that no receive ever took.
    pub never_received: u64,
    /// Envelopes or events that were lost.
    pub dropped: u64,
}

impl Profile {
    /// What is not followed, of all ranks together.
    #[must_use]
    pub fn not_followed(&self) -> NotFollowed {
        let of_ranks =
            self.ranks.iter().fold(NotFollowed::default(), |sum, rank| sum.plus(rank.not_followed));
        self.reduced.as_ref().map_or(of_ranks, |reduced| reduced.not_followed)
    }

    /// Name and version of the MPI library, which says more about itself behind them; empty where it is not known.
    #[must_use]
    pub fn mpi_name(&self) -> String {
        let first = self.mpi.split([',', '\n']).map(str::trim).find(|part| !part.is_empty());
        first.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default()
    }

    /// Whether calls were counted.
    pub fn has_calls(&self) -> bool {
        let of_many = self.reduced.as_ref().is_some_and(|reduced| !reduced.calls.is_empty());
        of_many || self.ranks.iter().any(|rank| !rank.calls.is_empty())
    }

    /// The ranks that have left nothing, where the profile has each rank.
    pub fn missing_ranks(&self) -> RankRanges {
        if self.reduced.is_some() {
            return RankRanges::default();
        }
        RankRanges::missing(self.ranks.iter().map(|rank| rank.rank), self.world_size)
    }

    /// Takes as the number of ranks what the files of the run agree on, where they say it (each its rank and the size), and leaves out ranks that it does not have.
    /// Files that contradict the others are named by their `kind` in [`Profile::incomplete`].
    pub fn settle_size(&mut self, said: &[(u32, u32)], kind: &str) {
        if said.iter().all(|(_, size)| *size == 0) {
            return;
        }
        let size = SizeOfRun::of(said);
        self.incomplete.extend(size.contradiction(kind));
        self.ranks.retain(|rank| rank.rank < size.ranks);
        self.world_size = size.ranks;
    }

    /// Whether all that the run should have left is there: each rank, and each file as a whole.
    pub fn is_whole(&self) -> bool {
        self.incomplete.is_empty() && self.missing_ranks().is_empty() && self.missing_of_many() == 0
    }

    /// How many ranks have left nothing, where the profile has sums over them.
    pub fn missing_of_many(&self) -> u32 {
        self.reduced.as_ref().map_or(0, |reduced| self.world_size.saturating_sub(reduced.ranks))
    }

    /// Whether a finding of the verdict tells of searches of the queues.
    pub fn explains_searches(&self) -> bool {
        self.verdict.iter().flatten().any(Finding::is_of_searches)
    }

    /// Whether the message queues were counted.
    pub fn has_queues(&self) -> bool {
        self.profiled.is_empty() || self.counts("queues")
    }

    /// Whether this was counted, of those that [`profiled`](Profile::profiled) may have.
    pub fn counts(&self, what: &str) -> bool {
        self.profiled.iter().any(|name| name == what)
    }

    /// Whether it was counted who has sent what to whom, and there was anything.
    pub fn has_traffic(&self) -> bool {
        self.ranks.iter().any(|rank| !rank.traffic.is_empty())
    }
}

impl Truth {
    /// Whether nothing needs to be said.
    pub fn is_clean(&self) -> bool {
        let Truth { matched: _, rematched, envelopes_lost, never_received, dropped } = *self;
        [rematched, envelopes_lost, never_received, dropped] == [0; 4]
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Truth) -> Truth {
        Truth {
            matched: self.matched.saturating_add(other.matched),
            rematched: self.rematched.saturating_add(other.rematched),
            envelopes_lost: self.envelopes_lost.saturating_add(other.envelopes_lost),
            never_received: self.never_received.saturating_add(other.never_received),
            dropped: self.dropped.saturating_add(other.dropped),
        }
    }
}

/// What the rank has done that the model does not follow, so that it is in no other number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotFollowed {
    /// Communicators with processes of other jobs, of sessions, and those made from such.
    pub communicators: u64,
    /// Sends, receives and probes on these.
    pub calls: u64,
    /// Partitioned sends and receives.
    pub partitioned: u64,
    /// Receives that are not counted in the queues, because following all would have taken more of the run than the model
    /// may take: others stand for them.
    pub receives: u64,
    /// Bursts, receives that one call has completed, since there were such.
    pub bursts: u64,
    /// Those of them that are counted.
    pub bursts_followed: u64,
}

impl NotFollowed {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: NotFollowed) -> NotFollowed {
        NotFollowed {
            communicators: self.communicators.saturating_add(other.communicators),
            calls: self.calls.saturating_add(other.calls),
            partitioned: self.partitioned.saturating_add(other.partitioned),
            receives: self.receives.saturating_add(other.receives),
            bursts: self.bursts.saturating_add(other.bursts),
            bursts_followed: self.bursts_followed.saturating_add(other.bursts_followed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Basis;
    use super::*;

    #[test]
    fn what_a_file_lacks_reads_as_default() {
        let profile: Profile =
            serde_json::from_str(r#"{"ranks":[{"rank":3,"posted":{"messages":2}}],"later":1}"#).unwrap();
        assert_eq!(profile.ranks[0].rank, 3);
        assert_eq!(profile.ranks[0].posted.messages, 2);
        assert_eq!(profile.ranks[0].ended, Ended::Finalised);
        assert!(profile.ranks[0].truth.is_clean());
    }

    #[test]
    fn every_key_is_documented() {
        fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
            match value {
                serde_json::Value::Object(fields) => {
                    for (key, value) in fields {
                        found.push(key.clone());
                        keys(value, found);
                    }
                }
                serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
                _ => {}
            }
        }
        let communicator_profile = CommunicatorProfile {
            queues: Some(Queues::default()),
            calls: 1,
            in_mpi_s: 1.0,
            waiting_s: 1.0,
            messages: 1,
            bytes: 1,
            ..CommunicatorProfile::default()
        };
        let mut rank = RankProfile { communicators: vec![communicator_profile], ..Default::default() };
        let times = crate::profile::Times { count: 1, ..Default::default() };
        let thread = crate::profile::WindowThread {
            completion: times.clone(),
            operations: [("put".into(), Default::default())].into(),
            ..Default::default()
        };
        rank.windows.push(WindowProfile {
            threads: vec![thread],
            locks_held: times.clone(),
            fence_epochs: times.clone(),
            access_epochs: times.clone(),
            exposure_epochs: times,
            ..Default::default()
        });
        rank.internal = Some(Queues::default());
        rank.phases.push(PhaseProfile {
            name: "solve".into(),
            computing_s: Some(1.0),
            queues: Some(Queues::default()),
            ..PhaseProfile::default()
        });
        rank.regions.push(RegionProfile::default());
        (rank.run_s, rank.init_s, rank.caused_s) = (1.0, 1.0, 1.0);
        let wait = crate::profile::WaitProfile { peer: Some(0), peer_site: Some(0), ..Default::default() };
        rank.calls.push(CallProfile {
            site: Some(0),
            communicator: Some(0),
            times: Histogram(vec![(1, 1, 1)]),
            messages: crate::profile::MessagesFound { expected: 1, ..Default::default() },
            phase: 1,
            waits: vec![wait],
            ..CallProfile::default()
        });
        let site = CallSite { file: "f".into(), line: 1, function: "f".into(), ..CallSite::default() };
        let worst = vec![crate::profile::Instance::default()];
        let patterns = vec![crate::profile::Pattern::default()];
        let finding = Finding {
            worst,
            patterns,
            would_win_s: Some(1.0),
            lost_by_rank_s: vec![1.0],
            ..Finding::default()
        };
        rank.last_seen_s = Some(1.0);
        rank.last_call = Some(LastCall {
            site: Some(0),
            communicator: Some(0),
            returned_s: Some(1.0),
            ..LastCall::default()
        });
        rank.traffic.push(Traffic {
            phase: 1,
            communicator: Some(0),
            peer: Some(0),
            operation: "MPI_Bcast".into(),
            root: Some(0),
            sizes: vec![(0, 1)],
            ..Traffic::default()
        });
        rank.variables.push(VariableProfile {
            description: "d".into(),
            of_mpi: true,
            object: "MPI_COMM_WORLD".into(),
            element: Some(0),
            grown: Some(1.0),
            curve: vec![(0.0, 0.0)],
            ..VariableProfile::default()
        });
        rank.samples_lost = 1;
        rank.left_out.contexts = 1;
        rank.attributed.push(AttributedProfile {
            description: "d".into(),
            of_mpi: true,
            object: "MPI_COMM_WORLD".into(),
            grown: Some(1.0),
            reads: 1,
            read_s: 1.0,
            shares: vec![crate::profile::ShareProfile {
                function: "MPI_Send".into(),
                site: Some(0),
                communicator: Some(0),
                phase: 1,
                region: "main".into(),
                thread: 1,
                amount: Some(1.0),
                min: Some(1.0),
                mean: Some(1.0),
                max: Some(1.0),
                value: Some(1.0),
                ..Default::default()
            }],
            ..AttributedProfile::default()
        });
        (rank.lost_regions, rank.mismatched_regions) = (1, 1);
        rank.counters = Some(Counters { cycles: Some(1), cache_misses: Some(1), ..Counters::default() });
        let members = crate::Members::from_ranks([0]);
        (rank.clock_offset_s, rank.clock_offset_error_s) = (Some(0.0), Some(0.0));
        rank.comparison = Some(Comparison::default());
        rank.posted.lifetimes = Histogram(vec![(1, 1, 1)]);
        rank.posted_search.times = Histogram(vec![(1, 1, 1)]);
        rank.budget = Some(Parts::default());
        let (quota, used_s, waited_s) = (Some(1.0), Some(1.0), Some(1.0));
        rank.processors = Some(Processors { quota, used_s, waited_s, ..Processors::default() });
        let unexplained =
            vec![crate::profile::budget::Unexplained { site: Some("f".into()), ..Default::default() }];
        let waiting = vec![crate::profile::budget::Waiting::default()];
        let not_looked_at = vec!["MPI_Win_lock".into()];
        let budget = Budget { waiting, unexplained, not_looked_at, ..Budget::default() };
        use crate::profile::Efficiency;
        let whole = Efficiency { busiest_site: Some("f".into()), ..Efficiency::default() }
            .with_ideal(1.0, Basis::Exact);
        let phases = vec![crate::profile::efficiency::OfPhase::default()];
        let profile = Profile {
            efficiency: Some(Efficiencies {
                whole,
                phases,
                regions: vec![crate::profile::efficiency::OfRegion::default()],
            }),
            budget: Some(budget),
            ranks: vec![rank],
            profiled: vec!["rma".into()],
            incomplete: vec!["a file".into()],
            verdict: Some(vec![finding]),
            sites: vec![site],
            communicators: vec![NamedCommunicator {
                members: members.clone(),
                remote: Some(members),
                ..NamedCommunicator::default()
            }],
            phases: vec![String::new(), "solve".into()],
            ..Profile::default()
        };
        let mut found = Vec::new();
        keys(&serde_json::to_value(profile).unwrap(), &mut found);
        let page = include_str!("../../../../docs/profile.md");
        for key in found {
            assert!(page.contains(&format!("`{key}`")), "docs/profile.md does not explain `{key}`");
        }
    }

    #[test]
    fn the_names_are_those_that_others_rely_on() {
        let json =
            serde_json::to_value(Profile { ranks: vec![RankProfile::default()], ..Profile::default() });
        let json = json.unwrap();
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys.join(" ")
        };
        assert_eq!(keys(&json), "backend command duration_s mel_version mpi ranks started_unix_s world_size");
        let rank = &json["ranks"][0];
        assert_eq!(
            keys(rank),
            "ended host not_followed posted posted_search rank truth unexpected unexpected_search"
        );
        assert_eq!(rank["ended"], "finalised");
        assert_eq!(keys(&rank["posted"]), "left max_length max_s mean_s messages min_s populated_s total_s");
        assert_eq!(keys(&rank["unexpected_search"]), "max_s mean_s min_s searches total_s");
        assert_eq!(keys(&rank["truth"]), "dropped envelopes_lost matched never_received rematched");
        assert_eq!(
            keys(&rank["not_followed"]),
            "bursts bursts_followed calls communicators partitioned receives"
        );
    }
}
