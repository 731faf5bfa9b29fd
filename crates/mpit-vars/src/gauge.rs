//! Levels that go up and down, and the highest that they have been.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};

/// Handles that follow the highest level of one gauge at the same time.
const MARKS: usize = 8;

/// Who changes a number: with one thread at a time a change is a load and a store, several need instructions that lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// One thread at a time.
    One,
    /// Any thread, at any time.
    Several,
}

impl Writers {
    /// Adds to a count.
    #[inline(always)]
    pub fn add(self, count: &AtomicU64, more: u64) {
        match self {
            Writers::One => count.store(count.load(Relaxed).wrapping_add(more), Relaxed),
            Writers::Several => _ = count.fetch_add(more, Relaxed),
        }
    }
}

/// A level, and the highest that it has been since each of a few beginnings. Thread-safe; a change is an addition, and one more
/// for each beginning that somebody follows.
#[derive(Debug, Default)]
pub struct Gauge {
    level: AtomicI64,
    marks: [AtomicI64; MARKS],
    /// A bit for each mark that is in use.
    in_use: AtomicU8,
}

/// One beginning from which on somebody follows the highest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

impl Gauge {
    /// The level changes by so much.
    #[inline]
    pub fn add(&self, change: i64, writers: Writers) {
        let level = match writers {
            Writers::One => {
                let level = self.level.load(Relaxed) + change;
                self.level.store(level, Relaxed);
                level
            }
            Writers::Several => self.level.fetch_add(change, Relaxed) + change,
        };
        let mut in_use = self.in_use.load(Relaxed);
        while in_use != 0 && change > 0 {
            let place = in_use.trailing_zeros() as usize;
            if self.marks[place].load(Relaxed) < level {
                self.marks[place].fetch_max(level, Relaxed);
            }
            in_use &= in_use - 1;
        }
    }

    /// The level is this.
    pub fn set(&self, level: u64) {
        let level = i64::try_from(level).unwrap_or(i64::MAX);
        self.add(level.saturating_sub(self.level.load(Relaxed)), Writers::Several);
    }

    /// The level now. What was there before anybody has counted may be missing: it is never less than nothing.
    #[must_use]
    pub fn level(&self) -> u64 {
        u64::try_from(self.level.load(Relaxed)).unwrap_or(0)
    }

    /// The highest level is followed from now on; `None` where too many follow one already.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let place = self.in_use.fetch_update(Relaxed, Relaxed, |bits| {
            (bits != u8::MAX).then(|| bits | 1 << bits.trailing_ones())
        });
        let place = place.ok()?.trailing_ones() as usize;
        self.marks[place].store(self.level.load(Relaxed), Relaxed);
        Some(Mark(place))
    }

    /// It begins anew.
    pub fn begin_again(&self, mark: Mark) {
        self.marks[mark.0].store(self.level.load(Relaxed), Relaxed);
    }

    /// The highest level since the mark began.
    #[must_use]
    pub fn highest(&self, mark: Mark) -> u64 {
        u64::try_from(self.marks[mark.0].load(Relaxed)).unwrap_or(0).max(self.level())
    }

    /// Nobody follows this one any more.
    pub fn release(&self, mark: Mark) {
        self.in_use.fetch_and(!(1 << mark.0), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_has_its_own_beginning() {
        let gauge = Gauge::default();
        gauge.add(3, Writers::One);
        let first = gauge.mark().unwrap();
        gauge.add(2, Writers::One);
        gauge.add(-4, Writers::One);
        let second = gauge.mark().unwrap();
        assert_eq!((gauge.level(), gauge.highest(first), gauge.highest(second)), (1, 5, 1));
        gauge.add(1, Writers::One);
        assert_eq!((gauge.highest(first), gauge.highest(second)), (5, 2));
        gauge.begin_again(first);
        assert_eq!(gauge.highest(first), 2);
    }

    #[test]
    fn eight_can_follow_and_a_place_is_used_again() {
        let gauge = Gauge::default();
        let marks: Vec<Mark> = (0..MARKS).map(|_| gauge.mark().unwrap()).collect();
        assert_eq!(gauge.mark(), None);
        gauge.release(marks[3]);
        assert_eq!(gauge.mark(), Some(marks[3]));
    }

    #[test]
    fn what_was_never_seen_to_come_makes_no_negative_level() {
        let gauge = Gauge::default();
        gauge.add(-1, Writers::One);
        assert_eq!(gauge.level(), 0);
        gauge.set(4);
        assert_eq!(gauge.level(), 4);
    }
}
