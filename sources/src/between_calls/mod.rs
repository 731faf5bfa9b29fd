//! BetweenCalls while the application computes: envelopes are taken in between its MPI calls, by a thread of
//! our own or in a timer signal, and what happens in the queues is raised at once.
//!
//! Registrations hear of it here; bulk listeners, who want the order in which the queues changed, get the
//! same events in the next MPI call of the application. Nothing here calls MPI: envelopes that go in
//! messages are taken in by the application's calls only.

mod signal;
mod thread;

use std::str::FromStr;
use std::sync::atomic::Ordering;

use mel_settings::PROGRESS;
use mpi_abi::pmpi;
use mpit_events::{Record, Safety, Ticks};

use crate::calls::frame::{Buffer, EventSources, ROOM};
use crate::calls::state::State;
use crate::calls::tracker::Tracker;
use crate::matching::{Engine, MAX_EMITTED};

/// Who takes in envelopes between MPI calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BetweenCalls {
    /// Nobody: events are raised in MPI calls only, as `ob1` does it.
    #[default]
    None,
    /// A thread of our own, which polls some 5000 times in a second and raises events at
    /// [`Safety::ThreadSafe`].
    Thread,
    /// A timer signal, once in a millisecond, in the thread that calls MPI; it raises events at
    /// [`Safety::AsyncSignalSafe`]. Only where a single thread calls MPI.
    Signal,
}

impl BetweenCalls {
    /// What the environment asks for.
    ///
    /// # Errors
    /// A line for the user, where the value is not understood.
    pub fn from_environment() -> Result<BetweenCalls, String> {
        std::env::var_os(PROGRESS.name)
            .map_or(Ok(BetweenCalls::None), |value| value.to_string_lossy().parse())
    }
}

impl FromStr for BetweenCalls {
    type Err = String;

    fn from_str(value: &str) -> Result<Self, String> {
        match value {
            "" | "none" => Ok(BetweenCalls::None),
            "thread" => Ok(BetweenCalls::Thread),
            "signal" => Ok(BetweenCalls::Signal),
            other => Err(format!("{PROGRESS}={other}: {}", PROGRESS.kind.remedy())),
        }
    }
}

/// Begins, at the end of `MPI_Init*`.
///
/// # Errors
/// A line for the user, where it cannot be done; then nobody makes progress between calls.
pub(crate) fn start(tracker: &'static Tracker, progress: BetweenCalls) -> Result<(), String> {
    if progress == BetweenCalls::None {
        return Ok(());
    }
    if tracker.state.with(|state| state.routes.ring.is_none()) != Some(false) {
        return Err(format!("{PROGRESS} is ignored: it needs envelopes in shared memory"));
    }
    start_one(tracker, progress)?;
    // No call has been followed yet, so no poll has left anything.
    tracker.set_between_calls();
    Ok(())
}

fn start_one(tracker: &'static Tracker, progress: BetweenCalls) -> Result<(), String> {
    if progress == BetweenCalls::Thread {
        return thread::start(tracker);
    }
    let levels = &tracker.abi.constants.thread;
    if pmpi::query_thread().is_ok_and(|level| level == levels.single || level == levels.funneled) {
        signal::start(tracker)
    } else {
        let why = "several threads of this program may call MPI";
        Err(format!("{PROGRESS}=signal is ignored: {why}; {PROGRESS}=thread does it for them"))
    }
}

/// Ends: nothing is taken in between calls any more. Called on any thread, also while the process ends.
pub(crate) fn stop() {
    thread::stop();
    signal::stop();
}

/// Polls the ring, again and again.
struct Watch {
    tracker: &'static Tracker,
    sink: Buffer,
    sources: EventSources,
    level: Safety,
    /// When it last polled: what was sent before is seen only now.
    polled: Ticks,
}

/// Envelopes taken in before their events are raised.
const AT_ONCE: usize = 64;

impl Watch {
    fn new(tracker: &'static Tracker, level: Safety, name: &str, description: &str) -> Self {
        let sources = EventSources::new(tracker.core, name, description).between_calls();
        let sink = Buffer::new(mpit_events::Clock::best(), tracker.events);
        Watch { tracker, sink, sources, level, polled: tracker.now() }
    }

    /// Takes in some of what has come and raises its events; whether there may be more. Where the state is
    /// in use by the interrupted thread, nothing is done. Signal-safe at [`Safety::AsyncSignalSafe`]: only
    /// what needs no memory is taken in, the rest is left to the next MPI call.
    fn poll(&mut self) -> bool {
        let Watch { tracker, sink, sources, level, polled } = self;
        let in_signal = *level == Safety::AsyncSignalSafe;
        let for_bulk = tracker.core.has_bulk_listeners();
        sink.update(tracker.core, tracker.part(), tracker.for_bytes());
        let now = tracker.now();
        let taken = tracker.state.with(|state| {
            let State { engine, routes, between_calls, .. } = state;
            let ring = routes.ring.as_mut()?;
            let mut taken = 0;
            while taken < AT_ONCE
                && let Some(envelope) = ring.peek()
                && (!in_signal || engine.has_room_for(&envelope) && has_space(sink, between_calls))
            {
                ring.pop();
                engine.arrive(sink, &envelope, envelope.sent.max(*polled));
                taken += 1;
            }
            if for_bulk && !sink.records.is_empty() {
                between_calls.extend(sink.records.iter().map(|record| record.bulk_only()));
                tracker.unseen.store(true, Ordering::Relaxed);
            }
            // In a signal handler this is never the last reference to go: the state has one.
            (taken != 0).then(|| (taken, state.objects.snapshot()))
        });
        *polled = now;
        let Some(Some((taken, objects))) = taken else { return false };
        sources.raise(sink, &objects, tracker.core, *level);
        taken == AT_ONCE
    }
}

/// Whether the events of one more envelope can be kept without asking for memory.
fn has_space(sink: &Buffer, waiting: &Vec<Record>) -> bool {
    let emitted = sink.records.len() + MAX_EMITTED;
    emitted <= sink.records.capacity() && waiting.len() + emitted <= waiting.capacity()
}

/// Makes room for what a signal handler takes in.
fn reserve(engine: &mut Engine, waiting: &mut Vec<Record>) {
    engine.reserve(ROOM);
    waiting.reserve(ROOM);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_has_three_values() {
        assert_eq!("".parse(), Ok(BetweenCalls::None));
        assert_eq!("none".parse(), Ok(BetweenCalls::None));
        assert_eq!("thread".parse(), Ok(BetweenCalls::Thread));
        assert_eq!("signal".parse(), Ok(BetweenCalls::Signal));
        let refused = "threads".parse::<BetweenCalls>();
        assert_eq!(refused, Err("MPIT_PROGRESS=threads: give none, thread or signal".into()));
    }
}
