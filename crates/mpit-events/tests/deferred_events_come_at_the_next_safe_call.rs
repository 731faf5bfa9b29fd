//! Rule 38: producers that may not call back count without a lock; the next safe call delivers one event,
//! before the set of registrations changes.
#![allow(missing_docs)]
mod common;
use common::{MockConsumer, MockSource, note_dropped, note_freed};
use mpit_events::{Deferred, Error, Registration, Safety};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const AT: Safety = Safety::MpiRestricted;

fn add(mock: &MockSource) -> &Deferred {
    mock.core.add_deferred("allocations", "Memory was allocated.", mock.source, AT).unwrap()
}

fn listen(
    mock: &MockSource,
    deferred: &Deferred,
    consumer: &MockConsumer,
    who: &'static str,
) -> Registration {
    let handle = mock.core.alloc(deferred.event(), None).unwrap();
    let notes = consumer.clone();
    let callback = move |instance: &mpit_events::Instance<'_>| {
        notes.note(format!("{who} {}", instance.read::<u64>(0).unwrap()));
    };
    mock.core.set_callback(handle, AT, callback).unwrap();
    handle
}

#[test]
fn what_was_counted_comes_as_one_event() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let deferred = add(&mock);
    listen(&mock, deferred, &consumer, "a");
    (0..5).for_each(|_| deferred.note(&mock.core, 2));
    assert!(consumer.take_notes().is_empty(), "nothing is called where it is counted");
    mock.core.deliver_deferred();
    mock.core.deliver_deferred();
    assert_eq!(consumer.take_notes(), ["a 10"]);
}

#[test]
fn a_new_registration_hears_nothing_of_what_was_before_it() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let deferred = add(&mock);
    deferred.note(&mock.core, 100);
    listen(&mock, deferred, &consumer, "a");
    deferred.note(&mock.core, 1);
    listen(&mock, deferred, &consumer, "b");
    assert_eq!(consumer.take_notes(), ["a 1"], "delivered before there is a second registration");
    deferred.note(&mock.core, 2);
    mock.core.deliver_deferred();
    assert_eq!(consumer.take_notes(), ["a 2", "b 2"]);
}

#[test]
fn a_registration_that_ends_has_heard_all() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let deferred = add(&mock);
    let handle = listen(&mock, deferred, &consumer, "a");
    deferred.note(&mock.core, 3);
    mock.core.free(handle, Some((note_freed, consumer.user_data()))).unwrap();
    assert_eq!(consumer.take_notes(), ["a 3", "freed safety 0"]);
    deferred.note(&mock.core, 4);
    listen(&mock, deferred, &consumer, "b");
    mock.core.deliver_deferred();
    assert!(consumer.take_notes().is_empty(), "nobody listened when it was counted");
}

#[test]
fn drops_of_what_was_before_a_handler_are_not_its_affair() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let deferred = add(&mock);
    let handle = mock.core.alloc(deferred.event(), None).unwrap();
    let set = || {
        // SAFETY: the consumer outlives the registration.
        unsafe { mock.core.set_dropped_handler(handle, Some((note_dropped, consumer.user_data()))) }.unwrap();
    };
    deferred.note(&mock.core, 7);
    set();
    mock.core.free(handle, None).unwrap();
    assert!(consumer.take_notes().is_empty());
    let again = mock.core.alloc(deferred.event(), None).unwrap();
    // SAFETY: the consumer outlives the registration.
    unsafe { mock.core.set_dropped_handler(again, Some((note_dropped, consumer.user_data()))) }.unwrap();
    deferred.note(&mock.core, 7);
    mock.core.free(again, None).unwrap();
    assert_eq!(
        consumer.take_notes(),
        ["dropped 1 source 0 safety 0"],
        "one event, however often it happened"
    );
}

#[test]
fn nothing_is_counted_twice_or_not_at_all_by_many_threads() {
    const EACH: u64 = 20_000;
    let mock = MockSource::new();
    let deferred = add(&mock);
    let handle = mock.core.alloc(deferred.event(), None).unwrap();
    let sum = Arc::new(AtomicU64::new(0));
    let counted = sum.clone();
    let add_up = move |instance: &mpit_events::Instance<'_>| {
        counted.fetch_add(instance.read::<u64>(0).unwrap(), Ordering::Relaxed);
    };
    mock.core.set_callback(handle, Safety::ThreadSafe, add_up).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..EACH).for_each(|_| deferred.note(&mock.core, 1)));
        }
        for _ in 0..2 {
            scope.spawn(|| (0..500).for_each(|_| mock.core.deliver_deferred()));
        }
    });
    mock.core.deliver_deferred();
    assert_eq!(sum.load(Ordering::Relaxed), 4 * EACH);
}

#[test]
fn names_are_unique_and_places_are_limited() {
    let mock = MockSource::new();
    add(&mock);
    let again = mock.core.add_deferred("allocations", "", mock.source, AT);
    assert_eq!(again.err(), Some(Error::InvalidName));
    assert_eq!(mock.core.add_deferred("bound", "", mock.source, AT).err(), Some(Error::InvalidName));
    let added = (0..100)
        .take_while(|number| mock.core.add_deferred(&format!("d{number}"), "", mock.source, AT).is_ok());
    assert_eq!(added.count(), 15);
    assert_eq!(mock.core.add_deferred("more", "", mock.source, AT).err(), Some(Error::OutOfHandles));
    assert_eq!(mock.core.type_by_name("more"), Err(Error::InvalidName), "no type is left behind");
}
