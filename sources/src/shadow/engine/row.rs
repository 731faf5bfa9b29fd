//! Receives in a row: posted one after the other, and completed by one call that has waited for all of them.
//!
//! Most programs do that, and most of their messages come while nothing else is in the queues. Then each message takes
//! the first receive of its sender, and what matters of a receive fits half a cache line: no list is linked, nothing is
//! looked up. What is emitted is the same, in the same order. As soon as anything is otherwise, the row is given up
//! ([`Engine::give_up`]): what is left of it goes into the queues, and the engine goes on as always.

use mpit_events::Ticks;

use super::{CommIndex, Completion, Engine, Window, emit, meet_foretold, posted_list};
use crate::shadow::EAGER_LIMIT;
use crate::shadow::envelope::Envelope;
use crate::shadow::receive::ReceiveIndex;
use crate::shadow::sink::Sink;

/// Receives that are looked at for the first one of a sender: beyond it, lists are faster.
const LOOK: usize = 16;

/// A receive for a message with this source and tag, neither of them a wildcard.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// When it came into the posted queue.
    queued: Ticks,
    request: u64,
    comm: CommIndex,
    source: i32,
    tag: i32,
    /// Whether its message has come.
    met: bool,
}

/// Receives in the order of posting, which a call is known to have completed.
#[derive(Debug)]
pub struct Row {
    places: Vec<Place>,
    /// Those before it have their messages.
    first: usize,
    /// How many wait for theirs.
    unmet: usize,
}

impl Row {
    /// A row without receives, and room for so many.
    pub fn with_capacity(receives: usize) -> Self {
        Row { places: Vec::with_capacity(receives), first: 0, unmet: 0 }
    }

    /// Whether all its messages have come.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.unmet == 0
    }

    /// How many receives wait for their messages.
    pub fn unmet(&self) -> u32 {
        self.unmet as u32
    }

    /// The first receive for messages of this sender, where it takes one with this tag and is soon found.
    #[inline(always)]
    fn find(&self, comm: CommIndex, source: i32, tag: i32) -> Option<usize> {
        let end = self.places.len().min(self.first + LOOK);
        let is_of_sender = |place: &Place| !place.met && place.source == source && place.comm == comm;
        let found = self.first + self.places.get(self.first..end)?.iter().position(is_of_sender)?;
        (self.places[found].tag == tag).then_some(found)
    }

    /// The message of this receive has come.
    #[inline(always)]
    fn meet(&mut self, found: usize) {
        self.places[found].met = true;
        self.unmet -= 1;
        while self.places.get(self.first).is_some_and(|place| place.met) {
            self.first += 1;
        }
    }

    /// Ready for other receives.
    pub fn clear(&mut self) {
        self.places.clear();
        self.first = 0;
        self.unmet = 0;
    }
}

impl Engine {
    /// Whether a row can be posted: nothing waits in the queues, and every receive is over.
    #[inline]
    pub fn is_vacant(&self) -> bool {
        self.messages.len() == 0 && self.receives.len() == 0
    }

    /// [`post_at`](Engine::post_at), as the next receive of a row, for a message with this source and tag; nothing but
    /// the receives of the row waits in the queues.
    #[inline(always)]
    pub fn post_in_row(
        &mut self,
        sink: &mut impl Sink,
        row: &mut Row,
        comm: CommIndex,
        request: u64,
        (source, tag): (i32, i32),
        now: Ticks,
    ) {
        let begin = self.advance(now);
        let queued = self.advance(begin.plus(self.floor));
        let asked = (request, source, tag);
        emit::post(sink, comm, begin, asked);
        emit::search_ends(sink, comm, (begin, queued), asked);
        emit::queued(sink, comm, queued, asked);
        row.places.push(Place { queued, request, comm, source, tag, met: false });
        row.unmet += 1;
    }

    /// [`arrive_within`](Engine::arrive_within), where the message takes a receive of the row; gives `false` and does
    /// nothing where that is not plain to see.
    #[inline(always)]
    pub fn arrive_in_row(
        &mut self,
        sink: &mut impl Sink,
        row: &mut Row,
        envelope: &Envelope,
        window: &mut Window,
    ) -> bool {
        let Some(comm) = self.comm_of(envelope) else { return false };
        let peer = self.comms[comm.0 as usize].peers.meet(envelope.source);
        if peer.expected != envelope.sequence || envelope.bytes > EAGER_LIMIT {
            return false;
        }
        let Some(found) = row.find(comm, envelope.source, envelope.tag) else { return false };
        peer.expected = peer.expected.wrapping_add(1);
        let begin = meet_foretold(envelope, window.seen(envelope.sent), window, self.copying);
        let begin = self.advance(begin);
        emit::arrival(sink, comm, begin, envelope);
        let end = self.advance(begin.plus(self.floor));
        let Place { queued, request, .. } = row.places[found];
        row.meet(found);
        self.truth.matched += 1;
        emit::removed(sink, comm, (queued, end), (request, envelope.source, envelope.tag));
        emit::arrival_searched(sink, comm, (begin, end), envelope);
        emit::matched(sink, comm, request, envelope.bytes, end);
        true
    }

    /// Puts what is left of a row into the queues, and gives each of its receives with what it is known to have completed
    /// with: [`foretell`](Engine::foretell) and [`complete`](Engine::complete) follow.
    pub fn give_up(&mut self, row: &mut Row, mut each: impl FnMut(ReceiveIndex, Completion)) {
        for &Place { queued, request, comm, source, tag, .. } in row.places.iter().filter(|place| !place.met)
        {
            let index = self.keep_receive(comm, (request, source, tag), queued);
            self.receives.append(posted_list(&mut self.comms, comm, source), index);
            each(ReceiveIndex(index), Completion::Message { source, tag });
        }
        row.clear();
    }
}
