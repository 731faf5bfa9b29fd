//! One typed function of MPI, found at its first use, and what can go wrong when the tool itself calls it.

use std::{
    ffi::{CStr, c_int, c_void},
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::{Abi, next};

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
    /// A variable has another number of elements.
    #[error("it has {has} elements, and {got} are given: give all of them, with commas between them")]
    Elements {
        /// How many it has.
        has: usize,
        /// How many were given.
        got: usize,
    },
    /// No MPI has been found in this process yet.
    #[error("the MPI of this process is not known")]
    NoMpi,
}

/// The result of a call that the tool made itself.
pub type Result<T> = std::result::Result<T, Error>;
