//! Tables have what the logs say, whoever writes them, and are described.

use std::collections::BTreeMap;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::*;
use mel_log::format::NO_OBJECT;
use mel_log::{
    Collective, Completion, Definition, Element, HeaderInfo, LogFile, Members, Message, Sample, State,
    StreamKind, kind,
};

const RANKS: u32 = 5;
const ROUNDS: u64 = 300;
/// Each rank has a part of its own, and several groups of rows, none of which waits in memory.
const SMALL: Limits = Limits { threads: 2, rows_in_group: 100, in_memory: 0, records_in_part: 1 };

/// What a test's log defines by number.
const FUNCTIONS: [&str; 3] = ["MPI_Send", "MPI_Recv", "MPI_Bcast"];
const EVENTS: [&str; 4] =
    ["ob1_search_posted_begin", "ob1_search_posted_end", "ob1_posted_insert", "ob1_posted_remove"];

/// In each round a rank sends to the next one, receives, searches, and takes part in a collective operation. Ranks are one nanosecond
/// apart; the last one has fewer rounds.
fn write_log(directory: &Path, rank: u32) {
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
    let define = |definition: Definition| log.define(&definition).unwrap();
    for (number, name) in (0..).zip(FUNCTIONS) {
        define(Definition::Function { number, name: name.into() });
    }
    for (number, name) in (0..).zip(EVENTS) {
        let element = Element { name: "tag".into(), datatype: "MPI_INT".into(), displacement: 0 };
        let (description, bind, elements) = (String::new(), "MPI_COMM".into(), vec![element]);
        define(Definition::EventType { number, name: name.into(), description, bind, elements });
    }
    // The ranks of the communicator are those of the world from the last one on.
    let members = Members::from_ranks((0..RANKS as i32).rev());
    define(Definition::Communicator {
        index: 3,
        context: 9,
        name: "backwards".into(),
        members,
        remote: None,
    });
    define(Definition::Phase { number: 1, name: "solve".into() });
    define(Definition::Region { number: 4, path: "main/step".into() });
    let (mut calls, mut events) =
        (log.stream(StreamKind::Calls, 0, None), log.stream(StreamKind::Events, 0, None));
    let mut samples = log.stream(StreamKind::Samples, 0, None);
    let rounds = if rank == RANKS - 1 { ROUNDS / 3 } else { ROUNDS };
    let enter = |function: u16| function.to_le_bytes();
    for round in 0..rounds {
        let at = 1000 + 1000 * round + u64::from(rank);
        if round == rounds / 2 {
            calls.append(at, kind::PHASE, NO_OBJECT, &1u16.to_le_bytes());
            calls.append(at, kind::REGION, NO_OBJECT, &4u16.to_le_bytes());
        }
        let message = Message { peer: 1, tag: 7, bytes: 8 * round, request: 0 };
        calls.append(at, kind::ENTER, NO_OBJECT, &enter(0));
        calls.append(at + 10, kind::MPI_SEND, 3, &message.to_payload());
        calls.append(at + 50, kind::LEAVE, NO_OBJECT, &enter(0));
        let received = Message { request: round as u32 + 1, ..message };
        calls.append(at + 60, kind::ENTER, NO_OBJECT, &enter(1));
        calls.append(
            at + 60,
            kind::MPI_IRECV_REQUEST,
            NO_OBJECT,
            &Completion { request: received.request }.to_payload(),
        );
        calls.append(at + 70, kind::MPI_IRECV, 3, &received.to_payload());
        calls.append(at + 90, kind::LEAVE, NO_OBJECT, &enter(1));
        for (event, later) in [(0, 61), (1, 65), (2, 66)] {
            events.append(at + later, kind::EVENT + event, 3, &7i32.to_le_bytes());
        }
        let collective = Collective { root: if round % 2 == 0 { 2 } else { -1 }, sent: 100, received: 10 };
        calls.append(at + 100, kind::ENTER, NO_OBJECT, &enter(2));
        calls.append(at + 100, kind::COLLECTIVE, 3, &collective.to_payload());
        calls.append(at + 200, kind::LEAVE, NO_OBJECT, &enter(2));
    }
    // One variable that is defined, and one that is not.
    define(Definition::Variable {
        number: 4,
        name: "length".into(),
        description: String::new(),
        class: "level".into(),
        object: "backwards".into(),
        of_mpi: false,
        unit: "entries".into(),
        is_whole: true,
    });
    for (variable, element) in [(4, None), (4, Some(2)), (5, None)] {
        samples.append(5000, kind::SAMPLE, NO_OBJECT, &Sample { variable, element, value: 2.5 }.to_payload());
    }
    log.finish(State::Finalised, 1_000_000);
}

fn logs() -> (tempfile::TempDir, Run) {
    let directory = tempfile::tempdir().unwrap();
    (0..RANKS).for_each(|rank| write_log(directory.path(), rank));
    let run = Run::open(directory.path()).unwrap();
    (directory, run)
}

/// The rows of a table, by the names of their columns.
fn rows(directory: &Path, table: &str) -> Vec<BTreeMap<String, Field>> {
    let file = fs::File::open(directory.join(table).with_extension("parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns().into_iter().collect()).collect()
}

fn text(text: &str) -> Field {
    Field::Str(text.to_owned())
}

#[test]
fn rows_have_what_the_log_says() {
    let (_logs, run) = logs();
    let directory = tempfile::tempdir().unwrap();
    let summary = write(directory.path(), &run, &|_| ()).unwrap();
    let rounds = u64::from(RANKS - 1) * ROUNDS + ROUNDS / 3;
    let expected = Summary {
        calls: 3 * rounds,
        messages: 2 * rounds,
        collectives: rounds,
        searches: rounds,
        samples: 2 * u64::from(RANKS),
    };
    assert_eq!(summary, expected);
    let of = |table, place: usize, wanted: &[(&str, Field)]| {
        let rows = rows(directory.path(), table);
        for (name, value) in wanted {
            assert_eq!(&rows[place][*name], value, "{table} {place}: {name}");
        }
    };
    // The second call of the second rank in its round 200, in the second phase.
    let call = (3 * (ROUNDS + 200) + 1) as usize;
    of(
        "calls",
        call,
        &[
            ("rank", Field::Int(1)),
            ("function", text("MPI_Recv")),
            ("site", Field::Null),
            ("communicator", text("backwards")),
            ("phase", text("solve")),
            ("region", text("main/step")),
            ("begin_s", Field::Double((200_000.0 + 1.0 + 60.0) / 1e9)),
            ("duration_s", Field::Double(30.0 / 1e9)),
            ("depth", Field::Int(0)),
            ("bytes_sent", Field::Long(0)),
            ("bytes_received", Field::Long(1600)),
        ],
    );
    of(
        "calls",
        2,
        &[
            ("phase", text("")),
            ("region", text("")),
            ("bytes_sent", Field::Long(100)),
            ("bytes_received", Field::Long(10)),
        ],
    );
    // Rank 1 of the communicator is the last but one of the world.
    let message = (2 * (ROUNDS + 200)) as usize;
    of(
        "messages",
        message,
        &[
            ("direction", text("sent")),
            ("peer", Field::Int(RANKS as i32 - 2)),
            ("peer_in_communicator", Field::Int(1)),
            ("tag", Field::Int(7)),
            ("bytes", Field::Long(1600)),
            ("time_s", Field::Double((200_000.0 + 1.0) / 1e9)),
            ("function", text("MPI_Send")),
            ("request", Field::Null),
            ("unexpected_s", Field::Null),
        ],
    );
    of(
        "messages",
        message + 1,
        &[
            ("direction", text("received")),
            ("time_s", Field::Double((200_000.0 + 1.0 + 90.0) / 1e9)),
            ("request", Field::Long(201)),
        ],
    );
    of(
        "collectives",
        0,
        &[("function", text("MPI_Bcast")), ("root", Field::Int(2)), ("bytes_sent", Field::Long(100))],
    );
    of("collectives", 1, &[("root", Field::Null), ("duration_s", Field::Double(100.0 / 1e9))]);
    of(
        "searches",
        7,
        &[
            ("search", text("ob1_search_posted")),
            ("communicator", text("backwards")),
            ("duration_s", Field::Double(4.0 / 1e9)),
            ("queue_length", Field::Long(7)),
        ],
    );
    of(
        "samples",
        1,
        &[
            ("variable", text("length")),
            ("object", text("backwards")),
            ("element", Field::Int(2)),
            ("value", Field::Double(2.5)),
            ("unit", text("entries")),
        ],
    );
}

#[test]
fn several_threads_and_little_memory_write_what_one_thread_writes() {
    let (_logs, run) = logs();
    let by = |threads, in_memory| {
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits { threads, in_memory, ..SMALL };
        let summary = write_with(limits, directory.path(), &run, &|_| ()).unwrap();
        let bytes =
            |(name, _): (&str, _)| fs::read(directory.path().join(name).with_extension("parquet")).unwrap();
        let names = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(names, TABLES.len(), "nothing else is left");
        (TABLES.map(bytes), summary)
    };
    let (alone, summary) = by(1, u64::MAX);
    for (threads, in_memory) in [(1, 0), (3, 10_000), (4, 0)] {
        let (together, of_all) = by(threads, in_memory);
        assert!(together == alone && of_all == summary, "{threads} threads, {in_memory} bytes");
    }
}

#[test]
fn groups_of_rows_are_bounded_and_say_their_ranks() {
    let (_logs, run) = logs();
    let directory = tempfile::tempdir().unwrap();
    write_with(SMALL, directory.path(), &run, &|_| ()).unwrap();
    let reader =
        SerializedFileReader::new(fs::File::open(directory.path().join("calls.parquet")).unwrap()).unwrap();
    let groups = reader.metadata().row_groups();
    assert!(groups.len() > 30 && groups.iter().all(|group| group.num_rows() <= 100), "{}", groups.len());
    let ranks =
        groups.iter().map(|group| group.column(0).statistics().unwrap().min_bytes_opt().unwrap().to_vec());
    assert!(ranks.is_sorted(), "ranks ascend");
}

#[test]
fn what_cannot_be_written_leaves_what_was_there() {
    let (_logs, run) = logs();
    let directory = tempfile::tempdir().unwrap();
    // In the way of the last table.
    fs::create_dir(directory.path().join("samples.parquet")).unwrap();
    fs::write(directory.path().join("samples.parquet/file"), "").unwrap();
    assert!(write(directory.path(), &run, &|_| ()).is_err());
    let hidden = fs::read_dir(directory.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0, "nothing half written is left");
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(write(&file, &run, &|_| ()).is_err());
}

#[test]
fn the_documentation_has_every_column_and_no_other() {
    let page = include_str!("../../../docs/python.md");
    for (table, columns) in TABLES {
        let row = page.lines().find(|line| line.starts_with(&format!("| `run.trace.{table}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/python.md has no row for {table}"));
        let listed: Vec<&str> = row.rsplit('|').nth(1).unwrap().split('`').skip(1).step_by(2).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        assert_eq!(listed, names, "{table}");
    }
}
