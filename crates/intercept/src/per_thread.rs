//! A state per thread for a hook: lent to a thread at its first call, and given to another when that thread has ended.

use std::sync::{Mutex, PoisonError};

use crate::{ThreadSlot, at_thread_end, under_way};

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
