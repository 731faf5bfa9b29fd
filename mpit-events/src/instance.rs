//! An event instance: what a callback sees, valid only while it runs.

use bytemuck::Pod;

use crate::clock::Ticks;
use crate::event_type::{EventIndex, EventType};
use crate::object::Token;
use crate::payload::ElementValue;
use crate::safety::Safety;
use crate::source::{Source, SourceIndex};

/// One occurrence of an event. Borrowed from the raising function: it ends with the callback.
#[derive(Debug)]
pub struct Instance<'a> {
    pub(crate) event_type: &'a EventType,
    pub(crate) source: &'a Source,
    pub(crate) event: EventIndex,
    pub(crate) source_index: SourceIndex,
    pub(crate) safety: Safety,
    pub(crate) token: Token,
    pub(crate) ticks: Ticks,
    pub(crate) payload: &'a [u8],
}

impl Instance<'_> {
    /// The description of its type.
    pub fn event_type(&self) -> &EventType {
        self.event_type
    }

    /// The index of its type.
    pub fn event(&self) -> EventIndex {
        self.event
    }

    /// The control flow it comes from.
    pub fn source(&self) -> SourceIndex {
        self.source_index
    }

    /// The level at which it was raised, which may be lower than the callback's own.
    pub fn safety(&self) -> Safety {
        self.safety
    }

    /// The object that it happened to.
    pub fn token(&self) -> Token {
        self.token
    }

    /// When it was observed, in ticks of the source's clock. The callback may come later.
    #[inline]
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// When it was observed, in ticks since the source's origin (`MPI_T_event_get_timestamp`).
    pub fn timestamp(&self) -> u64 {
        self.ticks.since(self.source.origin())
    }

    /// The whole payload (`MPI_T_event_copy`): [`EventType::extent`] bytes, not aligned.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.payload
    }

    /// The payload as the struct that it was raised with; `None` where the size differs.
    #[inline]
    pub fn payload_as<P: Pod>(&self) -> Option<P> {
        bytemuck::try_pod_read_unaligned(self.payload).ok()
    }

    /// The bytes of one element (`MPI_T_event_read`); `None` where there is no such element.
    pub fn element(&self, index: usize) -> Option<&[u8]> {
        let element = self.event_type.elements.get(index)?;
        self.payload.get(element.displacement..element.displacement + element.datatype.size())
    }

    /// One element as a number; `None` where there is no such element or it is of another type.
    pub fn read<T: ElementValue>(&self, index: usize) -> Option<T> {
        let element = self.event_type.elements.get(index)?;
        (element.datatype == T::TYPE).then(|| self.element(index).map(bytemuck::pod_read_unaligned))?
    }
}
