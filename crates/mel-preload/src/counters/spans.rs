//! At which ends of calls the counters are read, and what of the time outside of MPI is observed by that.
//!
//! A reading takes about a microsecond, so that not every call can have two. Between two readings passes on average [`APART`] times what one
//! takes.
//!
//! - The exit of a call is read with a chance that makes this so: one in coarse programs, less in others. It is drawn for each exit,
//!   and not by the time: else short times after long ones would be looked at, and long ones never.
//! - The entry after an exit that was read is read: all that was counted between them is of one time outside of MPI.
//! - The entry after a time that was longer than the mean distance is read, too, if the last reading was not long before that time began: what was counted since
//!   then is shared out by time.

use code_samples::counters::{Counters, KINDS, Reading};

/// The mean time between two readings, in times that a reading takes: readings take less than a hundredth of the time.
const APART: u64 = 256;
/// The least mean time between two readings, in microseconds.
const LEAST_APART: u64 = 20;
/// Readings whose time is taken at the beginning.
const TRIED: u32 = 8;
/// From so many exits on the chance is chosen anew.
const MANY_EXITS: u32 = 64;
/// The last reading before a long time may lie before it by so much of it: one part in eight.
const PART: u64 = 8;

/// The counters are there no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// What was counted in a time outside of MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Observed {
    /// How long it was.
    pub(super) ticks: u64,
    /// Nanoseconds of it on a processor.
    pub(super) on_processor: u64,
    /// Instructions, cycles, cache misses.
    pub(super) counts: [u64; KINDS],
}

/// Where a thread is. Times are ticks.
#[derive(Clone, Debug)]
pub(super) struct Spans {
    /// The last reading, and when it was.
    read: Reading,
    read_at: u64,
    /// When the thread left its last call; whether it is outside of MPI since then.
    left: u64,
    is_outside: bool,
    /// Whether the counters were read as it left.
    was_read: bool,
    /// The mean time between two readings.
    apart: u64,
    /// The chance that an exit is read, as a part of 2³².
    chance: u64,
    /// Exits since the chance was chosen, and when that was.
    exits: u32,
    chosen: u64,
    /// Of the numbers that are drawn.
    state: u64,
}

impl Spans {
    /// The thread is outside of MPI from now on. `None` where the counters cannot be read.
    pub(super) fn begin(
        counters: &mut dyn Counters,
        microsecond: u64,
        now: impl Fn() -> u64,
    ) -> Option<Spans> {
        // The first one comes to places where nothing was for long.
        counters.read()?;
        let began = now();
        for _ in 0..TRIED {
            counters.read()?;
        }
        let took = now().saturating_sub(began) / u64::from(TRIED);
        let read = counters.read()?;
        let at = now();
        Some(Spans {
            read,
            read_at: at,
            left: at,
            is_outside: true,
            was_read: true,
            apart: (took * APART).max(LEAST_APART * microsecond).max(1),
            chance: 1 << 32,
            exits: 0,
            chosen: at,
            state: 0x9e37_79b9_7f4a_7c15,
        })
    }

    /// Whether the thread is outside of MPI.
    pub(super) fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// The thread enters a call: what was observed since it left the last one, if anything was.
    #[inline]
    pub(super) fn enter(&mut self, now: u64, counters: &mut dyn Counters) -> Result<Option<Observed>, Gone> {
        if !std::mem::replace(&mut self.is_outside, false) {
            return Ok(None);
        }
        let ticks = now.saturating_sub(self.left);
        let before = self.left.saturating_sub(self.read_at);
        if self.was_read || (ticks >= self.apart && before <= ticks / PART) {
            return self.observe(now, ticks, counters);
        }
        Ok(None)
    }

    /// Reads, and takes what was counted since the last reading by the part of that time which is `ticks` long.
    #[cold]
    fn observe(
        &mut self,
        now: u64,
        ticks: u64,
        counters: &mut dyn Counters,
    ) -> Result<Option<Observed>, Gone> {
        let (before, began) = (self.read, self.read_at);
        self.read_now(now, counters)?;
        let all = now.saturating_sub(began).max(1);
        let part = |number: u64| (u128::from(number) * u128::from(ticks.min(all)) / u128::from(all)) as u64;
        Ok(self.read.since(&before).map(|counted| Observed {
            ticks,
            on_processor: part(counted.on_processor),
            counts: counted.counts.map(part),
        }))
    }

    fn read_now(&mut self, now: u64, counters: &mut dyn Counters) -> Result<(), Gone> {
        (self.read, self.read_at) = (counters.read().ok_or(Gone)?, now);
        Ok(())
    }

    /// The thread leaves a call.
    #[inline]
    pub(super) fn leave(&mut self, now: u64, counters: &mut dyn Counters) -> Result<(), Gone> {
        (self.left, self.is_outside) = (now, true);
        self.exits += 1;
        if self.exits >= MANY_EXITS {
            self.choose(now);
        }
        self.was_read = self.draw() < self.chance;
        if self.was_read { self.read_now(now, counters) } else { Ok(()) }
    }

    /// A time outside of MPI goes on from here, as another one.
    pub(super) fn go_on(&mut self, now: u64, counters: &mut dyn Counters) -> Result<(), Gone> {
        (self.left, self.is_outside, self.was_read) = (now, true, true);
        self.read_now(now, counters)
    }

    /// Exits go on to come as often as they did: one of them is to be read in each mean time between two readings.
    #[cold]
    fn choose(&mut self, now: u64) {
        let time = now.saturating_sub(self.chosen);
        let all = u128::from(self.apart) * u128::from(self.exits);
        self.chance = ((u128::from(time) << 32) / all.max(1)).min(1 << 32) as u64;
        (self.exits, self.chosen) = (0, now);
    }

    /// A number below 2³² (xorshift).
    #[inline]
    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// A program: its time, its counters, and how often these were read.
    #[derive(Clone, Default)]
    struct Program(Rc<Inner>);

    #[derive(Default)]
    struct Inner {
        now: Cell<u64>,
        reading: Cell<Reading>,
        reads: Cell<u64>,
        is_gone: Cell<bool>,
    }

    // SAFETY: each test has one thread.
    unsafe impl Send for Program {}

    impl Counters for Program {
        fn read(&mut self) -> Option<Reading> {
            self.0.reads.set(self.0.reads.get() + 1);
            (!self.0.is_gone.get()).then(|| self.0.reading.get())
        }

        fn forget(self: Box<Self>) {}
    }

    impl Program {
        /// It runs for so many ticks, with so many instructions in each.
        fn run(&self, ticks: u64, instructions: u64) {
            self.0.now.set(self.0.now.get() + ticks);
            let mut reading = self.0.reading.get();
            (reading.on_processor, reading.counted) = (reading.on_processor + ticks, reading.counted + ticks);
            reading.counts[0] += ticks * instructions;
            self.0.reading.set(reading);
        }

        fn spans(&self) -> Spans {
            let now = self.0.clone();
            // A microsecond has a hundred ticks.
            Spans::begin(&mut self.clone(), 100, move || now.now.get()).unwrap()
        }

        /// Makes a call that spins for so long, after computing for so long: what of that was observed.
        fn step(&self, spans: &mut Spans, computes: u64, spins: u64) -> Observed {
            self.run(computes, 3);
            let observed = spans.enter(self.0.now.get(), &mut self.clone()).unwrap().unwrap_or_default();
            self.run(spins, 50);
            spans.leave(self.0.now.get(), &mut self.clone()).unwrap();
            observed
        }
    }

    /// The sums over steps, and how often the counters were read in them.
    fn sums(program: &Program, steps: impl Iterator<Item = (u64, u64)>) -> (Observed, u64) {
        let mut spans = program.spans();
        let before = program.0.reads.get();
        let mut all = Observed::default();
        for (computes, spins) in steps {
            let more = program.step(&mut spans, computes, spins);
            all.ticks += more.ticks;
            all.on_processor += more.on_processor;
            all.counts[0] += more.counts[0];
        }
        (all, program.0.reads.get() - before)
    }

    #[test]
    fn of_a_coarse_program_all_is_observed_and_nothing_of_its_waits() {
        let (all, _) = sums(&Program::default(), (0..500).map(|step| (10_000, 100 * (step % 90))));
        assert_eq!((all.ticks, all.on_processor, all.counts[0]), (5_000_000, 5_000_000, 15_000_000));
    }

    #[test]
    fn of_many_short_calls_some_are_read_and_the_rate_is_that_of_all() {
        let (all, reads) = sums(&Program::default(), (0..100_000).map(|_| (30, 20)));
        // 5 million ticks, a mean distance of 2000.
        assert!(reads < 6_000, "{reads}");
        assert!(all.ticks > 30_000, "{all:?}");
        let rate = all.counts[0] as f64 / all.ticks as f64;
        assert!((rate - 3.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn long_times_between_many_short_calls_are_not_missed() {
        // A hundred calls one after the other, and then the work.
        let steps = (0..100_000).map(|step| if step % 100 == 99 { (50_000, 100) } else { (5, 20) });
        let (all, reads) = sums(&Program::default(), steps);
        assert!(reads < 60_000, "{reads}");
        assert!(all.ticks > 45_000_000, "{} of 50 million", all.ticks);
        let rate = all.counts[0] as f64 / all.ticks as f64;
        assert!((rate - 3.0).abs() < 0.6, "{rate}");
    }

    #[test]
    fn a_phase_cuts_a_time_in_two() {
        let program = Program::default();
        let mut spans = program.spans();
        program.run(100, 3);
        let first = spans.enter(program.0.now.get(), &mut program.clone()).unwrap().unwrap();
        program.run(7, 3);
        spans.go_on(program.0.now.get(), &mut program.clone()).unwrap();
        let second = program.step(&mut spans, 200, 5);
        assert_eq!((first.counts[0], second.counts[0], second.ticks), (300, 600, 200));
        assert_eq!(spans.enter(program.0.now.get(), &mut program.clone()).unwrap().unwrap().ticks, 0);
        assert_eq!(spans.enter(program.0.now.get(), &mut program.clone()), Ok(None), "it is inside");
    }

    #[test]
    fn counters_that_are_gone_are_told() {
        let program = Program::default();
        let mut spans = program.spans();
        program.0.is_gone.set(true);
        assert_eq!(spans.enter(10, &mut program.clone()), Err(Gone));
        assert!(Spans::begin(&mut program.clone(), 100, || 0).is_none());
    }
}
