//! What the model knows of messages, by context: bytes received, time lost for late senders, messages that came before their receives.

use mel_log::table::{ContextKey, IntervalKind, WaitKey};
use mpit_sources::Serial;
use mpit_sources::calls::{PostedLate, Received, Waited};
use rustc_hash::FxHashMap;

use super::contexts::Contexts;

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
    pub(super) fn posted_late(&self, contexts: &Contexts, found: &PostedLate) {
        let key = WaitKey {
            context: found.context.into(),
            peer: found.source,
            peer_context: found.context_of_send,
            kind: IntervalKind::PostedLate,
        };
        self.0.with(|tables| tables.count(contexts, key, found.posted.since(found.sent), found.bytes));
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
