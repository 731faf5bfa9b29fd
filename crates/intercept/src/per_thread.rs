//! A state per thread for a hook: lent to a thread at its first call, and given to another when that thread has ended. Actions at the end
//! of a thread.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use crate::{ThreadSlot, under_way};

/// A state, and the number of the threads that have it, one after the other.
#[derive(Debug, Default)]
pub struct Numbered<T> {
    /// From 0, in the order of first calls.
    pub number: u16,
    /// The state.
    pub state: T,
}

/// The states of all threads. Costs one load where the calling thread has its state.
#[derive(Debug)]
pub struct PerThread<T>(Mutex<Vacant<T>>);

/// States of threads that have ended, for later ones; and how many were made.
#[derive(Debug)]
struct Vacant<T> {
    // Each stays where it is while the list grows.
    states: Vec<Box<Numbered<T>>>,
    made: u16,
}

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        PerThread(Mutex::new(Vacant { states: Vec::new(), made: 0 }))
    }
}

impl<T: Default + Send> PerThread<T> {
    /// The state of the calling thread, whose address is in the slot: valid until the thread ends. Nobody but this thread has it.
    #[inline(always)]
    pub fn get(&'static self, slot: &ThreadSlot) -> *mut Numbered<T> {
        let known = slot.get().cast::<Numbered<T>>();
        if known.is_null() { self.lend(slot) } else { known }
    }

    #[cold]
    #[inline(never)]
    fn lend(&'static self, slot: &ThreadSlot) -> *mut Numbered<T> {
        under_way::show_this_thread();
        let lent = {
            let mut vacant = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            vacant.states.pop().unwrap_or_else(|| {
                let number = vacant.made;
                vacant.made = number.saturating_add(1);
                Box::new(Numbered { number, state: T::default() })
            })
        };
        let lent = Box::into_raw(lent);
        slot.set(lent.cast());
        let slot = std::ptr::from_ref(slot);
        at_thread_end(move || {
            // SAFETY: the slot of a thread lives as long as the thread, which is this one.
            unsafe { &*slot }.set(std::ptr::null_mut());
            // SAFETY: it came from `Box::into_raw`, and only the slot led to it.
            let back = unsafe { Box::from_raw(lent) };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).states.push(back);
        });
        lent
    }
}

type Action = Box<dyn FnOnce()>;

/// The actions of a thread, in the order of registration.
struct Actions(RefCell<Vec<Action>>);

impl Drop for Actions {
    fn drop(&mut self) {
        for action in self.0.get_mut().drain(..) {
            // A panic that leaves here would end the process.
            let _ = panic::catch_unwind(AssertUnwindSafe(action));
        }
    }
}

thread_local!(static ACTIONS: Actions = const { Actions(RefCell::new(Vec::new())) });

/// Runs `action` when the calling thread ends, outside of hooks: to release the thread's state. Allocates.
///
/// The action never runs where the thread is ending already, nor on the thread that the process began with: that thread
/// ends before the handlers of the process's exit, which still need its state. Other destructors of the thread may call
/// MPI afterwards.
pub fn at_thread_end(action: impl FnOnce() + 'static) {
    if is_first() {
        return;
    }
    let _ = ACTIONS.try_with(|actions| actions.0.borrow_mut().push(Box::new(action)));
}

/// Whether this is the thread that the process began with.
fn is_first() -> bool {
    // By its number: the C library has a function for that since 2.30 only.
    // SAFETY: neither takes arguments.
    unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn actions_run_in_order_when_the_thread_ends() {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for number in 0..3 {
                let sender = sender.clone();
                at_thread_end(move || sender.send(number).unwrap());
            }
            sender.send(-1).unwrap();
        })
        .join()
        .unwrap();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [-1, 0, 1, 2]);
    }
}
