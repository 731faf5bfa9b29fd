//! The verdict's first finding is the problem that was planted in a program: its rule, the causing rank, the lines, and the
//! time lost; in the default run, and from a trace. Of a healthy program nothing is said.

use mel_tests::artifacts::root;
use mel_tests::planted::{Planted, Wrong};
use mel_tests::verdict::{Basis, Case, TRIES};
use mel_tests::{Mpi, compile_source};
use serde_json::Value;

/// Of a healthy program findings below this share of the run are by chance: that much of these short runs a rank is without a processor
/// once, and late to the next operation.
const BY_CHANCE: f64 = 0.02;

/// Calls `check` for each executable of a program.
fn for_each_case(program: &Planted, check: impl Fn(&Case<'_>)) {
    for mpi in &program.mpis() {
        for executable in program.compile(mpi) {
            // There the module calls C from inside of the library, whose lines it has then.
            let inside = mpi.name.contains("mpich") && executable.to_string_lossy().contains("USE_MPI_F08");
            if inside {
                continue;
            }
            check(&Case {
                mpi,
                ranks: program.ranks,
                program: executable,
                args: &[],
                options: &program.options,
            });
        }
    }
}

fn planted(name: &str) {
    let program = Planted::named("planted", name);
    for_each_case(&program, |case| {
        let wanted = [
            (Basis::Estimated, &program.default),
            (Basis::Estimated, &program.also),
            (Basis::Exact, &program.exact),
        ];
        for (basis, wanted) in wanted {
            if let Some(wanted) = wanted {
                case.is_right(basis, |verdict| wanted.wrong_in(verdict));
            }
        }
    });
}

fn healthy(name: &str) {
    let share = |finding: &Value| finding["share"].as_f64().unwrap_or(1.0);
    let said = |verdict: &[Value]| -> Vec<Wrong> {
        let said = verdict.iter().filter(|finding| share(finding) >= BY_CHANCE);
        said.map(|finding| Wrong::Time(finding["text"].to_string())).collect()
    };
    for_each_case(&Planted::named("healthy", name), |case| {
        for basis in [Basis::Estimated, Basis::Exact] {
            case.is_right(basis, said);
        }
    });
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
    late_broadcast late_standard_send serial_chain several_communicators stencil_allreduce;
    slow:
    chain_with_work close_send_and_receive costly_wildcards early_gather early_ready_send early_reduce
    early_scan early_standard_send early_synchronous_send early_wait fortran_late_allreduce
    fortran_late_sender functions_around_mpi late_allreduce late_alltoall late_barrier
    late_buffered_send late_fence late_in_one_thread late_post late_ready_send late_receiver_rendezvous
    late_receiver_synchronous late_scatter late_sender_any late_sender_probed late_synchronous_send
    late_root_of_gather late_through_messages late_to_finalize lock_contention misarrangement_buffered_send misarrangement_standard_send
    persistent_requests polled_barriers polling polling_asleep send_and_receive several_communicators_messages slow_master slow_rank stencil
    tags_backwards two_culprits two_nodes unexpected_copies wait_at_receiver_ibsend wait_at_receiver_irsend
    wait_at_receiver_isend wait_at_receiver_issend wait_at_sender_irsend wait_at_sender_isend
    wait_at_sender_issend wait_for_progress wait_without_progress
}

test_programs! {
    healthy:
    balanced_stencil computes_only;
    slow:
    balanced_allreduce balanced_ring early_buffered_send jitter master_and_workers one_sided pipeline posted_before
    ready_sends_in_any_order tests_between_work wait_at_sender_ibsend
}

/// Rank 0 comes late to a function, and rank 1 waits for it at the line of `site`: the first finding of `mel run --trace` and of
/// `mel analyze` is the same rule, cause and lines.
fn late_in(function: &str, rule: &str, (site, cause_site): (&str, &str), is_there: impl Fn(&Mpi) -> bool) {
    let source = root().join("tests/programs/special/late_in.c");
    let text = std::fs::read_to_string(&source).expect("the program is there");
    let line = |mark: &str| {
        let mark = format!("/* line {mark} */");
        let number =
            (1..).zip(text.lines()).find(|(_, line)| line.ends_with(&mark)).expect("the line is there").0;
        format!("late_in.c:{number}")
    };
    let wanted = (rule, Some(0), line(site), line(cause_site));
    let first = |verdict: &[Value]| {
        let first = verdict.first().cloned().unwrap_or_default();
        let place = |what: &str| {
            first[what].as_str().unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
        };
        let is = (
            first["rule"].as_str().unwrap_or_default(),
            first["cause_rank"].as_u64(),
            place("site"),
            place("cause_site"),
        );
        is == wanted
    };
    let mpis: Vec<Mpi> = Mpi::all().into_iter().filter(is_there).collect();
    assert!(!mpis.is_empty(), "no MPI has {function}");
    for mpi in &mpis {
        let args = [function];
        let case = Case { mpi, ranks: 2, program: compile_source(mpi, &source), args: &args, options: &[] };
        for attempt in 1..=TRIES {
            let (verdicts, kept) = case.both_verdicts();
            if verdicts.iter().all(|verdict| first(verdict)) {
                break;
            }
            assert!(!kept && attempt < TRIES, "{case}, {function}: not {wanted:?} but {verdicts:#?}");
        }
    }
}

mod planted_late_in {
    use mel_tests::Mpi;

    use super::late_in;

    fn anywhere(_: &Mpi) -> bool {
        true
    }

    /// Open MPI has functions with large counts from version 6 on.
    fn has_large_counts(mpi: &Mpi) -> bool {
        mpi.name.starts_with("mpich")
    }

    #[test]
    #[ignore = "slow"]
    fn a_communicator_that_is_made() {
        late_in("MPI_Comm_dup", "wait_at_nxn", ("MPI_Comm_dup", "MPI_Comm_dup"), anywhere);
    }

    #[test]
    #[ignore = "slow"]
    fn a_window_that_is_made() {
        late_in("MPI_Win_create", "wait_at_nxn", ("MPI_Win_create", "MPI_Win_create"), anywhere);
    }

    #[test]
    #[ignore = "slow"]
    fn an_operation_of_neighbours() {
        let line = "MPI_Neighbor_alltoall";
        late_in(line, "wait_at_nxn", (line, line), anywhere);
    }

    #[test]
    #[ignore = "slow"]
    fn an_operation_between_groups() {
        late_in("MPI_Allreduce", "wait_at_nxn", ("MPI_Allreduce", "MPI_Allreduce"), anywhere);
    }

    #[test]
    #[ignore = "slow"]
    fn a_broadcast_with_large_counts() {
        late_in("MPI_Bcast_c", "late_broadcast", ("MPI_Bcast_c", "MPI_Bcast_c"), has_large_counts);
    }

    #[test]
    #[ignore = "slow"]
    fn the_receive_of_a_send_with_large_counts() {
        late_in("MPI_Issend_c", "late_receiver", ("MPI_Wait", "MPI_Recv"), has_large_counts);
    }
}

/// The halo exchange of our README: its slow rank is the cause, not the ranks beside it, which wait, and not the one that posts
/// its receives late.
#[test]
fn the_slow_rank_of_halo2d() {
    let source = root().join("examples/programs/halo2d.c");
    let text = std::fs::read_to_string(&source).expect("the example is there");
    let line = (1..).zip(text.lines()).find(|(_, line)| line.contains("MPI_Waitall(SIDES, receives"));
    let site = format!("halo2d.c:{} ", line.expect("it waits for its receives").0);
    let wrong_in = |verdict: &[Value]| {
        // Where four ranks have too few processors, that comes first, and names nobody.
        let named = verdict.iter().find(|finding| finding["cause_rank"].is_u64()).unwrap_or(&Value::Null);
        let is_there = named["site"].as_str().is_some_and(|found| found.starts_with(&site));
        let of_made = named["communicator"].as_str();
        let is_named = of_made.is_some_and(|name| name.starts_with("communicator made at halo2d.c:"));
        let right = is_there && is_named && named["cause_rank"] == 1;
        if right { Vec::new() } else { vec![Wrong::Finding(format!("not rank 1, for which {site}waits"))] }
    };
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let case = Case { mpi, ranks: 4, program: compile_source(mpi, &source), args: &[], options: &[] };
        for basis in [Basis::Estimated, Basis::Exact] {
            case.is_right(basis, wrong_in);
        }
    }
}

/// The programs of the tutorial: what it says is found, and what it mends is gone.
#[test]
#[ignore = "slow"]
fn the_problems_of_the_tutorial() {
    let tutorial = [
        ("uneven", 4, "late_sender", Some(2)),
        ("backwards", 2, "long_searches", Some(0)),
        ("overlap", 2, "late_sender", None),
    ];
    for (name, ranks, rule, cause) in tutorial {
        let source = root().join("examples/tutorial").join(name).with_extension("c");
        for mpi in Mpi::all().iter().filter(|mpi| ranks <= 2 || mpi.ranks_give_way()) {
            let program = compile_source(mpi, &source);
            for basis in [Basis::Estimated, Basis::Exact] {
                let case = Case { mpi, ranks, program: program.clone(), args: &[], options: &[] };
                case.is_right(basis, |verdict| {
                    // A trace has what it takes until all is sent, too, and who waits at the end.
                    let places = if basis == Basis::Exact { verdict.len() } else { 1 };
                    // Waits for ranks without a processor are none of the program's.
                    let is_of_program = |finding: &&Value| {
                        !finding["text"].as_str().is_some_and(|text| text.contains("had no processor"))
                    };
                    let right = verdict.iter().filter(is_of_program).take(places).any(|finding| {
                        finding["rule"] == rule && cause.is_none_or(|cause| finding["cause_rank"] == cause)
                    });
                    if right { Vec::new() } else { vec![Wrong::Finding(format!("not {rule} of {cause:?}"))] }
                });
                let lost = |verdict: &[Value]| {
                    let of_rule = verdict.iter().filter(|finding| finding["rule"] == rule);
                    of_rule.filter_map(|finding| finding["share"].as_f64()).sum::<f64>()
                };
                let mended = Case { args: &["mended"], ..case };
                mended.is_right(basis, |verdict| {
                    let lost = lost(verdict);
                    if lost < 0.1 {
                        Vec::new()
                    } else {
                        vec![Wrong::Time(format!("{rule} still has {lost}"))]
                    }
                });
            }
        }
    }
}
