//! MPI handles as machine words, and arrays of them as the application lays them out.
//!
//! A handle is a pointer in two families and a 32-bit integer in the third. In registers both are
//! one machine word; the upper half of an MPICH handle is undefined there and cleared on entry
//! ([`Handle::from_word`]). In memory they differ in width, so arrays and output parameters are
//! read and written through [`HandlePtr`], which asks the ABI. One type is a pointer in all
//! families: [`File`], because MPICH took its file operations from elsewhere.

use std::{
    ffi::c_void,
    fmt,
    marker::PhantomData,
    sync::atomic::{AtomicU8, AtomicUsize, Ordering},
};

/// Bytes of a handle (but of a file's) in memory: 8, or 4 in the MPICH family. Set once, when the ABI is known.
static WIDTH: AtomicU8 = AtomicU8::new(8);
/// The part of a machine word that a handle fills, as wide as [`WIDTH`] says: every call reads it, for each handle.
static FILLED: AtomicUsize = AtomicUsize::new(usize::MAX);

pub(crate) fn set_width(bytes: u8) {
    WIDTH.store(bytes, Ordering::Relaxed);
    FILLED.store(if bytes == 4 { 0xffff_ffff } else { usize::MAX }, Ordering::Relaxed);
}

/// A value of one of MPI's opaque handle types.
///
/// Equality is equality of the handle, not of the object behind it.
pub trait Handle: Copy + Eq + fmt::Debug {
    /// The handle from a machine word as it came in a register: for the MPICH family the
    /// undefined upper half is cleared.
    fn from_word(word: usize) -> Self;

    /// The machine word to pass to MPI.
    fn word(self) -> usize;

    /// Bytes of one handle in memory: 4 or 8.
    #[inline]
    #[must_use]
    fn width() -> usize {
        usize::from(WIDTH.load(Ordering::Relaxed))
    }

    /// The bits of a machine word that belong to the handle.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    fn filled() -> usize {
        FILLED.load(Ordering::Relaxed)
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident $($width:literal)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub usize);

        impl Handle for $name {
            #[inline]
            fn from_word(word: usize) -> Self {
                Self(word & Self::filled())
            }

            #[inline]
            fn word(self) -> usize {
                self.0
            }

            $(
                #[inline]
                fn width() -> usize {
                    $width
                }

                #[inline]
                fn filled() -> usize {
                    usize::MAX
                }
            )?
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    )*};
}

handles! {
    /// A communicator (`MPI_Comm`).
    Comm;
    /// A group of processes (`MPI_Group`).
    Group;
    /// A datatype (`MPI_Datatype`).
    Datatype;
    /// A request (`MPI_Request`).
    Request;
    /// A reduction operation (`MPI_Op`).
    Op;
    /// An info object (`MPI_Info`).
    Info;
    /// A window (`MPI_Win`).
    Win;
    /// A file (`MPI_File`).
    File 8;
    /// An error handler (`MPI_Errhandler`).
    Errhandler;
    /// A matched message (`MPI_Message`).
    Message;
    /// A session (`MPI_Session`).
    Session;
}

/// The address of one handle of the application, or of an array of them.
///
/// The address may be null, or a sentinel of MPI: check before use.
#[repr(transparent)]
pub struct HandlePtr<H> {
    address: *mut c_void,
    kind: PhantomData<fn() -> H>,
}

impl<H> Clone for HandlePtr<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for HandlePtr<H> {}

impl<H> PartialEq for HandlePtr<H> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<H> Eq for HandlePtr<H> {}

impl<H> fmt::Debug for HandlePtr<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandlePtr({:p})", self.address)
    }
}

impl<H: Handle> HandlePtr<H> {
    /// The handles at `address`.
    #[inline]
    #[must_use]
    pub const fn new(address: *mut c_void) -> Self {
        Self { address, kind: PhantomData }
    }

    /// The address, to pass on to MPI.
    #[inline]
    #[must_use]
    pub const fn as_ptr(self) -> *mut c_void {
        self.address
    }

    /// Whether there is no storage behind it.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self.address.is_null()
    }

    /// Reads the single handle of an output or in-out parameter.
    ///
    /// # Safety
    /// As for [`HandlePtr::get`] with `index` 0.
    #[inline]
    #[must_use]
    pub unsafe fn read(self) -> H {
        // SAFETY: the caller's promise is that of `get(0)`.
        unsafe { self.get(0) }
    }

    /// Reads element `index`; zero, which is no handle, where there is no storage: some MPIs return an error to a program that
    /// gives them none.
    ///
    /// # Safety
    /// The address is null, or that of at least `index + 1` initialised handles in the layout of the MPI of
    /// this process, which nobody writes meanwhile.
    #[inline]
    #[must_use]
    pub unsafe fn get(self, index: usize) -> H {
        if self.address.is_null() {
            return H::from_word(0);
        }
        if H::width() == 4 {
            // SAFETY: handles are 4 bytes wide here, and the caller promises `index + 1` of them.
            H::from_word(unsafe { self.address.cast::<u32>().add(index).read_unaligned() } as usize)
        } else {
            // SAFETY: handles are 8 bytes wide here, and the caller promises `index + 1` of them.
            H::from_word(unsafe { self.address.cast::<usize>().add(index).read_unaligned() })
        }
    }

    /// Writes element `index`.
    ///
    /// # Safety
    /// The address is that of at least `index + 1` writable handles in the layout of the MPI of
    /// this process, which nobody else uses meanwhile.
    #[inline]
    pub unsafe fn set(self, index: usize, handle: H) {
        if H::width() == 4 {
            // The cut is meant: in this family a handle has 32 bits.
            let word = handle.word() as u32;
            // SAFETY: handles are 4 bytes wide here, and the caller promises `index + 1` of them.
            unsafe { self.address.cast::<u32>().add(index).write_unaligned(word) };
        } else {
            // SAFETY: handles are 8 bytes wide here, and the caller promises `index + 1` of them.
            unsafe { self.address.cast::<usize>().add(index).write_unaligned(handle.word()) };
        }
    }

    /// The address of element `index`, as another pointer to handles.
    ///
    /// # Safety
    /// The array has at least `index` elements.
    #[inline]
    #[must_use]
    pub unsafe fn at(self, index: usize) -> Self {
        // SAFETY: within the array, or one past its end, as the caller promises.
        Self::new(unsafe { self.address.byte_add(index * H::width()) })
    }
}
