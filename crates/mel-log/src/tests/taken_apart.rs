//! Records that hold several things: calls, and pairs of events.

use super::super::format::{
    CHUNK_BYTES, HEADER_BYTES, NO_OBJECT, PAYLOAD_BYTES, Pair, RECORDS_PER_CHUNK, chunk, u16_at,
};
use super::super::*;
use super::{EVENT, create, numbered};

const FUNCTION: u16 = 0x1234;

fn kinds(log: &RankLog) -> Vec<(u64, u16)> {
    log.records(0).map(|record| (record.time, record.kind)).collect()
}

#[test]
fn a_call_is_entered_and_left_around_what_happens_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    assert!(calls.enter(10, FUNCTION, 0));
    assert!(calls.append(10, kind::MPI_SEND, 0, &Message::default().to_payload()));
    assert!(calls.post(7));
    // Only one fits.
    assert!(!calls.post(8));
    assert!(calls.append(30, kind::MPI_IRECV_REQUEST, NO_OBJECT, &Completion { request: 8 }.to_payload()));
    assert!(calls.leave(20));
    assert!(calls.leave(20), "no call is under way");
    assert!(!calls.post(9));
    assert!(calls.enter(40, FUNCTION + 1, 0));
    let read = RankLog::open(&path).unwrap();
    assert_eq!(
        kinds(&read),
        [
            (10, kind::ENTER),
            (10, kind::MPI_SEND),
            (30, kind::MPI_IRECV_REQUEST),
            (30, kind::MPI_IRECV_REQUEST),
            (30, kind::LEAVE),
            // The process ended in this one.
            (40, kind::ENTER),
        ]
    );
    let requests = read.records(0).filter(|record| record.kind == kind::MPI_IRECV_REQUEST);
    let requests: Vec<u32> = requests.map(|r| Completion::from_payload(&r.payload).request).collect();
    assert_eq!(requests, [8, 7]);
    let functions = read.records(0).filter(|record| matches!(record.kind, kind::ENTER | kind::LEAVE));
    let functions: Vec<u16> = functions.map(|record| u16_at(&record.payload, 0)).collect();
    assert_eq!(functions, [FUNCTION, FUNCTION, FUNCTION + 1]);
}

#[test]
fn an_entry_has_the_address_that_it_returns_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    let site = |address: u64| address.to_le_bytes();
    assert!(calls.append(5, kind::CALLSITE, NO_OBJECT, &site(1)), "of no call");
    assert!(calls.append(6, kind::ENTER, NO_OBJECT, &FUNCTION.to_le_bytes()));
    assert!(calls.append(6, kind::CALLSITE, NO_OBJECT, &site(2)));
    assert!(calls.append(7, kind::LEAVE, NO_OBJECT, &FUNCTION.to_le_bytes()));
    for number in 1..RECORDS_PER_CHUNK as u64 {
        // In the first of these the chunk ends.
        let time = 10 * number;
        assert!(calls.enter(time, FUNCTION, 0));
        assert!(calls.append(time, kind::CALLSITE, NO_OBJECT, &site(u64::MAX - number)));
        assert!(calls.leave(1) || calls.append(time + 1, kind::LEAVE, NO_OBJECT, &FUNCTION.to_le_bytes()));
    }
    assert!(calls.enter(1 << 40, FUNCTION, 0));
    let read = RankLog::open(&path).unwrap();
    let entries = read.records(0).filter(|record| record.kind == kind::ENTER);
    let entries: Vec<Entry> = entries.map(|record| Entry::from_payload(&record.payload)).collect();
    let addresses: Vec<u64> = entries.iter().map(|entry| entry.returns_to).collect();
    let after = (1..RECORDS_PER_CHUNK as u64).map(|number| u64::MAX - number);
    assert_eq!(addresses, [2].into_iter().chain(after).chain([0]).collect::<Vec<_>>());
    assert!(entries.iter().all(|entry| entry.function == FUNCTION));
    assert!(read.records(0).all(|record| record.kind != kind::CALLSITE));
    assert_eq!(Entry::from_payload(&entries[1].to_payload()), entries[1]);
}

#[test]
fn an_address_is_in_the_module_around_it() {
    let mut definitions = Definitions::default();
    for (start, path) in [(100, "a"), (300, "b")] {
        definitions.add(Definition::Module { start, end: start + 50, bias: start, path: path.into() });
    }
    let path = |address| definitions.module_of(address).map(|module| module.path.as_str());
    let found = [99, 100, 149, 150, 310, 350].map(path);
    assert_eq!(found, [None, Some("a"), Some("a"), None, Some("b"), None]);
}

#[test]
fn a_call_in_which_a_chunk_ends_is_left_by_a_record_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    assert!(calls.enter(1, FUNCTION, 0));
    for number in 0..RECORDS_PER_CHUNK as u64 {
        assert!(calls.append(2, EVENT, 0, &numbered(number)));
    }
    assert!(!calls.leave(5));
    assert!(calls.append(6, kind::LEAVE, NO_OBJECT, &FUNCTION.to_le_bytes()));
    let kinds = kinds(&RankLog::open(&path).unwrap());
    assert_eq!(kinds.len(), RECORDS_PER_CHUNK + 2);
    assert_eq!((kinds[0], *kinds.last().unwrap()), ((1, kind::ENTER), (6, kind::LEAVE)));
}

/// These elements, and zeros behind them.
fn padded(elements: &[u8]) -> [u8; PAYLOAD_BYTES] {
    let mut padded = [0; PAYLOAD_BYTES];
    padded[..elements.len()].copy_from_slice(elements);
    padded
}

fn pair(elements: &[u8], duration: u64) -> Option<[u8; PAYLOAD_BYTES]> {
    Pair::to_payload(&padded(elements), elements.len(), duration)
}

fn pair_with(elements: &[u8], duration: u64, request: u64) -> Option<[u8; PAYLOAD_BYTES]> {
    Pair::to_payload_with(&padded(elements), elements.len(), duration, request)
}

#[test]
fn a_pair_is_two_events() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    log.define(&Definition::Pair { begin: 3, end: 5, inserts: None, removes: None }).unwrap();
    let mut events = log.stream(StreamKind::Events, 0, Some(0));
    let elements: Vec<u8> = (1..=16).collect();
    events.append(100, kind::PAIR + 3, 2, &pair(&elements, 9).unwrap());
    // Of an unknown pair the first is known.
    events.append(200, kind::PAIR + 4, 2, &pair(&elements[..3], 9).unwrap());
    assert!(pair(&elements, 1 << 32).is_none());
    assert!(pair(&[0; 17], 1).is_none());
    let read = RankLog::open(&path).unwrap();
    assert_eq!(kinds(&read), [(100, kind::EVENT + 3), (109, kind::EVENT + 5), (200, kind::EVENT + 4)]);
    for record in read.records(0).take(2) {
        assert_eq!((record.object, &record.payload[..]), (2, &elements[..]));
    }
}

#[test]
fn a_pair_may_tell_of_a_queue_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let element =
        |name: &str, displacement| Element { name: name.into(), datatype: "MPI_INT".into(), displacement };
    let types = [(3, vec![element("source", 0), element("sequence", 8)]), (6, vec![element("tag", 12)])];
    for (number, elements) in types {
        let (name, description, bind) = (format!("type {number}"), String::new(), String::new());
        log.define(&Definition::EventType { number, name, description, bind, elements }).unwrap();
    }
    log.define(&Definition::Pair { begin: 3, end: 4, inserts: Some(10), removes: Some(11) }).unwrap();
    log.define(&Definition::Pair { begin: 6, end: 7, inserts: Some(12), removes: None }).unwrap();
    let mut events = log.stream(StreamKind::Events, 0, Some(0));
    let (short, long): (Vec<u8>, Vec<u8>) = ((1..=12).collect(), (1..=16).collect());
    events.append(100, kind::PAIR_INSERTING + 3, 2, &pair_with(&short, 5, 77).unwrap());
    events.append(200, kind::PAIR_REMOVING + 3, 2, &pair_with(&short, 5, 78).unwrap());
    events.append(300, kind::PAIR_INSERTING + 6, 2, &pair(&long, 5).unwrap());
    assert!(pair_with(&long, 5, 7).is_none());
    assert!(pair_with(&short, 5, 1 << 32).is_none());
    let read = RankLog::open(&path).unwrap();
    let events: Vec<(u64, u16, Vec<u8>)> = read
        .records(0)
        .map(|record| (record.time, record.kind - kind::EVENT, record.payload.into_vec()))
        .collect();
    let with = |request: u64| [&request.to_le_bytes()[..], &short].concat();
    let found = |place: usize| (events[place].0, events[place].1, &events[place].2[..]);
    let times: Vec<_> = events.iter().map(|(time, number, _)| (*time, *number)).collect();
    assert_eq!(
        times,
        [(100, 3), (105, 10), (105, 4), (200, 3), (205, 11), (205, 4), (300, 6), (305, 7), (305, 12)]
    );
    assert_eq!(found(1).2, with(77));
    assert_eq!(found(4).2, with(78));
    assert_eq!(found(8).2, long);
    assert_eq!(&found(0).2[..12], short);
}

#[test]
fn completions_share_a_record_and_are_read_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    for request in 1..=12 {
        assert!(calls.complete(50, request));
    }
    // Not of the same time; not the last record.
    assert!(calls.complete(51, 13));
    assert!(calls.append(51, EVENT, 0, &[]));
    assert!(calls.complete(51, 14));
    let read = RankLog::open(&path).unwrap();
    let records: Vec<(u64, u16, u32)> = read
        .records(0)
        .filter(|record| record.kind != EVENT)
        .map(|record| (record.time, record.kind, Completion::from_payload(&record.payload).request))
        .collect();
    let completed = |time, request| (time, kind::MPI_ISEND_COMPLETE, request);
    let mut expected: Vec<_> = (1..=12).map(|request| completed(50, request)).collect();
    expected.extend([completed(51, 13), completed(51, 14)]);
    assert_eq!(records, expected);
    // Twelve took three records.
    let stored = std::fs::read(&path).unwrap();
    let used = stored.chunks_exact(32).filter(|r| r[8..10] == kind::MPI_ISEND_COMPLETE.to_le_bytes());
    assert_eq!(used.filter(|r| u16_at(r, 0) == 50).count(), 3);
}

#[test]
fn a_call_has_room_for_a_receive_that_it_posts_and_a_send_that_it_completes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    assert!(calls.enter(40, 7, 0));
    assert!(calls.post(3));
    assert!(calls.complete(60, 4));
    assert!(calls.complete(60, 5));
    assert!(calls.leave(20));
    let read = RankLog::open(&path).unwrap();
    let records: Vec<(u64, u16, u32)> = read
        .records(0)
        .map(|record| (record.time, record.kind, Completion::from_payload(&record.payload).request))
        .collect();
    let expected = [
        (40, kind::ENTER, 7),
        (60, kind::MPI_ISEND_COMPLETE, 5),
        (60, kind::MPI_IRECV_REQUEST, 3),
        (60, kind::MPI_ISEND_COMPLETE, 4),
        (60, kind::LEAVE, 7),
    ];
    assert_eq!(records, expected);
}

/// A process that is killed while it copies a full chunk leaves two with one number.
#[test]
fn a_copy_that_is_not_whole_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut events = log.stream(StreamKind::Events, 0, Some(0));
    for number in 0..100 {
        events.append(number, EVENT, 0, &numbered(number));
    }
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.resize(bytes.len().next_multiple_of(CHUNK_BYTES) + HEADER_BYTES, 0);
    let window = (HEADER_BYTES..bytes.len())
        .step_by(CHUNK_BYTES)
        .find(|at| {
            bytes.get(at + chunk::KIND..).is_some_and(|rest| rest.first() == Some(&(chunk::EVENTS as u8)))
        })
        .unwrap();
    // The copy has the header and the first thirty records.
    let copy: Vec<u8> = bytes[window..window + 64 + 30 * 32].to_vec();
    bytes.extend_from_slice(&copy);
    let read = RankLog::from_bytes(bytes).unwrap();
    assert_eq!(read.records(0).count(), 100);
}
