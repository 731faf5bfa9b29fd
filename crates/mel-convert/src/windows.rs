//! Records of one-sided communication as text.

use std::io::{self, Write};

use super::content::{Lock, WindowStep};
use mel_log::{Epoch, Operation};

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
