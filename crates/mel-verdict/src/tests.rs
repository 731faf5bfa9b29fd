//! From constructed sums of ranks to what is said of them.

use mel_log::profile::{Basis, CallSite, Ended, Finding, Profile, TrafficKind, columns, sums};
use mel_log::table::{ContextKey, Identity, IntervalKind, ProfileTable, TrafficKey, WaitKey};
use mel_log::{Definition, Members};

use crate::many::{Judgement, OfRank};

/// A millisecond in ticks.
const MS: u64 = 1_000_000;
/// The functions, by number.
const FUNCTIONS: [&str; 9] = [
    "MPI_Barrier",
    "MPI_Test",
    "MPI_Wait",
    "MPI_Bcast",
    "MPI_File_write",
    "MPI_Gather",
    "MPI_Iallreduce",
    "MPI_Ibcast",
    "MPI_File_write_at_all",
];
const BARRIER: u16 = 0;
const TEST: u16 = 1;
const WAIT: u16 = 2;
const BCAST: u16 = 3;
const WRITE: u16 = 4;
const GATHER: u16 = 5;
const IALLREDUCE: u16 = 6;
const IBCAST: u16 = 7;
const WRITE_AT_ALL: u16 = 8;

/// A rank of so many that counts calls: each function is called from the line of its number.
struct Rank(ProfileTable);

impl Rank {
    fn new(rank: u32, ranks: u32) -> Rank {
        let identity = Identity {
            rank,
            world_size: ranks,
            ticks_per_second: 1000 * MS,
            host: "node".into(),
            ..Identity::default()
        };
        let table = ProfileTable::in_memory(&identity).unwrap();
        let members = Members::from_ranks(0..ranks as i32);
        let name = "MPI_COMM_WORLD".into();
        table.define(&Definition::Communicator { index: 1, context: 1, name, members, remote: None });
        for (number, name) in (0..).zip(FUNCTIONS) {
            table.define(&Definition::Function { number, name: name.into() });
            let (site, communicator) = (u64::from(number) + 1, 1);
            table.add_context(ContextKey { site, communicator, function: number, ..ContextKey::default() });
        }
        Rank(table)
    }

    fn context(function: u16) -> u32 {
        u32::from(function) + 1
    }

    /// A call of which only the sums are kept, and if it is long its times.
    fn called(&self, function: u16, (begin, end): (u64, u64)) {
        self.0.context(Self::context(function)).count(end - begin);
        let kind = IntervalKind::Long;
        self.0.add_waited(
            WaitKey { context: Self::context(function), peer: -1, peer_context: 0, kind },
            begin,
            end,
        );
    }

    /// The `number`-th operation on the communicator, with this root.
    fn operated(&self, function: u16, number: u32, root: Option<u16>, (begin, end): (u64, u64)) {
        self.0.context(Self::context(function)).count(end - begin);
        let root = root.map_or(0, |root| root + 1);
        self.0.add_collective(Self::context(function), number, root, (begin, end));
    }

    /// The `number`-th operation on the communicator is started, with this root, and waited for later.
    fn operated_later(
        &self,
        (function, number, root): (u16, u32, Option<u16>),
        started: u64,
        (begin, end): (u64, u64),
    ) {
        let root = root.map_or(0, |root| root + 1);
        let part = |kind, function, times| {
            self.0.add_part_of_collective(kind, Self::context(function), (number, root), times);
        };
        part(IntervalKind::Started, function, (started, started + 1000));
        part(IntervalKind::Completed, WAIT, (begin, end));
        let key = WaitKey {
            context: Self::context(WAIT),
            peer: -1,
            peer_context: 0,
            kind: IntervalKind::Completed,
        };
        self.0.wait(self.0.add_wait(key).unwrap()).count(end - begin, 0);
        self.called(WAIT, (begin, end));
    }

    /// It has waited for a rank, or polled for nobody that is known, with so much of that between the tests.
    fn waited(
        &self,
        (function, peer, kind): (u16, i32, IntervalKind),
        (begin, end): (u64, u64),
        between: u64,
    ) {
        let key = WaitKey { context: Self::context(function), peer, peer_context: 0, kind };
        self.0.wait(self.0.add_wait(key).unwrap()).count(end - begin, between);
        self.0.add_waited(key, begin, end);
    }

    fn ends(self, at: u64) -> ProfileTable {
        self.0.finish(Ended::Finalised, at);
        self.0
    }
}

fn profile(tables: &[ProfileTable]) -> Profile {
    let site = |_: &str, offset| CallSite { file: "a.c".into(), line: offset as u32, ..CallSite::default() };
    let profile = crate::profile(tables.iter().map(ProfileTable::rows).collect(), site);
    adds_up(&profile);
    profile
}

/// All parts of all budgets add up, and no line has waited longer than its calls took.
fn adds_up(profile: &Profile) {
    let budget = profile.budget.as_ref().unwrap();
    for parts in profile.ranks.iter().filter_map(|rank| rank.budget.as_ref()).chain([&budget.parts]) {
        let sum: f64 = parts.named().iter().map(|part| part.1).sum();
        assert!((sum - parts.total_s).abs() < 1e-9, "{parts:?}");
        assert!(parts.named().iter().all(|part| part.1 >= 0.0), "{parts:?}");
    }
    let waiting: f64 = budget.waiting.iter().map(|waiting| waiting.lost_s).sum();
    assert!((waiting - budget.parts.waiting_s).abs() < 1e-9, "{budget:?}");
    for rank in &profile.ranks {
        let waited: f64 = rank.calls.iter().flat_map(|call| &call.waits).map(|wait| wait.lost_s).sum();
        let in_mpi: f64 = rank.calls.iter().map(|call| call.total_s).sum();
        assert!(waited <= in_mpi + 1e-9, "rank {}: {waited} of {in_mpi}", rank.rank);
    }
}

fn of_rule<'a>(profile: &'a Profile, rule: &str) -> Vec<&'a Finding> {
    profile.verdict.iter().flatten().filter(|finding| finding.rule == rule).collect()
}

#[test]
fn a_rank_that_polls_is_told_as_polling_and_not_as_working() {
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    for step in 0..10 {
        let at = |ms: u64| step * 30 * MS + ms * MS;
        // Rank 1 polls for 20 ms, of which 15 lie between the tests; rank 0 is in the barrier meanwhile.
        second.0.context(Rank::context(TEST)).count(5 * MS);
        second.waited((TEST, -1, IntervalKind::Polled), (at(1), at(21)), 15 * MS);
        second.operated(BARRIER, step as u32, None, (at(21), at(21) + 1000));
        first.operated(BARRIER, step as u32, None, (at(1), at(21) + 1000));
    }
    let profile = profile(&[first.ends(300 * MS), second.ends(300 * MS)]);
    let barrier = of_rule(&profile, "wait_at_barrier");
    assert_eq!((barrier.len(), barrier[0].cause_rank), (1, None), "whoever completes it is the cause");
    assert!(barrier[0].text.contains("rank 1, which is in MPI_Test at a.c:2 before"), "{}", barrier[0].text);
    assert!(barrier[0].advice.starts_with("look at what is waited for in MPI_Test"), "{}", barrier[0].advice);
    let polling = of_rule(&profile, "polling");
    assert_eq!((polling.len(), polling[0].cause_rank), (1, None));
    assert!((polling[0].lost_s - 0.2).abs() < 1e-9, "{polling:?}");
    let parts = profile.budget.unwrap().parts;
    assert!((parts.waiting_s - 0.4).abs() < 1e-4 && (parts.computing_s - 0.2).abs() < 1e-4, "{parts:?}");
}

#[test]
fn who_polls_for_a_late_message_waits_for_its_sender() {
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    // 200 ms for a message of rank 1, of which 150 lie between the tests, and 20 ms more; then 5 ms for something else.
    first.0.context(Rank::context(TEST)).count(70 * MS);
    first.waited((TEST, -1, IntervalKind::Polled), (MS, 221 * MS), 150 * MS);
    first.waited((TEST, 1, IntervalKind::LateSender), (MS, 201 * MS), 0);
    first.0.context(Rank::context(TEST)).count(5 * MS);
    first.waited((TEST, -1, IntervalKind::Polled), (295 * MS, 300 * MS), 0);
    let profile = profile(&[first.ends(300 * MS), second.ends(300 * MS)]);
    let late = of_rule(&profile, "late_sender");
    assert_eq!((late.len(), late[0].cause_rank, late[0].site.as_deref()), (1, Some(1), Some("a.c:2")));
    assert!((late[0].lost_s - 0.2).abs() < 1e-9, "{late:?}");
    let polling = of_rule(&profile, "polling");
    assert_eq!((polling.len(), polling[0].cause_rank, polling[0].count), (1, None, 1));
    assert!((polling[0].lost_s - 0.025).abs() < 1e-9, "{polling:?}");
}

#[test]
fn who_comes_late_because_it_polled_is_not_the_cause() {
    let ranks = [0, 1, 2].map(|rank| Rank::new(rank, 3));
    for step in 0..10u64 {
        let at = |us: u64| (step * 30 + 1) * MS + us * 1000;
        // Rank 1 polls for what rank 2 sends after 20 ms; both come to the barrier then, rank 1 a little later.
        ranks[1].0.context(Rank::context(TEST)).count(15 * MS);
        ranks[1].waited((TEST, -1, IntervalKind::Polled), (at(0), at(20_005)), 5 * MS);
        ranks[1].waited((TEST, 2, IntervalKind::LateSender), (at(0), at(20_000)), 0);
        for (rank, since) in ranks.iter().zip([0, 20_010, 20_002]) {
            rank.operated(BARRIER, step as u32, None, (at(since), at(20_015)));
        }
    }
    let profile = profile(&ranks.map(|rank| rank.ends(301 * MS)));
    let causes: Vec<_> = profile.verdict.iter().flatten().map(|finding| finding.cause_rank).collect();
    assert_eq!(causes, [Some(2), Some(2)], "{:?}", profile.verdict);
}

#[test]
fn who_starts_a_nonblocking_operation_late_is_waited_for_where_it_is_completed() {
    // By the function: who waits for rank 1, which starts it last, and how.
    for (function, root, rule, victims) in
        [(IALLREDUCE, None, "wait_at_nxn", vec![0, 2]), (IBCAST, Some(1), "late_broadcast", vec![0, 2])]
    {
        let ranks = [0, 1, 2].map(|rank| Rank::new(rank, 3));
        for step in 0..10u64 {
            let at = |ms: u64| (step * 30 + 1) * MS + ms * MS;
            for (rank, (started, since)) in ranks.iter().zip([(0, 5), (20, 20), (0, 10)]) {
                rank.operated_later((function, step as u32, root), at(started), (at(since), at(21)));
            }
        }
        let profile = profile(&ranks.map(|rank| rank.ends(301 * MS)));
        let found = of_rule(&profile, rule);
        let what: Vec<_> =
            found.iter().map(|of| (of.cause_rank, of.site.as_deref(), of.victims.clone())).collect();
        assert_eq!(what, [(Some(1), Some("a.c:3"), victims)], "{:?}", profile.verdict);
        // From 5 and from 10 ms on until the last has started it, and not when the first did.
        assert!((found[0].lost_s - 0.25).abs() < 1e-6, "{found:?}");
        assert_eq!(found[0].cause_site.as_deref(), Some(if root.is_some() { "a.c:8" } else { "a.c:7" }));
    }
}

#[test]
fn what_ranks_wait_that_idle_by_design_is_no_loss() {
    let ranks = [0, 1, 2].map(|rank| Rank::new(rank, 3));
    ranks[0].0.define(&Definition::Idle {});
    for (rank, since) in ranks.iter().zip([0, 40, 80]) {
        rank.operated(BARRIER, 0, None, (since * MS, 81 * MS));
    }
    let profile = profile(&ranks.map(|rank| rank.ends(100 * MS)));
    let found = of_rule(&profile, "wait_at_barrier");
    assert_eq!((found.len(), found[0].victims.clone()), (1, vec![1]), "{:?}", profile.verdict);
    let waiting = &profile.budget.as_ref().unwrap().waiting;
    assert_eq!(waiting[0].rule, "idle_by_design");
    assert!((waiting[0].lost_s - 0.08).abs() < 1e-6, "{waiting:?}");
}

#[test]
fn files_are_a_bound_and_who_comes_late_to_one_is_the_cause() {
    let ranks = [0, 1].map(|rank| Rank::new(rank, 2));
    for step in 0..10u64 {
        let at = |ms: u64| (step * 30 + 1) * MS + ms * MS;
        ranks[0].operated(WRITE_AT_ALL, step as u32, None, (at(0), at(25)));
        ranks[1].operated(WRITE_AT_ALL, step as u32, None, (at(15), at(25)));
    }
    let profile = profile(&ranks.map(|rank| rank.ends(301 * MS)));
    let found: Vec<_> = profile
        .verdict
        .iter()
        .flatten()
        .map(|of| (of.rule.as_str(), of.cause_rank, (of.lost_s * 100.0).round()))
        .collect();
    assert_eq!(found, [("file_access", None, 20.0), ("wait_at_nxn", Some(1), 15.0)], "{:?}", profile.verdict);
}

#[test]
fn of_an_operation_that_is_not_known_of_all_nobody_is_waited_for() {
    let [first, second, third] = [0, 1, 2].map(|rank| Rank::new(rank, 3));
    first.operated_later((IALLREDUCE, 0, None), MS, (5 * MS, 80 * MS));
    second.operated_later((IALLREDUCE, 0, None), 70 * MS, (70 * MS, 80 * MS));
    let profile = profile(&[first, second, third].map(|rank| rank.ends(100 * MS)));
    assert!(of_rule(&profile, "wait_at_nxn").is_empty(), "{:?}", profile.verdict);
}

#[test]
fn what_no_rule_explains_is_not_explained_and_nobodys_work() {
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    second.called(WAIT, (10 * MS, 90 * MS));
    second.operated(BARRIER, 0, None, (90 * MS, 91 * MS));
    first.operated(BARRIER, 0, None, (10 * MS, 91 * MS));
    let profile = profile(&[first.ends(100 * MS), second.ends(100 * MS)]);
    let finding = &profile.verdict.as_ref().unwrap()[0];
    assert!(finding.text.contains("rank 1, which is in MPI_Wait at a.c:3 before"), "{}", finding.text);
    assert_eq!(finding.cause_rank, None, "whoever it waits for is the cause");
    let budget = profile.budget.unwrap();
    assert_eq!(budget.unexplained[0].function, "MPI_Wait");
    assert_eq!(budget.unexplained[0].site.as_deref(), Some("a.c:3"));
    assert!((budget.unexplained[0].seconds - 0.08).abs() < 1e-4, "{budget:?}");
}

#[test]
fn files_are_a_part_of_their_own() {
    let one = Rank::new(0, 1);
    one.called(WRITE, (0, 40 * MS));
    let parts = profile(&[one.ends(100 * MS)]).budget.unwrap().parts;
    assert!((parts.files_s - 0.04).abs() < 1e-9 && (parts.computing_s - 0.06).abs() < 1e-9, "{parts:?}");
}

#[test]
fn sums_of_waits_are_no_more_than_the_calls_took() {
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    first.0.context(Rank::context(WAIT)).count(10 * MS);
    first.waited((WAIT, 1, IntervalKind::LateSender), (0, 15 * MS), 0);
    let profile = profile(&[first.ends(100 * MS), second.ends(100 * MS)]);
    assert!((profile.verdict.as_ref().unwrap()[0].lost_s - 0.01).abs() < 1e-9);
}

#[test]
fn a_member_through_which_the_data_goes_is_waited_for_and_others_are_not() {
    // Of a broadcast from rank 0 rank 2 comes late; rank 3 gets its data from it, rank 1 from the root.
    let ranks = [0, 1, 2, 3].map(|rank| Rank::new(rank, 4));
    for (rank, times) in ranks.iter().zip([(0, 1), (0, 1), (20, 21), (0, 21)]) {
        rank.operated(BCAST, 0, Some(0), (times.0 * MS, times.1 * MS));
    }
    let profile = profile(&ranks.map(|rank| rank.ends(30 * MS)));
    let finding = of_rule(&profile, "late_member");
    assert_eq!((finding.len(), finding[0].cause_rank, &finding[0].victims), (1, Some(2), &vec![3]));
    assert!((finding[0].lost_s - 0.02).abs() < 1e-9, "{finding:?}");
    assert!(of_rule(&profile, "late_broadcast").is_empty());
}

#[test]
fn who_needs_the_answer_of_a_late_root_waits_for_it() {
    let ranks = [0, 1, 2].map(|rank| Rank::new(rank, 3));
    // Rank 2 has left before.
    for (rank, times) in ranks.iter().zip([(20, 22), (0, 21), (0, 1)]) {
        rank.operated(GATHER, 0, Some(0), (times.0 * MS, times.1 * MS));
    }
    let profile = profile(&ranks.map(|rank| rank.ends(30 * MS)));
    let finding = &profile.verdict.as_ref().unwrap()[0];
    assert_eq!((&*finding.rule, finding.cause_rank, &finding.victims), ("late_member", Some(0), &vec![1]));
}

#[test]
fn who_comes_late_to_the_end_is_waited_for_there() {
    let ranks = [0, 1, 2].map(|rank| Rank::new(rank, 3));
    ranks.iter().for_each(|rank| rank.operated(BARRIER, 0, None, (MS, MS + 100)));
    let [first, second, third] = ranks;
    let profile = profile(&[first.ends(100 * MS), second.ends(500 * MS), third.ends(100 * MS)]);
    let finding = &profile.verdict.as_ref().unwrap()[0];
    assert_eq!((&*finding.rule, finding.cause_rank), ("wait_at_finalize", Some(1)));
    assert!(finding.text.contains("in MPI_Finalize, waiting for rank 1"), "{}", finding.text);
    assert!((finding.lost_s - 0.8).abs() < 1e-9 && finding.victims == [0, 2], "{finding:?}");
    assert!((profile.budget.unwrap().parts.total_s - 1.5).abs() < 1e-9);
}

/// What is said of the wait in `MPI_Finalize` for rank 0, which makes so many milliseconds of short calls that wait for nobody, while rank 1
/// makes calls of this length in MPI. Rank 0 ends after 500 ms, rank 1 after 100.
fn after_short_calls(of_first: u64, of_second: u64) -> Finding {
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    let short = |rank: &Rank, ms: u64| {
        (0..10 * ms).for_each(|_| rank.0.context(Rank::context(WRITE)).count(MS / 10));
    };
    short(&first, of_first);
    short(&second, of_second);
    let profile = profile(&[first.ends(500 * MS), second.ends(100 * MS)]);
    let found = of_rule(&profile, "wait_at_finalize");
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn who_was_in_mpi_in_many_short_calls_is_late_for_that() {
    let inside = after_short_calls(450, 50);
    assert!(
        inside.text.contains("; rank 0 is in MPI_File_write at a.c:5 before; without it"),
        "{}",
        inside.text
    );
    assert!((inside.lost_s - 0.4).abs() < 1e-9, "{inside:?}");
    // A quarter of the 400 ms by which it is busy for longer.
    let partly = after_short_calls(150, 50);
    assert!(partly.text.contains("at a.c:5 before, for 100 ms of it; without it"), "{}", partly.text);
    assert!(partly.advice.contains("does before MPI_Finalize"), "{}", partly.advice);
    let outside = after_short_calls(50, 50);
    assert!(outside.text.contains("waiting for rank 0, which comes last; without it"), "{}", outside.text);
}

#[test]
fn who_has_waited_before_is_late_for_what_it_did_then() {
    // Rank 1 is in MPI for 300 ms, for which rank 0 polls, as its sums say; then rank 0 makes short calls for 150 of 200 ms.
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    (0..3000).for_each(|_| second.0.context(Rank::context(GATHER)).count(MS / 10));
    first.0.context(Rank::context(TEST)).count(300 * MS);
    let polled =
        WaitKey { context: Rank::context(TEST), peer: -1, peer_context: 0, kind: IntervalKind::Polled };
    first.0.wait(first.0.add_wait(polled).unwrap()).count(300 * MS, 0);
    (0..1500).for_each(|_| first.0.context(Rank::context(WRITE)).count(MS / 10));
    let profile = profile(&[first.ends(500 * MS), second.ends(300 * MS)]);
    let text = &of_rule(&profile, "wait_at_finalize")[0].text;
    assert!(
        text.contains("rank 0 is in MPI_File_write at a.c:5 before, for 150 ms of it; without it"),
        "{text}"
    );
}

#[test]
fn what_the_sums_do_not_explain_is_not_said() {
    // Rank 0 is late to a barrier by 100 ms, and to the end by 50 ms; in between it makes short calls for 300 ms, for which rank 1 works.
    let [first, second] = [0, 1].map(|rank| Rank::new(rank, 2));
    first.operated(BARRIER, 0, None, (100 * MS, 100 * MS + 1000));
    second.operated(BARRIER, 0, None, (0, 100 * MS + 1000));
    (0..3000).for_each(|_| first.0.context(Rank::context(WRITE)).count(MS / 10));
    let profile = profile(&[first.ends(450 * MS), second.ends(400 * MS)]);
    let late = profile.verdict.iter().flatten().filter(|finding| finding.cause_rank == Some(0));
    let said: Vec<&str> = late.map(|finding| finding.text.as_str()).collect();
    assert!(said.len() == 2 && said.iter().all(|text| !text.contains("MPI_File_write")), "{said:?}");
}

/// Barriers to which ranks come late by so many milliseconds in each step.
fn steps(ranks: u32, late: impl Fn(u64, u32) -> u64, steps: u64) -> Vec<ProfileTable> {
    let all: Vec<Rank> = (0..ranks).map(|rank| Rank::new(rank, ranks)).collect();
    for step in 0..steps {
        let begin = step * 60 * MS;
        let last = (0..ranks).map(|rank| late(step, rank)).max().unwrap_or(0);
        for (number, rank) in (0..).zip(&all) {
            let times = (begin + late(step, number) * MS, begin + last * MS + 1000);
            rank.operated(BARRIER, step as u32, None, times);
        }
    }
    all.into_iter().map(|rank| rank.ends(steps * 60 * MS)).collect()
}

#[test]
fn two_that_come_last_in_turn_are_both_named_with_their_parts() {
    let late = |step: u64, rank: u32| if rank == 1 + (step % 2) as u32 { 20 + 4 * (step % 2) } else { 0 };
    let profile = profile(&steps(4, late, 20));
    let causes: Vec<(Option<u32>, u64)> = of_rule(&profile, "wait_at_barrier")
        .iter()
        .map(|finding| (finding.cause_rank, (finding.lost_s * 1000.0).round() as u64))
        .collect();
    assert_eq!(causes, [(Some(2), 720), (Some(1), 600)]);
}

/// Serialisation and transfer, and what would be won without what each of these ranks does, as a share of the run.
fn ideal(profile: &Profile, causes: &[u32]) -> Vec<f64> {
    let of = &profile.efficiency.as_ref().unwrap().whole;
    assert_eq!(of.ideal_basis, Some(Basis::Estimated), "{of:?}");
    let won = |cause: &u32| {
        let finding = profile.verdict.iter().flatten().find(|finding| finding.cause_rank == Some(*cause));
        finding.and_then(|finding| finding.would_win_s).unwrap_or(f64::NAN) / of.run_s
    };
    [of.serialisation.unwrap(), of.transfer.unwrap()].into_iter().chain(causes.iter().map(won)).collect()
}

fn are_near(found: &[f64], planted: &[f64]) {
    let is_near = |(found, planted): (&f64, &f64)| (found - planted).abs() < 0.02;
    assert!(found.len() == planted.len() && found.iter().zip(planted).all(is_near), "{found:?} {planted:?}");
}

#[test]
fn what_the_run_would_take_otherwise_is_estimated_from_single_waits() {
    // Rank 1 computes 60 of 60 ms, all others 40.
    let slow = profile(&steps(4, |_, rank| if rank == 1 { 20 } else { 0 }, 40));
    are_near(&ideal(&slow, &[1]), &[1.0, 1.0, 1.0 / 3.0]);
    // Of many steps only those of some periods are known.
    let long = profile(&steps(4, |_, rank| if rank == 1 { 6 } else { 0 }, 40_000));
    are_near(&ideal(&long, &[1]), &[1.0, 1.0, 0.1]);
    // Of waits that are about as long as these periods too few are known.
    let longer = profile(&steps(4, |_, rank| if rank == 1 { 40 } else { 0 }, 40_000));
    assert_eq!(longer.efficiency.as_ref().and_then(|of| of.whole.ideal_s), None);
    assert_eq!(of_rule(&longer, "wait_at_barrier")[0].would_win_s, None);
    // Ranks 1 and 2 compute 60 ms in turn, and 40 otherwise: each is longest for half of the time.
    let in_turn = profile(&steps(4, |step, rank| if rank == 1 + (step % 2) as u32 { 20 } else { 0 }, 40));
    are_near(&ideal(&in_turn, &[1, 2]), &[5.0 / 6.0, 1.0, 1.0 / 6.0, 1.0 / 6.0]);
}

#[test]
fn two_of_three_that_come_last_in_turn_are_both_named() {
    let late = |step: u64, rank: u32| if rank == 1 + (step % 2) as u32 { 20 } else { 0 };
    let profile = profile(&steps(3, late, 20));
    let found = of_rule(&profile, "wait_at_barrier");
    let mut causes: Vec<_> = found.iter().map(|finding| finding.cause_rank).collect();
    causes.sort_unstable();
    assert_eq!(causes, [Some(1), Some(2)], "{found:?}");
}

#[test]
fn two_alone_that_come_last_in_turn_are_no_cause_each() {
    let late = |step: u64, rank: u32| if u64::from(rank) == step % 2 { 20 } else { 0 };
    let profile = profile(&steps(2, late, 20));
    let found = of_rule(&profile, "wait_at_barrier");
    assert_eq!((found.len(), found[0].cause_rank), (1, None), "{found:?}");
}

#[test]
fn differences_by_chance_name_nobody() {
    // Each rank comes last as often as any other, in an order without a rule.
    let late = |step: u64, rank: u32| (step + 1).wrapping_mul(2_654_435_761 + 97 * u64::from(rank)) % 20;
    let profile = profile(&steps(3, late, 60));
    let found = of_rule(&profile, "wait_at_barrier");
    assert!(found.iter().all(|finding| finding.cause_rank.is_none()), "{found:?}");
}

#[test]
fn beside_a_rank_that_is_named_the_rest_stays() {
    let late = |step: u64, rank: u32| match (step % 10, rank) {
        (0..7, 1) => 20,
        (7, 0) | (8, 2) | (9, 3) => 20,
        _ => 0,
    };
    let profile = profile(&steps(4, late, 30));
    let found = of_rule(&profile, "wait_at_barrier");
    assert_eq!(found.iter().map(|finding| finding.cause_rank).collect::<Vec<_>>(), [Some(1), None]);
    let all: f64 = found.iter().map(|finding| finding.lost_s).sum();
    assert!((all - 30.0 * 0.06).abs() < 1e-3, "{found:?}");
}

#[test]
fn a_rank_without_a_processor_is_not_named() {
    let late = |_: u64, rank: u32| if rank == 1 { 20 } else { 0 };
    let tables = steps(2, late, 10);
    let scheduled = |used_nanos, waited_nanos| Definition::Scheduled { used_nanos, waited_nanos };
    for table in &tables {
        let allowed = Members::from_ranks([0]);
        table.define(&Definition::Processors { allowed, quota: None, online: 4 });
        table.define(&scheduled(0, 0));
    }
    let named = |waited: u64| {
        let tables: Vec<_> = tables.iter().map(ProfileTable::rows).collect();
        let tables = tables.into_iter().map(|mut rows| {
            rows.definitions.push(scheduled(600 * MS - waited, waited));
            rows
        });
        let run = crate::run::Run::of(tables.collect(), |_, _| CallSite::default());
        let losses = crate::losses::of(&run);
        crate::findings::estimated::of(&run, &losses)[0].cause_rank
    };
    assert_eq!(named(0), Some(1));
    assert_eq!(named(300 * MS), None, "it had none for longer than others waited for it");
}

#[test]
fn sums_of_damaged_tables_are_as_much_as_a_number_holds() {
    let damaged = |number: u32| {
        let rank = Rank::new(number, 2);
        let other = 1 - number as i32;
        rank.called(WAIT, (0, MS));
        rank.operated(BARRIER, 0, None, (MS, 2 * MS));
        for kind in [IntervalKind::LateSender, IntervalKind::Polled, IntervalKind::PostedLate] {
            [WAIT, TEST].into_iter().for_each(|function| rank.waited((function, other, kind), (0, MS), MS));
        }
        let to = |thread| TrafficKey { thread, ..TrafficKey::with_peer(TrafficKind::P2p, 1, other) };
        [to(0), to(1)].into_iter().for_each(|key| _ = rank.0.add_traffic(key));
        let mut rows = rank.ends(3 * MS).rows();
        for row in &mut rows.contexts {
            (row.calls, row.ticks, row.longest) = (u64::MAX, u64::MAX, u64::MAX);
            (row.sent, row.received) = (u64::MAX, u64::MAX);
            (row.unexpected, row.unexpected_bytes, row.search_ticks) = (u64::MAX, u64::MAX, u64::MAX);
        }
        for row in &mut rows.waits {
            (row.count, row.ticks, row.longest, row.bytes) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        }
        for row in rows.waited.iter_mut().chain(&mut rows.collectives) {
            (row.begin, row.end) = (0, u64::MAX);
        }
        for row in &mut rows.traffic {
            (row.messages, row.bytes, row.sizes) = (u64::MAX, u64::MAX, vec![(3, u64::MAX)]);
        }
        let scheduled = |nanos| Definition::Scheduled { used_nanos: nanos, waited_nanos: nanos };
        rows.definitions.extend([scheduled(0), scheduled(u64::MAX)]);
        rows
    };
    let all = vec![damaged(0), damaged(1)];
    let (first, second) = (OfRank::new(all[0].clone()), OfRank::new(all[1].clone()));
    let profile = crate::profile(all, |_, _| CallSite::default());
    let sent = &profile.ranks[0].traffic[0];
    assert_eq!((sent.messages, sent.bytes, &*sent.sizes), (u64::MAX, u64::MAX, &[(3, u64::MAX)][..]));
    let whole = sums::whole(&profile);
    assert_eq!((whole.calls, whole.bytes_sent), (u64::MAX, u64::MAX));
    let mut part = first.part();
    part.join(second.part());
    assert!(part.calls.values().all(|calls| calls.calls == u64::MAX && calls.sent == u64::MAX));
    assert!(part.lost.values().any(|lost| lost.count == u64::MAX));
    let selection = Judgement::of(part).selection(true, false, false);
    let mut row = selection.columns.iter().zip(first.row(&selection));
    let waiting = row.find(|(column, _)| column.name == columns::WAITING).unwrap().1;
    assert!(waiting > 1e9, "{waiting}");
}
