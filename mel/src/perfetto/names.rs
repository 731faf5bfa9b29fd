//! Names that a sequence of packets writes once and then refers to by number.

use rustc_hash::FxHashMap;

use super::proto::{InternedData, Name};

/// What a name is for: each kind is numbered by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An event.
    Event,
    /// A debug annotation.
    Annotation,
    /// The value of a debug annotation.
    Text,
}

/// The names of a sequence.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: [FxHashMap<String, u64>; 3],
    new: Option<InternedData>,
}

impl Names {
    /// The number of a name; a new one goes with the next packet.
    pub(super) fn number(&mut self, kind: Kind, name: &str) -> u64 {
        let known = &mut self.known[kind as usize];
        if let Some(number) = known.get(name) {
            return *number;
        }
        let number = known.len() as u64 + 1;
        known.insert(name.to_owned(), number);
        let new = self.new.get_or_insert_default();
        let list = match kind {
            Kind::Event => &mut new.event_names,
            Kind::Annotation => &mut new.debug_annotation_names,
            Kind::Text => &mut new.debug_annotation_string_values,
        };
        list.push(Name { iid: Some(number), name: Some(name.to_owned()) });
        number
    }

    /// The names that no packet has had yet.
    pub(super) fn take_new(&mut self) -> Option<InternedData> {
        self.new.take()
    }
}
