//! Receives in a row: posted one after the other, and completed by one call that has waited for all of them.
//!
//! Most programs do that, and most of their messages come while nothing else is in the queues. Then each message takes
//! the first receive of its sender, and what matters of a receive fits half a cache line: no list is linked, nothing is
//! looked up. What is emitted is the same, in the same order. As soon as anything is otherwise, the row is given up
//! ([`Row::give_up`]): what is left of it goes into the queues, and the engine goes on as always.

use mpit_events::Ticks;

use crate::matching::{CommIndex, Completion, Engine, Envelope, ReceiveIndex, Sink, emit};

/// Receives that are looked at for the first one of a sender: beyond it, lists are faster.
const NEAR: usize = 16;

/// A receive for a message with this source and tag, neither of them a wildcard.
#[derive(Clone, Copy, Debug)]
struct Receive {
    /// When it came into the posted queue.
    queued: Ticks,
    request: u64,
    comm: CommIndex,
    source: i32,
    tag: i32,
    /// The context of the call that posted it.
    context: u16,
    /// Whether its message has come.
    met: bool,
}

/// Receives in the order of posting, which a call is known to have completed.
#[derive(Debug)]
pub struct Row {
    receives: Vec<Receive>,
    /// Those before it have their messages.
    first: usize,
    /// How many wait for theirs.
    unmet: usize,
}

impl Row {
    /// A row without receives, and room for so many.
    pub fn with_capacity(receives: usize) -> Self {
        Row { receives: Vec::with_capacity(receives), first: 0, unmet: 0 }
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
        let end = self.receives.len().min(self.first + NEAR);
        let is_of_sender = |one: &Receive| !one.met && one.source == source && one.comm == comm;
        let found = self.first + self.receives.get(self.first..end)?.iter().position(is_of_sender)?;
        (self.receives[found].tag == tag).then_some(found)
    }

    /// The message of this receive has come.
    #[inline(always)]
    fn meet(&mut self, found: usize) {
        self.receives[found].met = true;
        self.unmet -= 1;
        while self.receives.get(self.first).is_some_and(|one| one.met) {
            self.first += 1;
        }
    }

    /// Ready for other receives.
    pub fn clear(&mut self) {
        self.receives.clear();
        self.first = 0;
        self.unmet = 0;
    }
}

impl Row {
    /// Posts the next receive of a row, for a message with this source and tag; nothing but the receives of the row waits in the
    /// queues. The same as [`Engine::post_at`].
    #[inline(always)]
    pub fn post(
        &mut self,
        engine: &mut Engine,
        sink: &mut impl Sink,
        comm: CommIndex,
        request: u64,
        (source, tag, context): (i32, i32, u16),
        now: Ticks,
    ) {
        let (begin, queued) = engine.search_in_vain(now);
        let asked = (request, source, tag);
        emit::post(sink, comm, begin, asked);
        emit::search_ends(sink, comm, (begin, queued), asked);
        emit::queued(sink, comm, queued, asked);
        self.receives.push(Receive { queued, request, comm, source, tag, context, met: false });
        self.unmet += 1;
    }

    /// A message comes in: the same as [`Engine::arrive_when`], where it takes a receive of the row, all of which are known to have
    /// completed: gives the receive's context and communicator. Gives `None` and does nothing where that is not plain to see.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        engine: &mut Engine,
        sink: &mut impl Sink,
        envelope: &Envelope,
        when: impl FnOnce() -> Ticks,
    ) -> Option<(u16, CommIndex)> {
        let mut taken = None;
        let takes = |comm| {
            taken = self.find(comm, envelope.source, envelope.tag).map(|found| (comm, found));
            taken.is_some()
        };
        if !engine.take_if_next(envelope, takes) {
            return None;
        }
        let (comm, found) = taken?;
        let (begin, end) = engine.search_in_vain(when());
        emit::arrival(sink, comm, begin, envelope);
        let Receive { queued, request, context, .. } = self.receives[found];
        self.meet(found);
        engine.count_matched();
        emit::removed(sink, comm, (queued, end), (request, envelope.source, envelope.tag));
        emit::arrival_searched(sink, comm, (begin, end), envelope);
        emit::matched(sink, comm, request, envelope.bytes, end);
        Some((context, comm))
    }

    /// Puts what is left of the row into the queues, and gives each of its receives with what it is known to have completed
    /// with: [`Engine::expect`] and [`Engine::complete`] follow.
    pub fn give_up(&mut self, engine: &mut Engine, mut each: impl FnMut(ReceiveIndex, Completion)) {
        for &Receive { queued, request, comm, source, tag, context, .. } in
            self.receives.iter().filter(|one| !one.met)
        {
            let index = engine.insert_posted(comm, (request, source, tag), queued);
            engine.set_context(index, context);
            each(index, Completion::Message { source, tag });
        }
        self.clear();
    }
}
