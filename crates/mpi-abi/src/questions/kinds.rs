//! Which handles MPI may be asked about, as far as their values say it.

use std::ops::RangeInclusive;

use crate::pmpi::{self, call::abi};
use crate::{Abi, Comm, Constants, Datatype, Error, Family, Group, Handle, Info, Result, Win};

/// A kind of handle that there are questions about.
pub(super) trait Asked: Handle {
    /// What MPICH has for this kind in its handles, in the four bits below the upper two.
    const OF_MPICH: usize;
    /// The values that the standard ABI has for predefined handles of this kind (MPI-5.0, section 20.3.4).
    const OF_STANDARD: RangeInclusive<usize>;

    /// The handle of no object.
    fn null(constants: &Constants) -> Self;
}

macro_rules! asked {
    ($($kind:ident: $mpich:literal, $standard:expr, $null:ident;)*) => {$(
        impl Asked for $kind {
            const OF_MPICH: usize = $mpich;
            const OF_STANDARD: RangeInclusive<usize> = $standard;

            fn null(constants: &Constants) -> Self {
                constants.$null
            }
        }
    )*};
}

asked! {
    Comm: 1, 0x100..=0x107, comm_null;
    Group: 2, 0x108..=0x10f, group_null;
    Datatype: 3, 0x200..=0x2ff, datatype_null;
    Info: 7, 0x130..=0x137, info_null;
    Win: 8, 0x110..=0x117, win_null;
}

/// The last value of a predefined handle in the standard ABI.
const LAST_OF_STANDARD: usize = 0x3ff;

/// The ABI, where MPI may be asked about this handle with this function.
///
/// # Errors
/// [`Error::NoMpi`], or [`Error::NotAsked`].
#[inline]
pub(super) fn checked<H: Asked>(function: &'static str, handle: H) -> Result<&'static Abi> {
    let abi = abi()?;
    if may_be(abi, handle) { Ok(abi) } else { Err(Error::NotAsked { function }) }
}

/// Whether the value is that of a handle of this kind, and not null.
pub(super) fn may_be<H: Asked>(abi: &Abi, handle: H) -> bool {
    let word = handle.word();
    if word == 0 || handle == H::null(&abi.constants) {
        return false;
    }
    match abi.family {
        // Addresses of objects.
        Family::OpenMpi => true,
        Family::Mpich => word >> 32 == 0 && is_of_mpich::<H>(word),
        Family::Standard if word <= LAST_OF_STANDARD => H::OF_STANDARD.contains(&word),
        // MPICH's own handles, as integers with a sign; some builds have addresses of objects.
        Family::Standard if abi.is_mpich() && i32::try_from(word as isize).is_ok() => {
            is_of_mpich::<H>(word & 0xffff_ffff)
        }
        Family::Standard => true,
    }
}

/// Two bits say that it is a handle of an object, the four after them of what kind.
fn is_of_mpich<H: Asked>(word: usize) -> bool {
    word >> 30 != 0 && (word >> 26) & 0xf == H::OF_MPICH
}

/// Whether there are `MPI_COMM_WORLD` and `MPI_COMM_SELF`: between `MPI_Init` and `MPI_Finalize`, and not in a program of sessions
/// alone. Allowed at any time.
#[must_use]
pub fn world_is_there() -> bool {
    pmpi::initialized() == Ok(true) && pmpi::finalized() == Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants;

    #[test]
    fn of_mpichs_handles_those_of_objects_of_the_kind_are_asked_about() {
        let constants = &constants::MPICH;
        for (word, is_type) in [
            (constants.int.word(), true),
            (0xcc00_0003, true),
            (0x8c00_0001, true),
            (constants.datatype_null.word(), false),
            (constants.comm_world.word(), false),
            (0, false),
            (0x0c00_0007, false),
        ] {
            assert_eq!(is_of_mpich::<Datatype>(word), is_type, "{word:#x}");
        }
        assert!(is_of_mpich::<Comm>(constants.comm_self.word()));
        assert!(is_of_mpich::<Group>(constants.group_empty.word()));
        assert!(is_of_mpich::<Win>(0xa000_0000));
        assert!(!is_of_mpich::<Win>(constants.win_null.word()));
    }

    #[test]
    fn of_the_standard_abi_predefined_handles_have_their_kind() {
        let constants = &constants::STANDARD;
        assert!(Comm::OF_STANDARD.contains(&constants.comm_self.word()));
        assert!(Group::OF_STANDARD.contains(&constants.group_empty.word()));
        assert!(Datatype::OF_STANDARD.contains(&constants.uint64.word()));
        assert!(Win::OF_STANDARD.contains(&constants.win_null.word()));
        assert!(!Datatype::OF_STANDARD.contains(&constants.comm_world.word()));
    }
}
