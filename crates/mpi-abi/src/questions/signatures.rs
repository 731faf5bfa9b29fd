//! What the elements of a datatype are.

use std::ffi::c_int;

use mpi_functions::signature::{Basic, Signature, repeated};

use super::kinds::checked;
use super::types::{bytes_of, type_name};
use crate::pmpi::call::mpi;
use crate::{Abi, Datatype, Error, Handle, HandlePtr, Result};

/// The most elements of a structure that are looked at.
const MOST: usize = 4096;
/// How deep types of types are looked into.
const DEEPEST: u32 = 16;
/// The most types that are looked at for one.
const MOST_TYPES: u32 = 4096;

/// How a datatype was made (MPI-5.0, section 5.1.13): how many integers, addresses and datatypes went into it, and by which constructor.
#[derive(Clone, Copy, Debug, Default)]
struct Envelope {
    integers: usize,
    addresses: usize,
    types: usize,
    combiner: c_int,
    /// Made with large counts, which only functions of MPI 4 give back.
    large: bool,
}

fn envelope(datatype: Datatype) -> Result<Envelope> {
    checked("MPI_Type_get_envelope", datatype)?;
    let [mut integers, mut addresses, mut large, mut types] = [0i64; 4];
    let mut combiner = 0;
    // SAFETY: the outputs are writable; MPI checks the handle.
    let result = unsafe {
        mpi!(MPI_Type_get_envelope_c(
            datatype.word() => usize, &mut integers => *mut i64, &mut addresses => *mut i64,
            &mut large => *mut i64, &mut types => *mut i64, &mut combiner => *mut c_int,
        ))
    };
    let count = |count| usize::try_from(count).unwrap_or(0);
    match result {
        Ok(()) => {}
        Err(Error::Missing(_)) => {
            let mut counts = [0; 3];
            let [integers, addresses, types] = &mut counts;
            // SAFETY: as above.
            unsafe {
                mpi!(MPI_Type_get_envelope(
                    datatype.word() => usize, integers => *mut c_int, addresses => *mut c_int,
                    types => *mut c_int, &mut combiner => *mut c_int,
                ))
            }?;
            let [integers, addresses, types] = counts.map(|one| count(i64::from(one)));
            return Ok(Envelope { integers, addresses, types, combiner, large: false });
        }
        Err(error) => return Err(error),
    }
    let (integers, addresses, types) = (count(integers), count(addresses), count(types));
    Ok(Envelope { integers, addresses, types, combiner, large: large > 0 })
}

/// The integers and the datatypes that a datatype was made of.
fn contents(datatype: Datatype, of: Envelope) -> Result<(Vec<c_int>, Vec<Datatype>)> {
    let mut integers = vec![0 as c_int; of.integers];
    let mut addresses = vec![0isize; of.addresses];
    let mut types = vec![0u64; of.types];
    let most = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: the arrays have as many elements as MPI has said that there are, a handle 8 bytes at most.
    unsafe {
        mpi!(MPI_Type_get_contents(
            datatype.word() => usize, most(of.integers) => c_int, most(of.addresses) => c_int, most(of.types) => c_int,
            integers.as_mut_ptr() => *mut c_int, addresses.as_mut_ptr() => *mut isize,
            types.as_mut_ptr().cast() => *mut std::ffi::c_void,
        ))
    }?;
    let array = HandlePtr::<Datatype>::new(types.as_mut_ptr().cast());
    // SAFETY: MPI has filled the array, which has as many elements.
    let types = (0..of.types).map(|place| unsafe { array.get(place) }).collect();
    Ok((integers, types))
}

/// The elements that a datatype repeats; `None` where they are not known, or match any.
fn elements(datatype: Datatype, depth: u32, left: &mut u32) -> Option<Vec<Basic>> {
    *left = left.checked_sub(1)?;
    let of = envelope(datatype).ok().filter(|of| depth < DEEPEST && !of.large)?;
    if of.types == 0 {
        // A predefined one. Those that Fortran asks for by their precision have integers, and no name of their own.
        let name = if of.integers == 0 { type_name(datatype).ok()? } else { return None };
        let (first, second) = Basic::named(&name, bytes_of(datatype))?;
        return Some([Some(first), second].into_iter().flatten().collect());
    }
    let is_struct =
        |of: Envelope| Abi::current().is_some_and(|abi| of.combiner == abi.constants.combiner_struct);
    let is_structure = is_struct(of);
    if !is_structure && of.types > 1 || of.types > MOST {
        return None;
    }
    let (integers, types) = contents(datatype, of).ok()?;
    let mut all = Vec::new();
    let known = types.iter().enumerate().all(|(place, part)| {
        let count = match integers.get(place + 1) {
            Some(count) if is_structure => usize::try_from(*count).unwrap_or(0),
            _ => 1,
        };
        // Of what there is nothing of, nothing need be known.
        if count == 0 {
            return true;
        }
        let Some(found) = elements(*part, depth + 1, left) else { return false };
        // In a structure it matters how often a part repeats its elements.
        let repeats = if is_structure { repetitions(*part, &found) } else { Some(1) };
        let times = repeats.and_then(|repeats| count.checked_mul(repeats));
        let fits = |times: &usize| all.len().saturating_add(found.len().saturating_mul(*times)) <= MOST;
        let Some(times) = times.filter(fits) else { return false };
        (0..times).for_each(|_| all.extend_from_slice(&found));
        true
    });
    // Those that are not predefined are given back as copies. Predefined ones of two types (MPI_Type_get_value_index) are not.
    for part in &types {
        if envelope(*part).is_ok_and(|of| of.types == 1 || of.types > 0 && is_struct(of)) {
            // SAFETY: a copy that MPI has made for us.
            let _ = unsafe { mpi!(MPI_Type_free(&mut part.word() => *mut usize)) };
        }
    }
    (known && !all.is_empty()).then(|| repeated(&all).to_vec())
}

/// How often a datatype repeats the elements that it repeats.
fn repetitions(datatype: Datatype, elements: &[Basic]) -> Option<usize> {
    let once: u64 = elements.iter().map(|element| u64::from(element.bytes())).sum();
    let all = bytes_of(datatype);
    (once > 0 && all.is_multiple_of(once)).then(|| usize::try_from(all / once).ok())?
}

/// What the elements of a datatype are. May be asked as a call begins that uses the datatype, with elements.
#[cold]
#[must_use]
pub fn signature(datatype: Datatype) -> Signature {
    elements(datatype, 0, &mut { MOST_TYPES })
        .map_or_else(Signature::default, |elements| Signature::of(&elements))
}
