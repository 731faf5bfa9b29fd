//! Polling: a thread that tests again and again whether something is complete, or has come, waits for it.
//!
//! It waits from the first test without success to the one that has it: in the tests, and between them as long as it does nothing. Short
//! gaps count as waiting. What of long ones is work, the time says in which the thread was awake, on a processor or waiting for one: it is read
//! twice, and only where there is a long gap.
//!
//! Cost: some additions for each test.

use mpi_intercept::Call;

use crate::processors::awake_nanos;

/// Between two tests of a loop that does nothing else passes less.
const GAP_MICROSECONDS: u64 = 20;

/// What a test has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nothing yet.
    Nothing,
    /// Something is complete, or has come; or there is nothing to wait for.
    Something,
}

impl Found {
    /// What a call that has succeeded says; `None` of one that is no test.
    #[inline(always)]
    fn of(call: &Call<'_>) -> Option<Found> {
        let number = match call {
            Call::Test(a) => a.flag,
            Call::Testall(a) => a.flag,
            Call::Testany(a) => a.flag,
            Call::Testsome(a) => a.outcount,
            Call::Iprobe(a) => a.flag,
            Call::Improbe(a) => a.flag,
            Call::Request_get_status(a) => a.flag,
            Call::Win_test(a) => a.flag,
            _ => return None,
        };
        // SAFETY: MPI has filled it, because the call succeeded.
        let is_nothing = !number.is_null() && unsafe { number.read() } == 0;
        Some(if is_nothing { Found::Nothing } else { Found::Something })
    }
}

/// A thread that has polled. Times are ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// When it began.
    pub(crate) begin: u64,
    /// When it found what it polled for.
    pub(crate) end: u64,
    /// How much of that it waited.
    pub(crate) waited: u64,
    /// The part of `waited` that was between the tests.
    pub(crate) between: u64,
}

impl Polled {
    /// Whether it was waiting for the most part, and not work with tests in between.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waited > (self.end - self.begin) / 2
    }
}

/// Gaps between tests, and for how long the thread was awake.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    /// When it was read for how long the thread has been awake, and what that was, in ticks.
    since: u64,
    awake: u64,
    /// The gap before that.
    first: u64,
    /// Gaps after that, and how many.
    gaps: u64,
    number: u64,
}

/// What a thread knows of its polling.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polling {
    /// When the first test without success was entered; 0 where there is none.
    begin: u64,
    /// When the last one returned.
    last: u64,
    /// Time in tests.
    inside: u64,
    /// Time in short gaps.
    short: u64,
    long: Option<Long>,
}

impl Polling {
    /// What was polled for is waited for otherwise, or no more.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        self.begin = 0;
    }

    /// This thread has made a call that succeeded, from when to when: what it has polled, if the call is a test that has found something. Times
    /// are ticks; `microsecond` is one in ticks.
    #[inline(always)]
    pub(crate) fn called(&mut self, call: &Call<'_>, times: (u64, u64), microsecond: u64) -> Option<Polled> {
        let found = Found::of(call)?;
        let longest = GAP_MICROSECONDS * microsecond;
        if self.goes_on(times, found, longest) {
            return None;
        }
        self.test(times, found, longest, || awake_nanos().saturating_mul(microsecond) / 1000)
    }

    /// A test without success, soon after another one: nothing but sums change. Whether it was so; otherwise [`test`](Polling::test) is
    /// to be told.
    #[inline(always)]
    fn goes_on(&mut self, (entered, left): (u64, u64), found: Found, longest: u64) -> bool {
        let gap = entered.saturating_sub(self.last);
        let goes_on = found == Found::Nothing && self.begin != 0 && gap <= longest;
        if goes_on {
            self.short += gap;
            self.inside += left.saturating_sub(entered);
            self.last = left;
        }
        goes_on
    }

    /// A test was entered, and has returned. Gaps of more than `longest` ticks may be work: `awake` reads for how long the thread has not
    /// slept, in ticks. What it has polled, once it has found something.
    #[inline(never)]
    fn test(
        &mut self,
        (entered, left): (u64, u64),
        found: Found,
        longest: u64,
        awake: impl Fn() -> u64,
    ) -> Option<Polled> {
        if self.begin == 0 {
            if found == Found::Nothing {
                *self = Polling {
                    begin: entered,
                    last: left,
                    inside: left.saturating_sub(entered),
                    ..Polling::default()
                };
            }
            return None;
        }
        let gap = entered.saturating_sub(self.last);
        let work = match (&mut self.long, gap <= longest) {
            (_, true) => {
                self.short += gap;
                false
            }
            (Some(long), false) => {
                long.gaps += gap;
                long.number += 1;
                false
            }
            (None, false) => found == Found::Nothing,
        };
        self.inside += left.saturating_sub(entered);
        self.last = left;
        if work {
            self.long = Some(Long { since: left, awake: awake(), first: gap, gaps: 0, number: 0 });
        }
        (found == Found::Something).then(|| self.end(longest, awake))
    }

    fn end(&mut self, longest: u64, awake: impl Fn() -> u64) -> Polled {
        let polling = std::mem::take(self);
        let asleep = match polling.long {
            // Of the first gap alone nothing is known.
            Some(long) if long.gaps > 0 => {
                let in_tests = polling.last.saturating_sub(long.since).saturating_sub(long.gaps);
                let worked = awake().saturating_sub(long.awake).saturating_sub(in_tests).min(long.gaps);
                // Who sleeps needs a moment to fall asleep and to wake up: as short as what counts as waiting where nobody sleeps.
                let only_sleeps = worked <= long.number * longest && 2 * worked <= long.gaps;
                let share = if only_sleeps { 1.0 } else { 1.0 - worked as f64 / long.gaps as f64 };
                ((long.first + long.gaps) as f64 * share) as u64
            }
            _ => 0,
        };
        let between = polling.short + asleep;
        Polled { begin: polling.begin, end: polling.last, waited: polling.inside + between, between }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Found::{Nothing, Something};

    /// Tests of one tick each that are entered at these times, of which the last one has success, in a thread that has been
    /// awake for as long as `awake` says of a time.
    fn polled(entered: &[u64], awake: impl Fn(u64) -> u64) -> Option<Polled> {
        let mut polling = Polling::default();
        let mut result = None;
        for (place, &at) in entered.iter().enumerate() {
            let found = if place + 1 == entered.len() { Something } else { Nothing };
            // The short way has the same sums, and is for what finds nothing.
            let mut same = polling.clone();
            let goes_on = same.goes_on((at, at + 1), found, 20);
            result = polling.test((at, at + 1), found, 20, || awake(at + 1));
            if goes_on {
                assert_eq!((found, result), (Nothing, None));
                assert_eq!(
                    (same.begin, same.last, same.inside, same.short),
                    (polling.begin, polling.last, polling.inside, polling.short)
                );
            }
        }
        assert_eq!(polling.begin, 0, "it is over");
        result
    }

    #[test]
    fn a_loop_that_spins_waits_all_the_time() {
        let entered: Vec<u64> = (0..100).map(|number| 1000 + 3 * number).collect();
        let expected = Polled { begin: 1000, end: 1298, waited: 298, between: 198 };
        assert_eq!(polled(&entered, |_| panic!("it need not be read")), Some(expected));
    }

    #[test]
    fn a_loop_that_sleeps_waits_too() {
        let entered: Vec<u64> = (1..=10).map(|number| 1000 * number).collect();
        let found = polled(&entered, |at| at / 1000).unwrap();
        assert!(found.waited > 8900 && found.between < found.waited, "{found:?}");
    }

    #[test]
    fn a_moment_between_sleeps_is_no_work() {
        let entered: Vec<u64> = (1..=10).map(|number| 100 * number).collect();
        let found = polled(&entered, |at| at / 6).unwrap();
        assert_eq!(found.waited, 901, "{found:?}");
        let found = polled(&entered, |at| at / 4).unwrap();
        assert!(found.waited < 750, "more than a moment: {found:?}");
    }

    #[test]
    fn who_waits_for_a_processor_does_not_sleep() {
        // Of each gap the thread is on a processor for a third.
        let entered: Vec<u64> = (1..=10).map(|number| 3000 * number).collect();
        assert!(!polled(&entered, |at| at).unwrap().is_waiting());
        assert!(polled(&entered, |at| at / 3).unwrap().is_waiting());
    }

    #[test]
    fn a_loop_that_works_between_its_tests_does_not_wait() {
        let entered: Vec<u64> = (1..=10).map(|number| 1000 * number).collect();
        let found = polled(&entered, |at| at).unwrap();
        assert_eq!((found.waited, found.between), (10, 0));
    }

    #[test]
    fn one_piece_of_work_is_no_polling() {
        assert_eq!(polled(&[1000, 9000], |at| at).unwrap().waited, 2);
        assert_eq!(polled(&[1000], |at| at), None, "it was there");
    }

    #[test]
    fn what_is_waited_for_otherwise_is_no_polling() {
        let mut polling = Polling::default();
        assert_eq!(polling.test((10, 11), Nothing, 20, || 0), None);
        polling.forget();
        assert_eq!(polling.test((500, 501), Something, 20, || 0), None);
    }
}
