//! What conversions ask of the MPI: its functions from Fortran handles to C handles, and the addresses
//! that stand for "nothing" in Fortran.

use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering},
    },
};

use mpi_abi::{
    Abi, Comm, Datatype, Errhandler, Family, File, Group, Info, Message, Op, Request, Session, StatusLayout,
    Win, next, pmpi, questions,
};

use crate::{depth::untracked, standard_error::say};

/// A function such as `MPI_Comm_f2c`: a handle is an integer in Fortran, a machine word in C.
type FromFortran = unsafe extern "C" fn(c_int) -> usize;

/// A kind of handle.
pub(super) trait Kind: mpi_abi::Handle {
    /// Its place among the functions of [`Mpi`].
    const PLACE: usize;
}

macro_rules! kinds {
    ($($handle:ident $name:literal),*) => {
        const NAMES: &[&CStr] = &[$($name),*];
        kinds!(@ 0usize; $($handle)*);
    };
    (@ $place:expr; $handle:ident $($rest:ident)*) => {
        impl Kind for $handle {
            const PLACE: usize = $place;
        }
        kinds!(@ $place + 1; $($rest)*);
    };
    (@ $place:expr;) => {
        const KINDS: usize = $place;
    };
}

kinds!(
    Comm c"MPI_Comm_f2c", Datatype c"MPI_Type_f2c", Errhandler c"MPI_Errhandler_f2c",
    File c"MPI_File_f2c", Group c"MPI_Group_f2c", Info c"MPI_Info_f2c", Message c"MPI_Message_f2c",
    Op c"MPI_Op_f2c", Request c"MPI_Request_f2c", Session c"MPI_Session_f2c", Win c"MPI_Win_f2c"
);

/// The MPI of this process, as its Fortran side sees it.
pub(super) struct Mpi {
    pub(super) abi: &'static Abi,
    from_fortran: [FromFortran; KINDS],
    /// Addresses that stand for something, null where the MPI has none.
    bottom: *mut c_void,
    in_place: *mut c_void,
    status_ignore: *mut c_void,
    statuses_ignore: *mut c_void,
    /// What is asked of MPI once it is initialised: one of the four below.
    verdict: AtomicU8,
}

/// Not asked yet.
const UNKNOWN: u8 = 0;
/// Integers have 4 bytes, and requests are counted from one.
const FROM_ONE: u8 = 1;
/// Integers have 4 bytes, and requests are counted from zero.
const FROM_ZERO: u8 = 2;
/// Integers have another size.
const FITS_NOT: u8 = 3;

// SAFETY: the addresses are compared, never followed.
unsafe impl Send for Mpi {}
// SAFETY: the addresses are compared, never followed; the verdict is atomic.
unsafe impl Sync for Mpi {}

static MPI: OnceLock<Option<Mpi>> = OnceLock::new();

impl Mpi {
    /// Finds all functions and addresses, once the MPI is known.
    pub(super) fn find() {
        MPI.get_or_init(search);
    }

    /// The result of [`find`](Mpi::find). Fit for hot paths.
    #[inline]
    pub(super) fn get() -> Option<&'static Self> {
        MPI.get()?.as_ref()
    }

    /// Whether handles of this kind are the same integers in both languages.
    #[inline(always)]
    pub(super) fn same_handles<H: Kind>() -> bool {
        H::width() == size_of::<c_int>()
    }

    /// The C handle behind a Fortran handle. An integer that is no handle becomes a word that is none either.
    #[inline]
    pub(super) fn handle<H: Kind>(&self, integer: c_int) -> H {
        if Self::same_handles::<H>() {
            return H::from_word(integer as u32 as usize);
        }
        // SAFETY: a conversion of MPI for this kind of handle, which takes any integer.
        H::from_word(unsafe { self.from_fortran[H::PLACE](integer) })
    }

    /// The index of a request in C, counted from zero, from the index that MPI returned to Fortran.
    #[inline]
    pub(super) fn index(&self, returned: c_int) -> c_int {
        let first = c_int::from(self.verdict.load(Ordering::Relaxed) != FROM_ZERO);
        if returned == self.abi.constants.undefined { returned } else { returned.wrapping_sub(first) }
    }

    /// What a C program would have passed for this choice buffer.
    #[inline]
    pub(super) fn buffer(&self, address: *mut c_void) -> *mut c_void {
        if address == self.in_place && !address.is_null() {
            self.abi.constants.in_place
        } else if address == self.bottom {
            self.abi.constants.bottom
        } else {
            address
        }
    }

    /// What a C program would have passed for these statuses.
    #[inline]
    pub(super) fn status(&self, address: *mut c_void) -> *mut c_void {
        if address == self.status_ignore {
            self.abi.constants.status_ignore.0
        } else if address == self.statuses_ignore {
            self.abi.constants.statuses_ignore.0
        } else {
            address
        }
    }

    /// Whether its default integers have 4 bytes. Asked of MPI once it is initialised; until then only
    /// functions without arrays are called. If not, one line says so.
    #[inline]
    pub(super) fn fits(&self) -> bool {
        match self.verdict.load(Ordering::Relaxed) {
            FROM_ONE | FROM_ZERO => true,
            FITS_NOT => false,
            _ => self.ask(),
        }
    }

    #[cold]
    fn ask(&self) -> bool {
        if !questions::world_is_there() {
            return true;
        }
        let verdict = if !has_small_integers() {
            FITS_NOT
        } else if untracked(|| counts_from_zero(self.abi)) {
            FROM_ZERO
        } else {
            FROM_ONE
        };
        if self.verdict.swap(verdict, Ordering::Relaxed) != verdict && verdict == FITS_NOT {
            say("the default integers of this MPI's Fortran have not 4 bytes: what Fortran calls is not \
                 measured; use an MPI built without -i8 or -fdefault-integer-8");
        }
        verdict != FITS_NOT
    }
}

/// Whether default integers have 4 bytes.
fn has_small_integers() -> bool {
    // Open MPI; MPICH gives Fortran the integers of C.
    let integer = next::symbol(c"ompi_mpi_integer") as usize;
    integer == 0 || questions::type_size(Datatype(integer)).is_ok_and(|bytes| bytes == 4)
}

/// Whether completion calls in `mpi_f08` count requests from zero, as those of MPICH 4.0 do, against
/// the standard. Found by the index that `MPI_Waitany` returns when the second of two requests is complete.
fn counts_from_zero(abi: &Abi) -> bool {
    type Waitany = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_void, *mut c_int);
    let waitany = next::next_fortran(c"mpi_waitany_f08_");
    if abi.family != Family::Mpich || waitany.is_null() {
        return false;
    }
    let constants = &abi.constants;
    // SAFETY: a message of 0 bytes to no process: the buffer is never read.
    let request = unsafe { pmpi::isend(ptr::null(), 0, constants.proc_null, 0, constants.comm_self) };
    let Ok(request) = request else { return false };
    let mut requests = [constants.request_null, request].map(|request| request.0 as c_int);
    let (mut count, mut index, mut code) = (2, constants.undefined, 0);
    let mut status = [0u64; StatusLayout::MAX_SIZE / 8];
    // SAFETY: this subroutine has these arguments; handles are integers in this family, and `status` is as
    // large as the largest status.
    unsafe {
        let waitany = std::mem::transmute::<*mut c_void, Waitany>(waitany);
        waitany(&mut count, requests.as_mut_ptr(), &mut index, status.as_mut_ptr().cast(), &mut code);
    }
    index == 1
}

fn search() -> Option<Mpi> {
    let abi = Abi::current()?;
    let from_fortran = std::array::from_fn(|place| {
        let found = next::unseen(NAMES[place]);
        if found.is_null() {
            nothing as FromFortran
        } else {
            // SAFETY: the functions of these names take a `MPI_Fint` and return a handle, which is a
            // machine word in the families that come here.
            unsafe { std::mem::transmute::<*mut c_void, FromFortran>(found) }
        }
    });
    Some(Mpi {
        abi,
        from_fortran,
        bottom: spelled("mpi_fortran_bottom"),
        in_place: spelled("mpi_fortran_in_place"),
        status_ignore: named(c"MPI_F08_STATUS_IGNORE")
            .or_else(|| named(c"MPI_F_STATUS_IGNORE"))
            .unwrap_or_else(|| spelled("mpi_fortran_status_ignore")),
        statuses_ignore: named(c"MPI_F08_STATUSES_IGNORE")
            .or_else(|| named(c"MPI_F_STATUSES_IGNORE"))
            .unwrap_or_else(|| spelled("mpi_fortran_statuses_ignore")),
        verdict: AtomicU8::new(UNKNOWN),
    })
}

/// For kinds of handle that the MPI does not have.
extern "C" fn nothing(_: c_int) -> usize {
    0
}

/// The value of one of the pointers that MPI has in C for Fortran's sentinels (MPI-5.0 section
/// 19.3.5).
fn named(name: &CStr) -> Option<*mut c_void> {
    let pointer = next::symbol(name).cast::<*mut c_void>();
    // SAFETY: MPI defines a pointer by this name, set before the program begins.
    let value = (!pointer.is_null()).then(|| unsafe { pointer.read() })?;
    (!value.is_null()).then_some(value)
}

/// The common block of this name, as whichever compiler spells it.
fn spelled(name: &str) -> *mut c_void {
    let spellings = [format!("{name}_"), format!("{name}__"), name.to_owned(), name.to_uppercase()];
    spellings
        .into_iter()
        .filter_map(|spelling| std::ffi::CString::new(spelling).ok())
        .map(|spelling| next::symbol(&spelling))
        .find(|address| !address.is_null())
        .unwrap_or(ptr::null_mut())
}
