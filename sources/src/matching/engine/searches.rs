//! Searches: what ob1's time goes into. Each gives what it found and how many ticks it took; the clock
//! is read only from the second entry on.

use super::{Engine, Message};
use crate::matching::envelope::{ANY_SOURCE, ANY_TAG, CommIndex, Envelope};
use crate::matching::events::Sink;
use crate::matching::queues::{List, Slab};
use crate::matching::receive::{Receive, ReceiveIndex};

impl Engine {
    #[inline(always)]
    pub(super) fn search_unexpected(
        &mut self,
        sink: &impl Sink,
        comm: CommIndex,
        source: i32,
        tag: i32,
    ) -> (Option<u32>, u64) {
        if self.messages.len() == 0 {
            return (None, self.floor);
        }
        self.search_messages(sink, comm, source, tag)
    }

    #[inline(never)]
    fn search_messages(
        &mut self,
        sink: &impl Sink,
        comm: CommIndex,
        source: i32,
        tag: i32,
    ) -> (Option<u32>, u64) {
        let known = &mut self.comms[comm.0 as usize];
        if source == ANY_SOURCE {
            return self.search_all_senders(sink, comm, tag);
        }
        let list = known.peers.get(source).map_or(List::EMPTY, |peer| peer.unexpected);
        let Some(first) = list.first() else { return (None, self.floor) };
        if has_tag(&self.messages, first, tag) {
            return (Some(first), self.floor);
        }
        let begin = sink.now();
        let mut place = self.messages.next(first);
        while let Some(index) = place {
            if has_tag(&self.messages, index, tag) {
                break;
            }
            place = self.messages.next(index);
        }
        (place, self.floor + sink.now().since(begin))
    }

    #[inline(never)]
    pub(super) fn search_all_senders(
        &mut self,
        sink: &impl Sink,
        comm: CommIndex,
        tag: i32,
    ) -> (Option<u32>, u64) {
        let begin = sink.now();
        let (comm, messages) = (&mut self.comms[comm.0 as usize], &self.messages);
        let found = comm
            .peers
            .in_turn_after(comm.last_probed)
            .find_map(|(rank, peer)| Some((rank, first_with_tag(messages, peer.unexpected, tag)?)));
        if let Some((rank, _)) = found {
            comm.last_probed = rank;
        }
        (found.map(|(_, place)| place), sink.now().since(begin))
    }

    #[inline(always)]
    pub(super) fn search_posted(
        &mut self,
        sink: &impl Sink,
        comm: CommIndex,
        source: i32,
        tag: i32,
    ) -> (Option<ReceiveIndex>, u64) {
        let known = &self.comms[comm.0 as usize];
        let specific = known.peers.get(source).and_then(|peer| peer.posted.first());
        let wild = known.wild.first();
        let first = match (specific, wild) {
            (None, None) => return (None, self.floor),
            (Some(only), None) | (None, Some(only)) => only,
            (Some(a), Some(b)) => {
                if self.order_of(a) < self.order_of(b) {
                    a
                } else {
                    b
                }
            }
        };
        if self.receives.get(first).is_some_and(|receive| receive.accepts(source, tag)) {
            return (Some(ReceiveIndex(first)), self.floor);
        }
        self.search_posted_on(sink, specific, wild, (source, tag))
    }

    /// The search goes on behind the first entry.
    #[inline(never)]
    fn search_posted_on(
        &self,
        sink: &impl Sink,
        specific: Option<u32>,
        wild: Option<u32>,
        message: (i32, i32),
    ) -> (Option<ReceiveIndex>, u64) {
        let begin = sink.now();
        let found = self.first_posted(specific, wild, |receive| receive.accepts(message.0, message.1));
        (found, self.floor + sink.now().since(begin))
    }

    /// Whether receives wait for any source in this program, so that messages may [come later](Engine::comes_later).
    #[inline(always)]
    pub fn has_wildcards(&self) -> bool {
        self.wildcards
    }

    /// Whether ob1 has not taken this message in yet, though it was sent: it would have gone to a receive that is known to
    /// have got another one, which has not come yet.
    #[inline(never)]
    pub fn comes_later(&mut self, envelope: &Envelope) -> bool {
        self.first_posted_for(envelope, |receive| receive.fits(envelope.tag))
            .is_some_and(|receive| !receive.accepts(envelope.source, envelope.tag))
    }

    /// The first of the receives that wait for messages from this one's source, or from any, for which this holds.
    #[inline]
    fn first_posted_for(
        &mut self,
        envelope: &Envelope,
        is_it: impl Fn(&Receive) -> bool,
    ) -> Option<&Receive> {
        let comm = self.comm_of(envelope)?;
        let known = &self.comms[comm.0 as usize];
        let specific = known.peers.get(envelope.source).and_then(|peer| peer.posted.first());
        let first = self.first_posted(specific, known.wild.first(), is_it)?;
        self.receives.get(first.0)
    }

    /// Goes through both lists in the order of posting.
    fn first_posted(
        &self,
        mut specific: Option<u32>,
        mut wild: Option<u32>,
        is_it: impl Fn(&Receive) -> bool,
    ) -> Option<ReceiveIndex> {
        loop {
            let order = |index: Option<u32>| index.map_or(u64::MAX, |index| self.order_of(index));
            let first = if order(specific) <= order(wild) { &mut specific } else { &mut wild };
            let index = (*first)?;
            if is_it(self.receives.get(index)?) {
                return Some(ReceiveIndex(index));
            }
            *first = self.receives.next(index);
        }
    }

    #[inline]
    pub(super) fn order_of(&self, index: u32) -> u64 {
        self.receives.get(index).map_or(u64::MAX, |receive| receive.order)
    }
}

#[inline]
fn has_tag(messages: &Slab<Message>, index: u32, tag: i32) -> bool {
    tag == ANY_TAG || messages.get(index).is_some_and(|message| message.envelope.tag == tag)
}

#[inline]
pub(super) fn first_with_tag(messages: &Slab<Message>, list: List, tag: i32) -> Option<u32> {
    let mut place = list.first();
    while let Some(index) = place {
        if has_tag(messages, index, tag) {
            return Some(index);
        }
        place = messages.next(index);
    }
    None
}
