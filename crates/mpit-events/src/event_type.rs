//! Event types: what a consumer can learn about an event before it happens.

use crate::object::BindKind;
use crate::payload::{Element, Payload};

/// The most event types a core holds.
pub const MAX_EVENT_TYPES: usize = if cfg!(loom) { 64 } else { 128 };

/// Index of an event type: dense from zero, never reused (MPI-5.0, section 15.3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventIndex(pub(crate) u16);

impl EventIndex {
    /// The index as a number.
    #[inline(always)]
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

/// For whom an event type is meant, and in how much detail: the nine verbosity levels of MPI_T
/// (MPI-5.0, section 15.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are MPI's own")]
pub enum Verbosity {
    UserBasic,
    UserDetail,
    UserAll,
    TunerBasic,
    TunerDetail,
    TunerAll,
    MpidevBasic,
    MpidevDetail,
    MpidevAll,
}

/// The description of an event type (`MPI_T_event_get_info`; MPI-5.0, section 15.3.8). Never changes
/// once it was added.
#[derive(Clone, Debug)]
pub struct EventType {
    /// The unique name, for example `pml_ob1_message_arrived`.
    pub name: String,
    /// What it means, in a sentence.
    pub description: String,
    /// For whom it is meant.
    pub verbosity: Verbosity,
    /// The kind of object that a registration is bound to.
    pub bind: BindKind,
    /// The elements of the payload, in order of their displacement.
    pub elements: Vec<Element>,
    /// Size of the payload in bytes.
    pub extent: usize,
}

impl EventType {
    /// The same for others, or in another detail.
    #[must_use]
    pub fn of_verbosity(self, verbosity: Verbosity) -> Self {
        EventType { verbosity, ..self }
    }

    /// Describes an event type whose instances carry a `P`, of verbosity
    /// [`TunerDetail`](Verbosity::TunerDetail), as the prototype's events have it.
    pub fn of<P: Payload>(name: impl Into<String>, description: impl Into<String>, bind: BindKind) -> Self {
        EventType {
            name: name.into(),
            description: description.into(),
            verbosity: Verbosity::TunerDetail,
            bind,
            elements: P::elements(),
            extent: size_of::<P>(),
        }
    }
}
