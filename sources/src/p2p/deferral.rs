//! Progress: what has come is taken in, now or, where calls leave it for later, at the next call that needs
//! to know ([`taking_in`](super::taking_in)).

use std::sync::atomic::Ordering;

use mpit_events::Ticks;

use super::boxes::Boxes;
use super::last_look::{Awaits, Looking};
use super::looks::{Looks, Queue};
use super::taking_in::seen;
use super::tracker::{State, Work};
use super::yields;
use crate::shadow::{Completion, Envelope, ReceiveIndex, Window};
use crate::transport::ring::Ring;

/// What MPI calls have left for the twin to follow: a call returns at once, and the twin catches
/// up when the application next posts, probes or waits. Every event keeps the time it would have had.
#[derive(Default)]
pub(super) struct Deferred {
    calls: Vec<Progress>,
    completions: Vec<(ReceiveIndex, Completion)>,
    /// The call that is being followed, once it has begun.
    window: Option<Window>,
    /// Calls that were followed already.
    followed: usize,
    /// What ob1 takes in at once.
    pub(super) looks: Looks,
    /// What waits for room there.
    pub(super) boxes: Boxes,
    /// Whether the twin has found out that ob1 looked in that call, though the twin had messages.
    looked_again: bool,
    /// How often in a row the processor was given to others, and the envelope did not come.
    in_vain: u32,
}

/// The progress that one MPI call has made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    from: Ticks,
    pub(super) until: Ticks,
    /// Where its completions begin and end.
    first: usize,
    end: usize,
    /// What it may have waited for, besides the receives that it has completed.
    awaits: Awaits,
    looking: Looking,
    /// Whether the thread was off the processor in it.
    away: bool,
}

impl Progress {
    /// Whether it may have waited for more than the receives that it has completed.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.awaits != Awaits::Receives
    }

    fn middle(&self) -> Ticks {
        self.from.plus(self.until.since(self.from) / 2)
    }
}

/// How often the ring is looked into for an envelope that is being written: about a microsecond.
const PATIENCE: u32 = 64;
/// How often it is looked into after that, each time when others have had the processor, its sender perhaps among them.
const LAST_LOOKS: u32 = 4;
/// How often in a row that may be in vain before it is not done again: envelopes that are lost never come.
const MOST_IN_VAIN: u32 = 8;

/// Calls, and completions, above which the twin does not wait to catch up.
const MAX_DEFERRED: usize = 256;

impl Deferred {
    /// Sets the rank of this process in `MPI_COMM_WORLD`.
    pub(super) fn set_rank(&mut self, rank: i32) {
        self.looks.queue = Queue(rank);
        self.boxes.queue = Queue(rank);
    }

    /// Whether there is anything to follow.
    #[inline]
    fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether it is time to catch up.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.calls.len() > MAX_DEFERRED || self.completions.len() > MAX_DEFERRED
    }

    /// When the call returned that was deferred last.
    #[inline(always)]
    pub(super) fn returned(&self) -> Option<Ticks> {
        Some(self.calls.last()?.until)
    }

    /// Adds a completion to the call that was deferred last; `false` where none was.
    #[inline(always)]
    pub(super) fn keep(&mut self, receive: ReceiveIndex, real: Completion) -> bool {
        let Some(call) = self.calls.last_mut() else { return false };
        self.completions.push((receive, real));
        call.end = self.completions.len();
        true
    }

    /// Adds a call. Calls that have completed nothing are one with such calls before them.
    #[inline(always)]
    fn add(&mut self, call: Progress) {
        let end = self.completions.len();
        match self.calls.last_mut() {
            Some(last)
                if call.is_open() && last.is_open() && last.first == last.end && self.window.is_none() =>
            {
                last.until = call.until;
                last.looking = call.looking;
                last.away |= call.away;
            }
            _ => self.calls.push(Progress { first: end, end, ..call }),
        }
    }

    /// Adds a call before all others; where it is followed already, with its window.
    pub(super) fn follow_first(&mut self, call: Progress, window: Option<Window>) {
        let end = self.completions.len();
        self.calls.insert(0, Progress { first: end, end, ..call });
        self.window = window;
    }

    /// Adds a completion to that call.
    pub(super) fn complete_in_first(&mut self, receive: ReceiveIndex, real: Completion) {
        self.completions.push((receive, real));
        self.calls[0].end = self.completions.len();
    }

    /// The completions of that call.
    pub(super) fn completed_in_first(&self) -> &[(ReceiveIndex, Completion)] {
        &self.completions[self.calls[0].first..self.calls[0].end]
    }
}

impl Work<'_> {
    /// Takes in some of what has come until now, seen from `entered` on; whether there may be more.
    pub(super) fn drain_all(&mut self, entered: Ticks) -> bool {
        let now = self.tracker.now();
        let mut window = Window::open(entered, Ticks(u64::MAX));
        if !self.state.deferred.looks.is_empty() {
            self.state.deferred.looks.begin();
        }
        if self.was_away(entered, now) {
            self.set_back(&mut window, now);
        }
        let more = self.drain_some(&mut window);
        if self.tracker.unseen.load(Ordering::Relaxed) {
            self.note_unseen();
        }
        more
    }

    /// Notes whether looks have left envelopes for the next call.
    #[cold]
    fn note_unseen(&self) {
        self.tracker.unseen.store(!self.state.deferred.looks.is_empty(), Ordering::Relaxed);
    }

    /// Whether the thread was off the processor between these two times. Asked only where that was long enough, and of the
    /// system where the thread is not known to have given the processor away; where it was off before, too, since it was
    /// asked last, the system's answer may be wrong.
    #[inline(always)]
    fn was_away(&mut self, from: Ticks, until: Ticks) -> bool {
        until.since(from) > self.tracker.long()
            && (yields::away().was_away_after(from) || self.has_been_switched())
    }

    /// The thread was off the processor in a call that ended at `back`.
    #[cold]
    fn set_back(&self, window: &mut Window, back: Ticks) {
        let resumed = yields::away().back_from_before(back);
        if let Some(resumed) = resumed.filter(|&resumed| resumed > window.from) {
            window.set_away(resumed);
        } else if let Some(last) = self.state.routes.ring.as_ref().and_then(|ring| ring.latest_until(back)) {
            window.set_back(back, last);
        }
    }

    #[cold]
    #[inline(never)]
    fn has_been_switched(&mut self) -> bool {
        // SAFETY: an all-zero value is valid for this struct of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: a valid output; allowed on any thread.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let switches = usage.ru_nivcsw.wrapping_add(usage.ru_nvcsw);
        std::mem::replace(&mut self.state.switches, switches) != switches
    }

    /// The progress of a call that began at `entered` and ends now; its completions are yet to be added.
    #[inline(always)]
    pub(super) fn progress(&mut self, entered: Ticks, awaits: Awaits, looking: Looking) -> Progress {
        self.state.routes.prepare();
        let now = self.tracker.now();
        let away = self.was_away(entered, now);
        Progress { from: entered, until: now, first: 0, end: 0, awaits, looking, away }
    }

    /// A call has made progress since `entered`, and waited for this: the twin will follow later. The receives that it has
    /// completed are added by [`Deferred::keep`].
    #[inline]
    pub(super) fn defer(&mut self, entered: Ticks, awaits: Awaits, looking: Looking) {
        self.defer_as(entered, awaits, looking, |call| call);
    }

    /// The same for a call that has looked once, and found nothing that it wanted. What it has found otherwise it has taken in
    /// one after the other: all of it is told in the middle of the call.
    #[inline]
    pub(super) fn defer_look(&mut self, entered: Ticks) {
        self.defer_as(entered, Awaits::Others, Looking::Once, |look| Progress {
            from: look.middle(),
            ..look
        });
    }

    /// The same for a collective operation.
    pub(super) fn defer_collective(&mut self, entered: Ticks) {
        self.defer_as(entered, Awaits::Others, Looking::Together, |call| call);
    }

    #[inline(always)]
    fn defer_as(
        &mut self,
        entered: Ticks,
        awaits: Awaits,
        looking: Looking,
        what: impl FnOnce(Progress) -> Progress,
    ) {
        if !self.state.posts.is_empty() {
            self.post_first();
        }
        let call = self.progress(entered, awaits, looking);
        self.state.deferred.add(what(call));
        self.tracker.unsettled.store(true, Ordering::Relaxed);
    }

    /// What was posted before a call comes before its progress.
    #[cold]
    #[inline(never)]
    fn post_first(&mut self) {
        while self.settle_some() {}
    }

    /// The twin will soon catch up: the envelope that it looks for first comes nearer.
    #[inline(always)]
    pub(super) fn expect_envelope(&self) {
        if self.follows_calls()
            && let Some(ring) = &self.state.routes.ring
        {
            ring.prefetch_next();
        }
    }

    /// Whether there is progress of calls to follow, besides receives that were posted after it.
    #[inline(always)]
    pub(super) fn follows_calls(&self) -> bool {
        !(self.state.rows.is_empty() && self.state.deferred.is_empty())
    }

    /// Follows some of the progress that was deferred, then posts what was posted after it; whether there may be more.
    #[inline]
    pub(super) fn settle_some(&mut self) -> bool {
        let more = if self.follows_calls() {
            self.follow_some() || !self.state.posts.is_empty()
        } else {
            self.post_some()
        };
        self.tracker.unsettled.store(more, Ordering::Relaxed);
        more
    }

    /// Follows some of the progress that was deferred; whether there may be more.
    #[inline]
    pub(super) fn follow_some(&mut self) -> bool {
        if !self.state.rows.is_empty() {
            return self.follow_row();
        }
        let Deferred { followed, window, .. } = self.state.deferred;
        let Some(&call) = self.state.deferred.calls.get(followed) else { return false };
        let begun = window.is_some();
        let mut window = window.unwrap_or_else(|| self.begin(&call));
        // A call for which all was there when it began has not looked for more.
        let looks = begun || !window.is_over();
        if looks && self.drain_some(&mut window) || window.is_lacking() && self.passes() {
            self.state.deferred.window = Some(window);
            return true;
        }
        for place in call.first..call.end {
            let (receive, real) = self.state.deferred.completions[place];
            if self.state.engine.complete_matched(self.sink, receive, real).is_none() {
                self.catch_up(place, &call);
            }
        }
        let deferred = &mut self.state.deferred;
        deferred.window = None;
        deferred.looked_again = false;
        deferred.followed = followed + 1;
        if deferred.followed < deferred.calls.len() {
            return true;
        }
        deferred.calls.clear();
        deferred.completions.clear();
        deferred.followed = 0;
        false
    }

    /// Whether there is more in the ring than had come, because it was held up by one that is being written: it is waited for,
    /// and then passed over.
    #[cold]
    #[inline(never)]
    fn passes(&mut self) -> bool {
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
        ring.pass()
    }

    /// One more envelope for the call that is being followed.
    pub(super) fn arrive_in_call(&mut self, envelope: Envelope) {
        let State { engine, deferred, .. } = &mut *self.state;
        if let Some(window) = &mut deferred.window {
            engine.arrive_within(self.sink, envelope, window);
        }
    }

    /// Begins to follow a call.
    #[inline(always)]
    fn begin(&mut self, call: &Progress) -> Window {
        let mut window = self.open(call, call.is_open() || call.first == call.end);
        let State { engine, deferred, .. } = &mut *self.state;
        for &(receive, real) in &deferred.completions[call.first..call.end] {
            window.completes(engine.foretell(receive, real));
        }
        window
    }

    /// The window of a call that is about to be followed.
    #[inline(always)]
    pub(super) fn open(&mut self, call: &Progress, open: bool) -> Window {
        let Progress { from, until, awaits, looking, .. } = *call;
        let mut window = if open {
            Window::open(from, self.tracker.last_look.of(from, until, awaits, looking))
        } else {
            Window::waited(from, until)
        };
        window.set_transit(self.tracker.last_look.transit());
        if call.away {
            self.set_back(&mut window, until);
        }
        self.state.deferred.looks.begin();
        window
    }

    /// One more look, at what had been sent by this time. What the twin has of it already, and what it has given to the
    /// receives from this one on that the call has completed, counts as taken in by it.
    fn look_again(&mut self, place: usize, call: &Progress) {
        let time = call.from;
        let (knows_boxes, told) = (self.tells_before(), self.tracker.last_look.telling());
        let State { engine, routes, deferred: Deferred { looks, completions, boxes, .. }, .. } =
            &mut *self.state;
        let Some(ring) = &mut routes.ring else { return };
        let mut window = Window::open(time, time);
        looks.begin();
        let given = completions[place..call.end].iter().filter_map(|&(receive, _)| engine.given_to(receive));
        engine.unexpected().chain(given).for_each(|envelope| looks.note(envelope));
        loop {
            let comes_later = |envelope: &Envelope| knows_boxes && boxes.lacks(envelope, time);
            let next = looks.next_left(comes_later).or_else(|| {
                std::iter::from_fn(|| ring.pop_until(time)).find(|next| looks.takes(next, false, comes_later))
            });
            let Some(envelope) = next else { return };
            let boxes = knows_boxes.then_some((&mut *boxes, &mut *engine, looks.number(), told));
            let envelope = seen(envelope, &window, window.until, true, boxes);
            engine.arrive_within(self.sink, envelope, &mut window);
        }
    }

    /// Follows a completion whose message is not the one that the twin has given to the receive: it has perhaps not looked
    /// where ob1 had, or the envelope has yet to come, because its sender is about to write it.
    ///
    /// Where ob1 has [run out](crate::shadow::Engine::has_run_out) of messages, it looked in the call, and so does the twin.
    /// Otherwise it takes in as many of the sender's messages as it must; those of others wait for its next look.
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self, place: usize, call: &Progress) {
        let Progress { from, until, .. } = *call;
        let (receive, real) = self.state.deferred.completions[place];
        let before = (place > call.first).then(|| self.state.deferred.completions[place - 1].1);
        let in_vain = self.state.deferred.in_vain;
        let mut patience = PATIENCE + if in_vain < MOST_IN_VAIN { LAST_LOOKS } else { 0 };
        let others = patience - PATIENCE;
        if !self.state.deferred.looked_again && self.state.engine.has_run_out(receive, real, before) {
            self.state.deferred.looked_again = true;
            self.look_again(place, call);
        }
        while let Some(lacking) = self.state.engine.lacks(receive, real) {
            if let Some(envelope) = self.next_of(&lacking) {
                // It came before the call returned, if not before the receive was posted.
                let sent = envelope.sent.min(lacking.by.unwrap_or(until));
                let seen = lacking.by.unwrap_or(from);
                if self.tells_before() {
                    let Deferred { looks, boxes, .. } = &mut self.state.deferred;
                    boxes.take(
                        &envelope,
                        looks.number(),
                        seen.max(sent).plus(self.tracker.last_look.telling()),
                    );
                }
                self.state.engine.arrive(self.sink, Envelope { sent, ..envelope }, seen);
            } else if patience == 0 || self.tracker.mail.is_open() {
                break;
            } else {
                patience -= 1;
                if patience >= others {
                    std::hint::spin_loop();
                } else if !self.state.routes.ring.as_mut().is_some_and(Ring::pass) {
                    // Not the function of that name, which others may watch.
                    // SAFETY: it takes no arguments.
                    unsafe { libc::syscall(libc::SYS_sched_yield) };
                }
            }
        }
        if patience == 0 {
            self.state.deferred.in_vain = in_vain.saturating_add(1);
        } else if patience < PATIENCE + others {
            self.state.deferred.in_vain = 0;
        }
        self.note_unseen();
        self.state.engine.complete(self.sink, receive, real);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_are_followed_as_one_looked_as_the_last_of_them_did() {
        let call = |from, until, looking| Progress {
            from: Ticks(from),
            until: Ticks(until),
            first: 0,
            end: 0,
            awaits: Awaits::Others,
            looking,
            away: false,
        };
        let mut deferred = Deferred::default();
        deferred.add(call(10, 20, Looking::Together));
        deferred.add(call(30, 40, Looking::ForRequests));
        let [all] = deferred.calls[..] else { panic!("{:?}", deferred.calls) };
        assert_eq!((all.from, all.until, all.looking), (Ticks(10), Ticks(40), Looking::ForRequests));
    }
}
