//! The verdict's first finding is the problem that was planted in a program: its rule, the causing rank, the lines, and the
//! time lost; in the default run, and from a trace. Of a healthy program nothing is said.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::planted::{Planted, Wanted, Wrong, kept_time};
use mel_tests::{Job, Mpi, compile_source};
use serde_json::Value;

/// Findings below this share of the run are not worth a word.
const LEAST_SHARE: f64 = 0.01;

/// Times that a busy machine has changed are asked for again so often.
const TRIES: u32 = 3;

/// Where a verdict comes from.
#[derive(Clone, Copy, Debug)]
enum Basis {
    /// `mel run`
    Estimated,
    /// `mel run --trace` and `mel analyze`
    Exact,
}

impl Basis {
    fn options(self) -> &'static [&'static str] {
        match self {
            Basis::Estimated => &[],
            Basis::Exact => &["--trace"],
        }
    }

    fn command(self) -> &'static str {
        match self {
            Basis::Estimated => "report",
            Basis::Exact => "analyze",
        }
    }
}

/// The verdict on one run, and whether the machine kept the time planted.
fn verdict(job: Job<'_>, basis: Basis, what: &str) -> (Vec<Value>, bool) {
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let output = output.to_str().expect("a path in UTF-8");
    let run = job.under_mel([&["-o", output], basis.options()].concat()).run();
    run.expect(run.code == Some(0), what);
    let json =
        Command::new(mel()).args([basis.command(), "--json", output]).output().expect("mel can be started");
    let said = String::from_utf8_lossy(&json.stderr);
    assert!(json.status.success(), "{what}: mel {} --json: {said}", basis.command());
    let profile: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let verdict = profile["verdict"].as_array();
    let verdict = verdict.unwrap_or_else(|| panic!("{what}: there is no verdict: {said}")).clone();
    (verdict, kept_time(&run))
}

/// A program on so many ranks: ranks that share processors give them up while they wait.
fn job<'a>(mpi: &'a Mpi, ranks: u32, program: &Path) -> Job<'a> {
    let job = Job::new(mpi, ranks, program);
    if ranks > 2 { job.patient() } else { job }
}

fn is_found<'a>(make: impl Fn() -> Job<'a>, basis: Basis, wanted: &Wanted, what: &str) {
    for attempt in 1..=TRIES {
        let (verdict, kept) = verdict(make(), basis, what);
        let wrong = wanted.wrong_in(&verdict);
        if wrong.is_empty() {
            return;
        }
        let only_times = wrong.iter().all(|wrong| matches!(wrong, Wrong::Time(_)));
        let again = attempt < TRIES && (only_times || !kept);
        assert!(again, "{what}, {basis:?}: {wrong:#?}\nThe verdict is {verdict:#?}");
    }
}

fn planted(name: &str) {
    let program = Planted::named("planted", name);
    for mpi in &program.mpis() {
        for executable in program.compile(mpi) {
            let what = format!("{} with {}", executable.display(), mpi.name);
            for (basis, wanted) in [(Basis::Estimated, &program.default), (Basis::Exact, &program.exact)] {
                if let Some(wanted) = wanted {
                    is_found(|| job(mpi, program.ranks, &executable), basis, wanted, &what);
                }
            }
        }
    }
}

fn healthy(name: &str) {
    let program = Planted::named("healthy", name);
    for mpi in &program.mpis() {
        for executable in program.compile(mpi) {
            for basis in [Basis::Estimated, Basis::Exact] {
                let what = format!("{name} with {}, {basis:?}", mpi.name);
                let found = (1..=TRIES).find_map(|attempt| {
                    let (mut verdict, _) = verdict(job(mpi, program.ranks, &executable), basis, &what);
                    verdict
                        .retain(|finding| finding["share"].as_f64().is_none_or(|share| share >= LEAST_SHARE));
                    (verdict.is_empty() || attempt == TRIES).then_some(verdict)
                });
                assert!(found.as_ref().is_some_and(Vec::is_empty), "{what}: {found:#?}");
            }
        }
    }
}

/// A test of each program, named as the program; those behind `slow` are for `make test-all` only. And one that fails
/// where a program is missing here.
macro_rules! test_programs {
    ($check:ident: $($fast:ident)*; slow: $($slow:ident)*) => {
        mod $check {
            $(
                #[test]
                fn $fast() {
                    super::$check(stringify!($fast));
                }
            )*
            $(
                #[test]
                #[ignore = "slow"]
                fn $slow() {
                    super::$check(stringify!($slow));
                }
            )*

            #[test]
            fn no_program_is_forgotten() {
                let mut named = vec![$(stringify!($fast),)* $(stringify!($slow),)*];
                named.sort_unstable();
                assert_eq!(super::Planted::names(stringify!($check)), named);
            }
        }
    };
}

test_programs! {
    planted:
    late_fence late_receiver_synchronous late_standard_send serial_chain stencil_allreduce;
    slow:
    chain_with_work close_send_and_receive costly_wildcards early_gather early_ready_send early_reduce early_scan
    early_standard_send early_synchronous_send early_wait fortran_late_allreduce fortran_late_sender
    functions_around_mpi late_allreduce late_alltoall late_barrier late_broadcast late_buffered_send
    late_in_one_thread late_post late_ready_send late_receiver_rendezvous late_scatter late_sender_any
    late_sender_probed late_synchronous_send late_through_messages lock_contention misarrangement_buffered_send
    misarrangement_standard_send persistent_requests send_and_receive several_communicators
    several_communicators_messages slow_master slow_rank stencil tags_backwards two_nodes unexpected_copies
    wait_at_receiver_ibsend wait_at_receiver_irsend wait_at_receiver_isend wait_at_receiver_issend
    wait_at_sender_irsend wait_at_sender_isend wait_at_sender_issend wait_for_progress wait_without_progress

}

test_programs! {
    healthy:
    balanced_stencil computes_only;
    slow:
    balanced_allreduce balanced_ring early_buffered_send jitter master_and_workers one_sided pipeline posted_before
    ready_sends_in_any_order wait_at_sender_ibsend
}

/// The halo exchange of our README: its slow rank is the cause, not the ranks beside it, which wait, and not the one that posts
/// its receives late.
#[test]
fn the_slow_rank_of_halo2d() {
    let source = root().join("examples/programs/halo2d.c");
    let text = std::fs::read_to_string(&source).expect("the example is there");
    let line = (1..).zip(text.lines()).find(|(_, line)| line.contains("MPI_Waitall(SIDES, receives"));
    let site = format!("halo2d.c:{} ", line.expect("it waits for its receives").0);
    for mpi in &Mpi::all() {
        let program = compile_source(mpi, &source);
        for basis in [Basis::Estimated, Basis::Exact] {
            let what = format!("halo2d with {}, {basis:?}", mpi.name);
            let (verdict, _) = verdict(job(mpi, 4, &program), basis, &what);
            let first = verdict.first().unwrap_or_else(|| panic!("{what}: nothing is found"));
            assert_eq!(first["cause_rank"], 1, "{what}: {verdict:#?}");
            let is_there = first["site"].as_str().is_some_and(|found| found.starts_with(&site));
            assert!(is_there, "{what}: not at {site}: {verdict:#?}");
        }
    }
}
