//! The "no such definition" values, which the headers spell as casts that bindgen cannot evaluate.

use crate::bindings::*;

/// No string.
pub const OTF2_UNDEFINED_STRING: OTF2_StringRef = OTF2_StringRef::MAX;
/// No system tree node: the parent of a root.
pub const OTF2_UNDEFINED_SYSTEM_TREE_NODE: OTF2_SystemTreeNodeRef = OTF2_SystemTreeNodeRef::MAX;
/// No location group: the creator of a process that nobody created.
pub const OTF2_UNDEFINED_LOCATION_GROUP: OTF2_LocationGroupRef = OTF2_LocationGroupRef::MAX;
/// No location.
pub const OTF2_UNDEFINED_LOCATION: OTF2_LocationRef = OTF2_LocationRef::MAX;
/// No communicator: the parent of `MPI_COMM_WORLD`.
pub const OTF2_UNDEFINED_COMM: OTF2_CommRef = OTF2_CommRef::MAX;
/// No time.
pub const OTF2_UNDEFINED_TIMESTAMP: OTF2_TimeStamp = OTF2_TimeStamp::MAX;
/// No number: all processes of a window, where a lock names its target.
pub const OTF2_UNDEFINED_UINT32: u32 = u32::MAX;
