//! The end: numbers are collected and reported, logs closed, traces written.
//!
//! In `MPI_Finalize` all processes take part and rank 0 writes and prints. A process that ends
//! otherwise (`MPI_Abort`, `exit`) leaves what it has, by itself, without calling MPI.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use mpi_abi::pmpi;
use mpi_intercept::standard_error;
use mpit_events::{Clock, core};
use mpit_sources::calls::NotFollowed;
use mpit_sources::matching::Truth;
use mpit_sources::netops::{NetOps, Port};
use mpit_sources::transport::clocks::NodeClock;

use super::disks;
use super::mpi_ranks::MpiRanks;
use super::patience::Patience;
use super::state::{Run, Session};
use super::warn::warn;
use crate::collect;
use crate::plugins;
use crate::queues::QueueProfiler;
use crate::trace::Recorder;
use mel_convert as convert;
use mel_convert::otf2;
use mel_log::RankLog;
use mel_log::access::{self, Access};
use mel_log::printable::{self, Printable};
use mel_log::profile::{self, Ended, Profile, RankProfile};
use mel_log::settings::EVENTS;
use mel_log::table;
use mel_log::{Definition, State};
use ranks::{Processes, tree};

/// All processes together, at the entry of `MPI_Finalize`.
pub(super) fn at_finalize(session: &'static Session) {
    if let Some(policies) = session.policies {
        policies.finish();
    }
    let Some(run) = session.run.get() else { return };
    if session.over.swap(true, Ordering::AcqRel) {
        return;
    }
    let entered = Clock::best().now();
    if let Some(requests) = session.requests.get() {
        requests.finish();
    }
    // What they read belongs to the run, and the MPI's variables need an MPI.
    if let Some(attributor) = session.attributor {
        attributor.finish();
    }
    if let Some(sampler) = session.sampler.get() {
        sampler.finish();
    }
    if let Some(plugins) = plugins::host() {
        plugins.finish(plugins::FINALIZED);
    }
    crate::matrix::inside::finish();
    if let Some(netops) = session.netops {
        netops.finish();
        log_ports(session, run, netops);
    }
    if let Some(native) = session.native.get().copied().flatten() {
        native.finish();
    }
    let truth = session.queue_events.finish();
    session.profiler.iter().for_each(QueueProfiler::settle);
    end_table(session, run, truth, Ended::Finalised, entered.0);
    if let Some(recorder) = run.recorder {
        if session.config.trace {
            // What happens in it afterwards is MEL's own work and is not shown.
            recorder.whole_call(mpi_intercept::FunctionId::Finalize as u16, entered);
        }
        define_clock(recorder, session.queue_events.model().clocks().get(1));
        session.samples.get().iter().for_each(|samples| samples.finish());
        recorder.finish(State::Finalised);
    }
    let apart = some_memory_is_closed(session, run);
    let leaves_table =
        (session.config.leaves_tables || apart) && run.table.is_some() && run.directory.is_some();
    if session.config.profiles() && leaves_table {
        if let (0, Some(directory)) = (run.rank, &run.directory) {
            warn(&format!("each rank has left its numbers in {0}: mel report {0}", directory.display()));
        }
    } else if session.config.profiles() {
        let mine = rank_profile(session, run);
        let world = session.abi.constants.comm_world;
        let mut written = [0i32];
        match collect::profile(session, run, mine, whole_profile(session, run)) {
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
        let lines = [
            profile::findings::truth(convert_truth(truth)),
            profile::findings::not_followed(not_followed(session)),
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
    let why = match pmpi::allreduce(&[i32::from(is_closed)], &mut any, constants.max, constants.comm_world) {
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

/// What the interfaces of this host have counted themselves goes into the log, where there is one.
fn log_ports(session: &Session, run: &Run, netops: NetOps) {
    if let (Some(connections), Some(table), true) =
        (session.connections, &run.table, session.samples.get().is_some())
    {
        let since = table.header().runs_since.get();
        connections.log_ports(&netops.ports(), (since, Clock::best().now().0));
    }
}

/// The profile table gets no more.
fn end_table(session: &Session, run: &Run, truth: Truth, ended: Ended, at: u64) {
    let Some(table) = &run.table else { return };
    let header = table.header();
    let Truth { matched, rematched, envelopes_lost, never_received, dropped } = truth;
    let NotFollowed { communicators, calls, partitioned } = session.queue_events.model().not_followed();
    for (column, number) in [
        (&header.matched, matched),
        (&header.rematched, rematched),
        (&header.envelopes_lost, envelopes_lost),
        (&header.never_received, never_received),
        (&header.dropped, dropped),
        (&header.communicators_not_followed, communicators),
        (&header.calls_not_followed, calls),
        (&header.partitioned_not_followed, partitioned),
    ] {
        column.set(number);
    }
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

/// Writes into a log how this node's clock stands beside that of rank 0, where there are several nodes.
pub(super) fn define_clock(recorder: &Recorder, compared: Option<&NodeClock>) {
    if let Some(NodeClock { offset, compared, .. }) = compared {
        recorder.define(&Definition::ClockReading {
            local_ticks: compared.ticks.0,
            reference_nanos: (compared.nanos as i64).saturating_add(offset.nanos),
            error_nanos: offset.error.unsigned_abs(),
        });
    }
}

/// What is made of the event logs, once all are complete.
fn write_files(session: &Session, run: &Run) {
    let Some(directory) = run.directory.as_ref().filter(|_| session.config.logs()) else { return };
    // Without a log of its own this rank has said so at the start.
    if session.config.events.is_some() && run.recorder.is_some() {
        let path = directory.join(format!("events-{}.txt", run.rank));
        let log = RankLog::look(&directory.join(mel_log::file_name(run.rank as u32)));
        let written = log.map_err(std::io::Error::other).and_then(|log| {
            let mut out = BufWriter::new(Printable::new(access::replace(&path)?));
            convert::text::write_rank(&mut out, &log, convert::text::Options::default(), |_| ())?;
            out.flush()
        });
        if let Err(error) = written {
            warn(&format!(
                "cannot write {}: {error}; `mel convert --text` does it from the event log",
                path.display()
            ));
        }
    }
    let (is_traced, chosen) = (session.config.trace, !session.config.comms.is_all());
    if session.config.events.is_some() {
        // The files of all ranks are complete after this.
        let _ = pmpi::barrier(session.abi.constants.comm_world);
        if run.rank == 0 {
            warn(&format!("the events are in {}/events-RANK.txt", directory.display()));
        }
    }
    let ranks = match MpiRanks::new(session.abi.constants.comm_world, run.rank, run.size) {
        Ok(ranks) => Rc::new(ranks),
        Err(error) => {
            if run.rank == 0 {
                warn(&format!(
                    "the ranks cannot work together at the end: {error}{}",
                    tries_again(directory)
                ));
            }
            return;
        }
    };
    let path = directory.join(mel_log::file_name(run.rank as u32));
    // Without a log of its own this rank has said so at the start; the others go on.
    let log = run.recorder.and_then(|_| match RankLog::look(&path) {
        Ok(log) => Some(log),
        Err(error) => {
            warn(&format!("{error}; left out of the trace"));
            None
        }
    });
    if chosen {
        complain_of_communicators(session, &*ranks, log.as_ref());
    }
    let apart = disks::find(directory, &run.host, &*ranks).and_then(|apart| {
        if is_traced && !apart.is_empty() {
            disks::make_room(directory, &apart, &*ranks)?;
        }
        Ok(apart)
    });
    if is_traced {
        write_trace(directory, ranks, log, session.config.access != Access::Private);
    }
    if run.rank == 0 {
        apart.ok().and_then(|apart| disks::line(directory, &apart)).iter().for_each(|line| warn(line));
    }
}

/// Each rank writes its part of the trace, which others than the owner of the directory may read if it is shared.
fn write_trace(directory: &Path, ranks: Rc<MpiRanks>, log: Option<RankLog>, shared: bool) {
    let is_first = ranks.rank() == 0;
    let records = log.as_ref().map_or(0, RankLog::records_at_most);
    let share = otf2::Share { logs: log.as_slice(), world: ranks.size(), processes: ranks };
    let patience = is_first.then(|| Patience::new("writing the trace", records));
    let tick = |records| patience.iter().for_each(|patience| patience.advance(records));
    let written = otf2::write_share(&share, directory, &[], &tick);
    drop(patience);
    if is_first {
        // The library that writes traces knows the umask alone.
        let places = otf2::places(directory);
        places.iter().for_each(|path| access::share(path));
        if shared {
            let entries = std::fs::read_dir(&places[2]).into_iter().flatten().flatten();
            entries.for_each(|entry| access::share(&entry.path()));
        }
    }
    match written {
        _ if !is_first => {}
        Ok(_) => warn(&format!("the trace is {}", directory.join(otf2::FILE_NAME).display())),
        Err(error) => warn(&format!("{error}{}", tries_again(directory))),
    }
}

fn tries_again(directory: &Path) -> String {
    format!("; `mel convert --otf2 {}` tries again", directory.display())
}

/// A line for each choice of communicators that has fitted none of any rank. Known at the end: programs make them and name them
/// as they go.
fn complain_of_communicators(session: &Session, ranks: &dyn Processes, log: Option<&RankLog>) {
    let known = log.iter().flat_map(|log| &log.definitions.communicators);
    let names: BTreeSet<String> =
        known.flat_map(|(number, known)| [number.to_string(), known.name.clone()]).collect();
    let union = |all: &mut BTreeSet<String>, part: BTreeSet<String>| {
        if all.len() < MOST_NAMES {
            all.extend(part);
        }
    };
    let Ok(names) = tree::all_reduce(ranks, names, union) else { return };
    if ranks.rank() == 0 && names.len() < MOST_NAMES {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        session.config.comms.complaints("communicator", &names).iter().for_each(|line| warn(line));
    }
}

/// A program that names so many communicators, a name for each rank or the like, is spared the complaints.
const MOST_NAMES: usize = 4096;

/// Prints and writes the profile; whether it is in a file.
fn report_profile(session: &Session, run: &Run, whole: &Profile) -> bool {
    let options = profile::text::Options { directory: run.directory.as_deref(), lines: session.config.lines };
    standard_error::write(&printable::lines(&profile::report(whole, options)));
    let Some(directory) = &run.directory else { return false };
    let path = directory.join(profile::file::FILE_NAME);
    let written = profile::file::write(&path, whole);
    match &written {
        Ok(()) => warn(&format!("the profile is {}", path.display())),
        Err(error) => warn(&format!("cannot write {}: {error}; make room or use -o", path.display())),
    }
    written.is_ok()
}

fn whole_profile(session: &Session, run: &Run) -> Profile {
    let clock = Clock::best();
    Profile {
        started_unix_s: run.started_unix_s,
        duration_s: clock.now().since(run.started) as f64 / clock.ticks_per_second() as f64,
        world_size: run.size as u32,
        ..described(session)
    }
}

/// What is known of a run before it begins.
pub(super) fn described(session: &Session) -> Profile {
    Profile {
        mel_version: env!("CARGO_PKG_VERSION").into(),
        mpi: session.abi.library.clone(),
        backend: session.queue_events.backends().first().map_or("none", |backend| backend.name()).into(),
        profiled: profiled(session),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        ..Profile::default()
    }
}

/// What this rank has counted, once its table has [ended](end_table).
fn rank_profile(session: &Session, run: &Run) -> RankProfile {
    let rows = run.table.as_ref().map(table::ProfileTable::rows).unwrap_or_default();
    let mut profile = rows.rank_profile();
    // Where there is no space for a table, too.
    (profile.rank, profile.host) = (run.rank as u32, run.host.clone());
    if let (Some(comparison), Some((backend, _))) = (&mut profile.comparison, session.second.get()) {
        comparison.backend = backend.name().into();
    }
    profile.ports = session.netops.map(NetOps::ports).unwrap_or_default().into_iter().map(port).collect();
    profile.samples_lost += session.samples.get().map_or(0, |samples| samples.lost());
    profile
}

fn port(of: Port) -> profile::Port {
    profile::Port {
        interface: of.interface,
        link: of.link.into(),
        bytes_sent: of.sent,
        bytes_received: of.received,
        packets_sent: of.packets_sent,
        packets_received: of.packets_received,
        errors: of.errors,
        dropped: of.dropped,
        waits: of.waits,
        lid: of.lid,
        bits_per_s: of.bits_per_s,
    }
}

/// What is counted; nothing where it is only the queues, as it was always.
fn profiled(session: &Session) -> Vec<String> {
    let config = &session.config;
    let others = config.windows || config.call_profile || config.matrix || config.carried;
    if config.profile && !others && config.vars.is_none() && config.attribute.is_none() {
        return Vec::new();
    }
    let variables = [(config.vars.is_some(), "vars"), (config.attribute.is_some(), "attribution")];
    let of_variables = variables.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name);
    config.counted().chain(of_variables).map(str::to_owned).collect()
}

fn convert_truth(truth: Truth) -> profile::Truth {
    let Truth { matched, rematched, envelopes_lost, never_received, dropped } = truth;
    profile::Truth { matched, rematched, envelopes_lost, never_received, dropped }
}

fn not_followed(session: &Session) -> profile::NotFollowed {
    let NotFollowed { communicators, calls, partitioned } = session.queue_events.model().not_followed();
    profile::NotFollowed { communicators, calls, partitioned }
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
    if let Some(netops) = session.netops {
        netops.finish();
        log_ports(session, run, netops);
    }
    if let Some(attributor) = session.attributor {
        attributor.finish_alone();
    }
    if let Some(sampler) = session.sampler.get() {
        sampler.finish_alone();
    }
    if let Some(requests) = session.requests.get() {
        requests.finish();
    }
    if let Some(plugins) = plugins::host() {
        plugins.finish(if ended == Ended::Aborted { plugins::ABORTED } else { plugins::EXITED });
    }
    let truth = session.queue_events.finish_alone();
    end_table(session, run, truth, ended, Clock::best().now().0);
    if let Some(recorder) = run.recorder {
        session.samples.get().iter().for_each(|samples| samples.finish());
        recorder.finish(State::Aborted);
    }
    if session.config.profiles()
        && let Some(directory) = &run.directory
    {
        let mut partial = whole_profile(session, run);
        partial.ranks = vec![rank_profile(session, run)];
        partial.number_phases();
        let path = directory.join(profile::file::partial_name(run.rank as u32));
        if let Err(error) = profile::file::write(&path, &partial) {
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
        // Ranks whose launcher ends them run this too: one line, from the first rank.
        if leave_alone(session, Ended::Exited) && rank_of(session) == 0 {
            warn("the program ended without MPI_Finalize; what was measured until then is kept");
        }
    };
    let _ = std::panic::catch_unwind(|| mpi_intercept::without_traps(leave));
}

/// From now on forks are noticed.
pub(super) fn arm() {
    extern "C" fn in_child() {
        crate::attribution::abandon();
        if let Some(session) = Session::get()
            && let Some(Run { recorder: Some(recorder), .. }) = session.run.get()
        {
            recorder.abandon();
        }
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
                    "the program used MPI sessions and never called MPI_Init, so nothing was measured; \
                     what is followed begins with MPI_Init",
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
            let mut text = format!("[MEL] Event types (set {EVENTS} to log some of them):\n");
            for (_, event_type) in core().event_types() {
                let elements: Vec<&str> =
                    event_type.elements.iter().map(|element| element.name.as_ref()).collect();
                let _ = writeln!(
                    text,
                    "[MEL]   {}({}): {}",
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
