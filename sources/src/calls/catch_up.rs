//! Catching up: the model follows calls that were deferred, one after the other.

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::deferred::DeferredCall;
use super::state::State;
use super::tracker::Work;
use super::waits::{KeptWaiting, Origin, Tally, TestFound, Unmet, Waited};
use crate::matching::{CommIndex, Completion, Envelope, ReceiveIndex};
use crate::progress_model::{Awaits, CallInterval, Polling};
use crate::transport::ring::Ring;

/// How often the ring is looked into for an envelope that is being written: about a microsecond.
const PATIENCE: u32 = 64;
/// How often it is looked into after that, each time when others have had the processor, its sender perhaps among them.
const LAST_TRIES: u32 = 4;
/// How often in a row that may be in vain before it is not done again: envelopes that are lost never come.
const MOST_IN_VAIN: u32 = 8;
/// Observers are notified of how right the model is once for so many receives: not for each, which takes a twentieth of a message.
const MATCHED_AT_A_TIME: u64 = 64;

/// So many receives are remembered whose messages' envelopes are on their way.
const MOST_UNMET: usize = 1024;
/// So many receives are remembered that were found complete and are not completed yet.
const MOST_SEEN: usize = 16;

impl State {
    /// Follows what is deferred where that is no more than a call that has completed nothing, and for which nothing has come: most tests
    /// of a loop are like that, and nothing changes. Whether it was so.
    #[inline(always)]
    pub(crate) fn passes_vain_poll(&mut self) -> bool {
        let State { deferred, routes, model, inbox, tally, .. } = self;
        let in_vain = deferred.is_one_poll()
            && routes.ring.as_ref().is_none_or(Ring::has_none)
            && !model.has_leftover()
            && inbox.is_empty()
            && !tally.has_any();
        if in_vain {
            model.begin_anew();
            deferred.advance();
        }
        in_vain
    }

    /// The same, where nothing else waits to be followed, nor to be raised.
    #[inline(always)]
    pub(crate) fn passes_only_vain_poll(&mut self) -> bool {
        self.rows.is_empty()
            && self.posts.is_empty()
            && self.between_calls.is_empty()
            && self.passes_vain_poll()
    }
}

impl Work<'_> {
    /// A call has polled since `entered`, and waited for this: the model will follow later. The receives that it has
    /// completed are added by [`Deferred::keep`](super::deferred::Deferred::keep).
    #[inline]
    pub(crate) fn defer(&mut self, entered: Ticks, awaits: Awaits, polling: Polling) {
        if !self.state.posts.is_empty() {
            self.post_first();
        }
        let mut call = self.deferred_call(entered, awaits, polling);
        if polling == Polling::Once {
            // What it has found it has taken in one after the other: all of it counts as seen in the middle of the call.
            call.from = call.from.plus(call.until.since(call.from) / 2);
        }
        self.state.deferred.add(call);
        self.tracker.behind.store(true, Ordering::Relaxed);
    }

    /// A call that was entered at `entered` and returns now; its completions are yet to be added.
    #[inline(always)]
    pub(crate) fn deferred_call(&mut self, entered: Ticks, awaits: Awaits, polling: Polling) -> DeferredCall {
        self.state.routes.prepare();
        let now = self.now();
        let descheduled = self.was_descheduled(entered, now);
        let context = self.context;
        DeferredCall { from: entered, until: now, first: 0, end: 0, awaits, polling, descheduled, context }
    }

    /// What was posted before a call comes before its polls.
    #[cold]
    #[inline(never)]
    fn post_first(&mut self) {
        while self.catch_up_some() {}
    }

    /// The model will soon catch up: the envelope that it looks for first comes nearer.
    #[inline(always)]
    pub(crate) fn prefetch_envelope(&self) {
        if self.has_deferred()
            && let Some(ring) = &self.state.routes.ring
        {
            ring.prefetch_next();
        }
    }

    /// Whether there are calls to follow, besides receives that were posted after them.
    #[inline(always)]
    pub(crate) fn has_deferred(&self) -> bool {
        !(self.state.rows.is_empty() && self.state.deferred.is_empty())
    }

    /// Follows some of what was deferred, then posts what was posted after it; whether there may be more.
    #[inline]
    pub(crate) fn catch_up_some(&mut self) -> bool {
        let more = if self.has_deferred() {
            self.follow_deferred() || !self.state.posts.is_empty()
        } else {
            self.post_some()
        };
        self.tracker.behind.store(more, Ordering::Relaxed);
        if self.state.engine.matched_so_far() - self.state.matched_told >= MATCHED_AT_A_TIME {
            self.tell_truth();
        }
        more
    }

    #[cold]
    #[inline(never)]
    fn tell_truth(&mut self) {
        let (truth, not_followed) = (self.state.engine.truth(), self.state.not_followed);
        self.state.matched_told = truth.matched;
        if self.tracker.wants_waits() {
            self.notify_of_waits(|observer| observer.followed(&truth, &not_followed));
        }
    }

    /// Follows some of the calls that were deferred; whether there may be more.
    #[inline]
    pub(crate) fn follow_deferred(&mut self) -> bool {
        if !self.state.rows.is_empty() {
            return self.follow_row();
        }
        if self.state.passes_vain_poll() {
            return false;
        }
        let Some(call) = self.state.deferred.next() else { return false };
        let known = self.state.deferred.interval;
        let mut interval = known.unwrap_or_else(|| self.begin(&call));
        // A call for which all was there when it began has not polled for more.
        let polls = known.is_some() || !interval.is_over();
        if polls && self.take_in_some(&mut interval) || interval.is_lacking() && self.passes_over() {
            self.state.deferred.interval = Some(interval);
            return true;
        }
        for place in call.first..call.end {
            let (receive, real) = self.state.deferred.completion(place);
            let (context, comm, queued) = self.state.engine.origin(receive);
            let known = self.state.engine.complete_matched(self.sink, receive, real);
            let known = known.or_else(|| self.complete_otherwise(place, &call));
            if !self.state.seen_complete.is_empty() {
                self.notify_of_seen(receive, comm, known.as_ref());
            }
            let origin = Origin { context, comm, queued };
            match (known, real) {
                (Some(envelope), _) => self.count_received(&origin, &envelope, call.from),
                (None, Completion::Message { source, tag }) => {
                    self.await_envelope(Unmet { origin, source, tag, call });
                }
                _ => {}
            }
        }
        if self.state.tally.has_any() {
            self.end_tally(&call);
        }
        self.state.deferred.advance()
    }

    /// The call that is being followed, since `from`, has got this message, by this receive.
    #[inline(always)]
    pub(crate) fn count_received(&mut self, receive: &Origin, envelope: &Envelope, from: Ticks) {
        if !self.tracker.wants_waits() {
            return;
        }
        if let Some(before) = self.state.tally.add(receive, envelope) {
            self.notify_of_waits(|observer| observer.received_bytes(&before));
        }
        if receive.queued.since(envelope.sent) >= self.tracker.shortest_wait() {
            self.notify_of_late_post(receive, envelope);
        }
        if envelope.bytes > mpi_functions::STORED {
            self.notify_of_absence(receive, envelope, from);
        }
    }

    /// A long message has come: the receiver may have been elsewhere when it could have been taken.
    #[inline(never)]
    fn notify_of_absence(&self, receive: &Origin, envelope: &Envelope, until: Ticks) {
        let Origin { context, comm, queued } = *receive;
        let Envelope { source, context_of_send, bytes, sent, .. } = *envelope;
        let since = sent.max(queued);
        if until.since(since) >= self.tracker.shortest_wait() {
            let left = KeptWaiting { context, comm: comm.0, source, context_of_send, bytes, since, until };
            self.notify_of_waits(|observer| observer.left_waiting(&left));
        }
    }

    /// The envelope of a message that this call has got is on its way: from another node, or its sender has not come to write it. In
    /// shared memory it may also be lost, where there was no room for it, and from before the model began: then others are not taken for it.
    #[cold]
    fn await_envelope(&mut self, unmet: Unmet) {
        let engine = &self.state.engine;
        let may_be_lost = engine.is_late() || engine.truth().dropped != 0;
        if !self.tracker.wants_waits() || may_be_lost && !self.tracker.mail.is_open() {
            return;
        }
        if self.state.unmet.len() == MOST_UNMET {
            self.state.unmet.pop_front();
        }
        self.state.unmet.push_back(unmet);
    }

    /// An envelope comes in, perhaps of a message that a call has got before: observers are notified of that call.
    #[cold]
    #[inline(never)]
    pub(crate) fn meet_envelope(&mut self, envelope: &Envelope) {
        let Some(comm) = self.state.engine.comm_of(envelope) else { return };
        let is_it = |unmet: &Unmet| {
            (unmet.origin.comm, unmet.source, unmet.tag) == (comm, envelope.source, envelope.tag)
        };
        let Some(Unmet { origin, call, .. }) =
            self.state.unmet.iter().position(is_it).and_then(|place| self.state.unmet.remove(place))
        else {
            return;
        };
        let shortest = self.tracker.shortest_wait();
        if origin.queued.since(envelope.sent) >= shortest {
            self.notify_of_late_post(&origin, envelope);
        }
        if call.polling == Polling::ForSome {
            self.notify_of_found((call.context, call.until), comm, envelope);
        }
        let mut tally = Tally::default();
        tally.add(&origin, envelope);
        let (received, waited) = tally.end(call.context, (call.from, call.until), shortest);
        self.notify_of_waits(|observer| observer.received_bytes(&received));
        // Of several messages that a call waits for at once the time counts once.
        let is_told = self.state.unmet_told.0 == call.until;
        let begin = if is_told { self.state.unmet_told.1.max(call.from) } else { call.from };
        if let Some(waited) = waited.filter(|waited| waited.end.since(begin) >= shortest) {
            self.state.unmet_told = (call.until, waited.end);
            self.notify_of_waits(|observer| observer.waited(&Waited { begin, ..waited }));
        }
    }

    /// An envelope has come through shared memory, perhaps of a message that a call has got before. Where one was lost it is not known for which
    /// message a call has waited.
    #[cold]
    #[inline(never)]
    pub(crate) fn meet_in_memory(&mut self, envelope: &Envelope) {
        if self.state.engine.truth().dropped == 0 {
            self.meet_envelope(envelope);
        } else {
            self.state.unmet.clear();
        }
    }

    #[inline(never)]
    fn notify_of_late_post(&self, receive: &Origin, envelope: &Envelope) {
        let Origin { context, comm, queued } = *receive;
        let Envelope { source, context_of_send, bytes, sent, .. } = *envelope;
        let (since, until) = (sent, queued);
        let late = KeptWaiting { context, comm: comm.0, source, context_of_send, bytes, since, until };
        self.notify_of_waits(|observer| observer.posted_late(&late));
    }

    /// A matched probe has taken a message: as a receive that was posted then.
    pub(crate) fn took(&self, (context, comm, queued): (u16, CommIndex, Ticks), envelope: &Envelope) {
        if self.tracker.wants_waits() && queued.since(envelope.sent) >= self.tracker.shortest_wait() {
            self.notify_of_late_post(&Origin { context, comm, queued }, envelope);
        }
    }

    /// A call has found this receive complete, which stays: the call returned at `until`. With which message is known when the model has
    /// followed what completes it.
    #[cold]
    pub(crate) fn saw_complete(&mut self, receive: ReceiveIndex, context: u16, until: Ticks) {
        if self.state.seen_complete.len() == MOST_SEEN {
            self.state.seen_complete.remove(0);
        }
        self.state.seen_complete.push((receive, context, until));
    }

    /// The model has followed what completes this receive, which a call may have found complete before.
    #[cold]
    #[inline(never)]
    fn notify_of_seen(&mut self, receive: ReceiveIndex, comm: CommIndex, envelope: Option<&Envelope>) {
        let seen = &mut self.state.seen_complete;
        let Some(place) = seen.iter().position(|(seen, ..)| *seen == receive) else { return };
        let (_, context, until) = seen.swap_remove(place);
        if let Some(envelope) = envelope {
            self.notify_of_found((context, until), comm, envelope);
        }
    }

    /// The call is followed: observers are notified of what it has got and waited for.
    #[inline]
    pub(crate) fn end_tally(&mut self, call: &DeferredCall) {
        if call.polling == Polling::ForSome {
            self.notify_of_test(call);
        }
        let (received, waited) =
            self.state.tally.end(call.context, (call.from, call.until), self.tracker.shortest_wait());
        self.notify_of_waits(|observer| observer.received_bytes(&received));
        if let Some(waited) = waited {
            self.notify_of_waits(|observer| observer.waited(&waited));
        }
    }

    #[cold]
    #[inline(never)]
    fn notify_of_test(&self, call: &DeferredCall) {
        let (comm, envelope) = self.state.tally.latest();
        self.notify_of_found((call.context, call.until), comm, &envelope);
    }

    /// A test of this context, which returned at `until`, has found this message.
    fn notify_of_found(&self, (context, until): (u16, Ticks), comm: CommIndex, envelope: &Envelope) {
        let Envelope { source, context_of_send, sent, .. } = *envelope;
        let found = TestFound { context, comm: comm.0, source, context_of_send, sent, until };
        self.notify_of_waits(|observer| observer.test_found(&found));
    }

    /// Begins to follow a call.
    #[inline(always)]
    fn begin(&mut self, call: &DeferredCall) -> CallInterval {
        let mut interval = self.open(call, call.is_open() || call.first == call.end);
        let copying = self.tracker.parameters().copying;
        for &(receive, real) in self.state.deferred.completions_of(call) {
            interval.completes(self.state.engine.expect(receive, real), copying);
        }
        interval
    }

    /// The interval of a call that is about to be followed.
    #[inline(always)]
    pub(crate) fn open(&mut self, call: &DeferredCall, open: bool) -> CallInterval {
        let mut interval = call.interval(open, self.tracker.parameters());
        if call.descheduled {
            self.set_descheduled(&mut interval, call.until);
        }
        self.state.model.begin();
        interval
    }

    /// Whether there is more in the ring than had come, because it was held up by an envelope that is being written: that is waited
    /// for, and then passed over.
    #[cold]
    #[inline(never)]
    fn passes_over(&mut self) -> bool {
        let Some(ring) = &mut self.state.routes.ring else { return false };
        if !ring.is_held_up() {
            return false;
        }
        for _ in 0..PATIENCE {
            std::hint::spin_loop();
            if !ring.is_held_up() {
                return true;
            }
        }
        ring.pass_over()
    }

    /// One more envelope for the call that is being followed.
    pub(crate) fn arrive_in_call(&mut self, envelope: Envelope) {
        if let Some(mut interval) = self.state.deferred.interval {
            self.arrive(&envelope, &mut interval);
            self.state.deferred.interval = Some(interval);
        }
    }

    /// Follows a completion whose message is not the one that the model has given to the receive: it has perhaps not polled
    /// where ob1 had, or the envelope has yet to come, because its sender is about to write it. It takes in as many of the sender's
    /// messages as it must; those of others wait for the next poll. Gives the message, where its envelope has come.
    #[cold]
    #[inline(never)]
    fn complete_otherwise(&mut self, place: usize, call: &DeferredCall) -> Option<Envelope> {
        let (receive, real) = self.state.deferred.completion(place);
        let in_vain = self.state.deferred.in_vain;
        let tries = if in_vain < MOST_IN_VAIN { LAST_TRIES } else { 0 };
        // Where it may have been sent before there were envelopes, none is waited for: they go before their messages then.
        let mut patience = if self.state.engine.is_late() { 0 } else { PATIENCE + tries };
        while let Some(lacking) = self.state.engine.lacks(receive, real) {
            if let Some(envelope) = self.next_of(&lacking) {
                let is_awaited = !self.state.unmet.is_empty();
                if is_awaited && self.tracker.mail.is_open() {
                    self.meet_envelope(&envelope);
                }
                // It came before the call returned, if not before the receive was posted.
                let sent = envelope.sent.min(lacking.by.unwrap_or(call.until));
                let seen = lacking.by.unwrap_or(call.from);
                self.state.engine.arrive(self.sink, &envelope, seen.max(sent));
                if is_awaited && !self.tracker.mail.is_open() {
                    self.meet_in_memory(&envelope);
                }
            } else if patience == 0 || self.tracker.mail.is_open() {
                break;
            } else {
                patience -= 1;
                if patience >= tries {
                    std::hint::spin_loop();
                } else if !self.state.routes.ring.as_mut().is_some_and(Ring::pass_over) {
                    // Not the function of that name, which is interposed.
                    // SAFETY: it takes no arguments.
                    unsafe { libc::syscall(libc::SYS_sched_yield) };
                }
            }
        }
        if patience == 0 {
            self.state.deferred.in_vain = in_vain.saturating_add(1);
        } else if patience < PATIENCE + tries {
            self.state.deferred.in_vain = 0;
        }
        self.note_leftover();
        self.state.engine.complete(self.sink, receive, real)
    }
}
