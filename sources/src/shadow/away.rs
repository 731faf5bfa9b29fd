//! When a process was off the processor: what came meanwhile was looked at when it was back.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mpit_events::Ticks;

/// Intervals that are remembered.
const MOST: usize = 256;

/// The last intervals in which a thread had given its processor away, in order.
///
/// One thread notes; that thread, or another, also of another process, may ask at the same time, and is perhaps told of one
/// interval too few. Every value of its memory is valid.
#[derive(Debug)]
#[repr(C)]
pub struct Away {
    /// Where each began, and ended.
    intervals: [[AtomicU64; 2]; MOST],
    /// How many there have been.
    count: AtomicUsize,
}

impl Default for Away {
    fn default() -> Self {
        Away::new()
    }
}

impl Away {
    /// No intervals yet.
    pub const fn new() -> Self {
        Away { intervals: [const { [const { AtomicU64::new(0) }; 2] }; MOST], count: AtomicUsize::new(0) }
    }

    /// The thread leaves, later than ever before; it is not known when it will be [back](Away::note_back).
    pub fn note_left(&self, left: Ticks) {
        let count = self.count.load(Ordering::Relaxed);
        let [from, until] = &self.intervals[count % MOST];
        from.store(left.0, Ordering::Relaxed);
        until.store(u64::MAX, Ordering::Relaxed);
        self.count.store(count.wrapping_add(1), Ordering::Release);
    }

    /// The thread is back. Where it was gone for no longer than `brief` ticks, it has not been away.
    pub fn note_back(&self, back: Ticks, brief: u64) {
        let last = self.count.load(Ordering::Relaxed).wrapping_sub(1);
        let [from, until] = &self.intervals[last % MOST];
        if back.0.saturating_sub(from.load(Ordering::Relaxed)) > brief {
            until.store(back.0, Ordering::Relaxed);
        } else {
            self.count.store(last, Ordering::Release);
        }
    }

    /// Whether the thread was away, and came back after this time.
    pub fn was_away_after(&self, time: Ticks) -> bool {
        self.latest().next().is_some_and(|[_, back]| back > time)
    }

    /// When the thread was back that had left for the last time before this time.
    pub fn back_from_before(&self, time: Ticks) -> Option<Ticks> {
        self.latest().find(|[left, _]| *left < time).map(|[_, back]| back)
    }

    /// When the thread was there after this time: that time, or the end of the interval that it lies in; the end of time
    /// where that has not ended.
    pub fn back_after(&self, time: Ticks) -> Ticks {
        let found = self.latest().take_while(|[_, back]| *back >= time).find(|[left, _]| *left <= time);
        found.map_or(time, |[_, back]| back)
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

    fn note(away: &Away, left: u64, back: u64) {
        away.note_left(Ticks(left));
        away.note_back(Ticks(back), 1);
    }

    #[test]
    fn who_is_away_is_not_back() {
        let away = Away::new();
        note(&away, 10, 20);
        away.note_left(Ticks(30));
        let back = [15, 25, 30, 40].map(|time| away.back_after(Ticks(time)).0);
        assert_eq!(back, [20, 25, u64::MAX, u64::MAX]);
        away.note_back(Ticks(35), 1);
        assert_eq!([30, 40].map(|time| away.back_after(Ticks(time)).0), [35, 40]);
    }

    #[test]
    fn what_is_sent_in_an_interval_is_seen_at_its_end() {
        let away = Away::new();
        assert!(!away.was_away_after(Ticks(0)));
        assert_eq!(away.back_after(Ticks(7)), Ticks(7));
        note(&away, 10, 20);
        note(&away, 22, 23);
        note(&away, 30, 50);
        let seen = [5, 10, 15, 20, 25, 30, 49, 50, 51].map(|time| away.back_after(Ticks(time)).0);
        assert_eq!(seen, [5, 20, 20, 20, 25, 50, 50, 50, 51]);
        assert!(away.was_away_after(Ticks(49)) && !away.was_away_after(Ticks(50)));
    }

    #[test]
    fn who_was_away_before_a_time_came_back_from_there() {
        let away = Away::new();
        assert_eq!(away.back_from_before(Ticks(100)), None);
        note(&away, 10, 20);
        note(&away, 30, 50);
        let back = [10, 11, 30, 31, 99].map(|time| away.back_from_before(Ticks(time)).map(|back| back.0));
        assert_eq!(back, [None, Some(20), Some(20), Some(50), Some(50)]);
    }

    #[test]
    fn only_the_last_intervals_are_remembered() {
        let away = Away::new();
        for i in 0..2 * MOST as u64 {
            note(&away, 10 * i, 10 * i + 5);
        }
        let (first, last) = (10 * MOST as u64, 10 * (2 * MOST as u64 - 1));
        assert_eq!(away.back_after(Ticks(first + 1)), Ticks(first + 5));
        assert_eq!(away.back_after(Ticks(last + 1)), Ticks(last + 5));
        assert_eq!(away.back_after(Ticks(first - 9)), Ticks(first - 9), "forgotten");
    }
}
