//! The one room where losses become findings: merged, in order of what they cost, and in words.
//!
//! - `rule`: why time was lost, with names and words.
//! - [`estimated`]: from the sums of each rank to whom to name.
//!
//! Three producers say what was lost: the sums of each rank ([`estimated`]), the sums over very many ranks
//! ([`crate::many`]), and each call of a trace (the crate `mel-analyze`). A finding has the same name, the same form of addresses and
//! the same sentences from all of them, and says by its basis who has made it.

pub mod estimated;
mod rule;

use std::collections::BTreeMap;

use mel_log::number::duration;
use mel_log::profile::verdict::{Basis, Finding, Instance, Pattern};

pub use rule::Rule;

use super::words::{percent, ranks_of};

/// A finding is worth a word from this share of the time of all ranks on.
pub const LEAST_SHARE: f64 = 0.01;
/// Where no rank is the cause: the share of the time of all ranks from which on that is worth a word.
pub(crate) const LEAST_SHARE_OF_ALL: f64 = 0.1;
/// The most instances that are kept of a finding.
const MOST_INSTANCES: usize = 5;

/// The share of the time lost at a line from which on the rank that caused it is named: 30 %, and among few ranks twice the share that
/// each would have if all caused the same, but at most 60 %.
pub(crate) fn least_part(ranks: usize) -> f64 {
    let alike = 2.0 / ranks.max(1) as f64;
    alike.clamp(0.3, 0.6)
}

/// Time lost at one place, because of one rank or of none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lost {
    /// The function in which; `None` where it is not known.
    pub function: Option<String>,
    /// The line: `file:line (function)`.
    pub site: Option<String>,
    /// The communicator's name.
    pub communicator: Option<String>,
    /// The rank in `MPI_COMM_WORLD` that is the cause.
    pub cause: Option<u32>,
    /// Its call.
    pub cause_site: Option<String>,
    /// Seconds lost by all ranks together.
    pub seconds: f64,
    /// How many ranks have lost them, where these are not all in `by_rank`.
    pub ranks: u64,
    /// Seconds by rank, of those ranks that are known one by one.
    pub by_rank: BTreeMap<u32, f64>,
    /// In how many calls.
    pub count: f64,
    /// Seconds that were lost waiting for others, who themselves waited for the cause.
    pub passed_on: f64,
    /// How long the work between the start and the wait would have to be so that nothing is lost, in seconds.
    pub distance: Option<f64>,
    /// The worst single calls.
    pub worst: Vec<Instance>,
}

/// What is one finding: the rule without its patterns, the function, its line, and the cause.
type Key = (Rule, Option<String>, Option<String>, Option<u32>);

/// Losses that are one finding.
#[derive(Default)]
struct Sum {
    all: Lost,
    cause_sites: BTreeMap<Option<String>, f64>,
    patterns: BTreeMap<Rule, (f64, f64)>,
    is_on_several: bool,
}

impl Sum {
    fn add(&mut self, rule: Rule, lost: Lost) {
        let all = &mut self.all;
        let is_first = self.patterns.is_empty();
        let pattern = self.patterns.entry(rule).or_default();
        *pattern = (pattern.0 + lost.seconds, pattern.1 + lost.count);
        *self.cause_sites.entry(lost.cause_site).or_default() += lost.seconds;
        self.is_on_several |= !is_first && all.communicator != lost.communicator;
        all.communicator = lost.communicator;
        all.seconds += lost.seconds;
        all.count += lost.count;
        all.passed_on += lost.passed_on;
        lost.by_rank.into_iter().for_each(|(rank, seconds)| *all.by_rank.entry(rank).or_default() += seconds);
        // Ranks that are known one by one are not counted twice. Of the others it is known how many there are at least.
        all.ranks = all.ranks.max(lost.ranks).max(all.by_rank.len() as u64);
        all.distance = [all.distance, lost.distance].into_iter().flatten().reduce(f64::max);
        all.worst.extend(lost.worst);
    }

    fn finding(mut self, (rule, function, site, cause): Key, all_s: f64, basis: Basis) -> Finding {
        let all = &mut self.all;
        let most = |a: &f64, b: &f64| a.total_cmp(b);
        let worst_site = self.cause_sites.into_iter().max_by(|a, b| most(&a.1, &b.1));
        let cause_site = worst_site.and_then(|(site, _)| site).filter(|_| cause.is_some());
        let pattern = self.patterns.iter().max_by(|a, b| most(&a.1.0, &b.1.0)).map_or(rule, |found| *found.0);
        let mut victims: Vec<(u32, f64)> = std::mem::take(&mut all.by_rank).into_iter().collect();
        victims.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let share = if all_s > 0.0 { all.seconds / all_s } else { 0.0 };
        // A rank that has lost much less than the others has by chance.
        let known_s: f64 = victims.iter().map(|(_, lost)| lost).sum();
        let least = (0.5 / victims.len() as f64).min(0.02) * known_s;
        let mut named: Vec<u32> = victims.iter().filter(|victim| victim.1 >= least).map(|v| v.0).collect();
        named.sort_unstable();
        let others = all.ranks as usize - victims.len().min(all.ranks as usize);
        let who = match named.is_empty() {
            true => "ranks".to_owned(),
            false => ranks_of(&named, named.len() + others),
        };
        // Of the time that a rank has lost by itself nobody else is the cause.
        let blamed = cause.filter(|cause| all.ranks != 1 || victims.first().map(|v| v.0) != Some(*cause));
        let at = site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
        let mut text = format!(
            "{who} lost {} ({} of the run) in {}{at}, {}",
            duration(all.seconds),
            percent(share),
            function.as_deref().unwrap_or("MPI"),
            pattern.why(blamed, cause_site.as_deref()),
        );
        if blamed.is_some() && all.passed_on > 0.5 * all.seconds {
            text += "; those that the ranks waited for had waited for that rank themselves";
        }
        let mut advice = pattern.advice(blamed, cause_site.as_deref());
        if let Some(distance) = all.distance {
            let distance = duration(distance);
            advice +=
                &format!("; or do {distance} of work between the start and the wait: then nothing is lost");
        }
        all.worst.sort_by(|a, b| b.lost_s.total_cmp(&a.lost_s).then(a.rank.cmp(&b.rank)));
        all.worst.truncate(MOST_INSTANCES);
        let mut patterns: Vec<Pattern> = self
            .patterns
            .into_iter()
            .filter(|(pattern, _)| *pattern != rule)
            .map(|(pattern, (lost_s, count))| Pattern {
                name: pattern.name().into(),
                lost_s,
                count: count.round() as u64,
            })
            .collect();
        patterns.sort_by(|a, b| b.lost_s.total_cmp(&a.lost_s));
        Finding {
            rule: rule.name().into(),
            patterns,
            lost_s: all.seconds,
            share,
            cause_rank: cause,
            victims: victims.iter().map(|victim| victim.0).collect(),
            communicator: all.communicator.take().filter(|_| !self.is_on_several),
            site,
            cause_site,
            count: (all.count.round() as u64).max(1),
            basis,
            text,
            advice,
            lost_by_rank_s: victims.iter().map(|victim| victim.1).collect(),
            worst: std::mem::take(&mut all.worst),
        }
    }
}

/// The findings of these losses, worst first: one for each cause at a line, whoever it kept waiting, from wherever it sent, on whatever
/// communicator. `all_s` is the time of all ranks between `MPI_Init` and `MPI_Finalize`.
pub fn of(losses: impl IntoIterator<Item = (Rule, Lost)>, all_s: f64, basis: Basis) -> Vec<Finding> {
    let mut sums: BTreeMap<Key, Sum> = BTreeMap::new();
    for (rule, mut lost) in losses {
        if lost.seconds > 0.0 {
            let key = (rule.family(), lost.function.take(), lost.site.take(), lost.cause);
            sums.entry(key).or_default().add(rule, lost);
        }
    }
    let mut findings: Vec<Finding> =
        sums.into_iter().map(|(key, sum)| sum.finding(key, all_s, basis)).collect();
    findings.sort_by(|a, b| {
        let order = b.lost_s.total_cmp(&a.lost_s);
        order.then_with(|| (&a.rule, &a.site, a.cause_rank).cmp(&(&b.rule, &b.site, b.cause_rank)))
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(rank: u32, cause: u32, seconds: f64) -> Lost {
        Lost {
            function: Some("MPI_Recv".into()),
            site: Some("a.c:3 (main)".into()),
            communicator: Some("MPI_COMM_WORLD".into()),
            cause: Some(cause),
            cause_site: Some("a.c:9 (main)".into()),
            seconds,
            ranks: 1,
            by_rank: [(rank, seconds)].into(),
            count: 1.0,
            ..Lost::default()
        }
    }

    #[test]
    fn a_cause_at_a_line_is_one_finding() {
        let elsewhere = Lost {
            cause_site: Some("a.c:10 (main)".into()),
            communicator: Some("rows".into()),
            ..lost(2, 1, 0.5)
        };
        let losses = [
            (Rule::LateStandardSend, lost(0, 1, 1.0)),
            (Rule::LateSynchronousSend, elsewhere),
            (Rule::LateStandardSend, lost(0, 3, 0.25)),
        ];
        let findings = of(losses, 10.0, Basis::Exact);
        assert_eq!(findings.len(), 2, "{findings:?}");
        let first = &findings[0];
        assert_eq!((first.rule.as_str(), first.cause_rank, first.lost_s), ("late_sender", Some(1), 1.5));
        assert_eq!((&first.victims, first.communicator.as_deref()), (&vec![0, 2], None));
        assert_eq!(first.cause_site.as_deref(), Some("a.c:9 (main)"));
        let patterns: Vec<(&str, u64)> =
            first.patterns.iter().map(|pattern| (pattern.name.as_str(), pattern.count)).collect();
        assert_eq!(patterns, [("late_standard_send", 1), ("late_synchronous_send", 1)]);
        assert_eq!(
            first.text,
            "ranks 0 and 2 lost 1.50 s (15 % of the run) in MPI_Recv at a.c:3 (main), waiting for messages because \
             rank 1 is late (its call: a.c:9 (main))"
        );
    }

    #[test]
    fn the_same_is_said_whoever_has_found_it() {
        let exact = of([(Rule::LateStandardSend, lost(0, 1, 1.0))], 4.0, Basis::Exact);
        let estimated = of([(Rule::LateSender, lost(0, 1, 1.0))], 4.0, Basis::Estimated);
        let said = |finding: &Finding| (finding.rule.clone(), finding.text.clone(), finding.advice.clone());
        assert_eq!(said(&exact[0]), said(&estimated[0]));
    }

    #[test]
    fn a_rank_that_loses_time_by_itself_is_not_told_to_wait_for_itself() {
        let text = &of([(Rule::LongSearches, lost(4, 4, 1.0))], 4.0, Basis::Estimated)[0].text;
        assert_eq!(
            text,
            "rank 4 lost 1.00 s (25 % of the run) in MPI_Recv at a.c:3 (main), searching the unexpected queue"
        );
    }

    #[test]
    fn what_is_passed_on_and_what_would_have_helped_are_said() {
        let waits = Lost { passed_on: 0.9, distance: Some(0.02), ..lost(0, 2, 1.0) };
        let finding = &of([(Rule::WaitAtReceiverIsend, waits)], 4.0, Basis::Exact)[0];
        assert!(finding.text.contains("had waited for that rank themselves"), "{}", finding.text);
        assert!(finding.advice.contains("or do 20.0 ms of work between"), "{}", finding.advice);
    }
}
