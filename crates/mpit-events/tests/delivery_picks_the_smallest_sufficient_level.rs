//! A callback of a higher level may run in a lower context, never the reverse.
#![allow(missing_docs)]
mod common;
use common::{MockConsumer, MockSource};
use mpit_events::Safety;

#[test]
fn the_smallest_level_at_least_the_raise_level_is_called() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let handle = mock.core.alloc(mock.unbound, None).unwrap();
    consumer.listen_at(&mock, handle, Safety::None);
    consumer.listen_at(&mock, handle, Safety::ThreadSafe);
    mock.raise_at(Safety::None, 1);
    mock.raise_at(Safety::MpiRestricted, 2);
    mock.raise_at(Safety::ThreadSafe, 3);
    mock.raise_at(Safety::AsyncSignalSafe, 4);
    assert_eq!(
        consumer.take_notes(),
        [
            "1 at None raised None",
            "2 at ThreadSafe raised MpiRestricted",
            "3 at ThreadSafe raised ThreadSafe"
        ]
    );
    assert_eq!(mock.core.dropped(handle), Ok(1));
}
