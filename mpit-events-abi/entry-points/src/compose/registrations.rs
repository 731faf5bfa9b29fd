//! The registrations that tools have made with the MPI through this library.
//!
//! An MPI follows every registration handle that it is given. So only handles that it has given out
//! itself, and that were not freed since, may reach it: those in this list.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use mpit_events::UserData;

use crate::callback::DroppedFunction;

/// A tool's handler of dropped events, and its own user data where it has some.
type Handler = (DroppedFunction, Option<UserData>);

/// In the place of a handle while its place is given up. No handle of an MPI.
const LEAVING: usize = 1;

/// A place in the list; it stays, and is taken again after its registration has ended.
struct Entry {
    /// The handle; 0 for none.
    handle: AtomicUsize,
    /// The tool's handler of dropped events, or null. Those that are replaced stay, as they may be
    /// running: tools set few.
    dropped: AtomicPtr<Handler>,
    next: *const Entry,
}

/// Registrations, in no order. All methods are thread-safe; those that do not add are signal-safe.
pub(crate) struct Registrations(AtomicPtr<Entry>);

impl Registrations {
    pub(crate) const fn new() -> Self {
        Registrations(AtomicPtr::new(ptr::null_mut()))
    }

    fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        let mut at: *const Entry = self.0.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: entries are leaked: an address in the list is valid for ever.
            let entry = unsafe { at.as_ref() }?;
            at = entry.next;
            Some(entry)
        })
    }

    fn find(&self, handle: usize) -> Option<&'static Entry> {
        self.entries().find(|entry| handle > LEAVING && entry.handle.load(Ordering::Acquire) == handle)
    }

    /// The MPI has given out this handle.
    pub(crate) fn add(&self, handle: usize) {
        let take = |entry: &&Entry| {
            entry.handle.compare_exchange(0, handle, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        if self.entries().find(take).is_some() {
            return;
        }
        let (value, dropped) = (AtomicUsize::new(handle), AtomicPtr::new(ptr::null_mut()));
        let mut next = self.0.load(Ordering::Acquire);
        let entry = Box::into_raw(Box::new(Entry { handle: value, dropped, next }));
        while let Err(newer) = self.0.compare_exchange(next, entry, Ordering::AcqRel, Ordering::Acquire) {
            next = newer;
            // SAFETY: nobody else knows the entry before it is in the list.
            unsafe { (*entry).next = next };
        }
    }

    pub(crate) fn contains(&self, handle: usize) -> bool {
        self.find(handle).is_some()
    }

    /// The registration ends; whether it was there. Of several threads one is told so.
    pub(crate) fn remove(&self, handle: usize) -> bool {
        let Some(entry) = self.find(handle) else { return false };
        let ours = entry.handle.compare_exchange(handle, LEAVING, Ordering::AcqRel, Ordering::Relaxed);
        if ours.is_ok() {
            entry.dropped.store(ptr::null_mut(), Ordering::Relaxed);
            entry.handle.store(0, Ordering::Release);
        }
        ours.is_ok()
    }

    /// Sets the tool's handler of dropped events.
    pub(crate) fn set_dropped(&self, handle: usize, handler: Option<Handler>) {
        if let Some(entry) = self.find(handle) {
            let handler = handler.map_or(ptr::null_mut(), |handler| Box::into_raw(Box::new(handler)));
            entry.dropped.store(handler, Ordering::Release);
        }
    }

    /// The tool's handler of dropped events.
    pub(crate) fn dropped(&self, handle: usize) -> Option<Handler> {
        let handler = self.find(handle)?.dropped.load(Ordering::Acquire);
        // SAFETY: made of a box above, and never freed.
        unsafe { handler.as_ref() }.copied()
    }

    /// Takes all of them out.
    pub(crate) fn take_all(&self) -> Vec<usize> {
        let all = self.entries().map(|entry| entry.handle.load(Ordering::Acquire));
        all.filter(|&handle| self.remove(handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};

    use mpit_events::Registration;

    use super::*;

    #[test]
    fn a_registration_ends_once() {
        let list = Registrations::new();
        list.add(16);
        list.add(32);
        assert!(list.contains(16) && list.contains(32) && !list.contains(48) && !list.contains(0));
        assert!(list.remove(16) && !list.remove(16) && !list.contains(16));
        list.add(48);
        list.add(64);
        let mut all = list.take_all();
        all.sort_unstable();
        assert_eq!(all, [32, 48, 64]);
        assert!(list.take_all().is_empty());
    }

    #[test]
    fn a_handler_goes_with_its_registration() {
        let list = Registrations::new();
        unsafe extern "C" fn on_dropped(_: i64, _: Registration, _: c_int, _: c_int, _: *mut c_void) {}
        list.add(16);
        list.set_dropped(16, Some((on_dropped, None)));
        assert!(list.dropped(16).is_some());
        assert!(list.remove(16));
        list.set_dropped(16, Some((on_dropped, None)));
        list.add(32);
        assert!(list.dropped(16).is_none() && list.dropped(32).is_none());
    }

    #[test]
    fn of_many_threads_one_ends_a_registration() {
        let list = Registrations::new();
        let ended = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                (1..=200).for_each(|number| list.add(number * 100 + thread));
            }
            for _ in 0..4 {
                scope.spawn(|| {
                    for handle in
                        (1..=200).flat_map(|number| (1..=4).map(move |thread| number * 100 + thread))
                    {
                        ended.fetch_add(usize::from(list.remove(handle)), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(ended.into_inner(), 800);
    }
}
