//! The matching itself: posts, arrivals and completions, as ob1 does them.

pub(crate) mod emit;
mod places;
mod repairs;
mod searches;

use std::collections::VecDeque;

use mpit_events::Ticks;
use rustc_hash::FxHashMap;

use super::Truth;
use super::envelope::{ANY_SOURCE, CommIndex, EAGER_LIMIT, Envelope};
use super::events::{Event, Request, Sink};
use super::peers::{Peer, Peers};
use super::queues::{List, Node, Slab};
use super::receive::{Awaited, Receive, ReceiveIndex, State};

use places::{Early, Places};
pub use repairs::Lacking;

/// How the real library completed a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// With a message (`MPI_SOURCE` and `MPI_TAG` of the status).
    Message {
        /// The rank that it came from.
        source: i32,
        /// Its tag.
        tag: i32,
    },
    /// It was cancelled.
    Cancelled,
    /// It is complete, but the status says nothing (an error).
    Unknown,
}

/// Whether the model's search for a probe found a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed(pub Option<Envelope>);

/// How far a receive was that a call has completed, when the model began to follow that call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// It waits for its message.
    Waits,
    /// It has a message of so many bytes.
    Matched {
        /// The message's size.
        bytes: u64,
    },
    /// It failed: it may have waited for a message, which one is not known.
    Unknown,
    /// It was over when the call began, or is cancelled.
    Over,
}

/// What waits in the queues of a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Receives in the posted queue.
    pub receives: u64,
    /// Messages in the unexpected queue.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The result of posting a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Where the receive is kept.
    pub receive: ReceiveIndex,
    /// Whether an unexpected message matched at once.
    pub matched: bool,
}

/// A message in the unexpected queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Message {
    /// Its identity, as events have it.
    id: u64,
    /// When it came into the queue.
    queued: Ticks,
    envelope: Envelope,
}

impl Message {
    /// What came.
    pub(crate) fn envelope(&self) -> &Envelope {
        &self.envelope
    }
}

#[derive(Debug)]
struct Comm {
    context: u64,
    peers: Peers,
    /// Receives posted for any source.
    wild: List,
    /// The sender that the last search for any source ended with.
    last_probed: i32,
    /// Completed receives whose envelopes have not come, oldest first.
    awaited: VecDeque<Awaited>,
}

impl Comm {
    /// Whether nothing waits in its queues, nor for an envelope.
    fn is_idle(&self) -> bool {
        self.wild.is_empty() && self.awaited.is_empty() && self.peers.are_idle()
    }
}

/// The most events of one envelope that [`Engine::has_room_for`] allows: arrival, both ends of the search,
/// removal from the queue, three of the transfer, completion.
pub const MAX_EMITTED: usize = 8;

/// The model of one process. Plain data: one thread at a time (the caller's lock).
#[derive(Debug)]
pub struct Engine {
    comms: Vec<Comm>,
    contexts: FxHashMap<u64, CommIndex>,
    /// The communicator that the last envelope was for.
    recent: (u64, CommIndex),
    places: Places,
    receives: Slab<Receive>,
    messages: Slab<Message>,
    early: Early,
    /// Completed receives whose envelopes have not come, on all communicators.
    awaiting: usize,
    truth: Truth,
    /// The time of the last event: nothing in order is stamped before it.
    last: Ticks,
    order: u64,
    identities: u64,
    /// What a search costs that is settled at its first entry, in ticks.
    floor: u64,
    /// Whether a receive has ever waited for any source.
    wildcards: bool,
    /// Whether there was something before the first event that is not known.
    is_late: bool,
}

impl Default for Engine {
    fn default() -> Self {
        Engine::new()
    }
}

impl Engine {
    /// A model without communicators.
    pub fn new() -> Self {
        Engine {
            comms: Vec::new(),
            contexts: FxHashMap::default(),
            recent: (u64::MAX, CommIndex(u32::MAX)),
            places: Places::default(),
            receives: Slab::with_capacity(256),
            messages: Slab::with_capacity(256),
            early: Early::default(),
            awaiting: 0,
            truth: Truth::default(),
            last: Ticks(0),
            order: 0,
            identities: 0,
            floor: 0,
            wildcards: false,
            is_late: false,
        }
    }

    /// Sets what a search costs, in ticks, that looks at one entry or none. Such a search is not
    /// timed, because reading the clock twice takes several times as long; it is charged this.
    pub fn set_floor(&mut self, ticks: u64) {
        self.floor = ticks;
    }

    /// Receives so far that the library completed with the message that was matched.
    #[inline(always)]
    pub fn matched_so_far(&self) -> u64 {
        self.truth.matched
    }

    /// The truth check's counts so far.
    pub fn truth(&self) -> Truth {
        self.truth
    }

    /// A new identity for a request or a queued message: never zero, never given twice.
    #[inline]
    pub fn identity(&mut self) -> u64 {
        self.identities += 1;
        self.identities
    }

    /// The time of the last event.
    #[inline]
    pub fn time(&self) -> Ticks {
        self.last
    }

    /// When a search ends that begins now and finds nothing, because no message waits.
    #[inline(always)]
    pub fn searched(&self, now: Ticks) -> Ticks {
        self.last.max(now).plus(self.floor)
    }

    /// Where the unexpected messages of an engine are, and its receives, without a look at it.
    pub(crate) fn places(engine: *const Engine) -> (*const Vec<Node<Message>>, *const Vec<Node<Receive>>) {
        let messages = engine.wrapping_byte_add(std::mem::offset_of!(Engine, messages));
        let receives = engine.wrapping_byte_add(std::mem::offset_of!(Engine, receives));
        (Slab::place(messages.cast()), Slab::place(receives.cast()))
    }

    /// Messages in the unexpected queues.
    pub fn unexpected_len(&self) -> usize {
        self.messages.len()
    }

    /// Adds a communicator, and takes in the envelopes that came for it already.
    pub fn add_comm(&mut self, sink: &mut impl Sink, context: u64) -> CommIndex {
        let comm = Comm {
            context,
            peers: Peers::default(),
            wild: List::EMPTY,
            last_probed: -1,
            awaited: VecDeque::new(),
        };
        let vacant = self.places.take(&self.comms, &self.receives);
        let index = vacant.unwrap_or(CommIndex(self.comms.len() as u32));
        match self.comms.get_mut(index.0 as usize) {
            Some(place) => {
                let former = std::mem::replace(place, comm);
                if self.contexts.get(&former.context) == Some(&index) {
                    self.contexts.remove(&former.context);
                }
                self.recent = (u64::MAX, CommIndex(u32::MAX));
            }
            None => self.comms.push(comm),
        }
        self.contexts.insert(context, index);
        for envelope in self.early.take(context) {
            let now = sink.now();
            self.arrive(sink, &envelope, now);
        }
        index
    }

    /// The application freed the communicator: it ends when its last receive is over. Envelopes of
    /// messages that have been received may still come, so it is known until its place is needed.
    pub fn remove_comm(&mut self, comm: CommIndex) {
        self.places.free(comm);
    }

    /// The application posts a receive: search the unexpected messages, else queue it.
    pub fn post(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        request: u64,
        source: i32,
        tag: i32,
    ) -> Posted {
        let now = sink.now();
        self.post_at(sink, comm, request, source, tag, now)
    }

    /// [`post`](Engine::post), at a time that is known already.
    #[inline]
    pub fn post_at(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        request: u64,
        source: i32,
        tag: i32,
        now: Ticks,
    ) -> Posted {
        let begin = self.advance(now);
        let asked = (request, source, tag);
        emit::post(sink, comm, begin, asked);
        let (found, took) = self.search_unexpected(sink, comm, source, tag);
        let end = self.advance(begin.plus(took));
        let index = self.keep_receive(comm, asked, end);
        if let Some(place) = found {
            let envelope = self.take_message(sink, comm, place, end);
            emit::search_ends(sink, comm, (begin, end), asked);
            self.matched(sink, ReceiveIndex(index), envelope, end);
            return Posted { receive: ReceiveIndex(index), matched: true };
        }
        emit::search_ends(sink, comm, (begin, end), asked);
        if source == ANY_SOURCE {
            self.wildcards = true;
        }
        self.receives.append(posted_list(&mut self.comms, comm, source), index);
        emit::queued(sink, comm, end, asked);
        Posted { receive: ReceiveIndex(index), matched: false }
    }

    /// An entry for a receive that is posted: in no list yet.
    #[inline(always)]
    fn keep_receive(&mut self, comm: CommIndex, (request, source, tag): emit::Asked, queued: Ticks) -> u32 {
        self.order += 1;
        let (index, receive) = self.receives.take();
        receive.request = request;
        receive.order = self.order;
        receive.queued = queued;
        receive.comm = comm;
        receive.source = source;
        receive.tag = tag;
        receive.context = 0;
        receive.frees = false;
        receive.state = State::Posted;
        receive.expected = false;
        index
    }

    /// The application probes: the same search, which takes nothing.
    pub fn probe(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        request: u64,
        source: i32,
        tag: i32,
    ) -> Probed {
        let begin = self.advance(sink.now());
        let asked = (request, source, tag);
        emit::search_begins(sink, comm, begin, asked);
        let (found, took) = self.search_unexpected(sink, comm, source, tag);
        let end = self.advance(begin.plus(took));
        emit::search_ends(sink, comm, (begin, end), asked);
        Probed(found.and_then(|place| self.messages.get(place)).map(|message| message.envelope))
    }

    /// An envelope came in at this time.
    #[inline(never)]
    pub fn arrive(&mut self, sink: &mut impl Sink, envelope: &Envelope, came: Ticks) {
        self.arrive_when(sink, envelope, |_| came);
    }

    /// An envelope came in; `when` says when that was, given whether its receive is known to have completed with it. Gives the time
    /// of the match, where there is a receive for it.
    #[inline(always)]
    pub fn arrive_when(
        &mut self,
        sink: &mut impl Sink,
        envelope: &Envelope,
        when: impl FnOnce(bool) -> Ticks,
    ) -> Option<Ticks> {
        let Some(comm) = self.comm_of(envelope) else {
            self.keep_early(envelope);
            return None;
        };
        self.check_sequence(sink, comm, envelope);
        if !self.comms[comm.0 as usize].awaited.is_empty() && self.meet_awaited(sink, comm, envelope) {
            return None;
        }
        let (found, took) = self.search_posted(sink, comm, envelope.source, envelope.tag);
        let receive = found.and_then(|index| self.receives.get(index.0));
        let begin = self.advance(when(receive.is_some_and(|receive| receive.expected)));
        emit::arrival(sink, comm, begin, envelope);
        let end = self.advance(begin.plus(took));
        let Some(index) = found else {
            self.queue_message(sink, comm, envelope, end, None);
            emit::arrival_searched(sink, comm, (begin, end), envelope);
            return None;
        };
        let receive = self.receives.get_mut(index.0)?;
        receive.state = State::Matched;
        receive.expected = false;
        receive.message.fill(envelope);
        let Receive { request, queued, source, tag, .. } = *receive;
        self.receives.unlink(posted_list(&mut self.comms, comm, source), index.0);
        emit::removed(sink, comm, (queued, end), (request, source, tag));
        emit::arrival_searched(sink, comm, (begin, end), envelope);
        emit::matched(sink, comm, request, envelope.bytes, end);
        Some(end)
    }

    /// The library does nothing else until this time: what is next comes after it.
    #[inline]
    pub fn pass_until(&mut self, time: Ticks) {
        self.advance(time);
    }

    /// Keeps an envelope for a communicator that this process has not made yet.
    #[cold]
    fn keep_early(&mut self, envelope: &Envelope) {
        if !self.early.keep(envelope) {
            self.truth.dropped += 1;
        }
    }

    /// Whether [`arrive`](Engine::arrive) can take this envelope in without asking for memory, and emits
    /// no more than [`MAX_EMITTED`] events, all in order: for a signal handler. What it cannot take must
    /// wait: the first message of a sender, one that others are missing before, and all of a communicator
    /// where a completed receive waits for its envelope.
    pub fn has_room_for(&self, envelope: &Envelope) -> bool {
        let Some(&index) = self.contexts.get(&envelope.context) else { return false };
        let comm = &self.comms[index.0 as usize];
        let next = comm.peers.get(envelope.source).is_some_and(|peer| peer.expected == envelope.sequence);
        next && comm.awaited.is_empty() && self.messages.has_room()
    }

    /// Makes room for as many more unexpected messages.
    pub fn reserve(&mut self, messages: usize) {
        self.messages.reserve(messages);
    }

    /// The real library is known to have completed a receive, which [`complete`](Engine::complete) will report
    /// when the model has followed what came until then. A receive that still waits here is from now on kept
    /// for its message.
    #[inline(always)]
    pub fn expect(&mut self, index: ReceiveIndex, real: Completion) -> Completed {
        let Some(receive) = self.receives.get_mut(index.0) else { return Completed::Over };
        let Completion::Message { source, tag } = real else {
            // One that failed may have got a message, which one is not known.
            return if real == Completion::Unknown { Completed::Unknown } else { Completed::Over };
        };
        match receive.state {
            State::Posted => {
                receive.expected = true;
                receive.message.source = source;
                receive.message.tag = tag;
                Completed::Waits
            }
            State::Matched => Completed::Matched { bytes: receive.message.bytes },
            State::Cancelled => Completed::Over,
        }
    }

    /// The real library completed a receive: compare, and follow it. Gives the envelope of the
    /// message where the model knows it. The receive is over.
    #[inline(always)]
    pub fn complete(
        &mut self,
        sink: &mut impl Sink,
        index: ReceiveIndex,
        real: Completion,
    ) -> Option<Envelope> {
        self.complete_matched(sink, index, real).or_else(|| self.complete_otherwise(sink, index, real))
    }

    /// [`complete`](Engine::complete), where the model has matched the receive with the same message; else
    /// nothing happens, and it gives `None`.
    #[inline(always)]
    pub fn complete_matched(
        &mut self,
        sink: &mut impl Sink,
        index: ReceiveIndex,
        real: Completion,
    ) -> Option<Envelope> {
        let receive = self.receives.get(index.0)?;
        if let (Some(envelope), Completion::Message { source, tag }) = (receive.matched(), real)
            && envelope.source == source
            && envelope.tag == tag
        {
            let envelope = *envelope;
            self.truth.matched += 1;
            self.finish(sink, index, envelope.bytes);
            return Some(envelope);
        }
        None
    }

    /// Sets the context of the call that has posted a receive.
    #[inline(always)]
    pub fn set_context(&mut self, index: ReceiveIndex, context: u16) {
        if let Some(receive) = self.receives.get_mut(index.0) {
            receive.context = context;
        }
    }

    /// The request of a receive is freed when that is complete, as that of each nonblocking receive: ob1 has none to free of a blocking
    /// one, and keeps that of a persistent one.
    #[inline(always)]
    pub fn ends_request(&mut self, index: ReceiveIndex) {
        if let Some(receive) = self.receives.get_mut(index.0) {
            receive.frees = true;
        }
    }

    /// The context of the call that has posted a receive, its communicator, and when it came into the posted queue or found its
    /// message.
    #[inline(always)]
    pub fn origin(&self, index: ReceiveIndex) -> (u16, CommIndex, Ticks) {
        let receive = self.receives.get(index.0);
        receive.map_or((0, CommIndex(0), Ticks(0)), |receive| (receive.context, receive.comm, receive.queued))
    }

    /// The application cancelled a receive; it ends with its completion.
    pub fn cancel(&mut self, sink: &mut impl Sink, index: ReceiveIndex) {
        let Some(&receive) = self.receives.get(index.0) else { return };
        if receive.state == State::Posted {
            let now = self.advance(sink.now());
            self.take_receive(sink, index, now);
            self.set_state(index, State::Cancelled);
            sink.emit(Event::Cancel, receive.comm, now, false, Request { request: receive.request });
        }
    }

    /// The application took a message out of the queue by a matched probe, which the real library
    /// says is from this source with this tag.
    pub fn take(&mut self, sink: &mut impl Sink, comm: CommIndex, source: i32, tag: i32) -> Option<Envelope> {
        let now = self.advance(sink.now());
        let nobody = ReceiveIndex(u32::MAX);
        if let Some(envelope) = self.claim(sink, comm, source, tag, nobody, now) {
            self.truth.matched += 1;
            return Some(envelope);
        }
        if !self.is_late {
            self.await_envelope(comm, Awaited { source, tag, request: 0 });
        }
        None
    }

    /// The first such message in the unexpected queue is gone: a receive that is not known has got it.
    pub fn forget(&mut self, sink: &mut impl Sink, comm: CommIndex, source: i32, tag: i32) {
        let now = self.advance(sink.now());
        if let Some(place) = self.search_unexpected(sink, comm, source, tag).0 {
            self.take_message(sink, comm, place, now);
        }
    }

    /// What began before now is not known: receives may complete with messages that have no envelopes.
    pub fn begin_late(&mut self) {
        self.is_late = true;
    }

    /// Whether that is so.
    pub fn is_late(&self) -> bool {
        self.is_late
    }

    /// A send, or a receive of a probed message, is active.
    #[inline]
    pub fn activate(&mut self, sink: &mut impl Sink, comm: CommIndex, request: u64) {
        if sink.wants(Event::RequestActivate) {
            let now = self.advance(sink.now());
            sink.emit(Event::RequestActivate, comm, now, false, Request { request });
        }
    }

    /// The data of a send, or of a probed message, has been transferred and the request is complete.
    #[inline]
    pub fn transferred(&mut self, sink: &mut impl Sink, comm: CommIndex, request: u64, bytes: u64) {
        if sink.wants_any(emit::OF_TRANSFERS) {
            let now = self.advance(sink.now());
            emit::transfer_begins(sink, comm, request, bytes, now, false);
            emit::transfer_ends(sink, comm, request, bytes, now, false);
        }
    }

    /// A request was freed.
    pub fn free(&mut self, sink: &mut impl Sink, comm: CommIndex, request: u64) {
        if sink.wants(Event::Free) {
            let now = self.advance(sink.now());
            sink.emit(Event::Free, comm, now, false, Request { request });
        }
    }

    /// The run is over: what waits for an envelope will never get one, and what was not received
    /// never will be. Counts both.
    pub fn close(&mut self, sink: &mut impl Sink) -> Truth {
        let now = self.advance(sink.now());
        for comm in (0..self.comms.len() as u32).map(CommIndex) {
            for Awaited { request, .. } in std::mem::take(&mut self.comms[comm.0 as usize].awaited) {
                self.synthesise(sink, comm, request, now);
            }
        }
        self.awaiting = 0;
        self.truth.never_received += (self.messages.len() + self.early.len()) as u64;
        self.early.clear();
        self.truth
    }

    /// What waits in the queues, by communicator. Looks at every entry.
    pub fn census(&self) -> Vec<Waiting> {
        let mut all = vec![Waiting::default(); self.comms.len()];
        for (_, receive) in self.receives.iter().filter(|(_, receive)| receive.state == State::Posted) {
            all[receive.comm.0 as usize].receives += 1;
        }
        for (_, message) in self.messages.iter() {
            let Some(comm) = self.contexts.get(&message.envelope.context) else { continue };
            let waiting = &mut all[comm.0 as usize];
            waiting.messages += 1;
            waiting.bytes += message.envelope.bytes;
        }
        all
    }

    /// Whether an unexpected message would be found: a search and nothing else.
    pub fn finds(&mut self, sink: &impl Sink, comm: CommIndex, source: i32, tag: i32) -> bool {
        self.search_unexpected(sink, comm, source, tag).0.is_some()
    }

    // What the fast path needs, which keeps its receives itself.

    /// Whether nothing waits in the queues, every receive is over, and the envelopes of all of them have come.
    #[inline]
    pub fn is_vacant(&self) -> bool {
        self.messages.len() == 0 && self.receives.len() == 0 && self.awaiting == 0
    }

    /// The search for a receive posted at `now` that finds nothing, because no message waits: when it began and ended.
    #[inline(always)]
    pub(crate) fn search_in_vain(&mut self, now: Ticks) -> (Ticks, Ticks) {
        let begin = self.advance(now);
        (begin, self.advance(begin.plus(self.floor)))
    }

    /// The communicator of this message, where it is eager and the next one of its sender: it counts as seen then.
    #[inline(always)]
    pub(crate) fn take_if_next(
        &mut self,
        envelope: &Envelope,
        takes: impl FnOnce(CommIndex) -> bool,
    ) -> bool {
        let Some(comm) = self.comm_of(envelope) else { return false };
        let peer = self.comms[comm.0 as usize].peers.meet(envelope.source);
        let is_next = peer.expected == envelope.sequence && envelope.bytes <= EAGER_LIMIT && takes(comm);
        peer.expected = peer.expected.wrapping_add(u32::from(is_next));
        is_next
    }

    /// Counts a receive that was completed with the message that the model has matched.
    #[inline(always)]
    pub(crate) fn count_matched(&mut self) {
        self.truth.matched += 1;
    }

    /// Puts a receive into the posted queue that was `queued` there before: its event has been emitted.
    pub(crate) fn insert_posted(
        &mut self,
        comm: CommIndex,
        asked: emit::Asked,
        queued: Ticks,
    ) -> ReceiveIndex {
        let index = self.keep_receive(comm, asked, queued);
        self.receives.append(posted_list(&mut self.comms, comm, asked.1), index);
        ReceiveIndex(index)
    }

    // What changes the queues, each with its event.

    /// Takes a message out of the unexpected queue.
    fn take_message(&mut self, sink: &mut impl Sink, comm: CommIndex, place: u32, time: Ticks) -> Envelope {
        let Message { id, queued, envelope } = self.messages.get(place).copied().expect("a search found it");
        let list = &mut self.comms[comm.0 as usize].peers.meet(envelope.source).unexpected;
        self.messages.unlink(list, place);
        self.messages.discard(place);
        emit::message_removed(sink, comm, (queued, time), id, &envelope);
        envelope
    }

    /// Puts a message into the unexpected queue, before `next` or at its end.
    fn queue_message(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        envelope: &Envelope,
        time: Ticks,
        next: Option<u32>,
    ) {
        let id = self.identity();
        let (place, message) = self.messages.take();
        message.id = id;
        message.queued = time;
        message.envelope.fill(envelope);
        let list = &mut self.comms[comm.0 as usize].peers.meet(envelope.source).unexpected;
        self.messages.insert_before(list, place, next);
        emit::message_queued(sink, comm, time, id, envelope);
    }

    /// Takes a receive out of the posted queue.
    #[inline]
    fn take_receive(&mut self, sink: &mut impl Sink, index: ReceiveIndex, time: Ticks) {
        self.unlink_receive(index);
        if let Some(&receive) = self.receives.get(index.0) {
            emit::receive_removed(sink, &receive, time);
        }
    }

    #[inline]
    fn unlink_receive(&mut self, index: ReceiveIndex) {
        let Some(&Receive { comm, source, .. }) = self.receives.get(index.0) else { return };
        let list = posted_list(&mut self.comms, comm, source);
        self.receives.unlink(list, index.0);
    }

    /// A receive and a message belong together.
    fn matched(&mut self, sink: &mut impl Sink, index: ReceiveIndex, envelope: Envelope, time: Ticks) {
        let Some(receive) = self.receives.get_mut(index.0) else { return };
        receive.state = State::Matched;
        receive.expected = false;
        receive.message = envelope;
        let (comm, request) = (receive.comm, receive.request);
        emit::matched(sink, comm, request, envelope.bytes, time);
    }

    /// The receive is over.
    #[inline]
    fn finish(&mut self, sink: &mut impl Sink, index: ReceiveIndex, bytes: u64) {
        if bytes > EAGER_LIMIT
            && sink.wants_any(emit::OF_TRANSFERS)
            && let Some(&Receive { comm, request, .. }) = self.receives.get(index.0)
        {
            let now = self.advance(sink.now());
            emit::transfer_ends(sink, comm, request, bytes, now, false);
        }
        self.end(sink, index);
    }

    /// Nothing is left of the receive; its request is freed with it, where it [ends](Engine::ends_request) so.
    #[inline(always)]
    fn end(&mut self, sink: &mut impl Sink, index: ReceiveIndex) {
        if sink.wants(Event::Free)
            && let Some(&Receive { comm, request, frees: true, .. }) = self.receives.get(index.0)
        {
            self.free(sink, comm, request);
        }
        self.receives.discard(index.0);
    }

    /// Sees by the sequence numbers what was lost on the way.
    #[inline]
    fn check_sequence(&mut self, sink: &mut impl Sink, comm: CommIndex, envelope: &Envelope) {
        let peer: &mut Peer = self.comms[comm.0 as usize].peers.meet(envelope.source);
        if envelope.sequence == peer.expected {
            peer.expected = peer.expected.wrapping_add(1);
        } else {
            self.note_gap(sink, comm, envelope);
        }
    }

    // Small helpers.

    /// The communicator of an envelope, where it is known here.
    #[inline]
    pub(crate) fn comm_of(&mut self, envelope: &Envelope) -> Option<CommIndex> {
        if self.recent.0 != envelope.context || self.recent.1.0 == u32::MAX {
            self.recent = (envelope.context, *self.contexts.get(&envelope.context)?);
        }
        Some(self.recent.1)
    }

    /// Time goes forward: the later of `time` and the last event's.
    #[inline]
    fn advance(&mut self, time: Ticks) -> Ticks {
        self.last = self.last.max(time);
        self.last
    }

    fn set_state(&mut self, index: ReceiveIndex, state: State) {
        if let Some(receive) = self.receives.get_mut(index.0) {
            receive.state = state;
        }
    }
}

/// The list in which a receive for this source waits.
#[inline]
fn posted_list(comms: &mut [Comm], comm: CommIndex, source: i32) -> &mut List {
    let comm = &mut comms[comm.0 as usize];
    if source == ANY_SOURCE { &mut comm.wild } else { &mut comm.peers.meet(source).posted }
}

/// Whether sequence number `a` comes before `b`, over the wrap.
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
