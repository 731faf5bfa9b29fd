//! One-sided communication in a profile: its sums, its lines and its sentences.

use super::one_sided::{KindProfile, WindowProfile};
use super::quantities::{self, windows::WINDOWS};
use super::schema::{Profile, RankProfile};
use crate::number::duration;
use crate::settings::MARK;

/// The sums over some windows of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) started: u64,
    pub(super) bytes: u64,
    pub(super) completed: u64,
    pub(super) for_others: u64,
    completion_s: f64,
    pub(super) longest_s: f64,
    pub(super) locks: u64,
    pub(super) held_s: f64,
    pub(super) synchronising_s: f64,
}

impl Sum {
    pub(super) fn of<'a>(windows: impl IntoIterator<Item = &'a WindowProfile>) -> Sum {
        let mut sum = Sum::default();
        for window in windows {
            sum.locks = sum.locks.saturating_add(window.locks_held.count);
            sum.held_s += window.locks_held.total_s;
            for thread in &window.threads {
                for KindProfile { started, bytes } in thread.operations.values() {
                    sum.started = sum.started.saturating_add(*started);
                    sum.bytes = sum.bytes.saturating_add(*bytes);
                }
                sum.completed = sum.completed.saturating_add(thread.completed);
                sum.for_others = sum.for_others.saturating_add(thread.completed_for_others);
                sum.completion_s += thread.completion.total_s;
                sum.longest_s = sum.longest_s.max(thread.completion.max_s);
                sum.synchronising_s += thread.synchronising_s;
            }
        }
        sum
    }

    pub(super) fn mean_s(&self) -> f64 {
        if self.completed == 0 { 0.0 } else { self.completion_s / self.completed as f64 }
    }
}

/// A line for each window of a rank; above [`MOST_LINES`] windows, one for all.
pub fn lines(rank: &RankProfile) -> String {
    if rank.windows.len() > MOST_LINES {
        let count: u64 = rank.windows.iter().map(|window| u64::from(window.windows.max(1))).sum();
        return line(rank, &format!("all {count}"));
    }
    let alone = |window: &WindowProfile| {
        let with_it =
            RankProfile { rank: rank.rank, windows: vec![window.clone()], ..RankProfile::default() };
        line(&with_it, &window.window.to_string())
    };
    rank.windows.iter().map(alone).collect()
}

/// The most windows of a rank that have lines of their own.
const MOST_LINES: usize = 8;

/// The line of all windows of a rank together.
fn line(rank: &RankProfile, window: &str) -> String {
    let numbers = quantities::line(WINDOWS, rank);
    format!("{MARK}Window statistics rank: {} Window: {window}{numbers}\n", rank.rank)
}

/// What stands out in the one-sided communication of a run; nothing where there was none.
pub fn findings(profile: &Profile) -> Vec<String> {
    let sums: Vec<(u32, Sum)> =
        profile.ranks.iter().map(|rank| (rank.rank, Sum::of(&rank.windows))).collect();
    let all = sums.iter().fold((0u64, 0u64, 0u64), |(started, completed, for_others), (_, sum)| {
        (
            started.saturating_add(sum.started),
            completed.saturating_add(sum.completed),
            for_others.saturating_add(sum.for_others),
        )
    });
    if all.0 == 0 {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    sentences.extend(for_others(&sums));
    sentences.extend(synchronising(profile, &sums));
    let left = all.0.saturating_sub(all.1);
    if left > 0 {
        sentences.push(format!(
            "{left} one-sided operations were never completed by a call that was seen: the program ended before, \
             or too many were under way at a time"
        ));
    }
    sentences
}

/// What there is to say of a profile of windows in which nothing stands out.
pub fn quiet(profile: &Profile) -> Option<String> {
    let sentence = if profile.ranks.iter().any(|rank| !rank.windows.is_empty()) {
        "nothing stands out: no rank spent a tenth of the run in calls that synchronise windows"
    } else {
        "no window was made: the program has no one-sided communication"
    };
    profile.profiled.iter().any(|what| what == "rma").then(|| sentence.into())
}

/// A tenth of the operations of a rank completed by another thread than the one that had started them.
fn for_others(sums: &[(u32, Sum)]) -> Option<String> {
    let share = |sum: &Sum| sum.for_others as f64 / sum.completed.max(1) as f64;
    let (rank, most) = sums.iter().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)))?;
    (share(most) >= 0.1).then(|| {
        format!(
            "rank {rank} had {:.0} % of its one-sided operations completed by another thread than the one that had \
             started them: a flush waits for what all threads have under way, so threads wait for each other's \
             transfers; a window for each thread keeps them apart",
            share(most) * 100.0
        )
    })
}

/// A tenth of the run spent in synchronising windows, by the sum over the threads of a rank.
fn synchronising(profile: &Profile, sums: &[(u32, Sum)]) -> Option<String> {
    let (rank, most) =
        sums.iter().max_by(|(_, a), (_, b)| a.synchronising_s.total_cmp(&b.synchronising_s))?;
    (most.synchronising_s >= 0.1 * profile.duration_s && profile.duration_s > 0.0).then(|| {
        format!(
            "rank {rank} spent {} in calls that synchronise windows (all its threads together; the run took {}): \
             its operations take {} from start to completion on average, and fewer synchronisations let them overlap",
            duration(most.synchronising_s),
            duration(profile.duration_s),
            duration(most.mean_s())
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::profile::{Times, WindowThread};

    fn rank(completed_for_others: u64) -> RankProfile {
        let thread = WindowThread {
            operations: BTreeMap::from([("put".into(), KindProfile { started: 100, bytes: 800 })]),
            completed: 100,
            completed_for_others,
            completion: Times { count: 100, total_s: 2e-4, max_s: 5e-6, ..Times::default() },
            synchronisations: 10,
            synchronising_s: 0.5,
            ..WindowThread::default()
        };
        let window = WindowProfile { window: 3, threads: vec![thread], ..WindowProfile::default() };
        RankProfile { rank: 1, windows: vec![window], ..RankProfile::default() }
    }

    #[test]
    fn a_window_is_a_line() {
        assert_eq!(
            lines(&rank(40)),
            "[MEL] Window statistics rank: 1 Window: 3 Num Operations: 100 Bytes: 800 \
             Average time to completion: 2e-06 s Max time to completion: 5e-06 s Completed by another thread: 40 \
             Num Locks: 0 Total time holding locks: 0 s Total time in synchronisation: 0.5 s\n"
        );
        let mut many = rank(0);
        many.windows = vec![many.windows[0].clone(); MOST_LINES + 1];
        assert!(lines(&many).contains("Window: all 9 Num Operations: 900 "));
        assert_eq!(lines(&RankProfile::default()), "");
    }

    #[test]
    fn who_completed_for_whom_is_said() {
        let of = |ranks, duration_s| findings(&Profile { ranks, duration_s, ..Profile::default() });
        let sentences = of(vec![rank(40)], 100.0);
        assert_eq!(sentences.len(), 1);
        assert!(
            sentences[0]
                .starts_with("rank 1 had 40 % of its one-sided operations completed by another thread")
        );
        assert!(of(vec![rank(0)], 100.0).is_empty());
        assert!(
            of(vec![rank(0)], 1.0)[0].starts_with("rank 1 spent 500 ms in calls that synchronise windows")
        );
        assert!(of(vec![RankProfile::default()], 1.0).is_empty());
    }

    #[test]
    fn what_was_never_completed_is_said() {
        let mut rank = rank(0);
        rank.windows[0].threads[0].completed = 98;
        let profile = Profile { ranks: vec![rank], duration_s: 100.0, ..Profile::default() };
        assert!(findings(&profile)[0].starts_with("2 one-sided operations were never completed"));
    }
}
