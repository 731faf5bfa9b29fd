//! The callbacks that the MPI calls when one of its events happens.
//!
//! They run inside the MPI, on any thread, at any safety level up to that of a signal handler. They copy the event to
//! the stack and raise it in the core at the level that the MPI gives. No lock, no allocation.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use mpit_events::{Clock, Safety, SourceIndex, Ticks};

use super::held::Held;
use super::{FOUND, FoundSource, Heard, LARGEST_EVENT, NativeEvents};

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a callback of the MPI's. There its registrations must not be changed: MPICH
/// would go on with what was freed.
pub(super) fn is_running() -> bool {
    RUNNING.get()
}

/// Runs `body` as a callback; contains a panic, which would be a fault of ours.
fn running(body: impl FnOnce()) {
    let outer = RUNNING.replace(true);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    RUNNING.set(outer);
}

/// An event has happened.
pub(super) unsafe extern "C" fn on_event(event: usize, _: usize, level: c_int, data: *mut c_void) {
    // SAFETY: the data is what was registered with this function: `NativeEvents::register` promises that it is there.
    let heard: &Heard = unsafe { &*data.cast::<Heard>() };
    let Some(found) = FOUND.get() else { return };
    // Registered for, but not wanted any more.
    if found.holds() || found.core.is_active(heard.native.event) {
        running(|| found.happened(heard, event, level));
    }
}

/// Events of a type were lost in the MPI. What MPIs give as user data here differs; the registration is
/// the same in all.
pub(super) unsafe extern "C" fn on_dropped(
    count: i64,
    registration: usize,
    source: c_int,
    level: c_int,
    _: *mut c_void,
) {
    let Some(found) = FOUND.get() else { return };
    running(|| found.lost(registration, source, level, u64::try_from(count).unwrap_or(0)));
}

impl NativeEvents {
    fn holds(&self) -> bool {
        self.holds.load(Ordering::Acquire)
    }

    fn happened(&self, heard: &Heard, event: usize, level: c_int) {
        // Without data the payload has all bits set: −1, for integers of any size.
        let mut payload = [0xff; LARGEST_EVENT];
        // SAFETY: an instance of the MPI's, whose callback this is.
        if unsafe { self.mpi.has_data(event) } {
            // SAFETY: an instance of the MPI's, whose callback this is; the MPI writes as many bytes as the type has,
            // which are at most `LARGEST_EVENT`.
            unsafe { (self.mpi.event_copy)(event, payload.as_mut_ptr().cast()) };
        }
        let mut source = 0;
        // SAFETY: an instance of the MPI's, whose callback this is, and a valid output.
        unsafe { (self.mpi.event_get_source)(event, &raw mut source) };
        let observed = self.observed(event, source);
        // While events are held there are none on objects.
        let is_it = |unbound: &&'static Heard| std::ptr::eq(*unbound, heard);
        let held = if self.holds() { self.unbound().find(is_it) } else { None };
        let Some(heard) = held else {
            return self.raise(heard, source, level, observed, &payload);
        };
        if !self.waiting.put(Held { heard, source, level, observed, payload }) {
            let section = self.core.raise_section(self.source(source), self.safety(level));
            section.lost(heard.native.event, &heard.object, 1);
        }
    }

    fn raise(
        &self,
        heard: &Heard,
        source: c_int,
        level: c_int,
        observed: Ticks,
        payload: &[u8; LARGEST_EVENT],
    ) {
        let section = self.core.raise_section(self.source(source), self.safety(level));
        section.event_bytes(heard.native.event, &heard.object, observed, &payload[..heard.native.extent]);
    }

    /// Raises what was held, in order.
    pub(super) fn raise_held(&self) {
        while let Some(Held { heard, source, level, observed, payload }) = self.waiting.take() {
            self.raise(heard, source, level, observed, &payload);
        }
    }

    fn lost(&self, registration: usize, source: c_int, level: c_int, count: u64) {
        let section = self.core.raise_section(self.source(source), self.safety(level));
        if let Some(heard) = self.unbound().find(|heard| heard.is(registration)) {
            section.lost(heard.native.event, &heard.object, count);
        } else if let Some(heard) = self.on_object(registration) {
            section.lost(heard.native.event, &heard.object, count);
        }
    }

    /// When the event was observed, on our clock: now minus its age on the clock of its source. The two clocks are
    /// compared for that short age only, so their drift does not matter.
    fn observed(&self, event: usize, source: c_int) -> Ticks {
        let clock = Clock::best();
        let rate = self.found_source(source).map_or(0.0, |source| source.rate);
        let mut stamp = 0;
        // SAFETY: an instance of the MPI's, whose callback is running, and a valid output.
        let code = unsafe { (self.mpi.event_get_timestamp)(event, &raw mut stamp) };
        let then = (code == 0).then_some(stamp);
        let now = self.mpi.source_timestamp(source).ok();
        let age = then.zip(now).map_or(0, |(then, now)| age(then, now, rate));
        Ticks(clock.now().0.saturating_sub(age))
    }

    fn found_source(&self, index: c_int) -> Option<FoundSource> {
        usize::try_from(index).ok().and_then(|index| self.sources().nth(index))
    }

    fn source(&self, index: c_int) -> SourceIndex {
        self.found_source(index).map_or(self.any_source, |source| source.index)
    }

    fn safety(&self, level: c_int) -> Safety {
        let index = self.abi.constants.tool.cb_safety.iter().position(|&known| known == level);
        index.and_then(Safety::from_index).unwrap_or(Safety::AsyncSignalSafe)
    }
}

/// The time from `then` to `now` on the MPI's clock, in ticks of ours; `rate` is how many of those are in
/// one of the MPI's. No time where the MPI's clock went back.
fn age(then: i64, now: i64, rate: f64) -> u64 {
    (now.saturating_sub(then).max(0) as f64 * rate) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_in_our_ticks() {
        // Nanoseconds, and a counter of 2 GHz.
        assert_eq!(age(1_795_262_035_171_024_838, 1_795_262_035_171_025_838, 2.0), 2000);
        assert_eq!(age(5, 5, 2.0), 0);
    }

    #[test]
    fn a_clock_that_went_back_gives_no_time() {
        assert_eq!(age(7, 5, 2.0), 0);
        assert_eq!(age(i64::MIN, i64::MAX, 0.0), 0);
    }
}
