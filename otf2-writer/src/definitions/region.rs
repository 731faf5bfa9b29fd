//! Regions: what a location can enter and leave.

use serde::{Deserialize, Serialize};

use super::{Definitions, Paradigm, next_number};
use crate::refs::{RegionRef, StringRef};

/// A region of code: a function, or a step within one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Region<'a> {
    /// Its name, as people know it.
    pub name: &'a str,
    /// Its name in the binary; empty: the same as `name`.
    pub canonical_name: &'a str,
    /// What it does, in a sentence; may be empty.
    pub description: &'a str,
    /// What kind of work it does.
    pub role: RegionRole,
    /// The programming model that it belongs to.
    pub paradigm: Paradigm,
    /// The file that it is defined in; empty: not known.
    pub source_file: &'a str,
    /// Its first and its last line in that file, counted from 1; 0: not known.
    pub source_lines: (u32, u32),
}

macro_rules! roles {
    ($($(#[$meta:meta])* $name:ident = $constant:ident,)*) => {
        /// What kind of work a region does.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum RegionRole {
            $($(#[$meta])* $name = otf2_sys::$constant as u8,)*
        }
    };
}

roles! {
    /// Not known.
    Unknown = OTF2_REGION_ROLE_UNKNOWN,
    /// A function, without a more specific role.
    #[default]
    Function = OTF2_REGION_ROLE_FUNCTION,
    /// A function that stands before another one.
    Wrapper = OTF2_REGION_ROLE_WRAPPER,
    /// A loop.
    Loop = OTF2_REGION_ROLE_LOOP,
    /// A piece of code.
    Code = OTF2_REGION_ROLE_CODE,
    /// A barrier.
    Barrier = OTF2_REGION_ROLE_BARRIER,
    /// A collective operation from one process to all.
    CollectiveOneToAll = OTF2_REGION_ROLE_COLL_ONE2ALL,
    /// A collective operation from all processes to one.
    CollectiveAllToOne = OTF2_REGION_ROLE_COLL_ALL2ONE,
    /// A collective operation from all processes to all.
    CollectiveAllToAll = OTF2_REGION_ROLE_COLL_ALL2ALL,
    /// Another collective operation.
    CollectiveOther = OTF2_REGION_ROLE_COLL_OTHER,
    /// Reading or writing files.
    FileIo = OTF2_REGION_ROLE_FILE_IO,
    /// A message from one process to another.
    PointToPoint = OTF2_REGION_ROLE_POINT2POINT,
    /// Remote memory access.
    Rma = OTF2_REGION_ROLE_RMA,
    /// A transfer of data.
    DataTransfer = OTF2_REGION_ROLE_DATA_TRANSFER,
    /// Something that is not in the program's source.
    Artificial = OTF2_REGION_ROLE_ARTIFICIAL,
    /// The creation of threads.
    ThreadCreate = OTF2_REGION_ROLE_THREAD_CREATE,
    /// Waiting for threads.
    ThreadWait = OTF2_REGION_ROLE_THREAD_WAIT,
    /// Obtaining memory.
    Allocate = OTF2_REGION_ROLE_ALLOCATE,
    /// Giving memory back.
    Deallocate = OTF2_REGION_ROLE_DEALLOCATE,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct RegionRecord {
    pub(crate) name: StringRef,
    pub(crate) canonical_name: StringRef,
    pub(crate) description: StringRef,
    pub(crate) role: RegionRole,
    pub(crate) paradigm: Paradigm,
    pub(crate) source_file: StringRef,
    pub(crate) source_lines: (u32, u32),
}

impl Definitions {
    /// Defines a region.
    pub fn region(&mut self, region: Region<'_>) -> RegionRef {
        let reference = RegionRef(next_number(&self.shared.regions));
        let canonical = if region.canonical_name.is_empty() { region.name } else { region.canonical_name };
        let record = RegionRecord {
            name: self.string(region.name),
            canonical_name: self.string(canonical),
            description: self.string(region.description),
            role: region.role,
            paradigm: region.paradigm,
            source_file: self.string(region.source_file),
            source_lines: region.source_lines,
        };
        self.shared.regions.push(record);
        reference
    }
}
