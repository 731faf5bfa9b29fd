//! One-sided communication as records: what a trace shows of windows.

use mpit_events::{Ticks, Token};
use mpit_sources::rma::{Call, Created, EpochKind, Observer, Operation, Synchronised};

use super::calls::Tracer;
use mel_log::format::{MAX_PAYLOAD_BYTES, NO_OBJECT};
use mel_log::{self as log, kind};

/// The number of a window in the log; windows beyond the last one that has a number have none.
pub fn object(window: u32) -> u16 {
    u16::try_from(window).unwrap_or(NO_OBJECT)
}

impl Observer for Tracer {
    fn wants_operations(&self) -> bool {
        true
    }

    fn window_created(&self, created: &Created<'_>) {
        self.recorder.at_exit(kind::WIN_CREATE, object(created.window), &[]);
    }

    fn window_freed(&self, window: u32, _: Token) {
        self.recorder.at_exit(kind::WIN_DESTROY, object(window), &[]);
    }

    #[inline]
    fn started(&self, window: u32, operation: &Operation) {
        let payload = log::Operation {
            target: operation.moved.target,
            bytes: operation.moved.size,
            number: operation.id,
        };
        let kind = kind::RMA_OPERATION + operation.kind as u16;
        self.recorder.at_entry(kind, object(window), &payload.to_payload());
    }

    #[inline]
    fn completed(&self, window: u32, _: u32, operation: &Operation, _: Ticks) {
        let kind = if operation.has_request { kind::RMA_REQUEST_COMPLETE } else { kind::RMA_COMPLETE };
        self.recorder.at_exit(kind, object(window), &operation.id.to_le_bytes());
    }

    fn synchronises(&self, window: u32, call: Call) {
        match call {
            Call::Fence => self.recorder.at_entry(kind::RMA_FENCE_BEGIN, object(window), &[]),
            Call::Lock(target, exclusive) => {
                self.recorder.at_entry(kind::RMA_LOCK_REQUEST, object(window), &lock(target, exclusive));
            }
            Call::LockAll => {
                self.recorder.at_entry(kind::RMA_LOCK_REQUEST, object(window), &lock(-1, false));
            }
            _ => {}
        }
    }

    fn synchronised(&self, window: u32, _: u32, what: &Synchronised<'_>) {
        let object = object(window);
        match what.call {
            Call::Fence => self.recorder.at_exit(kind::RMA_FENCE_END, object, &[]),
            Call::Start | Call::Complete | Call::Post | Call::Wait => self.partners(object, what.partners),
            Call::Lock(target, exclusive) => {
                self.recorder.at_exit(kind::RMA_LOCK, object, &lock(target, exclusive));
            }
            Call::LockAll => self.recorder.at_exit(kind::RMA_LOCK, object, &lock(-1, false)),
            Call::Unlock(target) => {
                self.recorder.at_exit(kind::RMA_UNLOCK, object, &target.to_le_bytes());
            }
            Call::UnlockAll => self.recorder.at_exit(kind::RMA_UNLOCK, object, &(-1i32).to_le_bytes()),
            _ => {}
        }
        if let Some(epoch) = what.ended {
            let (kind, target) = match epoch.kind {
                EpochKind::Fence => (0, -1),
                EpochKind::Access => (1, -1),
                EpochKind::Exposure => (2, -1),
                EpochKind::Lock(target) => (3, target),
                EpochKind::LockAll => (4, -1),
            };
            let duration = what.left.since(epoch.since);
            let payload = log::Epoch { kind, target, duration }.to_payload();
            self.recorder.at_exit(kind::RMA_EPOCH, object, &payload);
        }
    }
}

impl Tracer {
    /// The partners of an epoch: how many, and as many ranks as fit a record.
    fn partners(&self, object: u16, partners: &[i32]) {
        const MOST: usize = MAX_PAYLOAD_BYTES / 4 - 1;
        let partners = &partners[..partners.len().min(MOST)];
        let mut payload = [0u8; 4 * (MOST + 1)];
        payload[..4].copy_from_slice(&(partners.len() as u32).to_le_bytes());
        for (place, rank) in payload[4..].chunks_exact_mut(4).zip(partners) {
            place.copy_from_slice(&rank.to_le_bytes());
        }
        self.recorder.at_exit(kind::RMA_GROUP, object, &payload[..4 * (partners.len() + 1)]);
    }
}

/// The payload about a lock.
fn lock(target: i32, exclusive: bool) -> [u8; 8] {
    let mut payload = [0; 8];
    payload[..4].copy_from_slice(&target.to_le_bytes());
    payload[4..].copy_from_slice(&u32::from(exclusive).to_le_bytes());
    payload
}
