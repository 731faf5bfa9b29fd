//! Parallel paradigms: what regions, groups and communicators belong to.

use serde::{Deserialize, Serialize};

use super::Definitions;
use crate::refs::StringRef;

/// The programming model that something belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum Paradigm {
    /// Not known.
    #[default]
    Unknown = otf2_sys::OTF2_PARADIGM_UNKNOWN as u8,
    /// The user's own instrumentation.
    User = otf2_sys::OTF2_PARADIGM_USER as u8,
    /// The compiler's instrumentation.
    Compiler = otf2_sys::OTF2_PARADIGM_COMPILER as u8,
    /// OpenMP.
    OpenMp = otf2_sys::OTF2_PARADIGM_OPENMP as u8,
    /// MPI.
    Mpi = otf2_sys::OTF2_PARADIGM_MPI as u8,
    /// The tool that records the events.
    MeasurementSystem = otf2_sys::OTF2_PARADIGM_MEASUREMENT_SYSTEM as u8,
    /// POSIX threads.
    Pthread = otf2_sys::OTF2_PARADIGM_PTHREAD as u8,
    /// Hardware.
    Hardware = otf2_sys::OTF2_PARADIGM_HARDWARE as u8,
    /// SHMEM, OpenSHMEM.
    Shmem = otf2_sys::OTF2_PARADIGM_SHMEM as u8,
    /// None in particular.
    None = otf2_sys::OTF2_PARADIGM_NONE as u8,
}

/// How a paradigm is parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum ParadigmClass {
    /// Processes that communicate, such as MPI's.
    Process = otf2_sys::OTF2_PARADIGM_CLASS_PROCESS as u8,
    /// Threads that fork and join, such as OpenMP's.
    ThreadForkJoin = otf2_sys::OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN as u8,
    /// Threads that are created and waited for, such as those of POSIX.
    ThreadCreateWait = otf2_sys::OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT as u8,
    /// Accelerators.
    Accelerator = otf2_sys::OTF2_PARADIGM_CLASS_ACCELERATOR as u8,
}

/// A parallel paradigm that the recorded program uses.
#[derive(Clone, Copy, Debug)]
pub struct ParadigmDefinition<'a> {
    /// Which one.
    pub paradigm: Paradigm,
    /// Its name, for people.
    pub name: &'a str,
    /// How it is parallel.
    pub class: ParadigmClass,
    /// How readers name a communicator without a name; `${id}` stands for a unique number.
    pub comm_name_template: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ParadigmRecord {
    pub(crate) paradigm: Paradigm,
    pub(crate) name: StringRef,
    pub(crate) class: ParadigmClass,
    pub(crate) comm_name_template: Option<StringRef>,
}

impl Definitions {
    /// Says that the recorded program uses a paradigm; at most once for each.
    pub fn paradigm(&mut self, definition: ParadigmDefinition<'_>) {
        let ParadigmDefinition { paradigm, class, .. } = definition;
        let name = self.string(definition.name);
        let comm_name_template = definition.comm_name_template.map(|text| self.string(text));
        self.shared.paradigms.push(ParadigmRecord { paradigm, name, class, comm_name_template });
    }
}
