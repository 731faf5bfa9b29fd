//! A handle of one of our variables: what the standard allows it to do, and when.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Contents, Description, Error, Value};

/// A handle of one of our variables. Thread-safe: one use at a time. Not signal-safe.
pub struct Handle {
    description: Arc<Description>,
    count: usize,
    state: Mutex<State>,
}

struct State {
    value: Box<dyn Value>,
    started: bool,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("name", &self.description.name).field("count", &self.count).finish()
    }
}

impl Handle {
    /// A handle with this value. One of a continuous variable is started.
    ///
    /// # Errors
    /// Those of the value.
    pub fn new(description: Arc<Description>, mut value: Box<dyn Value>) -> Result<Self, Error> {
        let started = description.continuous;
        if started {
            value.start()?;
        }
        let count = value.count();
        Ok(Handle { description, count, state: Mutex::new(State { value, started }) })
    }

    /// What the variable is.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The number of elements that a read gives.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it. One that is started stays so.
    ///
    /// # Errors
    /// [`Error::NoStartStop`] where the variable is continuous; those of the value.
    pub fn start(&self) -> Result<(), Error> {
        self.set_started(true)
    }

    /// Stops it. One that is stopped stays so.
    ///
    /// # Errors
    /// [`Error::NoStartStop`] where the variable is continuous; those of the value.
    pub fn stop(&self) -> Result<(), Error> {
        self.set_started(false)
    }

    fn set_started(&self, started: bool) -> Result<(), Error> {
        if self.description.continuous {
            return Err(Error::NoStartStop);
        }
        let mut state = self.state();
        if state.started == started {
            return Ok(());
        }
        if started { state.value.start() } else { state.value.stop() }?;
        state.started = started;
        Ok(())
    }

    /// Gives `user` the value.
    ///
    /// # Errors
    /// Those of the value.
    pub fn read<R>(&self, user: impl FnOnce(Contents<'_>) -> R) -> Result<R, Error> {
        self.state().value.read().map(user)
    }

    /// Gives `user` the value and resets it, with nothing in between.
    ///
    /// # Errors
    /// [`Error::NoWrite`] for a variable that cannot be written, [`Error::NoAtomic`] for one that cannot do that; those
    /// of the value.
    pub fn read_reset<R>(&self, user: impl FnOnce(Contents<'_>) -> R) -> Result<R, Error> {
        self.writable()?;
        if !self.description.atomic {
            return Err(Error::NoAtomic);
        }
        let mut state = self.state();
        let read = user(state.value.read()?);
        state.value.reset()?;
        Ok(read)
    }

    /// Replaces the value.
    ///
    /// # Errors
    /// [`Error::NoWrite`] for a variable that cannot be written; those of the value.
    pub fn write(&self, contents: Contents<'_>) -> Result<(), Error> {
        self.writable()?;
        self.state().value.write(contents)
    }

    /// Gives it the value that it had at first.
    ///
    /// # Errors
    /// [`Error::NoWrite`] for a variable that cannot be written; those of the value.
    pub fn reset(&self) -> Result<(), Error> {
        self.writable()?;
        self.state().value.reset()
    }

    fn writable(&self) -> Result<(), Error> {
        if self.description.readonly { Err(Error::NoWrite) } else { Ok(()) }
    }
}
