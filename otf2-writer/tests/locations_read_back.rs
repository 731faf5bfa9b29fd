//! Several locations, written in turns, over more than one buffer.

mod support;

use otf2_writer::*;

#[test]
fn locations_may_be_written_in_turns() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let ranks = support::two_ranks(archive.definitions_mut());
    let [mut first, mut second] = ranks.threads.map(|thread| archive.event_writer(thread).unwrap());
    first.enter(Ticks(10), ranks.send, &[]).unwrap();
    second.enter(Ticks(5), ranks.send, &[]).unwrap();
    first.leave(Ticks(10), ranks.send, &[]).unwrap();
    // Made while events are being written.
    let late = archive.definitions_mut().location(Location::thread("late", ranks.processes[0]));
    second.leave(Ticks(90), ranks.send, &[]).unwrap();
    assert_eq!(second.last_time(), Some(Ticks(90)));
    first.close().unwrap();
    second.close().unwrap();
    let mut third = archive.event_writer(late).unwrap();
    third.enter(Ticks(40), ranks.send, &[]).unwrap();
    third.close().unwrap();
    archive.finish().unwrap();

    let region = r#"Region: "MPI_Send" <0>"#;
    let expected = [
        format!("ENTER 1 5 {region}"),
        format!("ENTER 0 10 {region}"),
        format!("LEAVE 0 10 {region}"),
        format!("ENTER 2 40 {region}"),
        format!("LEAVE 1 90 {region}"),
    ];
    assert_eq!(support::events(directory.path()), expected);

    let definitions = support::definitions(directory.path());
    let counts: Vec<&str> = definitions
        .iter()
        .filter(|line| line.starts_with("LOCATION "))
        .filter_map(|line| line.split("# Events: ").nth(1)?.split(',').next())
        .collect();
    assert_eq!(counts, ["2", "1", "2"]);
    // The clock covers the events, because nothing else was asked for.
    assert!(definitions[0].contains("Global Offset: 5, Length: 86"), "{}", definitions[0]);
}

#[test]
fn more_events_than_a_buffer_holds() {
    const PAIRS: u64 = 25_000;
    const CHUNK: u64 = 4 << 20;
    let directory = tempfile::tempdir().unwrap();
    let mut archive = ArchiveOptions::new().event_chunk_bytes(CHUNK).create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    let ranks = support::two_ranks(defs);
    // To fill the buffer sooner.
    let attributes =
        [(); 20].map(|()| (defs.attribute("a", "", Type::U64), AttributeValue::U64(u64::MAX / 3)));
    let mut events = archive.event_writer(ranks.threads[1]).unwrap();
    for pair in 0..PAIRS {
        events.enter(Ticks(10 * pair), ranks.send, &attributes).unwrap();
        events.leave(Ticks(10 * pair + 4), ranks.send, &[]).unwrap();
    }
    // What is not in memory is on disk already.
    let written = directory.path().join("traces/1.evt").metadata().unwrap().len();
    assert_eq!(written, CHUNK);
    events.close().unwrap();
    archive.finish().unwrap();

    let shown = support::events(directory.path());
    assert_eq!(shown.len() as u64, 2 * PAIRS);
    for (pair, events) in shown.chunks(2).enumerate() {
        let enter = format!("ENTER 1 {} Region: \"MPI_Send\" <0> | (\"a\" <0>; UINT64; ", 10 * pair);
        assert!(events[0].starts_with(&enter), "{}", events[0]);
        assert_eq!(events[1], format!("LEAVE 1 {} Region: \"MPI_Send\" <0>", 10 * pair + 4));
    }
    let definitions = support::definitions(directory.path());
    assert!(definitions.iter().any(|line| line.contains("# Events: 50000, Group: \"MPI Rank 1\"")));
}

#[test]
fn more_definitions_than_a_buffer_holds() {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(directory.path()).unwrap();
    let defs = archive.definitions_mut();
    support::two_ranks(defs);
    let text = "x".repeat(100);
    let long: Vec<StringRef> = (0..100_000).map(|n| defs.string(&format!("{text}{n}"))).collect();
    archive.finish().unwrap();
    let last = long.last().unwrap().raw();
    let expected = format!("STRING {last} \"{text}99999\"");
    assert!(support::definitions(directory.path()).contains(&expected));
}
