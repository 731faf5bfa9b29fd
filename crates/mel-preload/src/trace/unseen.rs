//! What one has to know later of the time in which recording is off: how many messages there were between whom, so that
//! those that are recorded afterwards are not taken for others, and how the queues changed.
//!
//! Cost: a lock that only other threads of a program that calls MPI from several contend for, and a look-up, for each message
//! and for each change of a queue while recording is off; nothing while it is on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use mel_log::{UnseenEvents, UnseenMessages};

/// Peers with tags that are counted apart.
const MOST: usize = 1 << 16;

/// Counts while recording is off.
#[derive(Debug, Default)]
pub(super) struct Unseen(Mutex<Counts>);

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// By communicator, peer and tag: how many were sent and received.
    messages: FxHashMap<(u16, i32, i32), (u32, u32)>,
    /// By event type and communicator.
    events: FxHashMap<(u16, u16), u64>,
    /// Whether there were more than are counted apart.
    incomplete: bool,
    /// The latest request when recording was switched last.
    latest: u64,
}

impl Unseen {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recording is switched, and this is the latest request. Gives what was counted since it was switched off.
    pub(super) fn switch(&self, latest: u64) -> Counts {
        std::mem::replace(&mut *self.counts(), Counts { latest, ..Counts::default() })
    }

    /// Whether this request began since recording was switched off.
    pub(super) fn has_begun(&self, request: u64) -> bool {
        request > self.counts().latest
    }

    /// A message was sent, or received, that nobody sees.
    pub(super) fn message(&self, (object, peer, tag): (u16, i32, i32), sent: bool) {
        let mut counts = self.counts();
        if counts.messages.len() == MOST && !counts.messages.contains_key(&(object, peer, tag)) {
            counts.incomplete = true;
            return;
        }
        let (sends, receives) = counts.messages.entry((object, peer, tag)).or_default();
        let count = if sent { sends } else { receives };
        *count = count.saturating_add(1);
    }

    /// Events of these types happened on these communicators.
    pub(super) fn events(&self, events: impl Iterator<Item = (u16, u16)>) {
        let mut counts = self.counts();
        for event in events {
            *counts.events.entry(event).or_default() += 1;
        }
    }
}

impl Counts {
    /// Whether there was more than [`messages`](Self::messages) gives.
    pub(super) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// The messages of each communicator.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u16, UnseenMessages)> + '_ {
        self.messages.iter().map(|(&(object, peer, tag), &(sent, received))| {
            (object, UnseenMessages { peer, tag, sent, received })
        })
    }

    /// The events of each communicator.
    pub(super) fn events(&self) -> impl Iterator<Item = (u16, UnseenEvents)> + '_ {
        self.events.iter().map(|(&(event_type, object), &count)| {
            (object, UnseenEvents { event_type, count, ..UnseenEvents::default() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_given_once() {
        let unseen = Unseen::default();
        unseen.switch(5);
        unseen.message((0, 1, 7), true);
        unseen.message((0, 1, 7), false);
        unseen.message((0, 1, 7), true);
        unseen.events([(3, 0), (3, 0), (4, 1)].into_iter());
        assert!(unseen.has_begun(6) && !unseen.has_begun(5));
        let counts = unseen.switch(9);
        let messages: Vec<_> = counts.messages().collect();
        assert_eq!(messages, [(0, UnseenMessages { peer: 1, tag: 7, sent: 2, received: 1 })]);
        assert_eq!(counts.events().map(|(_, events)| events.count).sum::<u64>(), 3);
        assert!(!counts.is_incomplete() && unseen.switch(9).messages().next().is_none());
        (0..=MOST as i32).for_each(|tag| unseen.message((0, 0, tag), true));
        let counts = unseen.switch(9);
        assert!(counts.is_incomplete() && counts.messages().count() == MOST);
    }
}
