//! The MPI's descriptions of its event types, in the words of the core.

use mpi_abi::{Abi, Datatype, ToolEventType, ToolEvents};
use mpit_events::{BindKind, Element, ElementType, EventType, Verbosity};

use super::{Heard, LARGEST_EVENT, Moment, NativeEvents, Type, known};

/// Adds the MPI's types from this number on to the core: those that can be taken over and whose name is not known there.
pub(super) fn add_all(found: &NativeEvents, first: i32, at: Moment) -> Vec<&'static Heard> {
    let NativeEvents { abi, core, mpi, .. } = *found;
    let described = (first..mpi.num_events()).filter_map(|index| Some((index, mpi.event_type(index).ok()?)));
    described
        .filter(|(_, native)| native.extent() <= LARGEST_EVENT && core.type_by_name(&native.name).is_err())
        .filter_map(|(index, native)| {
            let bind = bind_kind(abi, native.bind, at)?;
            let names = names(mpi, &native);
            let extent = native.extent();
            let event = core.add_type(describe(abi, native, bind, names)).ok()?;
            let native: &'static Type = Box::leak(Box::new(Type { native: index, event, bind, extent }));
            Some(&*Box::leak(Box::new(Heard::new(native, core.no_object()))))
        })
        .collect()
}

/// What types of this binding are bound to; `None` for what cannot be followed.
fn bind_kind(abi: &Abi, number: i32, at: Moment) -> Option<BindKind> {
    // In the order of the standard.
    const COMM: usize = 1;
    const WIN: usize = 8;
    let place = abi.constants.tool.bind.iter().position(|&known| known == number)?;
    match place {
        0 => Some(BindKind::None),
        COMM if at == Moment::BeforeInit => Some(BindKind::Comm),
        WIN if at == Moment::BeforeInit => Some(BindKind::Win),
        _ => None,
    }
}

/// The elements' names, where the MPI has any, or they are known.
fn names(mpi: &ToolEvents, native: &ToolEventType) -> Vec<Option<String>> {
    let name = |index: usize| {
        let index = i32::try_from(index).ok()?;
        // SAFETY: the MPI has given this enumeration, and it is not null.
        unsafe { mpi.item_name(native.enumeration, index) }.ok().filter(|name| !name.is_empty())
    };
    let known = known::of(&native.name, native.datatypes.len());
    let known = |index: usize| known.map(|known| known.elements[index].to_owned());
    (0..native.datatypes.len())
        .map(|index| (native.enumeration != 0).then(|| name(index)).flatten().or_else(|| known(index)))
        .collect()
}

/// A type of the MPI's as the core describes types. An element whose datatype the core lacks is left out; its
/// bytes stay in the payload.
fn describe(abi: &Abi, native: ToolEventType, bind: BindKind, names: Vec<Option<String>>) -> EventType {
    let means = known::of(&native.name, native.datatypes.len()).map_or("", |known| known.means);
    let means = if means.is_empty() { String::new() } else { format!(", as {means}") };
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
        description: native.description + &means,
        bind,
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
        (constants.uint32, ElementType::Unsigned),
        (constants.uint64, ElementType::UnsignedLongLong),
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
