//! The MPI subroutines of Fortran, for MPIs whose Fortran layer goes past the C symbols.
//!
//! | MPI | a call in `mpif.h`, `use mpi` | in `use mpi_f08` |
//! |---|---|---|
//! | Open MPI | `mpi_send_`, `mpi_wait_`: on to `PMPI_*`, past us | `mpi_send_f08_`, `mpi_wait_f08_`: the same |
//! | MPICH and its relatives | `mpi_send_`, `mpi_wait_`: on to `MPI_*`, our C wrappers | with a choice buffer `mpi_send_f08ts_`: on to `MPI_Send`; else `mpi_wait_f08_`: on to `PMPI_Wait`, past us |
//!
//! These names are those that MPI prescribes, spelled as Fortran compilers do (MPI-5.0 section
//! 19.1.5); who calls `PMPI_SEND` in Fortran is not seen, as in C. Each is a symbol here, which
//! exists only to be a place for hooks:
//!
//! - Without hooks, and where the layer calls `MPI_*` itself, it jumps to the next symbol of its name: one
//!   relaxed load, one predicted branch, one jump.
//! - With hooks, where the layer goes past the C wrappers, it makes of the arguments what the C function would have got
//!   ([`convert`]), calls the hooks, and between them the next symbol *with the arguments as they
//!   came*: MPI itself handles `MPI_BOTTOM`, `MPI_IN_PLACE`, choice buffers, strings and handles. The only
//!   arguments that hooks can change are statuses.
//!
//! The next symbol is resolved at the first call. For a program that calls no Fortran, no Fortran library is
//! loaded or searched for.
//!
//! What this module must not know: what a hook does. Integers are taken to have 4 bytes, the layout of
//! statuses to be that of C; where the first does not hold, Fortran is not seen ([`mpi::Mpi::fits`]).

mod convert;
mod mpi;
mod spellings;
mod wrapper;

#[allow(non_camel_case_types, non_snake_case, clippy::too_many_arguments)]
#[rustfmt::skip]
mod generated;

use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::{Abi, Family};

/// Wrappers of `mpif.h` and `use mpi` call hooks; otherwise they jump. One byte that assembly reads.
static F77: AtomicBool = AtomicBool::new(false);
/// The same for `use mpi_f08`.
static F08: AtomicBool = AtomicBool::new(false);

/// Hooks may run from now on: a layer of Fortran that goes past the C wrappers needs its own.
pub(crate) fn attend() {
    let Some(abi) = Abi::current() else { return };
    let (f77, f08) = match abi.family {
        Family::OpenMpi => (true, true),
        Family::Mpich => (false, true),
        // What its Fortran layers do is not known: hooks see what comes to the C wrappers.
        Family::Standard => (false, false),
    };
    if f77 || f08 {
        mpi::Mpi::find();
    }
    F77.store(f77, Ordering::SeqCst);
    F08.store(f08, Ordering::SeqCst);
}

/// No hook runs any more.
pub(crate) fn ignore() {
    F77.store(false, Ordering::SeqCst);
    F08.store(false, Ordering::SeqCst);
}
