//! Logs written, converted, and read back with `otf2-print`.

mod together;

use std::path::Path;
use std::process::Command;

use super::*;
use crate::run::Run;
use mel_log::format::NO_OBJECT;
use mel_log::{
    Appender, Completion, Definition, Element, HeaderInfo, LogFile, Members, Message, Sample, State,
    StreamKind, kind,
};

const SEND: u16 = 0;
const RECV: u16 = 1;
const SEARCH_BEGIN: u16 = kind::EVENT;
const SEARCH_END: u16 = kind::EVENT + 1;
const ARRIVED: u16 = kind::EVENT + 2;
const TRANSFER_BEGIN: u16 = kind::EVENT + 3;
const TRANSFER_END: u16 = kind::EVENT + 4;

/// The log of one rank of two, with the definitions that all tests use.
fn log(directory: &Path, rank: u32) -> LogFile {
    let info = HeaderInfo {
        rank,
        world_size: 2,
        pid: rank,
        ticks_per_second: 2_000_000_000,
        origin_ticks: 1_000_000 + 100 * u64::from(rank),
        origin_realtime_nanos: 1_700_000_000_000_000_000 + 50 * u64::from(rank),
        host: "node".into(),
    };
    let log = LogFile::create(&directory.join(mel_log::file_name(rank)), &info).unwrap();
    for (number, name) in [(SEND, "MPI_Send"), (RECV, "MPI_Recv")] {
        log.define(&Definition::Function { number, name: name.into() }).unwrap();
    }
    let names = ["search_posted_begin", "search_posted_end", "arrived", "transfer_begin", "transfer_end"];
    for (number, name) in (0..).zip(names) {
        let element = |name: &str, datatype: &str, displacement| Element {
            name: name.into(),
            datatype: datatype.into(),
            displacement,
        };
        log.define(&Definition::EventType {
            number,
            name: format!("pml_ob1_{name}"),
            description: "described".into(),
            bind: "MPI_COMM".into(),
            elements: vec![
                element("source", "MPI_INT", 0),
                element("request", "MPI_UNSIGNED_LONG_LONG", 4),
                element("later", "MPI_LATER", 12),
            ],
        })
        .unwrap();
    }
    let ordering = "ordered".into();
    let (name, description) = ("model, thread 0".into(), String::new());
    log.define(&Definition::Source {
        index: 0,
        name,
        description,
        ordering,
        ticks_per_second: 2_000_000_000,
    })
    .unwrap();
    for (index, context, name, members) in [
        (0, 1, "MPI_COMM_WORLD", Members::from_ranks(0..2)),
        (1, 2, "MPI_COMM_SELF", Members::from_ranks([rank as i32])),
        (5 + rank as u16, 9, "reversed", Members::from_ranks([1, 0])),
        (8, 10, "damaged", Members::from_ranks([0, 77])),
    ] {
        log.define(&Definition::Communicator { index, context, name: name.into(), members, remote: None })
            .unwrap();
    }
    log
}

fn function(stream: &mut Appender, time: u64, kind: u16, function: u16) {
    stream.append(1_000_000 + time, kind, NO_OBJECT, &function.to_le_bytes());
}

fn message(stream: &mut Appender, time: u64, kind: u16, object: u16, message: Message) {
    stream.append(1_000_000 + time, kind, object, &message.to_payload());
}

fn event(stream: &mut Appender, time: u64, kind: u16, source: i32) {
    let mut payload = source.to_le_bytes().to_vec();
    payload.extend(u64::MAX.to_le_bytes());
    stream.append(1_000_000 + time, kind, 0, &payload);
}

fn convert(directory: &Path) -> Summary {
    write(&Run::open(directory).unwrap(), directory, &|_| {}).unwrap()
}

/// Defines a variable that is sampled on a communicator.
fn sampled(log: &LogFile, number: u32, name: &str, class: &str) {
    log.define(&Definition::Variable {
        number,
        name: name.into(),
        description: "described".into(),
        class: class.into(),
        object: "the halo".into(),
        of_mpi: false,
        unit: "s".into(),
        is_whole: class != "timer",
    })
    .unwrap();
}

#[test]
fn samples_are_metrics_of_their_own_kind() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 0);
    sampled(&log, 1, "waited", "timer");
    sampled(&log, 2, "length", "level");
    let mut samples = log.stream(StreamKind::Samples, 0, None);
    for (time, variable, element, value) in [
        (200, 1, None, 0.25),
        (200, 2, None, 7.0),
        (200, 2, Some(1), 3.0),
        (400, 1, None, 1.5),
        (400, 9, None, 1.0),
    ] {
        let sample = Sample { variable, element, value };
        samples.append(1_000_000 + time, kind::SAMPLE, NO_OBJECT, &sample.to_payload());
    }
    log.finish(State::Finalised, 1_000_500);
    let left_out = BTreeMap::from([("(sample of a variable that is not defined)".to_owned(), 1)]);
    assert_eq!(convert(directory.path()), Summary { samples: 4, left_out, ..Summary::default() });
    let events = events(directory.path());
    let values: Vec<&str> = events.iter().filter_map(|line| Some(line.split_once("Value: ")?.1)).collect();
    assert_eq!(
        values,
        [
            "(\"waited on the halo\" <0>; DOUBLE; 0.25)",
            "(\"length on the halo\" <1>; UINT64; 7)",
            "(\"length on the halo, element 1\" <2>; UINT64; 3)",
            "(\"waited on the halo\" <0>; DOUBLE; 1.5)",
        ],
        "{events:#?}"
    );
    let definitions = print(directory.path(), &["-G"]);
    let member = |name: &str| {
        let of = |line: &&str| {
            line.starts_with("METRIC_MEMBER") && line.contains(&format!("\"{name} on the halo\""))
        };
        definitions.lines().find(of).unwrap_or_else(|| panic!("{name}: {definitions}"))
    };
    assert!(member("waited").contains("Mode: ACCUMULATED_START, Value Type: DOUBLE"), "{definitions}");
    assert!(member("waited").contains("Unit: \"s\""), "{definitions}");
    assert!(member("length").contains("Mode: ABSOLUTE_POINT, Value Type: UINT64"), "{definitions}");
    assert!(definitions.contains("\"rank 0: variables\""), "{definitions}");
}

/// What `otf2-print` prints, without complaining.
fn print(directory: &Path, options: &[&str]) -> String {
    let output = Command::new("otf2-print").args(options).arg(directory.join(FILE_NAME)).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    text
}

/// The events that `otf2-print` prints: kind, location, time, and the rest with single blanks.
fn events(directory: &Path) -> Vec<String> {
    let text = print(directory, &[]);
    let events = text.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    let mut joined: Vec<String> = Vec::new();
    for line in events.filter(|line| !line.trim().is_empty()) {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match joined.last_mut() {
            Some(last) if line.starts_with(' ') => *last += &format!(" {words}"),
            _ => joined.push(words),
        }
    }
    joined
}

#[test]
fn calls_messages_and_searches_are_where_they_belong() {
    let directory = tempfile::tempdir().unwrap();
    for rank in 0..2u32 {
        let log = log(directory.path(), rank);
        let mut calls = log.stream(StreamKind::Calls, 0, None);
        let mut searches = log.stream(StreamKind::Events, 0, Some(0));
        if rank == 0 {
            function(&mut calls, 200, kind::ENTER, SEND);
            let sent = Message { peer: 1, tag: 7, bytes: 80, request: 0 };
            message(&mut calls, 210, kind::MPI_SEND, 0, sent);
            function(&mut calls, 300, kind::LEAVE, SEND);
        } else {
            function(&mut calls, 240, kind::ENTER, RECV);
            event(&mut searches, 246, ARRIVED, 0);
            event(&mut searches, 250, SEARCH_BEGIN, -3);
            event(&mut searches, 270, SEARCH_END, -3);
            let received = Message { peer: 1, tag: 7, bytes: 80, request: 0 };
            message(&mut calls, 290, kind::MPI_RECV, 6, received);
            function(&mut calls, 310, kind::LEAVE, RECV);
        }
        log.finish(State::Finalised, 1_000_500);
    }
    let summary = convert(directory.path());
    let left_out = BTreeMap::from([("pml_ob1_arrived".to_owned(), 1)]);
    assert_eq!(summary, Summary { calls: 2, messages: 2, regions: 1, left_out, ..Summary::default() });

    let events = events(directory.path());
    let found = |kind: &str, time: u64, what: &[&str]| {
        let line = events.iter().find(|e| {
            let words: Vec<&str> = e.split(' ').collect();
            words[0] == kind && words[2] == time.to_string()
        });
        let line = line.unwrap_or_else(|| panic!("no {kind} at {time}: {events:#?}"));
        assert!(what.iter().all(|what| line.contains(what)), "{what:?} in {line}");
    };
    // Ticks are half a nanosecond; time begins with the first origin.
    found("ENTER", 100, &["MPI_Send"]);
    found("MPI_SEND", 105, &["Receiver: 1", "MPI_COMM_WORLD", "Tag: 7", "Length: 80"]);
    found("LEAVE", 150, &["MPI_Send"]);
    found("ENTER", 120, &["MPI_Recv"]);
    found("ENTER", 125, &["pml_ob1_search_posted", "-3", "18446744073709551615", "source", "request"]);
    found("LEAVE", 135, &["pml_ob1_search_posted"]);
    found("MPI_RECV", 145, &["Sender: 1", "reversed"]);
    found("LEAVE", 155, &["MPI_Recv"]);
    assert_eq!(events.len(), 8, "{events:#?}");

    let definitions = print(directory.path(), &["-G"]);
    for what in [
        "\"rank 0\"",
        "\"rank 1\"",
        "\"rank 1: model, thread 0\"",
        "\"MPI_COMM_WORLD\"",
        "\"MPI_COMM_SELF\"",
        "Ticks per Seconds: 1000000000",
        "2023-11-14 22:13:20.000000000",
        "POINT2POINT",
    ] {
        assert!(definitions.contains(what), "{what}: {definitions}");
    }
    for what in ["damaged", "unknown", "transfer"] {
        assert!(!definitions.contains(what), "{what}: {definitions}");
    }
    assert_eq!(definitions.matches("\"reversed\"").count() - strings(&definitions, "reversed"), 1, "joined");
    assert_eq!(definitions.matches("\"MPI_COMM_SELF\"").count() - strings(&definitions, "MPI_COMM_SELF"), 1);
}

/// How often a name stands in the table of strings.
fn strings(definitions: &str, name: &str) -> usize {
    definitions
        .lines()
        .filter(|line| line.starts_with("STRING") && line.contains(&format!("\"{name}\"")))
        .count()
}

#[test]
fn a_killed_rank_and_a_missing_one_have_their_places() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 1);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    function(&mut calls, 200, kind::ENTER, RECV);
    let received = Message { peer: 0, tag: 7, bytes: 80, request: 3 };
    message(&mut calls, 290, kind::MPI_IRECV, 0, received);
    calls.append(1_000_300, kind::REQUEST_CANCELLED, 0, &Completion { request: 4 }.to_payload());
    let summary = convert(directory.path());
    assert_eq!((summary.calls, summary.messages, summary.unfinished), (1, 2, 1));
    let events = events(directory.path());
    assert!(events[3].starts_with("LEAVE 1 100 "), "{events:#?}");
    assert!(events[2].starts_with("MPI_REQUEST_CANCELLED 1 100 "), "{events:#?}");
    let definitions = print(directory.path(), &["-G"]);
    assert!(definitions.contains("\"MEL::ENDED\""), "{definitions}");
    assert!(definitions.contains("\"no event log\"") && definitions.contains("\"before MPI_Finalize\""));
}

#[test]
fn remarks_are_markers_on_their_ranks() {
    let directory = tempfile::tempdir().unwrap();
    for rank in [0, 1] {
        let log = log(directory.path(), rank);
        let mut calls = log.stream(StreamKind::Calls, 0, None);
        function(&mut calls, 300, kind::ENTER, RECV);
        function(&mut calls, 900, kind::LEAVE, RECV);
        drop(calls);
        log.finish(State::Finalised, 1);
    }
    let remark =
        |rank, text: &str| Remark { rank, nanos: 120, subject: "late sender".into(), text: text.into() };
    let run = Run::open(directory.path()).unwrap();
    // Rank 7 is not part of the run.
    let remarks = [remark(1, "it waited for rank 0"), remark(0, "so did this"), remark(7, "nobody did")];
    write_with(&run, directory.path(), &remarks, &|_| {}).unwrap();
    let output = Command::new("otf2-marker").arg(directory.path().join(FILE_NAME)).output().unwrap();
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    for what in ["late sender", "it waited for rank 0", "so did this"] {
        assert!(all.contains(what), "{what}: {all}");
    }
    assert!(!all.contains("nobody did"), "{all}");
}

#[test]
fn times_that_go_back_are_moved_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 0);
    let mut searches = log.stream(StreamKind::Events, 0, Some(0));
    for (time, kind) in [(500, SEARCH_BEGIN), (400, SEARCH_END), (600, SEARCH_END), (700, SEARCH_BEGIN)] {
        event(&mut searches, time, kind, 0);
    }
    let summary = convert(directory.path());
    assert_eq!((summary.regions, summary.moved, summary.unbegun, summary.unfinished), (2, 1, 1, 1));
    let times: Vec<String> =
        events(directory.path()).iter().map(|e| e.split(' ').nth(2).unwrap().to_owned()).collect();
    assert_eq!(times, ["250", "250", "350", "350"]);
}

#[test]
fn pairs_that_cross_others_are_no_regions() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 0);
    let mut events_of_source = log.stream(StreamKind::Events, 0, Some(0));
    for (time, kind) in [
        (10, SEARCH_BEGIN),
        (20, SEARCH_END),
        (30, SEARCH_BEGIN),
        (40, TRANSFER_BEGIN),
        (50, SEARCH_END),
        (60, TRANSFER_END),
    ] {
        event(&mut events_of_source, time, kind, 0);
    }
    let summary = convert(directory.path());
    assert_eq!((summary.regions, summary.unbegun, summary.unfinished), (2, 0, 0));
    let left_out: Vec<(&str, u64)> = summary.left_out.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(left_out, [("pml_ob1_transfer_begin", 1), ("pml_ob1_transfer_end", 1)]);
    assert_eq!(events(directory.path()).len(), 4);
}

#[test]
fn messages_of_unknown_communicators_are_counted_not_invented() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 0);
    let mut calls = log.stream(StreamKind::Calls, 0, None);
    for (object, peer) in [(NO_OBJECT, 0), (8, 0), (0, 2), (0, -2), (0, 1)] {
        message(&mut calls, 10, kind::MPI_SEND, object, Message { peer, ..Message::default() });
    }
    let summary = convert(directory.path());
    assert_eq!((summary.messages, summary.unknown_messages), (1, 4));
}

#[test]
fn threads_have_locations_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 0);
    for thread in 0..3 {
        let mut calls = log.stream(StreamKind::Calls, thread, None);
        let mut events = log.stream(StreamKind::Events, thread, Some(0));
        function(&mut calls, 10, kind::ENTER, SEND);
        function(&mut calls, 20, kind::LEAVE, SEND);
        event(&mut events, 12, SEARCH_BEGIN, 0);
        event(&mut events, 14, SEARCH_END, 0);
    }
    convert(directory.path());
    let definitions = print(directory.path(), &["-G"]);
    for name in ["rank 0", "rank 0 thread 2", "rank 0: model, thread 0, thread 1"] {
        assert!(definitions.contains(&format!("\"{name}\"")), "{name}: {definitions}");
    }
    let locations: std::collections::BTreeSet<String> =
        events(directory.path()).iter().map(|e| e.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(locations.len(), 6);
}

#[test]
fn an_archive_is_never_overwritten_but_can_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path(), 0);
    log.finish(State::Finalised, 1);
    convert(directory.path());
    let run = Run::open(directory.path()).unwrap();
    let error = write(&run, directory.path(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
    print(directory.path(), &[]);
    remove(directory.path()).unwrap();
    remove(directory.path()).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "only the log is left");
    convert(directory.path());
}

#[test]
fn a_damaged_world_size_makes_no_million_locations() {
    let directory = tempfile::tempdir().unwrap();
    (0..2).for_each(|rank| drop(log(directory.path(), rank)));
    let path = directory.path().join(mel_log::file_name(0));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[24..28].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    convert(directory.path());
    assert_eq!(print(directory.path(), &["-G"]).matches("LOCATION_GROUP ").count(), 2);
}
