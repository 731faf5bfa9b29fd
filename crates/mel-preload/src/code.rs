//! Where the program is while it computes: stacks of the thread that called `MPI_Init*`, for the profile table.
//!
//! The kernel samples that thread ([`code_samples`]). As it enters an MPI call it takes what was sampled since it left the last one; what is
//! sampled inside is thrown away as it leaves.
//!
//! Where the user asks for it, a hook does that, and between calls that are far apart a thread of ours empties the ring. Where nobody has
//! asked, samples are fewer, there is neither hook nor thread: who counts calls glances at the ring ([`entered`], [`left`]), and of a time
//! between calls that has filled it nothing is kept.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use code_samples::Sampler;
use code_samples::ring::Glance;
use mel_log::profile::Ended;
use mel_log::profile::stacks::{PER_SECOND, UNASKED_PER_SECOND, UNASKED_STEP};
use mel_log::table::{MAX_FRAMES, ProfileTable, StackKey};
use mpi_intercept::own_thread::OwnThread;
use mpi_intercept::{Call, FunctionId, Hook};
use rustc_hash::FxHashMap;

use crate::calls::functions::returns_at_once;
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

/// At the ring of samples that nobody has asked for.
static UNASKED: Glance = Glance::nowhere();
/// Whose they are.
static CODE: OnceLock<&'static Code> = OnceLock::new();

/// The thread enters an MPI call that may wait. A few loads where nothing was sampled.
#[inline(always)]
pub(crate) fn entered() {
    if UNASKED.has_more() {
        unasked_come(Code::take);
    }
}

/// The thread has left an MPI call: what was sampled inside is no work of the program. Of one that returns at once nobody was told before.
#[inline(always)]
pub(crate) fn left(function: FunctionId) {
    if UNASKED.has_more() {
        unasked_come(if returns_at_once(function) { Code::take } else { Code::skip });
    }
}

#[cold]
#[inline(never)]
fn unasked_come(what: fn(&Code)) {
    if let (true, Some(code)) = (IS_SAMPLED.get(), CODE.get()) {
        what(code);
    }
}

/// Samples this process. Lives as long as the process.
struct Code {
    /// Whether the user has asked for it.
    is_asked: bool,
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

/// The consumer, where the user wants samples, or has nothing against a few.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let config = parts.config;
    let code = Code {
        is_asked: config.sample,
        registry: parts.registry,
        table: OnceLock::new(),
        taken: Mutex::new(None),
        in_mpi: AtomicBool::new(false),
        pid: std::process::id(),
        stopped: Mutex::new(false),
        changed: Condvar::new(),
        thread: OnceLock::new(),
    };
    (config.sample || config.samples_unasked).then(|| Box::leak(Box::new(code)) as &dyn Consumer)
}

impl Consumer for Code {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        if self.is_asked { vec![self] } else { Vec::new() }
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn start(&'static self, run: Option<&'static Run>) {
        let (Some(run), Some(table)) = (run, self.table.get()) else { return };
        let (per_second, step) =
            if self.is_asked { (PER_SECOND, 1) } else { (UNASKED_PER_SECOND, UNASKED_STEP) };
        match Sampler::of_this_thread(per_second) {
            Ok(sampler) => {
                IS_SAMPLED.set(true);
                table.header().stack_step.set(step);
                if !self.is_asked {
                    let _ = CODE.set(self);
                    // SAFETY: the sampler stays in `taken`, which lives as long as the process; children of a fork look away.
                    unsafe { sampler.show(&UNASKED) };
                }
                // MPI_Init* is still under way.
                self.in_mpi.store(self.is_asked, Ordering::Release);
                *lock(&self.taken) = Some(Taken { sampler, rows: FxHashMap::default() });
                if self.is_asked
                    && let Ok(thread) = OwnThread::start("mel-code", move || self.empty())
                {
                    let _ = self.thread.set(thread);
                }
            }
            Err(error) if self.is_asked && run.rank == 0 => warn(&format!(
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
        // What nobody has asked for has come as the last call was entered.
        if self.pid != std::process::id() || !self.is_asked {
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
        UNASKED.away();
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
            self.skip();
            self.in_mpi.store(false, Ordering::Release);
        }
    }
}

impl Code {
    /// Throws away what has come.
    fn skip(&self) {
        if let Some(taken) = &mut *lock(&self.taken) {
            taken.sampler.skip();
        }
    }

    /// Counts what has come.
    fn take(&self) {
        let mut taken = lock(&self.taken);
        let (Some(Taken { sampler, rows }), Some(table)) = (&mut *taken, self.table.get()) else { return };
        if !sampler.has_more() {
            return;
        }
        // It has the first seconds of what may have been many.
        if !self.is_asked && sampler.is_full() {
            return sampler.skip();
        }
        let step = if self.is_asked { 1 } else { UNASKED_STEP };
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
                table.stack(row).samples.add(step);
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
