//! An event instance: what a callback sees, valid only while it runs.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use bytemuck::Pod;

use crate::callback::Safety;
use crate::clock::Ticks;
use crate::event_type::{EventIndex, EventType};
use crate::object::Token;
use crate::payload::ElementValue;
use crate::source::{Source, SourceIndex};

/// One occurrence of an event (`MPI_T_event_instance`; MPI-5.0, section 15.3.8; the paper's section
/// 3.4). Borrowed from the raising function: it ends with the callback. All methods read memory of
/// the raising function only, so a callback of any safety level may call them.
///
/// As a handle it is an address, and others may have handles of the same type that are addresses too:
/// [`is_at`](Instance::is_at) distinguishes them, by the first word.
#[derive(Debug)]
#[repr(C)]
pub struct Instance<'a> {
    pub(crate) mark: Mark,
    pub(crate) event: EventIndex,
    pub(crate) source_index: SourceIndex,
    pub(crate) safety: Safety,
    // The fields that differ between the instances of one event come one after the other.
    pub(crate) time: Cell<Time>,
    /// Whoever raises keeps this alive, and as it is, while callbacks have the instance.
    pub(crate) payload: NonNull<[u8]>,
    pub(crate) token: Token,
    pub(crate) event_type: &'a EventType,
    pub(crate) source: &'a Source,
    /// Set when a callback asks for the time.
    pub(crate) asked: &'a AtomicBool,
}

/// When an instance was observed, as far as that is known: its time stamp is made when somebody asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    /// Now: the clock was not read yet.
    Now,
    /// At this reading of the clock.
    Observed(Ticks),
    /// The time stamp, as it was returned to a callback.
    Stamp(Ticks),
}

/// The first word of an instance: an address that no other library uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Mark(usize);

impl Mark {
    #[inline(always)]
    pub(crate) fn ours() -> Self {
        // Writable, so that no other constant shares its place.
        static PLACE: AtomicU8 = AtomicU8::new(0);
        Mark(&raw const PLACE as usize)
    }
}

impl Instance<'_> {
    /// Whether an instance of this core is at `address`, and not a handle of another library. False for null.
    /// Signal-safe.
    ///
    /// # Safety
    /// The address is null, or that of at least eight readable bytes.
    #[inline]
    pub unsafe fn is_at(address: *const Instance<'_>) -> bool {
        // SAFETY: not null, so readable, as the caller promises; any bytes are a valid `Mark`.
        !address.is_null() && unsafe { address.cast::<Mark>().read_unaligned() } == Mark::ours()
    }

    /// The description of its type.
    pub fn event_type(&self) -> &EventType {
        self.event_type
    }

    /// The index of its type.
    pub fn event(&self) -> EventIndex {
        self.event
    }

    /// The control flow it comes from (`MPI_T_event_get_source`).
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

    /// When it was observed, in ticks of the source's clock, as the clock reads them: two sources of
    /// one clock can be compared. The callback may come later.
    #[inline]
    pub fn ticks(&self) -> Ticks {
        // Most often set already: a store each time would take the cache line from other threads.
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
        let observed = match self.time.get() {
            Time::Stamp(stamp) => return stamp,
            Time::Observed(observed) => observed,
            Time::Now => self.source.now(),
        };
        let stamp = self.source.stamp(observed);
        self.time.set(Time::Stamp(stamp));
        stamp
    }

    /// When it was observed, in ticks since the source's origin (`MPI_T_event_get_timestamp`).
    pub fn timestamp(&self) -> u64 {
        self.ticks().since(self.source.origin())
    }

    /// The whole payload (`MPI_T_event_copy`): [`EventType::extent`] bytes, not aligned.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        // SAFETY: the raiser keeps the payload alive and unchanged while callbacks have the instance, and only callbacks
        // get one.
        unsafe { self.payload.as_ref() }
    }

    /// The payload as the struct that it was raised with; `None` where the size differs.
    #[inline]
    pub fn payload_as<P: Pod>(&self) -> Option<P> {
        bytemuck::try_pod_read_unaligned(self.payload()).ok()
    }

    /// The bytes of one element (`MPI_T_event_read`); `None` where there is no such element.
    pub fn element(&self, index: usize) -> Option<&[u8]> {
        let element = self.event_type.elements.get(index)?;
        self.payload().get(element.displacement..element.displacement + element.datatype.size())
    }

    /// One element as a number; `None` where there is no such element or it is of another type.
    pub fn read<T: ElementValue>(&self, index: usize) -> Option<T> {
        let element = self.event_type.elements.get(index)?;
        (element.datatype == T::TYPE).then(|| self.element(index).map(bytemuck::pod_read_unaligned))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_another_library_is_no_instance() {
        let others = [0usize, 1, usize::MAX];
        for other in &others {
            // SAFETY: a word is eight readable bytes.
            assert!(!unsafe { Instance::is_at(std::ptr::from_ref(other).cast()) });
        }
        // SAFETY: null is allowed.
        assert!(!unsafe { Instance::is_at(std::ptr::null()) });
        let begins_like_one = [Mark::ours().0, 0];
        // SAFETY: two words are sixteen readable bytes.
        assert!(unsafe { Instance::is_at(begins_like_one.as_ptr().cast()) });
    }
}
