//! Losses added up into findings: by rule, call site, the cause's call site, communicator, and cause.

use std::collections::BTreeSet;

use mel_verdict::findings::{Causes, Victims};
use rustc_hash::FxHashMap;

use crate::by_hand::Loops;
use crate::checks::Checks;
use crate::model::{Change, NO_SITE, Site};
use crate::overlap::Overlaps;
use crate::rendezvous::Protocols;
use crate::rules::{Loss, Rule};

/// The most times that are kept without which nothing would have been lost.
const MOST_REMOVED: usize = 1 << 21;
/// The worst instances of a finding that are kept.
const WORST: usize = 5;

/// What losses have in common that are one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group {
    /// The rule.
    pub rule: Rule,
    /// Where the time is lost.
    pub site: Site,
    /// Where the cause is.
    pub cause_site: Site,
    /// The communicator.
    pub communicator: u32,
    /// The cause.
    pub cause: Option<u32>,
}

/// Losses of one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// How many calls have lost time.
    pub count: u64,
    /// The time lost by rank, in nanoseconds.
    pub by_rank: FxHashMap<u32, f64>,
    /// The worst: rank, begin, and time lost; worst first.
    pub worst: Vec<(u32, u64, f64)>,
    /// The time lost that was passed on: the one that was waited for is not the cause.
    pub passed_on: f64,
    /// The time lost while the cause was in MPI, by its call there, in nanoseconds.
    pub inside: FxHashMap<Site, f64>,
    /// The times without which nothing would have been lost, by rank; none where they are too many.
    pub removed: Option<Vec<(u32, (u64, u64))>>,
    /// The largest optimal distance of a wait, without the transfer, and the bytes that were transferred.
    pub distance: (u64, u64),
    /// The time lost by the phase of who has lost it, in nanoseconds; what was lost in no phase is left out.
    pub phases: FxHashMap<u32, f64>,
}

impl Sum {
    /// The time lost by all ranks.
    pub fn total(&self) -> f64 {
        self.by_rank.values().sum()
    }
}

/// All findings of a run, as sums.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// By what the losses have in common.
    pub groups: FxHashMap<Group, Sum>,
    /// How long messages take.
    pub transfers: Transfers,
    /// How much of nonblocking messages was hidden.
    pub overlaps: Overlaps,
    /// What long messages have to wait for, by protocol.
    pub protocols: Protocols,
    /// Collective operations that are made by hand.
    pub loops: Loops,
    /// Who was the cause in operations in which all wait for the last, by rule, call site and communicator.
    pub last: FxHashMap<(Rule, Site, u32), Causes>,
    /// Who has waited in them, by rule and communicator.
    pub waited: FxHashMap<(Rule, u32), Victims>,
    /// What did no harm in this run.
    pub checks: Option<Box<Checks>>,
    /// Ranks that idle by design: what they wait is not lost.
    idle: BTreeSet<u32>,
    /// By rank: since when it is in which phase, in the order of time.
    pub phases: FxHashMap<u32, Vec<Change>>,
    /// The same of regions of the program.
    pub regions: FxHashMap<u32, Vec<Change>>,
    /// How many times are in [`Sum::removed`] of all.
    removed: usize,
}

/// The shortest transfers of messages that their receivers waited for, by powers of two of their lengths.
#[derive(Clone, Debug)]
pub struct Transfers([u64; 65]);

impl Default for Transfers {
    fn default() -> Self {
        Transfers([u64::MAX; 65])
    }
}

impl Transfers {
    fn class(bytes: u64) -> usize {
        (u64::BITS - bytes.leading_zeros()) as usize
    }

    /// A message of so many bytes took so long, in nanoseconds.
    pub fn add(&mut self, bytes: u64, nanos: u64) {
        let shortest = &mut self.0[Self::class(bytes)];
        *shortest = nanos.min(*shortest);
    }

    /// How long a message of so many bytes takes, by those that are about as long; 0 where there was none.
    pub fn of(&self, bytes: u64) -> u64 {
        Some(self.0[Self::class(bytes)]).filter(|nanos| *nanos != u64::MAX).unwrap_or(0)
    }
}

/// What a loss due to this cause and its call has in common with others.
fn group(loss: &Loss, cause: Option<(u32, Site)>) -> Group {
    let Loss { rule, site, communicator, .. } = *loss;
    let cause_site = cause.map_or(NO_SITE, |cause| cause.1);
    Group { rule, site, cause_site, communicator, cause: cause.map(|cause| cause.0) }
}

impl Found {
    /// Nothing was lost. These ranks idle by design.
    pub fn new(idle: &BTreeSet<u32>) -> Found {
        Found { idle: idle.clone(), ..Found::default() }
    }

    /// The phase that a rank was in at a time.
    fn phase(&self, rank: u32, time: u64) -> Option<u32> {
        let phases = self.phases.get(&rank)?;
        let next = phases.partition_point(|change| change.time <= time);
        phases.get(next.checked_sub(1)?)?.place
    }

    /// Adds a part of a loss, due to this cause and its call, and without these times of a rank nothing would have been lost.
    pub fn add_without(
        &mut self,
        loss: &Loss,
        cause: Option<(u32, Site)>,
        part: f64,
        (rank, times): (u32, &[(u64, u64)]),
    ) {
        self.add(loss, cause, part);
        let sum = self.groups.get_mut(&group(loss, cause));
        let Some(known) = sum.and_then(|sum| sum.removed.as_mut()) else { return };
        self.removed += times.len();
        known.extend(times.iter().map(|time| (rank, *time)));
    }

    /// Adds a part of a loss, due to this cause and its call.
    pub fn add(&mut self, loss: &Loss, cause: Option<(u32, Site)>, part: f64) {
        if loss.rule.takes_time_of_calls() && self.idle.contains(&loss.rank) {
            return;
        }
        let key = group(loss, cause);
        let phase = self.phase(loss.rank, loss.interval.0);
        let sum =
            self.groups.entry(key).or_insert_with(|| Sum { removed: Some(Vec::new()), ..Sum::default() });
        if self.removed > MOST_REMOVED
            && let Some(too_many) = sum.removed.take()
        {
            self.removed -= too_many.len();
        }
        let cause = key.cause;
        let nanos = loss.nanos() as f64 * part;
        if nanos <= 0.0 {
            return;
        }
        // Of a loss with several causes the one with the largest part counts it.
        sum.count += u64::from(part >= 0.5);
        *sum.by_rank.entry(loss.rank).or_default() += nanos;
        if cause != loss.culprit {
            sum.passed_on += nanos;
        }
        if loss.inside != NO_SITE {
            *sum.inside.entry(loss.inside).or_default() += nanos;
        }
        if let Some(phase) = phase {
            *sum.phases.entry(phase).or_default() += nanos;
        }
        sum.distance = sum.distance.max(loss.distance.unwrap_or_default());
        let place = sum.worst.partition_point(|worst| worst.2 >= nanos);
        if place < WORST {
            sum.worst.insert(place, (loss.rank, loss.interval.0, nanos));
            sum.worst.truncate(WORST);
        }
    }
}
