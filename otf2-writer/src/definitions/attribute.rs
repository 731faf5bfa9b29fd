//! Attributes: named, typed values that events may carry.

use super::{Definitions, next_number};
use crate::{
    refs::{AttributeRef, StringRef},
    value::Type,
};

#[derive(Debug)]
pub(crate) struct AttributeRecord {
    pub(crate) name: StringRef,
    pub(crate) description: StringRef,
    pub(crate) value_type: Type,
}

impl Definitions {
    /// Defines an attribute of events.
    pub fn attribute(&mut self, name: &str, description: &str, value_type: Type) -> AttributeRef {
        let reference = AttributeRef::from_raw(next_number(&self.attributes), value_type);
        let (name, description) = (self.string(name), self.string(description));
        self.attributes.push(AttributeRecord { name, description, value_type });
        reference
    }
}
