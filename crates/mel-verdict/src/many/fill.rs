//! From sums and details to what `profile.json` says of very many ranks: sums by call site, waits, and the verdict.

use std::collections::{BTreeMap, HashMap};

use mel_log::profile::reduced::{EndedRanks, Reduced, SumOfCalls, SumOfWaits};
use mel_log::profile::{
    Basis, CallSite, Ended, Finding, Histogram, MessagesFound, Profile, RankProfile, WaitKind, why,
};

use super::judge::Judgement;
use super::part::{Nanos, Place};
use super::rank::{Detail, Victims};
use crate::findings::{self, LEAST_SHARE, LEAST_SHARE_OF_ALL, Lost, Rule, least_part};
use crate::run;

/// The most waits that are kept.
const MOST_WAITS: usize = 256;
/// The most names of hosts.
const MOST_HOSTS: usize = 8;

/// Call sites by what they stand for.
struct Sites<R> {
    resolve: R,
    known: HashMap<Place, Option<u32>>,
    same: HashMap<CallSite, u32>,
    all: Vec<CallSite>,
}

impl<R: FnMut(&str, u64) -> CallSite> Sites<R> {
    fn place(&mut self, place: &Place) -> Option<u32> {
        if place.offset == 0 {
            return None;
        }
        let at = Place { function: String::new(), ..place.clone() };
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let site = (self.resolve)(&place.module, place.offset);
        // What is compiled twice, such as a template, has two addresses and is one place.
        let line = if site.line == 0 { site.clone() } else { CallSite { offset: 0, ..site.clone() } };
        let number = *self.same.entry(line).or_insert_with(|| {
            self.all.push(site);
            self.all.len() as u32 - 1
        });
        self.known.insert(at, Some(number));
        Some(number)
    }

    fn name(&mut self, place: &Place) -> Option<String> {
        let number = self.place(place)?;
        self.all.get(number as usize).map(ToString::to_string)
    }
}

/// Fills a profile with sums. What each number is over the ranks is added by who has the table of ranks.
pub fn fill(
    profile: &mut Profile,
    judgement: &Judgement,
    detail: &Detail,
    resolve: impl FnMut(&str, u64) -> CallSite,
) {
    let part = &judgement.part;
    let mut sites = Sites { resolve, known: HashMap::new(), same: HashMap::new(), all: Vec::new() };
    let mut reduced = Reduced {
        ranks: part.ranks,
        hosts: part.hosts.len() as u32,
        some_hosts: part.hosts.iter().take(MOST_HOSTS).cloned().collect(),
        run_s: seconds(part.nanos),
        truth: part.truth,
        not_followed: part.not_followed,
        times: std::array::from_fn(|place| Histogram::of_tenths(&part.times[place])),
        left_out: part.left_out,
        tables_left_out: part.tables_left_out,
        calls: calls(judgement, &mut sites),
        ..Reduced::default()
    };
    for (&ended, of) in part.ends.iter().filter(|(ended, _)| **ended != Ended::Finalised) {
        reduced.ended.push(EndedRanks { ended, ranks: of.ranks, first: of.first.iter().copied().collect() });
    }
    // A run that counts who sends what alone knows contexts, and no calls.
    if part.has_calls && profile.counts("calls") {
        reduced.waits = waits(judgement, detail, &mut sites);
        profile.verdict = Some(verdict(judgement, detail, &mut sites));
    }
    let counted = detail.counted.values();
    let counted: Vec<(bool, RankProfile)> =
        counted.map(|of| (of.is_usual, of.profile(|place| sites.place(place)))).collect();
    let usual: Vec<RankProfile> =
        counted.iter().filter(|(is_usual, _)| *is_usual).map(|(_, rank)| rank.clone()).collect();
    let all: Vec<RankProfile> = counted.into_iter().map(|(_, rank)| rank).collect();
    profile.sites = sites.all;
    why::explain(profile.verdict.as_deref_mut().unwrap_or_default(), &all, &usual, &profile.sites);
    profile.reduced = Some(Box::new(reduced));
}

fn calls<R: FnMut(&str, u64) -> CallSite>(judgement: &Judgement, sites: &mut Sites<R>) -> Vec<SumOfCalls> {
    let mut all: BTreeMap<(String, Option<u32>), SumOfCalls> = BTreeMap::new();
    for (place, calls) in &judgement.part.calls {
        let site = sites.place(place);
        let key = (place.function.clone(), site);
        let sum = all.entry(key).or_insert_with(|| SumOfCalls {
            function: place.function.clone(),
            site,
            ..SumOfCalls::default()
        });
        sum.ranks = sum.ranks.max(calls.ranks as u32);
        sum.calls = sum.calls.saturating_add(calls.calls);
        sum.total_s += seconds(calls.nanos);
        sum.max_s = sum.max_s.max(seconds(calls.longest.into()));
        sum.bytes_sent = sum.bytes_sent.saturating_add(calls.sent);
        sum.bytes_received = sum.bytes_received.saturating_add(calls.received);
        sum.bytes_given = sum.bytes_given.saturating_add(calls.given);
        let (found, more) = (&mut sum.messages, calls);
        *found = MessagesFound {
            expected: found.expected.saturating_add(more.expected),
            unexpected: found.unexpected.saturating_add(more.unexpected),
            unexpected_bytes: found.unexpected_bytes.saturating_add(more.unexpected_bytes),
            search_s: found.search_s + seconds(more.search_nanos.into()),
            longest_search_s: found.longest_search_s.max(seconds(more.longest_search.into())),
        };
    }
    for ((_, place), lost) in judgement.part.lost.iter().filter(|((rule, _), _)| rule.is_wait()) {
        if let Some(sum) = all.get_mut(&(place.function.clone(), sites.place(place))) {
            sum.lost_s += seconds(lost.nanos);
        }
    }
    let mut all: Vec<SumOfCalls> = all.into_values().collect();
    all.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
    all
}

/// By place, those that were waited for directly; what is left was for many.
fn waits<R: FnMut(&str, u64) -> CallSite>(
    judgement: &Judgement,
    detail: &Detail,
    sites: &mut Sites<R>,
) -> Vec<SumOfWaits> {
    let mut all = Vec::new();
    for ((rule, place), lost) in judgement.part.lost.iter().filter(|((rule, _), _)| rule.is_wait()) {
        let share = if *rule == Rule::LateReceiver { judgement.explained } else { 1.0 };
        let mut rest = SumOfWaits {
            kind: run::kind(*rule),
            function: place.function.clone(),
            site: sites.place(place),
            count: lost.count,
            lost_s: seconds(lost.nanos),
            max_s: seconds(lost.longest.into()),
            ..SumOfWaits::default()
        };
        let victims = |victims: &Victims| {
            victims.most.iter().map(|(nanos, rank)| (*rank, seconds((*nanos).into()) * share)).collect()
        };
        if let Some(of) = detail.victims.get(&(*rule, place.clone())) {
            (rest.ranks, rest.victims) = (of.ranks, victims(of));
        }
        let key = |cause| (*rule, place.clone(), cause);
        for ((.., cause), of) in detail.by_cause.range(key(0)..=key(u32::MAX)) {
            let lost_s = seconds(of.nanos) * share;
            // What is a small part of it is told of together.
            if lost_s < least_part(judgement.part.ranks as usize) * seconds(lost.nanos) {
                continue;
            }
            let peer_site = detail.site_of(*rule, place, *cause).and_then(|place| sites.place(place));
            let longest = if of.longest == 0 { lost.longest } else { of.longest };
            all.push(SumOfWaits {
                peer: Some(*cause),
                peer_site,
                ranks: of.ranks,
                victims: victims(of),
                count: of.count,
                lost_s,
                max_s: seconds(longest.into()),
                ..rest.clone()
            });
            rest.lost_s -= lost_s;
            rest.count = rest.count.saturating_sub(of.count);
        }
        if rest.lost_s > 0.01 * seconds(lost.nanos) {
            all.push(rest);
        }
    }
    all.sort_by(|a, b| b.lost_s.total_cmp(&a.lost_s));
    all.truncate(MOST_WAITS);
    all
}

fn verdict<R: FnMut(&str, u64) -> CallSite>(
    judgement: &Judgement,
    detail: &Detail,
    sites: &mut Sites<R>,
) -> Vec<Finding> {
    let all_s = seconds(judgement.part.nanos);
    let mut found = Vec::new();
    for ((rule, place), lost) in &judgement.part.lost {
        let total = seconds(lost.nanos);
        if all_s <= 0.0 || total / all_s < LEAST_SHARE {
            continue;
        }
        let victims = detail.victims.get(&(*rule, place.clone())).cloned().unwrap_or_default();
        let mut causes: Vec<(Option<u32>, f64, Victims)> = Vec::new();
        if !rule.is_wait() {
            // The time of each rank is its own doing.
            causes.push((None, total, Victims { count: lost.count, ..victims }));
        } else {
            let of_sources = || {
                let of = |(rank, share): &(u32, f64)| (Some(*rank), share * total, victims.clone());
                judgement.sources.iter().map(of).collect::<Vec<_>>()
            };
            if *rule == Rule::LateSender {
                causes = of_sources();
            }
            if causes.is_empty() {
                let key = |cause| (*rule, place.clone(), cause);
                let direct = detail.by_cause.range(key(0)..=key(u32::MAX));
                let share = if *rule == Rule::LateReceiver { judgement.explained } else { 1.0 };
                let direct =
                    direct.map(|((.., cause), of)| (Some(*cause), seconds(of.nanos) * share, of.clone()));
                causes.extend(
                    direct.filter(|(_, lost_s, _)| {
                        *lost_s >= least_part(judgement.part.ranks as usize) * total
                    }),
                );
            }
            // Several come late to an operation where one of them had waited for another before.
            if causes.is_empty() && matches!(run::kind(*rule), WaitKind::Collective | WaitKind::LateMember) {
                causes = of_sources();
            }
            causes.retain(|(_, lost_s, _)| *lost_s >= LEAST_SHARE * all_s);
            if causes.is_empty() && total >= LEAST_SHARE_OF_ALL * all_s {
                causes.push((None, total, victims));
            }
        }
        for (cause, lost_s, victims) in causes {
            let cause_site = cause.and_then(|cause| detail.site_of(*rule, place, cause)).cloned();
            let cause_site = cause_site.and_then(|place| sites.name(&place));
            // What is lost for several is shared among them.
            let of_all = seconds(victims.nanos);
            let share = if of_all > 0.0 { (lost_s / of_all).min(1.0) } else { 1.0 };
            let by_rank = |(nanos, rank): &(u64, u32)| (*rank, share * seconds((*nanos).into()));
            let lost = Lost {
                function: Some(place.function.clone()),
                site: sites.name(place),
                cause,
                cause_site,
                seconds: lost_s,
                ranks: victims.ranks.into(),
                by_rank: victims.most.iter().map(by_rank).collect(),
                count: victims.count as f64,
                ..Lost::default()
            };
            found.push((*rule, lost));
        }
    }
    findings::of(found, all_s, Basis::Estimated)
}

fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 * 1e-9
}
