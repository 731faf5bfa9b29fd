//! Why a rank is slow, by what the operating system counted of it beside the others: observed.
//!
//! A rank that others wait for did something for longer than they did. Where its time asleep, in the operating system, or without a
//! processor is longer by a good part of that, it is named with what goes with it: pages that were not in memory, bytes of files. Where
//! none is, it computes longer: what is said then is where, if its stacks were sampled, and [how fast](pace), if the processor counts.

use std::collections::BTreeSet;

use crate::number::{duration, general, size};

use super::pace;
use super::stacks::{self, InFunction};
use super::{CallSite, Finding, RankProfile};

/// What explains less than this part of the time that others wait is no reason.
pub(super) const LEAST: f64 = 0.4;
/// Times that are shorter, in seconds, explain nothing.
pub(super) const SHORTEST: f64 = 0.01;
/// Where each sample of a stack stands for long, a difference is of at least as many.
const FEWEST_SAMPLES: f64 = 5.0;
/// Fewer bytes of files are not worth a word.
const MANY_BYTES: u64 = 1 << 20;
/// The kernel takes about so long for a page that is new, in seconds; less pages explain nothing of its time.
const OF_PAGE: f64 = 1e-6;

/// Why a rank comes late for which others have waited so long each, in seconds; none where nothing is known that explains it.
#[must_use]
pub fn why(cause: &RankProfile, others: &[&RankProfile], late_s: f64) -> Option<String> {
    let least = (LEAST * late_s).max(SHORTEST);
    let more = |of: &dyn Fn(&RankProfile) -> Option<f64>| {
        let (own, usual) = (of(cause)?, median(others.iter().filter_map(|rank| of(rank)))?);
        (own - usual >= least).then_some((own, usual))
    };
    let system = more(&|rank| Some(rank.resources?.system_s));
    let without = more(&|rank| rank.processors.as_ref()?.waited_s);
    let asleep = more(&asleep_s);
    let said = |(own, usual): (f64, f64)| {
        let usual = if usual < SHORTEST / 10.0 { "almost none".into() } else { duration(usual) };
        (duration(own), usual)
    };
    // What is longest by most comes first.
    let by = |of: Option<(f64, f64)>| of.map_or(0.0, |(own, usual)| own - usual);
    let reasons = [by(system), by(without), by(asleep)];
    let most = reasons.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let rank = cause.rank;
    if by(without) == most {
        let (own, usual) = said(without?);
        let where_it_runs =
            by_quota(cause, others, most).or_else(|| only_processor(cause, others)).unwrap_or_default();
        return Some(format!(
            "rank {rank} could have run for {own} and had no processor (the others {usual}){where_it_runs}"
        ));
    }
    if by(system) == most {
        let (own, usual) = said(system?);
        let pages = |rank: &RankProfile| Some(rank.resources?.page_faults as f64);
        let (faults, usual_faults) = (pages(cause)?, median(others.iter().filter_map(|rank| pages(rank)))?);
        let with = if (faults - usual_faults) * OF_PAGE >= LEAST * (most / 2.0) {
            format!(
                ", with {} page faults (the others {}): memory is given back and asked for again and again, or touched for \
                 the first time",
                faults as u64, usual_faults as u64
            )
        } else {
            files(cause, others).unwrap_or_default()
        };
        return Some(format!("rank {rank} was in the operating system for {own} (the others {usual}){with}"));
    }
    let (own, usual) = said(asleep?);
    let with = by_quota(cause, others, most)
        .or_else(|| files(cause, others))
        .unwrap_or_else(|| ": it waited for a device or a timer, or was stopped".into());
    Some(format!("rank {rank} was asleep for {own} (the others {usual}){with}"))
}

/// Says of findings that name a rank why it is slow, each rank once: one of `ranks`, beside all of `usual` that are others.
pub fn explain(findings: &mut [Finding], ranks: &[RankProfile], usual: &[RankProfile], sites: &[CallSite]) {
    let mut told = BTreeSet::new();
    for finding in findings {
        let Some(rank) = finding.cause_rank.filter(|rank| !told.contains(rank)) else { continue };
        let Some(cause) = ranks.iter().find(|of| of.rank == rank) else { continue };
        let others: Vec<&RankProfile> = usual.iter().filter(|of| of.rank != rank).collect();
        let late_s = finding.lost_by_rank_s.iter().copied().fold(0.0, f64::max);
        finding.why = why(cause, &others, late_s).or_else(|| {
            let said = [code(cause, &others, sites, late_s), pace::why(cause, &others, late_s)];
            said.into_iter().flatten().reduce(|of_code, of_pace| format!("{of_code}; {of_pace}"))
        });
        if finding.why.is_some() {
            told.insert(rank);
        }
    }
}

/// In which function of the program a rank is longer than the others, where its stacks were sampled.
fn code(cause: &RankProfile, others: &[&RankProfile], sites: &[CallSite], late_s: f64) -> Option<String> {
    let (of, usual) = stacks::longer(cause, others, sites)?;
    let step = cause.stack_step as f64 / f64::from(stacks::PER_SECOND);
    let is_sure = step <= SHORTEST || of.seconds - usual >= FEWEST_SAMPLES * step;
    (is_sure && of.seconds - usual >= (LEAST * late_s).max(SHORTEST)).then(|| {
        let (rank, InFunction { function, line, seconds, .. }) = (cause.rank, of);
        let usual = if usual < SHORTEST.max(step) { "almost never".into() } else { duration(usual) };
        format!(
            "rank {rank} was in {function}, most at {line}, for {} (the others {usual})",
            duration(seconds)
        )
    })
}

/// How long the thread of a rank that calls MPI neither ran nor could have run.
fn asleep_s(rank: &RankProfile) -> Option<f64> {
    let processors = rank.processors.as_ref()?;
    Some((rank.run_s - processors.used_s? - processors.waited_s?).max(0.0))
}

/// Bytes of files and pages of a disk, where the rank has many more than the others.
fn files(cause: &RankProfile, others: &[&RankProfile]) -> Option<String> {
    let more = |of: fn(&super::Resources) -> u64, least: u64| {
        let own = of(&cause.resources?);
        let usual = median(others.iter().filter_map(|rank| Some(of(&rank.resources?) as f64)))? as u64;
        (own >= usual.saturating_mul(2).max(least)).then_some((own, usual))
    };
    if let Some((own, usual)) = more(|of| of.written_bytes, MANY_BYTES) {
        return Some(format!(", and wrote {} (the others {})", size(own as f64), size(usual as f64)));
    }
    if let Some((own, usual)) = more(|of| of.disk_faults, 100) {
        return Some(format!(
            ", with {} pages read from a disk (the others {}): its memory is swapped out, or its files are read as memory",
            own, usual
        ));
    }
    let (own, usual) = more(|of| of.read_bytes, MANY_BYTES)?;
    Some(format!(", and read {} (the others {})", size(own as f64), size(usual as f64)))
}

/// That the quota of its control group has stopped a rank, for the most part of so many seconds, and longer than the others.
pub(super) fn by_quota(cause: &RankProfile, others: &[&RankProfile], most: f64) -> Option<String> {
    let usual = median(others.iter().filter_map(|rank| Some(rank.resources?.throttled_s))).unwrap_or(0.0);
    let stopped = cause.resources?.throttled_s - usual;
    let quota = cause.processors.as_ref()?.quota.filter(|_| stopped >= 0.5 * most)?;
    let word = if quota == 1.0 { "processor" } else { "processors" };
    Some(format!(": the quota of its control group, {} {word}, stopped it: raise that", general(quota)))
}

/// That a rank may use one processor alone, and who may use it, too.
pub(super) fn only_processor(cause: &RankProfile, others: &[&RankProfile]) -> Option<String> {
    let own = cause.processors.as_ref()?;
    if own.allowed.len() != 1 || own.online == Some(1) {
        return None;
    }
    let is_same = |rank: &&&RankProfile| {
        rank.host == cause.host && rank.processors.as_ref().is_some_and(|of| of.allowed == own.allowed)
    };
    let sharing: Vec<u32> = others.iter().filter(is_same).map(|rank| rank.rank).collect();
    let with = match super::text::layout::ranks(&sharing) {
        Some(ranks) => format!(", as {ranks} may"),
        None => ", which other processes use".into(),
    };
    Some(format!(": it may use processor {} alone{with}", own.allowed.get(0)?))
}

/// The lower median; none of nothing.
pub fn median(of: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = of.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::super::Resources;
    use super::super::processors::Processors;
    use super::*;
    use crate::Members;

    /// A rank that ran for two seconds: so long on a processor, and so long without one.
    fn rank(number: u32, used_s: f64, waited_s: f64, resources: Resources) -> RankProfile {
        let allowed = Members::from_ranks([number as i32]);
        let processors =
            Processors { allowed, used_s: Some(used_s), waited_s: Some(waited_s), ..Processors::default() };
        RankProfile {
            rank: number,
            run_s: 2.0,
            processors: Some(processors),
            resources: Some(resources),
            ..RankProfile::default()
        }
    }

    fn said(cause: &RankProfile) -> Option<String> {
        let usual = [0, 1, 3]
            .map(|number| rank(number, 2.0, 0.0, Resources { page_faults: 900, ..Resources::default() }));
        why(cause, &usual.iter().collect::<Vec<_>>(), 1.0)
    }

    #[test]
    fn who_computes_longer_has_no_other_reason() {
        assert_eq!(said(&rank(2, 2.0, 0.0, Resources { user_s: 2.0, ..Resources::default() })), None);
        // Too little to explain a second.
        assert_eq!(said(&rank(2, 1.7, 0.3, Resources::default())), None);
    }

    #[test]
    fn what_a_slow_rank_has_more_of_is_told() {
        let faults = Resources { system_s: 0.9, page_faults: 1_500_000, ..Resources::default() };
        let told = said(&rank(2, 2.0, 0.0, faults)).unwrap();
        assert!(
            told.starts_with(
                "rank 2 was in the operating system for 900 ms (the others almost none), with 1500000 page faults"
            ),
            "{told}"
        );
        let writes = Resources { written_bytes: 300 << 20, ..Resources::default() };
        let told = said(&rank(2, 1.1, 0.0, writes)).unwrap();
        assert!(told.contains("was asleep for 900 ms (the others almost none), and wrote 3"), "{told}");
        let told = said(&rank(2, 1.1, 0.0, Resources::default())).unwrap();
        assert!(told.ends_with("a timer, or was stopped"), "{told}");
        for waited_s in [0.9, 0.0] {
            let stopped = Resources { throttled_s: 0.85, ..Resources::default() };
            let mut rank = rank(2, 1.1, waited_s, stopped);
            rank.processors.as_mut().unwrap().quota = Some(0.5);
            let told = said(&rank).unwrap();
            assert!(told.ends_with("control group, 0.5 processors, stopped it: raise that"), "{told}");
        }
        let told = said(&rank(2, 1.1, 0.9, Resources::default())).unwrap();
        assert!(
            told.contains("had no processor") && told.contains("processor 2 alone, which other"),
            "{told}"
        );
    }

    #[test]
    fn ranks_on_one_processor_are_named() {
        let mut usual = [0, 1, 3].map(|number| rank(number, 2.0, 0.0, Resources::default()));
        usual[2].processors.as_mut().unwrap().allowed = Members::from_ranks([2]);
        let told =
            why(&rank(2, 1.0, 1.0, Resources::default()), &usual.iter().collect::<Vec<_>>(), 1.0).unwrap();
        assert!(told.contains("may use processor 2 alone, as rank 3 may"), "{told}");
    }

    #[test]
    fn of_a_rank_alone_nothing_is_said() {
        assert_eq!(why(&rank(0, 0.1, 1.0, Resources::default()), &[], 1.0), None);
    }
}
