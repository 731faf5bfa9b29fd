//! All control variables of ours, and the handles of tools for them and for those of the MPI.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::control::{Contents, Control, Description};
use crate::{Error, Numbered, Numbers};

/// The upper bits of our handles: no address of x86-64 or ARM has them.
const OURS: usize = 0x5c << 56;

/// A control variable of ours.
#[derive(Clone)]
pub struct Entry {
    /// Its index among ours.
    pub index: usize,
    /// What it is.
    pub description: Arc<Description>,
    control: Arc<dyn Control>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("index", &self.index).field("name", &self.description.name).finish()
    }
}

impl Entry {
    /// The value now.
    #[must_use]
    pub fn read(&self) -> Contents {
        self.control.read()
    }

    /// Sets it.
    ///
    /// # Errors
    /// [`Error::SetNever`] where its scope forbids that, [`Error::OutOfRange`] where it may not have this value,
    /// [`Error::SetNotNow`].
    pub fn write(&self, contents: &Contents) -> Result<(), Error> {
        if !self.description.scope.is_writable() {
            return Err(Error::SetNever);
        }
        self.description.domain.check(contents)?;
        self.control.write(contents)
    }
}

/// Whose handle it is.
#[derive(Clone, Debug)]
pub enum Whose {
    /// The MPI's.
    Mpi,
    /// One of ours.
    Ours(Entry),
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    numbers: Numbers,
    /// The MPI's handles that tools have, and how often the MPI has given each of them.
    of_mpi: FxHashMap<usize, usize>,
    /// Ours, with the variable's index among ours.
    ours: FxHashMap<usize, usize>,
    made: usize,
}

/// Control variables of ours, and the handles of tools. All methods are thread-safe, and none is signal-safe; no lock is held while
/// a variable does something. Handles are machine words.
#[derive(Default)]
pub struct Controls(Mutex<State>);

impl std::fmt::Debug for Controls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Controls")
            .field("variables", &state.entries.len())
            .field("handles", &(state.ours.len() + state.of_mpi.len()))
            .finish()
    }
}

/// The control variables of this process.
#[must_use]
pub fn controls() -> &'static Controls {
    static CONTROLS: std::sync::LazyLock<Controls> = std::sync::LazyLock::new(Controls::default);
    &CONTROLS
}

impl Numbered for Controls {
    fn with_numbers<R>(&self, user: impl FnOnce(&mut Numbers, usize) -> R) -> R {
        let state = &mut *self.state();
        user(&mut state.numbers, state.entries.len())
    }
}

impl Controls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a variable and gives its index among ours.
    ///
    /// # Errors
    /// [`Error::InvalidName`] where one of ours has this name.
    pub fn add(&self, description: Description, control: Arc<dyn Control>) -> Result<usize, Error> {
        let mut state = self.state();
        if state.entries.iter().any(|entry| entry.description.name == description.name) {
            return Err(Error::InvalidName);
        }
        let index = state.entries.len();
        state.entries.push(Entry { index, description: Arc::new(description), control });
        Ok(index)
    }

    /// One of ours.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`]
    pub fn entry(&self, ours: usize) -> Result<Entry, Error> {
        self.state().entries.get(ours).cloned().ok_or(Error::InvalidIndex)
    }

    /// The one of ours that has this name.
    ///
    /// # Errors
    /// [`Error::InvalidName`]
    pub fn of_name(&self, name: &[u8]) -> Result<Entry, Error> {
        let state = self.state();
        let found = state.entries.iter().find(|entry| entry.description.name.as_bytes() == name);
        found.cloned().ok_or(Error::InvalidName)
    }

    /// A handle of one of ours.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`]
    pub fn alloc(&self, ours: usize) -> Result<(usize, Entry), Error> {
        let entry = self.entry(ours)?;
        let mut state = self.state();
        state.made += 1;
        let handle = OURS | state.made;
        state.ours.insert(handle, ours);
        Ok((handle, entry))
    }

    /// The MPI has allocated a handle.
    pub fn add_handle_of_mpi(&self, handle: usize) {
        *self.state().of_mpi.entry(handle).or_default() += 1;
    }

    /// Whose handle it is.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`]
    pub fn handle(&self, handle: usize) -> Result<Whose, Error> {
        let state = self.state();
        if state.of_mpi.contains_key(&handle) {
            return Ok(Whose::Mpi);
        }
        let entry = state.ours.get(&handle).and_then(|ours| state.entries.get(*ours));
        entry.cloned().map(Whose::Ours).ok_or(Error::InvalidHandle)
    }

    /// Ends a handle. One of the MPI's is then to be freed; [`Controls::add_handle_of_mpi`] puts it back where the MPI refuses.
    ///
    /// # Errors
    /// As [`Controls::handle`].
    pub fn free(&self, handle: usize) -> Result<Whose, Error> {
        let whose = self.handle(handle)?;
        let mut state = self.state();
        match whose {
            Whose::Mpi => match state.of_mpi.get_mut(&handle) {
                Some(count) if *count > 1 => *count -= 1,
                Some(_) => _ = state.of_mpi.remove(&handle),
                // Another thread was first.
                None => return Err(Error::InvalidHandle),
            },
            Whose::Ours(_) => _ = state.ours.remove(&handle).ok_or(Error::InvalidHandle)?,
        }
        drop(state);
        Ok(whose)
    }

    /// Ends all handles. The MPI's are left to the MPI.
    pub fn end_all(&self) {
        let mut state = self.state();
        state.of_mpi.clear();
        state.ours.clear();
    }
}
