//! What a performance variable is.

use std::borrow::Cow;

use crate::direct::Direct;

/// What the values of a variable mean (`MPI_T_PVAR_CLASS_*`), in the order of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MPI's own")]
pub enum Class {
    State,
    Level,
    Size,
    Percentage,
    HighWatermark,
    LowWatermark,
    Counter,
    Aggregate,
    Timer,
    Generic,
}

/// For whom a variable is (`MPI_T_VERBOSITY_*`), in the order of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MPI's own")]
pub enum Verbosity {
    UserBasic,
    UserDetail,
    UserAll,
    TunerBasic,
    TunerDetail,
    TunerAll,
    MpidevBasic,
    MpidevDetail,
    MpidevAll,
}

/// What a handle of a variable is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bind {
    /// `MPI_T_BIND_NO_OBJECT`: any object that is given is ignored.
    Nothing,
    /// `MPI_T_BIND_MPI_COMM`
    Comm,
}

/// The data type of a variable's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// `MPI_CHAR`: the variable is a string with NUL at its end.
    Char,
    /// `MPI_UNSIGNED_LONG`, of 64 bits.
    UnsignedLong,
}

/// A variable as `MPI_T_pvar_get_info` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name; together with the class it is unique among ours.
    pub name: Cow<'static, str>,
    /// What it means, with its unit.
    pub description: Cow<'static, str>,
    /// For whom it is.
    pub verbosity: Verbosity,
    /// What its values mean.
    pub class: Class,
    /// The type of its elements.
    pub element: Element,
    /// What its handles are bound to.
    pub bind: Bind,
    /// It can be neither written nor reset.
    pub readonly: bool,
    /// It is always started.
    pub continuous: bool,
    /// It can be read and reset at once.
    pub atomic: bool,
}

/// What a handle holds, or is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents<'a> {
    /// As many numbers as the handle has elements.
    Numbers(&'a [u64]),
    /// A string without NUL.
    Text(&'a str),
}

/// A variable: what its handles are made by.
pub trait Variable: Send + Sync {
    /// The value of a new handle for this object; there is none for variables bound to nothing. Called with no lock held.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] where there is no such object.
    fn bind(&self, object: Option<u64>) -> Result<Box<dyn Value>, Error>;

    /// What it is for the whole process, counted from now on at the latest: bound to communicators, of all together. `None` where that
    /// cannot be read directly. Called with no lock held.
    fn direct(&self) -> Option<Direct> {
        None
    }
}

/// The value of one handle. One thread at a time uses it; starting and stopping alternate.
pub trait Value: Send {
    /// The number of its elements.
    fn count(&self) -> usize;

    /// It is started: from now on what happens counts.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn start(&mut self) -> Result<(), Error>;

    /// It is stopped: what happens does not count.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn stop(&mut self) -> Result<(), Error>;

    /// The value now; that of the last stop where it is stopped.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn read(&mut self) -> Result<Contents<'_>, Error>;

    /// Replaces the value. Numbers are as many as [`count`](Value::count) says.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn write(&mut self, contents: Contents<'_>) -> Result<(), Error>;

    /// Gives it the value that it had at first.
    ///
    /// # Errors
    /// [`Error::Failed`]
    fn reset(&mut self) -> Result<(), Error>;
}

/// Why something was refused. Each has an error code in MPI-5.0, section 15.3.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `MPI_T_ERR_INVALID_INDEX`
    #[error("there is no variable of this number")]
    InvalidIndex,
    /// `MPI_T_ERR_INVALID_NAME`
    #[error("there is no variable of this name and class")]
    InvalidName,
    /// `MPI_T_ERR_INVALID_SESSION`
    #[error("there is no such session")]
    InvalidSession,
    /// `MPI_T_ERR_INVALID_HANDLE`
    #[error("there is no such handle in this session, or no such object")]
    InvalidHandle,
    /// `MPI_T_ERR_PVAR_NO_STARTSTOP`
    #[error("the variable can be neither started nor stopped")]
    NoStartStop,
    /// `MPI_T_ERR_PVAR_NO_WRITE`
    #[error("the variable cannot be written or reset")]
    NoWrite,
    /// `MPI_T_ERR_PVAR_NO_ATOMIC`
    #[error("the variable cannot be read and reset at once")]
    NoAtomic,
    /// `MPI_T_ERR_CVAR_SET_NEVER`
    #[error("the variable cannot be set at all")]
    SetNever,
    /// `MPI_T_ERR_CVAR_SET_NOT_NOW`
    #[error("the variable cannot be set now")]
    SetNotNow,
    /// `MPI_T_ERR_INVALID`: it is none of the values that the variable may have.
    #[error("the variable may not have this value")]
    OutOfRange,
    /// `MPI_T_ERR_INVALID`: what the variable was to do has failed.
    #[error("the variable could not do what was asked")]
    Failed,
}
