//! Datatypes, and what a status holds of them.

use std::ffi::{c_char, c_int, c_void};

use super::kinds::{checked, world_is_there};
use crate::pmpi::call::{abi, mpi};
use crate::pmpi::text;
use crate::{Datatype, Error, Handle, Result, StatusPtr};

/// Asks about an extent: how long it is in bytes, and where it begins.
macro_rules! extent {
    ($function:ident($datatype:expr)) => {{
        checked(stringify!($function), $datatype)?;
        let (mut lower, mut extent) = (0isize, 0isize);
        // SAFETY: the outputs are writable, and have the size of an address, as MPI_Aint has; MPI checks the handle.
        unsafe {
            mpi!($function($datatype.word() => usize, &mut lower => *mut isize, &mut extent => *mut isize))
        }?;
        Ok((extent, lower))
    }};
}

/// How far the elements of a datatype are apart in memory, in bytes, and where the first byte of one is: its extent, and its lower
/// bound.
///
/// # Errors
/// [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`] or [`Error::Code`].
pub fn type_extent(datatype: Datatype) -> Result<(isize, isize)> {
    extent!(MPI_Type_get_extent(datatype))
}

/// From the first byte of data in an element of a datatype to behind the last one, in bytes, and where the first is: its true extent,
/// and its true lower bound.
///
/// # Errors
/// [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`] or [`Error::Code`].
pub fn type_true_extent(datatype: Datatype) -> Result<(isize, isize)> {
    extent!(MPI_Type_get_true_extent(datatype))
}

/// The bytes of data in one element of a datatype.
///
/// # Errors
/// [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`] or [`Error::Code`].
pub fn type_size(datatype: Datatype) -> Result<i64> {
    checked("MPI_Type_size", datatype)?;
    let mut large = 0i64;
    // SAFETY: the output is writable; MPI checks the handle.
    let result = unsafe { mpi!(MPI_Type_size_x(datatype.word() => usize, &mut large => *mut i64)) };
    match result {
        Ok(()) => return Ok(large),
        // Deprecated: a library may leave it out one day.
        Err(Error::Missing(_)) => {}
        Err(error) => return Err(error),
    }
    let mut size = 0;
    // SAFETY: the output is writable; MPI checks the handle.
    unsafe { mpi!(MPI_Type_size(datatype.word() => usize, &mut size => *mut c_int)) }?;
    Ok(size.into())
}

/// The bytes of data in one element of a datatype; 0 where MPI does not say.
#[cold]
#[must_use]
pub fn bytes_of(datatype: Datatype) -> u64 {
    type_size(datatype).ok().and_then(|size| u64::try_from(size).ok()).unwrap_or(0)
}

/// The bytes of an element and the name of a predefined datatype that variables and elements of events have; `None` of another one.
fn of_variables(datatype: Datatype) -> Option<(usize, &'static str)> {
    let constants = &abi().ok()?.constants;
    let all = [
        (constants.byte, 1, "MPI_BYTE"),
        (constants.char, 1, "MPI_CHAR"),
        (constants.int, 4, "MPI_INT"),
        (constants.unsigned, 4, "MPI_UNSIGNED"),
        (constants.unsigned_long, 8, "MPI_UNSIGNED_LONG"),
        (constants.unsigned_long_long, 8, "MPI_UNSIGNED_LONG_LONG"),
        (constants.count, 8, "MPI_COUNT"),
        (constants.double, 8, "MPI_DOUBLE"),
        (constants.int32, 4, "MPI_INT32_T"),
        (constants.uint32, 4, "MPI_UINT32_T"),
        (constants.int64, 8, "MPI_INT64_T"),
        (constants.uint64, 8, "MPI_UINT64_T"),
    ];
    all.iter().find(|(known, ..)| *known == datatype).map(|&(_, size, name)| (size, name))
}

/// The bytes of an element of a datatype, also before MPI is initialised, where it is predefined and variables or elements of events have
/// it; `None` where only a running MPI knows it. Allowed at any time.
#[must_use]
pub fn type_size_at_any_time(datatype: Datatype) -> Option<usize> {
    let known = of_variables(datatype).map(|(size, _)| size);
    // MPI answers between its initialisation and its end only.
    known.or_else(|| world_is_there().then(|| bytes_of(datatype) as usize))
}

/// The name of a datatype, as [`type_size_at_any_time`] has its size.
#[must_use]
pub fn type_name_at_any_time(datatype: Datatype) -> Option<String> {
    let known = of_variables(datatype).map(|(_, name)| name.to_owned());
    known.or_else(|| if world_is_there() { type_name(datatype).ok() } else { None })
}

/// The name of a datatype, empty where it has none.
///
/// # Errors
/// [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`] or [`Error::Code`].
pub fn type_name(datatype: Datatype) -> Result<String> {
    checked("MPI_Type_get_name", datatype)?;
    // More than the longest name of any supported MPI.
    let mut name = [0u8; 512];
    let mut length = 0;
    // SAFETY: the buffer is longer than MPI_MAX_OBJECT_NAME of every family; MPI checks the handle.
    unsafe {
        mpi!(MPI_Type_get_name(
            datatype.word() => usize, name.as_mut_ptr().cast() => *mut c_char,
            &mut length => *mut c_int
        ))
    }?;
    Ok(text(&name, length))
}

/// Slots: a power of two.
const SLOTS: usize = 64;

/// A direct-mapped cache of the sizes of datatypes. Not to be shared by threads.
#[derive(Debug)]
pub struct TypeSizes([(usize, u64); SLOTS]);

impl Default for TypeSizes {
    fn default() -> Self {
        TypeSizes([(usize::MAX, 0); SLOTS])
    }
}

impl TypeSizes {
    /// The bytes of so many elements of a datatype, which MPI is asked about where it is not known, and there are elements; 0 where it
    /// does not say.
    #[inline(always)]
    pub fn of(&mut self, count: i64, datatype: Datatype) -> u64 {
        self.of_asked(count, datatype, bytes_of)
    }

    #[inline(always)]
    fn of_asked(&mut self, count: i64, datatype: Datatype, ask: impl FnOnce(Datatype) -> u64) -> u64 {
        let word = datatype.word();
        let slot = &mut self.0[hash(word)];
        if slot.0 != word {
            if count <= 0 {
                // It may be anything.
                return 0;
            }
            *slot = (word, ask(datatype));
        }
        u64::try_from(count).unwrap_or(0).saturating_mul(slot.1)
    }

    /// The datatype is freed: its handle may come back as another.
    pub fn forget(&mut self, datatype: Datatype) {
        self.0[hash(datatype.word())] = (usize::MAX, 0);
    }
}

#[inline]
fn hash(datatype: usize) -> usize {
    // Handles are addresses (aligned) or small numbers in the low bits.
    (datatype ^ (datatype >> 6) ^ (datatype >> 12)) & (SLOTS - 1)
}

/// How many elements of `datatype` a received message held; the constant `undefined` when the
/// bytes do not make whole elements.
///
/// # Safety
/// A status in the layout of this MPI lies at `status`.
///
/// # Errors
/// [`Error::NotAsked`], [`Error::NoMpi`], [`Error::Missing`] or [`Error::Code`].
pub unsafe fn get_count(status: StatusPtr, datatype: Datatype) -> Result<i64> {
    checked("MPI_Get_count", datatype)?;
    let mut large = 0i64;
    // SAFETY: the caller vouches for the status; the output is writable.
    let result = unsafe {
        mpi!(MPI_Get_count_c(
            status.0 => *const c_void, datatype.word() => usize, &mut large => *mut i64
        ))
    };
    match result {
        Ok(()) => return Ok(large),
        // An MPI before version 4.
        Err(Error::Missing(_)) => {}
        Err(error) => return Err(error),
    }
    let mut count = 0;
    // SAFETY: the caller vouches for the status; the output is writable.
    unsafe {
        mpi!(MPI_Get_count(
            status.0 => *const c_void, datatype.word() => usize, &mut count => *mut c_int
        ))
    }?;
    Ok(count.into())
}

/// Whether the operation of a status was cancelled.
///
/// # Safety
/// A status in the layout of this MPI lies at `status`.
///
/// # Errors
/// [`Error::Missing`] or [`Error::Code`].
pub unsafe fn test_cancelled(status: StatusPtr) -> Result<bool> {
    let mut flag = 0;
    // SAFETY: the caller vouches for the status; the output is writable.
    unsafe { mpi!(MPI_Test_cancelled(status.0 => *const c_void, &mut flag => *mut c_int)) }?;
    Ok(flag != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_asked_for_once_until_it_is_forgotten() {
        let (mut sizes, datatype) = (TypeSizes::default(), Datatype(7));
        assert_eq!(sizes.of_asked(3, datatype, |_| 4), 12);
        assert_eq!(sizes.of_asked(2, datatype, |_| unreachable!("it is known")), 8);
        sizes.forget(datatype);
        assert_eq!(sizes.of_asked(1, datatype, |_| 8), 8);
    }

    #[test]
    fn a_datatype_of_which_there_are_no_elements_is_not_asked_about() {
        let (mut sizes, datatype) = (TypeSizes::default(), Datatype(7));
        for count in [0, -1] {
            assert_eq!(sizes.of_asked(count, datatype, |_| unreachable!("it may be anything")), 0);
        }
        assert_eq!(sizes.of_asked(1, datatype, |_| 8), 8);
        assert_eq!(sizes.of_asked(-1, datatype, |_| unreachable!("it is known")), 0);
    }
}
