//! The queues of one rank, as its log goes on: how long they are, and how long what leaves them was in them.
//!
//! An entry that leaves a queue at the end of a region with an element `request` is what that request gets: the message of
//! a receive that was unexpected. Times are in whatever unit the reader of the log gives them.

use rustc_hash::FxHashMap;

use super::types::{Change, QueueKind, Role, Type, Types};
use mel_log::UnseenEvents;

/// Entries whose times are kept, at most: receives whose completion is not in the log would add up.
const MAX_KEPT: usize = 1 << 20;

/// How long something was in a queue: when it came, and when it left.
pub type Stay = (u64, u64);

/// The region of a stream that was entered last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latest {
    request: Option<u32>,
    left: Option<u64>,
}

impl Latest {
    /// A region begins, with its elements.
    pub fn enter(&mut self, begin: &Type<'_>, payload: &[u8]) {
        *self = Latest { request: begin.request(payload).map(|request| request as u32), left: None };
    }

    /// It ends.
    pub fn leave(&mut self, time: u64) {
        self.left = Some(time);
    }

    /// Whom it is that gets what leaves a queue now.
    fn gets(&self, time: u64) -> Option<u32> {
        self.request.filter(|_| self.left.is_none_or(|left| left == time))
    }
}

/// The lengths of a queue after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// On the communicator of the change.
    pub of_communicator: u64,
    /// On all communicators.
    pub of_all: u64,
}

impl Length {
    fn of(length: i64, all: i64) -> Length {
        let [of_communicator, of_all] = [length, all].map(|length| u64::try_from(length).unwrap_or(0));
        Length { of_communicator, of_all }
    }
}

/// The queues of a rank.
#[derive(Debug, Default)]
pub struct Queues {
    /// By queue.
    kinds: Vec<QueueKind>,
    /// By queue: the length on all communicators. Below zero for a moment, where what left a queue unseen is known before
    /// what came.
    all: Vec<i64>,
    /// By queue and communicator.
    lengths: FxHashMap<(usize, u16), i64>,
    /// When each unexpected message came, by queue and request.
    inserted: FxHashMap<(usize, u64), u64>,
    /// How long what a request got had been in its queue.
    found: FxHashMap<u32, Stay>,
    /// The request that a thread has found something for since its current call began.
    latest: FxHashMap<u32, u32>,
    /// Queues and communicators that changed while recording was off, until that is asked for.
    changed: Vec<(usize, u16)>,
}

impl Queues {
    /// The queues that these types change, all empty.
    pub fn new(types: &Types<'_>) -> Queues {
        let kinds: Vec<QueueKind> = types.queues.iter().map(|queue| queue.kind).collect();
        Queues { all: vec![0; kinds.len()], kinds, ..Queues::default() }
    }

    /// Recording is switched off: what is in the queues may leave them unseen.
    pub fn pause(&mut self) {
        self.inserted.clear();
        self.found.clear();
        self.latest.clear();
    }

    /// Recording is on again, and these events on this communicator went unseen.
    pub fn unseen(&mut self, types: &Types<'_>, comm: u16, events: UnseenEvents) {
        let UnseenEvents { event_type, count, .. } = events;
        let Some(Role::Changes(Change { queue, inserts })) = types.get(event_type).map(|of| of.role) else {
            return;
        };
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let by = if inserts { count } else { -count };
        let key = (queue, comm);
        let (length, all) = (self.lengths.entry(key).or_default(), &mut self.all[queue]);
        (*length, *all) = (length.saturating_add(by), all.saturating_add(by));
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// Whether queues changed unseen, which has not been asked for.
    #[inline]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Once all events that went unseen are known: the queues that changed, with the communicator, and how
    /// long they are.
    pub fn changed(&mut self) -> Vec<(usize, u16, Length)> {
        let length = |(queue, comm)| (queue, comm, Length::of(self.lengths[&(queue, comm)], self.all[queue]));
        let changed = self.changed.iter().copied().map(length).collect();
        self.changed.clear();
        changed
    }

    /// The length of a queue on a communicator.
    pub fn length(&self, queue: usize, comm: u16) -> u64 {
        self.lengths.get(&(queue, comm)).map_or(0, |length| u64::try_from(*length).unwrap_or(0))
    }

    /// An entry comes or goes, on a thread whose source is in the region `latest`.
    pub fn apply(
        &mut self,
        change: Change,
        (thread, latest): (u32, &Latest),
        (comm, time): (u16, u64),
        request: Option<u64>,
    ) -> Length {
        let Change { queue, inserts } = change;
        let (length, all) = (self.lengths.entry((queue, comm)).or_default(), &mut self.all[queue]);
        let step = |length: i64| if inserts { length.saturating_add(1) } else { (length - 1).max(0) };
        (*length, *all) = (step(*length), step(*all));
        let lengths = Length::of(*length, *all);
        // Nobody asks how long receives were posted.
        if let Some(request) = request.filter(|_| self.kinds[queue] != QueueKind::Posted) {
            if !inserts {
                self.leaves((queue, request), time, thread, latest);
            } else if self.inserted.len() < MAX_KEPT {
                self.inserted.insert((queue, request), time);
            }
        }
        lengths
    }

    fn leaves(&mut self, entry: (usize, u64), time: u64, thread: u32, latest: &Latest) {
        if let (Some(since), Some(request)) = (self.inserted.remove(&entry), latest.gets(time))
            && self.found.len() < MAX_KEPT
        {
            self.found.insert(request, (since, time));
            self.latest.insert(thread, request);
        }
    }

    /// A thread begins another call.
    pub fn begin_call(&mut self, thread: u32) {
        self.latest.remove(&thread);
    }

    /// A receive is complete: how long its message was unexpected. Without a request it is the one that the thread has
    /// found a message for in its current call.
    pub fn received(&mut self, thread: u32, request: Option<u32>) -> Option<Stay> {
        let request = request.or_else(|| self.latest.remove(&thread))?;
        self.found.remove(&request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues() -> Queues {
        let kinds = vec![QueueKind::Posted, QueueKind::Unexpected];
        Queues { all: vec![0; 2], kinds, ..Queues::default() }
    }

    fn change(queue: usize, inserts: bool) -> Change {
        Change { queue, inserts }
    }

    #[test]
    fn lengths_are_those_of_a_communicator_and_of_all() {
        let (mut queues, none) = (queues(), Latest::default());
        queues.apply(change(0, true), (0, &none), (1, 10), Some(1));
        let second = queues.apply(change(0, true), (0, &none), (2, 11), Some(2));
        assert_eq!(second, Length { of_communicator: 1, of_all: 2 });
        let third = queues.apply(change(0, false), (0, &none), (1, 12), Some(1));
        assert_eq!(third, Length { of_communicator: 0, of_all: 1 });
        assert_eq!((queues.length(0, 2), queues.length(1, 2)), (1, 0));
    }

    #[test]
    fn a_receive_knows_how_long_its_message_was_unexpected() {
        let (mut queues, searching) = (queues(), Latest { request: Some(7), left: Some(30) });
        queues.apply(change(1, true), (0, &Latest::default()), (0, 10), Some(100));
        queues.apply(change(1, true), (0, &Latest::default()), (0, 11), Some(101));
        queues.apply(change(1, false), (3, &searching), (0, 30), Some(100));
        // Another time than that of the search: nobody knows for whom.
        queues.apply(change(1, false), (3, &searching), (0, 31), Some(101));
        assert_eq!(queues.received(3, None), Some((10, 30)));
        assert_eq!((queues.received(3, None), queues.received(3, Some(7))), (None, None));
    }
}
