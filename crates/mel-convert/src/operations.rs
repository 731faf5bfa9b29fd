//! Events of transports: what the MPI library has moved below the calls, each a moment with its operation, target and size.

use crate::value::{self, Value};
use mel_log::definitions::EventType;

/// The operations, by the number that the element `operation` has.
const NAMES: [&str; 7] = ["put", "get", "send", "receive", "CMA read", "CMA write", "atomic"];

/// Whether events of this type are operations of a transport: they have an operation, a target and a size.
pub fn are_operations(event_type: &EventType) -> bool {
    let has = |name: &str| event_type.elements.iter().any(|element| element.name == name);
    ["operation", "target rank", "size"].into_iter().all(has)
}

/// The operation of an event of such a type: its place among those that are known, and its name.
pub fn operation(event_type: &EventType, payload: &[u8]) -> Option<(usize, &'static str)> {
    let element = event_type.elements.iter().find(|element| element.name == "operation")?;
    let number = match value::read(element, payload)? {
        Value::Signed(number) => usize::try_from(number).ok()?,
        Value::Unsigned(number) => usize::try_from(number).ok()?,
        Value::Real(_) | Value::Character(_) => return None,
    };
    Some((number, NAMES.get(number)?))
}

/// Whether the data of the operation at this place flows from the target.
pub const fn is_inward(place: usize) -> bool {
    matches!(place, 1 | 3 | 4)
}

/// Whether a source of this name is that of a transport.
pub fn is_transport(source: &str) -> bool {
    ["TCP ", "CMA ", "verbs "].iter().any(|begin| source.starts_with(begin))
}
