//! Whether the start of an operation is timed.
//!
//! The event of a start is raised when the call returns, with the time of its entry. Reading the clock at the entry takes
//! some ten nanoseconds, and an MPI may need only forty for a small put. So the entry is no longer timed where only
//! callbacks listen and none has asked for the time of the first thousand starts. A callback that asks later gets the time
//! of its own call; from the next synchronisation on entries are timed again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mpit_events::Core;

use super::events::{Event, RmaEvents};

/// Starts without a question for their time after which entries are no longer timed.
const ENOUGH: u64 = 1024;

pub(super) struct Times {
    wanted: AtomicBool,
    /// Starts that were raised and whose time nobody has asked for.
    unasked: AtomicU64,
}

impl Times {
    pub(super) fn new() -> Self {
        Times { wanted: AtomicBool::new(true), unasked: AtomicU64::new(0) }
    }

    /// Whether operations are timed at their entry.
    #[inline]
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The listeners have changed. True where the answer of [`are_wanted`](Times::are_wanted) has changed.
    pub(super) fn listeners_changed(&self) -> bool {
        self.unasked.store(0, Ordering::Relaxed);
        !self.wanted.swap(true, Ordering::Relaxed)
    }

    /// `operations` more were completed. True where the answer of [`are_wanted`](Times::are_wanted) has changed. `always`:
    /// not only callbacks listen.
    #[inline]
    pub(super) fn completed(&self, operations: usize, core: &Core, events: &RmaEvents, always: bool) -> bool {
        let asked = || {
            let starts = [Event::PutStarted, Event::GetStarted];
            starts.into_iter().any(|event| core.time_is_asked(events.index(event)))
        };
        if self.are_wanted() {
            if always || asked() {
                return false;
            }
            let unasked = self.unasked.fetch_add(operations as u64, Ordering::Relaxed) + operations as u64;
            unasked >= ENOUGH && self.wanted.swap(false, Ordering::Relaxed)
        } else {
            (always || asked()) && !self.wanted.swap(true, Ordering::Relaxed)
        }
    }
}

#[cfg(test)]
mod tests {
    use mpit_events::{BindKind, Clock, Ordering as Order, Safety, Source, Token};

    use super::super::events::Moved;
    use super::*;

    #[test]
    fn entries_are_timed_until_nobody_asks_and_when_somebody_does() {
        let core = Core::new();
        let events = RmaEvents::register(&core).unwrap();
        let times = Times::new();
        let completed = |operations, always| times.completed(operations, &core, &events, always);
        assert!(times.are_wanted());
        assert!(!completed(5000, true) && times.are_wanted());
        assert!(!completed(1000, false) && times.are_wanted());
        assert!(completed(1000, false) && !times.are_wanted());
        assert!(!completed(1000, false) && !times.are_wanted());
        assert!(times.listeners_changed() && times.are_wanted());
        assert!(completed(1024, false) && !times.are_wanted());

        let event = events.index(Event::GetStarted);
        let handle = core.alloc(event, Some(Token(7))).unwrap();
        core.set_callback(handle, Safety::ThreadSafe, |instance| assert_ne!(instance.ticks().0, 0)).unwrap();
        let source = core.add_source(Source::new("s", "", Order::Ordered, Clock::best()));
        let window = core.bind(BindKind::Win, Token(7));
        let payload = Moved::default();
        let raiser = core.raiser(source);
        let mut prepared = raiser.prepare(Safety::ThreadSafe, event, &window).unwrap();
        raiser.event(&mut prepared, &window, None, &payload);
        assert!(completed(1, false) && times.are_wanted());
        assert!(!completed(5000, false) && times.are_wanted());
    }
}
