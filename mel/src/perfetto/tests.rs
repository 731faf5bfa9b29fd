//! What several threads write is what one writes.

use prost::Message as _;

use super::*;
use mel_log::format::NO_OBJECT;
use mel_log::{Definition, HeaderInfo, LogFile, State, StreamKind, kind};

const RANKS: u32 = 7;

/// Ranks with one to three threads, some of which call nothing.
fn write_log(directory: &std::path::Path, rank: u32) {
    let info = HeaderInfo {
        rank,
        world_size: RANKS,
        pid: rank,
        ticks_per_second: 1_000_000_000,
        origin_ticks: 1000,
        origin_realtime_nanos: 1_700_000_000_000_000_000,
        host: "node".into(),
    };
    let log = LogFile::create(&directory.join(mel_log::file_name(rank)), &info).unwrap();
    log.define(&Definition::Function { number: 0, name: format!("MPI_Function_{rank}") }).unwrap();
    for thread in 0..=rank % 3 {
        let mut calls = log.stream(StreamKind::Calls, thread, None);
        for round in 0..u64::from(200 * (RANKS - rank) * u32::from(rank != 4 || thread != 1)) {
            let time = 1000 + 10 * round + u64::from(thread);
            let function = 0u16.to_le_bytes();
            calls.append(time, kind::ENTER, NO_OBJECT, &function);
            calls.append(time + 5, kind::LEAVE, NO_OBJECT, &function);
        }
    }
    log.finish(State::Finalised, 1_000_000);
}

#[test]
fn several_threads_write_what_one_writes() {
    let directory = tempfile::tempdir().unwrap();
    (0..RANKS).for_each(|rank| write_log(directory.path(), rank));
    let run = Run::open(directory.path()).unwrap();
    let by = |threads| {
        let mut out = Vec::new();
        let summary = write_on(threads, &mut out, &run, &|_| ()).unwrap();
        (out, summary)
    };
    let (alone, summary) = by(1);
    assert!(summary.calls > 1000, "{summary:?}");
    for threads in [2, 3, 16] {
        let (out, together) = by(threads);
        assert!(out == alone && together == summary, "{threads} threads");
    }
    // Threads that are not the first ones of their ranks have numbers behind those, in the order of ranks.
    let packets = Trace::decode(&*alone).unwrap().packet;
    let threads = packets.into_iter().filter_map(|packet| packet.track_descriptor?.thread);
    let seen: Vec<(i32, i32)> = threads.map(|thread| (thread.pid.unwrap(), thread.tid.unwrap())).collect();
    let further: Vec<(i32, i32)> = seen.iter().copied().filter(|(pid, tid)| pid != tid).collect();
    assert_eq!(further, [(2, 8), (3, 9), (3, 10), (6, 11), (6, 12)]);
    assert_eq!(seen.len() - further.len(), RANKS as usize);
}

#[test]
fn what_cannot_be_written_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let directory = tempfile::tempdir().unwrap();
    (0..RANKS).for_each(|rank| write_log(directory.path(), rank));
    let run = Run::open(directory.path()).unwrap();
    let error = write_on(3, &mut Full, &run, &|_| ()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
