//! Receives in a row: posted one after the other, and completed by one call that has waited for all of them.
//!
//! Most programs do that, and most of their messages come while nothing else is in the queues. Then each message takes
//! the first receive of its sender, and what matters of a receive fits half a cache line: no list is linked, nothing is
//! looked up. What is emitted is the same, in the same order. As soon as anything is otherwise, the row is given up
//! ([`Row::give_up`]): what is left of it goes into the queues, and the engine goes on as always.

use mpit_events::Ticks;

use crate::matching::{CommIndex, Completion, Engine, Envelope, Event, ReceiveIndex, Sink, emit};

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

/// Searches that found nothing, one after the other in one communicator: each took as long as the first.
#[derive(Clone, Copy, Debug)]
struct InVain {
    comm: CommIndex,
    first: (Ticks, Ticks),
    count: u16,
}

impl InVain {
    const NONE: InVain = InVain { comm: CommIndex(0), first: (Ticks(0), Ticks(0)), count: 0 };

    /// Adds one; gives those before it, where they were in another communicator, or are very many.
    #[inline(always)]
    fn add(&mut self, comm: CommIndex, times: (Ticks, Ticks)) -> Option<InVain> {
        if self.count != 0 && self.comm == comm && self.count != u16::MAX {
            self.count += 1;
            return None;
        }
        let before = std::mem::replace(self, InVain { comm, first: times, count: 1 });
        (before.count != 0).then_some(before)
    }
}

/// Receives were posted, all of whose searches found nothing.
fn emit_posted(sink: &mut impl Sink, posted: InVain, weight: u16) {
    let InVain { comm, first, count } = posted;
    sink.emit_several(Event::SearchUnexpectedEnd, comm, first, count.saturating_mul(weight));
    sink.emit_several(Event::PostedInsert, comm, (first.1, first.1), count);
}

/// The posted receives were searched for messages, each of which has found the first one of its sender.
fn emit_searched(sink: &mut impl Sink, searched: InVain, weight: u16) {
    let InVain { comm, first, count } = searched;
    sink.emit_several(Event::SearchPostedEnd, comm, first, count.saturating_mul(weight));
}

/// Receives in the order of posting, which a call is known to have completed.
#[derive(Debug)]
pub struct Row {
    receives: Vec<Receive>,
    /// Those before it have their messages.
    first: usize,
    /// How many wait for theirs.
    unmet: usize,
    /// For who only counts: searches for receives, and for messages, that are not emitted yet.
    posted: InVain,
    searched: InVain,
    /// For how many receives each of them stands, where somebody only counts; none where the row is not counted.
    weight: u16,
}

impl Row {
    /// A row without receives, and room for so many.
    pub fn with_capacity(receives: usize) -> Self {
        let (posted, searched) = (InVain::NONE, InVain::NONE);
        Row { receives: Vec::with_capacity(receives), first: 0, unmet: 0, posted, searched, weight: 1 }
    }

    /// Whether all its messages have come.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.unmet == 0
    }

    /// Each of its receives stands for so many, to who [only counts](Sink::only_counts); with none, its events are not emitted. Before
    /// the first is posted.
    pub(crate) fn weigh(&mut self, weight: u16) {
        self.weight = weight;
    }

    /// Whether its events are not emitted.
    pub(crate) fn is_silent(&self) -> bool {
        self.weight == 0
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
        if self.weight == 0 {
            // Not emitted.
        } else if sink.only_counts() {
            if let Some(before) = self.posted.add(comm, (begin, queued)) {
                emit_posted(sink, before, self.weight);
            }
        } else {
            let asked = (request, source, tag);
            emit::post(sink, comm, begin, asked);
            emit::search_ends(sink, comm, (begin, queued), asked);
            emit::queued(sink, comm, queued, asked);
        }
        self.receives.push(Receive { queued, request, comm, source, tag, context, met: false });
        self.unmet += 1;
    }

    /// Emits what [`post`](Row::post) and [`arrive`](Row::arrive) have left for later: before anything else is emitted, and after the
    /// last post.
    #[inline(always)]
    pub fn emit(&mut self, sink: &mut impl Sink) {
        if self.posted.count != 0 {
            emit_posted(sink, std::mem::replace(&mut self.posted, InVain::NONE), self.weight);
        }
        if self.searched.count != 0 {
            emit_searched(sink, std::mem::replace(&mut self.searched, InVain::NONE), self.weight);
        }
    }

    /// A message comes in: the same as [`Engine::arrive_when`], where it takes a receive of the row, all of which are known to have
    /// completed: gives the receive's context and communicator, and when it was posted. Gives `None` and does nothing where that is not plain to see.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        engine: &mut Engine,
        sink: &mut impl Sink,
        envelope: &Envelope,
        when: impl FnOnce() -> Ticks,
    ) -> Option<(u16, CommIndex, Ticks)> {
        let mut taken = None;
        let takes = |comm| {
            taken = self.find(comm, envelope.source, envelope.tag).map(|found| (comm, found));
            taken.is_some()
        };
        if !engine.take_if_next(envelope, takes) {
            return None;
        }
        let (comm, found) = taken?;
        let came = when();
        if self.weight == 0 {
            let Receive { queued, context, .. } = self.receives[found];
            self.meet(found);
            engine.count_matched();
            return Some((context, comm, queued));
        }
        let (begin, end) = engine.search_in_vain(came);
        let only_counts = sink.only_counts();
        if !only_counts {
            emit::arrival(sink, comm, begin, envelope);
        }
        let Receive { queued, request, context, .. } = self.receives[found];
        self.meet(found);
        engine.count_matched();
        if !only_counts {
            emit::removed(sink, comm, (queued, end), (request, envelope.source, envelope.tag));
            emit::arrival_searched(sink, comm, (begin, end), envelope);
            emit::matched(sink, comm, request, envelope.bytes, end);
            return Some((context, comm, queued));
        }
        sink.emit_several(Event::PostedRemove, comm, (queued, end), self.weight);
        if let Some(before) = self.searched.add(comm, (begin, end)) {
            emit_searched(sink, before, self.weight);
        }
        Some((context, comm, queued))
    }

    /// Puts what is left of the row into the queues, and gives each of its receives with what it is known to have completed
    /// with: [`Engine::expect`] and [`Engine::complete`] follow.
    pub fn give_up(
        &mut self,
        engine: &mut Engine,
        sink: &mut impl Sink,
        mut each: impl FnMut(ReceiveIndex, Completion),
    ) {
        for &Receive { queued, request, comm, source, tag, context, .. } in
            self.receives.iter().filter(|one| !one.met)
        {
            if self.weight == 0 {
                sink.emit_several(Event::SearchUnexpectedEnd, comm, (queued, queued), 1);
                sink.emit_several(Event::PostedInsert, comm, (queued, queued), 1);
            }
            let index = engine.insert_posted(comm, (request, source, tag), queued);
            engine.set_context(index, context);
            each(index, Completion::Message { source, tag });
        }
        self.clear();
    }
}
