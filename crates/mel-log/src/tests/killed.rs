use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::super::format::{RECORDS_PER_CHUNK, u64_at};
use super::super::*;
use super::{CHILD, EVENT, child, create, numbered};

/// The child appends for ever and says so after every thousandth record; the parent kills it at an
/// arbitrary moment and must find everything that was announced, in order and without a gap.
#[test]
fn nothing_is_lost_by_kill_9() {
    if let Some(path) = std::env::var_os(CHILD) {
        let log = create(path.as_ref());
        let mut stream = log.stream(StreamKind::Events, 0, Some(0));
        let mut out = std::io::stdout();
        for number in 0.. {
            // Every third payload takes three records, so that the kill may fall between them.
            let payload = [numbered(number); 3].concat();
            stream.append(number, EVENT, 0, &payload[..if number % 3 == 0 { 60 } else { 20 }]);
            if number % 1000 == 999 {
                writeln!(out, "\nappended {}", number + 1).unwrap();
            }
        }
    }
    let directory = tempfile::tempdir().unwrap();
    for wanted in [1000, 7000, RECORDS_PER_CHUNK as u64 * 2] {
        let path = directory.path().join(format!("log-{wanted}"));
        let mut process =
            child("killed::nothing_is_lost_by_kill_9", &path).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let announced = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("appended ")?.parse::<u64>().ok())
            .find(|announced| *announced >= wanted);
        process.kill().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&process.wait().unwrap()), Some(9));

        let read = RankLog::open(&path).unwrap();
        assert!(read.ended_early());
        assert_eq!(read.definitions.streams.len(), 1);
        let mut count = 0;
        for record in read.records(0) {
            assert_eq!((record.time, record.kind), (count, EVENT));
            let copies = if count % 3 == 0 { 3 } else { 1 };
            assert_eq!(record.payload.len(), 20 * copies);
            for copy in 0..copies {
                assert_eq!(u64_at(&record.payload, 20 * copy), count);
            }
            count += 1;
        }
        assert!(count >= announced.unwrap(), "{count} of {announced:?} records are left");
    }
}

/// A forked child that uses what it inherited must not disturb its parent's log.
#[test]
fn a_forked_child_takes_no_chunk_and_gives_none_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut stream = log.stream(StreamKind::Calls, 0, None);
    stream.append(0, EVENT, 0, &numbered(0));
    // SAFETY: the child calls nothing that could wait for a lock of a thread that is not there, and
    // leaves with `_exit`.
    let process = unsafe { libc::fork() };
    if process == 0 {
        log.finish(State::Aborted, 1);
        let mut other = log.stream(StreamKind::Calls, 1, None);
        let refused = !other.append(0, EVENT, 0, &[]);
        drop(stream);
        // SAFETY: ends the child without running anything else.
        unsafe { libc::_exit(if refused { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just forked.
    unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(status, 0, "the child took a chunk of its parent's log");
    for number in 1..1000 {
        assert!(stream.append(number, EVENT, 0, &numbered(number)));
    }
    log.define(&Definition::Function { number: 0, name: "MPI_Send".into() }).unwrap();
    let read = RankLog::open(&path).unwrap();
    assert_eq!(read.state, State::Running);
    assert_eq!(read.definitions.streams.keys().collect::<Vec<_>>(), [&0], "only the parent's stream");
    assert_eq!((read.definitions.functions.len(), read.definitions.not_understood), (1, 0));
    assert_eq!(read.dropped_total(), 0);
    assert!(read.records(0).map(|record| record.time).eq(0..1000));
}
