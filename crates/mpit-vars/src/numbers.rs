//! The numbers of variables that two owners have.

use std::ffi::c_int;

use crate::Error;

/// Whose variable it is, with its owner's own index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// One of the MPI's.
    Mpi(usize),
    /// One of ours.
    Ours(usize),
}

/// Numbers from zero without gaps, given once: a number that a tool has seen never means another variable (MPI-5.0,
/// section 15.3.7). The MPI's variables come first. Those that the MPI adds after a tool has asked come behind ours.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    owners: Vec<Owner>,
    mpi: Vec<usize>,
    ours: Vec<usize>,
}

impl Numbers {
    /// Gives numbers to what has none yet: there are now so many variables of the MPI and of ours. Fewer than before
    /// change nothing.
    pub fn grow(&mut self, mpi: usize, ours: usize) {
        for index in self.mpi.len()..mpi {
            self.mpi.push(self.owners.len());
            self.owners.push(Owner::Mpi(index));
        }
        for index in self.ours.len()..ours {
            self.ours.push(self.owners.len());
            self.owners.push(Owner::Ours(index));
        }
    }

    /// How many numbers are given.
    #[must_use]
    pub fn count(&self) -> usize {
        self.owners.len()
    }

    /// Whose variable has this number.
    #[must_use]
    pub fn owner(&self, number: usize) -> Option<Owner> {
        self.owners.get(number).copied()
    }

    /// The number of a variable.
    #[must_use]
    pub fn number_of(&self, owner: Owner) -> Option<usize> {
        match owner {
            Owner::Mpi(index) => self.mpi.get(index).copied(),
            Owner::Ours(index) => self.ours.get(index).copied(),
        }
    }
}

/// Variables that tools know by numbers, the MPI's and ours. All methods are thread-safe.
pub trait Numbered {
    /// Uses the numbers, with how many variables there are of ours.
    fn with_numbers<R>(&self, user: impl FnOnce(&mut Numbers, usize) -> R) -> R;

    /// Gives numbers to what has none yet, the MPI's first, of which there are now so many; the count of all.
    fn refresh(&self, of_mpi: usize) -> usize {
        self.with_numbers(|numbers, ours| {
            numbers.grow(of_mpi, ours);
            numbers.count()
        })
    }

    /// Whose variable has this number.
    ///
    /// # Errors
    /// [`Error::InvalidIndex`]
    fn owner(&self, number: c_int) -> Result<Owner, Error> {
        let number = usize::try_from(number).map_err(|_| Error::InvalidIndex)?;
        self.with_numbers(|numbers, _| numbers.owner(number)).ok_or(Error::InvalidIndex)
    }

    /// The number of a variable that has one.
    #[must_use]
    fn number_of(&self, owner: Owner) -> Option<c_int> {
        c_int::try_from(self.with_numbers(|numbers, _| numbers.number_of(owner))?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mpis_keep_their_numbers_and_later_ones_come_behind_ours() {
        let mut numbers = Numbers::default();
        numbers.grow(2, 1);
        numbers.grow(4, 2);
        let owners: Vec<Owner> = (0..numbers.count()).filter_map(|number| numbers.owner(number)).collect();
        use Owner::{Mpi, Ours};
        assert_eq!(owners, [Mpi(0), Mpi(1), Ours(0), Mpi(2), Mpi(3), Ours(1)]);
        assert_eq!(numbers.number_of(Mpi(3)), Some(4));
        assert_eq!((numbers.number_of(Ours(2)), numbers.owner(6)), (None, None));
    }

    #[test]
    fn fewer_than_before_change_nothing() {
        let mut numbers = Numbers::default();
        numbers.grow(2, 1);
        numbers.grow(0, 0);
        assert_eq!(numbers.count(), 3);
    }
}
