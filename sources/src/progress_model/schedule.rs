//! When a thread was descheduled: what came meanwhile was polled for when it resumed.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mpit_events::Ticks;

/// Intervals that are remembered.
const MOST: usize = 256;

/// The last intervals in which a thread had given its processor away, in order.
///
/// One thread notes. Another one may ask at the same time, and perhaps misses the last interval.
#[derive(Debug)]
pub struct Schedule {
    /// Where each began, and ended.
    intervals: [[AtomicU64; 2]; MOST],
    /// How many there have been.
    count: AtomicUsize,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule::new()
    }
}

impl Schedule {
    /// No intervals yet.
    pub const fn new() -> Self {
        Schedule { intervals: [const { [const { AtomicU64::new(0) }; 2] }; MOST], count: AtomicUsize::new(0) }
    }

    /// The thread gives its processor away, later than ever before; when it will [resume](Schedule::note_resumed) is not known.
    pub fn note_yield(&self, left: Ticks) {
        let count = self.count.load(Ordering::Relaxed);
        let [from, until] = &self.intervals[count % MOST];
        from.store(left.0, Ordering::Relaxed);
        until.store(u64::MAX, Ordering::Relaxed);
        self.count.store(count.wrapping_add(1), Ordering::Release);
    }

    /// The thread has resumed. Where that took no longer than `brief` ticks, it was not descheduled.
    pub fn note_resumed(&self, resumed: Ticks, brief: u64) {
        let last = self.count.load(Ordering::Relaxed).wrapping_sub(1);
        let [from, until] = &self.intervals[last % MOST];
        if resumed.0.saturating_sub(from.load(Ordering::Relaxed)) > brief {
            until.store(resumed.0, Ordering::Relaxed);
        } else {
            self.count.store(last, Ordering::Release);
        }
    }

    /// Whether the thread was descheduled, and resumed after this time.
    pub fn was_descheduled_after(&self, time: Ticks) -> bool {
        self.latest().next().is_some_and(|[_, resumed]| resumed > time)
    }

    /// When the thread resumed that had been descheduled for the last time before this time.
    pub fn resumed_from_before(&self, time: Ticks) -> Option<Ticks> {
        self.latest().find(|[left, _]| *left < time).map(|[_, resumed]| resumed)
    }

    /// When the thread ran, from this time on: then, or at the end of the interval that this lies in; at the end of time
    /// where that has not ended.
    pub fn resumed_after(&self, time: Ticks) -> Ticks {
        let found = self.latest().take_while(|[_, resumed]| *resumed >= time).find(|[left, _]| *left <= time);
        found.map_or(time, |[_, resumed]| resumed)
    }

    /// The intervals, the last one first.
    fn latest(&self) -> impl Iterator<Item = [Ticks; 2]> {
        let count = self.count.load(Ordering::Acquire);
        let interval = move |place: usize| {
            let [from, until] = &self.intervals[place % MOST];
            [Ticks(from.load(Ordering::Relaxed)), Ticks(until.load(Ordering::Relaxed))]
        };
        (count.saturating_sub(MOST)..count).rev().map(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(schedule: &Schedule, left: u64, back: u64) {
        schedule.note_yield(Ticks(left));
        schedule.note_resumed(Ticks(back), 1);
    }

    #[test]
    fn a_thread_that_has_not_resumed_does_not_run() {
        let schedule = Schedule::new();
        note(&schedule, 10, 20);
        schedule.note_yield(Ticks(30));
        let back = [15, 25, 30, 40].map(|time| schedule.resumed_after(Ticks(time)).0);
        assert_eq!(back, [20, 25, u64::MAX, u64::MAX]);
        schedule.note_resumed(Ticks(35), 1);
        assert_eq!([30, 40].map(|time| schedule.resumed_after(Ticks(time)).0), [35, 40]);
    }

    #[test]
    fn what_is_sent_in_an_interval_is_seen_at_its_end() {
        let schedule = Schedule::new();
        assert!(!schedule.was_descheduled_after(Ticks(0)));
        assert_eq!(schedule.resumed_after(Ticks(7)), Ticks(7));
        note(&schedule, 10, 20);
        note(&schedule, 22, 23);
        note(&schedule, 30, 50);
        let seen = [5, 10, 15, 20, 25, 30, 49, 50, 51].map(|time| schedule.resumed_after(Ticks(time)).0);
        assert_eq!(seen, [5, 20, 20, 20, 25, 50, 50, 50, 51]);
        assert!(schedule.was_descheduled_after(Ticks(49)) && !schedule.was_descheduled_after(Ticks(50)));
    }

    #[test]
    fn the_last_interval_before_a_time_is_found() {
        let schedule = Schedule::new();
        assert_eq!(schedule.resumed_from_before(Ticks(100)), None);
        note(&schedule, 10, 20);
        note(&schedule, 30, 50);
        let back =
            [10, 11, 30, 31, 99].map(|time| schedule.resumed_from_before(Ticks(time)).map(|back| back.0));
        assert_eq!(back, [None, Some(20), Some(20), Some(50), Some(50)]);
    }

    #[test]
    fn only_the_last_intervals_are_remembered() {
        let schedule = Schedule::new();
        for i in 0..2 * MOST as u64 {
            note(&schedule, 10 * i, 10 * i + 5);
        }
        let (first, last) = (10 * MOST as u64, 10 * (2 * MOST as u64 - 1));
        assert_eq!(schedule.resumed_after(Ticks(first + 1)), Ticks(first + 5));
        assert_eq!(schedule.resumed_after(Ticks(last + 1)), Ticks(last + 5));
        assert_eq!(schedule.resumed_after(Ticks(first - 9)), Ticks(first - 9), "forgotten");
    }
}
