//! Files that were cut off, overwritten or filled with garbage: whatever they hold, reading them
//! ends, and what is read of them lies within them.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::super::format::{CHUNK_BYTES, HEADER_BYTES, header};
use super::super::*;
use super::{EVENT, create, numbered};

/// A small whole log: definitions, two streams, long payloads.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let log = create(&path);
        for number in 0..50 {
            log.define(&Definition::Function { number, name: format!("MPI_Function_{number}") }).unwrap();
        }
        // Of these nothing is packed, because they do not end.
        let streams = [0, 1].map(|thread| {
            let mut stream = log.stream(StreamKind::Calls, thread, None);
            for number in 0..500 {
                let payload = [numbered(number); 2].concat();
                stream.append(number, EVENT, 0, &payload[..if number % 5 == 0 { 40 } else { 8 }]);
            }
            stream
        });
        let bytes = std::fs::read(&path).unwrap();
        drop(streams);
        bytes
    })
}

/// Reads everything that a log has; gives the number of its records.
fn read_all(bytes: Vec<u8>) -> Option<usize> {
    let read = RankLog::from_bytes(bytes).ok()?;
    let mut count = 0;
    for stream in read.streams() {
        for record in read.records(stream) {
            assert!(record.kind != kind::NONE && record.kind != kind::CONTINUATION);
            assert!(record.payload.len() <= format::MAX_PAYLOAD_BYTES);
            count += 1;
        }
        read.dropped(stream);
    }
    assert!(count <= read.records_at_most());
    let _ = (read.ended_early(), read.dropped_total());
    Some(count)
}

#[test]
fn the_whole_log_is_whole() {
    assert_eq!(read_all(whole().to_vec()), Some(1000));
}

#[test]
fn a_cut_log_keeps_what_lies_before_the_cut() {
    let bytes = whole();
    assert_eq!(bytes.len(), HEADER_BYTES + 3 * CHUNK_BYTES);
    for cut in (0..HEADER_BYTES).step_by(97) {
        assert!(matches!(RankLog::from_bytes(bytes[..cut].to_vec()), Err(ReadError::NotALog(_))));
    }
    // Within the records of the first stream: a cut every 7 bytes takes them away one by one.
    let start = HEADER_BYTES + CHUNK_BYTES + 64;
    let mut last = 0;
    for cut in (start..start + 20_000).step_by(7) {
        let count = read_all(bytes[..cut].to_vec()).unwrap();
        assert!(count == last || count == last + 1, "{last} records, then {count}");
        last = count;
    }
    assert!(last >= 500);
}

#[test]
fn other_versions_are_refused_by_name() {
    let mut bytes = whole().to_vec();
    bytes[header::VERSION] = 77;
    let error = RankLog::from_bytes(bytes).unwrap_err().to_string();
    assert!(error.contains("version 77") && error.contains("use the mel that wrote it"), "{error}");
    let error = RankLog::from_bytes(vec![0; 1 << 14]).unwrap_err().to_string();
    assert!(error.contains("is not an event log"), "{error}");
}

/// An offset where the log has something: its header, or the first 40 KiB of a chunk.
fn interesting_offset() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..HEADER_BYTES,
        (0..3usize, 0..64usize).prop_map(|(chunk, at)| HEADER_BYTES + chunk * CHUNK_BYTES + at),
        (0..3usize, 0..40_000usize).prop_map(|(chunk, at)| HEADER_BYTES + chunk * CHUNK_BYTES + at),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_mutilation_makes_the_reader_panic(
        wounds in proptest::collection::vec((interesting_offset(), proptest::collection::vec(any::<u8>(), 1..64)), 0..12),
        cut in prop_oneof![Just(usize::MAX), 0..HEADER_BYTES + 3 * CHUNK_BYTES],
    ) {
        let mut bytes = whole().to_vec();
        for (at, wound) in wounds {
            bytes[at..at + wound.len()].copy_from_slice(&wound);
        }
        bytes.truncate(cut);
        read_all(bytes);
    }

    #[test]
    fn garbage_behind_a_good_header_is_survived(garbage in proptest::collection::vec(any::<u8>(), 0..200_000)) {
        let mut bytes = whole()[..HEADER_BYTES].to_vec();
        bytes.extend_from_slice(b"MCHK\x01\0\0\0\x05\0\0\0\xff\xff\xff\xff");
        bytes.extend(garbage);
        read_all(bytes);
    }

    #[test]
    fn any_text_of_definitions_is_survived(lines in "(\\PC|\n|\\{\"define\":\"function\"){0,200}") {
        Definitions::parse(lines.as_bytes());
    }
}

/// A finished log whose stream fills two chunks, which were packed at its end, and a part of a third, which is not.
fn finished() -> &'static [u8] {
    static FINISHED: OnceLock<Vec<u8>> = OnceLock::new();
    FINISHED.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let log = create(&path);
        let mut stream = log.stream(StreamKind::Calls, 0, None);
        for number in 0..2 * format::RECORDS_PER_CHUNK as u64 + 100 {
            stream.append(number, EVENT, 0, &numbered(number));
        }
        drop(stream);
        log.finish(State::Finalised, 1 << 40);
        std::fs::read(&path).unwrap()
    })
}

/// Where its chunks are that hold something: the packed ones themselves, not what they are in.
fn places() -> Vec<usize> {
    let mut places = Vec::new();
    for at in (HEADER_BYTES..finished().len()).step_by(CHUNK_BYTES) {
        let field = |field| format::u32_at(finished(), at + field) as usize;
        // Of a chunk that was emptied nothing is read.
        if field(format::chunk::KIND) != format::chunk::EMPTIED as usize {
            places.push(at);
        }
        if field(format::chunk::KIND) == format::chunk::PACKED as usize {
            let end = at + 64 + field(format::chunk::SEALED);
            let mut packed = at + 64;
            while packed < end {
                places.push(packed);
                packed += 64 + format::u32_at(finished(), packed + format::chunk::SEALED) as usize;
            }
        }
    }
    places
}

#[test]
fn damage_of_a_finished_log_is_told_and_nothing_damaged_is_read() {
    let whole = RankLog::from_bytes(finished().to_vec()).unwrap();
    assert!(whole.missing.is_nothing(), "{:?}", whole.missing);
    assert_eq!((whole.records(0).count(), whole.incomplete()), (2 * format::RECORDS_PER_CHUNK + 100, None));
    // Definitions, the window, and two packed chunks in one.
    assert_eq!(places().len(), 5);
    for begin in places() {
        let used = format::u32_at(finished(), begin + format::chunk::SEALED) as usize;
        assert!(used > 64, "each chunk is sealed");
        // The fields of the header, then some bytes of the content.
        for at in (0..24).step_by(4).chain((64..64 + used).step_by(used / 3)) {
            // Without a seal a chunk is read as it is; its number is what nothing follows from.
            let is_packed = format::u32_at(finished(), begin) == format::chunk::PACKED_MAGIC;
            let is_seal = (16..20).contains(&at) && !is_packed;
            let mut bytes = finished().to_vec();
            bytes[begin + at] ^= 0x21;
            let read = RankLog::from_bytes(bytes).unwrap();
            assert!(is_seal || !read.missing.is_nothing(), "byte {at} from {begin} on: {:?}", read.missing);
            for (number, record) in (0..).zip(read.records(0)) {
                assert_eq!((record.time, &record.payload[..]), (number, &numbered(number)[..]));
            }
        }
    }
    let mut bytes = finished().to_vec();
    bytes[places()[4] + 100] ^= 1;
    let told = RankLog::from_bytes(bytes).unwrap().incomplete().unwrap();
    assert!(told.contains("rank 3 is damaged; 1 damaged part of it (1.0 MiB) is left out"), "{told}");
}

#[test]
fn damage_of_the_header_is_an_error_or_told() {
    for at in (0..header::CHUNKS).chain([header::IDENTITY_CHECKSUM, header::END_CHECKSUM, header::HOST]) {
        let mut bytes = finished().to_vec();
        bytes[at] ^= 0x21;
        match RankLog::from_bytes(bytes) {
            Err(error) => assert!(at != header::END_CHECKSUM, "{error}"),
            Ok(read) => {
                assert!(read.missing.end, "byte {at}");
                assert!(read.incomplete().unwrap().contains("how its process ended is not known"));
            }
        }
    }
    let mut bytes = whole().to_vec();
    bytes[header::RANK] = 9;
    let error = RankLog::from_bytes(bytes).unwrap_err().to_string();
    assert!(error.contains("damaged in its header"), "a log without an end has it, too: {error}");
}
