//! The profile of one-sided communication: how much each thread moved through each window, how long it took until
//! MPI said that it was complete, and who waited for that.
//!
//! An observer of windows; it knows nothing of queues and logs. It counts by window and thread, epochs by window, in the profile table.
//!
//! Each thread counts for itself, so that threads do not wait for each other. A histogram takes 3 kB, and there is
//! one for each thread in each window that it uses, and one for each kind of epoch of a window. Windows beyond
//! [`MOST_WINDOWS`] are counted together.

use std::sync::{Mutex, OnceLock, PoisonError};

use mel_log::settings::counted;
use mel_log::table::windows::ThreadOfWindow;
use mel_log::table::{ProfileTable, layout};
use mpit_events::{Ticks, Token};
use mpit_sources::Serial;
use mpit_sources::rma::{Created, EpochKind, Observer, Operation, Synchronised};

use crate::consumer::{Consumer, Parts};

/// Windows that are counted by themselves.
const MOST_WINDOWS: usize = layout::MAX_WINDOWS - 1;
/// Threads that are counted by themselves: further ones are counted with these.
const MOST_THREADS: usize = layout::MAX_THREADS_OF_WINDOW;

/// Counts what is done with windows, from [`attach`](Consumer::attach) on. Thread-safe.
#[derive(Default)]
pub struct WindowProfiler {
    table: OnceLock<ProfileTable>,
    /// For one at a time to add rows.
    adding: Mutex<()>,
    windows: Windows,
    threads: OnceLock<()>,
}

struct Windows([OnceLock<Box<Window>>; MOST_WINDOWS + 1]);

impl Default for Windows {
    fn default() -> Self {
        Windows([const { OnceLock::new() }; MOST_WINDOWS + 1])
    }
}

struct Window {
    threads: [OnceLock<Box<Thread>>; MOST_THREADS],
    /// The row of its epochs.
    epochs: Serial<Option<u32>>,
}

/// A thread's row, away from those of the others.
#[repr(align(128))]
struct Thread(Serial<Option<u32>>);

impl WindowProfiler {
    fn window(&self, window: u32) -> Option<&Window> {
        self.windows.0[(window as usize).min(MOST_WINDOWS)].get().map(Box::as_ref)
    }

    fn count(&self, number: u32, thread: u32, count: impl FnOnce(&ThreadOfWindow)) {
        let (Some(table), Some(window)) = (self.table.get(), self.window(number)) else { return };
        let slot = &window.threads[thread as usize % MOST_THREADS];
        let made = || {
            let _one_at_a_time = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
            let of = number.min(MOST_WINDOWS as u32);
            self.made_for_threads(Thread(Serial::new(table.add_thread_of_window(of, thread))), |thread| {
                &thread.0
            })
        };
        slot.get_or_init(made).0.with(|row| row.map(|row| count(table.thread_of_window(row))));
    }

    fn made_for_threads<T, U>(&self, value: T, serial: impl FnOnce(&T) -> &Serial<U>) -> Box<T> {
        if self.threads.get().is_none() {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and only MPI calls use it.
            unsafe { serial(&value).leave_to_one_thread() };
        }
        Box::new(value)
    }
}

impl Consumer for WindowProfiler {
    fn window_observers(&'static self) -> Vec<&'static dyn Observer> {
        vec![self]
    }

    fn set_threads(&self) {
        let _ = self.threads.set(());
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn counted(&self) -> Option<&'static str> {
        Some(counted::RMA)
    }
}

impl Observer for WindowProfiler {
    fn wants_operations(&self) -> bool {
        true
    }

    fn window_created(&self, created: &Created<'_>) {
        let Some(table) = self.table.get() else { return };
        let window = self.windows.0[(created.window as usize).min(MOST_WINDOWS)].get_or_init(|| {
            let _one_at_a_time = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
            let row = table.add_window(created.window, created.members.len() as u32);
            let window =
                Window { threads: [const { OnceLock::new() }; MOST_THREADS], epochs: Serial::new(row) };
            self.made_for_threads(window, |window| &window.epochs)
        });
        window.epochs.with(|row| row.map(|row| table.window(row).windows.add(1)));
    }

    fn window_freed(&self, _: u32, _: Token) {}

    #[inline]
    fn started(&self, window: u32, operation: &Operation) {
        self.count(window, operation.thread, |row| {
            row.started[operation.kind as usize].add(1);
            row.bytes[operation.kind as usize].add(operation.moved.size);
        });
    }

    #[inline]
    fn completed(&self, window: u32, thread: u32, operation: &Operation, at: Ticks) {
        self.count(window, thread, |row| {
            row.completed.add(1);
            row.completed_for_others.add(u64::from(operation.thread != thread));
            row.completion.record(at.since(operation.started));
        });
    }

    fn synchronised(&self, window: u32, thread: u32, what: &Synchronised<'_>) {
        self.count(window, thread, |row| {
            row.synchronisations.add(1);
            row.synchronising.add(what.left.since(what.entered));
        });
        let (Some(epoch), Some(window), Some(table)) = (what.ended, self.window(window), self.table.get())
        else {
            return;
        };
        let length = what.left.since(epoch.since);
        window.epochs.with(|row| {
            let Some(row) = row.map(|row| table.window(row)) else { return };
            match epoch.kind {
                EpochKind::Fence => row.fence.record(length),
                EpochKind::Access => row.access.record(length),
                EpochKind::Exposure => row.exposure.record(length),
                EpochKind::Lock(_) | EpochKind::LockAll => row.lock.record(length),
            }
        });
    }
}

/// The consumer of one-sided communication.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    parts.config.windows.then(|| Box::leak(Box::<WindowProfiler>::default()) as &dyn Consumer)
}

#[cfg(test)]
mod tests {
    use mel_log::profile::{KindProfile, WindowProfile};
    use mel_log::table::Identity;
    use mel_log::table::windows::KINDS;
    use mpit_sources::rma::{Call, Epoch, Kind, Moved};

    use super::*;

    fn operation(thread: u32, kind: Kind, bytes: u64) -> Operation {
        Operation {
            id: 1,
            started: Ticks(100),
            moved: Moved { size: bytes, ..Moved::default() },
            thread,
            kind,
            has_request: false,
        }
    }

    /// Counts in memory, a thousand ticks a second.
    fn begun() -> &'static WindowProfiler {
        let profiler: &'static WindowProfiler = Box::leak(Box::default());
        let identity = Identity { ticks_per_second: 1000, ..Identity::default() };
        profiler.attach(&ProfileTable::in_memory(&identity).unwrap());
        profiler
    }

    fn profile(profiler: &WindowProfiler) -> Vec<WindowProfile> {
        profiler.table.get().unwrap().rows().windows
    }

    #[test]
    fn kinds_have_the_names_of_the_table() {
        assert_eq!(Kind::ALL.map(Kind::name), KINDS);
    }

    fn create(profiler: &WindowProfiler, window: u32) {
        profiler.window_created(&Created { window, token: Token(7), comm: Token(8), members: &[0, 1] });
    }

    #[test]
    fn threads_are_counted_apart_and_who_completed_for_whom() {
        let profiler = begun();
        create(profiler, 0);
        profiler.started(0, &operation(0, Kind::Put, 8));
        profiler.started(0, &operation(1, Kind::Put, 8));
        profiler.started(0, &operation(1, Kind::FetchAndOp, 4));
        profiler.completed(0, 0, &operation(0, Kind::Put, 8), Ticks(300));
        profiler.completed(0, 0, &operation(1, Kind::Put, 8), Ticks(300));
        let [window] = &profile(profiler)[..] else { panic!("one window") };
        assert_eq!((window.window, window.windows, window.processes), (0, 1, 2));
        let [first, second] = &window.threads[..] else { panic!("two threads") };
        assert_eq!((first.completed, first.completed_for_others), (2, 1));
        assert_eq!((first.completion.count, first.completion.max_s), (2, 0.2));
        assert_eq!(second.operations["put"], KindProfile { started: 1, bytes: 8 });
        assert_eq!(second.operations["fetch_and_op"], KindProfile { started: 1, bytes: 4 });
        assert_eq!((second.completed, second.operations.len()), (0, 2));
    }

    #[test]
    fn an_epoch_is_as_long_as_it_was_open() {
        let profiler = begun();
        create(profiler, 0);
        for kind in [EpochKind::Lock(0), EpochKind::Fence] {
            let ended = Some(Epoch { kind, since: Ticks(1000) });
            let (entered, left) = (Ticks(1900), Ticks(2000));
            let what =
                Synchronised { call: Call::Unlock(0), entered, left, ended, opens: false, partners: &[] };
            profiler.synchronised(0, 0, &what);
        }
        let [window] = &profile(profiler)[..] else { panic!("one window") };
        assert_eq!((window.locks_held.count, window.locks_held.total_s), (1, 1.0));
        assert_eq!((window.fence_epochs.count, window.access_epochs.count), (1, 0));
        let thread = &window.threads[0];
        assert_eq!((thread.synchronisations, thread.synchronising_s), (2, 0.2));
    }

    #[test]
    fn windows_beyond_the_most_are_counted_together() {
        let profiler = begun();
        for window in 0..MOST_WINDOWS as u32 + 3 {
            create(profiler, window);
            profiler.started(window, &operation(0, Kind::Get, 1));
        }
        let windows = profile(profiler);
        let last = windows.last().unwrap();
        assert_eq!((windows.len(), last.windows), (MOST_WINDOWS + 1, 3));
        assert_eq!(last.threads[0].operations["get"].started, 3);
    }
}
