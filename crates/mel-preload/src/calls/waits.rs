//! What the model knows of messages, by context: bytes received, time lost for late senders, messages that came before their receives.

use mel_log::table::{ContextKey, IntervalKind, WaitKey};
use mpit_sources::Serial;
use mpit_sources::calls::{KeptWaiting, Received, TestFound, Waited};
use rustc_hash::FxHashMap;

use super::contexts::Contexts;
use super::operations::Operation;
use crate::polling::Polled;

/// So many polls are remembered until the model has followed them.
const POLLS: usize = 4;

/// The peer of what has none.
const NOBODY: i32 = -1;

/// Rows of waits, and contexts that only waits have. One thread at a time, as the model is.
#[derive(Debug, Default)]
pub(super) struct Waits(Serial<Tables>);

#[derive(Debug, Default)]
struct Tables {
    rows: FxHashMap<WaitKey, u32>,
    /// The row that was used last.
    recent: Option<(WaitKey, u32)>,
    /// Contexts of calls without a communicator, by the communicator of their messages.
    with_communicator: FxHashMap<(u32, u32), u32>,
    /// What was polled last, with the context of the call that has found it; the oldest is replaced next.
    polls: [Option<(u32, Polled)>; POLLS],
    /// The place of the oldest.
    oldest: usize,
    /// What a test has found, which was followed before the call had returned, and the number of its communicator.
    found: Option<(TestFound, u32)>,
}

impl Waits {
    /// From now on counting takes no lock.
    ///
    /// # Safety
    /// As for [`Serial::leave_to_one_thread`]: the program's threads do not call MPI at the same time.
    pub(super) unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it; a thread of ours that follows calls, too, shares the model's state first, and uses this
        // under the model's lock.
        unsafe { self.0.leave_to_one_thread() };
    }

    /// Runs this while no wait is counted.
    pub(super) fn while_none_is_counted(&self, user: impl FnOnce()) {
        self.0.with(|_| user());
    }

    /// Receives of a context have got messages.
    #[inline]
    pub(super) fn received(contexts: &Contexts, received: &Received) {
        contexts.table.context(received.context.into()).received.add(received.bytes);
    }

    /// A search of the unexpected queue.
    pub(super) fn searched(contexts: &Contexts, context: u16, ticks: u64, wildcard: bool) {
        let row = contexts.table.context(context.into());
        row.search_ticks.add(ticks);
        if wildcard {
            row.wildcard_search_ticks.add(ticks);
        }
        row.longest_search.raise(ticks);
    }

    /// A call has waited for a message on this communicator.
    pub(super) fn waited(&self, contexts: &Contexts, waited: &Waited, communicator: u32) {
        let (begin, end) = (waited.begin.0, waited.end.0);
        self.0.with(|tables| {
            let key = WaitKey {
                context: tables.context(contexts, waited.context.into(), communicator),
                peer: waited.source,
                peer_context: waited.context_of_send,
                kind: IntervalKind::LateSender,
            };
            tables.count(contexts, key, end - begin, 0);
            contexts.table.add_waited(key, begin, end);
        });
    }

    /// A receive has found its message in the unexpected queue.
    pub(super) fn found_unexpected(contexts: &Contexts, context: u16, bytes: u64) {
        let row = contexts.table.context(context.into());
        row.unexpected.add(1);
        row.unexpected_bytes.add(bytes);
    }

    /// A message had been sent before its receive was posted.
    pub(super) fn posted_late(&self, contexts: &Contexts, late: &KeptWaiting) {
        self.kept_waiting(contexts, IntervalKind::PostedLate, late);
    }

    /// A message was not taken, though its receive was posted.
    pub(super) fn left_waiting(&self, contexts: &Contexts, left: &KeptWaiting) {
        self.kept_waiting(contexts, IntervalKind::LeftWaiting, left);
    }

    fn kept_waiting(&self, contexts: &Contexts, kind: IntervalKind, kept: &KeptWaiting) {
        let KeptWaiting { context, source: peer, context_of_send: peer_context, bytes, .. } = *kept;
        let key = WaitKey { context: context.into(), peer, peer_context, kind };
        self.0.with(|tables| tables.count(contexts, key, kept.until.since(kept.since), bytes));
    }

    /// A thread has polled, and found what it polled for in a call of this context: a message of `source`, where that is known already.
    pub(super) fn polled(&self, contexts: &Contexts, context: u32, polled: Polled, source: Option<i32>) {
        let key = WaitKey { context, peer: NOBODY, peer_context: 0, kind: IntervalKind::Polled };
        self.0.with(|tables| {
            tables.count(contexts, key, polled.waited, polled.between);
            // Where it worked in between it is not that which made it late.
            if !polled.is_waiting() {
                return;
            }
            contexts.table.add_waited(key, polled.begin, polled.end);
            if let Some(peer) = source {
                let key = WaitKey { peer, kind: IntervalKind::LateSender, ..key };
                tables.polled_for(contexts, key, &polled, polled.end);
            } else {
                let place = tables.oldest;
                tables.polls[place] = Some((context, polled));
                tables.oldest = (place + 1) % POLLS;
                if let Some(found) = tables.found.take() {
                    tables.found(contexts, &found);
                }
            }
        });
    }

    /// A test has found a message; whether the thread has polled for it is known, or will soon be.
    pub(super) fn test_found(&self, contexts: &Contexts, found: &TestFound, communicator: u32) {
        let found = (*found, communicator);
        self.0.with(|tables| {
            if !tables.found(contexts, &found) {
                tables.found = Some(found);
            }
        });
    }

    /// A collective operation is complete, for which a call of this context has waited.
    pub(super) fn completed(
        &self,
        contexts: &Contexts,
        context: u32,
        operation: Operation,
        (begin, end): (u64, u64),
    ) {
        let Operation { communicator, number, root } = operation;
        let kind = IntervalKind::Completed;
        self.0.with(|tables| {
            let context = tables.context(contexts, context, communicator);
            let key = WaitKey { context, peer: NOBODY, peer_context: 0, kind };
            tables.count(contexts, key, end.saturating_sub(begin), 0);
            contexts.table.add_part_of_collective(kind, context, (number, root), (begin, end));
        });
    }

    /// A call of this context has lasted long.
    pub(super) fn lasted(&self, contexts: &Contexts, context: u32, (begin, end): (u64, u64)) {
        let key = WaitKey { context, peer: NOBODY, peer_context: 0, kind: IntervalKind::Long };
        self.0.with(|_| contexts.table.add_waited(key, begin, end));
    }

    /// A call of this context has synchronised a window: with this target of a lock, negative for none, which is exclusive or not, 1 or 0.
    pub(super) fn synchronised(
        &self,
        contexts: &Contexts,
        context: u32,
        (peer, peer_context): (i32, u16),
        (begin, end): (u64, u64),
    ) {
        let key = WaitKey { context, peer, peer_context, kind: IntervalKind::Window };
        self.0.with(|_| contexts.table.add_waited(key, begin, end));
    }

    /// A blocking call of this context, which has the communicator, has waited for this peer.
    pub(super) fn blocked(
        &self,
        contexts: &Contexts,
        (context, peer, kind): (u32, i32, IntervalKind),
        (begin, end): (u64, u64),
        bytes: u64,
    ) {
        let key = WaitKey { context, peer, peer_context: 0, kind };
        self.0.with(|tables| {
            tables.count(contexts, key, end.saturating_sub(begin), bytes);
            contexts.table.add_waited(key, begin, end);
        });
    }
}

impl Tables {
    /// A test has found a message that was polled for, if it has.
    fn found(&mut self, contexts: &Contexts, (found, communicator): &(TestFound, u32)) -> bool {
        let is_it = |poll: &Option<(u32, Polled)>| {
            let ends = |(context, polled): &(u32, Polled)| {
                *context == u32::from(found.context) && (polled.begin..=polled.end).contains(&found.until.0)
            };
            poll.as_ref().is_some_and(ends)
        };
        let Some((context, polled)) = self.polls.iter_mut().find(|poll| is_it(poll)).and_then(Option::take)
        else {
            return false;
        };
        let key = WaitKey {
            context: self.context(contexts, context, *communicator),
            peer: found.source,
            peer_context: found.context_of_send,
            kind: IntervalKind::LateSender,
        };
        self.polled_for(contexts, key, &polled, found.sent.0);
        true
    }

    /// A thread has polled for a message that was sent then.
    fn polled_for(&mut self, contexts: &Contexts, key: WaitKey, polled: &Polled, sent: u64) {
        let end = sent.min(polled.end);
        if end > polled.begin {
            self.count(contexts, key, (end - polled.begin).min(polled.waited), 0);
            contexts.table.add_waited(key, polled.begin, end);
        }
    }

    fn count(&mut self, contexts: &Contexts, key: WaitKey, ticks: u64, bytes: u64) {
        let row = match self.recent {
            Some((recent, row)) if recent == key => Some(row),
            _ => self.find(contexts, key),
        };
        if let Some(row) = row {
            contexts.table.wait(row).count(ticks, bytes);
        }
    }

    fn find(&mut self, contexts: &Contexts, key: WaitKey) -> Option<u32> {
        let known = self.rows.get(&key).copied();
        let row = known.or_else(|| {
            let row = contexts.table.add_wait(key)?;
            self.rows.insert(key, row);
            Some(row)
        })?;
        self.recent = Some((key, row));
        Some(row)
    }

    /// The context of a call for messages of this communicator: its own where it has that communicator.
    fn context(&mut self, contexts: &Contexts, context: u32, communicator: u32) -> u32 {
        let key = contexts.table.context(context).key();
        if context == 0 || key.communicator == communicator {
            return context;
        }
        let find = || contexts.find(ContextKey { communicator, ..key });
        *self.with_communicator.entry((context, communicator)).or_insert_with(find)
    }
}

#[cfg(test)]
mod tests {
    use mel_log::table::{Identity, ProfileTable, WaitRow};
    use mpit_events::Ticks;

    use super::*;
    use crate::consumer::Consumer;
    use crate::registry::Registry;

    const CONTEXT: u32 = 1;

    fn poll(begin: u64, end: u64) -> Polled {
        Polled { begin, end, waited: end - begin, between: 0 }
    }

    /// The waits for senders after these steps, in the table of a process with one context.
    fn late_senders(steps: impl FnOnce(&Waits, &Contexts)) -> Vec<WaitRow> {
        let (table, registry) = (ProfileTable::in_memory(&Identity::default()).unwrap(), Registry::new(None));
        Consumer::attach(registry, &table);
        let contexts = Contexts::new(table.clone(), registry);
        assert_eq!(contexts.find(ContextKey { site: 1, communicator: 1, ..ContextKey::default() }), CONTEXT);
        steps(&Waits::default(), &contexts);
        let rows = table.rows().waits.into_iter();
        rows.filter(|row| row.key.kind == IntervalKind::LateSender).collect()
    }

    fn found(sent: u64, until: u64) -> TestFound {
        let (sent, until) = (Ticks(sent), Ticks(until));
        TestFound { context: CONTEXT as u16, comm: 0, source: 3, context_of_send: 7, sent, until }
    }

    #[test]
    fn what_was_polled_for_is_a_late_sender_whichever_is_known_first() {
        for model_first in [false, true] {
            let rows = late_senders(|waits, contexts| {
                let mut steps: [&dyn Fn(); 2] =
                    [&|| waits.polled(contexts, CONTEXT, poll(100, 900), None), &|| {
                        waits.test_found(contexts, &found(700, 900), 1)
                    }];
                if model_first {
                    steps.reverse();
                }
                steps.iter().for_each(|step| step());
            });
            assert_eq!(rows.len(), 1);
            assert_eq!((rows[0].key.peer, rows[0].key.peer_context), (3, 7));
            assert_eq!((rows[0].key.context, rows[0].ticks), (CONTEXT, 600));
        }
    }

    #[test]
    fn a_test_that_finds_at_once_and_one_between_work_are_no_waits() {
        let rows = late_senders(|waits, contexts| {
            waits.test_found(contexts, &found(50, 90), 1);
            waits.polled(contexts, CONTEXT, Polled { waited: 300, ..poll(100, 900) }, None);
            waits.test_found(contexts, &found(700, 900), 1);
            // Sent before it was polled for.
            waits.polled(contexts, CONTEXT, poll(1000, 1900), None);
            waits.test_found(contexts, &found(950, 1900), 1);
        });
        assert_eq!(rows.len(), 0, "{rows:?}");
    }

    #[test]
    fn a_probe_says_for_whom_it_has_polled() {
        let rows = late_senders(|waits, contexts| waits.polled(contexts, CONTEXT, poll(100, 900), Some(2)));
        assert_eq!(rows.iter().map(|row| (row.key.peer, row.ticks)).collect::<Vec<_>>(), [(2, 800)]);
    }
}
