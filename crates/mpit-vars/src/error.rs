//! What a function can refuse, in the words of MPI.

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
