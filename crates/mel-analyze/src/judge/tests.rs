use super::*;
use crate::model::{Completing, Key, Side};
use crate::names::Function;
use crate::testing::{call, side};

const THRESHOLDS: Thresholds = Thresholds { epsilon: 10, delta_sr: 10, delta_percent: 0, clocks: 0 };

/// Functions by their numbers.
const FUNCTIONS: [&str; 4] = ["MPI_Recv", "MPI_Scatterv", "MPI_Barrier", "MPI_File_write_at"];

fn names() -> Names {
    let mut names = Names::default();
    names.functions.extend(FUNCTIONS.map(Function::of));
    names.communicators.push(Processes { members: vec![0, 1, 2, 3], ..Processes::default() });
    names
}

/// What is lost by rule, rank and cause, in the order of these.
fn lost(steps: impl IntoIterator<Item = Step>) -> Vec<(Rule, u32, Option<u32>, f64)> {
    let names = names();
    let mut judge = Judge::new(&names, THRESHOLDS);
    steps.into_iter().for_each(|step| judge.step(step));
    let groups = judge.finish().0.groups;
    let ranks = groups.iter().flat_map(|(group, sum)| {
        sum.by_rank.iter().map(|(rank, nanos)| (group.rule, *rank, group.cause, *nanos))
    });
    let mut all: Vec<_> = ranks.collect();
    all.sort_by_key(|of| (of.0, of.1, of.2));
    all
}

/// A rank is in an operation of all for these times.
fn takes_part(rank: u32, function: u16, times: (u64, u64), root: i32) -> Step {
    let call = Call { function, site: 100 + u32::from(function), ..call(rank, times) };
    Step::Collective(Entry { number: function.into(), root, ..Entry::blocking(call, 0) })
}

/// A message of blocking calls, in which nothing else happens.
fn message(number: u64, (from, sent): (u32, (u64, u64)), (to, received): (u32, (u64, u64))) -> [Step; 4] {
    let key = Key { channel: (u64::from(from) << 32) + u64::from(to), number };
    let (send, receive) = (number * 2, number * 2 + 1);
    let side = |rank, times, peer, unit| Side { key, unit: Some(unit), ..side(rank, times, peer) };
    let completing = |rank, times, unit| {
        Step::Completing(Completing { unit, call: call(rank, times), entered: times.0, count: 1 })
    };
    [
        completing(from, sent, send),
        Step::Sent(side(from, sent, to, send)),
        completing(to, received, receive),
        Step::Received(side(to, received, from, receive)),
    ]
}

#[test]
fn who_leaves_an_operation_early_is_judged_before_what_it_does_then() {
    // Rank 2, the root, comes at 1000. Rank 1 has its part and sends it on at 1020; rank 3 comes later and harms nobody.
    let mut steps = vec![
        Step::Outside(0, call(2, (1000, 1010))),
        takes_part(2, 1, (1000, 1010), 2),
        takes_part(1, 1, (0, 1010), 2),
        takes_part(0, 1, (0, 1012), 2),
    ];
    steps.extend(message(0, (1, (1020, 1025)), (0, (1014, 1030))));
    steps.push(takes_part(3, 1, (5000, 5010), 2));
    let found = lost(steps);
    let late = Rule::LateBroadcast;
    assert_eq!(found[..2], [(late, 0, Some(2), 1000.0), (late, 1, Some(2), 1000.0)]);
    assert!(found[2..].iter().all(|of| of.2 != Some(3)), "{found:?}");
}

#[test]
fn who_comes_early_to_the_end_waits_for_the_last() {
    let steps = [(0, 100), (1, 500), (2, 120), (3, 495)];
    let found = lost(steps.map(|(rank, time)| Step::Finalizes(call(rank, (time, time)))));
    let rule = Rule::WaitAtFinalize;
    assert_eq!(found, [(rule, 0, Some(1), 400.0), (rule, 2, Some(1), 380.0)]);
}

#[test]
fn nobody_is_the_cause_where_both_do_nothing_but_communicate() {
    // Rank 1 was in MPI all the time, and waited for rank 0 until 100.
    let turns = |works: bool| {
        let mut steps = Vec::new();
        steps.extend(message(0, (0, (100, 102)), (1, (0, 130))));
        steps.push(Step::InMpi(call(1, (0, 130))));
        if works {
            steps.push(Step::Outside(130, call(1, (230, 232))));
        }
        let sent = if works { (230, 232) } else { (132, 134) };
        steps.extend(message(1, (1, sent), (0, (102, sent.1 + 10))));
        lost(steps)
    };
    assert_eq!(turns(false)[0], (Rule::OnlyCommunication, 0, None, 30.0));
    let worked = turns(true);
    assert!(worked.contains(&(Rule::LateStandardSend, 0, Some(1), 128.0)), "{worked:?}");
}

#[test]
fn what_the_cause_did_in_mpi_is_told() {
    let names = names();
    let mut judge = Judge::new(&names, THRESHOLDS);
    let write = Call { function: 3, site: 7, ..call(3, (0, 900)) };
    judge.step(Step::InMpi(write));
    judge.step(Step::Outside(900, call(3, (1000, 1010))));
    for rank in 0..4 {
        let begin = if rank == 3 { 1000 } else { 0 };
        judge.step(takes_part(rank, 2, (begin, 1010), -1));
    }
    let found = judge.finish().0;
    let (_, sum) = found.groups.iter().find(|(group, _)| group.rule == Rule::WaitAtBarrier).unwrap();
    assert_eq!(sum.inside.get(&7), Some(&3000.0));
}

#[test]
fn who_polls_does_not_lose_a_moment_twice() {
    // Rank 0 asks from 0 on for a message of rank 1, and waits for one of rank 2 meanwhile, from 100 to 500.
    let mut steps = vec![Step::Outside(0, call(1, (900, 905))), Step::Outside(0, call(2, (500, 505)))];
    steps.extend(message(0, (2, (500, 505)), (0, (100, 510))));
    steps.extend(message(1, (1, (900, 905)), (0, (0, 910))));
    let found = lost(steps);
    let rule = Rule::LateStandardSend;
    assert_eq!(found, [(rule, 0, Some(1), 400.0), (rule, 0, Some(2), 400.0)]);
}

/// Three ranks compute for 100, 300 and 150, and meet in a barrier that ends at 310; then rank 0 computes for 50, and sends to rank 1,
/// which computes for 40 after that.
fn in_turn() -> Vec<Step> {
    let at = |rank, times, computed| Call { computed, function: 2, site: 50, ..call(rank, times) };
    let mut steps = Vec::new();
    for (rank, begin) in [(0, 100), (1, 300), (2, 150)] {
        let call = at(rank, (begin, 310), begin);
        steps.push(Step::Outside(0, call));
        steps.push(Step::Collective(Entry::blocking(call, 0)));
    }
    let [sent, completing, received, receiving] = message(0, (0, (360, 362)), (1, (310, 370)));
    let with = |step, of: Call| match step {
        Step::Sent(side) => Step::Sent(Side { call: of, ..side }),
        Step::Received(side) => Step::Received(Side { call: of, ..side }),
        Step::Completing(completing) => Step::Completing(Completing { call: of, ..completing }),
        step => step,
    };
    let (send, receive) = (at(0, (360, 362), 150), at(1, (310, 370), 300));
    steps.push(Step::Outside(310, send));
    steps.extend([
        with(sent, send),
        with(completing, send),
        with(received, receive),
        with(receiving, receive),
    ]);
    steps.extend(
        [(0, 362, 150), (1, 410, 340), (2, 310, 150)]
            .map(|(rank, time, computed)| Step::Finalizes(at(rank, (time, time), computed))),
    );
    steps
}

fn three() -> Names {
    let mut names = names();
    names.communicators[0].members = vec![0, 1, 2];
    names
}

#[test]
fn the_path_goes_where_something_is_needed() {
    let names = three();
    let mut judge =
        Judge::new(&names, THRESHOLDS).following(Follows::Paths(Paths::default(), Some(Box::default())));
    in_turn().into_iter().for_each(|step| judge.step(step));
    let (_, Follows::Paths(paths, Some(recorded))) = judge.finish() else { panic!("it follows paths") };
    let path = paths.longest().unwrap();
    // 300 of rank 1 to the barrier, 50 of rank 0 to its message, 40 of rank 1 at the end.
    assert_eq!(path.useful, 390);
    let segments: Vec<(u32, u64, u64)> =
        path.segments.iter().map(|segment| (segment.rank, segment.begin, segment.end)).collect();
    assert_eq!(segments, [(1, 0, 300), (0, 310, 360), (1, 370, 410)]);
    assert_eq!(recorded.replay.path(), Some(path), "as it was recorded");
}

#[test]
fn what_is_won_is_up_to_the_next_that_is_late() {
    let names = three();
    let mut judge = Judge::new(&names, THRESHOLDS);
    in_turn().into_iter().for_each(|step| judge.step(step));
    let found = judge.finish().0;
    let (_, sum) = found.groups.iter().find(|(group, _)| group.rule == Rule::WaitAtBarrier).unwrap();
    let removed = sum.removed.clone().unwrap();
    // Rank 0 has waited for 200, and rank 2 for 150 of the same.
    assert!(removed.contains(&(1, (100, 300))) && removed.contains(&(1, (150, 300))), "{removed:?}");
    let supposed = || mel_verdict::replay::Supposition::of(removed.clone());
    let what_if = WhatIf::new(vec![supposed()]);
    let follows = Follows::WhatIf(what_if, OnPath::default());
    let mut judge = Judge::new(&names, THRESHOLDS).following(follows);
    in_turn().into_iter().for_each(|step| judge.step(step));
    let (_, Follows::WhatIf(what_if, _)) = judge.finish() else { panic!("it supposes") };
    // Then rank 2 comes last, at 150.
    assert_eq!(what_if.won(), [150]);
    let follows = Follows::Paths(Paths::default(), Some(Box::default()));
    let mut judge = Judge::new(&names, THRESHOLDS).following(follows);
    in_turn().into_iter().for_each(|step| judge.step(step));
    let (_, Follows::Paths(_, Some(recorded))) = judge.finish() else { panic!("it records") };
    assert_eq!(recorded.replay.won(vec![supposed()]), [150]);
    assert_eq!(recorded.outside.len(), 4);
}

#[test]
fn of_neighbours_it_is_not_known_who_is_needed() {
    let mut names = three();
    names.functions.push(Function::of("MPI_Neighbor_alltoall"));
    let number = names.functions.len() as u16 - 1;
    let mut judge = Judge::new(&names, THRESHOLDS).following(Follows::Paths(Paths::default(), None));
    (0..3).for_each(|rank| judge.step(takes_part(rank, number, (100, 110), -1)));
    judge.step(Step::Finalizes(call(0, (200, 200))));
    let (_, Follows::Paths(paths, _)) = judge.finish() else { panic!("it follows paths") };
    assert_eq!((paths.longest(), paths.computed().count()), (None, 1));
}
