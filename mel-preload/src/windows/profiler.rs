//! The observer: counts by window and thread, epochs by window.
//!
//! Each thread counts for itself, so that threads do not wait for each other. A histogram takes 3 kB, and there is
//! one for each thread in each window that it uses, and one for each kind of epoch of a window. Windows beyond
//! [`MOST_WINDOWS`] are counted together.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mpit_events::{Ticks, Token};
use mpit_sources::Serial;
use mpit_sources::rma::{Created, EpochKind, Kind, Observer, Operation, Synchronised};

use mel_log::profile::{KindProfile, WindowProfile, WindowThread};
use mel_log::table::durations::CoarseDurations;

/// Windows that are counted by themselves.
const MOST_WINDOWS: usize = 64;
/// Threads that are counted by themselves: further ones are counted with these.
const MOST_THREADS: usize = 64;

/// Counts what is done with windows. Thread-safe.
#[derive(Default)]
pub struct WindowProfiler {
    windows: Windows,
    made: AtomicU32,
    threads: OnceLock<()>,
}

struct Windows([OnceLock<Box<Window>>; MOST_WINDOWS + 1]);

impl Default for Windows {
    fn default() -> Self {
        Windows([const { OnceLock::new() }; MOST_WINDOWS + 1])
    }
}

struct Window {
    processes: u32,
    threads: [OnceLock<Box<Thread>>; MOST_THREADS],
    epochs: Serial<Epochs>,
}

/// A thread's counts, away from those of the others.
#[derive(Default)]
#[repr(align(128))]
struct Thread(Serial<Counts>);

#[derive(Default)]
struct Counts {
    kinds: [KindCounts; Kind::ALL.len()],
    completed: u64,
    completed_for_others: u64,
    completion: Completion,
    synchronisations: u64,
    synchronising: u64,
}

#[derive(Clone, Copy, Default)]
struct KindCounts {
    started: u64,
    bytes: u64,
}

/// Times from start to completion.
#[derive(Default)]
struct Completion(Box<CoarseDurations>);

#[derive(Default)]
struct Epochs {
    fence: Box<CoarseDurations>,
    access: Box<CoarseDurations>,
    exposure: Box<CoarseDurations>,
    lock: Box<CoarseDurations>,
}

impl WindowProfiler {
    /// Several threads may call MPI at the same time from now on. Before the first window.
    pub fn set_threads(&self) {
        let _ = self.threads.set(());
    }

    fn window(&self, window: u32) -> Option<&Window> {
        self.windows.0[(window as usize).min(MOST_WINDOWS)].get().map(Box::as_ref)
    }

    fn count(&self, window: u32, thread: u32, count: impl FnOnce(&mut Counts)) {
        let Some(window) = self.window(window) else { return };
        let slot = &window.threads[thread as usize % MOST_THREADS];
        slot.get_or_init(|| self.made_for_threads(Thread::default(), |thread| &thread.0)).0.with(count);
    }

    fn made_for_threads<T, U>(&self, value: T, serial: impl FnOnce(&T) -> &Serial<U>) -> Box<T> {
        if self.threads.get().is_none() {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and only MPI calls use it.
            unsafe { serial(&value).leave_to_one_thread() };
        }
        Box::new(value)
    }

    /// The numbers so far, window by window.
    pub fn profile(&self, ticks_per_second: u64) -> Vec<WindowProfile> {
        let windows =
            self.windows.0.iter().enumerate().filter_map(|(place, window)| Some((place, window.get()?)));
        windows.map(|(place, window)| self.window_profile(place, window, ticks_per_second)).collect()
    }

    fn window_profile(&self, place: usize, window: &Window, ticks_per_second: u64) -> WindowProfile {
        let made = self.made.load(Ordering::Relaxed);
        let mut profile = WindowProfile {
            window: place as u32,
            windows: if place < MOST_WINDOWS { 1 } else { made.saturating_sub(place as u32) },
            processes: window.processes,
            ..WindowProfile::default()
        };
        for (number, thread) in window.threads.iter().enumerate() {
            let counts = thread
                .get()
                .and_then(|thread| thread.0.with(|counts| counts.profile(number as u32, ticks_per_second)));
            profile.threads.extend(counts);
        }
        window.epochs.with(|epochs| {
            profile.fence_epochs = epochs.fence.stats(ticks_per_second);
            profile.access_epochs = epochs.access.stats(ticks_per_second);
            profile.exposure_epochs = epochs.exposure.stats(ticks_per_second);
            profile.locks_held = epochs.lock.stats(ticks_per_second);
        });
        profile
    }
}

impl Counts {
    fn profile(&mut self, thread: u32, ticks_per_second: u64) -> WindowThread {
        let counted = Kind::ALL.iter().zip(self.kinds).filter(|(_, counts)| counts.started > 0);
        let operations: BTreeMap<String, KindProfile> = counted
            .map(|(kind, KindCounts { started, bytes })| (kind.name().into(), KindProfile { started, bytes }))
            .collect();
        WindowThread {
            thread,
            operations,
            completed: self.completed,
            completed_for_others: self.completed_for_others,
            completion: self.completion.0.stats(ticks_per_second),
            synchronisations: self.synchronisations,
            synchronising_s: self.synchronising as f64 / ticks_per_second as f64,
        }
    }
}

impl Observer for WindowProfiler {
    fn wants_operations(&self) -> bool {
        true
    }

    fn window_created(&self, created: &Created<'_>) {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.windows.0[(created.window as usize).min(MOST_WINDOWS)].get_or_init(|| {
            let (processes, epochs) = (created.members.len() as u32, Serial::default());
            let window = Window { processes, threads: [const { OnceLock::new() }; MOST_THREADS], epochs };
            self.made_for_threads(window, |window| &window.epochs)
        });
    }

    fn window_freed(&self, _: u32, _: Token) {}

    #[inline]
    fn started(&self, window: u32, operation: &Operation) {
        self.count(window, operation.thread, |counts| {
            let kind = &mut counts.kinds[operation.kind as usize];
            kind.started += 1;
            kind.bytes += operation.moved.size;
        });
    }

    #[inline]
    fn completed(&self, window: u32, thread: u32, operation: &Operation, at: Ticks) {
        self.count(window, thread, |counts| {
            counts.completed += 1;
            counts.completed_for_others += u64::from(operation.thread != thread);
            counts.completion.0.record(at.since(operation.started));
        });
    }

    fn synchronised(&self, window: u32, thread: u32, what: &Synchronised<'_>) {
        self.count(window, thread, |counts| {
            counts.synchronisations += 1;
            counts.synchronising += what.left.since(what.entered);
        });
        let (Some(epoch), Some(window)) = (what.ended, self.window(window)) else { return };
        let length = what.left.since(epoch.since);
        window.epochs.with(|epochs| match epoch.kind {
            EpochKind::Fence => epochs.fence.record(length),
            EpochKind::Access => epochs.access.record(length),
            EpochKind::Exposure => epochs.exposure.record(length),
            EpochKind::Lock(_) | EpochKind::LockAll => epochs.lock.record(length),
        });
    }
}

#[cfg(test)]
mod tests {
    use mpit_sources::rma::{Call, Epoch, Moved};

    use super::*;

    fn operation(thread: u32, kind: Kind, bytes: u64) -> Operation {
        Operation {
            id: 1,
            started: Ticks(100),
            moved: Moved { target: 0, address: 0, size: bytes },
            thread,
            kind,
            has_request: false,
        }
    }

    fn create(profiler: &WindowProfiler, window: u32) {
        profiler.window_created(&Created { window, token: Token(7), comm: Token(8), members: &[0, 1] });
    }

    #[test]
    fn threads_are_counted_apart_and_who_completed_for_whom() {
        let profiler = WindowProfiler::default();
        create(&profiler, 0);
        profiler.started(0, &operation(0, Kind::Put, 8));
        profiler.started(0, &operation(1, Kind::Put, 8));
        profiler.started(0, &operation(1, Kind::FetchAndOp, 4));
        profiler.completed(0, 0, &operation(0, Kind::Put, 8), Ticks(300));
        profiler.completed(0, 0, &operation(1, Kind::Put, 8), Ticks(300));
        let [window] = &profiler.profile(1000)[..] else { panic!("one window") };
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
        let profiler = WindowProfiler::default();
        create(&profiler, 0);
        for kind in [EpochKind::Lock(0), EpochKind::Fence] {
            let ended = Some(Epoch { kind, since: Ticks(1000) });
            let (entered, left) = (Ticks(1900), Ticks(2000));
            let what =
                Synchronised { call: Call::Unlock(0), entered, left, ended, opens: false, partners: &[] };
            profiler.synchronised(0, 0, &what);
        }
        let [window] = &profiler.profile(1000)[..] else { panic!("one window") };
        assert_eq!((window.locks_held.count, window.locks_held.total_s), (1, 1.0));
        assert_eq!((window.fence_epochs.count, window.access_epochs.count), (1, 0));
        let thread = &window.threads[0];
        assert_eq!((thread.synchronisations, thread.synchronising_s), (2, 0.2));
    }

    #[test]
    fn windows_beyond_the_most_are_counted_together() {
        let profiler = WindowProfiler::default();
        for window in 0..MOST_WINDOWS as u32 + 3 {
            create(&profiler, window);
            profiler.started(window, &operation(0, Kind::Get, 1));
        }
        let windows = profiler.profile(1000);
        let last = windows.last().unwrap();
        assert_eq!((windows.len(), last.windows), (MOST_WINDOWS + 1, 3));
        assert_eq!(last.threads[0].operations["get"].started, 3);
    }
}
