//! What is raised reaches bulk listeners too, alone or collected, and registrations only once.
#![allow(missing_docs)]
mod common;
use std::sync::Mutex;

use common::{MockConsumer, MockSource, Number};
use mpit_events::{BindKind, BulkListener, Record, Safety, SourceIndex, Ticks, Token};

#[derive(Default)]
struct Numbers(Mutex<Vec<u64>>);

impl BulkListener for Numbers {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        let number = |record: &Record| u64::from_ne_bytes(record.payload().try_into().unwrap());
        self.0.lock().unwrap().extend(records.iter().map(number));
    }
}

#[test]
fn alone_and_collected() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let numbers: &'static Numbers = Box::leak(Box::default());
    assert!(!mock.core.is_active(mock.bound));
    mock.core.listen_in_bulk(&[mock.bound], numbers).unwrap();
    assert!(mock.core.is_active(mock.bound) && !mock.core.has_registrations());
    consumer.listen(&mock, mock.bound, Some(Token(1)));

    let object = mock.core.bind(BindKind::Comm, Token(1));
    mock.raise_on(&object, 1);
    mock.raise(99);
    let record = |number| Record::new(mock.bound, 0, Ticks(number), false, &Number { number });
    let section = mock.core.raise_section(mock.source, Safety::MpiRestricted);
    section.records(&[record(2), record(3)], false, &[object]);
    assert_eq!(*numbers.0.lock().unwrap(), [1, 2, 3]);
    assert_eq!(consumer.take_notes().len(), 3);
}

/// A producer that raises in a signal handler keeps its records for bulk listeners.
#[test]
fn never_in_a_signal_handler_but_later() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let numbers: &'static Numbers = Box::leak(Box::default());
    assert!(!mock.core.has_bulk_listeners());
    mock.core.listen_in_bulk(&[mock.bound], numbers).unwrap();
    assert!(mock.core.has_bulk_listeners());
    let handle = mock.core.alloc(mock.bound, Some(Token(1))).unwrap();
    consumer.listen_at(&mock, handle, Safety::AsyncSignalSafe);
    let objects = [mock.core.bind(BindKind::Comm, Token(1))];
    let record = |number| Record::new(mock.bound, 0, Ticks(number), false, &Number { number });

    let handler = mock.core.raise_section(mock.source, Safety::AsyncSignalSafe);
    handler.records(&[record(1)], false, &objects);
    handler.event(mock.bound, &objects[0], Ticks(2), &Number { number: 2 });
    drop(handler);
    let section = mock.core.raise_section(mock.source, Safety::MpiRestricted);
    section.records_to_registrations(&[record(3)], false, &objects);
    assert_eq!(*numbers.0.lock().unwrap(), [0; 0]);
    assert_eq!(consumer.take_notes().len(), 3);

    section.records(&[record(1).bulk_only(), record(3).bulk_only(), record(4)], false, &objects);
    assert_eq!(*numbers.0.lock().unwrap(), [1, 3, 4]);
    assert_eq!(consumer.take_notes(), ["4 at AsyncSignalSafe raised MpiRestricted"]);
}
