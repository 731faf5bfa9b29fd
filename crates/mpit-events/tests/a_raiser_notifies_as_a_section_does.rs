//! A single event of a raiser, events that were observed together, and events of a section reach the same listeners, with times
//! that never go back.
#![allow(missing_docs)]
mod common;
use std::sync::{Arc, Mutex};

use common::{MockSource, Number};
use mpit_events::{BindKind, BulkListener, Object, Record, Safety, SourceIndex, Ticks, Token};

/// What was heard: numbers and times.
type Heard = Arc<Mutex<Vec<(u64, u64)>>>;

struct Bulk(Heard);

impl BulkListener for Bulk {
    fn events(&self, _: SourceIndex, records: &[Record]) {
        let number = |record: &Record| u64::from_ne_bytes(record.payload().try_into().unwrap());
        self.0.lock().unwrap().extend(records.iter().map(|record| (number(record), record.ticks.0)));
    }
}

fn listen(mock: &MockSource) -> (Arc<Object>, Heard) {
    let heard = Heard::default();
    let handle = mock.core.alloc(mock.bound, Some(Token(1))).unwrap();
    let to = heard.clone();
    let hear = move |instance: &mpit_events::Instance<'_>| {
        to.lock().unwrap().push((instance.read(0).unwrap(), instance.ticks().0));
    };
    mock.core.set_callback(handle, Safety::ThreadSafe, hear).unwrap();
    (mock.core.bind(BindKind::Comm, Token(1)), heard)
}

fn taken(heard: &Heard) -> Vec<(u64, u64)> {
    std::mem::take(&mut heard.lock().unwrap())
}

#[test]
fn time_stamps_never_go_back_and_are_the_same_for_all() {
    let mock = MockSource::new();
    let (object, one) = listen(&mock);
    let (_, other) = listen(&mock);
    let raiser = mock.core.raiser(mock.source);
    let mut prepared = raiser.prepare(Safety::MpiRestricted, mock.bound, &object).unwrap();
    let mut raise = |number, observed| raiser.event(&mut prepared, &object, observed, &Number { number });
    raise(1, Some(Ticks(50)));
    raise(2, Some(Ticks(40)));
    raise(3, Some(Ticks(60)));
    let expected = [(1, 50), (2, 50), (3, 60)];
    assert_eq!((taken(&one), taken(&other)), (expected.to_vec(), expected.to_vec()));

    let section = raiser.section(Safety::MpiRestricted);
    let numbers = [4, 5].map(|number| Number { number });
    section.events(&object, Ticks(55), numbers.iter().map(|number| (mock.bound, number)));
    let expected = [(4, 60), (5, 60)];
    assert_eq!((taken(&one), taken(&other)), (expected.to_vec(), expected.to_vec()));

    let before = mock.core.source(mock.source).unwrap().now();
    raise(6, None);
    let now = taken(&one)[0].1;
    assert!(now >= before.0 && now <= mock.core.source(mock.source).unwrap().now().0);
    assert_eq!(taken(&other), [(6, now)]);
}

#[test]
fn bulk_listeners_hear_it_too_unless_the_producer_knows_that_there_are_none() {
    let mock = MockSource::new();
    let (object, heard) = listen(&mock);
    let bulk: &'static Bulk = Box::leak(Box::new(Bulk(Heard::default())));
    mock.core.listen_in_bulk(&[mock.bound], bulk).unwrap();
    let raiser = mock.core.raiser(mock.source);
    let level = Safety::MpiRestricted;
    let mut prepared = raiser.prepare(level, mock.bound, &object).unwrap();
    raiser.event(&mut prepared, &object, Some(Ticks(7)), &Number { number: 1 });
    raiser.event_to_registrations(&mut prepared, &object, Some(Ticks(8)), &Number { number: 2 });
    let numbers = [3, 4].map(|number| Number { number });
    let events = numbers.iter().map(|number| (mock.bound, number));
    raiser.section(level).events(&object, Ticks(9), events);
    raiser.event(&mut prepared, &object, None, &Number { number: 5 });
    let (bulk, heard) = (taken(&bulk.0), taken(&heard));
    assert_eq!(bulk[..3], [(1, 7), (3, 9), (4, 9)]);
    assert_eq!(heard[..4], [(1, 7), (2, 8), (3, 9), (4, 9)]);
    assert_eq!(bulk[3], heard[4], "the clock was read once");
    assert_eq!(bulk[3].0, 5);
}

#[test]
fn events_raised_together_are_heard_by_those_who_listen_when_each_is_raised() {
    let mock: &'static MockSource = Box::leak(Box::new(MockSource::new()));
    let (object, heard) = listen(mock);
    let core = &mock.core;
    let handle = core.alloc(mock.bound, Some(Token(1))).unwrap();
    let until = Arc::new(Mutex::new(Vec::new()));
    let noted = until.clone();
    let number = |instance: &mpit_events::Instance<'_>| instance.payload_as::<Number>().unwrap().number;
    let callback = move |instance: &mpit_events::Instance<'_>| {
        noted.lock().unwrap().push((number(instance), instance.event()));
        if number(instance) == 2 {
            core.free(handle, None).unwrap();
        }
    };
    mock.core.set_callback(handle, Safety::MpiRestricted, callback).unwrap();
    let raiser = mock.core.raiser(mock.source);
    let numbers = [1, 2, 3].map(|number| Number { number });
    let of = |number: &Number| if number.number == 1 { mock.unbound } else { mock.bound };
    let events = numbers.iter().map(|number| (of(number), number));
    raiser.section(Safety::MpiRestricted).events(&object, Ticks(9), events);
    assert_eq!(*until.lock().unwrap(), [(2, mock.bound)]);
    assert_eq!(taken(&heard), [(2, 9), (3, 9)]);
}
