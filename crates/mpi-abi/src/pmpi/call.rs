//! One typed function of MPI, found at its first use.

use std::{
    ffi::{CStr, c_int, c_void},
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::{Abi, Error, Result, next};

/// A function of MPI with the C signature `F`, found at its first use.
pub(crate) struct Function<F> {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    signature: PhantomData<F>,
}

// SAFETY: the only state is an atomic address; `F` is a function pointer type and never stored.
unsafe impl<F> Sync for Function<F> {}

impl<F: Copy> Function<F> {
    /// # Safety
    /// `F` is the type of a C function pointer that matches the MPI function called `name`.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function pointer type") };
        Self { name, address: AtomicPtr::new(ptr::null_mut()), signature: PhantomData }
    }

    /// The name without the need to convert it again.
    pub(crate) fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or("MPI")
    }

    /// The function, or [`Error::Missing`].
    #[inline]
    pub(crate) fn get(&self) -> Result<F> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = self.look_up();
            if address.is_null() {
                return Err(Error::Missing(self.name()));
            }
        }
        // SAFETY: the address is that of the function of this name, whose type is `F` by the
        // promise made to `new`; both are one pointer wide.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let address = next::unseen(self.name);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Turns the return value of an MPI function into a result.
#[inline]
pub(crate) fn check(function: &'static str, code: c_int) -> Result<()> {
    // MPI_SUCCESS is zero in every MPI.
    if code == 0 { Ok(()) } else { Err(Error::Code { function, code }) }
}

/// The ABI, which every caller of MPI needs first.
#[inline]
pub(crate) fn abi() -> Result<&'static Abi> {
    Abi::current().ok_or(Error::NoMpi)
}

/// Declares `static NAME: Function<...>` for MPI functions that return an error code, and calls it.
///
/// `mpi!(MPI_Comm_rank(comm: usize => comm.word(), rank: *mut c_int => &mut rank))` yields
/// `Result<()>`; it is an `unsafe` call, to be argued for at the place of use.
macro_rules! mpi {
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {{
        type Signature = unsafe extern "C-unwind" fn($($type),*) -> std::ffi::c_int;
        // A C string literal cannot be made from an identifier: the NUL is added here.
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without NUL"),
            };
        static FUNCTION: $crate::pmpi::call::Function<Signature> = {
            // SAFETY: the signature is that of the MPI function of this name, with handles as
            // machine words (which is how they travel in registers) and output handles as addresses.
            unsafe { $crate::pmpi::call::Function::new(NAME) }
        };
        FUNCTION.get().and_then(|function| {
            $crate::pmpi::call::check(stringify!($name), function($($value),*))
        })
    }};
}
pub(crate) use mpi;
