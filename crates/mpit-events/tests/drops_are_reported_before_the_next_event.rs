//! Every lost event is counted for its registration and reported once, in time.
#![allow(missing_docs)]
mod common;
use common::{MockConsumer, MockSource, note_dropped, note_freed};
use mpit_events::Safety;

#[test]
fn drops_come_before_the_next_delivery_and_only_once() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let handle = consumer.listen(&mock, mock.unbound, None);
    // SAFETY: `consumer` outlives the registration.
    unsafe { mock.core.set_dropped_handler(handle, Some((note_dropped, consumer.user_data()))) }.unwrap();
    mock.raise_at(Safety::ThreadSafe, 1);
    mock.raise_at(Safety::ThreadSafe, 2);
    mock.raise(3);
    mock.raise(4);
    let notes = consumer.take_notes();
    assert_eq!(notes[0], "dropped 2 source 0 safety 1");
    assert_eq!(notes.len(), 3, "{notes:?}");
}

#[test]
fn a_new_handler_starts_from_zero() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    mock.raise(1);
    // SAFETY: `consumer` outlives the registration.
    unsafe { mock.core.set_dropped_handler(handle, Some((note_dropped, consumer.user_data()))) }.unwrap();
    assert_eq!(mock.core.dropped(handle), Ok(0));
}

#[test]
fn the_last_drops_are_reported_before_the_free_callback() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    // SAFETY: `consumer` outlives the registration.
    unsafe { mock.core.set_dropped_handler(handle, Some((note_dropped, consumer.user_data()))) }.unwrap();
    for number in 0..5 {
        mock.raise_at(Safety::ThreadSafe, number);
    }
    mock.core.free(handle, Some((note_freed, consumer.user_data()))).unwrap();
    assert_eq!(consumer.take_notes(), ["dropped 5 source 0 safety 0", "freed safety 0"]);
}
