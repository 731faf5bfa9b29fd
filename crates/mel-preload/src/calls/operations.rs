//! Collective operations of this process: how many there were on each communicator, and those that have a request, from their start
//! until they are complete.
//!
//! Cost: a short lock for each operation where several threads call MPI.

use mpit_sources::Serial;
use mpit_sources::calls::During;
use rustc_hash::FxHashMap;

/// So many operations may be under way at a time; the waits for others are not known.
const MOST_OPEN: usize = 4096;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// The number of its communicator.
    pub(super) communicator: u32,
    /// How many were started on that before.
    pub(super) number: u32,
    /// Its root as the table has it.
    pub(super) root: u16,
}

/// All operations. Who holds them adds operations to the table.
#[derive(Debug, Default)]
pub(super) struct Operations(Serial<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// By the number of a communicator: how many there were.
    started: Vec<u32>,
    /// By the request.
    open: FxHashMap<u64, Operation>,
    /// The request of the operation that a call has started which is about to return, and when it does.
    requested: Option<(u64, u64)>,
    /// The operation that a test has found complete which is about to return, and when it does.
    tested: Option<(Operation, u64)>,
}

impl Operations {
    /// Works with them; nobody does inside of that.
    #[inline(always)]
    pub(super) fn with<R>(&self, user: impl FnOnce(&mut State) -> R) -> Option<R> {
        self.0.with(user)
    }

    /// From now on there is no lock.
    ///
    /// # Safety
    /// As for [`Serial::leave_to_one_thread`]: the program's threads do not call MPI at the same time.
    pub(super) unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it; a thread of ours that follows calls, too, ends no requests, and so does not come here.
        unsafe { self.0.leave_to_one_thread() };
    }
}

impl State {
    /// One more on this communicator: how many there were before.
    pub(super) fn count(&mut self, communicator: u32) -> u32 {
        let place = communicator as usize;
        let length = self.started.len().max(place + 1);
        self.started.resize(length, 0);
        let number = self.started[place];
        self.started[place] = number.wrapping_add(1);
        number
    }

    /// A call has started an operation that has this request.
    pub(super) fn requested(&mut self, request: u64, during: During) {
        self.requested = Some((request, during.left.0));
    }

    /// It is this one; the call has returned then.
    pub(super) fn started(&mut self, operation: Operation, left: u64) {
        if let Some((request, at)) = self.requested.take()
            && at == left
            && self.open.len() < MOST_OPEN
        {
            self.open.insert(request, operation);
        }
    }

    /// The operation with this request is complete, if it is known.
    pub(super) fn completed(&mut self, request: u64) -> Option<Operation> {
        // It was complete as soon as it was started.
        self.requested = self.requested.filter(|(requested, _)| *requested != request);
        self.open.remove(&request)
    }

    /// A test has found this one complete.
    pub(super) fn found(&mut self, operation: Operation, during: During) {
        self.tested = Some((operation, during.left.0));
    }

    /// What the test has found that has returned then.
    pub(super) fn tested(&mut self, left: u64) -> Option<Operation> {
        self.tested.take().filter(|(_, at)| *at == left).map(|(operation, _)| operation)
    }
}

#[cfg(test)]
mod tests {
    use mpit_events::Ticks;

    use super::*;

    fn during(left: u64) -> During {
        During { context: 1, entered: Ticks(left - 1), left: Ticks(left) }
    }

    fn operation(state: &mut State) -> Operation {
        Operation { communicator: 3, number: state.count(3), root: 0 }
    }

    #[test]
    fn an_operation_is_known_by_its_request_until_it_is_complete() {
        let mut state = State::default();
        let [first, second] = [10, 20].map(|left| {
            state.requested(left, during(left));
            let operation = operation(&mut state);
            state.started(operation, left);
            operation
        });
        assert_eq!((first.number, second.number, state.count(1)), (0, 1, 0));
        assert_eq!(state.completed(20), Some(second));
        assert_eq!((state.completed(20), state.completed(10)), (None, Some(first)));
    }

    #[test]
    fn what_is_complete_at_once_or_of_another_call_is_not_waited_for() {
        let mut state = State::default();
        let operation = operation(&mut state);
        state.requested(7, during(10));
        assert_eq!(state.completed(7), None);
        state.started(operation, 10);
        state.requested(8, during(20));
        state.started(operation, 21);
        assert_eq!((state.completed(7), state.completed(8)), (None, None));
        state.found(operation, during(30));
        assert_eq!((state.tested(31), state.tested(30)), (None, None));
        state.found(operation, during(40));
        assert_eq!(state.tested(40), Some(operation));
    }
}
