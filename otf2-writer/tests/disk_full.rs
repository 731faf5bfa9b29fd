//! A full disk is an error wherever it strikes, and nothing is printed.
//!
//! The disk is `/dev/full`, to which the file in question is a link.

mod support;

use std::{os::unix::fs::symlink, path::Path, process::Command};

use otf2_writer::*;

/// Writes an archive in which `file` cannot be stored, with this many events.
fn write(directory: &Path, file: &str, pairs: u64) -> Result<(), Error> {
    let mut archive = Archive::create(directory)?;
    let path = directory.join(file);
    symlink("/dev/full", path).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let mut events = archive.event_writer(ranks.threads[0])?;
    for time in 0..pairs {
        events
            .enter(Ticks(time), ranks.send, &[])
            .and_then(|()| events.leave(Ticks(time), ranks.send, &[]))
            .inspect_err(|_| {
                // From now on the location says so, without trying again.
                let again = events.enter(Ticks(time), ranks.send, &[]);
                assert!(matches!(again, Err(Error::LocationFailed(_))));
            })?;
    }
    events.close()?;
    archive.finish()
}

fn assert_full(file: &str, pairs: u64) -> Error {
    let directory = tempfile::tempdir().unwrap();
    let error = write(directory.path(), file, pairs).unwrap_err();
    let text = error.to_string();
    assert!(error.is_disk_full(), "{file}: {text}");
    assert!(text.contains("No space left on device"), "{file}: {text}");
    assert!(!text.contains('\n'), "{file}: {text}");
    error
}

#[test]
fn while_events_are_written() {
    let error = assert_full("traces/0.evt", 400_000);
    assert!(error.to_string().starts_with("writing an event: "), "{error}");
}

#[test]
fn when_a_location_is_closed() {
    assert_full("traces/0.evt", 1);
}

#[test]
fn in_the_local_definitions() {
    assert_full("traces/1.def", 1);
}

#[test]
fn in_the_global_definitions() {
    assert_full("traces.def", 1);
}

#[test]
fn in_the_anchor_file() {
    assert_full("traces.otf2", 1);
}

#[test]
fn nothing_is_printed() {
    const CHILD: &str = "OTF2_WRITER_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        assert_full("traces/0.evt", 400_000);
        assert_full("traces.def", 1);
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_is_printed", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
