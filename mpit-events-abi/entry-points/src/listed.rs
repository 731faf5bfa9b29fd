//! Variables of one kind as tools know them, by number: the MPI's and ours. No lock of ours is held while the MPI is called.

use std::ffi::c_int;

use mpit_vars::{Error, Numbered, Owner};

use crate::failure::Failure;

/// All variables of a kind, and how many the MPI has of them now.
pub(crate) struct Listed<T: 'static> {
    pub(crate) all: fn() -> &'static T,
    pub(crate) num_of_mpi: fn(bool) -> usize,
}

impl<T: Numbered> Listed<T> {
    /// All of them, after those that are new have got their numbers.
    pub(crate) fn refreshed(&self, profiling: bool) -> &'static T {
        let all = (self.all)();
        all.refresh((self.num_of_mpi)(profiling));
        all
    }

    /// Whose variable has this number.
    pub(crate) fn owner(&self, number: c_int, profiling: bool) -> Result<Owner, Failure> {
        match (self.all)().owner(number) {
            Ok(owner) => Ok(owner),
            Err(_) => Ok(self.refreshed(profiling).owner(number)?),
        }
    }

    /// The number under which tools know a variable of the MPI.
    pub(crate) fn number_of_mpi(&self, index: c_int, profiling: bool) -> Result<c_int, Failure> {
        let owner = Owner::Mpi(usize::try_from(index).map_err(|_| Error::InvalidIndex)?);
        let number = (self.all)().number_of(owner).or_else(|| self.refreshed(profiling).number_of(owner));
        number.ok_or(Failure::Variable(Error::InvalidIndex))
    }
}

/// What the MPI has answered about an object of its own; where the function is missing, there is no such object.
pub(crate) fn answer(code: Option<c_int>, missing: Error) -> Result<(), Failure> {
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Mpi(code)),
        None => Err(Failure::Variable(missing)),
    }
}
