//! An archive that is dropped does no harm, and is readable where that is possible.

mod support;

use otf2_writer::*;

#[test]
fn dropped_with_closed_locations_it_is_finished() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    events.enter(Ticks(1), ranks.send, &[]).unwrap();
    drop(events);
    drop(archive);
    assert_eq!(support::events(directory.path()), [r#"ENTER 0 1 Region: "MPI_Send" <0>"#]);
}

#[test]
fn dropped_before_its_locations() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    events.enter(Ticks(1), ranks.send, &[]).unwrap();
    drop(archive);
    events.leave(Ticks(2), ranks.send, &[]).unwrap();
    drop(events);
    assert!(std::fs::metadata(directory.path().join("traces/0.evt")).unwrap().len() > 0);
    assert!(!directory.path().join("traces.def").exists());
}

#[test]
fn dropped_at_once() {
    let directory = tempfile::tempdir().unwrap();
    drop(Archive::create(directory.path()).unwrap());
}
