//! Messages and receives as calls begin and end them: envelopes go out, receives are posted in the model, and what the real
//! library has received is held against it.

use mpi_abi::StatusPtr;
use mpit_events::Ticks;

use super::comms::{Destination, Route};
use super::communicators::world_rank_of;
use super::observer::Message;
use super::requests::FollowedSend;
use super::tracker::{Ending, OF_SENDS, Work};
use crate::matching::{
    ANY_SOURCE, ANY_TAG, CommIndex, Completion, EAGER_LIMIT, Envelope, MAX_CONTEXT, Posted, ReceiveIndex,
};

impl Work<'_> {
    /// The application sends: its envelope goes to the receiver's model. Gives the request's identity where
    /// somebody wants to know of sends.
    #[inline]
    pub(crate) fn send(
        &mut self,
        comm: usize,
        peer: i32,
        tag: i32,
        bytes: u64,
        blocking: bool,
    ) -> Option<FollowedSend> {
        let (send, route, envelope) = self.begin_message(comm, peer, tag, bytes, blocking)?;
        self.deliver(route, &envelope);
        send
    }

    /// [`send`](Work::send), but that the envelope is still to be [delivered](Work::deliver).
    #[inline(always)]
    pub(crate) fn begin_message(
        &mut self,
        comm: usize,
        peer: i32,
        tag: i32,
        bytes: u64,
        blocking: bool,
    ) -> Option<(Option<FollowedSend>, Route, Envelope)> {
        let (index, route, mut envelope) = self.address(comm, peer, tag, bytes)?;
        let notifies = self.tracker.current_mode().follows_sends()
            && (self.sink.wanted & OF_SENDS != 0 || self.tracker.wants_messages());
        let (mut send, mut at) = (None, None);
        if notifies {
            let (request, time) = self.begin_send(index, peer, tag, bytes, blocking);
            (send, at) = (Some((index, request, bytes)), time);
        }
        envelope.sent = at.unwrap_or_else(|| self.now());
        Some((send, route, envelope))
    }

    /// [`send`](Work::send), where nobody wants to know of sends.
    #[inline(always)]
    pub(crate) fn send_envelope(&mut self, comm: usize, peer: i32, tag: i32, bytes: u64) {
        if let Some((_, route, mut envelope)) = self.address(comm, peer, tag, bytes) {
            envelope.sent = self.now();
            self.deliver(route, &envelope);
        }
    }

    /// The envelope of a message that is sent now, without the time, and its way.
    #[inline(always)]
    fn address(
        &mut self,
        comm: usize,
        peer: i32,
        tag: i32,
        bytes: u64,
    ) -> Option<(CommIndex, Route, Envelope)> {
        let place = usize::try_from(peer).ok()?;
        if tag < 0 {
            return None;
        }
        let Some(known) = self.state.comms.get(comm) else { return self.on_unknown_comm() };
        if known.destinations.get(place)?.route == Route::Unknown {
            self.find_route(comm, peer)?;
        }
        let known = self.state.comms.get(comm)?;
        let destination = known.destinations.get_mut(place)?;
        let Destination { route, sequence } = *destination;
        let sequence = sequence.wrapping_add(1);
        destination.sequence = sequence;
        let (context, source) = (known.public.context, known.processes.rank);
        let of_send = self.context;
        let context_of_send = if of_send < MAX_CONTEXT { of_send } else { 0 };
        let envelope = Envelope { context, source, tag, sequence, bytes, sent: Ticks(0), context_of_send };
        Some((known.index, route, envelope))
    }

    #[inline(always)]
    pub(crate) fn deliver(&mut self, route: Route, envelope: &Envelope) {
        match route {
            Route::Ring(member) => self.state.routes.push(member, envelope),
            Route::Own => self.deliver_to_self(*envelope),
            Route::Batch(world_rank) => self.deliver_in_batch(world_rank, *envelope),
            Route::Unknown | Route::None => {}
        }
    }

    #[inline(never)]
    fn deliver_to_self(&mut self, envelope: Envelope) {
        while self.catch_up_some() {}
        self.state.engine.arrive(self.sink, &envelope, envelope.sent);
    }

    #[inline(never)]
    fn deliver_in_batch(&mut self, world_rank: i32, envelope: Envelope) {
        self.sink.mail_waits = true;
        self.sink.mail_is_due |= self.state.outbox.put(world_rank, envelope);
    }

    /// The parts of a send that only listeners to requests, and observers, see: its request, and when it was, where
    /// that is known.
    #[inline(always)]
    fn begin_send(
        &mut self,
        comm: CommIndex,
        peer: i32,
        tag: i32,
        bytes: u64,
        blocking: bool,
    ) -> (u64, Option<Ticks>) {
        let request = self.state.engine.identity();
        self.state.engine.activate(self.sink, comm, request);
        let message = Message { comm: comm.0, peer, tag, bytes, request: (!blocking).then_some(request) };
        let observers = self.tracker.observers_of_messages();
        let at = observers.iter().fold(None, |known, observer| observer.sent(&message).or(known));
        (request, at)
    }

    #[cold]
    fn find_route(&mut self, comm: usize, peer: i32) -> Option<()> {
        // A rank of the remote group, for an intercommunicator.
        let world_rank = world_rank_of(self.tracker.abi, comm, peer, true);
        let route = world_rank.map_or(Route::None, |rank| self.state.routes.find(rank));
        self.state.comms.get(comm)?.destinations.get_mut(peer as usize)?.route = route;
        Some(())
    }

    /// A call on a communicator that is not followed.
    #[cold]
    pub(crate) fn on_unknown_comm<T>(&mut self) -> Option<T> {
        self.state.not_followed.calls += 1;
        None
    }

    /// The application posts a receive, as a call begins.
    #[inline(always)]
    pub(crate) fn post(
        &mut self,
        comm: usize,
        source: i32,
        tag: i32,
        blocking: bool,
        now: Ticks,
    ) -> Option<(ReceiveIndex, CommIndex, u64)> {
        let posted = self.post_silently(comm, source, tag, now, 0, self.context)?;
        if !blocking && self.tracker.wants_messages() {
            self.notify_of_message(|observer| observer.receive_posted(posted.1.0, posted.2, None));
        }
        Some(posted)
    }

    /// The same, of which observers are not notified, or have been notified with this identity.
    #[inline(always)]
    pub(crate) fn post_silently(
        &mut self,
        comm: usize,
        source: i32,
        tag: i32,
        now: Ticks,
        identity: u64,
        context: u16,
    ) -> Option<(ReceiveIndex, CommIndex, u64)> {
        let constants = &self.tracker.abi.constants;
        if source == constants.proc_null {
            return None;
        }
        let Some(known) = self.state.comms.get(comm) else { return self.on_unknown_comm() };
        let index = known.index;
        let source = if source == constants.any_source { ANY_SOURCE } else { source };
        // What MPI will refuse is not posted.
        if source != ANY_SOURCE && source as usize >= known.destinations.len()
            || tag < 0 && tag != constants.any_tag
        {
            return None;
        }
        let tag = if tag == constants.any_tag { ANY_TAG } else { tag };
        let request = if identity == 0 { self.state.engine.identity() } else { identity };
        let searches = self.tracker.wants_waits() && self.state.engine.unexpected_len() > 0;
        let begin = self.state.engine.time().max(now);
        let Posted { receive, matched } =
            self.state.engine.post_at(self.sink, index, request, source, tag, now);
        self.state.engine.set_context(receive, context);
        if matched {
            self.may_have_copied(receive);
        }
        if searches {
            self.notify_of_search(receive, context, begin, (matched, source | tag < 0));
        }
        Some((receive, index, request))
    }

    /// The search for a receive was in a queue with messages.
    fn notify_of_search(
        &self,
        receive: ReceiveIndex,
        context: u16,
        begin: Ticks,
        (matched, wildcard): (bool, bool),
    ) {
        let engine = &self.state.engine;
        // What took longer was interrupted by the scheduler.
        let most = (engine.unexpected_len() as u64 + 1) * self.tracker.longest_step();
        let took = engine.time().since(begin).min(most);
        self.notify_of_waits(|observer| observer.searched(context, took, wildcard));
        if let Some(envelope) = engine.given_to(receive).filter(|_| matched) {
            let bytes = envelope.bytes;
            self.notify_of_waits(|observer| observer.found_unexpected(context, bytes));
        }
    }

    /// A receive has found its message when it was posted. A call that copies a long one takes long, and so its beginning
    /// matters from now on.
    #[inline(always)]
    fn may_have_copied(&self, receive: ReceiveIndex) {
        if self.state.engine.given_to(receive).is_some_and(|envelope| envelope.bytes > EAGER_LIMIT) {
            self.tracker.time_posts();
        }
    }

    /// A communicator, source and tag as the model has them; `None` for a communicator that is not followed, and for nobody.
    #[inline(always)]
    pub(crate) fn asked(&mut self, comm: usize, source: i32, tag: i32) -> Option<(CommIndex, i32, i32)> {
        let constants = &self.tracker.abi.constants;
        if source == constants.proc_null {
            return None;
        }
        let Some(known) = self.state.comms.get(comm) else { return self.on_unknown_comm() };
        let source = if source == constants.any_source { ANY_SOURCE } else { source };
        let tag = if tag == constants.any_tag { ANY_TAG } else { tag };
        Some((known.index, source, tag))
    }

    /// A probe searches: whether it finds a message; `None` where nothing is searched.
    pub(crate) fn probe(&mut self, comm: usize, source: i32, tag: i32) -> Option<bool> {
        let (index, source, tag) = self.asked(comm, source, tag)?;
        let request = self.state.engine.identity();
        Some(self.state.engine.probe(self.sink, index, request, source, tag).0.is_some())
    }

    /// A receive is complete.
    #[inline(always)]
    pub(crate) fn received(
        &mut self,
        receive: (ReceiveIndex, CommIndex, u64),
        ending: Ending,
        blocking: bool,
    ) {
        let (real, status) = match ending {
            Ending::Status(status) => (self.completion(status), Some(status)),
            Ending::AskedFor { source, tag } => (Completion::Message { source, tag }, None),
            Ending::Unknown => (Completion::Unknown, None),
        };
        self.received_as(receive, real, status, blocking);
    }

    #[inline(always)]
    pub(crate) fn received_as(
        &mut self,
        (receive, comm, request): (ReceiveIndex, CommIndex, u64),
        real: Completion,
        status: Option<StatusPtr>,
        blocking: bool,
    ) {
        if self.tracker.wants_messages() {
            let returned = self.state.deferred.returned();
            self.notify_received(comm, (!blocking).then_some(request), real, status, returned);
        }
        if !self.state.deferred.keep(receive, real) {
            self.state.engine.complete(self.sink, receive, real);
        }
    }

    pub(crate) fn notify_received(
        &self,
        comm: CommIndex,
        request: Option<u64>,
        real: Completion,
        status: Option<StatusPtr>,
        returned: Option<Ticks>,
    ) {
        let Completion::Message { source, tag } = real else {
            if let Some(request) = request {
                self.notify_of_message(|observer| observer.cancelled(comm.0, request));
            }
            return;
        };
        // SAFETY: where there is a status, `completion` read the message from it: it is filled.
        let bytes = status.and_then(|status| unsafe { status.bytes(self.tracker.abi) });
        let message = Message { comm: comm.0, peer: source, tag, bytes: bytes.unwrap_or(0), request };
        self.notify_of_message(|observer| observer.received(&message, returned));
    }

    /// What a status says.
    #[inline(always)]
    pub(crate) fn completion(&self, status: StatusPtr) -> Completion {
        let abi = self.tracker.abi;
        // SAFETY: the callers pass the status of a call that has completed, in this MPI's layout.
        let (source, tag, cancelled) =
            unsafe { (status.source(abi), status.tag(abi), status.cancelled(abi)) };
        if cancelled {
            Completion::Cancelled
        } else if source < 0 || tag < 0 {
            Completion::Unknown
        } else {
            Completion::Message { source, tag }
        }
    }
}
