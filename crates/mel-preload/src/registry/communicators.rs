//! What is known of each communicator: its number in the table, its size, and how far its definition is.
//!
//! Cost: a communicator gets its number, and its definition, when something counts on it for the first time: one that a library
//! makes and frees without a message takes no space in the table.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use mel_log::Definition;
use mpit_sources::calls::Communicator;
use rustc_hash::FxHashMap;

use crate::described::{self, Described, Groups};

/// A communicator of the program, or a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its number in the definitions of the table, from 1; 0 where there is no space for it.
    pub(crate) number: u32,
    /// Processes that data goes to or comes from, and this one's rank; an intercommunicator has none.
    pub(crate) of_one_group: Option<(u32, i32)>,
}

/// Numbers from here on are not defined.
pub(super) const MOST: u32 = 16 * 1024;

/// All communicators, by the values of their handles and by their places in the model.
#[derive(Debug, Default)]
pub(super) struct Communicators(RwLock<Tables>);

#[derive(Debug, Default)]
struct Tables {
    by_handle: FxHashMap<usize, Entry>,
    /// The handles, by place.
    handles: Vec<usize>,
    made: u32,
    /// By the number of a communicator: its windows.
    windows: FxHashMap<u32, u32>,
}

/// What is known of a handle.
#[derive(Debug)]
struct Entry {
    of_one_group: Option<(u32, i32)>,
    stage: Stage,
    /// Its processes; a window has none of its own, and a file neither.
    of: Option<(Communicator, Groups)>,
}

/// How far the definition of a communicator is.
#[derive(Debug)]
enum Stage {
    /// Nothing has counted on it.
    Unused,
    /// A message has come for it, so that it is defined; its name was not asked for.
    Nameless(u32),
    /// Defined with the name that MPI gives.
    Named(u32, String),
}

/// A communicator that something counts on for the first time.
#[derive(Debug)]
pub(super) struct First {
    pub(super) known: Known,
    /// How it is defined; `None` where there is no space for it, or where that is done.
    pub(super) definition: Option<Definition>,
    /// Whether it was just found that there is no space for it.
    pub(super) is_lost: bool,
    /// The number of the call in which it was made, where it is defined now.
    pub(super) made_in: u16,
}

impl Tables {
    /// A number for one more; 0 where there are no more.
    fn another_number(&mut self) -> u32 {
        self.made += 1;
        if self.made < MOST { self.made } else { 0 }
    }
}

impl Entry {
    fn known(&self, number: u32) -> Known {
        Known { number, of_one_group: self.of_one_group }
    }

    fn described(&self, name: &str) -> Option<Described> {
        self.of.as_ref().map(|(communicator, groups)| Described::new(communicator, name, groups.clone()))
    }
}

impl Communicators {
    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A communicator was made of these processes. It has no number until it is used.
    pub(super) fn add(&self, communicator: &Communicator, groups: Groups) {
        let handle = communicator.token.0 as usize;
        let mut tables = self.write();
        let of_one_group = (!communicator.inter).then_some((communicator.size as u32, communicator.rank));
        tables
            .by_handle
            .insert(handle, Entry { of_one_group, stage: Stage::Unused, of: Some((*communicator, groups)) });
        let place = communicator.index as usize;
        let handles = &mut tables.handles;
        handles.resize(handles.len().max(place + 1), 0);
        handles[place] = handle;
    }

    /// A window was made on the communicator with this handle, which is in use; gives what is known of the window, and its definition. It counts
    /// as a communicator: other than that its operations have nothing to do with those of the one it was made on.
    pub(super) fn add_window(&self, window: usize, comm: usize) -> Option<First> {
        let mut tables = self.write();
        let entry = tables.by_handle.get(&comm)?;
        let Stage::Named(number, name) = &entry.stage else { return None };
        let (number, of_one_group, described) = (*number, entry.of_one_group, entry.described(name));
        let count = tables.windows.entry(number).or_default();
        let before = *count;
        *count += 1;
        let number = tables.another_number();
        let entry = Entry { of_one_group, stage: Stage::Named(number, String::new()), of: None };
        let known = entry.known(number);
        tables.by_handle.insert(window, entry);
        let definition = described.filter(|_| number != 0).map(|of| of.window(number as u16, before));
        Some(First { known, definition, is_lost: number == 0, made_in: 0 })
    }

    /// A file was opened on the communicator with this handle, which is in use. Blocking operations of all on both come in one order, so that
    /// it has the communicator's number.
    pub(super) fn add_file(&self, file: usize, comm: usize) {
        let mut tables = self.write();
        let Some(entry) = tables.by_handle.get(&comm) else { return };
        let Stage::Named(number, _) = entry.stage else { return };
        let stage = Stage::Named(number, String::new());
        let entry = Entry { of_one_group: entry.of_one_group, stage, of: None };
        tables.by_handle.insert(file, entry);
    }

    /// It was freed: its handle may become another's.
    pub(super) fn remove(&self, communicator: &Communicator) {
        self.write().by_handle.remove(&(communicator.token.0 as usize));
    }

    /// The communicator with this handle has another name now; gives its number where it is defined.
    pub(super) fn rename(&self, handle: usize, name: &str) -> Option<u32> {
        let mut tables = self.write();
        let stage = &mut tables.by_handle.get_mut(&handle)?.stage;
        let (Stage::Nameless(number) | Stage::Named(number, _)) = *stage else { return None };
        *stage = Stage::Named(number, name.into());
        Some(number)
    }

    /// What is known of the communicator with this handle, if it is in use and has its name.
    pub(super) fn get(&self, handle: usize) -> Option<Known> {
        let tables = self.read();
        let entry = tables.by_handle.get(&handle)?;
        match entry.stage {
            Stage::Named(number, _) => Some(entry.known(number)),
            Stage::Unused | Stage::Nameless(_) => None,
        }
    }

    /// The program makes a call on the communicator with this handle, for the first time since it was made; MPI is asked for its name.
    pub(super) fn call_on(&self, handle: usize) -> Option<First> {
        let has_name = |entry: &Entry| matches!(entry.stage, Stage::Named(..));
        let communicator = match self.read().by_handle.get(&handle)? {
            entry if has_name(entry) => None,
            entry => entry.of.as_ref().map(|(communicator, _)| *communicator),
        };
        // Without the lock: whoever is called may need it.
        let name = communicator.map(|communicator| described::name(&communicator));
        let mut tables = self.write();
        let number = match tables.by_handle.get(&handle)?.stage {
            Stage::Unused => tables.another_number(),
            Stage::Nameless(number) | Stage::Named(number, _) => number,
        };
        let entry = tables.by_handle.get_mut(&handle)?;
        let known = entry.known(number);
        let is_lost = number == 0 && matches!(entry.stage, Stage::Unused);
        // Another thread may have been faster.
        let Some(name) = name.filter(|_| !has_name(entry)) else {
            return Some(First { known, definition: None, is_lost, made_in: 0 });
        };
        let made_in = match (&entry.stage, &entry.of) {
            (Stage::Unused, Some((communicator, _))) => communicator.made_in,
            _ => 0,
        };
        let definition = match entry.stage {
            _ if number == 0 => None,
            Stage::Unused => entry.described(&name).map(|described| described.definition(number as u16)),
            _ => Some(Definition::CommunicatorName { index: number as u16, name: name.clone() }),
        };
        entry.stage = Stage::Named(number, name);
        Some(First { known, definition, is_lost, made_in })
    }

    /// The number of the communicator at this place of the model, if it is in use.
    pub(super) fn number(&self, place: u32) -> Option<u32> {
        let tables = self.read();
        let entry = tables.by_handle.get(tables.handles.get(place as usize)?)?;
        match entry.stage {
            Stage::Unused => None,
            Stage::Nameless(number) | Stage::Named(number, _) => Some(number),
        }
    }

    /// A message has come for the communicator at this place of the model. MPI is asked nothing: the communicator may be going just now.
    pub(super) fn arrive_at(&self, place: u32) -> Option<First> {
        let mut tables = self.write();
        let handle = *tables.handles.get(place as usize)?;
        if !matches!(tables.by_handle.get(&handle)?.stage, Stage::Unused) {
            return None;
        }
        let number = tables.another_number();
        let entry = tables.by_handle.get_mut(&handle)?;
        let (communicator, _) = entry.of.as_ref()?;
        let made_in = communicator.made_in;
        let described = entry.described(&described::made_of(communicator));
        entry.stage = Stage::Nameless(number);
        let definition =
            described.filter(|_| number != 0).map(|described| described.definition(number as u16));
        Some(First { known: entry.known(number), definition, is_lost: number == 0, made_in })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mel_log::Members;
    use mpit_events::Token;

    use super::*;

    #[test]
    fn a_communicator_without_space_is_lost_once() {
        let communicators = Communicators(RwLock::new(Tables { made: MOST, ..Tables::default() }));
        let (token, inter) = (Token(7), false);
        let made =
            Communicator { token, context: 9, index: 0, size: 2, rank: 0, inter, group: 1, made_in: 0 };
        communicators.add(&made, Arc::new((Members::from_ranks([0, 1]), None)));
        assert_eq!(communicators.number(0), None, "nothing counts on it");
        let lost = |first: Option<First>| first.map(|first| (first.known.number, first.is_lost));
        assert_eq!(lost(communicators.arrive_at(0)), Some((0, true)));
        assert_eq!(lost(communicators.call_on(7)), Some((0, false)));
        assert_eq!(communicators.get(7).map(|known| known.number), Some(0));
    }
}
