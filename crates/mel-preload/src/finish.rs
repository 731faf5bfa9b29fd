//! The end: numbers are collected and reported, logs closed, traces written.
//!
//! In `MPI_Finalize` all processes take part and rank 0 writes and prints. A process that ends
//! otherwise (`MPI_Abort`, `exit`) leaves what it has, by itself, without calling MPI.

mod files;
mod report;

use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use mpi_abi::pmpi;
use mpi_intercept::standard_error;
use mpit_events::{Clock, Ticks, core};
use mpit_sources::matching::Truth;
use mpit_sources::netops::NetOps;

use super::state::{Run, Session};
use super::warn;
use crate::trace::Recorder;
use crate::{collect, processors, truth};
use files::{write_files, write_text};
use mel_log::profile::{self, Ended};
use mel_log::settings::{EVENTS, MARK};
use mel_log::table;
use report::{convert_truth, not_followed, report_profile};

pub(super) use report::program;

/// All processes together, at the entry of `MPI_Finalize`.
pub(super) fn at_finalize(session: &'static Session) {
    let Some(run) = session.run.get() else {
        return session.consumers.iter().for_each(|consumer| consumer.finish(Ended::Finalised));
    };
    if session.over.swap(true, Ordering::AcqRel) {
        return;
    }
    let entered = Clock::best().now();
    // Others may never come: whoever looks meanwhile sees that this rank is here.
    run.table.iter().for_each(|table| table.header().runs_until.set(entered.0));
    // Before anything waits for the other ranks.
    processors::scheduled().iter().for_each(|reading| session.registry.define(reading));
    session.registry.define(&processors::resources());
    session.consumers.iter().for_each(|consumer| consumer.finish(Ended::Finalised));
    session.netops.into_iter().for_each(NetOps::finish);
    if let Some(native) = session.native() {
        native.finish();
        // What is raised later is not in a trace, which is written before.
        if let Some(recorder) = run.recorder.filter(|_| native.stays() && !session.config.trace) {
            recorder.stay_open(&native.staying_sources());
        }
    }
    let truth = session.queue_events.finish();
    session.consumers.iter().for_each(|consumer| consumer.settle(run, Ended::Finalised, entered));
    end_table(session, run, truth, Ended::Finalised, entered.0);
    let apart = some_memory_is_closed(session, run);
    let leaves_table =
        (session.config.leaves_tables || apart) && run.table.is_some() && run.directory.is_some();
    if session.config.profiles() && leaves_table {
        if let (0, Some(directory)) = (run.rank, &run.directory) {
            warn(&format!("each rank has left its numbers in {0}: mel report {0}", directory.display()));
        }
    } else if session.config.profiles() {
        let world = session.abi.world();
        let mut written = [0i32];
        match collect::profile(session, run) {
            // The others wait for what comes of it, so that a fault of ours must not end it.
            Ok(Some(profile)) => {
                let report = || report_profile(session, run, &profile);
                let reported = std::panic::catch_unwind(std::panic::AssertUnwindSafe(report));
                written = [i32::from(reported.unwrap_or(false))];
            }
            Ok(None) => {}
            Err(error) => {
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                complain_of_working_alone(session, &why);
            }
        }
        // Of very many ranks the profile has sums, and the rows of traffic stay where they are.
        let keeps_rows =
            (session.config.matrix || session.config.carried) && collect::is_of_many(session, run);
        if pmpi::bcast(&mut written, 0, world).is_ok() && written == [1] && !keeps_rows {
            remove_table(run);
        }
    } else if run.rank == 0 {
        let counts = not_followed(session);
        let lines = [
            profile::findings::truth(convert_truth(truth)),
            profile::findings::not_followed(counts),
            profile::findings::sampled(counts),
        ];
        lines.iter().flatten().for_each(|line| warn(line));
    }
    if !apart {
        write_files(session, run);
    }
    mpi_intercept::stop();
}

/// Whether other ranks may not read the memory of some rank any more, by which MPIs move long messages on a node (UCX ends the process
/// where it cannot, and MPICH waits for ever): its main thread has ended before the process, or its user has changed. Then ranks exchange
/// no long messages. Collective, by a short one.
fn some_memory_is_closed(session: &Session, run: &Run) -> bool {
    let stat = format!("/proc/self/task/{}/stat", std::process::id());
    let state = std::fs::read_to_string(stat).unwrap_or_default();
    let has_ended = state.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
    let is_closed = has_ended || run.user != mel_log::access::user();
    let constants = &session.abi.constants;
    let mut any = [0];
    let why = match pmpi::allreduce(&[i32::from(is_closed)], &mut any, constants.max, session.abi.world()) {
        Ok(()) if any == [0] => return false,
        Ok(()) => "the user of a rank has changed, or its main thread has ended".to_owned(),
        Err(error) => error.to_string(),
    };
    complain_of_working_alone(session, &why);
    true
}

/// At rank 0 a line says that nothing was collected, and how to do that.
fn complain_of_working_alone(session: &Session, why: &str) {
    let Some(run) = session.run.get().filter(|run| run.rank == 0) else { return };
    let place = run.directory.as_ref().map(|directory| directory.display().to_string());
    let place = place.unwrap_or_else(|| "no directory".into());
    warn(&format!(
        "cannot collect results across ranks: {why}; mel report {place} reads what each rank has left"
    ));
}

/// The profile table gets no more.
fn end_table(session: &Session, run: &Run, known: Truth, ended: Ended, at: u64) {
    let Some(table) = &run.table else { return };
    let header = table.header();
    truth::store(header, &known, &session.queue_events.model().not_followed());
    let clocks = session.queue_events.model().clocks();
    if let Some(clock) = clocks.first() {
        header.clock_ticks.set(clock.compared.ticks.0);
        header.clock_nanos.set(clock.compared.nanos.wrapping_add_signed(clock.offset.nanos));
        let errors = clocks.iter().map(|clock| clock.offset.error.unsigned_abs());
        header.clock_error_nanos.set(errors.max().unwrap_or(0));
        header.clock_offset_nanos.set(clock.offset.nanos as u64);
        header.clock_compared.set(1);
    }
    table.finish(ended, at);
}

/// All of the profile table is in `profile.json`.
fn remove_table(run: &Run) {
    if let Some(directory) = &run.directory {
        let _ = std::fs::remove_file(directory.join(table::file_name(run.rank as u32)));
    }
}

/// The program aborts: this process leaves what it has.
pub(super) fn at_abort(session: &'static Session, code: i32) {
    if leave_alone(session, Ended::Aborted) {
        warn(&format!(
            "rank {} called MPI_Abort({code}); what was measured until then is kept",
            rank_of(session)
        ));
    }
}

fn rank_of(session: &Session) -> i32 {
    session.run.get().map_or(0, |run| run.rank)
}

/// What a process does that ends by itself, without calling MPI; whether there was anything to do.
fn leave_alone(session: &'static Session, ended: Ended) -> bool {
    let Some(run) = session.run.get() else { return false };
    if run.pid != std::process::id() || session.over.swap(true, Ordering::AcqRel) {
        return false;
    }
    mpi_intercept::stop();
    // No MPI any more, however it has ended.
    let unasked = if ended == Ended::Finalised { Ended::Exited } else { ended };
    session.consumers.iter().for_each(|consumer| consumer.finish(unasked));
    session.netops.into_iter().for_each(NetOps::finish);
    let truth = session.queue_events.finish_alone();
    let now = match ended {
        Ended::Finalised => Ticks(session.closed_at.load(Ordering::Acquire)),
        _ => Clock::best().now(),
    };
    session.consumers.iter().for_each(|consumer| consumer.settle(run, ended, now));
    end_table(session, run, truth, ended, now.0);
    if let (true, Some(directory), Some(table)) = (session.config.profiles(), &run.directory, &run.table)
        && !table.is_in_file()
    {
        // There was no space when it began.
        let path = directory.join(table::file_name(run.rank as u32));
        if let Err(error) = table.save(&path) {
            warn(&format!("cannot write {}: {error}", path.display()));
        }
    }
    true
}

/// The process ends by `exit`: functions that the program gave to `atexit` and its destructors have run, and may have called
/// `MPI_Finalize`.
pub(super) extern "C" fn at_exit() {
    let leave = || {
        let Some(session) = Session::get() else { return };
        if let Some(run) = session.run.get().filter(|run| run.pid == std::process::id())
            && run.recorder.is_some_and(Recorder::end_late)
        {
            write_text(session, run);
        }
        if session.abi.has_adopted_a_world() && session.closed_at.load(Ordering::Acquire) != 0 {
            return leave_sessions(session);
        }
        // Ranks whose launcher ends them run this too: one line, from the first rank.
        if leave_alone(session, Ended::Exited) && rank_of(session) == 0 {
            warn("the program ended without MPI_Finalize; what was measured until then is kept");
        }
    };
    let _ = std::panic::catch_unwind(|| mpi_intercept::without_traps(leave));
}

/// A program without a world has closed its sessions, and ends. Ranks do so one by one: nobody knows who of the others calls MPI again.
fn leave_sessions(session: &'static Session) {
    let Some(run) = session.run.get().filter(|_| leave_alone(session, Ended::Finalised)) else { return };
    write_text(session, run);
    if let (0, Some(directory)) = (run.rank, &run.directory) {
        warn(&format!(
            "a program of sessions: each rank leaves its numbers in {0} as it ends; then mel report {0}",
            directory.display()
        ));
    }
}

/// From now on forks are noticed.
pub(super) fn arm() {
    extern "C" fn in_child() {
        let Some(session) = Session::get() else { return };
        session.consumers.iter().for_each(|consumer| consumer.forked());
    }
    // SAFETY: the function matches its type, does not unwind, and stays loaded: this library is preloaded and never closed.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// A program that has only sessions gets a line at its end.
pub(super) fn expect_no_world() {
    extern "C" fn at_exit() {
        let _ = std::panic::catch_unwind(|| {
            if Session::get().is_some_and(|session| session.run.get().is_none())
                && mel_log::launcher::is_first_rank()
            {
                warn(
                    "the program used MPI sessions, never called MPI_Init, and made no communicator of all processes \
                     that the launcher says it has started, so nothing was measured; what is followed begins with either",
                );
            }
        });
    }
    // SAFETY: the function does not unwind, and stays loaded: this library is never closed.
    unsafe { libc::atexit(at_exit) };
}

/// What MEL does when it was asked nothing: at the end, all event types (the paper's default).
pub(super) fn print_types_at_exit() {
    extern "C" fn print() {
        let _ = std::panic::catch_unwind(|| {
            let mut text = format!("{MARK}Event types (set {EVENTS} to log some of them):\n");
            for (_, event_type) in core().event_types() {
                let elements: Vec<&str> =
                    event_type.elements.iter().map(|element| element.name.as_ref()).collect();
                let _ = writeln!(
                    text,
                    "{MARK}  {}({}): {}",
                    event_type.name,
                    elements.join(", "),
                    event_type.description
                );
            }
            standard_error::write(&text);
        });
    }
    // SAFETY: the function does not unwind, and stays loaded: this library is never closed.
    unsafe { libc::atexit(print) };
}
