//! One-sided communication of a rank, as its log goes on: operations from their start to their completion, and epochs with
//! what was done in them.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use mel_log::{Epoch, Operation};

use super::content::{Lock, WindowStep};

/// Operations whose start is kept, at most: those that nothing completes would add up.
const MAX_KEPT: usize = 1 << 20;

/// An operation, in the call that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationInCall {
    /// Number of the window.
    pub window: u16,
    /// Its place among [`OPERATIONS`].
    pub kind: usize,
    /// Rank in the group of the window.
    pub target: i32,
    /// Bytes that it reads or writes there.
    pub bytes: u64,
}

/// An operation from its start to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationSpan {
    /// What it is.
    pub operation: OperationInCall,
    /// The thread that started it.
    pub thread: u32,
    /// When it was started, and complete, in ticks.
    pub ticks: (u64, u64),
}

/// An epoch of a window, from the call that opens it to the call that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochSpan {
    /// Number of the window.
    pub window: u16,
    /// Its place among [`EPOCHS`].
    pub kind: usize,
    /// The rank that is locked, in the group of the window; -1 for all.
    pub target: i32,
    /// When it began and ended, in ticks.
    pub ticks: (u64, u64),
    /// Operations that were started in it.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Epochs that are open only to the operations of others.
const EXPOSURE: usize = 2;
/// Epochs for a single target.
const LOCK: usize = 3;

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct OneSided {
    /// By window and number: the operation, the thread that started it, and when.
    pending: FxHashMap<(u16, u64), (OperationInCall, u32, u64)>,
    /// By window and target: operations, and their bytes, that belong to no epoch that has ended.
    started: FxHashMap<(u16, i32), (u64, u64)>,
}

impl OneSided {
    /// An operation of this kind is started, on a thread and at a tick.
    pub(super) fn start(
        &mut self,
        (thread, time): (u32, u64),
        window: u16,
        kind: usize,
        operation: Operation,
    ) -> OperationInCall {
        let Operation { target, bytes, number } = operation;
        let started = OperationInCall { window, kind, target, bytes };
        if self.pending.len() < MAX_KEPT {
            self.pending.insert((window, number), (started, thread, time));
        }
        let sums = self.started.entry((window, target)).or_default();
        *sums = (sums.0 + 1, sums.1.saturating_add(bytes));
        started
    }

    /// The operation of this number is complete at a tick; none if its start is not known.
    pub(super) fn complete(&mut self, time: u64, window: u16, number: u64) -> Option<OperationSpan> {
        let (operation, thread, since) = self.pending.remove(&(window, number))?;
        Some(OperationSpan { operation, thread, ticks: (since, time.max(since)) })
    }

    /// An epoch has ended at a tick.
    pub(super) fn end_epoch(&mut self, time: u64, window: u16, epoch: Epoch) -> EpochSpan {
        let Epoch { kind, target, duration } = epoch;
        let kind = (kind as usize).min(EPOCHS.len() - 1);
        let (mut operations, mut bytes) = (0, 0u64);
        let mut take = |sums: (u64, u64)| {
            operations += sums.0;
            bytes = bytes.saturating_add(sums.1);
        };
        if kind == LOCK {
            self.started.remove(&(window, target)).into_iter().for_each(&mut take);
        } else if kind != EXPOSURE {
            self.started.retain(|(of, _), sums| {
                let other = *of != window;
                if !other {
                    take(*sums);
                }
                other
            });
        }
        let ticks = (time.saturating_sub(duration), time);
        EpochSpan { window, kind, target, ticks, operations, bytes }
    }
}

/// Operations by the kinds of their records.
pub const OPERATIONS: [&str; 6] =
    ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];

/// Kinds of epochs by their numbers.
pub const EPOCHS: [&str; 5] =
    ["fence epoch", "access epoch", "exposure epoch", "lock epoch", "lock_all epoch"];

/// Writes what happened to a window.
pub(super) fn write(out: &mut impl Write, window: u16, step: WindowStep) -> io::Result<()> {
    let what = match step {
        WindowStep::Started(kind, Operation { target, bytes, number }) => {
            let name = OPERATIONS[kind];
            format!("{name} window={window} target={target} bytes={bytes} operation={number}")
        }
        WindowStep::Complete { number, .. } => {
            format!("operation complete window={window} operation={number}")
        }
        WindowStep::FenceEntered => format!("fence entered window={window}"),
        WindowStep::FencePassed => format!("fence passed window={window}"),
        WindowStep::Group(partners) => format!("epoch window={window} partners={partners}"),
        WindowStep::LockRequested(Lock { target, .. }) => {
            format!("lock requested window={window} target={target}")
        }
        WindowStep::Locked(Lock { target, .. }) => format!("lock acquired window={window} target={target}"),
        WindowStep::Unlocked(target) => format!("lock released window={window} target={target}"),
        WindowStep::Created => format!("window made window={window}"),
        WindowStep::Freed => format!("window freed window={window}"),
        WindowStep::EpochEnded(Epoch { kind, target, duration }) => {
            let name = EPOCHS.get(kind as usize).unwrap_or(&"epoch");
            format!("{name} ended window={window} target={target} ticks={duration}")
        }
    };
    writeln!(out, " {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(found: &mut OneSided, thread: u32, target: i32, number: u64) -> OperationInCall {
        found.start((thread, 10), 1, 0, Operation { target, bytes: 8, number })
    }

    #[test]
    fn an_operation_lasts_until_it_is_complete() {
        let mut found = OneSided::default();
        let operation = put(&mut found, 2, 3, 7);
        assert_eq!(operation, OperationInCall { window: 1, kind: 0, target: 3, bytes: 8 });
        let span = OperationSpan { operation, thread: 2, ticks: (10, 25) };
        assert_eq!(found.complete(25, 1, 7), Some(span));
        assert_eq!(found.complete(25, 1, 7), None);
    }

    #[test]
    fn an_epoch_has_the_operations_on_its_targets() {
        let mut found = OneSided::default();
        for (number, target) in [0, 1, 1, 2].into_iter().enumerate() {
            put(&mut found, 0, target, number as u64);
        }
        let mut end = |time, kind, target, duration| {
            let span = found.end_epoch(time, 1, Epoch { kind, target, duration });
            (span.ticks, span.operations, span.bytes)
        };
        assert_eq!(end(50, 2, -1, 50), ((0, 50), 0, 0));
        assert_eq!(end(60, 3, 1, 50), ((10, 60), 2, 16));
        assert_eq!(end(70, 0, -1, 60), ((10, 70), 2, 16));
        assert_eq!(end(80, 0, -1, 10), ((70, 80), 0, 0));
    }
}
