//! Freeing: in the own callback, twice, with events in flight on other threads.
#![allow(missing_docs)]
mod common;
use common::{MockConsumer, MockSource, note_freed};
use mpit_events::{Core, Error, Registration, Safety};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

#[test]
fn a_stale_handle_is_recognised() {
    let mock = MockSource::new();
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    mock.core.free(handle, None).unwrap();
    assert_eq!(mock.core.free(handle, None), Err(Error::InvalidHandle));
    let again = mock.core.alloc(mock.unbound, None).unwrap();
    assert_ne!(handle, again, "the slot is reused with another generation");
    assert_eq!(mock.core.dropped(handle), Err(Error::InvalidHandle));
    for forged in [0, 1, usize::MAX, handle.0 ^ 1] {
        assert_eq!(mock.core.dropped(Registration(forged)), Err(Error::InvalidHandle));
    }
}

#[test]
fn freed_in_its_own_callback_the_free_callback_runs_once_afterwards() {
    let (mock, consumer) = (Arc::new(MockSource::new()), Arc::new(MockConsumer::default()));
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    let (weak, notes) = (Arc::downgrade(&mock), consumer.clone());
    let callback = move |_: &mpit_events::Instance<'_>| {
        let mock = weak.upgrade().unwrap();
        mock.core.free(handle, Some((note_freed, notes.user_data()))).unwrap();
        notes.note("still in the callback".into());
    };
    mock.core.set_callback(handle, Safety::MpiRestricted, callback).unwrap();
    mock.raise(1);
    mock.raise(2);
    assert_eq!(consumer.take_notes(), ["still in the callback", "freed safety 0"]);
    assert!(!mock.core.is_active(mock.unbound));
}

#[test]
fn a_registration_made_in_a_callback_misses_the_current_event() {
    let (mock, consumer) = (Arc::new(MockSource::new()), MockConsumer::default());
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    let (weak, inner) = (Arc::downgrade(&mock), consumer.clone());
    let once = OnceLock::new();
    let callback = move |_: &mpit_events::Instance<'_>| {
        let mock = weak.upgrade().unwrap();
        once.get_or_init(|| inner.listen(&mock, mock.unbound, None));
    };
    mock.core.set_callback(handle, Safety::MpiRestricted, callback).unwrap();
    mock.raise(1);
    assert!(consumer.take_notes().is_empty());
    mock.raise(2);
    assert_eq!(consumer.take_notes().len(), 1);
}

// Rule 22.
#[test]
fn recursion_is_bounded_and_counted() {
    let mock = Arc::new(MockSource::new());
    let (depth, weak) = (Arc::new(AtomicUsize::new(0)), Arc::downgrade(&mock));
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    let calls = depth.clone();
    let callback = move |_: &mpit_events::Instance<'_>| {
        calls.fetch_add(1, Ordering::Relaxed);
        weak.upgrade().unwrap().raise(0);
    };
    mock.core.set_callback(handle, Safety::MpiRestricted, callback).unwrap();
    mock.raise(1);
    assert_eq!(depth.load(Ordering::Relaxed), mpit_events::MAX_DEPTH);
    assert_eq!(mock.core.dropped(handle), Ok(1));
}

#[test]
fn raising_and_freeing_on_many_threads_frees_each_once() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn count(_: Registration, _: i32, _: *mut std::ffi::c_void) {
        FREED.fetch_add(1, Ordering::Relaxed);
    }
    let mock = MockSource::new();
    let over = AtomicBool::new(false);
    let core: &Core = &mock.core;
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 2000 };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    mock.raise(1);
                }
            });
        }
        let freeing: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let handle = core.alloc(mock.unbound, None).unwrap();
                        core.set_callback(handle, Safety::MpiRestricted, |_| ()).unwrap();
                        core.free(handle, Some((count, mpit_events::UserData(std::ptr::null_mut()))))
                            .unwrap();
                    }
                })
            })
            .collect();
        freeing.into_iter().for_each(|thread| thread.join().unwrap());
        over.store(true, Ordering::Relaxed);
    });
    mock.raise(1);
    let last = core.alloc(mock.unbound, None).unwrap();
    core.free(last, None).unwrap();
    assert_eq!(FREED.load(Ordering::Relaxed), 2 * ROUNDS);
}
