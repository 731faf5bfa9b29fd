//! Where the program is while it computes: stacks of the thread that called `MPI_Init*`, for the profile table.
//!
//! The kernel samples that thread ([`code_samples`]). As it enters an MPI call it takes what was sampled since it left the last one; what is
//! sampled inside is thrown away as it leaves. Between calls that are far apart a thread of ours empties the ring.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use code_samples::Sampler;
use mel_log::profile::Ended;
use mel_log::profile::stacks::PER_SECOND;
use mel_log::table::{MAX_FRAMES, ProfileTable, StackKey};
use mpi_intercept::own_thread::OwnThread;
use mpi_intercept::{Call, FunctionId, Hook};
use rustc_hash::FxHashMap;

use crate::consumer::{Consumer, Parts};
use crate::registry::Registry;
use crate::state::Run;
use crate::{phases, warn};

/// Between two looks at the ring: it has space for a second.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the end of the thread is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether this is the thread that is sampled.
    static IS_SAMPLED: Cell<bool> = const { Cell::new(false) };
}

/// Samples this process. Lives as long as the process.
struct Code {
    registry: &'static Registry,
    table: OnceLock<ProfileTable>,
    taken: Mutex<Option<Taken>>,
    /// Whether the sampled thread is in an MPI call.
    in_mpi: AtomicBool,
    /// The process that it belongs to.
    pid: u32,
    stopped: Mutex<bool>,
    changed: Condvar,
    thread: OnceLock<OwnThread>,
}

/// The samples, and the rows of what has come.
struct Taken {
    sampler: Sampler,
    rows: FxHashMap<StackKey, u32>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The consumer, where the user wants samples.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let code = Code {
        registry: parts.registry,
        table: OnceLock::new(),
        taken: Mutex::new(None),
        in_mpi: AtomicBool::new(false),
        pid: std::process::id(),
        stopped: Mutex::new(false),
        changed: Condvar::new(),
        thread: OnceLock::new(),
    };
    parts.config.sample.then(|| Box::leak(Box::new(code)) as &dyn Consumer)
}

impl Consumer for Code {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn start(&'static self, run: Option<&'static Run>) {
        let (Some(run), Some(_)) = (run, self.table.get()) else { return };
        match Sampler::of_this_thread(PER_SECOND) {
            Ok(sampler) => {
                IS_SAMPLED.set(true);
                // MPI_Init* is still under way.
                self.in_mpi.store(true, Ordering::Release);
                *lock(&self.taken) = Some(Taken { sampler, rows: FxHashMap::default() });
                if let Ok(thread) = OwnThread::start("mel-code", move || self.empty()) {
                    let _ = self.thread.set(thread);
                }
            }
            Err(error) if run.rank == 0 => warn(&format!(
                "stacks are not sampled: perf_event_open: {error}; it takes /proc/sys/kernel/perf_event_paranoid of 2 or \
                 less, and a container that allows the system call (docs/sampling.md)"
            )),
            Err(_) => {}
        }
    }

    fn phase_ends(&self) {
        if IS_SAMPLED.get() && !self.in_mpi.load(Ordering::Relaxed) {
            self.take();
        }
    }

    fn finish(&self, _: Ended) {
        if self.pid != std::process::id() {
            return;
        }
        *lock(&self.stopped) = true;
        self.changed.notify_all();
        let has_ended = self.thread.get().is_none_or(|thread| thread.ends_within(PATIENCE));
        if let (true, Some(table), Some(taken)) = (has_ended, self.table.get(), lock(&self.taken).take()) {
            table.header().lost_stacks.add(taken.sampler.lost());
        }
    }

    fn forked(&self) {
        IS_SAMPLED.set(false);
    }
}

impl Hook for Code {
    fn enter(&self, _: FunctionId, _: &mut Call<'_>) {
        if IS_SAMPLED.get() {
            self.take();
            self.in_mpi.store(true, Ordering::Release);
        }
    }

    fn leave(&self, _: FunctionId, _: &mut Call<'_>, _: c_int) {
        if IS_SAMPLED.get() {
            if let Some(taken) = &mut *lock(&self.taken) {
                taken.sampler.skip();
            }
            self.in_mpi.store(false, Ordering::Release);
        }
    }
}

impl Code {
    /// Counts what has come.
    fn take(&self) {
        let mut taken = lock(&self.taken);
        let (Some(Taken { sampler, rows }), Some(table)) = (&mut *taken, self.table.get()) else { return };
        if !sampler.has_more() {
            return;
        }
        let phase = phases::current();
        sampler.drain(&mut |frames: &[u64; MAX_FRAMES]| {
            let key = StackKey { phase, frames: *frames };
            let row = rows.get(&key).copied().or_else(|| {
                let row = table.add_stack(&key)?;
                frames
                    .iter()
                    .take_while(|address| **address != 0)
                    .for_each(|address| self.registry.define_module(*address));
                rows.insert(key, row);
                Some(row)
            });
            if let Some(row) = row {
                table.stack(row).samples.add(1);
            }
        });
    }

    /// What the thread does.
    fn empty(&self) {
        let mut stopped = lock(&self.stopped);
        while !*stopped {
            stopped = self.changed.wait_timeout(stopped, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
            if !*stopped && !self.in_mpi.load(Ordering::Acquire) {
                drop(stopped);
                self.take();
                stopped = lock(&self.stopped);
            }
        }
    }
}
