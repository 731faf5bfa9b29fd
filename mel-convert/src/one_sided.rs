//! One-sided communication of a rank, as its log goes on: operations from their start to their completion, and epochs with
//! what was done in them.

use rustc_hash::FxHashMap;

use super::windows::EPOCHS;
use mel_log::format::u64_at;
use mel_log::{Epoch, Operation, Record, kind};

/// Operations whose start is kept, at most: those that nothing completes would add up.
const MAX_KEPT: usize = 1 << 20;

/// An operation, told in the call that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationInCall {
    /// Number of the window.
    pub window: u16,
    /// Its place among [`OPERATIONS`](super::windows::OPERATIONS).
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
    /// An operation is started.
    pub(super) fn start(&mut self, thread: u32, record: &Record<'_>) -> OperationInCall {
        let Operation { target, bytes, number } = Operation::from_payload(&record.payload);
        let kind = usize::from(record.kind - kind::RMA_OPERATION);
        let told = OperationInCall { window: record.object, kind, target, bytes };
        if self.pending.len() < MAX_KEPT {
            self.pending.insert((record.object, number), (told, thread, record.time));
        }
        let sums = self.started.entry((record.object, target)).or_default();
        *sums = (sums.0 + 1, sums.1.saturating_add(bytes));
        told
    }

    /// An operation is complete; none if its start is not known.
    pub(super) fn complete(&mut self, record: &Record<'_>) -> Option<OperationSpan> {
        let number = u64_at(&record.payload, 0);
        let (operation, thread, since) = self.pending.remove(&(record.object, number))?;
        Some(OperationSpan { operation, thread, ticks: (since, record.time.max(since)) })
    }

    /// An epoch has ended.
    pub(super) fn end_epoch(&mut self, record: &Record<'_>) -> EpochSpan {
        let Epoch { kind, target, duration } = Epoch::from_payload(&record.payload);
        let (window, kind) = (record.object, (kind as usize).min(EPOCHS.len() - 1));
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
        let ticks = (record.time.saturating_sub(duration), record.time);
        EpochSpan { window, kind, target, ticks, operations, bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn record(time: u64, kind: u16, payload: Vec<u8>) -> Record<'static> {
        Record { time, kind, object: 1, payload: Cow::Owned(payload) }
    }

    fn put(time: u64, target: i32, number: u64) -> Record<'static> {
        let operation = Operation { target, bytes: 8, number };
        record(time, kind::RMA_OPERATION, operation.to_payload().to_vec())
    }

    fn epoch(time: u64, kind: u32, target: i32, duration: u64) -> Record<'static> {
        record(time, kind::RMA_EPOCH, Epoch { kind, target, duration }.to_payload().to_vec())
    }

    #[test]
    fn an_operation_lasts_until_it_is_complete() {
        let mut found = OneSided::default();
        let told = found.start(2, &put(10, 3, 7));
        assert_eq!(told, OperationInCall { window: 1, kind: 0, target: 3, bytes: 8 });
        let complete = record(25, kind::RMA_COMPLETE, 7u64.to_le_bytes().to_vec());
        assert_eq!(
            found.complete(&complete),
            Some(OperationSpan { operation: told, thread: 2, ticks: (10, 25) })
        );
        assert_eq!(found.complete(&complete), None);
    }

    #[test]
    fn an_epoch_has_the_operations_on_its_targets() {
        let mut found = OneSided::default();
        for (number, target) in [0, 1, 1, 2].into_iter().enumerate() {
            found.start(0, &put(10, target, number as u64));
        }
        let told = |span: EpochSpan| (span.ticks, span.operations, span.bytes);
        assert_eq!(told(found.end_epoch(&epoch(50, 2, -1, 50))), ((0, 50), 0, 0));
        assert_eq!(told(found.end_epoch(&epoch(60, 3, 1, 50))), ((10, 60), 2, 16));
        assert_eq!(told(found.end_epoch(&epoch(70, 0, -1, 60))), ((10, 70), 2, 16));
        assert_eq!(told(found.end_epoch(&epoch(80, 0, -1, 10))), ((70, 80), 0, 0));
    }
}
