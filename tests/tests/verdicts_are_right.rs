//! What is said of many small programs is right, or nothing is said: each has a problem that was planted in it, with its cause and its
//! line, or none. In the default run, and from a trace; on each MPI of the distribution. The programs, which measure what is lost
//! in them, are in `programs/verdicts`, and so is the list of what is not yet right.

use std::collections::BTreeMap;

use mel_tests::artifacts::root;
use mel_tests::planted::{kept_time, marked};
use mel_tests::verdict::{Basis, Case};
use mel_tests::{Finished, Mpi, compile_verdicts};
use serde_json::Value;

/// What fails and is known to, a line each: `default` or `exact`, the MPI, the case.
const NOT_YET: &str = include_str!("../programs/verdicts/not-yet");

/// Of which the time that is found is not within a tenth of what was lost, but within a half, a line each as above.
const NOT_CLOSE: &str = include_str!("../programs/verdicts/not-close");

/// A run that is not as wanted is repeated so often, for other work on the machine is late, too.
const TRIES: usize = 4;

/// The share of what is lost from which on a finding that is wrong counts; less comes by chance.
const BY_CHANCE: f64 = 0.25;

/// The share of the time of all ranks from which on a finding is worth a word.
const WORTH_A_WORD: f64 = 0.01;

/// The same in a healthy program, with a name and without one: on a machine with other work not all comes at once.
const HEALTHY: (f64, f64) = (0.03, 0.1);

/// A program of `programs/verdicts`: its source, its arguments (problem, late rank, milliseconds), and the number of ranks.
struct Program {
    name: &'static str,
    source: &'static str,
    args: &'static str,
    ranks: u32,
    /// Whether nothing was planted: then only a machine without other work says anything.
    is_healthy: bool,
}

/// What was planted in a program.
struct Planted {
    program: Program,
    /// The rules that it may be called, with `|` between them.
    rules: &'static str,
    /// The ranks that are the cause; none where it is said that there is none.
    culprits: &'static [u64],
    /// Marks of the lines where time is lost; empty for any.
    site: &'static str,
    /// Marks of the culprit's calls; empty for any.
    cause_site: &'static str,
    /// The share of what is lost that each culprit has; 0 where it is theirs together.
    share: f64,
    /// What the finding has to say beside that.
    says: &'static str,
}

impl Planted {
    /// What is wrong in the verdict on a run; `is_close` says how near to what was lost its figures are to be.
    fn wrong_in(&self, verdict: &[Value], run: &Finished, is_close: bool) -> Vec<String> {
        let lost = lost_s(&run.stdout);
        if lost <= 0.0 {
            return vec!["the program has lost nothing".to_owned()];
        }
        let (sites, cause_sites) = (self.program.lines(self.site), self.program.lines(self.cause_site));
        let mut by_culprit: BTreeMap<Option<u64>, f64> = BTreeMap::new();
        let mut wrong = Vec::new();
        for finding in verdict {
            let cause = finding["cause_rank"].as_u64();
            let is_named_rightly = cause.is_none_or(|cause| self.culprits.contains(&cause));
            let is_there = is_at(&finding["site"], &sites);
            let is_rule = self.rules.split('|').any(|rule| finding["rule"] == rule);
            let says = |what: &str| finding[what].as_str().is_some_and(|text| text.contains(self.says));
            let counts = of(finding, "lost_s") >= BY_CHANCE * lost && of(finding, "share") >= WORTH_A_WORD;
            if counts && !is_named_rightly && !is_of_the_start(finding) {
                wrong.push(format!("a false name: {}", finding["text"]));
            }
            if counts && is_there && !sites.is_empty() && !is_rule && !is_of_the_machine(finding) {
                wrong.push(format!("a false cause: {}", finding["text"]));
            }
            let is_right = is_named_rightly && cause.is_none() == self.culprits.is_empty();
            let is_at_cause = cause.is_none() || is_at(&finding["cause_site"], &cause_sites);
            if is_right && is_there && is_rule && is_at_cause && (says("text") || says("advice")) {
                *by_culprit.entry(cause).or_default() += of(finding, "lost_s");
            }
        }
        let found: f64 = by_culprit.values().sum();
        let (least, most) = if is_close { (0.9, (1.1, 0.01)) } else { (0.5, (1.6, 0.05)) };
        let least = least * lost * if self.share > 0.0 { self.share } else { 1.0 };
        let each = self.culprits.iter().filter(|_| self.share > 0.0);
        let found_of = |culprit: &u64| by_culprit.get(&Some(*culprit)).copied().unwrap_or_default();
        let too_little = each.filter(|culprit| found_of(culprit) < least);
        wrong.extend(
            too_little.map(|rank| format!("rank {rank} is not the cause of its part of {lost:.3} s")),
        );
        if self.share == 0.0 && found < least {
            wrong.push(format!("{found:.3} s are found of {lost:.3} s"));
        }
        // Other lines of the same cause are none of it.
        if !sites.is_empty() && found > most.0 * lost + most.1 {
            wrong.push(format!("{found:.3} s are found where {lost:.3} s are lost"));
        }
        wrong
    }
}

impl Program {
    /// The lines with these marks, as `file:line`.
    fn lines(&self, marks: &str) -> Vec<String> {
        let file = format!("{}.c", self.source);
        let text = std::fs::read_to_string(root().join("tests/programs/verdicts").join(&file));
        match marks {
            "" => Vec::new(),
            marks => marked(marks, &file, &text.expect("the source is there")).expect("the line is marked"),
        }
    }

    /// Runs it on each MPI of the distribution with each basis until nothing is wrong, and fails if something is, or if nothing is
    /// where something is known to be.
    fn is_right(&self, wrong_in: impl Fn(&[Value], &Finished, bool) -> Vec<String>) {
        let args: Vec<&str> = self.args.split(' ').filter(|word| !word.is_empty()).collect();
        let mut failed = Vec::new();
        for mpi in Mpi::all().iter().filter(|mpi| matches!(mpi.name, "openmpi" | "mpich")) {
            let program = compile_verdicts(mpi, self.source);
            let case = Case { mpi, ranks: self.ranks, program, args: &args, options: &[] };
            for (basis, of) in [(Basis::Estimated, "default"), (Basis::Exact, "exact")] {
                let known = format!("{of} {} {}", mpi.name, self.name);
                let is_known = NOT_YET.lines().any(|line| line == known);
                let is_close = !NOT_CLOSE.lines().any(|line| line == known);
                let (mut wrong, mut kept) = (Vec::new(), false);
                for _ in 0..if is_known { 2 } else { TRIES } {
                    let (verdict, run) = case.verdict(basis);
                    let keeps = kept_time(&run);
                    kept |= keeps;
                    wrong = wrong_in(&verdict, &run, is_close && keeps);
                    if !wrong.is_empty() {
                        wrong.extend(
                            verdict.iter().take(5).map(|finding| format!("said: {}", finding["text"])),
                        );
                    }
                    if wrong.is_empty() != is_known {
                        break;
                    }
                }
                match (wrong.is_empty(), is_known) {
                    (false, false) if !kept && self.is_healthy => {
                        println!("skipped: {known}: the machine has too much else to do");
                    }
                    (false, false) => failed.push(format!("{known}: {wrong:#?}")),
                    (true, true) => failed.push(format!("{known}: it is right, take it from the list")),
                    (false, true) => println!("{known} is known to be wrong: {wrong:#?}"),
                    (true, false) => {}
                }
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}

fn planted(planted: &Planted) {
    planted.program.is_right(|verdict, run, is_close| planted.wrong_in(verdict, run, is_close));
}

/// Nobody is named, and nothing else takes much.
fn healthy(program: &Program) {
    program.is_right(|verdict, _, _| {
        let is_about_ranks = |finding: &&Value| !is_of_the_machine(finding) && !is_of_the_start(finding);
        let is_said = |finding: &&Value| {
            let (named, nobody) = HEALTHY;
            of(finding, "share") >= if finding["cause_rank"].is_u64() { named } else { nobody }
        };
        verdict
            .iter()
            .filter(is_about_ranks)
            .filter(is_said)
            .map(|finding| format!("healthy, but {}", finding["text"]))
            .collect()
    });
}

fn of(finding: &Value, what: &str) -> f64 {
    finding[what].as_f64().unwrap_or_default()
}

/// Whether it is about processes that have no processor, or about the communication itself, and not about a rank that is late.
fn is_of_the_machine(finding: &Value) -> bool {
    let rules = [
        "barrier_completion",
        "nxn_completion",
        "wait_for_transfer",
        "only_communication",
        "close_send_and_receive",
        "file_access",
    ];
    rules.iter().any(|rule| finding["rule"] == *rule)
}

/// Whether it is about the barrier in which the ranks begin together: the launcher does not start them so.
fn is_of_the_start(finding: &Value) -> bool {
    finding["site"].as_str().is_some_and(|site| site.starts_with("planted.h:"))
}

/// Whether a place of a finding, `file:line (function)`, is one of these; of none it is.
fn is_at(place: &Value, lines: &[String]) -> bool {
    let line = place.as_str().unwrap_or_default().split(' ').next().unwrap_or_default();
    lines.is_empty() || lines.iter().any(|known| known == line)
}

/// What was really lost, by what the ranks have noted: from when each was in a call that waits until the culprit of that step came,
/// the last one if there were several, or until the call returned.
fn lost_s(stdout: &str) -> f64 {
    let (mut waits, mut comes) = (Vec::new(), BTreeMap::<u64, f64>::new());
    for line in stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number =
            |place: usize| words.get(place).and_then(|word| word.parse::<f64>().ok()).unwrap_or_default();
        match words.first() {
            Some(&"waits") => waits.push((number(1) as u64, number(2), number(3))),
            Some(&"comes") => {
                let last = comes.entry(number(1) as u64).or_default();
                *last = last.max(number(2));
            }
            _ => {}
        }
    }
    let lost = |(step, since, until): &(u64, f64, f64)| {
        comes.get(step).map_or(0.0, |came| (came.min(*until) - since).max(0.0))
    };
    waits.iter().map(lost).sum()
}

/// A test of each line: of planted problems its [`Program`] and the fields of [`Planted`] in their order; of healthy programs the program.
macro_rules! cases {
    (
        planted { $($name:ident $source:literal $args:literal $ranks:literal $rules:literal $culprits:tt $site:literal
            $cause_site:literal $share:literal $says:literal;)* }
        healthy { $($well:ident $well_source:literal $well_args:literal $well_ranks:literal;)* }
    ) => {
        mod planted_problems {
            use super::{Planted, Program, planted};

            $(
                #[test]
                #[ignore = "slow"]
                fn $name() {
                    planted(&Planted {
                        program: Program { name: stringify!($name), source: $source, args: $args, ranks: $ranks, is_healthy: false },
                        rules: $rules,
                        culprits: &$culprits,
                        site: $site,
                        cause_site: $cause_site,
                        share: $share,
                        says: $says,
                    });
                }
            )*
        }

        mod healthy_programs {
            use super::{Program, healthy};

            $(
                #[test]
                #[ignore = "slow"]
                fn $well() {
                    healthy(&Program { name: stringify!($well), source: $well_source, args: $well_args, ranks: $well_ranks, is_healthy: true });
                }
            )*
        }

        /// Its names.
        const CASES: &[&str] = &[$(stringify!($name),)* $(stringify!($well),)*];
    };
}

#[test]
fn what_is_not_yet_right_is_a_case() {
    for line in NOT_YET.lines().chain(NOT_CLOSE.lines()) {
        let words: Vec<&str> = line.split(' ').collect();
        let [basis, mpi, name] = words[..] else { panic!("not three words: {line}") };
        let is_known = matches!(basis, "default" | "exact") && matches!(mpi, "openmpi" | "mpich");
        assert!(is_known && CASES.contains(&name), "there is no such case: {line}");
    }
}

#[test]
fn the_time_lost_is_until_the_last_culprit_came() {
    let said = "waits 1 10.0 10.5\nwaits 1 10.1 10.2\ncomes 1 10.3\ncomes 1 10.4\nwaits 2 11.0 12.0\n";
    assert!((lost_s(said) - 0.5).abs() < 1e-9, "{}", lost_s(said));
}

/// Rank 1 is late to the barrier, and all others wait.
#[test]
#[ignore = "slow"]
fn what_ranks_wait_that_idle_by_design_is_no_finding() {
    let lines = marked("BARRIER", "collectives.c", include_str!("../programs/verdicts/collectives.c"));
    let lines = lines.expect("the line is marked");
    for mpi in Mpi::all().iter().filter(|mpi| matches!(mpi.name, "openmpi" | "mpich")) {
        let victims = |basis, options: &[String]| {
            let program = compile_verdicts(mpi, "collectives");
            let case = Case { mpi, ranks: 3, program, args: &["barrier", "1", "20"], options };
            let (verdict, _) = case.verdict(basis);
            let there = verdict.iter().filter(|finding| is_at(&finding["site"], &lines));
            let victims =
                there.flat_map(|finding| finding["victims"].as_array().cloned().unwrap_or_default());
            victims.filter_map(|victim| victim.as_u64()).collect::<Vec<_>>()
        };
        for basis in [Basis::Estimated, Basis::Exact] {
            let all = victims(basis, &[]);
            assert!(all.contains(&0) && all.contains(&2), "{}, {basis:?}: {all:?}", mpi.name);
            let others = victims(basis, &["--idle".to_owned(), "0".to_owned()]);
            assert!(!others.contains(&0) && others.contains(&2), "{}, {basis:?}: {others:?}", mpi.name);
        }
    }
}

cases! {
    planted {
    // Polling.
    test_loop "polling" "test 2 20" 3 "late_sender" [2] "TEST" "SEND" 1.0 "";
    test_loop_of_the_first "polling" "test 0 20" 3 "late_sender" [0] "TEST" "SEND" 1.0 "";
    testall_loop "polling" "testall 2 20" 3 "late_sender" [2] "TESTALL" "SEND" 1.0 "";
    testall_loop_that_sleeps "polling" "testall_with_sleep 2 20" 3 "late_sender" [2] "TESTALL_SLEEP" "SEND" 1.0 "";
    testany_loop "polling" "testany 2 20" 3 "late_sender" [2] "TESTANY" "SEND" 1.0 "";
    testsome_loop "polling" "testsome 2 20" 3 "late_sender" [2] "TESTSOME" "SEND" 1.0 "";
    get_status_loop "polling" "get_status 2 20" 3 "late_sender" [2] "GET_STATUS" "SEND" 1.0 "";
    iprobe_loop "polling" "iprobe 2 20" 3 "late_sender" [2] "IPROBE|PROBED" "SEND" 1.0 "";
    iprobe_loop_of_any "polling" "iprobe_any 2 20" 3 "late_sender" [2] "IPROBE_ANY" "SEND" 1.0 "";
    improbe_loop "polling" "improbe 2 20" 3 "late_sender" [2] "IMPROBE" "SEND" 1.0 "";
    test_loop_of_a_send "polling" "test_of_send 2 20" 3 "late_receiver" [2] "SEND_TEST" "RECV" 1.0 "";
    consensus "polling" "consensus 2 20" 3 "late_sender|late_receiver|wait_at_barrier" [2]
        "CONSENSUS_IPROBE|CONSENSUS_TEST|CONSENSUS_SENT|CONSENSUS_RECV" "ISSEND|IBARRIER|CONSENSUS_RECV|CONSENSUS_IPROBE" 0.0 "";
    test_loop_of_a_barrier "polling" "barrier_test 1 20" 3 "wait_at_barrier" [1] "BARRIER_TEST" "TESTED_IBARRIER" 1.0 "";
    // Collective operations.
    late_to_barrier "collectives" "barrier 1 20" 4 "wait_at_barrier" [1] "BARRIER" "BARRIER" 1.0 "";
    late_root_of_bcast "collectives" "bcast 1 20" 4 "late_broadcast" [1] "BCAST" "BCAST" 1.0 "";
    late_forwarder_of_bcast "collectives" "forwards 2 20" 4 "late_member|wait_at_barrier" [2] "FORWARDS|AFTER_FORWARDS"
        "FORWARDS|AFTER_FORWARDS" 1.0 "";
    late_member_of_large_bcast "collectives" "bcast_large 2 30" 4 "late_member|wait_at_barrier" [2] "" "" 1.0 "";
    late_root_of_scatter "collectives" "scatter 2 20" 4 "late_broadcast" [2] "SCATTER" "SCATTER" 1.0 "";
    late_member_of_large_scatter "collectives" "scatter_large 2 30" 3 "late_member|wait_at_barrier" [2] "" "" 0.0 "";
    late_member_of_gather "collectives" "gather 3 20" 4 "early_reduce|late_member" [3] "GATHER" "GATHER" 0.3 "";
    late_root_of_large_gather "collectives" "gather_late_root 0 30" 3 "late_member" [0] "GATHER_ROOT" "GATHER_ROOT" 1.0 "";
    late_member_of_reduce "collectives" "reduce 3 20" 4 "early_reduce|late_member" [3] "REDUCE" "REDUCE" 0.3 "";
    late_root_of_large_reduce "collectives" "reduce_late_root 0 30" 3 "late_member" [0] "REDUCE_ROOT" "REDUCE_ROOT" 0.0 "";
    late_to_allreduce "collectives" "allreduce 2 20" 4 "wait_at_nxn" [2] "ALLREDUCE" "ALLREDUCE" 1.0 "";
    late_to_allgather "collectives" "allgather 0 20" 3 "wait_at_nxn" [0] "ALLGATHER" "ALLGATHER" 1.0 "";
    late_to_alltoall "collectives" "alltoall 1 20" 3 "wait_at_nxn" [1] "ALLTOALL" "ALLTOALL" 1.0 "";
    late_to_reduce_scatter "collectives" "reduce_scatter 2 20" 3 "wait_at_nxn" [2] "REDUCE_SCATTER" "REDUCE_SCATTER" 1.0 "";
    late_first_of_scan "collectives" "scan 0 20" 3 "early_scan" [0] "SCAN" "SCAN" 1.0 "";
    late_to_comm_split "collectives" "comm_split 1 20" 3 "wait_at_nxn" [1] "COMM_SPLIT" "COMM_SPLIT" 1.0 "";
    late_root_and_a_message_of_a_leaf "collectives" "scatter_then_send 2 20" 4 "late_broadcast" [2] "SCATTERV" "SCATTERV" 1.0 "";
    late_to_finalize "collectives" "finalize 2 300" 3 "wait_at_finalize" [2] "" "" 1.0 "MPI_Finalize";
    // Nonblocking ones, and those of neighbours.
    late_to_iallreduce "nonblocking" "iallreduce 1 20" 3 "wait_at_nxn" [1] "WAIT" "IALLREDUCE" 1.0 "";
    late_to_ialltoall "nonblocking" "ialltoall 2 20" 3 "wait_at_nxn" [2] "WAIT" "IALLTOALL" 1.0 "";
    late_to_iallgather "nonblocking" "iallgather 0 20" 3 "wait_at_nxn" [0] "WAIT" "IALLGATHER" 1.0 "";
    late_to_ibarrier "nonblocking" "ibarrier 1 20" 3 "wait_at_barrier" [1] "WAIT" "IBARRIER" 1.0 "";
    late_root_of_ibcast "nonblocking" "ibcast 2 20" 3 "late_broadcast" [2] "WAIT" "IBCAST" 1.0 "";
    late_to_ineighbor "nonblocking" "ineighbor 1 20" 3 "wait_at_nxn" [1] "WAIT" "INEIGHBOR" 1.0 "";
    late_to_neighbor "nonblocking" "neighbor 1 20" 3 "wait_at_nxn" [1] "NEIGHBOR" "NEIGHBOR" 1.0 "";
    late_root_of_ibcast_and_a_message "nonblocking" "ibcast_then_send 2 20" 3 "late_broadcast|late_sender" [2]
        "SEND_WAIT|FROM_WAITING" "SEND_IBCAST" 1.0 "";
    // Files, and packing.
    late_to_write_at_all "files" "write_at_all 1 20" 3 "wait_at_nxn" [1] "WRITE_AT_ALL" "WRITE_AT_ALL" 1.0 "";
    late_to_read_at_all "files" "read_at_all 2 20" 3 "wait_at_nxn|wait_at_barrier" [2] "" "" 0.0 "";
    late_to_open "files" "open_file 1 20" 3 "wait_at_nxn" [1] "FILE_OPEN" "FILE_OPEN" 1.0 "";
    late_to_close "files" "close_file 1 20" 3 "wait_at_nxn" [1] "CLOSE" "CLOSE" 1.0 "";
    writes_while_others_wait "files" "writes 2 0" 3 "wait_at_barrier" [2] "AFTER_WRITES" "AFTER_WRITES" 1.0 "MPI_File_write_at";
    packs_while_others_wait "files" "packs 1 0" 3 "wait_at_barrier" [1] "AFTER_PACKS" "AFTER_PACKS" 1.0 "MPI_Pack";
    // Windows.
    lock_that_is_held "windows" "lock_held 2 20" 3 "lock_contention" [2] "LOCK|PUT|UNLOCK" "" 1.0 "";
    late_post "windows" "late_post 1 40" 2 "late_post" [1] "START|START_PUT|COMPLETE" "POST" 1.0 "";
    late_post_before_a_barrier "windows" "late_post 2 20" 3 "late_post" [2] "START|START_PUT|COMPLETE" "POST" 1.0 "";
    late_complete "windows" "late_complete 2 20" 3 "early_wait" [2] "WIN_WAIT" "LATE_COMPLETE" 1.0 "";
    late_to_fence "windows" "fence 1 20" 3 "wait_at_fence" [1] "FENCE" "FENCE" 1.0 "";
    // Messages.
    late_in_a_large_exchange "messages" "exchange_large 1 20" 2 "late_sender" [1] "EXCHANGE" "EXCHANGE_SEND" 1.0 "";
    late_in_a_small_exchange "messages" "exchange_small 1 20" 2 "late_sender" [1] "EXCHANGE" "EXCHANGE_SEND" 1.0 "";
    persistent_receives_first "messages" "receives_first 0 20" 2 "late_sender" [0] "PERSISTENT" "STARTALL" 1.0 "";
    persistent_receives_last "messages" "receives_last 1 20" 2 "late_sender" [1] "PERSISTENT" "STARTALL" 1.0 "";
    late_in_a_ring "messages" "sendrecv 1 20" 4 "late_sender" [1] "SENDRECV" "SENDRECV" 1.0 "";
    first_of_a_chain "messages" "chain 0 20" 3 "late_sender" [0] "CHAIN_RECV" "CHAIN_SEND" 1.0 "";
    middle_of_a_chain "messages" "chain 1 20" 3 "late_sender" [1] "CHAIN_RECV" "CHAIN_SEND" 1.0 "";
    late_receiver_of_a_send "messages" "late_receiver 1 20" 2 "late_receiver" [1] "EARLY_SEND" "LATE_RECV" 1.0 "";
    late_receiver_of_an_isend "messages" "late_receiver_wait 0 20" 2 "late_receiver" [0] "WAIT_SENT" "LATE_IRECV" 1.0 "";
    late_receiver_of_an_ssend "messages" "late_ssend 1 20" 2 "late_receiver" [1] "SSEND" "SSEND_RECV" 1.0 "";
    probed_server "messages" "probe_server 1 20" 3 "late_sender|wait_at_barrier" [1] "" "" 0.0 "";
    slow_worker "messages" "slow_worker 2 20" 4 "late_sender" [2] "RESULT" "DONE" 1.0 "";
    one_works_in_a_ping_pong "messages" "ping_pong_with_work 1 20" 2 "late_sender" [1] "PING" "PONG" 1.0 "";
    receiver_outside_of_mpi "messages" "two_absences 1 20" 2 "wait_without_progress|late_receiver" [1] "UNANSWERED" "" 1.0 "";
    // Several culprits, and one that is one at times.
    two_in_turn "culprits" "alternate 1 20" 3 "wait_at_barrier" [1, 2] "MEET" "MEET" 0.5 "";
    two_in_turn_of_four "culprits" "alternate 1 20" 4 "wait_at_barrier" [1, 2] "MEET" "MEET" 0.5 "";
    two_at_once "culprits" "group 2 20" 4 "wait_at_barrier" [2, 3] "MEET" "MEET" 0.0 "";
    one_after_the_other "culprits" "moving 0 20" 3 "wait_at_barrier" [] "MEET" "" 0.0 "";
    random_work "culprits" "random_work 0 10" 3 "wait_at_barrier" [] "RANDOM" "" 0.0 "";
    one_stall "culprits" "stall 1 500" 3 "wait_at_barrier" [1] "STALL" "STALL" 1.0 "";
    too_little_to_do "culprits" "too_little 0 20" 4 "wait_at_barrier" [] "TOO_LITTLE" "" 0.0 "";
    slow_model_of_two "culprits" "coupled 2 20" 4 "late_sender" [2, 3] "COUPLE" "COUPLE" 0.0 "";
    serial_part "culprits" "serial_part 0 20" 4 "late_broadcast" [0] "SERIAL" "SERIAL" 1.0 "";
    two_at_two_lines "culprits" "two_lines 1 20" 3 "wait_at_barrier" [1, 2] "FIRST" "FIRST" 0.0 "";
    }
    healthy {
    computes_and_tests "polling" "overlapped" 2;
    large_alltoall "collectives" "alltoall_large" 2;
    small_gathers "collectives" "gathers_eager" 3;
    overlapped_iallreduce "nonblocking" "overlapped" 3;
    files_of_ones_own "files" "own_files" 2;
    fences_of_all "windows" "fences" 3;
    ping_pong "messages" "ping_pong" 2;
    tiny_messages "messages" "tiny" 2;
    large_transfers "messages" "transfers" 2;
    ring_of_alike "messages" "ring" 3;
    all_alike "culprits" "alike" 3;
    alone "culprits" "alone" 2;
    barriers "culprits" "barriers" 2;
    }
}
