//! All variables of ours, and the sessions and handles of tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Class, Description, Error, Handle, Numbered, Numbers, Variable};

/// The upper bits of our sessions and handles: no address of x86-64 or ARM has them, and `MPI_T_PVAR_ALL_HANDLES` of no
/// MPI.
const OURS: usize = 0x5d << 56;

/// Whose handle it is.
#[derive(Clone, Debug)]
pub enum Whose {
    /// The MPI's, with the MPI's session.
    Mpi(usize),
    /// One of ours.
    Ours(Arc<Handle>),
}

/// The handles of a session, for what is asked of all of them (`MPI_T_PVAR_ALL_HANDLES`).
#[derive(Clone, Debug)]
pub struct All {
    /// The MPI's session where it has handles of the MPI's: the MPI is asked then only, because some (MPICH 5 with the
    /// standard ABI) crash where there are none.
    pub mpi: Option<usize>,
    /// Ours, in the order of allocation.
    pub ours: Vec<Arc<Handle>>,
}

impl All {
    /// Starts ours, but for continuous ones.
    ///
    /// # Errors
    /// [`Error::NoStartStop`] where one could not be started; all others are.
    pub fn start(&self) -> Result<(), Error> {
        let noncontinuous = self.ours.iter().filter(|handle| !handle.description().continuous);
        each(noncontinuous, Handle::start, Error::NoStartStop)
    }

    /// Stops ours, but for continuous ones.
    ///
    /// # Errors
    /// [`Error::NoStartStop`] where one could not be stopped; all others are.
    pub fn stop(&self) -> Result<(), Error> {
        let noncontinuous = self.ours.iter().filter(|handle| !handle.description().continuous);
        each(noncontinuous, Handle::stop, Error::NoStartStop)
    }

    /// Resets ours, but for those that cannot be written.
    ///
    /// # Errors
    /// [`Error::NoWrite`] where one could not be reset; all others are.
    pub fn reset(&self) -> Result<(), Error> {
        let writable = self.ours.iter().filter(|handle| !handle.description().readonly);
        each(writable, Handle::reset, Error::NoWrite)
    }
}

fn each<'a>(
    handles: impl Iterator<Item = &'a Arc<Handle>>,
    what: fn(&Handle) -> Result<(), Error>,
    failed: Error,
) -> Result<(), Error> {
    let failures = handles.filter(|handle| what(handle).is_err()).count();
    if failures == 0 { Ok(()) } else { Err(failed) }
}

#[derive(Clone)]
struct Entry {
    description: Arc<Description>,
    variable: Arc<dyn Variable>,
}

#[derive(Default)]
struct Session {
    /// The MPI's own session; none where the MPI has no performance variables.
    mpi: Option<usize>,
    handles_of_mpi: FxHashSet<usize>,
    ours: Vec<usize>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    numbers: Numbers,
    sessions: FxHashMap<usize, Session>,
    /// With the session that it was allocated in.
    handles: FxHashMap<usize, (usize, Arc<Handle>)>,
    /// How many sessions and handles there were.
    made: usize,
}

impl State {
    fn next(&mut self) -> usize {
        self.made += 1;
        OURS | self.made
    }

    fn session(&mut self, session: usize) -> Result<&mut Session, Error> {
        self.sessions.get_mut(&session).ok_or(Error::InvalidSession)
    }
}

/// Variables of ours, and the sessions and handles of tools. All methods are thread-safe, and none is signal-safe; no
/// lock is held while a value does something. Sessions and handles are machine words.
#[derive(Default)]
pub struct Variables(Mutex<State>);

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Variables")
            .field("variables", &state.entries.len())
            .field("sessions", &state.sessions.len())
            .field("handles", &state.handles.len())
            .finish()
    }
}

/// The variables of this process.
#[must_use]
pub fn variables() -> &'static Variables {
    static VARIABLES: std::sync::LazyLock<Variables> = std::sync::LazyLock::new(Variables::default);
    &VARIABLES
}

impl Numbered for Variables {
    fn with_numbers<R>(&self, user: impl FnOnce(&mut Numbers, usize) -> R) -> R {
        let state = &mut *self.state();
        user(&mut state.numbers, state.entries.len())
    }
}

impl Variables {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Variables.

    /// Adds a variable and gives its index among ours.
    ///
    /// # Errors
    /// [`Error::InvalidName`] where one of ours has this name and class.
    pub fn add(&self, description: Description, variable: Arc<dyn Variable>) -> Result<usize, Error> {
        let mut state = self.state();
        let same = |entry: &Entry| {
            entry.description.name == description.name && entry.description.class == description.class
        };
        if state.entries.iter().any(same) {
            return Err(Error::InvalidName);
        }
        state.entries.push(Entry { description: Arc::new(description), variable });
        Ok(state.entries.len() - 1)
    }

    /// How many variables of ours have been added.
    #[must_use]
    pub fn ours(&self) -> usize {
        self.state().entries.len()
    }

    /// What one of ours is.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`]
    pub fn description(&self, ours: usize) -> Result<Arc<Description>, Error> {
        self.entry(ours).map(|entry| entry.description)
    }

    /// A handle of one of ours that belongs to no session, for a consumer in Rust; stopped, unless the variable is continuous.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`], those of [`Variable::bind`].
    pub fn bind(&self, ours: usize, object: Option<u64>) -> Result<Arc<Handle>, Error> {
        let entry = self.entry(ours)?;
        Ok(Arc::new(Handle::new(entry.description, entry.variable.bind(object)?)?))
    }

    /// What one of ours is for the whole process, where that can be read [directly](Variable::direct).
    #[must_use]
    pub fn direct(&self, ours: usize) -> Option<crate::direct::Direct> {
        self.entry(ours).ok()?.variable.direct()
    }

    fn entry(&self, ours: usize) -> Result<Entry, Error> {
        self.state().entries.get(ours).cloned().ok_or(Error::InvalidIndex)
    }

    /// The one of ours that has this name and class.
    ///
    /// # Errors
    /// [`Error::InvalidName`]
    pub fn of_name(&self, name: &[u8], class: Class) -> Result<usize, Error> {
        let state = self.state();
        let same =
            |entry: &Entry| entry.description.name.as_bytes() == name && entry.description.class == class;
        state.entries.iter().position(same).ok_or(Error::InvalidName)
    }

    // Sessions.

    /// A new session, which holds this one of the MPI's.
    #[must_use]
    pub fn create_session(&self, mpi: Option<usize>) -> usize {
        let mut state = self.state();
        let session = state.next();
        state.sessions.insert(session, Session { mpi, ..Session::default() });
        session
    }

    /// The MPI's session in this one.
    ///
    /// # Errors
    /// [`Error::InvalidSession`]
    pub fn session_of_mpi(&self, session: usize) -> Result<Option<usize>, Error> {
        self.state().session(session).map(|session| session.mpi)
    }

    /// Ends a session with its handles, and gives the MPI's session in it, which is to be freed.
    ///
    /// # Errors
    /// [`Error::InvalidSession`]
    pub fn free_session(&self, session: usize) -> Result<Option<usize>, Error> {
        let mut state = self.state();
        let ended = state.sessions.remove(&session).ok_or(Error::InvalidSession)?;
        let handles: Vec<_> = ended.ours.iter().filter_map(|handle| state.handles.remove(handle)).collect();
        drop(state);
        // Values may take long to end.
        drop(handles);
        Ok(ended.mpi)
    }

    /// Ends all sessions. The MPI's in them are left to the MPI.
    pub fn end_all(&self) {
        let mut state = self.state();
        state.sessions.clear();
        let handles = std::mem::take(&mut state.handles);
        drop(state);
        drop(handles);
    }

    // Handles.

    /// A handle of one of ours for an object, which is ignored where the variable is bound to nothing.
    ///
    /// # Errors
    /// [`Error::InvalidSession`], [`Error::InvalidIndex`], those of [`Variable::bind`].
    pub fn alloc(
        &self,
        session: usize,
        ours: usize,
        object: Option<u64>,
    ) -> Result<(usize, Arc<Handle>), Error> {
        self.session_of_mpi(session)?;
        let made = self.bind(ours, object)?;
        let mut state = self.state();
        let handle = state.next();
        state.session(session)?.ours.push(handle);
        state.handles.insert(handle, (session, made.clone()));
        Ok((handle, made))
    }

    /// The MPI has allocated a handle in its session of this one.
    ///
    /// # Errors
    /// [`Error::InvalidSession`] where the session was freed meanwhile.
    pub fn add_handle_of_mpi(&self, session: usize, handle: usize) -> Result<(), Error> {
        self.state().session(session)?.handles_of_mpi.insert(handle);
        Ok(())
    }

    /// Whose handle it is.
    ///
    /// # Errors
    /// [`Error::InvalidSession`], [`Error::InvalidHandle`] also for a handle of another session.
    pub fn handle(&self, session: usize, handle: usize) -> Result<Whose, Error> {
        let mut state = self.state();
        let found = state.session(session)?;
        if let Some(mpi) = found.mpi.filter(|_| found.handles_of_mpi.contains(&handle)) {
            return Ok(Whose::Mpi(mpi));
        }
        match state.handles.get(&handle) {
            Some((owner, ours)) if *owner == session => Ok(Whose::Ours(ours.clone())),
            _ => Err(Error::InvalidHandle),
        }
    }

    /// Takes a handle out of its session. One of the MPI's is then to be freed; [`Variables::add_handle_of_mpi`] puts it
    /// back where the MPI refuses.
    ///
    /// # Errors
    /// As [`Variables::handle`].
    pub fn free(&self, session: usize, handle: usize) -> Result<Whose, Error> {
        let whose = self.handle(session, handle)?;
        let mut state = self.state();
        let found = state.session(session)?;
        match whose {
            // Another thread may have been first.
            Whose::Mpi(_) if !found.handles_of_mpi.remove(&handle) => return Err(Error::InvalidHandle),
            Whose::Mpi(_) => {}
            Whose::Ours(_) => {
                found.ours.retain(|&other| other != handle);
                state.handles.remove(&handle).ok_or(Error::InvalidHandle)?;
            }
        }
        drop(state);
        Ok(whose)
    }

    /// All handles of a session.
    ///
    /// # Errors
    /// [`Error::InvalidSession`]
    pub fn all(&self, session: usize) -> Result<All, Error> {
        let mut state = self.state();
        let found = state.session(session)?;
        let mpi = found.mpi.filter(|_| !found.handles_of_mpi.is_empty());
        let ours = found.ours.clone();
        let ours = ours.iter().filter_map(|handle| state.handles.get(handle));
        Ok(All { mpi, ours: ours.map(|(_, handle)| handle.clone()).collect() })
    }
}
