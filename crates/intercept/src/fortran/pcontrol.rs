//! The subroutine `MPI_PCONTROL(LEVEL)`: the only one without an error code, so that it does not fit the others' wrapper.

use std::{ffi::c_int, ffi::c_void};

use super::wrapper::{Symbol, seen, wanted};
use crate::{FunctionId, pcontrol};

/// The path of a call that does more than jump, for all names.
unsafe extern "C-unwind" fn call(symbol: &Symbol, level: *mut c_int) {
    type Signature = unsafe extern "C-unwind" fn(*mut c_int);
    if let Some((_, depth)) = seen(symbol, FunctionId::Pcontrol, crate::depth::stack())
        && wanted(FunctionId::Pcontrol)
        && !level.is_null()
    {
        // SAFETY: the program's integer.
        pcontrol::show(&depth, unsafe { level.read_unaligned() });
    }
    // SAFETY: the next symbol of this name, which has this signature, with the argument of our caller.
    unsafe { std::mem::transmute::<*mut c_void, Signature>(symbol.next())(level) }
}

super::wrapper::names!(
    plain Pcontrol [mpi_pcontrol__ mpi_pcontrol MPI_PCONTROL] [F77 mpi_pcontrol_ F08 mpi_pcontrol_f08_] () []
);
