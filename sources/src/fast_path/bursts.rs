//! Which rows of receives are counted, where counting all of them would take more of the run than it may.
//!
//! A row is self-contained: nothing is in the queues before it, and nothing after it. So one that is not counted changes nothing for
//! others, and of as many as the [`Budget`] allows, chosen by dice, each stands for those of about its length that were not counted
//! since. What their messages were, when they were sent and what calls have waited for is known of all.

use mpit_events::Ticks;

use crate::budget::{Budget, Dice};
use crate::calls::NotFollowed;

/// Receives that are counted before any budget matters: short runs are exact.
const FIRST: u64 = 1 << 16;
/// Of this many rows at least one is followed.
const MOST: u32 = 128;
/// The most receives that one stands for.
const HEAVIEST: u64 = 255;
/// Of this many rows that are followed one is timed.
const TIMED: u32 = 64;
/// Classes of rows by their length: the powers of two.
const LENGTHS: usize = 9;

/// Decides which rows are followed. One thread at a time.
#[derive(Debug)]
pub(crate) struct Bursts {
    /// The share of the run that counting may take; none without a limit.
    share: Option<f64>,
    /// None until [`FIRST`] receives were followed.
    budget: Option<Budget>,
    dice: Dice,
    /// Rows until the next one that is followed, and since the last one.
    left: u32,
    since: u32,
    /// Receives that were followed before the budget mattered.
    first: u64,
    /// Receives that no row stands for yet, by the length of their rows.
    waiting: [u64; LENGTHS],
    /// What a receive takes, in ticks, and how it is found out: rows until one is timed, and when the one began that is.
    cost: u64,
    untimed: u32,
    began: Option<Ticks>,
}

impl Default for Bursts {
    fn default() -> Self {
        Bursts {
            share: None,
            budget: None,
            dice: Dice::new(0x6d65_6c21),
            left: 1,
            since: 0,
            first: 0,
            waiting: [0; LENGTHS],
            cost: 0,
            untimed: 0,
            began: None,
        }
    }
}

/// Which rows are of about this length.
fn class(receives: u64) -> usize {
    (receives.max(1).ilog2() as usize).min(LENGTHS - 1)
}

impl Bursts {
    /// Counting receives may take this share of the run.
    pub(crate) fn set_share(&mut self, share: f64) {
        self.share = Some(share);
    }

    /// The next row has so many receives, and its call was entered and returned at these times: for how many each of them stands. None: the
    /// row is not counted, but here.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        receives: usize,
        (entered, returned): (Ticks, Ticks),
        counts: &mut NotFollowed,
    ) -> u16 {
        if self.budget.is_none() {
            self.first += receives as u64;
            if self.first < FIRST || self.share.is_none() {
                return 1;
            }
            self.budget = Some(Budget::new(self.share, 0, returned.0, u64::MAX >> 8));
        }
        self.chosen(receives as u64, (entered, returned), counts)
    }

    #[inline]
    fn chosen(
        &mut self,
        receives: u64,
        (entered, returned): (Ticks, Ticks),
        counts: &mut NotFollowed,
    ) -> u16 {
        let (Some(budget), Some(share)) = (&mut self.budget, self.share) else { return 1 };
        if share * returned.since(entered) as f64 >= (self.cost * receives) as f64 {
            // A call that has taken long pays for itself, and is like no other.
            return 1;
        }
        let waiting = &mut self.waiting[class(receives)];
        self.since += 1;
        if self.left > 1 {
            self.left -= 1;
            *waiting += receives;
            counts.bursts += 1;
            counts.receives += receives;
            return 0;
        }
        budget.spend(self.cost * receives);
        budget.sampled(self.since, returned.0);
        let every = budget.every().min(MOST);
        let is_sampled = self.since > 1 || every > 1;
        counts.bursts += u64::from(is_sampled);
        counts.bursts_followed += u64::from(is_sampled);
        self.since = 0;
        self.left = self.dice.next(every);
        let others = (*waiting / receives.max(1)).min(HEAVIEST - 1);
        *waiting -= others * receives;
        (1 + others) as u16
    }

    /// Of a row of so many receives, which was not to be counted, so many are counted after all.
    #[cold]
    pub(crate) fn give_back(&mut self, receives: usize, counted: usize, counts: &mut NotFollowed) {
        let waiting = &mut self.waiting[class(receives as u64)];
        *waiting = waiting.saturating_sub(counted as u64);
        counts.receives = counts.receives.saturating_sub(counted as u64);
    }

    /// Counting has begun, or ended: nothing stands for what was before.
    pub(crate) fn begin_anew(&mut self) {
        self.waiting = [0; LENGTHS];
    }

    /// A row begins that is followed, and perhaps timed.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: impl FnOnce() -> Ticks) {
        if self.share.is_some() {
            if self.untimed == 0 {
                self.untimed = TIMED;
                self.began = Some(now());
            }
            self.untimed -= 1;
        }
    }

    /// A row of so many receives has been followed, which may have been timed.
    #[inline(always)]
    pub(crate) fn end(&mut self, receives: usize, now: impl FnOnce() -> Ticks) {
        if let Some(began) = self.began.take() {
            let took = now().since(began) / receives.max(1) as u64;
            // One that was interrupted does not matter for long.
            let took = if self.cost == 0 { took } else { took.min(8 * self.cost) };
            self.cost = if self.cost == 0 { took } else { (7 * self.cost + took) / 8 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of these lengths in turns, one in `interval` ticks, a followed receive takes `cost`: the sum of the weights of each
    /// length's receives, and what was sampled.
    fn follow(
        share: Option<f64>,
        lengths: &[usize],
        (interval, cost): (u64, u64),
        rows: usize,
    ) -> (Vec<u64>, NotFollowed) {
        let mut bursts = Bursts { share, ..Bursts::default() };
        let mut counts = NotFollowed::default();
        let mut weights = vec![0; lengths.len()];
        let mut now = 1000;
        for row in 0..rows {
            let turn = row % lengths.len();
            let receives = lengths[turn];
            now += interval;
            let weight = bursts.next(receives, (Ticks(now), Ticks(now)), &mut counts);
            weights[turn] += u64::from(weight) * receives as u64;
            if weight != 0 {
                bursts.begin(|| Ticks(now));
                now += cost * receives as u64;
                bursts.end(receives, || Ticks(now));
            }
        }
        (weights, counts)
    }

    #[test]
    fn what_is_affordable_is_followed() {
        let followed = follow(Some(0.05), &[64], (1_000_000, 100), 10_000);
        assert_eq!(followed, (vec![640_000], NotFollowed::default()));
    }

    #[test]
    fn without_a_share_all_are_followed() {
        let followed = follow(None, &[1], (10, 1000), 200_000);
        assert_eq!(followed, (vec![200_000], NotFollowed::default()));
    }

    #[test]
    fn rows_stand_for_others_of_their_length() {
        let (weights, counts) = follow(Some(0.05), &[1, 64], (500, 100), 400_000);
        let NotFollowed { bursts, bursts_followed, receives, .. } = counts;
        assert!(bursts_followed > 1000 && bursts > 10 * bursts_followed, "{counts:?}");
        assert!(receives > 10_000_000, "{counts:?}");
        for (weight, receives) in weights.iter().zip([200_000.0, 200_000.0 * 64.0]) {
            let error = *weight as f64 / receives - 1.0;
            assert!(error.abs() < 0.01, "{weights:?}");
        }
    }

    #[test]
    fn what_has_waited_long_stands_for_itself() {
        let mut bursts = Bursts { share: Some(0.05), ..Bursts::default() };
        let (mut counts, mut now, mut long) = (NotFollowed::default(), 0, 0);
        for row in 0..200_000u64 {
            let entered = now;
            now += if row % 1000 == 999 { 100_000 } else { 10 };
            let weight = bursts.next(1, (Ticks(entered), Ticks(now)), &mut counts);
            if weight != 0 {
                bursts.begin(|| Ticks(now));
                now += 300;
                bursts.end(1, || Ticks(now));
            }
            if row % 1000 == 999 {
                assert_eq!(weight, 1, "{row}");
                long += 1;
            }
        }
        assert_eq!(long, 200);
        assert!(counts.receives > 10_000, "{counts:?}");
    }

    #[test]
    fn what_is_counted_after_all_is_given_back() {
        let mut bursts = Bursts { share: Some(0.05), ..Bursts::default() };
        let mut counts = NotFollowed { receives: 10, ..NotFollowed::default() };
        bursts.waiting[3] = 10;
        bursts.give_back(8, 7, &mut counts);
        assert_eq!((bursts.waiting[3], counts.receives), (3, 3));
        bursts.give_back(8, 7, &mut counts);
        assert_eq!((bursts.waiting[3], counts.receives), (0, 0));
    }

    #[test]
    fn the_share_is_kept() {
        for (interval, cost) in [(400, 200), (2000, 200), (100, 300)] {
            let (mut bursts, mut now, mut spent) = (Bursts::default(), 0, 0);
            let mut counts = NotFollowed::default();
            bursts.set_share(0.05);
            let mut began = 0;
            for row in 0..2_000_000u64 {
                now += interval;
                if bursts.next(1, (Ticks(now), Ticks(now)), &mut counts) != 0 {
                    bursts.begin(|| Ticks(now));
                    now += cost;
                    bursts.end(1, || Ticks(now));
                    spent += if row > FIRST { cost } else { 0 };
                }
                if row == FIRST {
                    began = now;
                }
            }
            let share = spent as f64 / (now - began) as f64;
            assert!((0.02..0.06).contains(&share), "{interval} {cost}: {share}");
        }
    }
}
