//! What stands out in a profile, in plain words.
//!
//! Each rule is one function that returns a sentence or nothing; its thresholds stand beside it.

use super::schema::{Ended, NotFollowed, Profile, RankProfile, Truth};
use super::summary::spread;
use super::windows;
use crate::number::duration;

/// The most sentences about the queues of a run.
const MOST: usize = 3;

/// The sentences about a profile: about the queues, then about how far they can be trusted.
pub fn findings(profile: &Profile) -> Vec<String> {
    let rules = [unexpected_share, waited_for, longest_wait, search_time, long_queue];
    let mut sentences: Vec<String> = rules.iter().filter_map(|rule| rule(profile)).take(MOST).collect();
    if sentences.is_empty() && profile.has_queues() {
        sentences.push(quiet(profile));
    }
    sentences.extend(windows::findings(profile));
    if sentences.is_empty() {
        sentences.extend(windows::quiet(profile));
    }
    sentences.extend(ends(profile));
    sentences.extend(truth(profile.ranks.iter().fold(Truth::default(), |sum, rank| sum.plus(rank.truth))));
    sentences.extend(not_followed(
        profile.ranks.iter().fold(NotFollowed::default(), |sum, rank| sum.plus(rank.not_followed)),
    ));
    sentences
}

/// The share of its messages that a rank found unexpected, if it had enough.
fn share(rank: &RankProfile) -> Option<f64> {
    let messages = rank.posted.messages.saturating_add(rank.unexpected.messages);
    (messages >= 10).then(|| rank.unexpected.messages as f64 / messages as f64)
}

/// Half of the messages unexpected: on all ranks, on half of them, or on one.
fn unexpected_share(profile: &Profile) -> Option<String> {
    let shares = spread(&profile.ranks, share)?;
    let (most, rank) = shares.max;
    if most < 0.5 {
        return None;
    }
    let percent = |share: f64| (share * 100.0).floor();
    let (alone, several) = (profile.ranks.len() == 1, profile.ranks.len() > 2);
    if !alone && shares.min.0 >= 0.5 {
        return Some(format!(
            "all ranks found at least {} % of their messages unexpected: receives are posted late everywhere",
            percent(shares.min.0)
        ));
    }
    if several && shares.median >= 0.5 {
        return Some(format!(
            "half of the ranks found at least {} % of their messages unexpected (rank {rank}: {} %): receives are \
             posted late in many places",
            percent(shares.median),
            percent(most)
        ));
    }
    let others =
        if alone { String::new() } else { format!(" (median of the ranks: {} %)", percent(shares.median)) };
    Some(format!(
        "rank {rank} found {} % of its messages unexpected{others}: it posts its receives late",
        percent(most)
    ))
}

/// How long the receives of a rank waited in total, if it had enough of them.
fn waiting(rank: &RankProfile) -> Option<f64> {
    (rank.posted.messages >= 10).then_some(rank.posted.populated_s)
}

/// The others wait a tenth of the run or more, and one rank less than a third of what they do.
fn waited_for(profile: &Profile) -> Option<String> {
    if profile.ranks.len() < 3 {
        return None;
    }
    let spread = spread(&profile.ranks, waiting)?;
    let (least, rank) = spread.min;
    let late =
        profile.ranks.iter().find(|r| r.rank == rank).and_then(share).is_some_and(|share| share >= 0.5);
    (!late && spread.median >= 0.1 * profile.duration_s && least < spread.median / 3.0).then(|| {
        format!(
            "rank {rank} waited least for messages ({} of {}; median of the ranks: {}): the others wait for it",
            duration(least),
            duration(profile.duration_s),
            duration(spread.median)
        )
    })
}

/// One receive that waited a hundredth of the run or more, and three times longer than usual.
fn longest_wait(profile: &Profile) -> Option<String> {
    let spread = spread(&profile.ranks, |rank| (rank.posted.messages > 0).then_some(rank.posted.max_s))?;
    let (longest, rank) = spread.max;
    let unusual = profile.ranks.len() == 1 || longest >= 3.0 * spread.median;
    (longest > 0.0 && longest >= 0.01 * profile.duration_s && unusual).then(|| {
        let others = match profile.ranks.len() {
            1 => String::new(),
            _ => format!(" (median of the ranks' longest: {})", duration(spread.median)),
        };
        format!(
            "rank {rank}'s longest posted receive waited {}{others}: its message was sent late",
            duration(longest)
        )
    })
}

/// A hundredth of the run spent with searching.
fn search_time(profile: &Profile) -> Option<String> {
    let total = |rank: &RankProfile| Some(rank.posted_search.total_s + rank.unexpected_search.total_s);
    let (most, rank) = spread(&profile.ranks, total)?.max;
    let share = most / profile.duration_s;
    (share.is_finite() && share >= 0.01).then(|| {
        format!(
            "rank {rank} spent {} ({:.1} % of the run) searching its queues: they are long, or searched very often",
            duration(most),
            share * 100.0
        )
    })
}

/// An unexpected queue of a thousand messages.
fn long_queue(profile: &Profile) -> Option<String> {
    let spread = spread(&profile.ranks, |rank| Some(rank.unexpected.max_length as f64))?;
    let (longest, rank) = spread.max;
    (longest >= 1000.0).then(|| {
        format!(
            "rank {rank}'s unexpected queue grew to {longest:.0} messages: they take memory, and every receive \
             searches them"
        )
    })
}

fn quiet(profile: &Profile) -> String {
    let messages = |rank: &RankProfile| rank.posted.messages.saturating_add(rank.unexpected.messages);
    match profile.ranks.iter().map(messages).fold(0, u64::saturating_add) {
        0 if profile.ranks.iter().all(|rank| rank.not_followed == NotFollowed::default()) => {
            "no message passed through a queue: the program sent none point-to-point".into()
        }
        0 => "no message passed through a queue that is followed".into(),
        _ => "nothing stands out: no rank posts its receives much later than the others, waits much longer, \
              or has long queues"
            .into(),
    }
}

fn ends(profile: &Profile) -> Vec<String> {
    let mut sentences = Vec::new();
    let words = [
        (Ended::Aborted, "called MPI_Abort"),
        (Ended::Exited, "exited without MPI_Finalize"),
        (Ended::Killed, "was killed"),
    ];
    for (ended, what) in words {
        let ranks: Vec<u32> = profile.ranks.iter().filter(|r| r.ended == ended).map(|r| r.rank).collect();
        if let Some(who) = name(&ranks) {
            sentences.push(format!("{who} {what}: the numbers end there"));
        }
    }
    let missing: Vec<u32> = (0..profile.world_size)
        .filter(|rank| profile.ranks.binary_search_by_key(rank, |r| r.rank).is_err())
        .collect();
    if let Some(who) = name(&missing) {
        sentences.push(format!("{who} left no profile: killed, or never came to its end"));
    }
    sentences
}

/// `rank 3`, `ranks 1, 2, 5`, `ranks 1, 2, 3 and 17 more`; none for nobody.
fn name(ranks: &[u32]) -> Option<String> {
    let list = |ranks: &[u32]| ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match ranks {
        [] => None,
        [one] => Some(format!("rank {one}")),
        few if few.len() <= 8 => Some(format!("ranks {}", list(few))),
        many => Some(format!("ranks {} and {} more", list(&many[..3]), many.len() - 3)),
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

/// What the numbers leave out; nothing if they leave out nothing.
pub fn not_followed(counts: NotFollowed) -> Option<String> {
    let NotFollowed { communicators, calls, partitioned } = counts;
    let parts = [
        (communicators, "communicators of other jobs or of sessions"),
        (calls, "calls on these"),
        (partitioned, "partitioned sends and receives"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|p| p.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| format!("not followed, and in no number above: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn a_rank_that_posts_late_is_named() {
        let sentences =
            findings(&run(vec![rank(0, 90, 10), rank(1, 95, 5), rank(2, 100, 0), rank(3, 8, 92)]));
        assert_eq!(
            sentences,
            [
                "rank 3 found 92 % of its messages unexpected (median of the ranks: 7 %): it posts its receives late"
            ]
        );
        let sentences = findings(&run(vec![rank(0, 40, 60), rank(1, 20, 80)]));
        assert_eq!(
            sentences,
            [
                "all ranks found at least 60 % of their messages unexpected: receives are posted late everywhere"
            ]
        );
        let sentences =
            findings(&run(vec![rank(0, 80, 20), rank(1, 35, 65), rank(2, 20, 80), rank(3, 30, 70)]));
        assert_eq!(
            sentences,
            [
                "half of the ranks found at least 67 % of their messages unexpected (rank 2: 80 %): receives are \
              posted late in many places"
            ]
        );
        let sentences = findings(&run(vec![rank(0, 40, 60)]));
        assert_eq!(sentences, ["rank 0 found 60 % of its messages unexpected: it posts its receives late"]);
    }

    #[test]
    fn a_rank_that_others_wait_for_is_named() {
        let mut ranks: Vec<RankProfile> = (0..4).map(|r| rank(r, 100, 3)).collect();
        for r in [0, 2, 3] {
            ranks[r].posted.populated_s = 5.0;
        }
        ranks[1].posted.populated_s = 0.5;
        ranks[2].posted.max_s = 0.571;
        assert_eq!(
            findings(&run(ranks)),
            [
                "rank 1 waited least for messages (500 ms of 10.0 s; median of the ranks: 5.00 s): the others wait for it",
                "rank 2's longest posted receive waited 571 ms (median of the ranks' longest: 10.0 us): its message was sent late",
            ]
        );
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
    fn quiet_runs_are_called_quiet() {
        let quiet = findings(&run((0..4).map(|r| rank(r, 100, 3)).collect()));
        assert!(quiet.len() == 1 && quiet[0].starts_with("nothing stands out"), "{quiet:?}");
        let silent = findings(&run(vec![RankProfile::default()]));
        assert!(silent.len() == 1 && silent[0].starts_with("no message"), "{silent:?}");
        // The numbers of an empty file must not matter either.
        assert_eq!(findings(&Profile::default()).len(), 1);
    }

    #[test]
    fn how_ranks_ended_and_who_is_missing_is_told() {
        let mut profile = run(vec![rank(0, 100, 0), rank(3, 100, 0)]);
        profile.world_size = 20;
        profile.ranks[1].ended = Ended::Killed;
        let sentences = findings(&profile);
        assert_eq!(
            sentences[1..],
            [
                "rank 3 was killed: the numbers end there",
                "ranks 1, 2, 4 and 15 more left no profile: killed, or never came to its end"
            ]
        );
    }

    #[test]
    fn what_is_not_followed_is_told_last() {
        assert_eq!(not_followed(NotFollowed::default()), None);
        let mut profile = run(vec![rank(0, 100, 0), rank(1, 100, 0)]);
        profile.ranks[0].not_followed = NotFollowed { communicators: 1, calls: 7, partitioned: 0 };
        profile.ranks[1].not_followed = NotFollowed { communicators: 1, calls: 6, partitioned: 0 };
        let sentence = "not followed, and in no number above: 2 communicators of other jobs or of sessions, 13 calls on these";
        assert_eq!(findings(&profile).last().map(String::as_str), Some(sentence));
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
