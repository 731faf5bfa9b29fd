//! Work on many parts by several threads, whose results are taken in the order of the parts.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So many parts for each thread may wait to be taken: a part that takes long holds up the others, and not the memory.
const AHEAD: usize = 4;

struct State<T> {
    /// The first part that nobody works on.
    next: usize,
    /// The part that is taken next.
    taken: usize,
    ready: BTreeMap<usize, T>,
    /// Nothing more is to be done: it has failed, or a thread has ended by a fault.
    over: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }
}

/// However a thread ends, nobody waits for it.
struct EndsAll<'a, T>(&'a Shared<T>);

impl<T> Drop for EndsAll<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Calls `make` for each of so many parts, on so many threads, and `take` for what it gives, on this one, in their order.
///
/// # Errors
/// The first one of `take`, after which no part is begun.
///
/// # Panics
/// Where `make` does.
pub fn in_order<T: Send, E>(
    parts: usize,
    threads: usize,
    make: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.clamp(1, parts.max(1));
    let state = State { next: 0, taken: 0, ready: BTreeMap::new(), over: false };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new() };
    let work = || {
        let _ends_all = EndsAll(&shared);
        loop {
            let mut state = shared.lock();
            while state.next < parts && state.next >= state.taken + AHEAD * threads && !state.over {
                state = shared.wait(state);
            }
            if state.next >= parts || state.over {
                return;
            }
            let part = state.next;
            state.next += 1;
            drop(state);
            let made = make(part);
            shared.lock().ready.insert(part, made);
            shared.changed.notify_all();
        }
    };
    let mut take_all = || {
        for part in 0..parts {
            let mut state = shared.lock();
            let made = loop {
                if let Some(made) = state.ready.remove(&part) {
                    break made;
                }
                if state.over {
                    // The scope gives on the panic.
                    return Ok(());
                }
                state = shared.wait(state);
            };
            state.taken = part + 1;
            drop(state);
            shared.changed.notify_all();
            take(made).inspect_err(|_| shared.end())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| _ = scope.spawn(work));
        take_all()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_at_once_is_taken_in_order() {
        for (parts, threads) in [(0, 3), (1, 3), (100, 1), (100, 3), (7, 20)] {
            let mut taken = Vec::new();
            let make = |part: usize| {
                // Later parts are often ready first.
                std::thread::sleep(std::time::Duration::from_micros(if part.is_multiple_of(3) {
                    300
                } else {
                    0
                }));
                part
            };
            in_order(parts, threads, make, |part| {
                taken.push(part);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert_eq!(taken, Vec::from_iter(0..parts), "{threads} threads");
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let made = Mutex::new(0);
        let make = |part: usize| {
            *made.lock().unwrap() += 1;
            part
        };
        let result = in_order(1_000_000, 3, make, |part| if part < 5 { Ok(()) } else { Err(part) });
        assert_eq!(result, Err(5));
        assert!(*made.lock().unwrap() < 100);
    }

    #[test]
    #[should_panic = "a scoped thread panicked"]
    fn a_fault_is_not_waited_for() {
        let make = |part: usize| assert!(part != 3);
        let _ = in_order(100, 2, make, |()| Ok::<(), ()>(()));
    }
}
