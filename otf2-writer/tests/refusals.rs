//! What is refused, with which error, and what stays possible afterwards.

mod support;

use std::path::Path;

use otf2_writer::*;

#[test]
fn time_goes_forwards_on_each_location() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    events.enter(Ticks(20), ranks.send, &[]).unwrap();
    let error = events.leave(Ticks(19), ranks.send, &[]).unwrap_err();
    assert_eq!(error.to_string(), "time goes backwards on location 0: 19 ticks after 20 ticks");
    assert!(matches!(error, Error::TimeBackwards { previous: Ticks(20), time: Ticks(19), .. }));
    events.leave(Ticks(20), ranks.send, &[]).unwrap();
    events.close().unwrap();
    archive.finish().unwrap();
    // The refused event is nowhere, the others are.
    assert_eq!(support::events(directory.path()).len(), 2);
}

#[test]
fn a_refused_event_leaves_no_attributes_behind() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let attribute = archive.definitions_mut().attribute("tag", "", Type::I32);
    let metric = MetricRef::from_raw(0);
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();

    let wrong = [(attribute, AttributeValue::U32(1))];
    let error = events.enter(Ticks(1), ranks.send, &wrong).unwrap_err();
    assert!(matches!(error, Error::AttributeType { value: Type::U32, .. }), "{error}");
    let right = [(attribute, AttributeValue::I32(1))];
    let twice = [right[0]; 2];
    let error = events.enter(Ticks(1), ranks.send, &twice).unwrap_err();
    assert!(matches!(error, Error::AttributeTwice(it) if it == attribute), "{error}");
    for values in [&[][..], &[MetricValue::U64(1); 256]] {
        let event = Event::Metric { metric, values };
        let error = events.write_with(Ticks(1), &event, &right).unwrap_err();
        assert!(matches!(error, Error::MetricSize(size) if size == values.len()), "{error}");
    }
    events.enter(Ticks(2), ranks.send, &[]).unwrap();
    events.close().unwrap();
    archive.finish().unwrap();
    assert_eq!(support::events(directory.path()), [r#"ENTER 0 2 Region: "MPI_Send" <0>"#]);
}

#[test]
fn a_location_is_written_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let thread = ranks.threads[0];
    let events = archive.event_writer(thread).unwrap();
    assert!(matches!(archive.event_writer(thread), Err(Error::LocationTaken(it)) if it == thread));
    events.close().unwrap();
    assert!(matches!(archive.event_writer(thread), Err(Error::LocationTaken(it)) if it == thread));
    archive.finish().unwrap();
}

#[test]
fn finishing_needs_closed_locations_and_a_clock() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    assert!(matches!(archive.finish(), Err(Error::LocationOpen(it)) if it == ranks.threads[0]));
    // What is open outlives its archive without harm.
    events.enter(Ticks(1), ranks.send, &[]).unwrap();
    events.close().unwrap();

    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::create(directory.path()).unwrap();
    assert!(matches!(archive.finish(), Err(Error::NoClock)));
}

#[test]
fn an_existing_archive_stays() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    support::two_ranks(archive.definitions_mut());
    archive.finish().unwrap();
    let before = std::fs::read(directory.path().join("traces.otf2")).unwrap();

    let error = Archive::create(directory.path()).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Exists(path) if path.ends_with("traces.otf2")), "{error}");
    assert_eq!(std::fs::read(directory.path().join("traces.otf2")).unwrap(), before);

    // Also half of one.
    std::fs::remove_file(directory.path().join("traces.otf2")).unwrap();
    assert!(matches!(Archive::create(directory.path()).map(drop), Err(Error::Exists(_))));
    // Another name is accepted.
    ArchiveOptions::new().name("again").create(directory.path()).map(drop).unwrap();
}

#[test]
fn a_directory_that_cannot_be_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.as_path(), &file.join("below"), Path::new("/proc/none")] {
        let error = Archive::create(path).map(drop).unwrap_err();
        let Error::Library { doing, .. } = &error else { panic!("{error}") };
        assert_eq!(*doing, "creating the archive");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_directory_that_vanishes() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let mut events = archive.event_writer(ranks.threads[0]).unwrap();
    events.enter(Ticks(1), ranks.send, &[]).unwrap();
    std::fs::remove_dir_all(directory.path()).unwrap();
    let error = events.close().unwrap_err();
    assert!(error.to_string().contains("traces/0.evt"), "{error}");
    assert!(archive.finish().is_err());
}

#[test]
fn a_directory_is_made_where_it_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("a/b");
    let mut archive = Archive::create(&below).unwrap();
    support::two_ranks(archive.definitions_mut());
    archive.finish().unwrap();
    support::print(&below, &["-G"]);
}

#[test]
fn sizes_and_names_out_of_range() {
    let directory = tempfile::tempdir().unwrap();
    let tiny = ArchiveOptions::new().event_chunk_bytes(1 << 20).create(directory.path());
    assert!(matches!(tiny.map(drop), Err(Error::ChunkSize(0x10_0000))));
    let name = ArchiveOptions::new().name("a\0b").create(directory.path());
    assert!(matches!(name.map(drop), Err(Error::Path(_))));

    let mut archive = Archive::create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    support::two_ranks(defs);
    defs.string(&"x".repeat(5 << 20));
    assert!(matches!(archive.finish(), Err(Error::Library { .. })), "larger than the chunk");
}
