//! How often something is done that takes time, such as to read variables in a call: so often that it stays within a share of the run.

use fastrand::Rng;

/// The first decision is made after so many calls, later ones after so many more.
const FIRST: u64 = 16;
const LATER: u64 = 64;
/// At least one in so many calls is read.
const MOST: u32 = 1 << 20;

/// A share of the time, and what was spent of it. Times are ticks.
#[derive(Debug)]
pub struct Budget {
    /// The share; none without a limit.
    share: Option<f64>,
    began: u64,
    spent: u64,
    every: u32,
    most: u32,
    /// Since the last decision: when that was, calls, reads of a call, and their time.
    window: Window,
    is_first: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    at: u64,
    calls: u64,
    samples: u64,
    spent: u64,
}

impl Budget {
    /// A budget from `now` on. `cost` is what was measured for one read of all variables, `millisecond` so many ticks.
    pub fn new(share: Option<f64>, cost: u64, now: u64, millisecond: u64) -> Budget {
        let window = Window { at: now, ..Window::default() };
        let mut budget = Budget { share, began: now, spent: 0, every: 1, most: 1, window, is_first: true };
        // Where even a call in a millisecond would be too often, every call is not tried first.
        if let Some(share) = share
            && (3 * cost) as f64 > share * millisecond as f64
        {
            budget.set(3.0 * cost as f64 / (share * millisecond as f64));
        }
        budget
    }

    /// One in so many calls is to be read now.
    pub fn every(&self) -> u32 {
        self.every
    }

    /// The most that it was.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// A read has taken so long.
    #[inline]
    pub fn spend(&mut self, ticks: u64) {
        self.spent = self.spent.saturating_add(ticks);
        self.window.spent = self.window.spent.saturating_add(ticks);
    }

    /// A call was read, the only one of the last `calls`; it is `now`. Decides anew from time to time.
    pub fn sampled(&mut self, calls: u32, now: u64) {
        let Some(share) = self.share else { return };
        self.window.calls += u64::from(calls);
        self.window.samples += 1;
        let enough = if self.is_first { FIRST } else { LATER };
        if self.window.calls < enough || now <= self.window.at {
            return;
        }
        let Window { at, calls, samples, spent } = self.window;
        self.is_first = false;
        self.window = Window { at: now, ..Window::default() };
        // How long a call and what is before it take without us, and what one that is read costs.
        let without = (now - at).saturating_sub(spent).max(1) as f64 / calls as f64;
        let cost = spent as f64 / samples as f64;
        // A share of the time with us: cost <= share * (every * without + cost).
        let mut every = cost * (1.0 - share).max(0.0) / (share * without);
        // What was spent too much is saved in time.
        let allowed = share * (now - self.began) as f64;
        if self.spent as f64 > allowed {
            every = every.max(f64::from(self.every)) * (self.spent as f64 / allowed).min(2.0);
        }
        self.set(every);
    }

    fn set(&mut self, every: f64) {
        // Rounded so that "within the budget" holds.
        self.every = (every.ceil().max(1.0) as u64).min(u64::from(MOST)) as u32;
        self.most = self.most.max(self.every);
    }
}

/// A sequence of numbers without a pattern, so that what a program does in turns is not always met at the same turn.
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Always the same sequence for a seed.
    pub const fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// After how many calls the next one is read: one in `every` on the average, each with the same chance.
    pub fn next(&mut self, every: u32) -> u32 {
        if every <= 1 {
            return 1;
        }
        let mut random = Rng::with_seed(self.0);
        let calls = random.u32(1..2 * every);
        self.0 = random.get_seed();
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose calls come every `interval` ticks, read at `cost` ticks for each of two or three reads; the share that was spent, and
    /// how many of the calls were read.
    fn simulate(share: f64, cost: u64, interval: u64, calls: u32) -> (f64, f64, Budget) {
        let mut budget = Budget::new(Some(share), cost, 0, 1_000_000);
        let (mut now, mut spent, mut sampled) = (0, 0, 0);
        let mut dice = Dice::new(7);
        let (mut left, mut since, mut pending) = (1, 0, false);
        for _ in 0..calls {
            now += interval;
            since += 1;
            left -= 1;
            let mut read = |budget: &mut Budget| {
                now += cost;
                spent += cost;
                budget.spend(cost);
            };
            if pending || left == 0 {
                read(&mut budget);
                pending = false;
            }
            if left == 0 {
                read(&mut budget);
                sampled += 1;
                pending = true;
                budget.sampled(since, now);
                since = 0;
                left = dice.next(budget.every());
            }
        }
        (spent as f64 / now as f64, f64::from(sampled) / f64::from(calls), budget)
    }

    #[test]
    fn what_is_affordable_is_read_in_every_call() {
        let (share, sampled, budget) = simulate(0.03, 1_000, 1_000_000, 10_000);
        assert!(share < 0.01 && sampled == 1.0);
        assert_eq!((budget.every(), budget.most()), (1, 1));
    }

    #[test]
    fn the_share_is_kept_whatever_a_read_costs() {
        for (share, cost, interval) in
            [(0.03, 1_000, 1_000), (0.03, 20_000, 500), (0.1, 300, 2_000), (0.01, 90, 900)]
        {
            let (spent, sampled, budget) = simulate(share, cost, interval, 2_000_000);
            assert!(spent < 1.15 * share, "{spent} of {share}: {budget:?}");
            assert!(spent > 0.4 * share && sampled > 0.0, "{spent} of {share}: {budget:?}");
        }
    }

    #[test]
    fn without_a_limit_every_call_is_read() {
        let mut budget = Budget::new(None, 1 << 40, 0, 1_000_000);
        (0..1000).for_each(|at| {
            budget.spend(1 << 30);
            budget.sampled(1, at);
        });
        assert_eq!((budget.every(), budget.most()), (1, 1));
    }

    #[test]
    fn dice_fall_on_all_turns_alike() {
        let mut dice = Dice::new(12345);
        let (mut at, mut met) = (0u64, [0u32; 4]);
        for _ in 0..100_000 {
            at += u64::from(dice.next(8));
            met[(at % 4) as usize] += 1;
        }
        assert!((7.8..8.2).contains(&(at as f64 / 100_000.0)), "{at}");
        assert!(met.iter().all(|count| (24_000..26_000).contains(count)), "{met:?}");
        assert_eq!((dice.next(1), dice.next(0)), (1, 1));
    }
}
