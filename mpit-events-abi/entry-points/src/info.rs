//! `MPI_Info` outputs. Every such object is new and has the hints that the tool has given, if any; those of the MPI's
//! own are as the MPI gives them.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Handle, HandlePtr, Info, pmpi, questions};

use crate::compose::answer;
use crate::failure::Failure;
use crate::hints::Hints;

/// An info output: null, or the address of a writable `MPI_Info`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct OutInfo(*mut c_void);

/// Whether an info argument is `MPI_INFO_NULL`, or a null pointer.
pub(crate) fn is_null(info: usize) -> bool {
    info == 0 || Abi::current().is_none_or(|abi| abi.constants.info_null == Info::from_word(info))
}

impl OutInfo {
    /// An info object that nobody wants.
    pub(crate) const UNWANTED: OutInfo = OutInfo(std::ptr::null_mut());

    /// The same output, which must be wanted.
    pub(crate) fn required(self) -> Result<Self, Failure> {
        if self.0.is_null() { Err(Failure::Argument) } else { Ok(self) }
    }

    /// Gives the info object that `ask` has the MPI write to the address that it is given, or a new one
    /// where that is `MPI_INFO_NULL`.
    pub(crate) fn give_of(self, ask: impl FnOnce(*mut c_void) -> c_int) -> Result<(), Failure> {
        let abi = Abi::current().ok_or(Failure::Internal)?;
        // As wide as the widest handle.
        let mut word = abi.constants.info_null.0;
        let place = HandlePtr::<Info>::new((&raw mut word).cast());
        answer(ask(place.as_ptr()))?;
        // SAFETY: a local word, which is initialised.
        let info = unsafe { place.read() };
        if info == abi.constants.info_null {
            return self.give(&Hints::new());
        }
        // SAFETY: the caller has promised room for a handle of its MPI, where the address is not null.
        unsafe { HandlePtr::<Info>::new(self.required()?.0).set(0, info) };
        Ok(())
    }

    /// Gives a new info object with these hints, which the caller frees, where it is wanted. Outside of `MPI_Init` to
    /// `MPI_Finalize`, where not every MPI can make one, `MPI_INFO_NULL`.
    pub(crate) fn give(self, hints: &Hints) -> Result<(), Failure> {
        if self.0.is_null() {
            return Ok(());
        }
        let abi = Abi::current().ok_or(Failure::Internal)?;
        let mut info = abi.constants.info_null;
        if questions::world_is_there() {
            info = pmpi::info_create()?;
            hints.iter().try_for_each(|(key, value)| pmpi::info_set(info, key, value))?;
        }
        // SAFETY: not null, so the caller has promised room for a handle of its MPI.
        unsafe { HandlePtr::<Info>::new(self.0).set(0, info) };
        Ok(())
    }
}
