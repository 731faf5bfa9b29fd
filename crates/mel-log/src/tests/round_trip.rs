use in_process::own_file::OwnFile;

use super::super::format::{MAX_PAYLOAD_BYTES, NO_OBJECT, RECORDS_PER_CHUNK, u64_at};
use super::super::{space, *};
use super::{EVENT, create, info, numbered};

#[test]
fn what_was_written_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(file_name(3));
    let log = create(&path);
    log.define(&Definition::Function { number: 2, name: "MPI_Isend".into() }).unwrap();
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    let mut events = log.stream(StreamKind::Events, 0, Some(4));
    let message = Message { peer: 1, tag: -5, bytes: 1 << 33, request: 9 };
    assert!(calls.append(10, kind::ENTER, NO_OBJECT, &2u16.to_le_bytes()));
    assert!(events.append(11, EVENT, 1, &[]));
    assert!(calls.append(12, kind::MPI_ISEND, 1, &message.to_payload()));
    log.finish(State::Finalised, 99);

    let read = RankLog::open(&path).unwrap();
    assert_eq!(read.info, info());
    assert_eq!((read.state, read.end_ticks, read.ended_early()), (State::Finalised, Some(99), false));
    assert_eq!(read.streams(), [0, 1]);
    assert_eq!(read.definitions.functions[&2], "MPI_Isend");
    let stream = read.definitions.streams[&1];
    assert_eq!((stream.kind, stream.thread, stream.source), (StreamKind::Events, 0, Some(4)));
    let calls: Vec<Record> = read.records(0).collect();
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].time, calls[0].kind, calls[0].object), (10, kind::ENTER, NO_OBJECT));
    assert_eq!(Message::from_payload(&calls[1].payload), message);
    let events: Vec<Record> = read.records(1).collect();
    assert_eq!((events.len(), events[0].event_type(), events[0].object), (1, Some(7), 1));
    assert_eq!(events[0].payload[..], [0; 20]);
    assert_eq!(read.records(77).count(), 0);
    assert_eq!(read.dropped_total(), 0);
}

#[test]
fn a_log_of_a_running_process_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut stream = log.stream(StreamKind::Calls, 0, None);
    stream.append(1, EVENT, 0, &[1]);
    let read = RankLog::open(&path).unwrap();
    assert!(read.ended_early());
    assert_eq!((read.end_ticks, read.records(0).count()), (None, 1));
    log.finish(State::Aborted, 5);
    assert_eq!(RankLog::open(&path).unwrap().state, State::Aborted);
}

#[test]
fn many_chunks_keep_their_order() {
    // Chunks that are packed when the log is finished, and as soon as they are full.
    for ticks in [3, 10_000] {
        many_chunks(ticks);
    }
}

/// Each record of a stream is `ticks` after the one before.
fn many_chunks(ticks: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let count = 2 * RECORDS_PER_CHUNK as u64 + 5;
    let mut streams = [log.stream(StreamKind::Calls, 0, None), log.stream(StreamKind::Calls, 1, None)];
    for number in 0..count {
        for stream in &mut streams {
            assert!(stream.append(number * ticks, EVENT, 0, &numbered(number)));
        }
    }
    let in_order = |read: &RankLog| {
        for stream in [0, 1] {
            let mut expected = 0;
            for record in read.records(stream) {
                assert_eq!((record.time, u64_at(&record.payload, 0)), (expected * ticks, expected));
                expected += 1;
            }
            assert_eq!(expected, count);
        }
        assert!(read.records_at_most() >= 2 * count as usize);
    };
    in_order(&RankLog::open(&path).unwrap());
    drop(streams);
    in_order(&RankLog::open(&path).unwrap());
    log.finish(State::Finalised, 1);
    let disk = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap()) * 512;
    assert!(disk < 2 * count * 2, "full chunks are packed, and their space is given back: {disk} bytes");
    in_order(&RankLog::open(&path).unwrap());
}

#[test]
fn long_payloads_come_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut stream = log.stream(StreamKind::Events, 0, Some(0));
    let payload = |length: usize| (0..length).map(|i| (i * 7 + length) as u8 | 1).collect::<Vec<u8>>();
    let lengths: Vec<usize> =
        [19, 20, 21, 40, 41, 200, MAX_PAYLOAD_BYTES].into_iter().cycle().take(2000).collect();
    for (i, length) in lengths.iter().enumerate() {
        assert!(stream.append(i as u64, EVENT, 1, &payload(*length)));
    }
    assert!(!stream.append(0, EVENT, 1, &payload(MAX_PAYLOAD_BYTES + 1)));
    assert_eq!(stream.dropped(), 1);
    let read = RankLog::open(&path).unwrap();
    let records: Vec<Record> = read.records(0).collect();
    assert_eq!(records.len(), lengths.len());
    for (i, (record, length)) in records.iter().zip(&lengths).enumerate() {
        assert_eq!((record.time, record.kind, record.object), (i as u64, EVENT, 1));
        assert_eq!(record.payload[..*length], payload(*length));
        assert!(record.payload[*length..].iter().all(|byte| *byte == 0));
    }
    assert_eq!(read.dropped(0), 1);
}

#[test]
fn threads_do_not_disturb_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let count = RECORDS_PER_CHUNK as u64 + 1000;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = log.clone();
            scope.spawn(move || {
                let mut stream = log.stream(StreamKind::Calls, thread, None);
                for number in 0..count {
                    stream.append(number, EVENT, thread as u16, &numbered(number));
                    if number % 1000 == 0 {
                        let name = format!("MPI_X{thread}_{number}");
                        log.define(&Definition::Function { number: number as u16, name }).unwrap();
                    }
                }
            });
        }
    });
    let read = RankLog::open(&path).unwrap();
    assert_eq!(read.definitions.not_understood, 0);
    assert_eq!(read.definitions.functions.len(), count.div_ceil(1000) as usize);
    for (stream, definition) in &read.definitions.streams {
        let mut expected = 0;
        for record in read.records(*stream) {
            assert_eq!(u32::from(record.object), definition.thread);
            assert_eq!(u64_at(&record.payload, 0), expected);
            expected += 1;
        }
        assert_eq!(expected, count);
    }
    assert_eq!(read.streams().len(), 4);
}

#[test]
fn definitions_may_be_longer_than_a_chunk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let name = |c: char| String::from(c).repeat(700_000);
    for (number, c) in "abcd".chars().enumerate() {
        log.define(&Definition::Function { number: number as u16, name: name(c) }).unwrap();
    }
    let read = RankLog::open(&path).unwrap();
    assert_eq!(read.definitions.not_understood, 0);
    let names: Vec<&String> = read.definitions.functions.values().collect();
    assert_eq!(names, [&name('a'), &name('b'), &name('c'), &name('d')]);
}

#[test]
fn unused_space_is_given_back() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut stream = log.stream(StreamKind::Calls, 0, None);
    for number in 0..300 {
        stream.append(number, EVENT, 0, &numbered(number));
    }
    let reserved = std::fs::metadata(&path).unwrap().blocks() * 512;
    drop(stream);
    log.finish(State::Finalised, 1);
    let kept = std::fs::metadata(&path).unwrap().blocks() * 512;
    assert!(reserved >= 2 << 20, "both chunks are reserved before they are used: {reserved}");
    let scratch = std::fs::File::create(directory.path().join("scratch")).and_then(OwnFile::keep).unwrap();
    space::reserve(&scratch, 0, 8192).unwrap();
    if space::give_back(&scratch, 4096, 4096) {
        assert!(kept < 200_000, "{kept} of {reserved}");
    }
    assert_eq!(RankLog::open(&path).unwrap().records(0).count(), 300);
}

#[test]
fn an_old_log_is_replaced_not_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let old = create(&path);
    let mut stream = old.stream(StreamKind::Calls, 0, None);
    stream.append(1, EVENT, 0, &[]);
    let new = create(&path);
    assert!(stream.append(2, EVENT, 0, &[]), "the old file is still there for its writer");
    assert_eq!(RankLog::open(&path).unwrap().streams().len(), 0);
    new.finish(State::Finalised, 1);
}
