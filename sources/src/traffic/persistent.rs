//! What starting a persistent request sends.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::To;

/// Persistent requests that send, by the values of their handles.
#[derive(Debug, Default)]
pub(super) struct Persistent(Mutex<FxHashMap<usize, Vec<(To, u64)>>>);

impl Persistent {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<usize, Vec<(To, u64)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starting this request sends these.
    pub(super) fn keep(&self, request: usize, parts: Vec<(To, u64)>) {
        self.lock().insert(request, parts);
    }

    /// The request was started.
    #[inline]
    pub(super) fn started(&self, request: usize, mut count: impl FnMut(To, u64)) {
        if let Some(parts) = self.lock().get(&request) {
            parts.iter().for_each(|(to, bytes)| count(*to, *bytes));
        }
    }

    /// It has got another handle as it was started.
    #[cold]
    pub(super) fn move_to(&self, before: usize, now: usize) {
        let mut all = self.lock();
        if let Some(parts) = all.remove(&before) {
            all.insert(now, parts);
        }
    }

    /// The request is freed: its handle may become another's.
    pub(super) fn forget(&self, request: usize) {
        self.lock().remove(&request);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    #[test]
    fn a_request_sends_each_time_it_is_started_until_it_is_freed() {
        let persistent = Persistent::default();
        let to = To::peer(Kind::Message, 1, 2);
        persistent.keep(7, vec![(to, 100)]);
        let mut sum = 0;
        for request in [7, 8, 7] {
            persistent.started(request, |_, bytes| sum += bytes);
        }
        persistent.move_to(7, 9);
        persistent.started(7, |_, _| unreachable!("it has another handle"));
        persistent.move_to(9, 7);
        persistent.forget(7);
        persistent.started(7, |_, bytes| sum += bytes);
        assert_eq!(sum, 200);
    }
}
