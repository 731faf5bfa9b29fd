//! Time stamps: the processor's time stamp counter where it is invariant, else `CLOCK_MONOTONIC`.

use std::sync::OnceLock;

/// A point in time, in ticks of the [`Clock`] that gave it.
///
/// Ticks of one clock kind are comparable between the processes of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Ticks from `earlier` to `self`; zero where `earlier` is the later one.
    #[inline(always)]
    pub fn since(self, earlier: Ticks) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The point in time `ticks` later.
    #[inline(always)]
    #[must_use]
    pub fn plus(self, ticks: u64) -> Ticks {
        Ticks(self.0.saturating_add(ticks))
    }
}

/// A clock that a source stamps its events with. Reading it is thread-safe and signal-safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The invariant time stamp counter (x86-64), read without a fence: 5 to 10 ns.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC)` in nanoseconds: 20 to 30 ns.
    Monotonic,
}

impl Clock {
    /// The fastest clock of this machine that all cores share and that never stops.
    pub fn best() -> Clock {
        static BEST: OnceLock<Clock> = OnceLock::new();
        *BEST.get_or_init(|| if tsc_is_invariant() { Clock::Tsc } else { Clock::Monotonic })
    }

    /// The time now.
    #[inline(always)]
    pub fn now(self) -> Ticks {
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: RDTSC reads a register; every x86-64 processor has it in user mode, and
            // `Clock::best` has seen the operating system use it as its own clock.
            Clock::Tsc => Ticks(unsafe { core::arch::x86_64::_rdtsc() }),
            _ => Ticks(monotonic_nanos()),
        }
    }

    /// A function that reads this clock.
    pub fn reader(self) -> fn() -> u64 {
        match self {
            Clock::Tsc => || Clock::Tsc.now().0,
            Clock::Monotonic => monotonic_nanos,
        }
    }

    /// Ticks in a second. The time stamp counter's rate is measured once per process against
    /// `CLOCK_MONOTONIC` for 2 ms; the result is good to about 50 parts in a million.
    pub fn ticks_per_second(self) -> u64 {
        match self {
            Clock::Monotonic => 1_000_000_000,
            Clock::Tsc => {
                static RATE: OnceLock<u64> = OnceLock::new();
                *RATE.get_or_init(|| {
                    let start = self.reading();
                    while monotonic_nanos() - start.nanos < 2_000_000 {
                        std::hint::spin_loop();
                    }
                    start.rate_until(self.reading())
                })
            }
        }
    }

    /// A microsecond in ticks, at least one.
    pub fn microsecond(self) -> u64 {
        (self.ticks_per_second() / 1_000_000).max(1)
    }

    /// Reads this clock and `CLOCK_MONOTONIC` at the same time, keeping of several attempts the one that
    /// took the least time: together under a microsecond. Thread-safe and signal-safe.
    pub fn reading(self) -> Reading {
        (0..8)
            .map(|_| {
                let before = self.now();
                let nanos = monotonic_nanos();
                let width = self.now().since(before);
                (width, Reading { ticks: before.plus(width / 2), nanos })
            })
            .min_by_key(|(width, _)| *width)
            .map_or(Reading { ticks: Ticks(0), nanos: 0 }, |(_, reading)| reading)
    }
}

/// One simultaneous reading of a [`Clock`] and of `CLOCK_MONOTONIC`, whose rate the system keeps right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What the clock says.
    pub ticks: Ticks,
    /// What `CLOCK_MONOTONIC` says, in nanoseconds.
    pub nanos: u64,
}

impl Reading {
    fn rate_until(self, later: Reading) -> u64 {
        let ticks = u128::from(later.ticks.since(self.ticks));
        let nanos = u128::from(later.nanos.saturating_sub(self.nanos).max(1));
        u64::try_from(ticks * 1_000_000_000 / nanos).unwrap_or(1_000_000_000).max(1)
    }
}

#[cold]
#[inline(never)]
fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether the kernel itself trusts the counter: it says so by using it as its clock source.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn tsc_is_invariant() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match std::fs::read_to_string(source) {
        Ok(name) => name.trim() == "tsc",
        // No /sys (a container): ask the processor, which promises only its own part.
        Err(_) => {
            core::arch::x86_64::__cpuid(0x8000_0000).eax >= 0x8000_0007
                && core::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn tsc_is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_agrees_with_the_monotonic_clock() {
        let clock = Clock::best();
        let rate = clock.ticks_per_second() as f64;
        let (start, wall) = (clock.now(), std::time::Instant::now());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let seconds = clock.now().since(start) as f64 / rate;
        let relative = seconds / wall.elapsed().as_secs_f64();
        assert!((0.98..1.02).contains(&relative), "rate off by a factor of {relative}");
    }

    #[test]
    fn time_differences_do_not_wrap() {
        assert_eq!(Ticks(3).since(Ticks(5)), 0);
        assert_eq!(Ticks(u64::MAX).plus(1), Ticks(u64::MAX));
    }
}
