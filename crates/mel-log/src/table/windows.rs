//! One-sided communication in the table: what each thread moved through each window, how long it took until MPI said that it was
//! complete, and how long epochs were.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::durations::CoarseDurations;
use super::layout::Section;
use super::row::{Column, Row, row};
use super::writer::ProfileTable;
use crate::profile::{KindProfile, WindowProfile, WindowThread};

/// Kinds of operations, as profiles have them: a row counts them in this order.
pub const KINDS: [&str; 6] =
    ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];

row! {
    /// The epochs of a window, or of all windows beyond the last row.
    #[repr(C, align(64))]
    pub struct Window =>
    /// Whose epochs they are, as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    WindowRow;
    /// The how many-th of the rank it is, from 0.
    kept window;
    /// How many windows are counted here.
    kept windows;
    /// Its processes.
    kept processes;
    /// Lengths of epochs between fences: sum, the shortest (all bits inverted), the longest, and counts of 32 bits by bin, 16 for each power of two.
    own fence: CoarseDurations;
    /// From `MPI_Win_start` to `MPI_Win_complete`, likewise.
    own access: CoarseDurations;
    /// From `MPI_Win_post` to `MPI_Win_wait`.
    own exposure: CoarseDurations;
    /// How long locks were held.
    own lock: CoarseDurations;
    /// Not used.
    unused unused: [Column; 5];
}

row! {
    /// What a thread did with a window.
    #[repr(C, align(64))]
    pub struct ThreadOfWindow =>
    /// The same as plain values, without the times to completion.
    #[derive(Clone, Debug, Default, PartialEq)]
    ThreadOfWindowRow;
    /// The how many-th window of the rank.
    kept window: AtomicU32;
    /// The how many-th thread that used windows.
    kept thread: AtomicU32;
    /// Operations that it started: put, get, accumulate, get and accumulate, fetch and op, compare and swap.
    sum started: [Column; KINDS.len()];
    /// The bytes that they read or write at their targets.
    sum bytes: [Column; KINDS.len()];
    /// Operations that its calls completed.
    sum completed;
    /// Those of them that another thread had started.
    sum completed_for_others;
    /// Calls that synchronised the window.
    sum synchronisations;
    /// Time in them.
    sum synchronising;
    /// Times from start to completion, as lengths of epochs.
    own completion: CoarseDurations;
    /// Not used.
    unused unused: [Column; 3];
}

impl ProfileTable {
    /// Adds a window of so many processes; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_window(&self, window: u32, processes: u32) -> Option<u32> {
        self.add_row(Section::Windows, |row: &Window| {
            row.window.set(window.into());
            row.processes.set(processes.into());
        })
    }

    /// Adds a thread that uses a window; `None` where there is no space. One thread at a time.
    #[cold]
    pub fn add_thread_of_window(&self, window: u32, thread: u32) -> Option<u32> {
        self.add_row(Section::ThreadsOfWindows, |row: &ThreadOfWindow| {
            row.window.store(window, Relaxed);
            row.thread.store(thread, Relaxed);
        })
    }

    /// The row that [`add_window`](ProfileTable::add_window) has given.
    #[inline(always)]
    pub fn window(&self, row: u32) -> &Window {
        self.row(Section::Windows, row as usize)
    }

    /// The row that [`add_thread_of_window`](ProfileTable::add_thread_of_window) has given.
    #[inline(always)]
    pub fn thread_of_window(&self, row: u32) -> &ThreadOfWindow {
        self.row(Section::ThreadsOfWindows, row as usize)
    }
}

/// The windows as a rank's profile has them, from the bytes of their rows and of their threads' rows.
pub(super) fn profiles(windows: &[u8], threads: &[u8], rate: u64) -> Vec<WindowProfile> {
    let threads: Vec<(u32, WindowThread)> =
        threads.chunks_exact(size_of::<ThreadOfWindow>()).map(|row| of_thread(row, rate)).collect();
    let of_window = |row: &[u8]| {
        let row = Window::of_bytes(row);
        let WindowRow { window, windows, processes } = row.plain(());
        let its = threads.iter().filter(|(of, _)| u64::from(*of) == window);
        let mut threads: Vec<WindowThread> = its.map(|(_, thread)| thread.clone()).collect();
        threads.sort_by_key(|thread| thread.thread);
        WindowProfile {
            window: window as u32,
            windows: windows as u32,
            processes: processes as u32,
            threads,
            locks_held: row.lock.stats(rate),
            fence_epochs: row.fence.stats(rate),
            access_epochs: row.access.stats(rate),
            exposure_epochs: row.exposure.stats(rate),
        }
    };
    windows.chunks_exact(size_of::<Window>()).map(of_window).collect()
}

fn of_thread(row: &[u8], rate: u64) -> (u32, WindowThread) {
    let row = ThreadOfWindow::of_bytes(row);
    let plain = row.plain(());
    let kinds = KINDS.into_iter().zip(plain.started.iter().zip(&plain.bytes));
    let operations: BTreeMap<String, KindProfile> = kinds
        .filter(|(_, (started, _))| **started > 0)
        .map(|(name, (&started, &bytes))| (name.into(), KindProfile { started, bytes }))
        .collect();
    let thread = WindowThread {
        thread: plain.thread,
        operations,
        completed: plain.completed,
        completed_for_others: plain.completed_for_others,
        completion: row.completion.stats(rate),
        synchronisations: plain.synchronisations,
        synchronising_s: plain.synchronising as f64 / rate as f64,
    };
    (plain.window, thread)
}
