//! What several processes write together is what one writes, to the last number.

use super::*;
use mel_log::{Switch, UnseenMessages};

/// A run in which ranks differ in what they define first: so many ranks on two hosts, one without a log, one that was killed,
/// and recording switched off for a while.
fn write_run(directory: &Path, world: u32, has_gaps: bool) {
    for rank in (0..world).filter(|rank| *rank != 3) {
        write_log(directory, rank, world, has_gaps);
    }
}

fn write_log(directory: &Path, rank: u32, world: u32, has_gaps: bool) {
    let host = rank % 2;
    let info = HeaderInfo {
        rank,
        world_size: world,
        pid: rank,
        ticks_per_second: 2_000_000_000,
        origin_ticks: 1_000_000 + 100 * u64::from(rank),
        origin_realtime_nanos: 1_700_000_000_000_000_000 + 50 * u64::from(rank),
        host: format!("node{host}"),
    };
    let log = LogFile::create(&directory.join(mel_log::file_name(rank)), &info).unwrap();
    let define = |definition| log.define(&definition).unwrap();
    for (number, name) in [(0, "MPI_Send"), (1, "MPI_Recv"), (2, "MPI_Allreduce"), (3, "MPI_Put")] {
        // The numbers of functions differ from rank to rank.
        define(Definition::Function { number: (number + rank as u16) % 4, name: name.into() });
    }
    let function_of = |number: u32| ((number + rank) % 4) as u16;
    for (number, name) in
        (0..).zip(["search_posted_begin", "search_posted_end", "posted_insert", "posted_remove", "other"])
    {
        define(Definition::EventType {
            number,
            name: format!("pml_ob1_{name}"),
            description: "described".into(),
            bind: "MPI_COMM".into(),
            elements: vec![Element {
                name: format!("element {}", rank % 3),
                datatype: "MPI_INT".into(),
                displacement: 0,
            }],
        });
    }
    let (name, description, ordering) = ("model".into(), String::new(), "ordered".into());
    define(Definition::Source { index: 0, name, description, ordering, ticks_per_second: 2_000_000_000 });
    let all = || Members::from_ranks(0..world as i32);
    let half = |low: bool| {
        let middle = world as i32 / 2;
        Members::from_ranks(if low { 0..middle } else { middle..world as i32 })
    };
    let is_low = rank < world / 2;
    let mut comms = vec![
        (0, 1, "MPI_COMM_WORLD".to_owned(), all(), None),
        (1, 2, "MPI_COMM_SELF".to_owned(), Members::from_ranks([rank as i32]), None),
        (2, 3, format!("mine {rank}"), half(is_low), None),
        (3, 4, "copy".to_owned(), all(), None),
        (4, 5, "copy".to_owned(), all(), None),
        (5, 6, format!("inter {}", rank % 2), half(is_low), Some(half(!is_low))),
    ];
    let count = comms.len();
    comms.rotate_left(rank as usize % count);
    for (index, context, name, members, remote) in comms {
        define(Definition::Communicator { index, context, name, members, remote });
    }
    define(Definition::Window { index: 0, members: Members::from_ranks([rank as i32]) });
    define(Definition::Window { index: 1, members: all() });
    define(Definition::Window { index: 2, members: half(is_low) });
    if has_gaps {
        define(Definition::Phases {});
    }
    // The second host's clock is behind, and drifts.
    let reading = |local_ticks, nanos| Definition::ClockReading {
        local_ticks: local_ticks + u64::from(host),
        reference_nanos: nanos + 10 * i64::from(host),
        error_nanos: 7,
    };
    define(reading(1_000_000, 500));
    define(reading(1_900_000, 450_500 + 100 * i64::from(host)));

    let threads = 1 + rank % 2;
    for thread in 0..threads {
        let mut calls = log.stream(StreamKind::Calls, thread, None);
        let mut searches = log.stream(StreamKind::Events, thread, Some(0));
        let (left, right) = ((rank + world - 1) % world, (rank + 1) % world);
        for round in 0..5u64 {
            let time = 1000 * (round + 1) + u64::from(10 * rank + thread);
            let object = ((round + u64::from(rank)) % 6) as u16;
            // Ranks in the halves begin at zero.
            let in_comm = |peer: u32| {
                if matches!(object, 2 | 5) { peer as i32 % (world / 2).max(1) as i32 } else { peer as i32 }
            };
            function(&mut calls, time, kind::ENTER, function_of(0));
            let sent = Message { peer: in_comm(right), tag: thread as i32, bytes: round, request: 0 };
            message(&mut calls, time + 1, kind::MPI_SEND, object, sent);
            function(&mut calls, time + 5, kind::LEAVE, function_of(0));
            for (after, kind) in [(6, 2), (7, 0), (8, 1), (9, 3)] {
                event(&mut searches, time + after, kind::EVENT + kind, (round * 10) as i32);
            }
            function(&mut calls, time + 10, kind::ENTER, function_of(1));
            let received = Message { peer: in_comm(left), ..sent };
            message(&mut calls, time + 20, kind::MPI_RECV, object, received);
            function(&mut calls, time + 21, kind::LEAVE, function_of(1));
            if has_gaps && round == u64::from(rank % 3) {
                let (object, other) = (NO_OBJECT, 1_000_000 + time);
                let switch = |on| Switch { on, incomplete: false, request: 0 }.to_payload();
                calls.append(other + 30, kind::RECORDING, object, &switch(false));
                calls.append(other + 40, kind::RECORDING, object, &switch(true));
                let unseen = UnseenMessages { peer: right as i32, tag: thread as i32, sent: 1, received: 0 };
                calls.append(other + 40, kind::UNSEEN_MESSAGES, 0, &unseen.to_payload());
            }
            for window in 0..3u16 {
                calls.append(1_000_000 + time + 50, kind::WIN_CREATE, window, &[]);
            }
        }
        event(&mut searches, 9_000, kind::EVENT + 4, 0);
    }
    let mut samples = log.stream(StreamKind::Samples, 0, None);
    // What each rank calls by another number, and one that only some have.
    for (number, name) in
        [(rank, "length"), (100, "length"), (101, ["odd", "even"][usize::from(is_even(rank))])]
    {
        sampled(&log, number, name, "level");
        for round in 0..3u64 {
            let sample =
                Sample { variable: number, element: None, value: (round + u64::from(number)) as f64 };
            samples.append(1_000_000 + 2_000 * round, kind::SAMPLE, NO_OBJECT, &sample.to_payload());
        }
    }
    if rank != 5 {
        log.finish(State::Finalised, 1_900_000);
    }
}

/// What the readers print of an archive: definitions with their numbers, events with their times, and markers.
fn all_printed(directory: &Path) -> [String; 4] {
    let markers = Command::new("otf2-marker").arg(directory.join(FILE_NAME)).output().unwrap();
    let markers = String::from_utf8(markers.stdout).unwrap();
    [print(directory, &["-G"]), print(directory, &["-C"]), print(directory, &[]), markers]
        .map(|text| text.replace(&*directory.to_string_lossy(), ""))
}

#[test]
fn several_processes_write_what_one_writes() {
    for (world, has_gaps) in [(1, false), (2, true), (8, false), (8, true)] {
        let run = tempfile::tempdir().unwrap();
        write_run(run.path(), world, has_gaps);
        let logs = Run::open(run.path()).unwrap();
        let alone = write_on(1, &logs, run.path(), &[], &|_| {}).unwrap();
        let expected = all_printed(run.path());
        for processes in [2, 3, 8, 11] {
            let together = tempfile::tempdir().unwrap();
            let summary = write_on(processes, &logs, together.path(), &[], &|_| {}).unwrap();
            assert_eq!(summary, alone);
            let found = all_printed(together.path());
            for (found, expected) in found.iter().zip(&expected) {
                for (found, expected) in found.lines().zip(expected.lines()) {
                    assert_eq!(found, expected, "{processes} processes");
                }
                assert_eq!(found.len(), expected.len());
            }
        }
    }
}

#[test]
fn a_run_that_the_test_is_about_has_everything_in_it() {
    let run = tempfile::tempdir().unwrap();
    write_run(run.path(), 8, true);
    let summary = convert(run.path());
    assert!(summary.calls > 0 && summary.messages > 0 && summary.regions > 0 && summary.queue_changes > 0);
    assert_eq!(summary.samples, 7 * 9, "of each rank with a log");
    assert!(summary.one_sided > 0 && summary.left_out.len() == 1, "{summary:?}");
    let [definitions, _, events, _] = all_printed(run.path());
    for what in ["INTER_COMM", "RMA_WIN", "METRIC_CLASS", "no event log", "before MPI_Finalize", "node1"] {
        assert!(definitions.contains(what), "{what}: {definitions}");
    }
    for what in [
        "\"length on the halo (2)\"",
        "\"odd on the halo\"",
        "\"even on the halo\"",
        "RMA_WIN_CREATE",
        "METRIC",
        "MEASUREMENT_ON_OFF",
        "MPI_SEND",
        "\"inter 0\"",
    ] {
        assert!(events.contains(what), "{what}: {events}");
    }
}

fn is_even(rank: u32) -> bool {
    rank.is_multiple_of(2)
}
