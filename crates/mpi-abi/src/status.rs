//! `MPI_Status`, read and written in the layout of the MPI of this process.

use std::ffi::{c_int, c_void};

use crate::{Abi, Family, questions};

/// Where the fields of a status lie. Offsets and size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusLayout {
    /// Size of one status in an array of statuses.
    pub size: usize,
    /// Offset of `MPI_SOURCE`.
    pub source: usize,
    /// Offset of `MPI_TAG`.
    pub tag: usize,
    /// Offset of `MPI_ERROR`.
    pub error: usize,
}

impl StatusLayout {
    pub(crate) const OPEN_MPI: Self = Self { size: 24, source: 0, tag: 4, error: 8 };
    pub(crate) const MPICH: Self = Self { size: 20, source: 8, tag: 12, error: 16 };
    pub(crate) const STANDARD: Self = Self { size: 32, source: 0, tag: 4, error: 8 };

    /// The largest status of any supported MPI, in bytes: storage of this size, aligned to 8, holds
    /// a status of whichever MPI runs.
    pub const MAX_SIZE: usize = 32;
}

/// Open MPI: a C `int` that is not 0 where the operation was cancelled, then the bytes received.
const OPEN_MPI_CANCELLED: usize = 12;
const OPEN_MPI_BYTES: usize = 16;

/// The address of one status, or of an array of them, of the application or of a hook.
///
/// The address may be null, or one of the sentinels `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`:
/// ask [`StatusPtr::is_ignore`] first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct StatusPtr(pub *mut c_void);

impl StatusPtr {
    /// Whether this is `MPI_STATUS_IGNORE`, `MPI_STATUSES_IGNORE` or null: no status behind it.
    #[inline]
    #[must_use]
    pub fn is_ignore(self, abi: &Abi) -> bool {
        self.0.is_null() || self == abi.constants.status_ignore || self == abi.constants.statuses_ignore
    }

    /// Element `index` of an array of statuses.
    ///
    /// # Safety
    /// The array has at least `index` elements in the layout of `abi`.
    #[inline]
    #[must_use]
    pub unsafe fn at(self, abi: &Abi, index: usize) -> Self {
        // SAFETY: within the array, or one past its end, as the caller promises.
        Self(unsafe { self.0.byte_add(index * abi.status.size) })
    }

    #[inline]
    unsafe fn int(self, offset: usize) -> c_int {
        // SAFETY: the callers pass offsets within the status that their own callers vouch for.
        unsafe { self.0.byte_add(offset).cast::<c_int>().read_unaligned() }
    }

    /// The rank that the message came from (`MPI_SOURCE`).
    ///
    /// # Safety
    /// A status in the layout of `abi` lies at the address. The same holds for all accessors below.
    #[inline]
    #[must_use]
    pub unsafe fn source(self, abi: &Abi) -> c_int {
        // SAFETY: a status of this layout is there, as the caller promises.
        unsafe { self.int(abi.status.source) }
    }

    /// The tag of the message (`MPI_TAG`).
    ///
    /// # Safety
    /// As for [`StatusPtr::source`].
    #[inline]
    #[must_use]
    pub unsafe fn tag(self, abi: &Abi) -> c_int {
        // SAFETY: a status of this layout is there, as the caller promises.
        unsafe { self.int(abi.status.tag) }
    }

    /// The error code of the operation (`MPI_ERROR`), defined only where MPI defines it.
    ///
    /// # Safety
    /// As for [`StatusPtr::source`].
    #[inline]
    #[must_use]
    pub unsafe fn error(self, abi: &Abi) -> c_int {
        // SAFETY: a status of this layout is there, as the caller promises.
        unsafe { self.int(abi.status.error) }
    }

    /// Whether the operation was cancelled.
    ///
    /// Read from the status where the layout is documented, else by asking MPI.
    ///
    /// # Safety
    /// As for [`StatusPtr::source`].
    #[inline]
    #[must_use]
    pub unsafe fn cancelled(self, abi: &Abi) -> bool {
        match abi.family {
            // SAFETY: the layout of these families has these fields within its size.
            Family::OpenMpi => unsafe { self.int(OPEN_MPI_CANCELLED) != 0 },
            // SAFETY: the layout of this family has this field within its size; its lowest bit is the mark.
            Family::Mpich => unsafe { self.int(4) & 1 != 0 },
            // SAFETY: the caller's promise is what MPI asks for.
            Family::Standard => unsafe { questions::test_cancelled(self) }.unwrap_or(false),
        }
    }

    /// Bytes received, or `None` where MPI does not say.
    ///
    /// # Safety
    /// As for [`StatusPtr::source`], and the status was filled by a completed receive or probe.
    #[inline]
    #[must_use]
    pub unsafe fn bytes(self, abi: &Abi) -> Option<u64> {
        match abi.family {
            Family::OpenMpi => {
                // SAFETY: this layout holds a `size_t` here, within its size.
                Some(unsafe { self.0.byte_add(OPEN_MPI_BYTES).cast::<u64>().read_unaligned() })
            }
            Family::Mpich => {
                // SAFETY: this layout begins with two `int`s: the low part of the count, and the
                // high part shifted by the bit of the mark of cancellation.
                let (low, high) = unsafe { (self.int(0) as u32, self.int(4) as u32) };
                Some(u64::from(high >> 1) << 32 | u64::from(low))
            }
            Family::Standard => {
                // SAFETY: the caller's promise is what MPI asks for.
                unsafe { questions::get_count(self, abi.constants.byte) }
                    .ok()
                    .and_then(|count| u64::try_from(count).ok())
            }
        }
    }
}
