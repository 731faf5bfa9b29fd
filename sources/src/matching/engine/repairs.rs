//! The truth check's repairs: the real library matched otherwise, or an envelope is late or lost.
//! All of this is rare.

use mpit_events::Ticks;

use super::searches::first_with_tag;
use super::{Completion, Engine, emit, is_before, posted_list};
use crate::matching::envelope::{ANY_SOURCE, ANY_TAG, CommIndex, Envelope, Sender};
use crate::matching::events::{Arrived, Event, Queued, Request, Searched, Sink};
use crate::matching::receive::{Awaited, Receive, ReceiveIndex, State};

/// A message that has not come to the model, though a receive is known to have completed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Whose.
    pub sender: Sender,
    /// When it had come at the latest, where that is known: the receive that has got it was given another one here, and so
    /// did not wait.
    pub by: Option<Ticks>,
}

impl Engine {
    /// The receive was not matched with the message that it completed with.
    #[cold]
    #[inline(never)]
    pub(super) fn complete_otherwise(
        &mut self,
        sink: &mut impl Sink,
        index: ReceiveIndex,
        real: Completion,
    ) -> Option<Envelope> {
        let known = self.receives.get_mut(index.0)?;
        known.expected = false;
        let receive = *known;
        let now = self.advance(sink.now());
        match (receive.state, real) {
            (State::Posted, Completion::Message { .. }) => self.unlink_receive(index),
            (State::Posted, _) => self.take_receive(sink, index, now),
            _ => {}
        }
        let Completion::Message { source, tag } = real else {
            if let (Some(&envelope), Completion::Unknown) = (receive.matched(), real) {
                // It failed after it was matched: the message is used up (it was too long).
                self.finish(sink, index, envelope.bytes);
                return Some(envelope);
            }
            if let Some(&envelope) = receive.matched() {
                self.truth.rematched += 1;
                self.set_state(index, State::Cancelled);
                self.reinstate(sink, receive.comm, envelope, now);
            }
            let request = Request { request: receive.request };
            if receive.state != State::Cancelled {
                sink.emit(Event::Cancel, receive.comm, now, false, request);
            }
            sink.emit(Event::RequestComplete, receive.comm, now, false, request);
            self.finish(sink, index, 0);
            return None;
        };
        if let Some(&wrong) = receive.matched()
            && let Some(envelope) = self.exchange(sink, receive.comm, source, tag, index, wrong)
        {
            self.truth.rematched += 1;
            self.finish(sink, index, envelope.bytes);
            return Some(envelope);
        }
        let claimed = self.claim(sink, receive.comm, source, tag, index, now);
        if receive.state == State::Posted {
            // Out of the queue it is in any case.
            emit::receive_removed(sink, &receive, now);
        }
        if let Some(&wrong) = receive.matched() {
            self.set_state(index, State::Cancelled);
            self.reinstate(sink, receive.comm, wrong, now);
        }
        if let Some(envelope) = claimed {
            self.truth.rematched += 1;
            self.finish(sink, index, envelope.bytes);
            return Some(envelope);
        }
        let peer = self.comms[receive.comm.0 as usize].peers.meet(source);
        if peer.lost > 0 || self.is_late {
            peer.lost = peer.lost.saturating_sub(1);
            self.synthesise(sink, receive.comm, receive.request, now);
            self.end(sink, index);
        } else {
            // Its envelope has yet to come. Where another was, what was raised of a match was of the wrong one: only the
            // count waits.
            let request = if receive.state == State::Posted { receive.request } else { 0 };
            self.end(sink, index);
            self.await_envelope(receive.comm, Awaited { source, tag, request });
        }
        None
    }

    /// The receive has the `wrong` message: exchanges it for that which the real library gave it, where
    /// whoever has that can have the wrong one instead. Then the queues have changed as they have, only
    /// with other messages, and nothing is raised.
    fn exchange(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        source: i32,
        tag: i32,
        claimant: ReceiveIndex,
        wrong: Envelope,
    ) -> Option<Envelope> {
        if let Some(place) = self.queued(comm, source, tag) {
            if self.search_posted(sink, comm, wrong.source, wrong.tag).0.is_some() {
                // Another receive waits for the wrong one: it would not have become unexpected.
                return None;
            }
            let envelope = self.messages.get(place)?.envelope;
            let list = &mut self.comms[comm.0 as usize].peers.meet(source).unexpected;
            self.messages.unlink(list, place);
            self.messages.get_mut(place)?.envelope = wrong;
            let next = self.place_of(comm, &wrong);
            let list = &mut self.comms[comm.0 as usize].peers.meet(wrong.source).unexpected;
            self.messages.insert_before(list, place, next);
            return Some(envelope);
        }
        let (holder, envelope) = self.holder_of(comm, source, tag, claimant)?;
        let receive = self.receives.get_mut(holder.0)?;
        let takes = (receive.source == wrong.source || receive.source == ANY_SOURCE)
            && (receive.tag == wrong.tag || receive.tag == ANY_TAG);
        takes.then(|| {
            receive.message = wrong;
            envelope
        })
    }

    /// What the model lacks for a receive that the real library has completed: its envelope has not come here, and is not
    /// known to be lost. `None` where nothing is missing.
    pub fn lacks(&self, index: ReceiveIndex, real: Completion) -> Option<Lacking> {
        let Completion::Message { source, tag } = real else { return None };
        let receive = self.receives.get(index.0)?;
        let comm = &self.comms[receive.comm.0 as usize];
        if comm.peers.get(source).is_some_and(|peer| peer.lost > 0) {
            return None;
        }
        let lacking = Lacking { sender: (comm.context, source), by: None };
        if receive.state == State::Posted {
            return Some(lacking);
        }
        receive.matched().filter(|has| (has.source, has.tag) != (source, tag))?;
        let is_here = self.queued(receive.comm, source, tag).is_some()
            || self.holder_of(receive.comm, source, tag, index).is_some();
        (!is_here).then_some(Lacking { by: Some(receive.queued), ..lacking })
    }

    /// The message that this receive is matched with.
    pub fn given_to(&self, index: ReceiveIndex) -> Option<&Envelope> {
        self.receives.get(index.0).and_then(Receive::matched)
    }

    /// The place of the first such message in the unexpected queue.
    fn queued(&self, comm: CommIndex, source: i32, tag: i32) -> Option<u32> {
        let peer = self.comms[comm.0 as usize].peers.get(source)?;
        first_with_tag(&self.messages, peer.unexpected, tag)
    }

    /// The receive that is matched with the first such message, and the message. Looks no further than there are matched
    /// receives: most often few, however many are posted.
    fn holder_of(
        &self,
        comm: CommIndex,
        source: i32,
        tag: i32,
        claimant: ReceiveIndex,
    ) -> Option<(ReceiveIndex, Envelope)> {
        let holds = |(index, receive): (u32, &Receive)| {
            let envelope = *receive.matched()?;
            let same = receive.comm == comm && envelope.source == source && envelope.tag == tag;
            (same && index != claimant.0).then_some((envelope.sequence, ReceiveIndex(index), envelope))
        };
        // A claimant that was posted has been taken out of its queue, and has no message.
        let claims = self.receives.get(claimant.0).is_some_and(|receive| receive.state == State::Posted);
        let matched = self.receives.apart().saturating_sub(usize::from(claims));
        let others = self.receives.iter().filter(|(_, receive)| receive.state != State::Posted);
        let first = others.take(matched).filter_map(holds).min_by_key(|(order, ..)| *order);
        first.map(|(_, holder, envelope)| (holder, envelope))
    }

    /// The unexpected message that comes next after this one, in the order of sending.
    fn place_of(&self, comm: CommIndex, envelope: &Envelope) -> Option<u32> {
        let list = self.comms[comm.0 as usize].peers.get(envelope.source)?.unexpected;
        let mut next = list.first();
        while let Some(place) = next
            && self.messages.get(place).is_some_and(|m| is_before(m.envelope.sequence, envelope.sequence))
        {
            next = self.messages.next(place);
        }
        next
    }

    /// Finds the message that the real library has given away, and takes it from whoever has it.
    pub(super) fn claim(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        source: i32,
        tag: i32,
        claimant: ReceiveIndex,
        now: Ticks,
    ) -> Option<Envelope> {
        if let Some(place) = self.queued(comm, source, tag) {
            return Some(self.take_message(sink, comm, place, now));
        }
        let (holder, envelope) = self.holder_of(comm, source, tag, claimant)?;
        self.repost(sink, holder, now);
        Some(envelope)
    }

    /// Puts a receive that has lost its message back into the posted queue, at its old place.
    pub(super) fn repost(&mut self, sink: &mut impl Sink, index: ReceiveIndex, now: Ticks) {
        self.set_state(index, State::Posted);
        let Some(receive) = self.receives.get_mut(index.0) else { return };
        receive.queued = now;
        let Receive { request, order, comm, source, tag, .. } = *receive;
        let list = posted_list(&mut self.comms, comm, source);
        let mut next = list.first();
        while let Some(place) = next
            && self.receives.get(place).is_some_and(|other| other.order < order)
        {
            next = self.receives.next(place);
        }
        self.receives.insert_before(list, index.0, next);
        sink.emit(Event::PostedInsert, comm, now, false, Queued { request, source, tag });
    }

    /// A message that was matched wrongly looks for its receive again, else it is unexpected, in
    /// the order of its sending.
    pub(super) fn reinstate(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        envelope: Envelope,
        now: Ticks,
    ) {
        if let (Some(receive), _) = self.search_posted(sink, comm, envelope.source, envelope.tag) {
            self.take_receive(sink, receive, now);
            return self.matched(sink, receive, envelope, now);
        }
        let next = self.place_of(comm, &envelope);
        self.queue_message(sink, comm, &envelope, now, next);
    }

    /// A completed receive waits for its envelope.
    pub(super) fn await_envelope(&mut self, comm: CommIndex, awaited: Awaited) {
        self.comms[comm.0 as usize].awaited.push_back(awaited);
        self.awaiting += 1;
    }

    /// The oldest completed receive of this communicator that waits for such an envelope: it waits no more.
    fn take_awaited(&mut self, comm: CommIndex, is_it: impl Fn(&Awaited) -> bool) -> Option<Awaited> {
        let awaited = &mut self.comms[comm.0 as usize].awaited;
        let found = awaited.iter().position(is_it).and_then(|place| awaited.remove(place));
        self.awaiting -= usize::from(found.is_some());
        found
    }

    /// An envelope that a completed receive waits for: the two meet, late.
    pub(super) fn meet_awaited(
        &mut self,
        sink: &mut impl Sink,
        comm: CommIndex,
        envelope: &Envelope,
    ) -> bool {
        let waits_for = |one: &Awaited| (one.source, one.tag) == (envelope.source, envelope.tag);
        let Some(Awaited { request, .. }) = self.take_awaited(comm, waits_for) else { return false };
        let Envelope { source, tag, sequence, bytes, sent, .. } = *envelope;
        let context = self.comms[comm.0 as usize].context as u32;
        sink.emit(Event::MessageArrived, comm, sent, true, Arrived { context, source, tag, sequence });
        let searched = Searched { source, tag, sequence };
        sink.emit(Event::SearchPostedBegin, comm, sent, true, searched);
        sink.emit_end(Event::SearchPostedEnd, comm, sent, sent, true, searched);
        if request != 0 {
            emit::transfer_begins(sink, comm, request, bytes, sent, true);
            emit::transfer_ends(sink, comm, request, bytes, sent, true);
        }
        self.truth.matched += 1;
        true
    }

    /// A completed receive whose envelope is lost.
    pub(super) fn synthesise(&mut self, sink: &mut impl Sink, comm: CommIndex, request: u64, now: Ticks) {
        if request != 0 {
            sink.emit(Event::RequestComplete, comm, now, false, Request { request });
        }
        self.truth.envelopes_lost += 1;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_gap(&mut self, sink: &mut impl Sink, comm: CommIndex, envelope: &Envelope) {
        let known = &mut self.comms[comm.0 as usize];
        let peer = known.peers.meet(envelope.source);
        if is_before(envelope.sequence, peer.expected) {
            // It was not lost, only overtaken.
            let found = u32::from(peer.lost > 0);
            peer.lost -= found;
            self.truth.dropped = self.truth.dropped.saturating_sub(u64::from(found));
            return;
        }
        let mut lost = envelope.sequence.wrapping_sub(peer.expected);
        peer.expected = envelope.sequence.wrapping_add(1);
        self.truth.dropped += u64::from(lost);
        sink.lost(comm, u64::from(lost));
        // The oldest receives that wait for this peer's envelopes wait for the lost ones.
        let now = sink.now();
        while lost > 0 {
            let of_sender = |one: &Awaited| one.source == envelope.source;
            let Some(Awaited { request, .. }) = self.take_awaited(comm, of_sender) else { break };
            self.synthesise(sink, comm, request, now);
            lost -= 1;
        }
        self.comms[comm.0 as usize].peers.meet(envelope.source).lost += lost;
    }
}
