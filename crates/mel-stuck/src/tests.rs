//! Constructed tables: each mistake is told with its ranks, and what cannot be known is said to be not known.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::profile::{CallSite, Ended};
use mel_log::table::{ContextKey, ContextRow, HoldKind, HoldRow, TableRows, ThreadRow};
use mel_log::{Definition, Members};

use super::positions::State;
use super::words::ordinal;
use super::{Job, Kind, Look, Pulse, Stuck, of};

const FUNCTIONS: [&str; 11] = [
    "MPI_Send",
    "MPI_Waitany",
    "MPI_Waitall",
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Barrier",
    "MPI_Recv",
    "MPI_Wait",
    "MPI_Finalize",
    "MPI_Win_fence",
    "MPI_Test",
];
const SECOND: u64 = 1_000_000_000;
/// When all tables were begun.
const STARTED: u64 = 1_700_000_000 * SECOND;
/// When they are read, in seconds after that.
const NOW: u64 = 100;

/// A rank whose table counts nothing yet.
fn rank(rank: u32, of: u32) -> TableRows {
    let function =
        |(number, name): (usize, &&str)| Definition::Function { number: number as u16, name: (*name).into() };
    let communicator = |(index, name): (u16, &str)| Definition::Communicator {
        index,
        context: index.into(),
        name: name.into(),
        members: Members::from_ranks(0..of as i32),
        remote: None,
    };
    TableRows {
        rank,
        world_size: of,
        is_running: true,
        ticks_per_second: SECOND,
        started: 7,
        started_realtime_nanos: STARTED,
        runs_since: 8,
        threads: vec![ThreadRow::default()],
        definitions: FUNCTIONS
            .iter()
            .enumerate()
            .map(function)
            .chain([(1, "MPI_COMM_WORLD"), (2, "halo")].map(communicator))
            .collect(),
        ..TableRows::default()
    }
}

/// So many calls of a function at a line on a communicator.
fn calls(mut rows: TableRows, function: &str, line: u64, communicator: u32, calls: u64) -> TableRows {
    let function = FUNCTIONS.iter().position(|name| *name == function).expect("one of these") as u16;
    let key = ContextKey { site: line, communicator, function, ..ContextKey::default() };
    rows.contexts.push(ContextRow { key, calls, ..ContextRow::default() });
    rows
}

/// It is in the call whose context was added last, since so many seconds after the start.
fn stays(mut rows: TableRows, since: u64) -> TableRows {
    let (entered, context) = (7 + since * SECOND, rows.contexts.len() as u32 - 1);
    rows.threads[0] = ThreadRow { entered, left: 0, context };
    rows
}

/// It has left the call whose context was added last.
fn left(mut rows: TableRows, at: u64) -> TableRows {
    rows.threads[0] = ThreadRow { left: 7 + at * SECOND, ..stays(rows.clone(), at - 1).threads[0] };
    rows
}

fn ends(mut rows: TableRows, ended: Ended) -> TableRows {
    rows.ended = ended.in_table();
    rows.is_running = false;
    rows
}

fn in_allreduce(number: u32, of: u32) -> TableRows {
    stays(calls(rank(number, of), "MPI_Allreduce", 88, 1, 50), 40)
}

fn told(tables: Vec<TableRows>) -> Stuck {
    seen(tables, &Look::default())
}

fn seen(tables: Vec<TableRows>, look: &Look) -> Stuck {
    of(tables, &Look { now: STARTED + NOW * SECOND, ..look.clone() }, |_, line| CallSite {
        file: "solve.c".into(),
        line: line as u32,
        ..CallSite::default()
    })
}

/// The only finding.
#[track_caller]
fn only(stuck: &Stuck) -> (Kind, &[u32], &[u32], &str) {
    let [finding] = &stuck.findings[..] else { panic!("{stuck:#?}") };
    (finding.kind, &finding.waiting, &finding.causes, &finding.sentence)
}

/// Ranks 0, 1 and 3 are in an operation; rank 2 is as it is given.
fn with(two: TableRows) -> Stuck {
    told(vec![in_allreduce(0, 4), in_allreduce(1, 4), two, in_allreduce(3, 4)])
}

const IN_ALLREDUCE: &str =
    "Ranks 0, 1 and 3 are in MPI_Allreduce at solve.c:88, their 51st operation on MPI_COMM_WORLD; ";

#[test]
fn different_operations_of_one_number_never_meet() {
    let two = stays(calls(calls(rank(2, 4), "MPI_Allreduce", 88, 1, 50), "MPI_Bcast", 12, 1, 0), 40);
    let stuck = with(two);
    let sentence =
        format!("{IN_ALLREDUCE}rank 2 is in MPI_Bcast at solve.c:12, its 51st there: they never meet.");
    assert_eq!(only(&stuck), (Kind::Mismatch, &[0, 1, 2, 3][..], &[][..], &sentence[..]));
    assert_eq!((stuck.job, stuck.still_s, stuck.groups.len()), (Job::Still, 60.0, 2));
    assert_eq!(stuck.groups[0].ranks, [0, 1, 3]);
    assert_eq!((stuck.groups[1].operation, stuck.groups[1].longest_s), (Some(51), 60.0));
}

#[test]
fn a_root_that_has_left_its_broadcast_has_made_other_operations() {
    let counted = calls(calls(rank(2, 4), "MPI_Bcast", 12, 1, 1), "MPI_Allreduce", 88, 1, 50);
    let stuck = with(left(counted, 30));
    let sentence = format!(
        "{IN_ALLREDUCE}rank 2 is past that number, and has completed MPI_Allreduce there 50 times, which they have called 51 times: \
         it has called another function in its place."
    );
    assert_eq!(only(&stuck), (Kind::Mismatch, &[0, 1, 3][..], &[2][..], &sentence[..]));
    // Who has made the same, and more, has not.
    let stuck = with(left(calls(calls(rank(2, 4), "MPI_Bcast", 12, 1, 1), "MPI_Allreduce", 88, 1, 51), 30));
    assert_eq!(only(&stuck).0, Kind::AllThere);
}

#[test]
fn a_member_that_has_not_come_is_told_with_where_it_is() {
    let counted = || calls(rank(2, 4), "MPI_Allreduce", 88, 1, 50);
    let cases = [
        (
            left(counted(), 30),
            Kind::Outside,
            "it has been in no call that is counted for 70.0 s, last in MPI_Allreduce at solve.c:88: slow, lost in a loop, or in MPI_Finalize",
        ),
        (
            stays(calls(counted(), "MPI_Recv", 5, 1, 9), 30),
            Kind::Elsewhere,
            "it is in MPI_Recv at solve.c:5 on MPI_COMM_WORLD, and whom that waits for is not in the tables",
        ),
        (TableRows { runs_until: 7 + 50 * SECOND, ..counted() }, Kind::Ended, "it has called MPI_Finalize"),
        (
            ends(left(counted(), 30), Ended::Exited),
            Kind::Ended,
            "it has exited without MPI_Finalize, last in MPI_Allreduce at solve.c:88",
        ),
        (
            ends(left(counted(), 30), Ended::Killed),
            Kind::Ended,
            "it was killed or has crashed, last in MPI_Allreduce at solve.c:88",
        ),
    ];
    for (two, kind, place) in cases {
        let stuck = with(two);
        let first = &stuck.findings[0];
        assert_eq!(
            (first.kind, &first.waiting[..], &first.causes[..]),
            (kind, &[0, 1, 3][..], &[2][..]),
            "{stuck:#?}"
        );
        assert_eq!(first.sentence, format!("{IN_ALLREDUCE}rank 2 has not come to it: {place}."));
    }
}

#[test]
fn a_communicator_that_a_rank_has_never_used_counts_none_of_its_operations() {
    let one = stays(calls(rank(0, 2), "MPI_Barrier", 3, 2, 0), 10);
    let mut two = left(calls(rank(1, 2), "MPI_Allreduce", 4, 1, 1), 5);
    two.definitions.retain(|definition| !matches!(definition, Definition::Communicator { index: 2, .. }));
    let stuck = told(vec![one, two]);
    assert_eq!((only(&stuck).0, only(&stuck).2), (Kind::Outside, &[1][..]));
}

#[test]
fn two_communicators_in_opposite_orders_are_a_circle() {
    let first = |number| stays(calls(rank(number, 3), "MPI_Barrier", 3, 1, 4), 10);
    let second = stays(calls(calls(rank(0, 3), "MPI_Barrier", 3, 1, 4), "MPI_Barrier", 4, 2, 0), 10);
    let stuck = told(vec![second, first(1), first(2)]);
    assert_eq!(
        only(&stuck),
        (
            Kind::Cycle,
            &[0, 1, 2][..],
            &[][..],
            "Ranks 1 and 2 are in MPI_Barrier at solve.c:3, their 5th operation on MPI_COMM_WORLD, to which rank 0 has not come; \
             rank 0 is in MPI_Barrier at solve.c:4, its 1st operation on halo, to which ranks 1 and 2 have not come: they wait for \
             each other in a circle."
        )
    );
}

#[test]
fn a_receive_is_hopeless_only_where_nobody_is_left() {
    let receives = |of| stays(calls(rank(0, of), "MPI_Recv", 9, 1, 3), 10);
    let ended = |number, of| ends(rank(number, of), Ended::Finalised);
    let stuck = told(vec![receives(2), ended(1, 2)]);
    let sentence = "Rank 0 is in MPI_Recv at solve.c:9 on MPI_COMM_WORLD for 90.0 s: all who could answer have ended, or are in MPI_Finalize.";
    assert_eq!(only(&stuck), (Kind::NobodyLeft, &[0][..], &[1][..], sentence));
    let stuck = told(vec![receives(3), ended(1, 3), left(calls(rank(2, 3), "MPI_Recv", 9, 1, 3), 20)]);
    let (kind, _, causes, sentence) = only(&stuck);
    assert!(kind == Kind::NotKnown && causes.is_empty(), "{sentence}");
    assert!(
        sentence.ends_with(
            "rank 1 has ended or is in MPI_Finalize; whether it waits for that one is not in the tables."
        ),
        "{sentence}"
    );
}

#[test]
fn an_operation_that_only_has_to_be_left_hides_no_later_one() {
    let leaves = stays(calls(rank(1, 3), "MPI_Allreduce", 88, 1, 49), 40);
    let waits = stays(calls(calls(rank(0, 3), "MPI_Allreduce", 88, 1, 50), "MPI_Barrier", 5, 1, 0), 40);
    let exited = ends(left(calls(rank(2, 3), "MPI_Allreduce", 88, 1, 50), 40), Ended::Exited);
    let stuck =
        told([waits, leaves].map(|rows| ends(rows, Ended::Killed)).into_iter().chain([exited]).collect());
    let first = &stuck.findings[0];
    assert_eq!(
        (first.kind, &first.waiting[..], &first.causes[..]),
        (Kind::Ended, &[0][..], &[2][..]),
        "{stuck:#?}"
    );
    assert!(first.sentence.contains(", and neither has rank 1: it has exited"), "{}", first.sentence);
}

#[test]
fn what_the_tables_do_not_have_is_said() {
    let all = || (0..4).map(|number| in_allreduce(number, 4)).collect::<Vec<_>>();
    let stuck = told(all());
    assert!(only(&stuck).0 == Kind::AllThere && only(&stuck).3.contains("roots, counts"), "{stuck:#?}");
    // Counts are not those of one operation: nothing is concluded from them.
    let mut lost = all();
    lost[2] = stays(calls(in_allreduce(2, 4), "MPI_Bcast", 12, 1, 0), 40);
    lost[2].left_out.contexts = 1;
    let stuck = told(lost);
    assert!(stuck.findings.iter().all(|finding| finding.kind == Kind::NotKnown), "{stuck:#?}");
    // A window's calls are not counted, and no table is no position.
    let stuck = told(vec![stays(calls(rank(0, 2), "MPI_Win_fence", 1, 3, 7), 10)]);
    assert_eq!((only(&stuck).0, stuck.groups[1].state), (Kind::NotKnown, State::Unknown));
    let stuck = told(vec![in_allreduce(0, 2)]);
    assert_eq!((only(&stuck).0, only(&stuck).2), (Kind::NotKnown, &[][..]), "{stuck:#?}");
}

#[test]
fn a_root_that_may_be_another_is_no_certainty() {
    let bcast = |number| stays(calls(rank(number, 3), "MPI_Bcast", 12, 1, 5), 40);
    let stuck = told(vec![bcast(0), bcast(1), left(calls(rank(2, 3), "MPI_Bcast", 12, 1, 5), 30)]);
    assert!(only(&stuck).3.contains("depends on the root"), "{stuck:#?}");
}

#[test]
fn a_job_that_moves_is_not_stuck() {
    let entered = |number| stays(calls(rank(number, 2), "MPI_Allreduce", 88, 1, 50), NOW);
    let other = stays(calls(calls(rank(1, 2), "MPI_Allreduce", 88, 1, 50), "MPI_Bcast", 12, 1, 0), NOW);
    let stuck = told(vec![entered(0), other.clone()]);
    assert_eq!((stuck.job, stuck.findings.len()), (Job::Moves, 0), "{stuck:#?}");
    // It was somewhere else when it was looked at again.
    let look = Look { moved: BTreeSet::from([1]), ..Look::default() };
    let stuck = seen(vec![in_allreduce(0, 2), stays(other, 40)], &look);
    assert_eq!(
        (stuck.job, stuck.findings[0].kind, stuck.groups[1].state),
        (Job::Moves, Kind::Outside, State::Moves)
    );
}

#[test]
fn a_killed_job_is_told_as_it_was_and_one_that_ended_well_is_no_hang() {
    let killed = |number| ends(in_allreduce(number, 2), Ended::Killed);
    let two = ends(left(calls(rank(1, 2), "MPI_Allreduce", 88, 1, 50), 30), Ended::Killed);
    let stuck = told(vec![killed(0), two]);
    assert_eq!((stuck.job, only(&stuck).0, only(&stuck).2), (Job::Gone, Kind::Outside, &[1][..]));
    let well = told((0..2).map(|number| ends(rank(number, 2), Ended::Finalised)).collect());
    assert_eq!((well.job, &well.sentences), (Job::EndedWell, &Stuck::ended_well(2).sentences));
    let lacks = told(vec![ends(rank(0, 2), Ended::Finalised)]);
    assert_eq!(lacks.job, Job::Gone);
}

#[test]
fn ten_thousand_ranks_are_a_few_groups() {
    let mut tables: Vec<TableRows> = (0..10_000).map(|number| in_allreduce(number, 10_000)).collect();
    tables[7777] = left(calls(rank(7777, 10_000), "MPI_Allreduce", 88, 1, 50), 30);
    let stuck = told(tables);
    assert_eq!((stuck.groups.len(), only(&stuck).2), (2, &[7777][..]));
}

#[test]
fn numbers_have_their_endings() {
    let all = [1, 2, 3, 4, 11, 12, 13, 21, 51, 102, 111, 113, 1003].map(ordinal);
    assert_eq!(all.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 51st 102nd 111th 113th 1003rd");
}

#[test]
fn a_rank_that_tests_in_vain_is_told_as_that() {
    let two = || left(calls(calls(rank(2, 4), "MPI_Allreduce", 88, 1, 50), "MPI_Test", 7, 0, 9), NOW);
    let look = Look { polls: BTreeMap::from([(2, 30.0)]), ..Look::default() };
    let tables = vec![in_allreduce(0, 4), in_allreduce(1, 4), two(), in_allreduce(3, 4)];
    let stuck = seen(tables, &look);
    assert_eq!((stuck.job, stuck.still_s), (Job::Still, 30.0));
    let first = &stuck.findings[0];
    assert_eq!((first.kind, &first.causes[..]), (Kind::Elsewhere, &[2][..]));
    let place = "it tests again and again with MPI_Test at solve.c:7, without success for 30.0 s.";
    assert!(first.sentence.ends_with(place), "{}", first.sentence);
    // Nothing that it has achieved is in its table, however often it tests.
    let pulse = Pulse::of(&two());
    let mut later = calls(two(), "MPI_Test", 7, 0, 70);
    assert_eq!(Pulse::of(&later), pulse);
    later.contexts[0].calls += 1;
    assert_ne!(Pulse::of(&later), pulse);
}

#[test]
fn what_other_nodes_do_is_not_known_on_this_one() {
    let look = Look { is_of_one_node: true, ..Look::default() };
    let stuck = seen(vec![in_allreduce(0, 4), in_allreduce(1, 4)], &look);
    assert_eq!((only(&stuck).0, stuck.groups[1].state), (Kind::NotKnown, State::OnAnotherNode));
}

/// It is in a call at a line since 40 s after the start, of which this is known: kind, communicator, peer, tag.
fn waits(number: u32, of: u32, function: &str, line: u64, holds: &[(HoldKind, u64, i32, i32)]) -> TableRows {
    let mut rows = stays(calls(rank(number, of), function, line, 1, 3), 40);
    let hold = |&(kind, communicator, peer, tag): &(HoldKind, u64, i32, i32)| HoldRow {
        communicator,
        bytes: 1 << 20,
        peer: peer as u32,
        tag: tag as u32,
        ..HoldRow::new(kind, 0, 7 + 40 * SECOND)
    };
    rows.holds = holds.iter().map(hold).collect();
    rows
}

use HoldKind::{Message, Others, Receive, Root, Send};

#[test]
fn ranks_that_wait_for_each_others_messages_are_a_circle() {
    let receives = |number, from| waits(number, 3, "MPI_Recv", 9, &[(Receive, 1, from, 5)]);
    let stuck = told(vec![receives(0, 1), receives(1, 0), receives(2, 1)]);
    let of = |kind| stuck.findings.iter().find(|finding| finding.kind == kind).expect("a finding");
    let circle = of(Kind::Cycle);
    assert_eq!((&circle.waiting[..], circle.causes.len()), (&[0, 1][..], 0));
    assert_eq!(
        circle.sentence,
        "Rank 0 is in MPI_Recv at solve.c:9, for a message with tag 5 of rank 1 on MPI_COMM_WORLD; rank 1 is in MPI_Recv at \
         solve.c:9, for a message with tag 5 of rank 0 on MPI_COMM_WORLD: they wait for each other in a circle."
    );
    assert_eq!((&of(Kind::Elsewhere).waiting[..], &of(Kind::Elsewhere).causes[..]), (&[2][..], &[1][..]));
    assert_eq!(stuck.findings.len(), 2, "{stuck:#?}");
    // What is known is of an earlier call: nothing is concluded from it.
    let mut before = receives(1, 0);
    before.holds[0].entered -= 1;
    let stuck = told(vec![receives(0, 1), before, receives(2, 1)]);
    assert!(stuck.findings.iter().all(|finding| finding.kind != Kind::Cycle), "{stuck:#?}");
}

#[test]
fn sends_in_a_circle_are_told_with_what_they_need() {
    let sends =
        |number: u32, to: i32| waits(number, 2, "MPI_Send", 9, &[(Send, 1, to, 5), (Message, 1, to, 5)]);
    let stuck = told(vec![sends(0, 1), sends(1, 0)]);
    assert!(
        only(&stuck).3.ends_with("buffers the message, and this one has 1.00 MiB."),
        "{}",
        only(&stuck).3
    );
}

#[test]
fn a_message_that_differs_in_one_thing_is_told() {
    let other = || left(calls(rank(1, 3), "MPI_Barrier", 3, 1, 4), 30);
    let cases = [
        ((1, 1, 7), "a message with tag 7 of rank 1 on MPI_COMM_WORLD has come", "in the tag alone", 1),
        ((2, 1, 8), "a message with tag 8 of rank 1 on halo has come", "in the communicator alone", 1),
        ((1, 2, 8), "a message with tag 8 of rank 2 on MPI_COMM_WORLD has come", "in the sender alone", 2),
    ];
    for ((communicator, sender, tag), came, alone, cause) in cases {
        let holds = [(Receive, 1, 1, 8), (Message, communicator, sender, tag)];
        let stuck = told(vec![waits(0, 3, "MPI_Recv", 9, &holds), other()]);
        let first = &stuck.findings[0];
        assert_eq!(
            (first.kind, &first.waiting[..], &first.causes[..]),
            (Kind::Differs, &[0][..], &[cause][..])
        );
        assert!(first.sentence.contains(came) && first.sentence.contains(alone), "{}", first.sentence);
    }
    // One that differs in two things, and one that the call asks for beside the other, say nothing.
    for holds in [
        vec![(Receive, 1, 1, 8), (Message, 2, 1, 7)],
        vec![(Receive, 1, 1, 8), (Receive, 1, 2, 8), (Message, 1, 2, 8)],
    ] {
        let stuck = told(vec![waits(0, 3, "MPI_Waitall", 9, &holds), other()]);
        assert_eq!((only(&stuck).0, only(&stuck).2), (Kind::Outside, &[1][..]), "{stuck:#?}");
    }
}

#[test]
fn who_waits_for_one_of_several_is_stuck_only_if_all_of_them_are() {
    let any = [(Receive, 1, 1, 5), (Receive, 1, 2, 5)];
    let back = |number| waits(number, 3, "MPI_Recv", 4, &[(Receive, 1, 0, 5)]);
    let stuck = told(vec![waits(0, 3, "MPI_Waitany", 9, &any), back(1), back(2)]);
    let first = &stuck.findings[0];
    assert_eq!((first.kind, &first.waiting[..]), (Kind::Cycle, &[0, 1][..]));
    assert!(
        first.sentence.ends_with("in a circle, and so do all others who could answer."),
        "{}",
        first.sentence
    );
    let free = || left(calls(rank(2, 3), "MPI_Barrier", 3, 1, 4), 30);
    for holds in [any.to_vec(), vec![(Receive, 1, -1, 5)]] {
        let stuck = told(vec![waits(0, 3, "MPI_Waitany", 9, &holds), back(1), free()]);
        assert!(stuck.findings.iter().all(|finding| finding.kind != Kind::Cycle), "{stuck:#?}");
    }
    // A request of which nothing is known may end it.
    let holds = [(Receive, 1, 1, 5), (Others, 0, 1, 0)];
    let stuck =
        told(vec![waits(0, 2, "MPI_Waitany", 9, &holds), waits(1, 2, "MPI_Recv", 4, &[(Receive, 1, 0, 5)])]);
    assert!(stuck.findings.iter().all(|finding| finding.kind != Kind::Cycle), "{stuck:#?}");
}

#[test]
fn a_peer_that_has_ended_and_a_circle_through_an_operation_are_told() {
    let receives = waits(0, 2, "MPI_Recv", 9, &[(Receive, 1, 1, 5)]);
    let stuck = told(vec![receives.clone(), TableRows { runs_until: 7 + 50 * SECOND, ..rank(1, 2) }]);
    assert_eq!((only(&stuck).0, only(&stuck).2), (Kind::Ended, &[1][..]));
    assert!(only(&stuck).3.ends_with("rank 1: it has called MPI_Finalize."), "{}", only(&stuck).3);
    let stuck = told(vec![receives, stays(calls(rank(1, 2), "MPI_Barrier", 3, 1, 4), 40)]);
    assert_eq!(
        (stuck.findings[0].kind, &stuck.findings[0].waiting[..]),
        (Kind::Cycle, &[0, 1][..]),
        "{stuck:#?}"
    );
}

#[test]
fn a_send_that_nobody_receives_is_told_where_it_lies() {
    let sends = waits(0, 2, "MPI_Waitall", 9, &[(Others, 0, 1, 0)]);
    let has = waits(1, 2, "MPI_Recv", 4, &[(Receive, 1, 0, 5), (Message, 1, 0, 6)]);
    let stuck = told(vec![sends, has]);
    let found = stuck.findings.iter().find(|finding| finding.waiting == [0]).expect("a finding");
    assert_eq!((found.kind, &found.causes[..]), (Kind::Elsewhere, &[1][..]), "{stuck:#?}");
    let words = "a message with tag 6 of rank 0 of 1.00 MiB on MPI_COMM_WORLD has come to rank 1, and no receive asks for it";
    assert!(found.sentence.contains(words), "{}", found.sentence);
}

#[test]
fn different_roots_are_a_mismatch() {
    let bcast = |number, root| waits(number, 2, "MPI_Bcast", 9, &[(Root, 1, root, 0)]);
    let stuck = told(vec![bcast(0, 1), bcast(1, 0)]);
    assert!(
        only(&stuck).0 == Kind::Mismatch
            && only(&stuck).3.ends_with("rank 1 gives root 0; rank 0 gives root 1.")
    );
    assert_eq!(only(&told(vec![bcast(0, 0), bcast(1, 0)])).0, Kind::AllThere);
}

#[test]
fn a_killed_job_has_hung_as_long_as_it_was_seen() {
    let seen = |number| {
        let mut rows =
            ends(waits(number, 2, "MPI_Recv", 9, &[(Receive, 1, 1 - number as i32, 5)]), Ended::Killed);
        let lasts = HoldRow { bytes: 7 + 90 * SECOND, ..HoldRow::new(HoldKind::Lasts, 0, 7 + 40 * SECOND) };
        rows.holds.push(lasts);
        rows
    };
    let stuck = told(vec![seen(0), seen(1)]);
    assert_eq!((stuck.groups[0].longest_s, stuck.job, stuck.is_hang()), (50.0, Job::Gone, true));
    let at_once = |number| TableRows { holds: Vec::new(), ..seen(number) };
    assert!(!told(vec![at_once(0), at_once(1)]).is_hang());
}
