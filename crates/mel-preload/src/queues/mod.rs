//! The queue profile: how long messages wait in the queues, and how long MPI searches them.
//!
//! A consumer of six event types: `*_insert` and `*_remove` of both queues give lengths and lifetimes,
//! `search_*_end` gives search times. It is the one room that knows events by
//! name, because it computes what they mean (the paper, section 5.2).
//!
//! - `by_communicator`: the same for each communicator.
//! - [`profiler`]: the listener that the events core calls. It counts in the [profile table](mel_log::table::queues).

mod by_communicator;
pub mod profiler;

pub use profiler::QueueProfiler;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mel_log::settings::counted;
use mel_log::table::ProfileTable;
use mpit_sources::calls::{Communicator, Observer};

use crate::consumer::{Consumer, Parts};
use crate::full::or_warn;
use crate::state::Run;

/// Counts the events of the first backend, and those of a second one for comparison, where two were asked for.
struct Counted {
    parts: Parts,
    first: QueueProfiler,
    second: OnceLock<QueueProfiler>,
    alone: AtomicBool,
}

/// The consumer that counts the message queues.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let listen = || QueueProfiler::listen(parts.core, "", Some(parts.registry));
    let first = or_warn(parts.config.profile.then(listen)?, "the message queues are not counted")?;
    let (second, alone) = (OnceLock::new(), AtomicBool::new(false));
    Some(Box::leak(Box::new(Counted { parts: *parts, first, second, alone })))
}

impl Counted {
    fn both(&self) -> impl Iterator<Item = &QueueProfiler> {
        std::iter::once(&self.first).chain(self.second.get())
    }
}

impl Consumer for Counted {
    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        vec![self]
    }

    unsafe fn leave_to_one_thread(&self) {
        self.alone.store(true, Ordering::Relaxed);
        // SAFETY: the caller promises it.
        unsafe { self.first.leave_to_one_thread() };
    }

    fn attach(&'static self, table: &ProfileTable) {
        self.first.begin(table);
    }

    fn start(&'static self, run: Option<&'static Run>) {
        let [_, second] = self.parts.queue_events.backends() else { return };
        let profiler = QueueProfiler::listen(self.parts.core, &format!("{second}_"), None);
        let Some(profiler) = or_warn(profiler, "the second backend is not counted") else { return };
        if let Some(table) = run.and_then(|run| run.table.as_ref()) {
            profiler.begin(table);
        }
        if self.alone.load(Ordering::Relaxed) {
            // SAFETY: the program's threads do not call MPI at the same time: so it was said of the first.
            unsafe { profiler.leave_to_one_thread() };
        }
        let _ = self.second.set(profiler);
    }

    fn enter_phase(&self, phase: u16, now: u64) {
        self.both().for_each(|profiler| profiler.enter_phase(phase, now));
    }

    fn clear(&self, now: u64) {
        self.both().for_each(|profiler| profiler.clear(now));
    }

    fn counted(&self) -> Option<&'static str> {
        Some(counted::QUEUES)
    }
}

impl Observer for Counted {
    fn communicator_created(&self, communicator: &Communicator) {
        self.first.forget_place(communicator.index);
    }
}
