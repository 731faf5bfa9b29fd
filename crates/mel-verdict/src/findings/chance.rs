//! Whether chance explains who was the cause, for sums and traces alike; and whether those who were are late, or others early.

use std::collections::BTreeMap;

/// A rank that has caused less than this share of what is lost at a line is not named.
const LEAST_PART: f64 = 0.1;
/// A rank that has caused this share is the cause, in however few operations.
const NEARLY_ALL: f64 = 0.9;
/// One operation that has lost this share of all is a stall: its cause is named, however rare it is.
const STALL: f64 = 0.6;
/// A rank that has lost this share of what the one lost that lost most has waited for others.
const SUFFERS: f64 = 0.1;
/// Of fewer operations sums do not tell whether one has lost most.
const FEW: f64 = 5.0;

/// Who was the cause of what was lost in operations of the same line, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// By cause, without the operation under way.
    by_cause: BTreeMap<u32, Caused>,
    /// What is lost without a known cause.
    other: f64,
    /// How many operations there were, and the sum of the squares of what was lost in each.
    operations: f64,
    squares: f64,
    /// The most that was lost in one.
    worst: f64,
    /// The number of the operation under way, and what was lost in it by cause.
    number: u64,
    under_way: Vec<(u32, f64)>,
}

/// What a rank was the cause of.
#[derive(Clone, Copy, Debug, Default)]
struct Caused {
    lost: f64,
    /// In how many operations; of those with several causes its part.
    operations: f64,
}

impl Causes {
    /// The causes of what was lost in about this many operations, of which only sums are known: each is taken to lose
    /// the same. `other` is lost without a known cause.
    pub fn of_sums(causes: impl Iterator<Item = (u32, f64)>, other: f64, operations: f64) -> Causes {
        let lost: BTreeMap<u32, f64> = causes.collect();
        let known: f64 = lost.values().sum();
        if known <= 0.0 {
            return Causes { other, ..Causes::default() };
        }
        let operations = operations * known / (known + other);
        let worst = if operations < FEW { lost.values().copied().fold(0.0, f64::max) } else { 0.0 };
        let caused = |lost: f64| Caused { lost, operations: operations * lost / known };
        let by_cause = lost.into_iter().map(|(cause, lost)| (cause, caused(lost))).collect();
        let squares = known * known / operations.max(1.0);
        Causes { by_cause, other, operations, squares, worst, ..Causes::default() }
    }

    /// So much was lost in the operation of this number because of this rank. Operations come one after the other.
    pub fn add(&mut self, operation: u64, cause: u32, lost: f64) {
        if self.number != operation {
            self.end_operation();
            self.number = operation;
        }
        match self.under_way.iter_mut().find(|known| known.0 == cause) {
            Some(known) => known.1 += lost,
            None => self.under_way.push((cause, lost)),
        }
    }

    /// Ends the operation under way: all are counted then.
    pub fn end_operation(&mut self) {
        let total: f64 = self.under_way.iter().map(|(_, lost)| lost).sum();
        if total > 0.0 {
            self.operations += 1.0;
            self.squares += total * total;
            self.worst = self.worst.max(total);
        }
        for (cause, lost) in self.under_way.drain(..).filter(|(_, lost)| *lost > 0.0) {
            let caused = self.by_cause.entry(cause).or_default();
            caused.lost += lost;
            caused.operations += lost / total;
        }
    }

    /// Whether a rank is named as a cause among `ranks` ranks: it has caused nearly all, or a stall, or more than chance makes of ranks
    /// each of which is as likely as any other in each operation. That is so where chance does not explain how often all were
    /// the cause, or how often this one was; each by the time lost or by the number of operations. Where [most ranks](Victims::are_most)
    /// are as late as the last one, whichever that was is none.
    pub fn names(&self, cause: u32, ranks: usize, most_wait: bool) -> bool {
        let known: f64 = self.by_cause.values().map(|caused| caused.lost).sum();
        let total = known + self.other;
        let Some(of) = self.by_cause.get(&cause).filter(|of| of.lost > 0.0) else { return false };
        let share = of.lost / total;
        if ranks < 2 || share >= NEARLY_ALL || (share >= STALL && self.worst >= STALL * total) {
            return true;
        }
        let alike = 1.0 / ranks as f64;
        if share < LEAST_PART || !most_wait {
            return false;
        }
        if self.is_one_of_several(cause, ranks, total) {
            return true;
        }
        if of.lost / known <= alike {
            return false;
        }
        let by_time = known * known / self.squares;
        rules_out(self.by_cause.values().map(|of| of.lost / known), ranks, by_time)
            || rules_out(
                self.by_cause.values().map(|of| of.operations / self.operations),
                ranks,
                self.operations,
            )
            || is_too_often(of.lost / known, ranks, by_time)
            || is_too_often(of.operations / self.operations, ranks, self.operations)
    }

    /// Whether a rank is one of several that are the causes together, where none may be by itself: of the `total` that is lost they have
    /// caused nearly all, each of them enough to be named, and chance would leave all others out once in a hundred times at most.
    fn is_one_of_several(&self, cause: u32, ranks: usize, total: f64) -> bool {
        const ONE_IN: f64 = 100.0;
        let mut causes: Vec<(f64, u32)> =
            self.by_cause.iter().map(|(rank, of)| (of.lost / total, *rank)).collect();
        causes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut together, mut choices) = (0.0, 1.0);
        for (number, (share, _)) in (1..ranks).zip(&causes) {
            together += share;
            choices *= (ranks + 1 - number) as f64 / number as f64;
            if *share < LEAST_PART {
                return false;
            }
            if together >= NEARLY_ALL {
                let by_chance = choices * (number as f64 / ranks as f64).powf(self.operations);
                return by_chance * ONE_IN <= 1.0 && causes[..number].iter().any(|(_, rank)| *rank == cause);
            }
        }
        false
    }
}

/// Who has waited in operations of which each waits for all, by rank.
#[derive(Clone, Debug, Default)]
pub struct Victims(BTreeMap<u32, f64>);

impl Victims {
    /// This rank has lost so much.
    pub fn add(&mut self, rank: u32, lost: f64) {
        *self.0.entry(rank).or_default() += lost;
    }

    /// Whether they are at least half of the `ranks`. Fewer are early, because they have too little to do: the others are not late.
    pub fn are_most(&self, ranks: usize) -> bool {
        let most = self.0.values().copied().fold(0.0, f64::max);
        let waiting = self.0.values().filter(|lost| **lost >= SUFFERS * most).count();
        2 * waiting >= ranks
    }
}

/// Whether chance does not explain the shares of causes in so many operations, at the level of one in a hundred: chi-squared.
fn rules_out(shares: impl Iterator<Item = f64>, ranks: usize, operations: f64) -> bool {
    let squares: f64 = shares.map(|share| share * share).sum();
    (squares * ranks as f64 - 1.0) * operations >= critical((ranks - 1) as f64)
}

/// Whether one of so many ranks is the cause with at least this share less than once in twenty runs by chance, whichever it is: Chernoff's bound.
fn is_too_often(share: f64, ranks: usize, operations: f64) -> bool {
    const ONE_IN: f64 = 20.0;
    let alike = 1.0 / ranks as f64;
    let rest = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - alike)).ln() } else { 0.0 };
    let divergence = share * (share / alike).ln() + rest;
    share > alike && operations * divergence >= (ONE_IN * ranks as f64).ln()
}

/// The chi-squared value that is exceeded once in a hundred times, by degrees of freedom (Wilson and Hilferty's approximation).
fn critical(degrees: f64) -> f64 {
    const ONE_IN_A_HUNDRED: f64 = 2.326;
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + ONE_IN_A_HUNDRED * part.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks that are named, of operations in which as much was lost each time.
    fn named(causes: impl IntoIterator<Item = u32>, ranks: usize) -> Vec<u32> {
        let mut all = Causes::default();
        (1..).zip(causes).for_each(|(operation, cause)| all.add(operation, cause, 1e6));
        of(all, ranks)
    }

    fn of(mut causes: Causes, ranks: usize) -> Vec<u32> {
        causes.end_operation();
        (0..ranks as u32).filter(|rank| causes.names(*rank, ranks, true)).collect()
    }

    #[test]
    fn several_are_the_causes_together() {
        let of_shares = |shares: &[f64], ranks, operations| {
            of(Causes::of_sums((0..).zip(shares.iter().copied()), 0.0, operations), ranks)
        };
        assert_eq!(of_shares(&[0.5, 0.5], 3, 24.0), [0, 1]);
        assert_eq!(of_shares(&[0.5, 0.45, 0.05], 4, 20.0), [0, 1]);
        assert_eq!(of_shares(&[0.5, 0.5], 3, 5.0), [0; 0], "seldom");
        assert_eq!(of_shares(&[0.35, 0.33, 0.32], 3, 100.0), [0; 0], "all are late");
        assert_eq!(of_shares(&[0.5, 0.5], 2, 100.0), [0; 0]);
    }

    /// Whether rank 0 is named, that has caused this share of the sums, and the others alike the rest.
    fn is_named(share: f64, ranks: usize, operations: f64) -> bool {
        let rest = (1.0 - share) / (ranks - 1) as f64;
        let causes = (0..ranks as u32).map(|rank| (rank, if rank == 0 { share } else { rest }));
        Causes::of_sums(causes, 0.0, operations).names(0, ranks, true)
    }

    #[test]
    fn who_comes_last_again_and_again_does_so_not_by_chance() {
        assert_eq!(named((0..10).map(|_| 2), 4), [2]);
        assert_eq!(named((0..24).map(|step| 1 + step % 2), 3), [1, 2], "two in turn, and never the third");
        assert_eq!(named((0..12).map(|step| step % 3), 3), [0; 0], "each in turn");
        assert_eq!(named([0, 1, 1, 0, 2, 1, 2, 2, 1, 0], 3), [0; 0]);
        assert_eq!(named([1, 0, 1], 2), [0; 0], "twice is not often");
        assert_eq!(named([1, 1, 1], 2), [1], "nobody else was it");
        let mut uneven = Causes::default();
        (1..11).for_each(|operation| uneven.add(operation, 2, 1e6 * if operation < 3 { 30.0 } else { 1.0 }));
        assert_eq!(of(uneven, 3), [2], "always the same one, however long");
    }

    #[test]
    fn one_of_many_is_named_where_it_comes_last_too_often_and_each_that_came_last_once_is_not() {
        let often = (0..20).map(|step| if step % 2 == 0 { 5 } else { step });
        assert_eq!(named(often, 64), [5]);
        assert_eq!(named(0..10, 64), [0; 0], "a tenth of the time each");
    }

    #[test]
    fn where_one_rank_has_too_little_to_do_the_others_are_not_late() {
        let causes = || Causes::of_sums([(1, 60.0), (2, 40.0)].into_iter(), 0.0, 10.0);
        let mut victims = Victims::default();
        [(0, 0.5), (1, 0.4), (3, 99.0)].into_iter().for_each(|(rank, lost)| victims.add(rank, lost));
        assert!(!victims.are_most(4) && !causes().names(1, 4, victims.are_most(4)));
        victims.add(0, 80.0);
        assert!(victims.are_most(4) && causes().names(1, 4, victims.are_most(4)));
    }

    #[test]
    fn a_stall_is_none_of_chance() {
        let mut stall = Causes::default();
        (1..13).for_each(|step| stall.add(step, (step % 3) as u32, 1e6));
        stall.add(100, 1, 5e8);
        assert_eq!(of(stall, 3), [1]);
    }

    #[test]
    fn sums_name_whom_operations_do() {
        assert!(is_named(1.0, 2, 10.0) && is_named(0.6, 4, 20.0) && is_named(0.4, 64, 10.0));
        assert!(!is_named(0.6, 2, 10.0) && !is_named(0.5, 2, 1000.0) && !is_named(0.4, 3, 10.0));
        assert!(is_named(0.9, 2, 1.0) && !is_named(0.5, 2, 1.0), "a single stall has one cause");
        assert!(!is_named(0.1, 64, 10.0), "once in ten operations");
    }

    #[test]
    fn what_has_no_cause_hides_who_caused_little() {
        let causes = |other| Causes::of_sums([(0, 1.0)].into_iter(), other, 100.0);
        assert!(causes(1.0).names(0, 4, true) && !causes(20.0).names(0, 4, true));
        assert!(!Causes::of_sums([].into_iter(), 1.0, 9.0).names(0, 4, true));
    }

    #[test]
    fn the_quantile_is_that_of_tables() {
        for (degrees, table) in [(2.0, 9.21), (3.0, 11.34), (10.0, 23.21), (100.0, 135.81)] {
            assert!((critical(degrees) / table - 1.0).abs() < 0.01, "{degrees}: {}", critical(degrees));
        }
    }
}
