//! The MPI's descriptions of its event types, in the words of the core.

use std::sync::atomic::AtomicUsize;

use mpi_abi::{Abi, Datatype, ToolEventType, ToolEvents};
use mpit_events::{BindKind, Core, Element, ElementType, EventType, Verbosity};

use super::{LARGEST_EVENT, Type};

/// Adds the MPI's types to the core: those that can be taken over and whose name is not known there.
pub(super) fn add_all(abi: &Abi, core: &Core, mpi: &ToolEvents) -> Vec<Type> {
    let no_object = abi.constants.tool.bind[0];
    let described = (0..mpi.num_events()).filter_map(|index| Some((index, mpi.event_type(index).ok()?)));
    described
        .filter(|(_, native)| native.bind == no_object && native.extent() <= LARGEST_EVENT)
        .filter(|(_, native)| core.type_by_name(&native.name).is_err())
        .filter_map(|(index, native)| {
            let names = names(mpi, &native);
            let extent = native.extent();
            let event = core.add_type(describe(abi, native, names)).ok()?;
            Some(Type { native: index, event, extent, registration: AtomicUsize::new(0) })
        })
        .collect()
}

/// The elements' names, where the MPI has any.
fn names(mpi: &ToolEvents, native: &ToolEventType) -> Vec<Option<String>> {
    let name = |index: usize| {
        let index = i32::try_from(index).ok()?;
        // SAFETY: the MPI has given this enumeration, and it is not null.
        unsafe { mpi.item_name(native.enumeration, index) }.ok().filter(|name| !name.is_empty())
    };
    (0..native.datatypes.len())
        .map(|index| (native.enumeration != 0).then(|| name(index)).flatten())
        .collect()
}

/// A type of the MPI's as the core describes types. An element whose datatype the core lacks is left out; its
/// bytes stay in the payload.
fn describe(abi: &Abi, native: ToolEventType, names: Vec<Option<String>>) -> EventType {
    let elements = names.into_iter().enumerate().filter_map(|(index, name)| {
        Some(Element {
            name: name.unwrap_or_else(|| format!("element {index}")).into(),
            datatype: element_type(abi, native.datatypes[index], native.element_size(index)?)?,
            displacement: usize::try_from(native.displacements[index]).ok()?,
        })
    });
    let mut elements: Vec<Element> = elements.collect();
    elements.sort_by_key(|element| element.displacement);
    EventType {
        elements,
        extent: native.extent(),
        verbosity: verbosity(abi, native.verbosity),
        name: native.name,
        description: native.description,
        bind: BindKind::None,
    }
}

fn element_type(abi: &Abi, datatype: Datatype, bytes: usize) -> Option<ElementType> {
    let constants = &abi.constants;
    let same = [
        (constants.char, ElementType::Char),
        (constants.int, ElementType::Int),
        (constants.unsigned, ElementType::Unsigned),
        (constants.unsigned_long, ElementType::UnsignedLong),
        (constants.unsigned_long_long, ElementType::UnsignedLongLong),
        (constants.count, ElementType::Count),
        (constants.double, ElementType::Double),
    ];
    let same = same.iter().find(|(known, _)| *known == datatype).map(|&(_, element)| element);
    // Others are shown as integers of their size.
    same.or(match bytes {
        1 => Some(ElementType::Char),
        4 => Some(ElementType::Int),
        8 => Some(ElementType::Count),
        _ => None,
    })
}

fn verbosity(abi: &Abi, number: i32) -> Verbosity {
    use Verbosity::{
        MpidevAll, MpidevBasic, MpidevDetail, TunerAll, TunerBasic, TunerDetail, UserAll, UserBasic,
        UserDetail,
    };
    let levels = [
        UserBasic,
        UserDetail,
        UserAll,
        TunerBasic,
        TunerDetail,
        TunerAll,
        MpidevBasic,
        MpidevDetail,
        MpidevAll,
    ];
    let place = abi.constants.tool.verbosity.iter().position(|&known| known == number);
    place.map_or(MpidevAll, |place| levels[place])
}
