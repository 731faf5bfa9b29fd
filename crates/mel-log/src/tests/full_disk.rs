//! A disk without space, and a file size limit: records are counted as lost, what was stored
//! before stays, and no signal ends the process.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use super::super::format::RECORDS_PER_CHUNK;
use super::super::*;
use super::{CHILD, EVENT, child, create, numbered};

/// What both tests do in their child: three chunks of records for two streams, where a chunk of
/// definitions and two of events fit.
fn overfill(path: &Path) {
    let log = create(path);
    let mut first = log.stream(StreamKind::Calls, 0, None);
    let mut second = log.stream(StreamKind::Calls, 1, None);
    let chunk = RECORDS_PER_CHUNK as u64;
    for number in 0..chunk + 10 {
        assert_eq!(first.append(number, EVENT, 0, &numbered(number)), number < chunk);
        assert_eq!(second.append(number, EVENT, 0, &numbered(number)), number < chunk);
    }
    assert_eq!((first.dropped(), second.dropped()), (10, 10));
    assert!(log.is_full());
    assert!(log.take_failure().is_some(), "the reason is given once");
    assert!(log.take_failure().is_none(), "and only once");
    assert_eq!(log.stream(StreamKind::Calls, 2, None).dropped(), 0);
    log.finish(State::Finalised, 1);

    let read = RankLog::open(path).unwrap();
    assert_eq!((read.dropped(0), read.dropped(1), read.dropped_total()), (10, 10, 20));
    for stream in [0, 1] {
        assert!(read.records(stream).map(|record| record.time).eq(0..chunk));
    }
}

#[test]
fn a_file_size_limit_is_an_error_not_a_signal() {
    if let Some(path) = std::env::var_os(CHILD) {
        return overfill(path.as_ref());
    }
    let directory = tempfile::tempdir().unwrap();
    let mut process =
        child("full_disk::a_file_size_limit_is_an_error_not_a_signal", &directory.path().join("log"));
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        process.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 3_500_000, rlim_max: 3_500_000 };
            check(libc::setrlimit(libc::RLIMIT_FSIZE, &limit))
        });
    }
    assert!(process.status().unwrap().success());
}

#[test]
fn a_full_disk_is_an_error_not_a_signal() {
    if let Some(path) = std::env::var_os(CHILD) {
        return overfill(path.as_ref());
    }
    let directory = tempfile::tempdir().unwrap();
    let mount_point = CString::new(directory.path().as_os_str().as_bytes()).unwrap();
    let mut process = child("full_disk::a_full_disk_is_an_error_not_a_signal", &directory.path().join("log"));
    // A disk of 3.4 MiB that only the child sees.
    // SAFETY: between fork and exec only system calls are made, on strings that exist already.
    unsafe {
        process.pre_exec(move || {
            check(libc::unshare(libc::CLONE_NEWNS))?;
            let none = std::ptr::null();
            check(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
            let (tmpfs, size) = (c"tmpfs".as_ptr(), c"size=3500k".as_ptr());
            check(libc::mount(tmpfs, mount_point.as_ptr(), tmpfs, 0, size.cast()))
        });
    }
    match process.status() {
        Ok(status) => assert!(status.success()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            eprintln!("omitted: mounting a small disk needs privileges that this user lacks");
        }
        Err(error) => panic!("{error}"),
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
