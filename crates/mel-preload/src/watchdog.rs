//! Says when nothing moves any more, and who waits for whom (`mel run --stuck-after`).
//!
//! A thread looks now and then at the tables of this node's processes, which are files. It calls no MPI function, but for the one that ends the job, and takes no lock of what
//! runs in the program's calls. Of each node the process with the lowest rank does so. That of rank 0 speaks; the others leave what they have
//! seen in the run's directory, where it finds that if the nodes share it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mel_convert::callsites::CallSites;
use mel_log::access;
use mel_log::number::duration;
use mel_log::profile::Ended;
use mel_log::run_directory::STUCK;
use mel_log::table::{self, ProfileTable};
use mel_run::profile as run_profile;
use mel_stuck::{Look, Pulse, Pulses, Stuck};
use mel_verdict::words;
use mpi_abi::pmpi;
use mpi_intercept::own_thread::OwnThread;
use mpit_events::Ticks;

use crate::consumer::{Consumer, Parts};
use crate::state::{Run, Session};
use crate::warn;

/// The exit code of a process that ends a job which is stuck.
const EXIT_CODE: i32 = 86;
/// How long the end of the thread is waited for: the file system may hang.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a launcher has to pass on what the process has said.
const HEARD: Duration = Duration::from_millis(300);
/// How long ending the job may take.
const END: Duration = Duration::from_secs(5);
/// The least and the most between two looks.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// The consumer, and what it watches once that is known.
struct Watching {
    after: Duration,
    aborts: bool,
    watchdog: OnceLock<&'static Watchdog>,
}

/// Watches this node. Lives as long as the process.
struct Watchdog {
    after: Duration,
    aborts: bool,
    directory: PathBuf,
    host: String,
    rank: u32,
    world_size: u32,
    /// The process that it belongs to.
    pid: u32,
    table: ProfileTable,
    /// Whether the measurement has ended, and whether in `MPI_Finalize`, to which all ranks have come.
    stopped: Mutex<(bool, bool)>,
    changed: Condvar,
    thread: OnceLock<OwnThread>,
}

/// What the thread knows of before.
#[derive(Default)]
struct Seen {
    own: Option<Pulse>,
    pulses: Pulses,
    sites: CallSites,
    /// Whether it has spoken; and whether the job has moved since.
    told: bool,
    moved: bool,
}

/// The consumer, where the user wants it.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let (after, aborts) = (parts.config.stuck_after?, parts.config.stuck_abort);
    Some(Box::leak(Box::new(Watching { after, aborts, watchdog: OnceLock::new() })))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the job. What was measured is in files that others read as after a kill.
fn end_job() -> ! {
    let end_process = || {
        // SAFETY: the process ends at once, and nothing of it runs any more.
        unsafe { libc::_exit(EXIT_CODE) }
    };
    mpi_intercept::stop();
    if let Some(session) = Session::get() {
        // At the end of the process there is nothing to do: another thread is in the middle of a call.
        session.over.store(true, Ordering::Release);
        // A launcher knows the exit code from it. Where it comes to no end, as the call that hangs has a lock, the process ends all the same.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(END);
            end_process()
        });
        let world = session.abi.world();
        if world != session.abi.constants.comm_null {
            let _ = mpi_intercept::untracked(|| pmpi::abort(world, EXIT_CODE));
        }
    }
    end_process()
}

/// The file that the process of a rank leaves.
fn file(directory: &Path, rank: u32) -> PathBuf {
    if rank == 0 { directory.join(STUCK) } else { directory.join(format!("rank-{rank}.{STUCK}")) }
}

impl Consumer for Watching {
    fn start(&'static self, run: Option<&'static Run>) {
        let Some(Run { directory: Some(directory), table: Some(table), host, rank, size, .. }) = run else {
            return;
        };
        let watchdog: &'static Watchdog = Box::leak(Box::new(Watchdog {
            after: self.after,
            aborts: self.aborts,
            directory: directory.clone(),
            host: host.clone(),
            rank: *rank as u32,
            world_size: *size as u32,
            pid: std::process::id(),
            table: table.clone(),
            stopped: Mutex::new((false, false)),
            changed: Condvar::new(),
            thread: OnceLock::new(),
        }));
        match OwnThread::start("mel-watchdog", move || watchdog.run()) {
            Ok(thread) => _ = watchdog.thread.set(thread),
            Err(error) => return warn(&format!("nobody looks whether the job is stuck: {error}")),
        }
        let _ = self.watchdog.set(watchdog);
    }

    // Not before that: in `MPI_Finalize` it waits for the other ranks.
    fn settle(&self, _: &Run, ended: Ended, _: Ticks) {
        if let Some(watchdog) = self.watchdog.get() {
            watchdog.finish(ended);
        }
    }
}

impl Watchdog {
    /// What the thread does.
    fn run(&self) {
        let pause = (self.after / 4).clamp(PAUSES[0], PAUSES[1]);
        let mut seen = Seen::default();
        let mut stopped = lock(&self.stopped);
        while !stopped.0 {
            stopped = self.changed.wait_timeout(stopped, pause).unwrap_or_else(PoisonError::into_inner).0;
            let (is_over, well) = *stopped;
            drop(stopped);
            if !is_over {
                self.look(&mut seen);
            } else if well {
                self.moves(&mut seen);
            }
            stopped = lock(&self.stopped);
        }
    }

    fn look(&self, seen: &mut Seen) {
        // Where this process moves, the job does.
        let own = Pulse::of(&self.table.rows());
        let moves = seen.own.as_ref() != Some(&own);
        seen.own = Some(own);
        if moves {
            return self.moves(seen);
        }
        if !self.is_lowest() {
            return;
        }
        let (mut tables, _) = run_profile::tables(&self.directory);
        tables.retain(|rows| rows.host == self.host);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let is_of_one_node = tables.len() < self.world_size as usize;
        let look = Look { is_of_one_node, ..seen.pulses.see(&tables, now) };
        let Some(still_s) = seen.pulses.still_s(&tables, now) else { return };
        if still_s < self.after.as_secs_f64() || !look.moved.is_empty() {
            return self.moves(seen);
        }
        let again = std::mem::replace(&mut seen.told, true);
        let ranks: Vec<u32> = tables.iter().map(|rows| rows.rank).collect();
        if !again && (0..self.rank).any(|rank| ranks.contains(&rank) && file(&self.directory, rank).exists())
        {
            // One that has ended since has said it.
            return;
        }
        let news =
            (!again).then(|| mel_stuck::of(tables, &look, |path, address| seen.sites.place(path, address)));
        if let Some(stuck) = &news {
            self.keep(stuck);
        }
        // Where that of rank 0 has ended, this one speaks in its place.
        if self.rank != 0 && !ranks.contains(&0) {
            return;
        }
        let elsewhere = if is_of_one_node { self.elsewhere(&ranks) } else { Vec::new() };
        if let Some(stuck) = &news {
            self.speak(stuck, &ranks, &elsewhere);
        }
        let all = ranks.len() + elsewhere.len() >= self.world_size as usize || !is_of_one_node;
        if self.aborts && all {
            warn(&format!(
                "--stuck-abort ends the job with exit code {EXIT_CODE}; what was measured is kept"
            ));
            // The launcher passes on what was written, and reads no more once the job is ended.
            thread::sleep(HEARD);
            end_job();
        }
    }

    /// The job moves, perhaps again.
    fn moves(&self, seen: &mut Seen) {
        if !seen.told || std::mem::replace(&mut seen.moved, true) {
            return;
        }
        let _ = fs::remove_file(file(&self.directory, self.rank));
        if self.rank == 0 {
            warn("the job moves again: it was slow, and not stuck");
        }
    }

    /// Whether no process of this node with a lower rank runs.
    fn is_lowest(&self) -> bool {
        let of_this_node = |rank: u32| {
            let rows = table::reader::read(&self.directory.join(table::file_name(rank)));
            rows.is_ok_and(|rows| rows.is_running && rows.host == self.host)
        };
        !(0..self.rank).any(of_this_node)
    }

    /// Leaves what was seen in the run's directory.
    fn keep(&self, stuck: &Stuck) {
        let path = file(&self.directory, self.rank);
        let text = serde_json::to_string_pretty(stuck).unwrap_or_default();
        // Who reads it meanwhile finds all of it, or nothing.
        let part = path.with_extension("part");
        let write =
            || access::replace(&part)?.write_all(text.as_bytes()).and_then(|()| fs::rename(&part, &path));
        if let Err(error) = write() {
            warn(&format!("cannot write {}: {error}", path.display()));
        }
    }

    /// The ranks of other nodes of which is known that they do not move either.
    fn elsewhere(&self, own: &[u32]) -> Vec<u32> {
        let mut ranks = Vec::new();
        for rank in (1..self.world_size).filter(|rank| !own.contains(rank)) {
            let Ok(text) = fs::read(file(&self.directory, rank)) else { continue };
            let Ok(stuck) = serde_json::from_slice::<serde_json::Value>(&text) else { continue };
            let groups = stuck["groups"].as_array().into_iter().flatten();
            let seen = groups.filter(|group| group["state"] != "on_another_node");
            let seen = seen.flat_map(|group| group["ranks"].as_array().into_iter().flatten());
            ranks.extend(seen.filter_map(|rank| u32::try_from(rank.as_u64()?).ok()));
        }
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// The lines on standard error.
    fn speak(&self, stuck: &Stuck, ranks: &[u32], elsewhere: &[u32]) {
        warn(&format!("nothing has moved for {}: the job may be stuck", duration(stuck.still_s)));
        stuck.sentences.iter().skip(1).for_each(|sentence| warn(sentence));
        if ranks.len() < self.world_size as usize {
            let others = match elsewhere {
                [] => "what the others do is not seen from here".to_owned(),
                others => format!("{} on other nodes do not move either", words::ranks(others)),
            };
            warn(&format!("this is {}, with {}; {others}", self.host, words::ranks(ranks)));
        }
        let directory = self.directory.display();
        warn(&format!("mel stuck {directory} shows where each rank is; it is kept in {directory}/{STUCK}"));
    }

    /// The program ends. MPI is not called.
    fn finish(&self, ended: Ended) {
        if self.pid != std::process::id() {
            return;
        }
        *lock(&self.stopped) = (true, ended == Ended::Finalised);
        self.changed.notify_all();
        if let Some(thread) = self.thread.get() {
            thread.ends_within(PATIENCE);
        }
    }
}
