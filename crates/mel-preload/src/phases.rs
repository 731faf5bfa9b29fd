//! Phases of the program: what is counted is counted by phase, which the program names (`mel_phase`, `MPI_Pcontrol`).
//!
//! A phase is a number, which is part of the key of what is counted. While counting is stopped the number is [`STOPPED`]: what
//! is counted under that is left out by all readers, so that nothing asks on the hot path whether to count. A phase holds for the
//! process, whichever thread has set it.
//!
//! - [`c`]: the C functions that programs call.

pub mod c;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;

use mel_log::Definition;
pub use mel_log::table::layout::{MAX_PHASES, STOPPED};
use mpit_events::Clock;

use crate::state::{Run, Session};
use crate::warn::warn;

/// The levels of `MPI_Pcontrol` from here on name phases: `3`, `4`, ... Those below have a meaning in MPI-5.0, section 15.2.4.
pub const FIRST_LEVEL: i32 = 3;

static CURRENT: AtomicU32 = AtomicU32::new(0);

/// The phase of the process: 0 where none was named, [`STOPPED`] while counting is stopped. For any thread.
#[inline(always)]
pub fn current() -> u16 {
    CURRENT.load(Ordering::Relaxed) as u16
}

/// What the program has named, and where it is.
#[derive(Debug)]
pub(crate) struct Phases {
    names: Vec<String>,
    /// Their numbers.
    numbers: BTreeMap<String, u16>,
    /// The phase that was named last.
    named: u16,
    stopped: bool,
    /// Whether it was said that there are too many.
    warned: bool,
}

/// What a change of the phase has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// A phase that was not there before.
    pub(crate) made: Option<u16>,
    /// Whether there are too many: the first time.
    pub(crate) full: bool,
    /// Whether there are too many.
    pub(crate) lost: bool,
}

impl Phases {
    /// Nothing was named.
    pub(crate) const fn new() -> Phases {
        Phases { names: Vec::new(), numbers: BTreeMap::new(), named: 0, stopped: false, warned: false }
    }

    /// What is counted now belongs to this number.
    pub(crate) fn current(&self) -> u16 {
        if self.stopped { STOPPED } else { self.named }
    }

    /// The program is in the phase of this name now; an empty name is that of no phase.
    pub(crate) fn name(&mut self, name: &str) -> Changed {
        let mut changed = Changed::default();
        self.named = match self.numbers.get(name) {
            _ if name.is_empty() => 0,
            Some(&number) => number,
            None if self.names.len() + 1 < MAX_PHASES => {
                self.names.push(name.to_owned());
                let number = self.names.len() as u16;
                self.numbers.insert(name.to_owned(), number);
                changed.made = Some(number);
                number
            }
            None => {
                changed.lost = true;
                changed.full = !std::mem::replace(&mut self.warned, true);
                self.names.len() as u16
            }
        };
        changed
    }

    /// Counting stops, or goes on.
    pub(crate) fn stop(&mut self, stopped: bool) -> Changed {
        self.stopped = stopped;
        Changed::default()
    }

    /// The name of a phase; empty for none.
    pub(crate) fn name_of(&self, number: u16) -> &str {
        usize::from(number).checked_sub(1).and_then(|place| self.names.get(place)).map_or("", String::as_str)
    }

    /// Numbers and names of all phases.
    pub(crate) fn names(&self) -> impl Iterator<Item = (u16, &str)> {
        self.names.iter().enumerate().map(|(place, name)| (place as u16 + 1, name.as_str()))
    }
}

/// What a program may ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'a> {
    /// The phase of this name begins, or goes on.
    Phase(&'a str),
    /// Nothing is counted from now on.
    Stop,
    /// It is counted from now on.
    Start,
    /// What was counted is forgotten.
    Reset,
}

static PHASES: Mutex<Phases> = Mutex::new(Phases::new());
/// The thread that may call MPI, where that is one.
static ONLY_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Below `MPI_THREAD_SERIALIZED` only the calling thread may ask for something.
pub(crate) fn leave_to_this_thread() {
    let _ = ONLY_THREAD.set(std::thread::current().id());
}

/// The measurement and its table, while they last: not in a child that was forked.
pub(crate) fn measured() -> Option<(&'static Session, &'static Run)> {
    let session = Session::get()?;
    let run = session.run.get()?;
    (!session.over.load(Ordering::Acquire) && run.pid == std::process::id()).then_some((session, run))
}

/// Does what the program asks for. In a hook, or in [`asked`](mpi_intercept::asked): where the program may call MPI. Before `MPI_Init*`
/// it is noted.
pub(crate) fn ask(asked: Asked<'_>) {
    if ONLY_THREAD.get().is_some_and(|only| *only != std::thread::current().id()) {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| warn("a phase was set by a thread that may not call MPI; left as it was"));
        return;
    }
    let measured = measured();
    if let Some((session, _)) = measured {
        // What was before belongs to the phase before.
        session.queue_events.model().catch_up();
        if let Some(netops) = session.netops {
            netops.read_connections();
        }
        if let Some(attributor) = session.attributor {
            attributor.phase_ends();
        }
    }
    let mut phases = PHASES.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = match asked {
        Asked::Phase(name) => phases.name(name),
        Asked::Stop => phases.stop(true),
        Asked::Start => phases.stop(false),
        Asked::Reset => Changed::default(),
    };
    if changed.full {
        warn(&format!(
            "the program has named more than {} phases: those beyond are counted together with the last",
            MAX_PHASES - 1
        ));
    }
    CURRENT.store(phases.current().into(), Ordering::Relaxed);
    let Some((session, run)) = measured else { return };
    if let (true, Some(table)) = (changed.lost, &run.table) {
        table.header().lost_phases.add(1);
    }
    if let Some(number) = changed.made {
        define(session, run, number, phases.name_of(number));
    }
    let now = Clock::best().now().0;
    enter(session, run, now);
    if matches!(asked, Asked::Reset) {
        forget(session, run, now);
    }
}

/// The measurement begins at this time, in the table that there is now: in the phase that was named before.
pub(crate) fn begin(session: &Session, run: &Run, now: u64) {
    let phases = PHASES.lock().unwrap_or_else(PoisonError::into_inner);
    phases.names().for_each(|(number, name)| define(session, run, number, name));
    if let Some(table) = &run.table {
        table.header().phase_since.set(now);
    }
    enter(session, run, now);
}

/// The name of the phase that was named last, and whether counting goes on.
pub(crate) fn now() -> (String, bool) {
    let phases = PHASES.lock().unwrap_or_else(PoisonError::into_inner);
    (phases.name_of(phases.named).to_owned(), !phases.stopped)
}

fn define(session: &Session, run: &Run, number: u16, name: &str) {
    define_in_table(session, run, &Definition::Phase { number, name: name.to_owned() });
    if let Some(plugins) = crate::plugins::host() {
        plugins.phase(name);
    }
}

/// Writes a definition into the profile table, if there is one. Where the program may call MPI.
pub(crate) fn define_in_table(session: &Session, run: &Run, definition: &Definition) {
    match (session.calls, &run.table) {
        (Some(calls), _) => calls.define(definition),
        (None, Some(table)) => define_alone(table, definition),
        (None, None) => {}
    }
}

/// Writes a definition into the table where no profiler of calls does: one thread at a time.
pub(crate) fn define_alone(table: &mel_log::table::ProfileTable, definition: &Definition) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    table.define(definition);
}

/// All consumers count in the current phase from this time on.
fn enter(session: &Session, run: &Run, now: u64) {
    let phase = current();
    if let Some(table) = &run.table {
        table.enter_phase(phase, now);
    }
    if let Some(calls) = session.calls {
        calls.phase_changed();
    }
    let second = session.second.get().map(|(_, profiler)| profiler);
    for profiler in session.profiler.iter().chain(second) {
        profiler.enter_phase(phase, now);
    }
}

/// All consumers forget what they have counted.
fn forget(session: &Session, run: &Run, now: u64) {
    match (session.calls, &run.table) {
        (Some(calls), _) => calls.clear(now),
        (None, Some(table)) => table.clear(now),
        (None, None) => {}
    }
    if let Some(connections) = session.connections {
        connections.clear();
    }
    let second = session.second.get().map(|(_, profiler)| profiler);
    for profiler in session.profiler.iter().chain(second) {
        profiler.clear(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_is_the_same_phase() {
        let mut phases = Phases::new();
        assert_eq!(phases.current(), 0);
        assert_eq!(phases.name("solve").made, Some(1));
        assert_eq!(phases.name("write").made, Some(2));
        assert_eq!((phases.name("solve"), phases.current()), (Changed::default(), 1));
        assert_eq!((phases.name(""), phases.current()), (Changed::default(), 0));
        assert_eq!(phases.names().collect::<Vec<_>>(), [(1, "solve"), (2, "write")]);
    }

    #[test]
    fn a_phase_that_is_named_while_counting_is_stopped_begins_with_the_start() {
        let mut phases = Phases::new();
        phases.name("one");
        phases.stop(true);
        assert_eq!(phases.current(), STOPPED);
        phases.name("two");
        assert_eq!(phases.current(), STOPPED);
        phases.stop(false);
        assert_eq!(phases.current(), 2);
    }

    #[test]
    fn beyond_the_last_number_phases_share_it_and_that_is_said_once() {
        let mut phases = Phases::new();
        let full = (0..300).filter(|number| phases.name(&format!("phase {number}")).full).count();
        assert_eq!((full, phases.names().count()), (1, MAX_PHASES - 1));
        assert_eq!(usize::from(phases.current()), MAX_PHASES - 1);
        phases.name("phase 3");
        assert_eq!(phases.current(), 4);
    }
}
