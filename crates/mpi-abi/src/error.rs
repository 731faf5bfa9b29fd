//! What can go wrong when the tool itself calls MPI.

use std::ffi::c_int;

/// Why a call that the tool made itself did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// MPI returned this error code.
    #[error("{function} failed with MPI error code {code}")]
    Code {
        /// The function called.
        function: &'static str,
        /// The code it returned.
        code: c_int,
    },
    /// The MPI of this process has no such function.
    #[error("{0} does not exist in the MPI of this process")]
    Missing(&'static str),
    /// The handle is null, or of another kind, or MPI does not run: there is no answer.
    #[error("{function} was not called: there is no such object")]
    NotAsked {
        /// The function that was to be called.
        function: &'static str,
    },
    /// A buffer does not fit the communicator, or is too long for a C `int`.
    #[error("{function}: a buffer of {got} elements where {expected} were expected")]
    Length {
        /// The function that was to be called.
        function: &'static str,
        /// The number of elements it would have needed.
        expected: usize,
        /// The number of elements given.
        got: usize,
    },
    /// A text is no value of a variable's type, or the variable is bound to what is not at hand.
    #[error("this is no value of the variable's type")]
    NoValue,
    /// No MPI has been found in this process yet.
    #[error("the MPI of this process is not known")]
    NoMpi,
}

/// The result of a call that the tool made itself.
pub type Result<T> = std::result::Result<T, Error>;
