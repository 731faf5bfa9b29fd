//! How calls are followed: that depends on who listens, and on how many threads call MPI. docs/modes.md shows it to users.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::progress_model::Progress;

/// How calls are followed.
///
/// | | calls are followed | the envelope goes | receives are posted | events are raised |
/// |---|---|---|---|---|
/// | [`Profile`](Mode::Profile) | later | after the message | later | many at a time |
/// | [`Trace`](Mode::Trace) | later | after the message | later | many at a time |
/// | [`Log`](Mode::Log) | later | before the message | at once | after each call that follows |
/// | [`Tool`](Mode::Tool) | at once | before the message | at once | in the call |
/// | [`Threads`](Mode::Threads) | at once | before the message | at once | in the call |
///
/// "Later" is when the thread next posts, probes or waits. Events keep the times that they would have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Only bulk listeners want events, and none of them those of sends.
    Profile,
    /// Only bulk listeners want events, and observers want messages.
    Trace,
    /// MEL's own callbacks log chosen events.
    Log,
    /// A tool has registered callbacks, and expects them in the call.
    Tool,
    /// Several threads use the state: those of the application, or one of our own.
    Threads,
}

impl Mode {
    /// Whether calls are followed later.
    #[inline(always)]
    pub(crate) fn defers(self) -> bool {
        self as u8 <= Mode::Log as u8
    }

    /// Whether the envelope of a message goes after it, and receives are posted later: nobody wants to hear in the call of it.
    #[inline(always)]
    pub(crate) fn is_in_bulk(self) -> bool {
        self as u8 <= Mode::Trace as u8
    }

    /// Whether the requests of sends are followed.
    #[inline(always)]
    pub(crate) fn follows_sends(self) -> bool {
        self != Mode::Profile
    }

    #[inline(always)]
    fn of(number: u8) -> Mode {
        match number {
            0 => Mode::Profile,
            1 => Mode::Trace,
            2 => Mode::Log,
            3 => Mode::Tool,
            _ => Mode::Threads,
        }
    }
}

/// The mode of this process, and what decides it.
#[derive(Debug)]
pub(crate) struct Modes {
    /// What was asked for: [`Mode::Profile`], [`Mode::Trace`] or [`Mode::Tool`].
    wanted: AtomicU8,
    /// What that has become with those who listen now, and with one thread.
    with_one_thread: AtomicU8,
    /// What it is: each call reads it.
    current: AtomicU8,
    threads: AtomicBool,
    /// Whether envelopes are taken in between calls, too.
    between_calls: AtomicBool,
}

impl Default for Modes {
    fn default() -> Self {
        let tool = Mode::Tool as u8;
        Modes {
            wanted: AtomicU8::new(tool),
            with_one_thread: AtomicU8::new(tool),
            current: AtomicU8::new(tool),
            threads: AtomicBool::new(false),
            between_calls: AtomicBool::new(false),
        }
    }
}

impl Modes {
    /// How calls are followed now.
    #[inline(always)]
    pub(crate) fn current(&self) -> Mode {
        Mode::of(self.current.load(Ordering::Relaxed))
    }

    /// Whether several threads use the state.
    #[inline(always)]
    pub(crate) fn has_threads(&self) -> bool {
        self.threads.load(Ordering::Relaxed)
    }

    /// From now on several threads use the state.
    pub(crate) fn set_threads(&self) {
        self.threads.store(true, Ordering::SeqCst);
        self.current.store(Mode::Threads as u8, Ordering::SeqCst);
    }

    /// From now on envelopes are taken in between calls, too.
    pub(crate) fn set_between_calls(&self) {
        self.between_calls.store(true, Ordering::Relaxed);
    }

    /// The model of progress: what a poll has left must be before all that somebody else takes in.
    #[inline(always)]
    pub(crate) fn progress(&self) -> Progress {
        if self.between_calls.load(Ordering::Relaxed) { Progress::AsItComes } else { Progress::Ob1 }
    }

    /// Sets what is asked for.
    pub(crate) fn want(&self, mode: Mode) {
        self.wanted.store(mode as u8, Ordering::Relaxed);
        self.set(mode);
    }

    /// Who listens has changed: whether there are `callbacks`. Gives whether the mode is another one now.
    pub(crate) fn listeners_changed(&self, callbacks: bool) -> bool {
        let wanted = Mode::of(self.wanted.load(Ordering::Relaxed));
        let mode = if callbacks && wanted.is_in_bulk() { Mode::Log } else { wanted };
        self.set(mode) != mode
    }

    /// The mode with one thread is this; what it was.
    fn set(&self, mode: Mode) -> Mode {
        let before = Mode::of(self.with_one_thread.swap(mode as u8, Ordering::Relaxed));
        self.current.store(mode as u8, Ordering::SeqCst);
        // Also where another thread says so just now.
        if self.threads.load(Ordering::SeqCst) {
            self.current.store(Mode::Threads as u8, Ordering::SeqCst);
        }
        before
    }
}

/// How much of the model is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// All: its events are raised.
    #[default]
    Events,
    /// What observers want to know of messages: others raise the events.
    Messages,
    /// What observers want to know of communicators. No message is followed, nothing is exchanged.
    Communicators,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_turn_a_profile_into_a_log_and_back() {
        let modes = Modes::default();
        assert_eq!(modes.current(), Mode::Tool);
        modes.want(Mode::Profile);
        assert_eq!(modes.current(), Mode::Profile);
        assert!(modes.listeners_changed(true));
        assert_eq!(modes.current(), Mode::Log);
        assert!(!modes.listeners_changed(true));
        assert!(modes.listeners_changed(false));
        assert_eq!(modes.current(), Mode::Profile);
    }

    #[test]
    fn a_tool_stays_a_tool_and_threads_go_before_all() {
        let modes = Modes::default();
        assert!(!modes.listeners_changed(true) && !modes.listeners_changed(false));
        assert_eq!(modes.current(), Mode::Tool);
        modes.want(Mode::Trace);
        modes.set_threads();
        assert_eq!(modes.current(), Mode::Threads);
        assert!(!modes.current().defers() && !modes.current().is_in_bulk());
    }

    #[test]
    fn what_is_taken_in_between_calls_comes_as_it_comes() {
        let modes = Modes::default();
        assert_eq!(modes.progress(), Progress::Ob1);
        modes.set_between_calls();
        assert_eq!(modes.progress(), Progress::AsItComes);
    }

    #[test]
    fn a_trace_is_followed_later_in_bulk_and_a_log_is_not() {
        let of = |mode: Mode| (mode.defers(), mode.is_in_bulk(), mode.follows_sends());
        assert_eq!(of(Mode::Profile), (true, true, false));
        assert_eq!(of(Mode::Trace), (true, true, true));
        assert_eq!(of(Mode::Log), (true, false, true));
        assert_eq!(of(Mode::Tool), (false, false, true));
    }
}
