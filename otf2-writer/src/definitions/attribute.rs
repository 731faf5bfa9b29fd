//! Attributes: named, typed values that events may carry.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::{
    refs::{AttributeRef, StringRef},
    value::Type,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct AttributeRecord {
    pub(crate) name: StringRef,
    pub(crate) description: StringRef,
    pub(crate) value_type: Type,
}

impl Definitions {
    /// Defines an attribute of events.
    pub fn attribute(&mut self, name: &str, description: &str, value_type: Type) -> AttributeRef {
        let reference = AttributeRef::from_raw(next_number(&self.shared.attributes), value_type);
        let (name, description) = (self.string(name), self.string(description));
        self.shared.attributes.push(AttributeRecord { name, description, value_type });
        reference
    }
}
