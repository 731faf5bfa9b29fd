//! What event types there are.

use std::ffi::{c_int, c_void};

use mpi_abi::{Abi, Datatype, HandlePtr, ToolEventType};
use mpit_events::{BindKind, Core, ElementType, Error, EventIndex, EventType};

use crate::args::{InOut, Name, Out, OutArray, Text};
use crate::compose::{self, Whose};
use crate::enumeration::{self, EnumHandle};
use crate::failure::{Failure, numbers};
use crate::hints::{Hints, OutInfo};
use crate::init::ready;

entry_points! {
    /// The number of event types; it may grow, it never shrinks.
    fn MPI_T_event_get_num = PMPI_T_event_get_num(num_events: Out<c_int>) {
        ready()?;
        num_events.required()?.set(compose::num_events());
        Ok(())
    }

    /// The description of an event type. Outputs that are null are not given.
    fn MPI_T_event_get_info = PMPI_T_event_get_info[profiling](
        event_index: c_int,
        name: Text,
        name_len: InOut<c_int>,
        verbosity: Out<c_int>,
        array_of_datatypes: *mut c_void,
        array_of_displacements: OutArray<isize>,
        num_elements: InOut<c_int>,
        enumtype: Out<EnumHandle>,
        info: OutInfo,
        desc: Text,
        desc_len: InOut<c_int>,
        bind: Out<c_int>,
    ) {
        let core = ready()?;
        let event_type = described(core, event_index, profiling)?;
        info.give(&Hints::new())?;
        name.set(name_len, &event_type.name);
        verbosity.set(event_type.verbosity);
        if let Some(room) = num_elements.get() {
            let room = usize::try_from(room).unwrap_or(0);
            // SAFETY: the caller has promised arrays of `num_elements` elements.
            unsafe { elements(&event_type, room, array_of_datatypes, array_of_displacements) };
            num_elements.set(event_type.displacements.len() as c_int);
        }
        enumtype.set(EnumHandle(event_type.enumeration));
        desc.set(desc_len, &event_type.description);
        bind.set(event_type.bind);
        Ok(())
    }

    /// The index of the event type of this name.
    fn MPI_T_event_get_index = PMPI_T_event_get_index[profiling](name: Name, event_index: Out<c_int>) {
        ready()?;
        let (name, event_index) = (name.get()?, event_index.required()?);
        let name = std::str::from_utf8(name).map_err(|_| Error::InvalidName)?;
        event_index.set(compose::event_of_name(name, profiling)?);
        Ok(())
    }
}

/// The description of an event type, in MPI's numbers.
fn described(core: &Core, event_index: c_int, profiling: bool) -> Result<ToolEventType, Failure> {
    match compose::event(event_index, profiling)? {
        Whose::Mpi(mpi, index) => Ok(mpi.event_type(index)?),
        Whose::Ours(index) => {
            let abi = Abi::current().ok_or(Failure::Internal)?;
            Ok(as_mpi_tells(abi, index, core.event_type(index).ok_or(Error::InvalidIndex)?))
        }
    }
}

/// A type of ours in MPI's numbers.
fn as_mpi_tells(abi: &Abi, index: EventIndex, event_type: &EventType) -> ToolEventType {
    let elements = &event_type.elements;
    ToolEventType {
        name: event_type.name.clone(),
        description: event_type.description.clone(),
        verbosity: numbers().verbosity[event_type.verbosity as usize],
        datatypes: elements.iter().map(|element| datatype(abi, element.datatype)).collect(),
        displacements: elements.iter().map(|element| element.displacement as isize).collect(),
        enumeration: enumeration::of(index, event_type).0,
        bind: bind_number(event_type.bind),
    }
}

/// The number of bytes of an event of this type.
pub(crate) fn extent(core: &Core, event_index: c_int) -> Result<isize, Failure> {
    match compose::event(event_index, true)? {
        Whose::Ours(index) => Ok(core.event_type(index).ok_or(Error::InvalidIndex)?.extent as isize),
        Whose::Mpi(mpi, index) => Ok(mpi.event_type(index)?.extent() as isize),
    }
}

/// Writes the first `room` elements' datatypes and displacements.
///
/// # Safety
/// Both arrays, where they are not null, have room for that many.
unsafe fn elements(
    event_type: &ToolEventType,
    room: usize,
    datatypes: *mut c_void,
    displacements: OutArray<isize>,
) {
    let handles = HandlePtr::<Datatype>::new(datatypes);
    if !handles.is_null() {
        for (place, &datatype) in event_type.datatypes.iter().take(room).enumerate() {
            // SAFETY: `place` is below `room`.
            unsafe { handles.set(place, datatype) };
        }
    }
    // SAFETY: there are at most `room` of them.
    unsafe { displacements.fill(event_type.displacements.iter().take(room).copied()) };
}

fn datatype(abi: &Abi, element: ElementType) -> Datatype {
    let constants = &abi.constants;
    match element {
        ElementType::Char => constants.char,
        ElementType::Int => constants.int,
        ElementType::Unsigned => constants.unsigned,
        ElementType::UnsignedLong => constants.unsigned_long,
        ElementType::UnsignedLongLong => constants.unsigned_long_long,
        ElementType::Count => constants.count,
        ElementType::Double => constants.double,
        // A type that MPI has no name for here: as many bytes as it has are still told.
        _ => constants.byte,
    }
}

fn bind_number(kind: BindKind) -> c_int {
    let index = match kind {
        BindKind::Comm => 1,
        BindKind::Datatype => 2,
        BindKind::Errhandler => 3,
        BindKind::File => 4,
        BindKind::Group => 5,
        BindKind::Op => 6,
        BindKind::Request => 7,
        BindKind::Win => 8,
        BindKind::Message => 9,
        BindKind::Info => 10,
        BindKind::Session => 11,
        _ => 0,
    };
    numbers().bind[index]
}
