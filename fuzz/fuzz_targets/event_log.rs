//! The reader of event logs on files that are damaged in any way: it ends, and what it gives lies within
//! the file.
//!
//! Random bytes would hardly ever begin as a log does. So the input says what is to be done to a good log:
//! which bytes to overwrite, and where to cut it off. Its first byte says whether the log has its checksums: with them nearly all
//! damage is noticed and left out; without them, as in the log of a process that was killed, it is read.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mel_convert::text;
use mel_log::packed::unpack;
use mel_log::ranks::MOST_RANKS;
use mel_log::{Definition, Definitions, HeaderInfo, LogFile, RankLog, Sample, StreamKind, format, kind};

/// A small whole log: definitions, two streams, long payloads, samples.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("log");
        let info = HeaderInfo {
            rank: 1,
            world_size: 2,
            pid: 3,
            ticks_per_second: 1_000_000_000,
            origin_ticks: 5,
            origin_realtime_nanos: 6,
            host: "host".into(),
        };
        let log = LogFile::create(&path, &info).expect("a log");
        for number in 0..5 {
            log.define(&Definition::Function { number, name: format!("MPI_F{number}") })
                .expect("a definition");
        }
        log.define(&Definition::Variable {
            number: 3,
            name: "length".into(),
            description: String::new(),
            class: "level".into(),
            object: "MPI_COMM_WORLD".into(),
            of_mpi: false,
            unit: "entries".into(),
            is_whole: true,
        })
        .expect("a definition");
        let mut samples = log.stream(StreamKind::Samples, 0, None);
        for number in 0..20u32 {
            let sample = Sample { variable: 3, element: number.checked_sub(10), value: number.into() };
            samples.append(number.into(), kind::SAMPLE, format::NO_OBJECT, &sample.to_payload());
        }
        for thread in 0..2 {
            let mut stream = log.stream(StreamKind::Calls, thread, None);
            for number in 0..30u64 {
                stream.append(number, kind::EVENT + 7, 0, &[7; 40][..if number % 5 == 0 { 40 } else { 8 }]);
            }
        }
        std::fs::read(&path).expect("the log is there")
    })
}

/// The input as edits: where (a place in the header or at the beginning of a chunk), how long, the bytes.
fn damaged(mut input: &[u8]) -> Vec<u8> {
    let mut bytes = whole().to_vec();
    while let [place, low, high, length, rest @ ..] = input {
        let within = usize::from(*low) | usize::from(*high) << 8;
        let chunks = (bytes.len() - format::HEADER_BYTES) / format::CHUNK_BYTES;
        let start = match usize::from(*place) % (chunks + 2) {
            0 => within % format::HEADER_BYTES,
            chunk if chunk <= chunks => format::HEADER_BYTES + (chunk - 1) * format::CHUNK_BYTES + within,
            _ => {
                bytes.truncate(within << 8 | usize::from(*length));
                if bytes.len() < format::HEADER_BYTES {
                    return bytes;
                }
                input = rest;
                continue;
            }
        };
        let (wound, after) = rest.split_at(rest.len().min(usize::from(*length)));
        let end = (start + wound.len()).min(bytes.len());
        if start < end {
            bytes[start..end].copy_from_slice(&wound[..end - start]);
        }
        input = after;
    }
    bytes
}

/// Nothing is sealed any more, and the header's checksum is that of what it says.
fn unsealed(mut bytes: Vec<u8>) -> Vec<u8> {
    for at in (format::HEADER_BYTES..bytes.len()).step_by(format::CHUNK_BYTES) {
        if let Some(field) = bytes.get_mut(at + format::chunk::SEALED..at + format::chunk::CHECKSUM) {
            field.fill(0);
        }
    }
    if bytes.len() >= format::HEADER_BYTES {
        let sum = format::identity_checksum(&bytes).to_le_bytes();
        bytes[format::header::IDENTITY_CHECKSUM..][..4].copy_from_slice(&sum);
    }
    bytes
}

fuzz_target!(|input: &[u8]| {
    Definitions::parse(input);
    // Behind checksums hardly any input would come that far.
    assert!(unpack(input).is_none_or(|records| records.len() % format::RECORD_BYTES == 0));
    let Some((is_sealed, input)) = input.split_first() else { return };
    let bytes = damaged(input);
    let Ok(read) = RankLog::from_bytes(if is_sealed & 1 == 1 { bytes } else { unsealed(bytes) }) else {
        return;
    };
    assert!(read.info.rank < MOST_RANKS && read.info.world_size <= MOST_RANKS);
    let mut count = 0;
    for stream in read.streams() {
        for record in read.records(stream) {
            assert!(record.kind != kind::NONE && record.kind != kind::CONTINUATION);
            assert!(record.payload.len() <= format::MAX_PAYLOAD_BYTES);
            if record.kind == kind::SAMPLE {
                assert!(Sample::from_payload(&record.payload).value.is_finite());
            }
            count += 1;
        }
        read.dropped(stream);
    }
    assert!(count <= read.records_at_most());
    let titles = read.definitions.variable_titles();
    assert_eq!(titles.len(), read.definitions.variables.len());
    let _ = (read.ended_early(), read.dropped_total(), read.incomplete());
    let options = text::Options { calls: true };
    text::write_rank(&mut std::io::sink(), &read, options, |_| ()).expect("nothing is written anywhere");
});
