//! A program that closes our descriptors and has files of its own under their numbers: these stay as they are, and what was recorded
//! until then can be read.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use in_process::own_file::is_taken;

use super::super::format::RECORDS_PER_CHUNK;
use super::super::table::{self, ContextKey, Identity, ProfileTable};
use super::super::*;
use super::{EVENT, create, numbered};

/// The descriptors of this process that lead to a file.
fn descriptors_of(path: &Path) -> Vec<RawFd> {
    let path = path.canonicalize().unwrap();
    let all = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let ours = all.filter(|link| fs::read_link(link).is_ok_and(|leads_to| leads_to == path));
    ours.map(|link| link.file_name().unwrap().to_str().unwrap().parse().unwrap()).collect()
}

/// A file of the program's, under each number that leads to `path`.
fn take(path: &Path) -> File {
    let mut options = File::options();
    let theirs = options.read(true).write(true).create_new(true).open(path.with_extension("theirs")).unwrap();
    theirs.write_all_at(b"theirs", 0).unwrap();
    let numbers = descriptors_of(path);
    assert!(!numbers.is_empty());
    for number in numbers {
        // SAFETY: two open descriptors: what a program does that closes ours.
        assert_eq!(unsafe { libc::dup2(theirs.as_raw_fd(), number) }, number);
    }
    theirs
}

fn assert_unchanged(theirs: &File) {
    let mut bytes = [0; 7];
    assert_eq!((theirs.read_at(&mut bytes, 0).unwrap(), &bytes[..6]), (6, &b"theirs"[..]));
}

#[test]
fn a_log_ends_and_what_it_has_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    let mut stream = log.stream(StreamKind::Calls, 0, None);
    let mut append = |number: u64| stream.append(number, EVENT, 0, &numbered(number));
    assert!((0..10).all(&mut append));
    let theirs = take(&path);
    let chunk = RECORDS_PER_CHUNK as u64;
    // The chunk that is mapped is ours all the same.
    assert!((10..chunk).all(&mut append));
    assert!(!append(chunk) && !append(chunk + 1));
    assert!(is_taken(&log.take_failure().unwrap()));
    assert!(is_taken(&log.flush().unwrap_err()));
    // It has nothing any more, and is counted.
    assert!(!log.stream(StreamKind::Calls, 1, None).append(0, EVENT, 0, &[]));
    drop(stream);
    log.finish(State::Finalised, 1);
    drop(log);
    assert_unchanged(&theirs);
    let read = RankLog::open(&path).unwrap();
    assert!(read.records(0).map(|record| record.time).eq(0..chunk));
    assert_eq!((read.dropped(0), read.dropped_total()), (2, 3));
}

#[test]
fn a_table_takes_no_further_rows_and_its_process_is_still_seen_to_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table");
    let identity = Identity { ticks_per_second: 1000, ..Identity::default() };
    let table = ProfileTable::create(&path, &identity).unwrap();
    let key = |site| ContextKey { site, ..ContextKey::default() };
    let first = table.add_context(key(1));
    let theirs = take(&path);
    let given = (2..10_000).take_while(|&site| table.add_context(key(site)) != 0).count() as u64;
    table.context(first).count(100);
    let again = table.add_context(key(20_000));
    assert_eq!((again, table.header().lost_contexts.get()), (0, 2));
    assert_unchanged(&theirs);
    let rows = table::reader::read(&path).unwrap();
    assert!(rows.is_running, "the mapping holds the lock");
    // Before them are the row for what finds no space, and the first one.
    assert_eq!(rows.contexts.len() as u64, given + 2);
    assert_eq!(rows.contexts[first as usize].calls, 1);
    drop(table);
    assert!(!table::reader::read(&path).unwrap().is_running);
    assert_unchanged(&theirs);
}

#[test]
fn a_descriptor_that_is_closed_and_not_used_again_ends_a_log_likewise() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = create(&path);
    for number in descriptors_of(&path) {
        // SAFETY: what a program does that closes ours.
        unsafe { libc::close(number) };
    }
    let mut stream = log.stream(StreamKind::Calls, 0, None);
    assert!(!stream.append(1, EVENT, 0, &[]));
    assert!(is_taken(&log.take_failure().unwrap()));
}
