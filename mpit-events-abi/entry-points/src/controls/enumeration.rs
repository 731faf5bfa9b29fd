//! The enumerations of our control variables: the values that one may have, with their names.

use mpit_vars::control::Domain;
use mpit_vars::controls::{Entry, controls};

use crate::enumeration::EnumHandle;

/// Control variables of ours that may have an enumeration.
const MOST: usize = 256;

/// One byte for each variable: its address, which no MPI can give to another enumeration, is the handle.
static HANDLES: [u8; MOST] = [0; MOST];

/// The enumeration of a variable; `MPI_T_ENUM_NULL` where it has none.
pub(crate) fn of(entry: &Entry) -> EnumHandle {
    match entry.description.domain {
        Domain::Choice(_) if entry.index < MOST => EnumHandle(&raw const HANDLES as usize + entry.index),
        _ => EnumHandle(0),
    }
}

/// The name of the enumeration behind a handle of ours, and its items.
pub(crate) fn behind(handle: EnumHandle) -> Option<(Entry, &'static [(i32, &'static str)])> {
    let index = handle.0.checked_sub(&raw const HANDLES as usize).filter(|index| *index < MOST)?;
    let entry = controls().entry(index).ok()?;
    match entry.description.domain {
        Domain::Choice(items) => Some((entry, items)),
        _ => None,
    }
}
