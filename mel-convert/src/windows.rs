//! Records of one-sided communication as text.

use std::io::{self, Write};

use mel_log::format::{u32_at, u64_at};
use mel_log::{Epoch, Operation, Record, kind};

/// Operations by the kinds of their records.
pub const OPERATIONS: [&str; 6] =
    ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];

/// Kinds of epochs by their numbers.
pub const EPOCHS: [&str; 5] =
    ["fence epoch", "access epoch", "exposure epoch", "lock epoch", "lock_all epoch"];

/// Writes what a record tells, or its kind where it is of no known one.
pub(super) fn write(out: &mut impl Write, record: &Record<'_>) -> io::Result<()> {
    let (window, payload) = (record.object, &record.payload);
    let target = u32_at(payload, 0) as i32;
    let what = match record.kind {
        kind::RMA_OPERATION..=kind::RMA_LAST_OPERATION => {
            let Operation { target, bytes, number } = Operation::from_payload(payload);
            let name = OPERATIONS[usize::from(record.kind - kind::RMA_OPERATION)];
            format!("{name} window={window} target={target} bytes={bytes} operation={number}")
        }
        kind::RMA_COMPLETE | kind::RMA_REQUEST_COMPLETE => {
            format!("operation complete window={window} operation={}", u64_at(payload, 0))
        }
        kind::RMA_FENCE_BEGIN => format!("fence entered window={window}"),
        kind::RMA_FENCE_END => format!("fence passed window={window}"),
        kind::RMA_GROUP => format!("epoch window={window} partners={target}"),
        kind::RMA_LOCK_REQUEST => format!("lock requested window={window} target={target}"),
        kind::RMA_LOCK => format!("lock acquired window={window} target={target}"),
        kind::RMA_UNLOCK => format!("lock released window={window} target={target}"),
        kind::WIN_CREATE => format!("window made window={window}"),
        kind::WIN_DESTROY => format!("window freed window={window}"),
        kind::RMA_EPOCH => {
            let Epoch { kind, target, duration } = Epoch::from_payload(payload);
            let name = EPOCHS.get(kind as usize).unwrap_or(&"epoch");
            format!("{name} ended window={window} target={target} ticks={duration}")
        }
        other => format!("record of kind {other}"),
    };
    writeln!(out, " {what}")
}
