//! What holds up calls that last long, for the profile table: the messages that they wait for, and those that have come.
//!
//! A thread looks once in a second which calls last longer than that. It calls no MPI function; the threads in these calls do nothing for it,
//! take no signal and no lock ([`mpi_intercept::under_way`]). What it has found stays in the table of a process that is killed.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use mel_log::profile::Ended;
use mel_log::table::{HoldKind, HoldRow, ProfileTable};
use mpi_intercept::own_thread::OwnThread;
use mpi_intercept::under_way;
use mpit_events::{Clock, Ticks};
use mpit_sources::calls::{Asked, Communicator, Glimpse, Ob1Model, Observer, OfComm, What};
use rustc_hash::FxHashMap;

use crate::calls::CallProfiler;
use crate::consumer::{Consumer, Parts};
use crate::state::Run;

/// Between two looks; calls that are under way for less are left out.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of the thread is waited for.
const PATIENCE: Duration = PAUSE;

/// Looks at this process. Lives as long as the process.
struct Holds {
    model: Ob1Model,
    communicators: Mutex<Identities>,
    table: OnceLock<ProfileTable>,
    /// The process that it belongs to.
    pid: u32,
    stopped: Mutex<bool>,
    changed: Condvar,
    thread: OnceLock<OwnThread>,
}

/// The identities of communicators, by handle and by place in the model.
#[derive(Default)]
struct Identities {
    by_handle: FxHashMap<usize, u64>,
    by_place: FxHashMap<u32, u64>,
}

impl Identities {
    fn of(&self, comm: OfComm) -> Option<u64> {
        match comm {
            OfComm::Handle(handle) => self.by_handle.get(&handle).copied(),
            OfComm::Index(place) => self.by_place.get(&place).copied(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The consumer, where calls are counted.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let holds = Holds {
        model: parts.queue_events.model(),
        communicators: Mutex::default(),
        table: OnceLock::new(),
        pid: std::process::id(),
        stopped: Mutex::new(false),
        changed: Condvar::new(),
        thread: OnceLock::new(),
    };
    parts.config.call_profile.then(|| Box::leak(Box::new(holds)) as &dyn Consumer)
}

impl Observer for Holds {
    fn communicator_created(&self, communicator: &Communicator) {
        let mut known = lock(&self.communicators);
        known.by_handle.insert(communicator.token.0 as usize, communicator.context);
        known.by_place.insert(communicator.index, communicator.context);
    }

    fn communicator_freed(&self, communicator: &Communicator) {
        lock(&self.communicators).by_handle.remove(&(communicator.token.0 as usize));
    }
}

impl Consumer for Holds {
    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        vec![self]
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn start(&'static self, run: Option<&'static Run>) {
        let (Some(_), Some(table)) = (run, self.table.get()) else { return };
        // Without the thread what calls wait for is not known, and readers say so.
        if let Ok(thread) = OwnThread::start("mel-holds", move || self.run(table)) {
            let _ = self.thread.set(thread);
        }
    }

    fn settle(&self, _: &Run, ended: Ended, _: Ticks) {
        if self.pid != std::process::id() {
            return;
        }
        *lock(&self.stopped) = true;
        self.changed.notify_all();
        let has_ended = self.thread.get().is_none_or(|thread| thread.ends_within(PATIENCE));
        // Nothing holds up a run that has ended well.
        if let Some(table) = self.table.get().filter(|_| has_ended && ended == Ended::Finalised) {
            table.set_holds(&[]);
        }
    }
}

impl Holds {
    /// What the thread does.
    fn run(&self, table: &ProfileTable) {
        let mut kept = Vec::new();
        let mut stopped = lock(&self.stopped);
        while !*stopped {
            stopped = self.changed.wait_timeout(stopped, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
            if *stopped {
                break;
            }
            drop(stopped);
            let rows = self.look(table);
            if rows != kept {
                table.set_holds(&rows);
                kept = rows;
            }
            stopped = lock(&self.stopped);
        }
    }

    fn look(&self, table: &ProfileTable) -> Vec<HoldRow> {
        let clock = Clock::best();
        let (now, second) = (clock.now().0, clock.ticks_per_second());
        let mut rows = Vec::new();
        let calls = under_way::calls();
        if calls.is_empty() {
            // What has come for a process that is outside of MPI others may wait for.
            let threads =
                (0..table.header().threads.get() as u16).map(|thread| (thread, table.thread(thread)));
            if let Some((thread, row)) = threads.max_by_key(|(_, row)| row.left.get()) {
                let left = row.left.get();
                if now.saturating_sub(left) >= second {
                    let unexpected = self.model.come_since();
                    self.add(&Glimpse { unexpected, ..Glimpse::default() }, thread, left, &mut rows);
                }
            }
        }
        for call in calls {
            if now.saturating_sub(call.entered()) < second {
                continue;
            }
            let Some(thread) = CallProfiler::thread_of(&call) else { continue };
            let entered = table.thread(thread).entered.get();
            let glimpse = self.model.glimpse(&call);
            if !call.lasts() {
                continue;
            }
            rows.push(HoldRow { bytes: now, ..HoldRow::new(HoldKind::Lasts, thread, entered) });
            let Some(glimpse) = glimpse else { continue };
            self.add(&glimpse, thread, entered, &mut rows);
        }
        rows
    }

    /// The rows of a call, or of a thread that is in none since then.
    fn add(&self, glimpse: &Glimpse, thread: u16, entered: u64, rows: &mut Vec<HoldRow>) {
        let known = lock(&self.communicators);
        for Asked { what, comm, peer, tag } in &glimpse.asks {
            let kind = match what {
                What::Receive => HoldKind::Receive,
                What::Send => HoldKind::Send,
                What::Root => HoldKind::Root,
            };
            let Some(communicator) = known.of(*comm) else { continue };
            let (peer, tag) = (*peer as u32, *tag as u32);
            rows.push(HoldRow { communicator, peer, tag, ..HoldRow::new(kind, thread, entered) });
        }
        if glimpse.others > 0 {
            rows.push(HoldRow { peer: glimpse.others, ..HoldRow::new(HoldKind::Others, thread, entered) });
        }
        for envelope in &glimpse.unexpected {
            rows.push(HoldRow {
                communicator: envelope.context,
                bytes: envelope.bytes,
                peer: envelope.source as u32,
                tag: envelope.tag as u32,
                ..HoldRow::new(HoldKind::Message, thread, entered)
            });
        }
    }
}
