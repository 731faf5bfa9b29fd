//! What the processor counts while the thread that called `MPI_Init*` computes: instructions, cycles, cache misses, for the profile table, by
//! phase and by region of the program.
//!
//! Times outside of MPI count, and those in it do not: what a rank does while it waits is in no number. Counters are read where such a time begins
//! and where it ends, as often as [`spans`] allows: of coarse programs at all calls, of others at some.
//!
//! Where the processor has no counters, or nobody may read them, there is no hook and nothing is said.

mod spans;

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::sync::OnceLock;

use code_samples::counters::{Counters, KINDS, KernelCounters, MadeUp};
use mel_log::profile::Ended;
use mel_log::setting::Setting;
use mel_log::table::layout::MAX_COUNTED_IN_REGIONS;
use mel_log::table::{NO_SPACE, PhaseAndRegion, ProfileTable};
use mpi_functions::Step;
use mpi_intercept::{Call, FunctionId, Hook, InThread, Wants};
use mpit_events::Clock;
use rustc_hash::FxHashMap;

use crate::consumer::{Consumer, Parts};
use crate::state::Run;
use crate::{phases, regions};
use spans::{Observed, Spans};

/// What the rates in [`MEL_FAKE_COUNTERS`](mel_log::settings::FAKE_COUNTERS) are called, in the order of all readings.
const NAMES: [&str; KINDS] = ["instructions", "cycles", "misses"];

thread_local! {
    /// What this thread counts; null in all threads but the one that is counted.
    static COUNTING: Cell<*mut Counting> = const { Cell::new(ptr::null_mut()) };
}

/// Counts in this process. Lives as long as the process.
struct OfProcessor {
    clock: Clock,
    /// Rates of counters that are made up, in place of the processor's.
    made_up: Option<&'static str>,
    table: OnceLock<ProfileTable>,
}

static COUNTS: OnceLock<OfProcessor> = OnceLock::new();

/// The counters, and where the thread is.
struct Counting {
    counters: Box<dyn Counters>,
    spans: Spans,
    /// Rows of the table.
    rows: FxHashMap<PhaseAndRegion, Option<u32>>,
    /// How many of them are of a region.
    in_regions: usize,
}

/// The consumer, where calls are counted and there are counters.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let made_up = parts.config.fake_counters.as_deref();
    if !parts.config.counters || (made_up.is_none() && KernelCounters::of_this_thread().is_err()) {
        return None;
    }
    let make = || OfProcessor { clock: Clock::best(), made_up, table: OnceLock::new() };
    Some(COUNTS.get_or_init(make))
}

/// The calling thread is about to leave the region that it is in, at `now`: what it has computed counts there.
#[inline]
pub(crate) fn leave_region(now: u64) {
    let (Some(counting), Some(counts)) = (here(), COUNTS.get()) else { return };
    let outside = counting.spans.is_outside();
    let left = counts.enters(counting, now);
    if left.is_err() || (outside && counting.spans.leave(now, &mut *counting.counters).is_err()) {
        end();
    }
}

/// Rates for a rank, of which the later one holds.
fn rates(list: &str, rank: u64) -> MadeUp {
    let mut made_up = MadeUp::default();
    for setting in Setting::split(list).filter(|setting| setting.is_for(rank)) {
        let place = NAMES.iter().position(|name| *name == setting.name);
        if let (Some(place), Ok(rate)) = (place, setting.value.parse::<f64>()) {
            made_up.rates[place] = rate.max(0.0);
        }
    }
    made_up
}

impl Counting {
    /// Adds what was observed to the row of where the thread is.
    fn add(&mut self, table: &ProfileTable, observed: Observed) {
        let key = PhaseAndRegion { phase: phases::current(), region: regions::current() };
        self.add_at(table, key, observed);
    }

    /// Adds what was observed to the row of a phase and region, or of what finds no space in the phase.
    fn add_at(&mut self, table: &ProfileTable, mut key: PhaseAndRegion, observed: Observed) {
        if key.region != 0 && !self.rows.contains_key(&key) {
            // Each phase has two rows beside those of regions.
            let has_space = self.in_regions < MAX_COUNTED_IN_REGIONS;
            self.in_regions += usize::from(has_space);
            key.region = if has_space { key.region } else { NO_SPACE };
        }
        if let Some(row) = *self.rows.entry(key).or_insert_with(|| table.add_counted(key)) {
            table.counted(row).count(observed.ticks, observed.on_processor, observed.counts);
        }
    }
}

/// What the calling thread counts, if it is the one that is counted.
#[inline(always)]
fn here<'a>() -> Option<&'a mut Counting> {
    // SAFETY: null, or what `start` has made in this thread and `end` has not taken yet. No other thread has the address, and each function of
    // this file uses it once at a time: hooks never run inside each other, nor inside what asks for phases or ends the run.
    unsafe { COUNTING.get().as_mut() }
}

/// What the calling thread counts, which it counts no more.
fn end() -> Option<Box<Counting>> {
    let counting = COUNTING.replace(ptr::null_mut());
    // SAFETY: it was made of a box, in this thread, and nobody has the address any more.
    (!counting.is_null()).then(|| unsafe { Box::from_raw(counting) })
}

impl OfProcessor {
    /// The thread enters MPI, or the phase that it is in ends.
    #[inline]
    fn enters(&self, counting: &mut Counting, now: u64) -> Result<(), spans::Gone> {
        let observed = counting.spans.enter(now, &mut *counting.counters)?;
        if let (Some(observed), Some(table)) = (observed, self.table.get()) {
            counting.add(table, observed);
        }
        Ok(())
    }
}

impl Consumer for OfProcessor {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn start(&'static self, run: Option<&'static Run>) {
        let (Some(run), Some(_)) = (run, self.table.get()) else { return };
        let counters: Option<Box<dyn Counters>> = match self.made_up {
            Some(list) => Some(Box::new(rates(list, run.rank as u64))),
            None => {
                KernelCounters::of_this_thread().ok().map(|counters| Box::new(counters) as Box<dyn Counters>)
            }
        };
        let Some(mut counters) = counters else { return };
        let clock = self.clock;
        if let Some(spans) = Spans::begin(&mut *counters, clock.microsecond(), || clock.now().0) {
            COUNTING.set(Box::into_raw(Box::new(Counting {
                counters,
                spans,
                rows: FxHashMap::default(),
                in_regions: 0,
            })));
        }
    }

    fn phase_ends(&self) {
        if let Some(counting) = here()
            && self.enters(counting, self.clock.now().0).is_err()
        {
            end();
        }
    }

    fn enter_phase(&self, _: u16, now: u64) {
        if let Some(counting) = here()
            && counting.spans.go_on(now, &mut *counting.counters).is_err()
        {
            end();
        }
    }

    // Where another thread ends the process, the last time outside of MPI is lost.
    fn finish(&self, _: Ended) {
        if let Some(counting) = here() {
            let _ = self.enters(counting, self.clock.now().0);
        }
        end();
    }

    fn forked(&self) {
        if let Some(counting) = end() {
            counting.counters.forget();
        }
    }
}

impl Hook for OfProcessor {
    fn wants(&self, function: FunctionId) -> Wants {
        match function {
            // Phases begin in it, and it does nothing else.
            FunctionId::Pcontrol => Wants::Nothing,
            FunctionId::Init | FunctionId::Init_thread | FunctionId::Session_init => Wants::Nothing,
            // What waits for nothing is short, and is in the numbers.
            FunctionId::Comm_rank | FunctionId::Comm_size | FunctionId::Get_count => Wants::Nothing,
            _ if function.about().step == Step::Starts => Wants::Nothing,
            _ => Wants::Both,
        }
    }

    #[inline]
    fn enter_in_thread(&self, _: InThread<'_>, _: FunctionId, _: &mut Call<'_>) {
        if let Some(counting) = here()
            && self.enters(counting, self.clock.now().0).is_err()
        {
            end();
        }
    }

    #[inline]
    fn leave_in_thread(&self, thread: InThread<'_>, _: FunctionId, _: &mut Call<'_>, _: c_int) {
        if let Some(counting) = here() {
            let left = thread.left(|| self.clock.now().0);
            if counting.spans.leave(left, &mut *counting.counters).is_err() {
                end();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mel_log::table::Identity;

    use super::*;

    #[test]
    fn many_regions_take_no_phase_its_row() {
        let table =
            ProfileTable::in_memory(&Identity { ticks_per_second: 1000, ..Identity::default() }).unwrap();
        let mut counters = MadeUp { rates: [1e9, 0.0, 0.0] };
        let spans = Spans::begin(&mut counters, 1, || 0).unwrap();
        let (counters, rows) = (Box::new(counters), FxHashMap::default());
        let mut counting = Counting { counters, spans, rows, in_regions: 0 };
        let observed = Observed { ticks: 10, on_processor: 10, counts: [7, 0, 0] };
        for phase in 0..100 {
            (0..60).for_each(|region| counting.add_at(&table, PhaseAndRegion { phase, region }, observed));
        }
        let rows = table.rows();
        let of = |region: u16| rows.counted.iter().filter(|row| row.key.region == region).count();
        assert_eq!((of(0), of(1), of(59)), (100, 9, 8), "each phase has its own");
        assert!(of(NO_SPACE) > 90);
        let all: u64 = rows.counted.iter().map(|row| row.instructions).sum();
        assert_eq!(all, 100 * 60 * 7, "nothing is lost");
    }

    #[test]
    fn rates_are_for_all_ranks_or_for_some() {
        let list = "instructions=2e9;cycles=3e9;instructions=1e9@1-2;misses=5;nonsense=1;cycles=many@0";
        assert_eq!(rates(list, 0).rates, [2e9, 3e9, 5.0]);
        assert_eq!(rates(list, 1).rates, [1e9, 3e9, 5.0]);
    }
}
