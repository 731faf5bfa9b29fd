//! Markers: remarks about a time, which a viewer shows above the events.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::{
    clock::Ticks,
    refs::{LocationRef, MarkerRef},
};

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Severity {
    /// It says nothing of that.
    None = otf2_sys::OTF2_SEVERITY_NONE as u8,
    /// Little.
    Low = otf2_sys::OTF2_SEVERITY_LOW as u8,
    /// Something is not as it seems.
    Medium = otf2_sys::OTF2_SEVERITY_MEDIUM as u8,
    /// What follows is wrong without it.
    High = otf2_sys::OTF2_SEVERITY_HIGH as u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct MarkerRecord {
    pub(crate) group: String,
    pub(crate) category: String,
    pub(crate) severity: Severity,
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) time: Ticks,
    pub(crate) location: LocationRef,
    pub(crate) marker: MarkerRef,
    pub(crate) text: String,
}

impl Definitions {
    /// A kind of remarks: `group` is their author, `category` their subject. The same two always return the same kind.
    pub fn marker(&mut self, group: &str, category: &str, severity: Severity) -> MarkerRef {
        let known = |record: &MarkerRecord| record.group == group && record.category == category;
        if let Some(place) = self.shared.markers.iter().position(known) {
            return MarkerRef(place as u32);
        }
        let reference = MarkerRef(next_number(&self.shared.markers));
        self.shared.markers.push(MarkerRecord {
            group: group.to_owned(),
            category: category.to_owned(),
            severity,
        });
        reference
    }

    /// Remarks something about a location at a time.
    pub fn mark(&mut self, time: Ticks, location: LocationRef, marker: MarkerRef, text: &str) {
        self.own.marks.push(Mark { time, location, marker, text: text.to_owned() });
    }
}
