//! From the notifications of PERUSE to the events of the prototype: plain data, without knowledge of MPI.
//!
//! PERUSE notifies of single moments. Here a removal finds its insertion and the end of a search its beginning,
//! so that each event has the time at which it began. Where PERUSE is known to report too much or too little, this
//! makes of it what the events' descriptions say:
//!
//! * a waiting probe leaves the posted queue, which it never entered: no event;
//! * a search for a probe that finds a message has no end: the probe's completion ends it;
//! * a matched probe takes its message out of the unexpected queue without a notification: the exit of the call
//!   stands for it ([`Queues::taken`]);
//! * a message that came before its communicator was made, or while it was, is queued when nobody can
//!   listen yet: all its events are raised when it leaves;
//! * sequence numbers are missing: messages are counted here, from when listening began, those of the
//!   application and those of the MPI itself apart.
//!
//! Events between which ob1 does nothing share one reading of the clock, which would cost more than it
//! measures: a search ends when it has changed its queue, and a receive is queued when its search has ended. A search
//! of an empty queue is charged the duration of the shortest of the first ones.

use hashbrown::HashMap;
use mpit_events::Ticks;
use rustc_hash::FxBuildHasher;

use crate::by_handle::ByHandle;
use crate::matching::queues::{List, Slab};
use crate::matching::{
    ANY_TAG, Arrived, CommIndex, Event, Queued, Request, Searched, SearchedFor, Sink, Transferred,
    UnexpectedQueued,
};

/// The PERUSE events that are listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Activate,
    InsertPosted,
    RemovePosted,
    TransferBegin,
    TransferContinue,
    TransferEnd,
    Complete,
    Notify,
    Arrived,
    InsertUnexpected,
    RemoveUnexpected,
    SearchPostedBegin,
    SearchPostedEnd,
    SearchUnexpectedBegin,
    SearchUnexpectedEnd,
}

impl Kind {
    pub(super) const COUNT: usize = 15;

    /// All of them, with PERUSE's names.
    pub(super) const ALL: [(Kind, &std::ffi::CStr); Kind::COUNT] = [
        (Kind::Activate, c"PERUSE_COMM_REQ_ACTIVATE"),
        (Kind::InsertPosted, c"PERUSE_COMM_REQ_INSERT_IN_POSTED_Q"),
        (Kind::RemovePosted, c"PERUSE_COMM_REQ_REMOVE_FROM_POSTED_Q"),
        (Kind::TransferBegin, c"PERUSE_COMM_REQ_XFER_BEGIN"),
        (Kind::TransferContinue, c"PERUSE_COMM_REQ_XFER_CONTINUE"),
        (Kind::TransferEnd, c"PERUSE_COMM_REQ_XFER_END"),
        (Kind::Complete, c"PERUSE_COMM_REQ_COMPLETE"),
        (Kind::Notify, c"PERUSE_COMM_REQ_NOTIFY"),
        (Kind::Arrived, c"PERUSE_COMM_MSG_ARRIVED"),
        (Kind::InsertUnexpected, c"PERUSE_COMM_MSG_INSERT_IN_UNEX_Q"),
        (Kind::RemoveUnexpected, c"PERUSE_COMM_MSG_REMOVE_FROM_UNEX_Q"),
        (Kind::SearchPostedBegin, c"PERUSE_COMM_SEARCH_POSTED_Q_BEGIN"),
        (Kind::SearchPostedEnd, c"PERUSE_COMM_SEARCH_POSTED_Q_END"),
        (Kind::SearchUnexpectedBegin, c"PERUSE_COMM_SEARCH_UNEX_Q_BEGIN"),
        (Kind::SearchUnexpectedEnd, c"PERUSE_COMM_SEARCH_UNEX_Q_END"),
    ];

    pub(super) fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// The notifications that an event needs, as bits of [`Kind`]. `probes`: the application probes, and such searches end with
/// their completion. Without probes, the notification of each request's completion is saved.
pub(super) fn needs(event: Event, probes: bool) -> u16 {
    let of_probes = match event {
        Event::SearchUnexpectedEnd | Event::UnexRemove if probes => Kind::Complete.bit(),
        _ => 0,
    };
    of_probes | needs_without_probes(event)
}

fn needs_without_probes(event: Event) -> u16 {
    use Kind as K;
    let kinds: &[Kind] = match event {
        Event::MessageArrived => &[K::Arrived],
        Event::SearchPostedBegin => &[K::SearchPostedBegin],
        Event::SearchPostedEnd => &[K::SearchPostedBegin, K::SearchPostedEnd],
        Event::SearchUnexpectedBegin => &[K::SearchUnexpectedBegin],
        Event::SearchUnexpectedEnd => &[K::SearchUnexpectedBegin, K::SearchUnexpectedEnd],
        Event::PostedInsert => &[K::InsertPosted],
        Event::PostedRemove => &[K::InsertPosted, K::RemovePosted],
        // The search knows the sequence number.
        Event::UnexInsert => &[K::InsertUnexpected, K::SearchPostedBegin],
        Event::UnexRemove => &[
            K::InsertUnexpected,
            K::RemoveUnexpected,
            K::SearchPostedBegin,
            K::SearchUnexpectedBegin,
            K::SearchUnexpectedEnd,
        ],
        Event::TransferBegin => &[K::TransferBegin],
        Event::Transfer => &[K::TransferContinue],
        Event::TransferEnd => &[K::TransferEnd],
        // A receive that leaves the posted queue outside of a search is cancelled.
        Event::Cancel => &[K::InsertPosted, K::RemovePosted, K::SearchPostedBegin, K::SearchPostedEnd],
        Event::Free => &[K::Notify],
        Event::RequestActivate => &[K::Activate],
        Event::RequestComplete => &[K::Complete],
    };
    kinds.iter().fold(0, |bits, kind| bits | kind.bit())
}

/// What PERUSE passes with an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notification {
    pub(super) kind: Kind,
    /// Address of the request; 0 for events of messages.
    pub(super) request: u64,
    pub(super) peer: i32,
    pub(super) tag: i32,
    /// Elements, or bytes for a transfer.
    pub(super) count: i32,
}

impl Notification {
    /// Whether it is about a message of the MPI itself: those have tags that no application can use.
    pub(super) fn is_internal(&self) -> bool {
        self.tag < ANY_TAG
    }
}

/// The communicator of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Where {
    /// Its index among the objects.
    pub(super) comm: CommIndex,
    /// The start of its identity.
    pub(super) context: u32,
}

/// A search of the posted queue.
#[derive(Clone, Copy, Debug)]
struct PostedSearch {
    comm: CommIndex,
    begin: Ticks,
    /// When it changed a queue; `begin` where it has not yet.
    changed: Ticks,
    sequence: u32,
}

/// A search of the unexpected queue.
#[derive(Clone, Copy, Debug)]
struct UnexpectedSearch {
    comm: CommIndex,
    request: u64,
    begin: Ticks,
    changed: Ticks,
}

/// The searches that a thread is doing in ob1.
#[derive(Debug, Default)]
pub(super) struct Searching {
    posted: Option<PostedSearch>,
    unexpected: Option<UnexpectedSearch>,
    /// The request of the search that has just ended, and when: without a message its receive is queued next.
    ended: Option<(u64, Ticks)>,
    /// Whether the last search for a probe has found a message.
    probe_found: bool,
}

impl Searching {
    /// Whether a search for a probe has found a message since the last call of this.
    pub(super) fn take_probe_found(&mut self) -> bool {
        std::mem::take(&mut self.probe_found)
    }
}

/// A message in the unexpected queue.
#[derive(Clone, Copy, Debug, Default)]
struct Message {
    id: u64,
    queued: Ticks,
    sequence: u32,
}

/// Messages of one sender: the application's, and the MPI's own.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    arrived: [u32; 2],
    searched: [u32; 2],
}

/// Slots of the direct part of the table of receives in the posted queue: a power of two.
const SLOTS: usize = 256;

/// Searches that are timed to learn what the shortest takes.
const TIMED: u32 = 100;

/// The duration of the shortest search of an empty queue.
#[derive(Debug)]
struct Shortest {
    ticks: u64,
    timed: u32,
}

impl Shortest {
    const UNKNOWN: Shortest = Shortest { ticks: u64::MAX, timed: 0 };

    /// The ticks of one more search: measured, or charged.
    #[inline(always)]
    fn take(&mut self, measure: impl FnOnce() -> u64) -> u64 {
        if self.timed == TIMED {
            return self.ticks;
        }
        let ticks = measure();
        self.timed += 1;
        self.ticks = self.ticks.min(ticks);
        ticks
    }
}

/// The queues of one communicator, as far as PERUSE notifies of them. ob1's matching lock protects the queues, and so
/// orders the notifications.
#[derive(Debug)]
pub(super) struct Queues {
    /// When receives came into the posted queue, by request.
    posted: ByHandle<Ticks>,
    messages: Slab<Message>,
    /// Messages with the same source and tag, in their order.
    unexpected: HashMap<(i32, i32), List, FxBuildHasher>,
    senders: Vec<Sender>,
    /// The duration of a search of the empty unexpected queue.
    empty_search: Shortest,
    identities: u64,
    /// When listening began, where that was the communicator's beginning.
    whole_since: Option<Ticks>,
}

impl Queues {
    /// The queues of a new communicator, listened to from `whole_since` if that is its beginning.
    pub(super) fn new(whole_since: Option<Ticks>) -> Self {
        Queues {
            whole_since,
            posted: ByHandle::new(SLOTS, Ticks(0)),
            messages: Slab::with_capacity(64),
            unexpected: HashMap::default(),
            senders: Vec::new(),
            empty_search: Shortest::UNKNOWN,
            identities: 0,
        }
    }

    /// Forgets the queues, when nobody listens any more: what is queued will not be known when somebody listens again.
    pub(super) fn forget(&mut self) {
        *self = Queues { senders: std::mem::take(&mut self.senders), ..Queues::new(None) };
    }

    /// Raises the events of a notification of PERUSE. Everything that runs per event is in here.
    #[inline]
    pub(super) fn notified(
        &mut self,
        notification: Notification,
        at: Where,
        thread: &mut Searching,
        sink: &mut impl Sink,
    ) {
        let Notification { kind, request, peer, tag, count } = notification;
        let comm = at.comm;
        match kind {
            Kind::Arrived => {
                let sequence = next(&mut self.sender(peer).arrived, notification.is_internal());
                let arrived = Arrived { context: at.context, source: peer, tag, sequence };
                sink.emit(Event::MessageArrived, comm, sink.now(), false, arrived);
            }
            Kind::SearchPostedBegin => {
                let begin = sink.now();
                let sequence = next(&mut self.sender(peer).searched, notification.is_internal());
                thread.posted = Some(PostedSearch { comm, begin, changed: begin, sequence });
                let searched = Searched { source: peer, tag, sequence };
                sink.emit(Event::SearchPostedBegin, comm, begin, false, searched);
            }
            Kind::SearchPostedEnd => search_posted_ended(notification, comm, thread, sink),
            Kind::RemovePosted => self.removed_posted(notification, comm, thread, sink),
            Kind::InsertUnexpected => self.inserted_unexpected(notification, comm, thread, sink),
            Kind::RemoveUnexpected => {
                let now = sink.now();
                if let Some(search) = &mut thread.unexpected {
                    search.changed = now;
                }
                self.unqueue(peer, tag, at, now, sink);
            }
            Kind::SearchUnexpectedBegin => {
                let begin = sink.now();
                thread.unexpected = Some(UnexpectedSearch { comm, request, begin, changed: begin });
                let searched = SearchedFor { request, source: peer, tag };
                sink.emit(Event::SearchUnexpectedBegin, comm, begin, false, searched);
            }
            Kind::SearchUnexpectedEnd => self.search_unexpected_ended(notification, comm, thread, sink),
            Kind::InsertPosted => {
                let now = match thread.ended {
                    Some((its, end)) if its == request => end,
                    _ => sink.now(),
                };
                thread.ended = None;
                self.posted.insert(request as usize, now);
                sink.emit(Event::PostedInsert, comm, now, false, Queued { request, source: peer, tag });
            }
            Kind::Complete => completed(notification, comm, thread, sink),
            Kind::Activate => {
                sink.emit(Event::RequestActivate, comm, sink.now(), false, Request { request });
            }
            Kind::TransferBegin => {
                sink.emit(Event::TransferBegin, comm, sink.now(), false, Request { request });
            }
            Kind::TransferContinue => {
                let transferred = Transferred { request, length: u64::try_from(count).unwrap_or(0) };
                sink.emit(Event::Transfer, comm, sink.now(), false, transferred);
            }
            Kind::TransferEnd => {
                sink.emit(Event::TransferEnd, comm, sink.now(), false, Request { request });
            }
            Kind::Notify => sink.emit(Event::Free, comm, sink.now(), false, Request { request }),
        }
    }

    /// A receive has left the posted queue: found by a search, or cancelled.
    fn removed_posted(
        &mut self,
        of: Notification,
        comm: CommIndex,
        thread: &mut Searching,
        sink: &mut impl Sink,
    ) {
        let Notification { request, peer, tag, .. } = of;
        // A probe was never queued.
        let Some(queued) = self.posted.remove(request as usize) else { return };
        let now = sink.now();
        let removed = Queued { request, source: peer, tag };
        sink.emit_end(Event::PostedRemove, comm, queued, now, false, removed);
        match thread.posted.as_mut().filter(|search| search.comm == comm) {
            Some(search) => search.changed = now,
            None => sink.emit(Event::Cancel, comm, now, false, Request { request }),
        }
    }

    /// A message has entered the unexpected queue.
    fn inserted_unexpected(
        &mut self,
        of: Notification,
        comm: CommIndex,
        thread: &mut Searching,
        sink: &mut impl Sink,
    ) {
        let Notification { peer, tag, .. } = of;
        let now = sink.now();
        let search = thread.posted.as_mut().filter(|search| search.comm == comm);
        let sequence = search.as_ref().map_or(0, |search| search.sequence);
        if let Some(search) = search {
            search.changed = now;
        }
        let id = self.queue(peer, tag, sequence, now);
        let inserted = UnexpectedQueued { request: id, source: peer, tag, sequence };
        sink.emit(Event::UnexInsert, comm, now, false, inserted);
    }

    /// A search of the unexpected queue has ended.
    fn search_unexpected_ended(
        &mut self,
        of: Notification,
        comm: CommIndex,
        thread: &mut Searching,
        sink: &mut impl Sink,
    ) {
        let Notification { request, peer, tag, .. } = of;
        let Some(UnexpectedSearch { request: its, begin, changed, .. }) = thread.unexpected else {
            return;
        };
        thread.unexpected = None;
        if its != request {
            return;
        }
        let end = if changed != begin {
            changed
        } else if self.messages.len() == 0 {
            begin.plus(self.empty_search.take(|| sink.now().since(begin)))
        } else {
            sink.now()
        };
        let searched = SearchedFor { request, source: peer, tag };
        sink.emit_end(Event::SearchUnexpectedEnd, comm, begin, end, false, searched);
        thread.ended = Some((request, end));
    }

    /// A matched probe has taken a message out of the unexpected queue.
    pub(super) fn taken(&mut self, source: i32, tag: i32, at: Where, sink: &mut impl Sink) {
        self.unqueue(source, tag, at, sink.now(), sink);
    }

    fn sender(&mut self, rank: i32) -> &mut Sender {
        let rank = usize::try_from(rank).unwrap_or(0);
        if rank >= self.senders.len() {
            self.senders.resize(rank + 1, Sender::default());
        }
        &mut self.senders[rank]
    }

    fn queue(&mut self, source: i32, tag: i32, sequence: u32, queued: Ticks) -> u64 {
        self.identities += 1;
        let (place, message) = self.messages.take();
        *message = Message { id: self.identities, queued, sequence };
        let list = self.unexpected.entry((source, tag)).or_insert(List::EMPTY);
        self.messages.append(list, place);
        self.identities
    }

    /// Takes out the first message with this source and tag: the one that ob1 has found, as it searches in their
    /// order.
    fn unqueue(&mut self, source: i32, tag: i32, at: Where, now: Ticks, sink: &mut impl Sink) {
        let Some(place) = self.unexpected.get(&(source, tag)).and_then(|list| list.first()) else {
            return self.unqueue_early(source, tag, at, now, sink);
        };
        if let Some(list) = self.unexpected.get_mut(&(source, tag)) {
            self.messages.unlink(list, place);
            if list.is_empty() {
                self.unexpected.remove(&(source, tag));
            }
        }
        let Some(&Message { id, queued, sequence }) = self.messages.get(place) else { return };
        self.messages.discard(place);
        let removed = UnexpectedQueued { request: id, source, tag, sequence };
        sink.emit_end(Event::UnexRemove, at.comm, queued, now, false, removed);
    }

    /// A message leaves whose arrival was not seen. It came before the communicator was made; or, where listening began
    /// later, before that, and then it has no events.
    #[cold]
    fn unqueue_early(&mut self, source: i32, tag: i32, at: Where, now: Ticks, sink: &mut impl Sink) {
        let Some(since) = self.whole_since else { return };
        self.identities += 1;
        let (sequence, comm) = (0, at.comm);
        let queued = UnexpectedQueued { request: self.identities, source, tag, sequence };
        let arrived = Arrived { context: at.context, source, tag, sequence };
        let searched = Searched { source, tag, sequence };
        sink.emit(Event::MessageArrived, comm, now, false, arrived);
        sink.emit(Event::SearchPostedBegin, comm, now, false, searched);
        sink.emit(Event::UnexInsert, comm, now, false, queued);
        sink.emit(Event::SearchPostedEnd, comm, now, false, searched);
        sink.emit_end(Event::UnexRemove, comm, since, now, false, queued);
    }
}

/// A search of the posted queue has ended.
fn search_posted_ended(of: Notification, comm: CommIndex, thread: &mut Searching, sink: &mut impl Sink) {
    let Notification { peer, tag, .. } = of;
    // Field by field: copying the whole would wait until the stores of its fields have left the processor. The
    // same below.
    let Some(PostedSearch { comm: its, begin, changed, sequence }) = thread.posted else {
        return;
    };
    thread.posted = None;
    if its != comm {
        return;
    }
    let end = if changed == begin { sink.now() } else { changed };
    let searched = Searched { source: peer, tag, sequence };
    sink.emit_end(Event::SearchPostedEnd, comm, begin, end, false, searched);
}

/// A request is complete.
fn completed(of: Notification, comm: CommIndex, thread: &mut Searching, sink: &mut impl Sink) {
    let Notification { request, peer, tag, .. } = of;
    // A receive's search has ended before: this one was for a probe, and found a message.
    if let Some(search) = thread.unexpected.take_if(|search| search.request == request) {
        thread.probe_found = true;
        let searched = SearchedFor { request, source: peer, tag };
        let now = sink.now();
        sink.emit_end(Event::SearchUnexpectedEnd, search.comm, search.begin, now, false, searched);
        return;
    }
    if sink.wants(Event::RequestComplete) {
        sink.emit(Event::RequestComplete, comm, sink.now(), false, Request { request });
    }
}

/// The next number of a sender's messages: the first one is 1, as in ob1.
fn next(counts: &mut [u32; 2], internal: bool) -> u32 {
    let count = &mut counts[usize::from(internal)];
    *count = count.wrapping_add(1);
    *count
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use mpit_events::{Core, EventIndex, Record};

    use super::*;
    use crate::matching::Ob1Events;

    /// Keeps all records; its clock advances by one with each reading.
    struct Script {
        events: Ob1Events,
        time: Cell<u64>,
        records: Vec<Record>,
    }

    impl Script {
        fn new() -> Self {
            let events = Ob1Events::register(&Core::new(), "").unwrap();
            Script { events, time: Cell::new(0), records: Vec::new() }
        }

        /// Each event's name, when it began, and its time.
        fn events(&self) -> Vec<(&'static str, u64, u64)> {
            let name = |record: &Record| {
                let event = Event::ALL.into_iter().find(|&event| self.events.index(event) == record.event);
                event.map_or("", Event::name)
            };
            self.records.iter().map(|record| (name(record), record.since.0, record.ticks.0)).collect()
        }
    }

    impl Sink for Script {
        fn index(&self, event: Event) -> EventIndex {
            self.events.index(event)
        }
        fn wants(&self, _: Event) -> bool {
            true
        }
        fn wants_any(&self, _: u16) -> bool {
            true
        }
        fn now(&self) -> Ticks {
            self.time.set(self.time.get() + 1);
            Ticks(self.time.get())
        }
        fn push(&mut self, record: Record) {
            self.records.push(record);
        }
        fn lost(&mut self, _: CommIndex, _: u64) {}
    }

    fn notify(kinds: &[(Kind, u64, i32, i32)]) -> (Queues, Searching, Script) {
        let (mut queues, mut thread, mut sink) =
            (Queues::new(Some(Ticks(0))), Searching::default(), Script::new());
        let at = Where { comm: CommIndex(0), context: 0 };
        for &(kind, request, peer, tag) in kinds {
            queues.notified(Notification { kind, request, peer, tag, count: 0 }, at, &mut thread, &mut sink);
        }
        (queues, thread, sink)
    }

    #[test]
    fn an_expected_message() {
        let (_, _, sink) = notify(&[
            (Kind::SearchUnexpectedBegin, 7, -1, 5),
            (Kind::SearchUnexpectedEnd, 7, -1, 5),
            (Kind::InsertPosted, 7, -1, 5),
            (Kind::SearchPostedBegin, 0, 3, 5),
            (Kind::RemovePosted, 7, -1, 5),
            (Kind::SearchPostedEnd, 0, 3, 5),
            (Kind::Complete, 7, 3, 5),
        ]);
        assert_eq!(
            sink.events(),
            [
                ("search_unexpected_begin", 1, 1),
                ("search_unexpected_end", 1, 2),
                ("posted_insert", 2, 2),
                ("search_posted_begin", 3, 3),
                ("posted_remove", 2, 4),
                ("search_posted_end", 3, 4),
                ("request_complete", 5, 5),
            ]
        );
    }

    #[test]
    fn an_unexpected_message() {
        let (_, _, sink) = notify(&[
            (Kind::Arrived, 0, 3, 5),
            (Kind::SearchPostedBegin, 0, 3, 5),
            (Kind::InsertUnexpected, 0, 3, 5),
            (Kind::SearchPostedEnd, 0, 3, 5),
            (Kind::SearchUnexpectedBegin, 7, -1, -1),
            (Kind::RemoveUnexpected, 0, 3, 5),
            (Kind::SearchUnexpectedEnd, 7, -1, -1),
        ]);
        assert_eq!(
            sink.events(),
            [
                ("message_arrived", 1, 1),
                ("search_posted_begin", 2, 2),
                ("unex_insert", 3, 3),
                ("search_posted_end", 2, 3),
                ("search_unexpected_begin", 4, 4),
                ("unex_remove", 3, 5),
                ("search_unexpected_end", 4, 5),
            ]
        );
    }

    #[test]
    fn messages_with_the_same_source_and_tag_leave_in_their_order() {
        let (_, _, sink) = notify(&[
            (Kind::InsertUnexpected, 0, 3, 5),
            (Kind::InsertUnexpected, 0, 2, 5),
            (Kind::InsertUnexpected, 0, 3, 5),
            (Kind::RemoveUnexpected, 0, 3, 5),
            (Kind::RemoveUnexpected, 0, 3, 5),
            (Kind::RemoveUnexpected, 0, 2, 5),
        ]);
        let removed: Vec<u64> =
            sink.events().into_iter().filter(|event| event.0 == "unex_remove").map(|event| event.1).collect();
        assert_eq!(removed, [1, 3, 2]);
    }

    #[test]
    fn a_message_from_before_the_communicator_has_its_events_when_it_leaves() {
        let leaves = [
            (Kind::SearchUnexpectedBegin, 7, 3, 5),
            (Kind::RemoveUnexpected, 0, 3, 5),
            (Kind::SearchUnexpectedEnd, 7, 3, 5),
        ];
        let (_, _, sink) = notify(&leaves);
        assert_eq!(
            sink.events(),
            [
                ("search_unexpected_begin", 1, 1),
                ("message_arrived", 2, 2),
                ("search_posted_begin", 2, 2),
                ("unex_insert", 2, 2),
                ("search_posted_end", 2, 2),
                ("unex_remove", 0, 2),
                ("search_unexpected_end", 1, 2),
            ]
        );
    }

    #[test]
    fn a_receive_that_leaves_outside_of_a_search_is_cancelled() {
        let (_, _, sink) = notify(&[(Kind::InsertPosted, 7, 0, 1), (Kind::RemovePosted, 7, 0, 1)]);
        let names: Vec<_> = sink.events().into_iter().map(|event| event.0).collect();
        assert_eq!(names, ["posted_insert", "posted_remove", "cancel"]);
    }

    #[test]
    fn a_waiting_probe_is_in_no_queue() {
        let (_, _, sink) = notify(&[
            (Kind::SearchUnexpectedBegin, 9, 0, 1),
            (Kind::SearchUnexpectedEnd, 9, 0, 1),
            (Kind::SearchPostedBegin, 0, 0, 1),
            (Kind::RemovePosted, 9, 0, 1),
            (Kind::InsertUnexpected, 0, 0, 1),
            (Kind::SearchPostedEnd, 0, 0, 1),
        ]);
        assert!(!sink.events().iter().any(|event| event.0.starts_with("posted")), "{:?}", sink.events());
    }

    #[test]
    fn a_probe_that_finds_a_message_ends_its_search_when_it_completes() {
        let (mut queues, mut thread, mut sink) = notify(&[
            (Kind::InsertUnexpected, 0, 0, 1),
            (Kind::SearchUnexpectedBegin, 9, -1, -1),
            (Kind::Complete, 9, 0, 1),
        ]);
        assert_eq!(sink.events().last(), Some(&("search_unexpected_end", 2, 3)));
        assert!(thread.take_probe_found());
        assert!(!thread.take_probe_found());
        // And a matched probe takes it.
        let at = Where { comm: CommIndex(0), context: 0 };
        queues.taken(0, 1, at, &mut sink);
        assert_eq!(sink.events().last(), Some(&("unex_remove", 1, 4)));
    }

    #[test]
    fn messages_of_the_application_have_their_own_numbers() {
        let (_, _, sink) = notify(&[
            (Kind::Arrived, 0, 3, 5),
            (Kind::Arrived, 0, 3, -17),
            (Kind::Arrived, 0, 3, 6),
            (Kind::Arrived, 0, 2, 6),
        ]);
        let numbers: Vec<u32> = sink
            .records
            .iter()
            .map(|record| u32::from_ne_bytes(record.payload()[12..16].try_into().unwrap()))
            .collect();
        assert_eq!(numbers, [1, 1, 2, 1]);
    }

    #[test]
    fn searches_of_an_empty_queue_are_charged_what_the_shortest_took() {
        let search = [(Kind::SearchUnexpectedBegin, 7, 3, 5), (Kind::SearchUnexpectedEnd, 7, 3, 5)];
        let (mut queues, mut thread, mut sink) = notify(&search.repeat(TIMED as usize));
        let at = Where { comm: CommIndex(0), context: 0 };
        let mut again = |queues: &mut Queues, sink: &mut Script| {
            for (kind, request, peer, tag) in search {
                // Time passes between the two.
                sink.time.set(sink.time.get() + 5);
                queues.notified(Notification { kind, request, peer, tag, count: 0 }, at, &mut thread, sink);
            }
            let (_, since, time) = sink.events().pop().unwrap();
            time - since
        };
        assert_eq!(again(&mut queues, &mut sink), 1);
        queues.queue(3, 6, 0, Ticks(0));
        assert_eq!(again(&mut queues, &mut sink), 6);
    }

    #[test]
    fn completions_are_needed_where_there_are_probes() {
        assert_eq!(
            needs(Event::SearchUnexpectedEnd, true),
            needs(Event::SearchUnexpectedEnd, false) | Kind::Complete.bit()
        );
        assert_eq!(needs(Event::SearchUnexpectedEnd, false) & Kind::Complete.bit(), 0);
        assert_eq!(needs(Event::RequestComplete, false), Kind::Complete.bit());
    }

    #[test]
    fn what_was_queued_before_is_not_known_after_a_pause() {
        let (mut queues, mut thread, mut sink) = notify(&[(Kind::InsertPosted, 7, 0, 1)]);
        queues.forget();
        let at = Where { comm: CommIndex(0), context: 0 };
        let removed = Notification { kind: Kind::RemovePosted, request: 7, peer: 0, tag: 1, count: 0 };
        queues.notified(removed, at, &mut thread, &mut sink);
        assert_eq!(sink.events().len(), 1);
    }
}
