//! The names of an event's elements: an enumeration for each event type, whose items are the elements
//! in order; and those of our control variables. Enumerations of MPI's own variables are passed on to MPI.

use std::ffi::{c_char, c_int};

use mpit_events::{Error, EventIndex, EventType, MAX_EVENT_TYPES, core};
use mpit_vars::control::Domain;
use mpit_vars::controls::{Entry, controls};

use crate::args::{InOut, Out, Text};
use crate::entry::guarded;
use crate::failure::Failure;
use crate::forward::forward;
use crate::init::ready;

/// `MPI_T_enum`: an opaque pointer in every MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct EnumHandle(pub(crate) usize);

/// One byte for each event type: its address, which no MPI can give to another enumeration, is the
/// handle.
static HANDLES: [u8; MAX_EVENT_TYPES] = [0; MAX_EVENT_TYPES];

/// The enumeration of an event type's elements; `MPI_T_ENUM_NULL` where it has none.
pub(crate) fn of(event: EventIndex, event_type: &EventType) -> EnumHandle {
    let handle = EnumHandle(&raw const HANDLES as usize + event.get());
    if event_type.elements.is_empty() { EnumHandle(0) } else { handle }
}

/// The event type behind a handle of ours.
fn behind(handle: EnumHandle) -> Option<&'static EventType> {
    let index = handle.0.checked_sub(&raw const HANDLES as usize)?;
    let index = core().event_index(i64::try_from(index).ok()?).ok()?;
    core().event_type(index)
}

/// Control variables of ours that may have an enumeration.
const MOST: usize = 256;

/// One byte for each variable: its address, which no MPI can give to another enumeration, is the handle.
static CONTROL_HANDLES: [u8; MOST] = [0; MOST];

/// The enumeration of a variable; `MPI_T_ENUM_NULL` where it has none.
pub(crate) fn of_control(entry: &Entry) -> EnumHandle {
    match entry.description.domain {
        Domain::Choice(_) if entry.index < MOST => {
            EnumHandle(&raw const CONTROL_HANDLES as usize + entry.index)
        }
        _ => EnumHandle(0),
    }
}

/// The name of the enumeration behind a handle of ours, and its items.
pub(crate) fn behind_control(handle: EnumHandle) -> Option<(Entry, &'static [(i32, &'static str)])> {
    let index = handle.0.checked_sub(&raw const CONTROL_HANDLES as usize).filter(|index| *index < MOST)?;
    let entry = controls().entry(index).ok()?;
    match entry.description.domain {
        Domain::Choice(items) => Some((entry, items)),
        _ => None,
    }
}

/// The arguments of `MPI_T_enum_get_info`, as they are passed on.
#[derive(Clone, Copy)]
struct Info {
    enumtype: EnumHandle,
    num: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
}

fn get_info(args: Info, profiling: bool) -> Result<(), Failure> {
    let Info { enumtype, num, name, name_len } = args;
    if let Some(event_type) = behind(enumtype) {
        ready()?;
        Out::from_raw(num).set(event_type.elements.len() as c_int);
        Text::from_raw(name).set(InOut::from_raw(name_len), &event_type.name);
        return Ok(());
    }
    if let Some((entry, items)) = behind_control(enumtype) {
        ready()?;
        Out::from_raw(num).set(items.len() as c_int);
        Text::from_raw(name).set(InOut::from_raw(name_len), &entry.description.name);
        return Ok(());
    }
    let code = forward!(c"MPI_T_enum_get_info", profiling,
        (enumtype.0 => usize, num => *mut c_int, name => *mut c_char, name_len => *mut c_int));
    answer(code)
}

/// The arguments of `MPI_T_enum_get_item`, as they are passed on.
#[derive(Clone, Copy)]
struct Item {
    enumtype: EnumHandle,
    index: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
}

fn get_item(args: Item, profiling: bool) -> Result<(), Failure> {
    let Item { enumtype, index, value, name, name_len } = args;
    if let Some(event_type) = behind(enumtype) {
        ready()?;
        let element = usize::try_from(index).ok().and_then(|index| event_type.elements.get(index));
        let element = element.ok_or(Error::InvalidIndex)?;
        Out::from_raw(value).set(index);
        Text::from_raw(name).set(InOut::from_raw(name_len), &element.name);
        return Ok(());
    }
    if let Some((_, items)) = behind_control(enumtype) {
        ready()?;
        let item = usize::try_from(index).ok().and_then(|index| items.get(index));
        let (number, text) = item.ok_or(Error::InvalidIndex)?;
        Out::from_raw(value).set(*number);
        Text::from_raw(name).set(InOut::from_raw(name_len), text);
        return Ok(());
    }
    let code = forward!(c"MPI_T_enum_get_item", profiling,
        (enumtype.0 => usize, index => c_int, value => *mut c_int, name => *mut c_char, name_len => *mut c_int));
    answer(code)
}

fn answer(code: Option<c_int>) -> Result<(), Failure> {
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Mpi(code)),
        None => Err(Failure::Core(Error::InvalidHandle)),
    }
}

/// The number of items and the name of an enumeration.
#[unsafe(no_mangle)]
extern "C" fn MPI_T_enum_get_info(
    enumtype: EnumHandle,
    num: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    guarded(|| get_info(Info { enumtype, num, name, name_len }, false))
}

/// `MPI_T_enum_get_info` by the name that tools call behind their own wrappers.
#[unsafe(no_mangle)]
extern "C" fn PMPI_T_enum_get_info(
    enumtype: EnumHandle,
    num: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    guarded(|| get_info(Info { enumtype, num, name, name_len }, true))
}

/// Value and name of an item: for an event's elements, its number and its name.
#[unsafe(no_mangle)]
extern "C" fn MPI_T_enum_get_item(
    enumtype: EnumHandle,
    index: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    guarded(|| get_item(Item { enumtype, index, value, name, name_len }, false))
}

/// `MPI_T_enum_get_item` by the name that tools call behind their own wrappers.
#[unsafe(no_mangle)]
extern "C" fn PMPI_T_enum_get_item(
    enumtype: EnumHandle,
    index: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    guarded(|| get_item(Item { enumtype, index, value, name, name_len }, true))
}
