//! What one rank has to say: its sums, and, once it is known who is the cause of most, the details of those.

use std::collections::BTreeMap;

use mel_log::profile::budget::Parts;
use mel_log::profile::columns;
use mel_log::profile::stacks::StackProfile;
use mel_log::profile::{Histogram, RankProfile, Truth};
use mel_log::table::{IntervalKind, IntervalRow, TableRows};
use serde::{Deserialize, Serialize};

use super::judge::Selection;
use super::part::{Blame, Calls, Ends, Group, GroupKey, Lost, Nanos, Part, Place};
use crate::budget;
use crate::findings::Rule;
use crate::losses::COPYING;
use crate::run::{Rank, Run};
use mel_log::profile::CallSite;

/// The most ranks that are named as those that have lost most.
const MOST_VICTIMS: usize = 8;
/// Of each rank so many stacks are told, in which it was most often.
const MOST_STACKS: usize = 64;
/// The most contexts that a causing rank says the call sites of.
const MOST_CONTEXTS: usize = 1024;

/// One rank, with what it has counted.
#[derive(Debug)]
pub struct OfRank {
    profile: RankProfile,
    run: Run,
    /// When all ranks were out of `MPI_Init*`, as [`OfRank::out_of_init`].
    all_run_since: u64,
}

/// Who has lost time for one reason at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victims {
    /// How many ranks.
    pub ranks: u32,
    /// Those that lost most, the most first: nanoseconds, and the rank.
    pub most: Vec<(u64, u32)>,
    /// The time of all.
    pub nanos: Nanos,
    /// How often.
    pub count: u64,
    /// The most in one call.
    pub longest: u64,
}

impl Victims {
    fn of(rank: u32, nanos: u64, count: u64, longest: u64) -> Victims {
        Victims { ranks: 1, most: vec![(nanos, rank)], nanos: nanos.into(), count, longest }
    }

    fn join(&mut self, other: Victims) {
        self.ranks += other.ranks;
        self.nanos += other.nanos;
        self.count += other.count;
        self.longest = self.longest.max(other.longest);
        self.most.extend(other.most);
        self.most.sort_unstable_by_key(|(nanos, rank)| (std::cmp::Reverse(*nanos), *rank));
        self.most.truncate(MOST_VICTIMS);
    }
}

/// Details of what a [`Selection`] names, of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// By reason and place.
    pub victims: BTreeMap<(Rule, Place), Victims>,
    /// The same by causing rank, of those that are selected.
    pub by_cause: BTreeMap<(Rule, Place, u32), Victims>,
    /// By causing rank and its context: how much was lost for it at each place.
    pub of_contexts: BTreeMap<(Rule, Place, u32, u16), Nanos>,
    /// The call sites of contexts of the causing ranks.
    pub contexts: BTreeMap<(u32, u16), Place>,
    /// What the operating system and the processor have counted of the causing ranks, and of those that say what is usual.
    pub counted: BTreeMap<u32, Counted>,
}

/// What says why a rank is slow, or is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Whether it says what is usual.
    pub is_usual: bool,
    /// A [`RankProfile`] with that alone, as JSON.
    profile: String,
    /// Its stacks: samples, and the frames.
    stacks: Vec<(u64, Vec<Place>)>,
}

impl Counted {
    /// As a profile, with stacks of these call sites.
    pub fn profile(&self, mut site: impl FnMut(&Place) -> Option<u32>) -> RankProfile {
        let mut profile: RankProfile = serde_json::from_str(&self.profile).unwrap_or_default();
        let mut stack = |(samples, frames): &(u64, Vec<Place>)| StackProfile {
            samples: *samples,
            frames: frames.iter().filter_map(&mut site).collect(),
            ..StackProfile::default()
        };
        profile.stacks = self.stacks.iter().map(&mut stack).collect();
        profile
    }
}

impl Detail {
    /// Adds the details of other ranks.
    pub fn join(&mut self, other: Detail) {
        for (key, victims) in other.victims {
            self.victims.entry(key).or_default().join(victims);
        }
        for (key, victims) in other.by_cause {
            self.by_cause.entry(key).or_default().join(victims);
        }
        for (key, nanos) in other.of_contexts {
            *self.of_contexts.entry(key).or_default() += nanos;
        }
        self.contexts.extend(other.contexts);
        self.counted.extend(other.counted);
    }

    /// The call of a rank that most of what was lost for it at a place waited for.
    pub fn site_of(&self, rule: Rule, place: &Place, cause: u32) -> Option<&Place> {
        let key = |context| (rule, place.clone(), cause, context);
        let contexts = self.of_contexts.range(key(0)..=key(u16::MAX));
        let ((.., context), _) =
            contexts.filter(|((.., context), _)| *context > 0).max_by_key(|(_, nanos)| **nanos)?;
        self.contexts.get(&(cause, *context))
    }
}

impl OfRank {
    /// A rank that has counted this.
    pub fn new(table: TableRows) -> OfRank {
        let place = |module: &str, offset| CallSite { module: module.into(), offset, ..CallSite::default() };
        let profile = table.rank_profile();
        OfRank { profile, run: Run::of(vec![table], place), all_run_since: 0 }
    }

    /// When it was out of `MPI_Init*`: in nanoseconds of the clock of all ranks, where there are several nodes; else in ticks, which are
    /// those of one clock. 0 where that is not known.
    pub fn out_of_init(&self) -> u64 {
        comparable(self.rank(), self.rank().rows.runs_since)
    }

    /// The latest of all ranks: before that nobody is late.
    #[must_use]
    pub fn since(self, all_run_since: u64) -> OfRank {
        OfRank { all_run_since, ..self }
    }

    fn rank(&self) -> &Rank {
        &self.run.ranks[0]
    }

    fn place(&self, rank: &Rank, context: u32) -> Place {
        let Some(known) = rank.context(context) else { return Place::default() };
        let site = known.site.and_then(|site| self.run.sites.get(site as usize));
        Place {
            function: known.function.to_string(),
            module: site.map_or_else(String::new, |site| site.module.clone()),
            offset: site.map_or(0, |site| site.offset),
        }
    }

    /// Its sums.
    pub fn part(&self) -> Part {
        let own = self.profile.rank;
        let mut part = Part { ranks: 1, ..Part::default() };
        if !self.profile.host.is_empty() {
            part.hosts.insert(self.profile.host.clone());
        }
        part.ends.insert(self.profile.ended, Ends { ranks: 1, first: [own].into() });
        part.truth = Truth::default().plus(self.profile.truth);
        part.not_followed = self.profile.not_followed;
        let rank = self.rank();
        part.tables_left_out = rank.rows.left_out;
        // The first is for what finds no space.
        part.has_calls = rank.rows.contexts.len() > 1;
        let profile = &self.profile;
        let histograms = [
            &profile.posted.lifetimes,
            &profile.unexpected.lifetimes,
            &profile.posted_search.times,
            &profile.unexpected_search.times,
        ];
        part.times = histograms.map(Histogram::tenths);
        part.nanos = nanos(rank.run_s()).into();
        for (place, calls) in self.calls(rank) {
            part.blame.entry(own).or_default().in_mpi += calls.nanos;
            part.calls.insert(place, calls);
        }
        for (key, group) in self.groups(rank) {
            part.meet(key, group);
        }
        let mut lost = |rule: Rule, place: Place, count, nanos: u64, longest| {
            if nanos > 0 {
                part.lost.entry((rule, place)).or_default().join(&Lost {
                    count,
                    nanos: nanos.into(),
                    longest,
                });
            }
        };
        for (context, row) in (0..).zip(&rank.rows.contexts) {
            let place = || self.place(rank, context);
            let rule = Rule::of_searches(row.wildcard_search_ticks > row.search_ticks / 2);
            lost(
                rule,
                place(),
                row.calls,
                nanos(rank.seconds(row.search_ticks)),
                nanos(rank.seconds(row.longest_search)),
            );
            let copying = nanos(row.unexpected_bytes as f64 * COPYING);
            lost(Rule::UnexpectedCopies, place(), row.unexpected, copying, 0);
        }
        for wait in self.waits(rank) {
            lost(wait.rule, self.place(rank, wait.context), wait.count, wait.nanos, wait.longest);
        }
        for wait in self.waits(rank) {
            let peer = part.blame.entry(wait.peer).or_default();
            match wait.rule {
                Rule::LateSender => {
                    peer.caused += Nanos::from(wait.nanos);
                    part.blame.entry(own).or_default().lost += Nanos::from(wait.nanos);
                }
                _ => peer.blocked += Nanos::from(wait.nanos),
            }
        }
        let late = rank.rows.waits.iter().filter(|row| row.key.kind == IntervalKind::PostedLate);
        let late: Nanos = late.map(|row| Nanos::from(nanos(rank.seconds(row.ticks)))).sum();
        if late > 0 {
            part.blame.entry(own).or_default().posted_late += late;
        }
        part.blame.retain(|_, blame| *blame != Blame::default());
        part
    }

    fn calls(&self, rank: &Rank) -> BTreeMap<Place, Calls> {
        let mut all: BTreeMap<Place, Calls> = BTreeMap::new();
        for (context, call) in (0..).zip(self.run.calls(rank)) {
            if call.calls == 0 && call.messages.is_empty() && call.bytes_received == 0 {
                continue;
            }
            let calls = all.entry(self.place(rank, context)).or_default();
            calls.join(&Calls {
                ranks: 0,
                calls: call.calls,
                nanos: nanos(call.total_s).into(),
                longest: nanos(call.max_s),
                sent: call.bytes_sent,
                received: call.bytes_received,
                given: call.bytes_given,
                expected: call.messages.expected,
                unexpected: call.messages.unexpected,
                unexpected_bytes: call.messages.unexpected_bytes,
                search_nanos: nanos(call.messages.search_s),
                longest_search: nanos(call.messages.longest_search_s),
            });
            calls.ranks = 1;
        }
        all
    }

    /// Its calls of collective operations, by communicator and place.
    fn groups(&self, rank: &Rank) -> BTreeMap<GroupKey, Group> {
        // With the time in each until all ranks were out of `MPI_Init*`.
        let mut contexts: BTreeMap<u32, u64> = BTreeMap::new();
        let is_blocking = |interval: &&IntervalRow| interval.key.kind == IntervalKind::Collective;
        for interval in rank.rows.collectives.iter().filter(is_blocking) {
            let (begin, end) = (comparable(rank, interval.begin), comparable(rank, interval.end));
            let early = end.min(self.all_run_since).saturating_sub(begin);
            let early = if rank.rows.clock.is_some() { early } else { nanos(rank.seconds(early)) };
            *contexts.entry(interval.key.context).or_default() += early;
        }
        let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
        for (context, early) in contexts {
            let known = rank
                .context(context)
                .and_then(|known| self.run.communicators.get(known.communicator? as usize));
            let (Some(communicator), Some(size), Some(row)) =
                (known, rank.size(context), rank.rows.contexts.get(context as usize))
            else {
                continue;
            };
            if size < 2 {
                continue;
            }
            let time = nanos(rank.seconds(row.ticks)).saturating_sub(early);
            let longest = nanos(rank.seconds(row.longest)).min(time);
            let more = Group::of(rank.rank, size, row.calls, time, longest);
            match groups.entry((communicator.context, self.place(rank, context))) {
                std::collections::btree_map::Entry::Vacant(none) => {
                    none.insert(more);
                }
                // Of several threads.
                std::collections::btree_map::Entry::Occupied(mut there) => {
                    let there = there.get_mut();
                    let least = there.least().saturating_add(time);
                    *there = Group::of(
                        rank.rank,
                        size,
                        there.count.saturating_add(row.calls),
                        least,
                        there.longest.max(longest),
                    );
                }
            }
        }
        groups
    }

    /// Its waits for messages and for receivers.
    fn waits<'a>(&'a self, rank: &'a Rank) -> impl Iterator<Item = Waited> + 'a {
        rank.rows.waits.iter().filter_map(move |row| {
            let rule = match row.key.kind {
                IntervalKind::LateSender => Rule::LateSender,
                IntervalKind::LateReceiver => Rule::LateReceiver,
                _ => return None,
            };
            let peer = rank.peer(row.key.context, row.key.peer).filter(|peer| *peer != rank.rank)?;
            Some(Waited {
                rule,
                peer,
                context: row.key.context,
                peer_context: row.key.peer_context,
                count: row.count,
                nanos: nanos(rank.seconds(row.ticks)),
                longest: nanos(rank.seconds(row.longest)),
            })
        })
    }

    /// The details of what is selected.
    pub fn detail(&self, selection: &Selection) -> Detail {
        let (own, mut detail) = (self.profile.rank, Detail::default());
        let rank = self.rank();
        for wait in self.waits(rank) {
            let place = self.place(rank, wait.context);
            let victim = Victims::of(own, wait.nanos, wait.count, wait.longest);
            if selection.causes.contains(&wait.peer) {
                let key = (wait.rule, place.clone(), wait.peer);
                detail.by_cause.entry(key).or_default().join_own(victim.clone());
                let key = (wait.rule, place.clone(), wait.peer, wait.peer_context);
                *detail.of_contexts.entry(key).or_default() += Nanos::from(wait.nanos);
            }
            detail.victims.entry((wait.rule, place)).or_default().join_own(victim);
        }
        for (key, lost, count, last) in self.lost_in_collectives(rank, selection) {
            let rule = Rule::of_collective(&key.1.function);
            let victim = Victims::of(own, lost, count, 0);
            if let Some(last) = last {
                let key = (rule, key.1.clone(), last);
                detail.by_cause.entry(key).or_default().join_own(victim.clone());
            }
            detail.victims.entry((rule, key.1)).or_default().join_own(victim);
        }
        if selection.causes.contains(&own) {
            let contexts = (0..rank.contexts.len() as u32).take(MOST_CONTEXTS);
            detail.contexts =
                contexts.map(|context| ((own, context as u16), self.place(rank, context))).collect();
        }
        if selection.causes.contains(&own) || selection.usual.contains(&own) {
            detail.counted.insert(own, self.counted(selection.usual.contains(&own)));
        }
        detail
    }

    /// What says why it is slow.
    fn counted(&self, is_usual: bool) -> Counted {
        let (rank, known) = (self.rank(), &self.profile);
        let profile = RankProfile {
            rank: known.rank,
            host: known.host.clone(),
            run_s: rank.run_s(),
            processors: known.processors.clone(),
            resources: known.resources,
            counters: known.counters,
            budget: Some(Parts { computing_s: budget::computing_s(rank), ..Parts::default() }),
            stack_step: rank.rows.stack_step,
            ..RankProfile::default()
        };
        let place = |site: &u32| {
            let site = self.run.sites.get(*site as usize)?;
            Some(Place { module: site.module.clone(), offset: site.offset, ..Place::default() })
        };
        let mut stacks: Vec<&StackProfile> = rank.stacks.iter().collect();
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
        let stacks = stacks.into_iter().take(MOST_STACKS);
        Counted {
            is_usual,
            profile: serde_json::to_string(&profile).unwrap_or_default(),
            stacks: stacks.map(|of| (of.samples, of.frames.iter().filter_map(place).collect())).collect(),
        }
    }

    /// What it has lost in collective operations, how often, and for whom.
    fn lost_in_collectives(
        &self,
        rank: &Rank,
        selection: &Selection,
    ) -> Vec<(GroupKey, u64, u64, Option<u32>)> {
        let mut all = Vec::new();
        for (key, group) in self.groups(rank) {
            let Some(closed) = selection.closed.get(&key) else { continue };
            let lost = group.least().saturating_sub(closed.least());
            if lost > group.count.saturating_mul(1000) {
                all.push((key, lost, group.count, closed.last()));
            }
        }
        all
    }

    /// Its numbers in the columns of the table of ranks; what others lost for it is not known to itself.
    pub fn row(&self, selection: &Selection) -> Vec<f64> {
        let columns = &selection.columns;
        let mut profile = self.profile.clone();
        let rank = self.rank();
        profile.run_s = rank.run_s();
        profile.budget = Some(Parts { computing_s: budget::computing_s(rank), ..Parts::default() });
        profile.calls = self.run.calls(rank);
        let late = self.waits(rank).filter(|wait| wait.rule == Rule::LateSender).map(|wait| wait.nanos);
        let mut lost: Nanos = late.map(Nanos::from).sum();
        lost += self.lost_in_collectives(rank, selection).iter().map(|of| Nanos::from(of.1)).sum::<Nanos>();
        let mut row = columns::row(columns, &profile);
        for (value, column) in row.iter_mut().zip(columns) {
            if (&*column.group, &*column.name) == (columns::TIME, columns::WAITING) {
                *value = lost as f64 * 1e-9;
            }
        }
        row
    }

    /// Its host.
    pub fn host(&self) -> &str {
        &self.profile.host
    }

    /// Whether its processor has counters that could be read.
    pub fn has_counters(&self) -> bool {
        self.profile.counters.is_some()
    }
}

/// A time that may be compared with that of other ranks.
fn comparable(rank: &Rank, ticks: u64) -> u64 {
    if rank.rows.clock.is_some() { rank.nanos(ticks) } else { ticks }
}

/// A row of waits, with the peer's rank in the world.
struct Waited {
    rule: Rule,
    peer: u32,
    context: u32,
    peer_context: u16,
    count: u64,
    nanos: u64,
    longest: u64,
}

impl Victims {
    /// Adds more of the same rank.
    fn join_own(&mut self, other: Victims) {
        let nanos = self.most.first().map_or(0, |most| most.0);
        let rank = other.most.first().map_or(0, |most| most.1);
        let more = other.most.first().map_or(0, |most| most.0);
        self.join(other);
        (self.ranks, self.most) = (1, vec![(nanos + more, rank)]);
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round().max(0.0) as u64
}
