//! What the program asks for while it runs, in C (`include/mel.h` and `include/mel.f90` find the functions at run time) and by `MPI_Pcontrol`:
//! a phase begins, counting stops, goes on, or begins anew.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread::ThreadId;

use mel_log::Definition;
use mpit_events::Clock;

use crate::consumer::while_still;
use crate::phases::{self, Changed, MAX_PHASES, kept_name};
use crate::state::{Run, Session};
use crate::warn;

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
        if !matches!(asked, Asked::Phase(_)) {
            session.queue_events.model().count_anew();
        }
        if let Some(netops) = session.netops {
            netops.read_connections();
        }
        session.consumers.iter().for_each(|consumer| consumer.phase_ends());
    }
    let mut phases = phases::all();
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
    phases.publish();
    let Some((session, run)) = measured else { return };
    if let (true, Some(table)) = (changed.lost, &run.table) {
        table.header().lost_phases.add(1);
    }
    if let Some(number) = changed.made {
        define(session, number, phases.name_of(number));
    }
    let now = Clock::best().now().0;
    enter(session, run, now);
    if matches!(asked, Asked::Reset) {
        forget(session, run, now);
    }
}

/// The measurement begins at this time, in the table that there is now: in the phase that was named before.
pub(crate) fn begin(session: &Session, run: &Run, now: u64) {
    let phases = phases::all();
    phases.names().for_each(|(number, name)| define(session, number, name));
    if let Some(table) = &run.table {
        table.header().phase_since.set(now);
    }
    enter(session, run, now);
}

fn define(session: &Session, number: u16, name: &str) {
    session.registry.define(&Definition::Phase { number, name: name.to_owned() });
    session.consumers.iter().for_each(|consumer| consumer.phase_named(number, name));
}

/// All consumers count in the current phase from this time on.
fn enter(session: &Session, run: &Run, now: u64) {
    let phase = phases::current();
    if let Some(table) = &run.table {
        table.enter_phase(phase, now);
    }
    session.consumers.iter().for_each(|consumer| consumer.enter_phase(phase, now));
}

/// All consumers forget what they have counted.
fn forget(session: &Session, run: &Run, now: u64) {
    if let Some(table) = &run.table {
        while_still(&session.consumers, &mut || table.clear(now));
    }
    session.consumers.iter().for_each(|consumer| consumer.clear(now));
}

/// The phase of this name begins, or goes on: what the program does from now on is counted in it. An empty name, or a null pointer, is that of
/// no phase. Where MPI may be called; before `MPI_Init*`, too.
///
/// # Safety
/// `name` is null, or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mel_phase(name: *const c_char) {
    let name = if name.is_null() {
        String::new()
    } else {
        // SAFETY: the caller promises a text that ends with a zero byte.
        kept_name(unsafe { CStr::from_ptr(name) }.to_bytes())
    };
    mpi_intercept::asked(|| ask(Asked::Phase(&name)));
}

/// Nothing is counted until [`mel_start`]. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_stop() {
    mpi_intercept::asked(|| ask(Asked::Stop));
}

/// What the program does is counted again after [`mel_stop`]. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_start() {
    mpi_intercept::asked(|| ask(Asked::Start));
}

/// What was counted until now is set to zero, in all phases. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_reset() {
    mpi_intercept::asked(|| ask(Asked::Reset));
}
