//! Our performance variables, and what they are read from.
//!
//! Nothing is counted, and no hook is there, before a tool allocates a handle of one.
//!
//! | file | what lives there |
//! |---|---|
//! | `counts` | rows of what was sent, and what variables read from them |
//! | `operations` | what a collective operation looks like |
//! | `known` | the communicators that rows and handles are for |
//! | `counting` | the store of the variables: it follows the program's calls |
//!
//! It must not know who reads the variables.

mod counting;
mod counts;
mod known;
mod operations;

use std::sync::Arc;

use mpi_abi::Abi;

/// Adds the variables to those of this process. Called when MPI, or its tool information interface, is first initialised.
///
/// # Errors
/// [`mpit_vars::Error::InvalidName`] where they are there already.
pub fn add(abi: &'static Abi) -> Result<(), mpit_vars::Error> {
    mpit_vars::monitoring::add(mpit_vars::variables(), Arc::new(counting::Counting::new(abi)))
}
