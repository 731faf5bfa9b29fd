//! Registrations: who listens to which event of which object.

use std::sync::Arc;

use crate::callback::{Callback, DroppedHandler, Safety};
use crate::event_type::EventIndex;
use crate::instance::Instance;
use crate::object::Object;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, shared_array};

/// The handle of a registration (`MPI_T_event_registration`; MPI-5.0, section 15.3.8).
///
/// A value with a generation, never a pointer, so that a stale one is recognised and not followed. Its highest bit is set,
/// which no address of a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Registration(pub usize);

/// An error of the events core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An event type or source index outside `0..num` (`MPI_T_ERR_INVALID_INDEX`).
    #[error("no event type or source has this index")]
    InvalidIndex,
    /// No event type of this name (`MPI_T_ERR_INVALID_NAME`).
    #[error("no event type has this name")]
    InvalidName,
    /// A registration that was freed or never existed, or no callback at this level
    /// (`MPI_T_ERR_INVALID_HANDLE`).
    #[error("the registration is not valid (freed, or never allocated)")]
    InvalidHandle,
    /// The event type is bound to an object and none was given (`MPI_T_ERR_INVALID_HANDLE`).
    #[error("this event type is bound to an object: give the object")]
    ObjectNeeded,
    /// More event types or registrations than the core can hold (`MPI_T_ERR_OUT_OF_HANDLES`).
    #[error("the limit of event types or registrations is reached")]
    OutOfHandles,
    /// The source has no clock that can be read at any time (`MPI_T_ERR_NOT_SUPPORTED`).
    #[error("this source cannot give a time stamp on demand")]
    NotSupported,
}

/// Set in every handle.
const MARK: usize = 1 << (usize::BITS - 1);
const INDEX_BITS: u32 = 22;
/// Generations count up to this and then begin again.
pub(crate) const MAX_GENERATION: usize = !MARK >> INDEX_BITS;
/// The most registrations that may be live at one time.
pub(crate) const MAX_REGISTRATIONS: usize = (1 << INDEX_BITS) - 2;

impl Registration {
    pub(crate) fn new(index: usize, generation: usize) -> Self {
        Registration(MARK | (generation << INDEX_BITS) | (index + 1))
    }

    pub(crate) fn index(self) -> Option<usize> {
        (self.0 & ((1 << INDEX_BITS) - 1)).checked_sub(1)
    }
}

/// A live registration. The table of handles and the lists of its object share it.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) handle: Registration,
    pub(crate) event: EventIndex,
    pub(crate) object: Arc<Object>,
    callbacks: [AtomicPtr<Callback>; 4],
    dropped_handler: AtomicPtr<DroppedHandler>,
    /// Events lost since the last report to the handler.
    dropped: AtomicU64,
}

impl Inner {
    pub(crate) fn new(handle: Registration, event: EventIndex, object: Arc<Object>) -> Self {
        Inner {
            handle,
            event,
            object,
            callbacks: shared_array![AtomicPtr::new(std::ptr::null_mut()); 4],
            dropped_handler: AtomicPtr::new(std::ptr::null_mut()),
            dropped: AtomicU64::new(0),
        }
    }

    /// Installs, replaces or removes the callback of a level; returns the old one, which may still
    /// be running.
    pub(crate) fn set_callback(&self, level: Safety, new: Option<Box<Callback>>) -> Option<Box<Callback>> {
        swap(&self.callbacks[level as usize], new)
    }

    pub(crate) fn has_callback(&self, level: Safety) -> bool {
        !self.callbacks[level as usize].load(Ordering::Acquire).is_null()
    }

    /// Installs, replaces or removes the handler of dropped events. The count starts anew.
    pub(crate) fn set_dropped_handler(
        &self,
        new: Option<Box<DroppedHandler>>,
    ) -> Option<Box<DroppedHandler>> {
        self.dropped.store(0, Ordering::Relaxed);
        swap(&self.dropped_handler, new)
    }

    /// Counts lost events; saturates.
    pub(crate) fn drop_events(&self, count: u64) {
        let add = |dropped: u64| Some(dropped.saturating_add(count));
        let _ = self.dropped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// The events lost and not yet reported.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Delivers an instance to the callback of the smallest level that is at least the instance's;
    /// where there is none, the event is lost for this registration and counted.
    #[inline]
    pub(crate) fn deliver(&self, instance: &Instance<'_>) {
        let mut callback = std::ptr::null_mut();
        for slot in &self.callbacks[instance.safety as usize..] {
            callback = slot.load(Ordering::SeqCst);
            if !callback.is_null() {
                break;
            }
        }
        if callback.is_null() {
            return self.drop_events(1);
        }
        if self.dropped.load(Ordering::Relaxed) != 0 {
            self.report_dropped(instance.safety, instance.source_index.get());
        }
        // SAFETY: the callback was installed by `set_callback`, and one that is replaced lives
        // until every raise section that could have loaded it is over (`grace`); we are in one.
        let callback = unsafe { &*callback };
        callback.alive.used();
        // SAFETY: the consumer promised a function of this type, safe at this level; the instance
        // outlives the call.
        unsafe {
            (callback.function)(instance, self.handle, instance.safety as i32, callback.user_data.0);
        }
    }

    /// Reports the lost events, once, to the handler where there is one. Called in a section.
    #[cold]
    #[inline(never)]
    pub(crate) fn report_dropped(&self, safety: Safety, source: usize) {
        let handler = self.dropped_handler.load(Ordering::SeqCst);
        if handler.is_null() {
            return;
        }
        let count = self.dropped.swap(0, Ordering::Relaxed);
        if count == 0 {
            return;
        }
        // SAFETY: the handler was installed by `set_dropped_handler`, and one that is replaced lives until every
        // raise section that could have loaded it is over (`grace`); we are in one, also at the end of a
        // registration.
        let handler = unsafe { &*handler };
        handler.alive.used();
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        // SAFETY: the consumer promised a function of this type.
        unsafe {
            (handler.function)(count, self.handle, source as i32, safety as i32, handler.user_data.0);
        }
    }
}

fn swap<T>(slot: &AtomicPtr<T>, new: Option<Box<T>>) -> Option<Box<T>> {
    let old = slot.swap(new.map_or(std::ptr::null_mut(), Box::into_raw), Ordering::SeqCst);
    // SAFETY: the pointer came from `Box::into_raw` in an earlier call, and the swap gave it to us
    // alone. The caller keeps the box until no raise section can still use it.
    (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
}

impl Drop for Inner {
    fn drop(&mut self) {
        for level in Safety::ALL {
            drop(self.set_callback(level, None));
        }
        drop(self.set_dropped_handler(None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_handle_is_an_address() {
        for (index, generation) in [(0, 0), (MAX_REGISTRATIONS - 1, MAX_GENERATION), (7, 1 << 26)] {
            let handle = Registration::new(index, generation);
            assert!((handle.0 as isize) < 0, "{handle:?} has the bit that no address has");
            assert_eq!(handle.index(), Some(index));
        }
    }
}
