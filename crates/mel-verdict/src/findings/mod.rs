//! The one room where losses become findings: merged, in order of what they cost, and in words.
//!
//! - `rule`: why time was lost, with names and words.
//! - `chance`: whether a rank is a cause, or comes last by chance.
//! - [`estimated`]: from the sums of each rank to whom to name.
//!
//! Three producers say what was lost: the sums of each rank ([`estimated`]), the sums over very many ranks
//! ([`crate::many`]), and each call of a trace (the crate `mel-analyze`). A finding has the same name, the same form of addresses and
//! the same sentences from all of them, and says by its basis who has made it.

mod chance;
pub mod estimated;
mod rule;

use std::collections::BTreeMap;

use mel_log::number::duration;
use mel_log::profile::verdict::{Basis, Finding, Instance, Pattern};

pub use chance::{Causes, Victims};
pub use rule::Rule;

use super::words::{percent, ranks_of};

/// A finding is worth a word from this share of the time of all ranks on.
pub const LEAST_SHARE: f64 = 0.01;
/// Where no rank is the cause: the share of the time of all ranks from which on that is worth a word.
pub(crate) const LEAST_SHARE_OF_ALL: f64 = 0.1;
/// The share of a wait from which on it is said in which call its cause was before.
const INSIDE_SHARE: f64 = 0.25;
/// Messages that take less than this each, in seconds, are worth joining,
const SHORT_MESSAGE: f64 = 100e-6;
/// and so many of them in one.
const JOINED: f64 = 10.0;
/// The most instances that are kept of a finding.
const MOST_INSTANCES: usize = 5;

/// The share of the time lost at a line from which on one of very many ranks that caused it is named, of which it is not known how often
/// each did: 30 %, and among few ranks twice the share that each would have if all caused the same, but at most 60 %.
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
    /// Seconds by the phase of the program, where it names phases.
    pub phases: BTreeMap<String, f64>,
    /// The communicator's name.
    pub communicator: Option<String>,
    /// The rank in `MPI_COMM_WORLD` that is the cause.
    pub cause: Option<u32>,
    /// Its call.
    pub cause_site: Option<String>,
    /// Whether no cause is named because the rank that it would be had no processor.
    pub lacks_processor: bool,
    /// The rank that came late because it waited itself, and its call, where no cause is named because it is not known for whom.
    pub waits_itself: Option<(u32, String)>,
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
    /// Seconds that were lost while the cause was in MPI and no rule says for whom, by the call: `MPI_Test at app.c:12 (main)`.
    pub inside: BTreeMap<String, f64>,
    /// How long the work between the start and the wait would have to be so that nothing is lost, in seconds.
    pub distance: Option<f64>,
    /// What would be won without the whole finding.
    pub would_win: Option<Gain>,
    /// The worst single calls.
    pub worst: Vec<Instance>,
}

/// What would be won without a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// By how many seconds the run would be shorter.
    pub seconds: f64,
    /// How long it is.
    pub run_s: f64,
    /// Whether it is known of all calls what they need of other ranks, so that gains can be compared.
    pub is_sure: bool,
}

impl Lost {
    /// The finding that this is a part of.
    pub fn key(&self, rule: Rule) -> Key {
        (rule.family(), self.function.clone(), self.site.clone(), self.cause)
    }
}

/// The most findings of which it is computed what would be won without them.
pub const MOST_SUPPOSED: usize = 12;

/// Why time was lost where ranks are late because others have the processors.
const WITHOUT_PROCESSOR: &str =
    "waiting for ranks that had no processor: it is not known who comes late otherwise";

/// What is one finding: the rule without its patterns, the function, its line, and the cause.
pub type Key = (Rule, Option<String>, Option<String>, Option<u32>);

/// What ranks lose by their own doing: by the rank and its call, why, and how much.
type OwnCosts = BTreeMap<(u32, String), (Rule, f64)>;

/// A call with its line: `MPI_Test at app.c:12 (main)`.
pub fn call(function: &str, site: Option<&str>) -> String {
    site.filter(|site| !site.is_empty())
        .map_or_else(|| function.to_owned(), |site| format!("{function} at {site}"))
}

/// The phases that have at least a tenth of what is lost, the one with most first.
fn phases_of(phases: &BTreeMap<String, f64>, seconds: f64) -> Vec<String> {
    let mut most: Vec<(&String, f64)> = phases.iter().map(|(name, lost)| (name, *lost)).collect();
    most.retain(|(_, lost)| *lost >= 0.1 * seconds);
    most.sort_by(|a, b| b.1.total_cmp(&a.1));
    most.into_iter().map(|(name, _)| name.clone()).collect()
}

/// Losses that are one finding.
#[derive(Default)]
struct Sum {
    all: Lost,
    cause_sites: BTreeMap<Option<String>, f64>,
    lacking_s: f64,
    waits_itself: BTreeMap<(u32, String), f64>,
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
        self.lacking_s += if lost.lacks_processor { lost.seconds } else { 0.0 };
        if let Some(waits) = lost.waits_itself {
            *self.waits_itself.entry(waits).or_default() += lost.seconds;
        }
        self.is_on_several |= !is_first && all.communicator != lost.communicator;
        all.communicator = lost.communicator;
        all.seconds += lost.seconds;
        all.count += lost.count;
        all.passed_on += lost.passed_on;
        for (phase, seconds) in lost.phases {
            *all.phases.entry(phase).or_default() += seconds;
        }
        for (call, seconds) in lost.inside {
            *all.inside.entry(call).or_default() += seconds;
        }
        lost.by_rank.into_iter().for_each(|(rank, seconds)| *all.by_rank.entry(rank).or_default() += seconds);
        // Ranks that are known one by one are not counted twice. Of the others it is known how many there are at least.
        all.ranks = all.ranks.max(lost.ranks).max(all.by_rank.len() as u64);
        all.distance = [all.distance, lost.distance].into_iter().flatten().reduce(f64::max);
        all.would_win = all.would_win.or(lost.would_win);
        all.worst.extend(lost.worst);
    }

    /// The call in which the cause was in MPI before it came, where that is worth a word, and for how long.
    fn inside(&self) -> Option<(&str, f64)> {
        let most = self.all.inside.iter().max_by(|a, b| a.1.total_cmp(b.1));
        most.filter(|(_, seconds)| **seconds >= INSIDE_SHARE * self.all.seconds)
            .map(|(call, seconds)| (&**call, *seconds))
    }

    /// What the cause loses by its own doing in the call in which it was before it came, where that is a good part of it.
    fn explained(&self, cause: Option<u32>, own: &OwnCosts) -> Option<(Rule, f64)> {
        let (call, seconds) = self.inside()?;
        own.get(&(cause?, call.to_owned())).copied().filter(|own| own.1 >= 0.1 * seconds)
    }

    fn finding(
        mut self,
        (rule, function, site, cause): Key,
        (all_s, basis): (f64, Basis),
        explained: Option<(Rule, f64)>,
    ) -> Finding {
        let inside = self.inside().map(|(call, seconds)| (call.to_owned(), seconds));
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
        let is_lacking = cause.is_none() && self.lacking_s > 0.5 * all.seconds;
        let waiting = self.waits_itself.into_iter().max_by(|a, b| most(&a.1, &b.1));
        let waiting =
            waiting.filter(|(_, seconds)| cause.is_none() && !is_lacking && *seconds > 0.5 * all.seconds);
        let why = match &waiting {
            _ if is_lacking => WITHOUT_PROCESSOR.to_owned(),
            Some(((rank, call), _)) => {
                format!(
                    "waiting for rank {rank}, which is in {call} before, and it is not known for whom it waits there"
                )
            }
            None => pattern.why(blamed, cause_site.as_deref()),
        };
        let phases = phases_of(&all.phases, all.seconds);
        let in_phases = match &phases[..] {
            [] => String::new(),
            [one] => format!(" in phase {one}"),
            several => format!(" in phases {}", several.join(", ")),
        };
        let mut text = format!(
            "{who} lost {} ({} of the run) in {}{in_phases}, {why}",
            duration(all.seconds),
            percent(share),
            call(function.as_deref().unwrap_or("MPI"), site.as_deref()),
        );
        if blamed.is_some() && all.passed_on > 0.5 * all.seconds {
            text += "; those that the ranks waited for had waited for that rank themselves";
        }
        let mut advice = pattern.advice(blamed, cause_site.as_deref());
        if let Some(((_, call), _)) = &waiting {
            advice = format!(
                "look at what is waited for in {call}: whoever completes it comes later; a trace knows more (mel analyze)"
            );
        }
        if is_lacking {
            advice = "run as many ranks, with their threads, as there are processors".into();
        }
        if let (Some(cause), Some((inside, seconds))) = (blamed, inside) {
            // What part of the lateness is no work.
            let part = if seconds > 0.9 * all.seconds {
                String::new()
            } else {
                format!(", for {} of it", duration(seconds))
            };
            text += &format!("; rank {cause} is in {inside} before{part}");
            if let Some((own, own_s)) = explained {
                text += &format!(" ({} {})", duration(own_s), own.why(None, None));
                advice = own.advice(None, None);
            } else if seconds > 0.5 * all.seconds {
                advice =
                    format!("look at why rank {cause} is in {inside}: what it waits for there is not known");
            }
        }
        if let Some(gain) = &all.would_win {
            text += &without(gain, basis);
        }
        if let Some(distance) = all.distance {
            let distance = duration(distance);
            advice +=
                &format!("; or do {distance} of work between the start and the wait: then nothing is lost");
        }
        if pattern == Rule::OnlyCommunication && all.seconds < SHORT_MESSAGE * all.count {
            let saved = duration(all.seconds * (1.0 - 1.0 / JOINED));
            advice += &format!("; {JOINED} messages in one would save about {saved} (estimated)");
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
            why: None,
            rule: rule.name().into(),
            patterns,
            lost_s: all.seconds,
            share,
            cause_rank: cause,
            victims: victims.iter().map(|victim| victim.0).collect(),
            phases,
            communicator: all.communicator.take().filter(|_| !self.is_on_several),
            site,
            cause_site,
            count: (all.count.round() as u64).max(1),
            basis,
            text,
            advice,
            would_win_s: all.would_win.map(|gain| gain.seconds),
            lost_by_rank_s: victims.iter().map(|victim| victim.1).collect(),
            worst: std::mem::take(&mut all.worst),
        }
    }
}

/// What the run would take where that would be won.
fn without(gain: &Gain, basis: Basis) -> String {
    let Gain { seconds: won, run_s, .. } = *gain;
    let about = if basis == Basis::Estimated { "about " } else { "" };
    if won < LEAST_SHARE * run_s {
        return format!("; without it the run would take {about}as long");
    }
    format!(
        "; without it the run would take {about}{} in place of {}",
        duration(run_s - won),
        duration(run_s)
    )
}

/// The findings of these losses, worst first, and before each what explains why its cause is late: one for each cause at a line, whoever it kept waiting, from wherever it sent, on whatever
/// communicator. `all_s` is the time of all ranks between `MPI_Init` and `MPI_Finalize`.
pub fn of(losses: impl IntoIterator<Item = (Rule, Lost)>, all_s: f64, basis: Basis) -> Vec<Finding> {
    let mut sums: BTreeMap<Key, Sum> = BTreeMap::new();
    for (rule, mut lost) in losses {
        if lost.seconds > 0.0 && rule != Rule::Idle {
            let key = lost.key(rule);
            (lost.function, lost.site) = (None, None);
            sums.entry(key).or_default().add(rule, lost);
        }
    }
    let mut own = OwnCosts::new();
    for ((rule, function, site, cause), sum) in &sums {
        if let (Some(function), &Some(cause), false) = (function, cause, rule.is_wait()) {
            let known = own.entry((cause, call(function, site.as_deref()))).or_insert((*rule, 0.0));
            *known = if known.1 < sum.all.seconds { (*rule, sum.all.seconds) } else { *known };
        }
    }
    // What explains why a rank is late comes before the waits for that rank.
    let mut consequences: BTreeMap<(Rule, u32, String), f64> = BTreeMap::new();
    for (key, sum) in &sums {
        let explained = sum.explained(key.3, &own);
        if let (Some((rule, _)), Some(cause), Some((call, _))) = (explained, key.3, sum.inside()) {
            let most = consequences.entry((rule, cause, call.to_owned())).or_default();
            *most = most.max(sum.all.seconds);
        }
    }
    let worth = |(rule, function, site, cause): &Key, seconds: f64| -> f64 {
        let call = function.as_ref().map(|function| call(function, site.as_deref()));
        let consequence = cause.zip(call).and_then(|(cause, call)| consequences.get(&(*rule, cause, call)));
        consequence.map_or(seconds, |consequence| consequence.max(seconds))
    };
    let found = sums.into_iter().map(|(key, sum)| {
        let explained = sum.explained(key.3, &own);
        let place = Place {
            worth: worth(&key, sum.all.seconds),
            is_explained: explained.is_some(),
            gain: sum.all.would_win.filter(|gain| gain.is_sure).map(|gain| gain.seconds),
        };
        (place, sum.finding(key, (all_s, basis), explained))
    });
    let mut findings: Vec<(Place, Finding)> = found.collect();
    findings.sort_by(|(at, a), (other, b)| {
        let order = other.worth.total_cmp(&at.worth).then(at.is_explained.cmp(&other.is_explained));
        order.then_with(|| (&a.rule, &a.site, a.cause_rank).cmp(&(&b.rule, &b.site, b.cause_rank)))
    });
    in_order_of_gains(findings)
}

/// What decides where a finding comes.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// What it costs, or what it explains.
    worth: f64,
    /// Whether another one explains it.
    is_explained: bool,
    /// What would be won without it, where that can be compared.
    gain: Option<f64>,
}

/// Of gains that differ by less than this share it is not said which one is larger.
const AS_MUCH: f64 = 0.2;

/// Of findings in the order of what they cost those first without which more would be won. What is explained stays behind its explanation,
/// and what is not known to win anything where it was.
fn in_order_of_gains(findings: Vec<(Place, Finding)>) -> Vec<Finding> {
    let explained = findings.iter().filter(|(at, _)| at.is_explained);
    let explained: Vec<Option<u32>> = explained.map(|(_, finding)| finding.cause_rank).collect();
    let mut places = Vec::new();
    let (mut moving, mut all) = (Vec::new(), Vec::new());
    for (place, (at, finding)) in findings.into_iter().enumerate() {
        match at.gain.filter(|_| !explained.contains(&finding.cause_rank)) {
            Some(gain) => {
                places.push(place);
                moving.push((gain, finding));
                all.push(None);
            }
            None => all.push(Some(finding)),
        }
    }
    for place in places {
        let most = moving.iter().map(|(gain, _)| *gain).fold(0.0, f64::max);
        let next = moving.iter().position(|(gain, _)| *gain >= (1.0 - AS_MUCH) * most).unwrap_or(0);
        all[place] = Some(moving.remove(next).1);
    }
    all.into_iter().flatten().collect()
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
    fn findings_about_the_queues_are_known_by_their_rules() {
        let finding = |rule: Rule| Finding { rule: rule.name().into(), ..Finding::default() };
        for rule in [Rule::of_searches(false), Rule::of_searches(true)] {
            assert!(finding(rule).is_of_searches() && finding(rule).is_of_queues());
        }
        let copies = finding(Rule::UnexpectedCopies);
        assert!(copies.is_of_queues() && !copies.is_of_searches());
        assert!(!finding(Rule::LateSender).is_of_queues());
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
    fn phases_that_lose_much_are_named() {
        let in_phase =
            |name: &str, seconds| Lost { phases: [(name.into(), seconds)].into(), ..lost(0, 1, seconds) };
        let losses = [("solve", 1.0), ("write", 0.5), ("read", 0.01)];
        let losses = losses.map(|(name, seconds)| (Rule::LateSender, in_phase(name, seconds)));
        let finding = &of(losses, 4.0, Basis::Estimated)[0];
        assert!(finding.text.contains("at a.c:3 (main) in phases solve, write, waiting"), "{}", finding.text);
        assert_eq!(finding.phases, ["solve", "write"]);
    }

    #[test]
    fn who_is_in_mpi_until_then_is_not_said_to_work() {
        let polls = Lost { inside: [("MPI_Test at a.c:5 (main)".into(), 1.0)].into(), ..lost(0, 1, 1.0) };
        let finding = &of([(Rule::WaitAtBarrier, polls)], 4.0, Basis::Estimated)[0];
        assert!(finding.text.ends_with("; rank 1 is in MPI_Test at a.c:5 (main) before"), "{}", finding.text);
        assert!(
            finding.advice.starts_with("look at why rank 1 is in MPI_Test at a.c:5"),
            "{}",
            finding.advice
        );
        let partly = Lost { inside: [("MPI_Test at a.c:5 (main)".into(), 0.4)].into(), ..lost(0, 1, 1.0) };
        let text = &of([(Rule::WaitAtBarrier, partly)], 4.0, Basis::Exact)[0].text;
        assert!(text.ends_with("MPI_Test at a.c:5 (main) before, for 400 ms of it"), "{text}");
    }

    #[test]
    fn what_makes_a_rank_late_comes_before_the_waits_for_it() {
        let inside = [("MPI_Recv at a.c:3 (main)".into(), 1.5)].into();
        let late = Lost { function: Some("MPI_Finalize".into()), site: None, inside, ..lost(1, 0, 2.0) };
        let other = Lost { site: Some("a.c:4 (main)".into()), ..lost(1, 0, 1.0) };
        let own = |seconds| (Rule::LongSearches, lost(0, 0, seconds));
        let said = |searches| {
            let losses =
                [(Rule::WaitAtFinalize, late.clone()), own(searches), (Rule::LateSender, other.clone())];
            of(losses, 10.0, Basis::Estimated)
        };
        let rules = |findings: &[Finding]| findings.iter().map(|of| of.rule.clone()).collect::<Vec<_>>();
        let explained = said(0.5);
        assert_eq!(rules(&explained), ["long_searches", "wait_at_finalize", "late_sender"]);
        let Finding { text, advice, .. } = &explained[1];
        assert!(text.ends_with("before, for 1.50 s of it (500 ms searching the unexpected queue)"), "{text}");
        assert!(advice.starts_with("post receives earlier"), "{advice}");
        let unexplained = said(0.01);
        assert_eq!(rules(&unexplained), ["wait_at_finalize", "late_sender", "long_searches"]);
        assert!(unexplained[0].advice.ends_with("is not known"), "{}", unexplained[0].advice);
    }

    #[test]
    fn a_rank_that_loses_time_by_itself_is_not_told_to_wait_for_itself() {
        let text = &of([(Rule::LongSearches, lost(4, 4, 1.0))], 4.0, Basis::Estimated)[0].text;
        assert_eq!(
            text,
            "rank 4 lost 1.00 s (25 % of the run) in MPI_Recv at a.c:3 (main), searching the unexpected queue"
        );
    }

    fn gain(seconds: f64) -> Option<Gain> {
        Some(Gain { seconds, run_s: 5.0, is_sure: true })
    }

    #[test]
    fn what_would_be_won_is_said_of_the_finding_and_not_of_each_part() {
        let won = |won| Lost { would_win: gain(won), ..lost(0, 1, 1.0) };
        let losses = [(Rule::LateStandardSend, won(0.9)), (Rule::LateSynchronousSend, won(0.9))];
        let finding = &of(losses, 20.0, Basis::Exact)[0];
        assert_eq!(finding.would_win_s, Some(0.9));
        let said = "; without it the run would take 4.10 s in place of 5.00 s";
        assert!(finding.text.ends_with(said), "{}", finding.text);
        let finding = &of([(Rule::LateStandardSend, won(0.01))], 20.0, Basis::Exact)[0];
        assert!(finding.text.ends_with("; without it the run would take as long"), "{}", finding.text);
        assert_eq!(of([(Rule::LateSender, lost(0, 1, 1.0))], 4.0, Basis::Estimated)[0].would_win_s, None);
    }

    #[test]
    fn what_wins_more_comes_first_and_what_wins_as_much_does_not() {
        let of = |cause, seconds, won: Option<f64>| {
            let lost = Lost { would_win: won.and_then(gain), ..lost(0, cause, seconds) };
            (Rule::LateSender, lost)
        };
        let order = |losses: Vec<(Rule, Lost)>| {
            let causes = super::of(losses, 20.0, Basis::Exact).into_iter().map(|of| of.cause_rank.unwrap());
            causes.collect::<Vec<u32>>()
        };
        assert_eq!(order(vec![of(1, 2.0, Some(0.1)), of(2, 1.0, Some(0.5))]), [2, 1]);
        assert_eq!(order(vec![of(1, 2.0, Some(0.45)), of(2, 1.0, Some(0.5))]), [1, 2], "about as much");
        let unknown = vec![of(1, 2.0, None), of(2, 1.5, Some(0.1)), of(3, 1.0, Some(0.5))];
        assert_eq!(order(unknown), [1, 3, 2]);
        let unsure = |(rule, lost): (Rule, Lost)| {
            let would_win = lost.would_win.map(|gain| Gain { is_sure: false, ..gain });
            (rule, Lost { would_win, ..lost })
        };
        assert_eq!(order([of(1, 2.0, Some(0.1)), of(2, 1.0, Some(0.5))].map(unsure).into()), [1, 2]);
    }

    #[test]
    fn what_is_passed_on_and_what_would_have_helped_are_said() {
        let waits = Lost { passed_on: 0.9, distance: Some(0.02), ..lost(0, 2, 1.0) };
        let finding = &of([(Rule::WaitAtReceiverIsend, waits)], 4.0, Basis::Exact)[0];
        assert!(finding.text.contains("had waited for that rank themselves"), "{}", finding.text);
        assert!(finding.advice.contains("or do 20.0 ms of work between"), "{}", finding.advice);
    }
}
