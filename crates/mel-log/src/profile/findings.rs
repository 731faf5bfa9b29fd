//! Facts about a profile that users should know, in plain words: long queues, how ranks ended, how far the numbers can be trusted.
//! What costs time, and who is the cause, is the [verdict](super::verdict)'s matter: of queue numbers alone nobody is called late.
//!
//! Each rule is one function that returns a sentence or nothing; its thresholds stand beside it.

use super::over_ranks::OverRanks;
use super::reduced::Reduced;
use super::remarks::{Mistake, Remark};
use super::schema::{NotFollowed, Profile, RankProfile, Truth};
use super::summary::spread;
use super::{actions, ends, left_out, planes, windows};
use crate::number::duration;

/// The sentences about a profile: about ranks that have not ended with `MPI_Finalize`, then all [others].
pub fn findings(profile: &Profile) -> Vec<String> {
    let mut sentences = ends::sentences(profile);
    sentences.extend(others(profile));
    sentences
}

/// Those about the queues, then those about how far the numbers can be trusted.
pub fn others(profile: &Profile) -> Vec<String> {
    if let Some(reduced) = &profile.reduced {
        return of_many(profile, reduced);
    }
    let mut sentences = Vec::new();
    sentences.extend(search_time(profile));
    sentences.extend(long_queue(profile));
    sentences.extend(mostly_unexpected(
        sum_of(profile, |rank| rank.posted.messages as f64),
        sum_of(profile, |rank| rank.unexpected.messages as f64),
    ));
    if sentences.is_empty() && profile.has_queues() {
        sentences.extend(quiet(profile));
    }
    sentences.extend(windows::findings(profile));
    sentences.extend(planes::sentence(profile));
    if sentences.is_empty() {
        sentences.extend(windows::quiet(profile));
    }
    sentences.extend(actions::sentences(profile));
    sentences.extend(profile.incomplete.iter().cloned());
    sentences.extend(left_out::of(profile).sentence());
    sentences.extend(samples_lost(profile));
    sentences.extend(regions(profile));
    sentences.extend(profile.remarks.iter().map(Remark::sentence));
    let mut sum = profile.ranks.iter().fold(Truth::default(), |sum, rank| sum.plus(rank.truth));
    if profile.remarks.iter().any(|remark| remark.kind == Mistake::NeverReceived) {
        sum.never_received = 0;
    }
    sentences.extend(truth(sum));
    let counts = profile.not_followed();
    sentences.extend(not_followed(counts));
    sentences.extend(sampled(counts));
    sentences
}

/// The same of very many ranks.
fn of_many(profile: &Profile, reduced: &Reduced) -> Vec<String> {
    let mut sentences = Vec::new();
    let longest = reduced.over("unexpected queue", "max length").and_then(OverRanks::max);
    if !profile.explains_searches() {
        let most = |group| reduced.over(group, "total time").and_then(OverRanks::max);
        let of = |queue, (rank, seconds)| (queue, rank, seconds);
        let posted = most("posted queue searches").map(|most| of("posted", most));
        let unexpected = most("unexpected queue searches").map(|most| of("unexpected", most));
        let searches = posted.into_iter().chain(unexpected).max_by(|a, b| a.2.total_cmp(&b.2));
        sentences.extend(searches.and_then(|(queue, rank, seconds)| searched(rank, seconds, queue, profile)));
    }
    sentences.extend(longest.and_then(|(rank, longest)| grown(rank, longest)));
    let entries = |queue, what| reduced.over(queue, what).map_or(0.0, |over| over.sum);
    sentences.extend(mostly_unexpected(
        entries("posted queue", "receives"),
        entries("unexpected queue", "messages"),
    ));
    if reduced.left_out > 0 {
        sentences.push(format!(
            "{} sums by call site or communicator found no space: the numbers above lack them",
            reduced.left_out
        ));
    }
    sentences.extend(left_out::of(profile).sentence());
    sentences.extend(truth(reduced.truth));
    sentences.extend(not_followed(reduced.not_followed));
    sentences.extend(sampled(reduced.not_followed));
    sentences
}

/// What is missing of sampled variables.
fn samples_lost(profile: &Profile) -> Option<String> {
    let lost = profile.ranks.iter().fold(0u64, |sum, rank| sum.saturating_add(rank.samples_lost));
    (lost > 0).then(|| {
        format!(
            "{lost} samples, or variables on communicators, found no space and are missing: choose fewer with --vars, or a longer --every"
        )
    })
}

/// What is wrong with regions.
fn regions(profile: &Profile) -> Option<String> {
    let sum = |of: fn(&RankProfile) -> u64| profile.ranks.iter().map(of).fold(0u64, u64::saturating_add);
    let (lost, mismatched) = (sum(|rank| rank.lost_regions), sum(|rank| rank.mismatched_regions));
    let lost = (lost > 0).then(|| {
        format!(
            "{lost} times a region was begun beyond the most that there can be: it counts in what it lies in"
        )
    });
    let mismatched = (mismatched > 0).then(|| {
        format!("{mismatched} region ends do not match the region begun last: the enclosed regions were closed, too")
    });
    let all: Vec<String> = lost.into_iter().chain(mismatched).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// A rank that spent a hundredth of the run with searching. Searches that the verdict tells of, with their line, are left to it: those of
/// the posted queue never are, nor those of one among many ranks.
fn search_time(profile: &Profile) -> Option<String> {
    if profile.explains_searches() {
        return None;
    }
    let total = |rank: &RankProfile| Some(rank.posted_search.total_s + rank.unexpected_search.total_s);
    let (most, rank) = spread(&profile.ranks, total)?.max;
    let of = profile.ranks.iter().find(|of| of.rank == rank)?;
    let is_posted = of.posted_search.total_s > of.unexpected_search.total_s;
    searched(rank, most, if is_posted { "posted" } else { "unexpected" }, profile)
}

fn searched(rank: u32, seconds: f64, queue: &str, profile: &Profile) -> Option<String> {
    let share = seconds / profile.duration_s;
    (share.is_finite() && share >= 0.01).then(|| {
        format!(
            "rank {rank} spent {} ({:.1} % of the run) searching its queues, mostly the {queue} queue: it is long, or searched \
             very often",
            duration(seconds),
            share * 100.0
        )
    })
}

fn sum_of(profile: &Profile, of: impl Fn(&RankProfile) -> f64) -> f64 {
    profile.ranks.iter().map(of).sum()
}

/// Unexpected messages are worth a word from so many messages of a run on, and from this share of them: three of four are no accident.
const MANY: f64 = 1000.0;
const MOSTLY: f64 = 0.75;

/// Many messages, most of which came before their receives.
fn mostly_unexpected(posted: f64, unexpected: f64) -> Option<String> {
    let all = posted + unexpected;
    (all >= MANY && unexpected >= MOSTLY * all).then(|| {
        format!(
            "{:.0} % of {all:.0} messages came before their receives were posted: MPI stores and copies such messages; post receives \
             earlier",
            // Not more than there are.
            (unexpected / all * 100.0).floor()
        )
    })
}

/// An unexpected queue of a thousand messages.
fn long_queue(profile: &Profile) -> Option<String> {
    let spread = spread(&profile.ranks, |rank| Some(rank.unexpected.max_length as f64))?;
    grown(spread.max.1, spread.max.0)
}

fn grown(rank: u32, longest: f64) -> Option<String> {
    (longest >= 1000.0).then(|| {
        format!(
            "rank {rank}'s unexpected queue grew to {longest:.0} messages: they take memory, and every receive \
             searches them"
        )
    })
}

/// What there is to say of queues in which no messages were, or, without a verdict, nothing stands out.
fn quiet(profile: &Profile) -> Option<String> {
    let messages = |rank: &RankProfile| rank.posted.messages.saturating_add(rank.unexpected.messages);
    match profile.ranks.iter().map(messages).fold(0, u64::saturating_add) {
        0 if profile.ranks.iter().all(|rank| rank.not_followed == NotFollowed::default()) => {
            Some("no message passed through a queue: the program sent none point-to-point".into())
        }
        0 => Some("no message passed through a queue that is followed".into()),
        _ if profile.verdict.is_some() => None,
        _ => {
            Some("nothing stands out in the queues: none is long, and searches take little of the run".into())
        }
    }
}

/// What the counts of the truth check mean; nothing if there is nothing to say.
pub fn truth(truth: Truth) -> Option<String> {
    if truth.is_clean() {
        return None;
    }
    let parts = [
        (truth.rematched, "rematched (MPI gave a wildcard receive another message than MEL)"),
        (truth.envelopes_lost, "with their envelopes lost (a receive completed whose message MEL never saw)"),
        (truth.never_received, "never received (messages that no receive ever took)"),
        (truth.dropped, "dropped (lost because a buffer was full)"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|p| p.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    Some(format!("truth: {} matched, {}", truth.matched, parts.join(", ")))
}

/// What the model does not follow, so that its numbers lack it; calls, their times and the matrix have it. Nothing if there is nothing.
pub fn not_followed(counts: NotFollowed) -> Option<String> {
    let NotFollowed { communicators, calls, partitioned, .. } = counts;
    let parts = [
        (communicators, "communicators of other jobs or of sessions"),
        (calls, "calls on these"),
        (partitioned, "partitioned sends and receives"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|p| p.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| {
        format!("not followed, so neither in the queues nor in who waits for whom: {}", parts.join(", "))
    })
}

/// How many of the receives the queues were followed of, where that is not all, and what that implies.
pub fn sampled(counts: NotFollowed) -> Option<String> {
    let NotFollowed { receives, bursts, bursts_followed, .. } = counts;
    let followed = bursts_followed.max(1) as f64;
    // Twice the standard error of a share at its worst, a half.
    let error = 100.0 / followed.sqrt();
    (receives != 0).then(|| {
        format!(
            "estimated: the queues were followed in one of {:.1} bursts of receives, which stand for the others ({receives} \
             receives): shares of these are within about {error:.1} percentage points; --exact follows all",
            bursts as f64 / followed
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::verdict::Finding;
    use crate::profile::{QueueStats, SearchStats};

    fn run(ranks: Vec<RankProfile>) -> Profile {
        Profile { duration_s: 10.0, world_size: ranks.len() as u32, ranks, ..Profile::default() }
    }

    fn rank(rank: u32, posted: u64, unexpected: u64) -> RankProfile {
        RankProfile {
            rank,
            posted: QueueStats { messages: posted, max_s: 1e-5, populated_s: 0.01, ..QueueStats::default() },
            unexpected: QueueStats { messages: unexpected, ..QueueStats::default() },
            ..RankProfile::default()
        }
    }

    #[test]
    fn nobody_is_called_late_for_the_numbers_of_its_queues() {
        let mut ranks = vec![rank(0, 90, 10), rank(1, 95, 5), rank(2, 100, 0), rank(3, 8, 92)];
        ranks[2].posted.max_s = 5.0;
        ranks[1].posted.populated_s = 9.0;
        let sentences = findings(&run(ranks));
        assert!(sentences.len() == 1 && sentences[0].starts_with("nothing stands out"), "{sentences:?}");
    }

    #[test]
    fn searches_are_told_once() {
        let mut profile = crate::profile::sample::late_rank(4, 1);
        assert_eq!(findings(&profile), [""; 0]);
        profile.ranks[0].posted_search.total_s = 0.5;
        let told = findings(&profile);
        assert!(
            told.len() == 1 && told[0].contains("searching its queues, mostly the posted queue"),
            "{told:?}"
        );
        let searches = Finding { rule: "long_searches".into(), ..Finding::default() };
        profile.verdict.get_or_insert_default().push(searches);
        assert_eq!(findings(&profile), [""; 0]);
        profile.ranks[0].unexpected.max_length = 1000;
        assert!(findings(&profile)[0].starts_with("rank 0's unexpected queue grew to 1000 messages"));
    }

    #[test]
    fn expensive_searches_and_long_queues_are_told() {
        let mut one = rank(0, 100, 0);
        one.unexpected_search = SearchStats { searches: 9, total_s: 0.35, ..SearchStats::default() };
        one.unexpected.max_length = 4096;
        let sentences = findings(&run(vec![one]));
        assert!(
            sentences[0].starts_with("rank 0 spent 350 ms (3.5 % of the run) searching"),
            "{sentences:?}"
        );
        assert!(sentences[1].starts_with("rank 0's unexpected queue grew to 4096 messages"), "{sentences:?}");
    }

    #[test]
    fn messages_that_mostly_come_first_are_told_where_they_are_many() {
        let told = |posted, unexpected| findings(&run(vec![rank(0, posted, unexpected), rank(1, 0, 0)]));
        let many = told(200, 801);
        assert!(many[0].starts_with("80 % of 1001 messages came before their receives"), "{many:?}");
        for (posted, unexpected) in [(1000, 2000), (1, 900), (0, 0)] {
            assert!(!told(posted, unexpected).iter().any(|line| line.contains("came before")), "{posted}");
        }
    }

    #[test]
    fn quiet_runs_are_called_quiet() {
        let quiet = findings(&run((0..4).map(|r| rank(r, 100, 3)).collect()));
        assert!(quiet.len() == 1 && quiet[0].starts_with("nothing stands out"), "{quiet:?}");
        let silent = findings(&run(vec![RankProfile::default()]));
        assert!(silent.len() == 1 && silent[0].starts_with("no message"), "{silent:?}");
        // The numbers of an empty file must not matter either.
        assert_eq!(findings(&Profile::default()).len(), 1);
    }

    #[test]
    fn how_ranks_ended_comes_first_and_what_is_missing_after_the_queues() {
        let mut profile = run(vec![rank(0, 100, 0), rank(1, 100, 0)]);
        profile.ranks[1].ended = crate::profile::Ended::Killed;
        profile.incomplete = vec!["rank-1.table is cut off".into()];
        let sentences = findings(&profile);
        assert_eq!(sentences[0], "rank 1 was killed: the numbers end there");
        assert_eq!(sentences[2..], ["rank-1.table is cut off"]);
    }

    #[test]
    fn what_is_not_followed_is_told_last() {
        assert_eq!(not_followed(NotFollowed::default()), None);
        let mut profile = run(vec![rank(0, 100, 0), rank(1, 100, 0)]);
        profile.ranks[0].not_followed = NotFollowed { communicators: 1, calls: 7, ..NotFollowed::default() };
        profile.ranks[1].not_followed = NotFollowed { communicators: 1, calls: 6, ..NotFollowed::default() };
        let sentence = "not followed, so neither in the queues nor in who waits for whom: 2 communicators of other jobs or of sessions, 13 calls on these";
        assert_eq!(findings(&profile).last().map(String::as_str), Some(sentence));
    }

    #[test]
    fn receives_that_stand_for_others_are_told_with_an_error() {
        let mut profile = run(vec![rank(0, 100, 0), rank(1, 100, 0)]);
        assert!(findings(&profile).iter().all(|sentence| !sentence.contains("estimated")));
        profile.ranks[1].not_followed =
            NotFollowed { receives: 9000, bursts: 10_000, bursts_followed: 400, ..NotFollowed::default() };
        assert_eq!(
            findings(&profile).pop().unwrap(),
            "estimated: the queues were followed in one of 25.0 bursts of receives, which stand for the others (9000 \
             receives): shares of these are within about 5.0 percentage points; --exact follows all"
        );
    }

    #[test]
    fn the_truth_is_told_when_it_is_not_clean() {
        assert_eq!(truth(Truth { matched: 5, ..Truth::default() }), None);
        let mut profile = run(vec![rank(0, 100, 0), rank(1, 100, 0)]);
        profile.ranks[0].truth = Truth { matched: 99, rematched: 1, ..Truth::default() };
        profile.ranks[1].truth = Truth { matched: 90, rematched: 2, dropped: 8, ..Truth::default() };
        assert_eq!(
            findings(&profile).pop().unwrap(),
            "truth: 189 matched, 3 rematched (MPI gave a wildcard receive another message than MEL), \
             8 dropped (lost because a buffer was full)"
        );
    }
}
