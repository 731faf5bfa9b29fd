//! `MPI_Info` outputs. This implementation knows no hints, so every such object is new and empty.

use std::ffi::c_void;

use mpi_abi::{Abi, HandlePtr, Info, pmpi};

use crate::failure::Failure;

/// An info output: null, or the address of a writable `MPI_Info`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct OutInfo(*mut c_void);

impl OutInfo {
    /// An info object that nobody wants.
    pub(crate) const UNWANTED: OutInfo = OutInfo(std::ptr::null_mut());

    /// The same output, which must be wanted.
    pub(crate) fn required(self) -> Result<Self, Failure> {
        if self.0.is_null() { Err(Failure::Argument) } else { Ok(self) }
    }

    /// Gives a new info object, which the caller frees, where it is wanted. Outside of `MPI_Init` to
    /// `MPI_Finalize`, where not every MPI can make one, `MPI_INFO_NULL`.
    pub(crate) fn give(self) -> Result<(), Failure> {
        if self.0.is_null() {
            return Ok(());
        }
        let abi = Abi::current().ok_or(Failure::Internal)?;
        let usable = pmpi::initialized() == Ok(true) && pmpi::finalized() == Ok(false);
        let info = match usable.then(pmpi::info_create) {
            None => abi.constants.info_null,
            Some(Ok(info)) => info,
            Some(Err(mpi_abi::Error::Code { code, .. })) => return Err(Failure::Mpi(code)),
            Some(Err(_)) => return Err(Failure::Internal),
        };
        // SAFETY: not null, so the caller has promised room for a handle of its MPI.
        unsafe { HandlePtr::<Info>::new(self.0).set(0, info) };
        Ok(())
    }
}
