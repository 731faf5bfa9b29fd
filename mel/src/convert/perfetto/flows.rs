//! Which send belongs to which receive.
//!
//! Messages from one rank to another with one tag in one communicator do not overtake each other
//! (MPI-5.0, section 3.5): the n-th that was sent is matched by the n-th receive that was posted, of
//! those that took such a message. So both sides compute the same number without looking at each other.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::super::spans::{CallSpan, MessageInCall, Visitor, walk};
use crate::log::RankLog;

/// Sender, receiver, communicator and tag of a message, as one number.
fn key(log: &RankLog, told: &MessageInCall) -> Option<u64> {
    let known = log.definitions.communicators.get(&told.object)?;
    let members = known.remote.as_ref().unwrap_or(&known.members);
    let peer = members.get(u32::try_from(told.message.peer).ok()?)?;
    let (rank, peer) = (i64::from(log.info.rank), i64::from(peer));
    let (sender, receiver) = if told.sent { (rank, peer) } else { (peer, rank) };
    let mut hasher = FxHasher::default();
    (known.context, sender, receiver, told.message.tag).hash(&mut hasher);
    Some(hasher.finish())
}

/// The flow of the message of that number among those of a key. Never 0.
fn flow(key: u64, number: u64) -> u64 {
    let mut hasher = FxHasher::default();
    (key, number).hash(&mut hasher);
    hasher.finish().max(1)
}

/// The flows of a rank's messages.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Of the receives, in the order in which the log tells of them.
    receives: Vec<u64>,
    next: usize,
    sent: FxHashMap<u64, u64>,
}

impl Flows {
    /// Looks at the receives of a log: which of them were posted first is only known at the end.
    pub(super) fn of(log: &RankLog) -> Flows {
        let mut pass = Receives { log, found: Vec::new() };
        walk(log, &mut pass, &|_| {});
        let mut order: Vec<usize> = (0..pass.found.len()).collect();
        order.sort_by_key(|i| pass.found[*i]);
        let mut receives = vec![0; pass.found.len()];
        let (mut before, mut number) = (None, 0);
        for i in order {
            let (key, _) = pass.found[i];
            number = if key == before { number + 1 } else { 0 };
            before = key;
            receives[i] = key.map_or(0, |key| flow(key, number));
        }
        Flows { receives, ..Flows::default() }
    }

    /// The flow of the next message of the log; none if its communicator is not known.
    pub(super) fn next(&mut self, log: &RankLog, told: &MessageInCall) -> Option<u64> {
        if !told.sent {
            self.next += 1;
            return self.receives.get(self.next - 1).copied().filter(|flow| *flow != 0);
        }
        let key = key(log, told)?;
        let number = self.sent.entry(key).or_insert(0);
        *number += 1;
        Some(flow(key, *number - 1))
    }
}

struct Receives<'a> {
    log: &'a RankLog,
    /// Key, and when it was posted.
    found: Vec<(Option<u64>, u64)>,
}

impl Visitor for Receives<'_> {
    fn call(&mut self, call: &CallSpan<'_>) {
        for told in call.messages.iter().filter(|told| !told.sent) {
            self.found.push((key(self.log, told), told.order));
        }
    }
}
