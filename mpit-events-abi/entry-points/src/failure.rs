//! What an exported function can answer instead of `MPI_SUCCESS`, and MPI's numbers for it.

use std::ffi::c_int;

use mpi_abi::{Abi, ToolConstants};
use mpit_events::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The tool information interface is not initialised.
    NotInitialized,
    /// A pointer that must not be null is.
    Argument,
    /// The core has refused.
    Core(Error),
    /// A variable of ours, or its session or handle, has refused.
    Variable(mpit_vars::Error),
    /// The MPI of this process has answered with this code, or has no such function.
    Mpi(c_int),
    /// A mistake of ours.
    Internal,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}

impl From<mpit_vars::Error> for Failure {
    fn from(error: mpit_vars::Error) -> Self {
        Failure::Variable(error)
    }
}

impl Failure {
    /// The error code in the MPI of this process.
    #[cold]
    pub(crate) fn code(self) -> c_int {
        let numbers = numbers();
        match self {
            Failure::NotInitialized => numbers.err_not_initialized,
            Failure::Argument => numbers.err_arg,
            Failure::Core(Error::InvalidIndex) => numbers.err_invalid_index,
            Failure::Core(Error::InvalidName) => numbers.err_invalid_name,
            Failure::Core(Error::InvalidHandle | Error::ObjectNeeded) => numbers.err_invalid_handle,
            Failure::Core(Error::OutOfHandles) => numbers.err_out_of_handles,
            Failure::Core(Error::NotSupported) => numbers.err_not_supported,
            Failure::Core(_) => numbers.err_invalid,
            Failure::Variable(error) => of_variable(numbers, error),
            Failure::Mpi(code) => code,
            Failure::Internal => numbers.err_intern,
        }
    }
}

/// The error code of a refusal by a variable.
fn of_variable(numbers: &ToolConstants, error: mpit_vars::Error) -> c_int {
    use mpit_vars::Error as E;
    match error {
        E::InvalidIndex => numbers.err_invalid_index,
        E::InvalidName => numbers.err_invalid_name,
        E::InvalidSession => numbers.err_invalid_session,
        E::InvalidHandle => numbers.err_invalid_handle,
        E::NoStartStop => numbers.err_pvar_no_startstop,
        E::NoWrite => numbers.err_pvar_no_write,
        E::NoAtomic => numbers.err_pvar_no_atomic,
        E::SetNever => numbers.err_cvar_set_never,
        E::SetNotNow => numbers.err_cvar_set_not_now,
        _ => numbers.err_invalid,
    }
}

/// The numbers of the MPI in this process; where it is not known, those of the standard ABI.
pub(crate) fn numbers() -> &'static ToolConstants {
    static UNKNOWN: ToolConstants = ToolConstants::STANDARD;
    match Abi::current().or_else(|| Abi::detect().ok()) {
        Some(abi) => &abi.constants.tool,
        None => &UNKNOWN,
    }
}
