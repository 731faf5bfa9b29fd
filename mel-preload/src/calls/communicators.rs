//! What the profile of calls knows of each communicator: its number in the table, its size, and how many collective operations it has
//! had.

use std::cell::Cell;
use std::sync::{Arc, PoisonError, RwLock};

use mpit_sources::calls::Communicator;
use rustc_hash::FxHashMap;

use crate::described::Described;

/// A communicator of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its number in the definitions of the table, from 1; 0 where there is no space for it.
    pub(super) number: u32,
    /// Processes that data goes to or comes from, and this one's rank; an intercommunicator has none.
    pub(super) of_one_group: Option<(u32, i32)>,
}

/// Numbers from here on are not defined.
pub(super) const MOST: u32 = 16 * 1024;

/// All communicators, by the values of their handles and by their places in the model.
#[derive(Debug, Default)]
pub(super) struct Communicators(RwLock<Tables>);

#[derive(Debug, Default)]
struct Tables {
    by_handle: FxHashMap<usize, Known>,
    /// By the handles of communicators that are defined.
    described: FxHashMap<usize, Arc<Described>>,
    numbers: Vec<u32>,
    made: u32,
    /// By the number of a communicator: its windows.
    windows: FxHashMap<u32, u32>,
    /// By number: how many collective operations there were.
    operations: Vec<Cell<u32>>,
}

// SAFETY: the cells are used under the lock's exclusive guard only.
unsafe impl Sync for Tables {}

impl Tables {
    /// A number for one more; 0 where there are no more.
    fn another_number(&mut self) -> u32 {
        self.made += 1;
        if self.made < MOST { self.made } else { 0 }
    }
}

impl Communicators {
    /// A communicator was made; gives what is known of it.
    pub(super) fn add(&self, communicator: &Communicator) -> Known {
        let handle = communicator.token.0 as usize;
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let number = tables.another_number();
        let of_one_group = (!communicator.inter).then_some((communicator.size as u32, communicator.rank));
        let known = Known { number, of_one_group };
        tables.by_handle.insert(handle, known);
        let place = communicator.index as usize;
        let numbers = &mut tables.numbers;
        numbers.resize(numbers.len().max(place + 1), 0);
        numbers[place] = number;
        known
    }

    /// A window was made on the communicator with this handle; gives what is known of it, and the how many-th of that communicator it is. It
    /// counts as a communicator: other than that its operations have nothing to do with those of the one it was made on.
    pub(super) fn add_window(&self, window: usize, comm: usize) -> Option<(Known, u32)> {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let of = *tables.by_handle.get(&comm)?;
        let count = tables.windows.entry(of.number).or_default();
        let before = *count;
        *count += 1;
        let number = tables.another_number();
        let known = Known { number, ..of };
        tables.by_handle.insert(window, known);
        Some((known, before))
    }

    /// It was freed: its handle may become another's.
    pub(super) fn remove(&self, communicator: &Communicator) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let handle = communicator.token.0 as usize;
        tables.by_handle.remove(&handle);
        tables.described.remove(&handle);
    }

    /// How the communicator with this handle is defined, for the windows that are made on it.
    pub(super) fn describe(&self, handle: usize, described: Arc<Described>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).described.insert(handle, described);
    }

    /// It has another name now.
    pub(super) fn rename(&self, handle: usize, name: &str) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(described) = tables.described.get_mut(&handle) {
            Arc::make_mut(described).name = name.into();
        }
    }

    /// How the communicator with this handle is defined.
    pub(super) fn described(&self, handle: usize) -> Option<Arc<Described>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).described.get(&handle).cloned()
    }

    /// What is known of the communicator with this handle.
    pub(super) fn get(&self, handle: usize) -> Option<Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).by_handle.get(&handle).copied()
    }

    /// The number of the communicator at this place of the model.
    pub(super) fn number(&self, place: u32) -> u32 {
        let tables = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tables.numbers.get(place as usize).copied().unwrap_or(0)
    }

    /// Counts a collective operation on the communicator of this number: how many there were before.
    pub(super) fn operate(&self, number: u32) -> u32 {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let operations = &mut tables.operations;
        if operations.len() <= number as usize {
            operations.resize(number as usize + 1, Cell::new(0));
        }
        let count = &operations[number as usize];
        count.replace(count.get().wrapping_add(1))
    }
}
