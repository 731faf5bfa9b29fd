//! Performance variables: the MPI's own are all there as without us, and ours count what a program sends, with
//! `libmpit_events.so` and with `mel run`, on every MPI.

use mel_tests::artifacts::{built, fresh_dir, libmel};
use mel_tests::{Finished, Job, Mpi, compile_special};

/// Ours, in their order.
const OURS: [&str; 29] = [
    "pml_monitoring_flush",
    "pml_monitoring_messages_count",
    "pml_monitoring_messages_size",
    "osc_monitoring_messages_sent_count",
    "osc_monitoring_messages_sent_size",
    "osc_monitoring_messages_recv_count",
    "osc_monitoring_messages_recv_size",
    "coll_monitoring_messages_count",
    "coll_monitoring_messages_size",
    "coll_monitoring_o2a_count",
    "coll_monitoring_o2a_size",
    "coll_monitoring_a2o_count",
    "coll_monitoring_a2o_size",
    "coll_monitoring_a2a_count",
    "coll_monitoring_a2a_size",
    "mel_posted_queue_length",
    "mel_unexpected_queue_length",
    "mel_unexpected_queue_bytes",
    "mel_posted_queue_length_high",
    "mel_unexpected_queue_length_high",
    "mel_unexpected_queue_bytes_high",
    "mel_posted_searches",
    "mel_posted_search_time",
    "mel_unexpected_searches",
    "mel_unexpected_search_time",
    "mel_wait_time",
    "mel_messages_sent",
    "mel_bytes_sent",
    "mel_envelopes_lost",
];

/// A run with `libmpit_events.so`, with `mel run`, and with `libmel.so` that was asked for nothing.
fn with_each_library<'a>(
    mpi: &'a Mpi,
    ranks: u32,
    name: &str,
    args: &[&str],
) -> Vec<(Job<'a>, tempfile::TempDir)> {
    let program = compile_special(mpi, name);
    let plain = || {
        let directory = fresh_dir();
        (Job::new(mpi, ranks, &program).args(args).current_dir(directory.path()), directory)
    };
    let events = built("libmpit_events.so");
    let (alone, first) = plain();
    let (under_mel, second) = plain();
    let (preloaded, third) = plain();
    vec![
        (alone.through_env("LD_PRELOAD", events), first),
        (under_mel.under_mel(["--profile", "queues"]), second),
        (preloaded.through_env("LD_PRELOAD", libmel()), third),
    ]
}

/// The lines about variables, without those that only we have.
fn of_the_mpi(run: &Finished, from: usize) -> Vec<&str> {
    let ours = |line: &str| line.split(' ').nth(1).is_some_and(|name| OURS.contains(&name));
    let lines = run.stdout.lines().enumerate();
    lines.filter(|(place, line)| *place < from || !ours(line)).map(|(_, line)| line).collect()
}

#[test]
fn the_mpis_own_are_there_as_without_us() {
    for mpi in &Mpi::all_and_newer() {
        let program = compile_special(mpi, "variables_listed");
        for args in [&[][..], &["early"]] {
            let plain = Job::new(mpi, 1, &program).args(args).run();
            plain.expect(plain.code == Some(0) && !plain.stdout.contains("WRONG"), mpi.name);
            let expected: Vec<&str> = plain.stdout.lines().collect();
            for (job, _directory) in with_each_library(mpi, 1, "variables_listed", args) {
                let run = job.run();
                run.expect(run.code == Some(0) && !run.stdout.contains("WRONG"), mpi.name);
                let names: Vec<&str> =
                    run.stdout.lines().filter(|line| line.starts_with("variable ")).collect();
                let last = &names[names.len().saturating_sub(OURS.len())..];
                if args.is_empty() {
                    // Asked in time, the MPI's are first.
                    let ours = last.iter().map(|line| line.split(' ').nth(1));
                    run.expect(ours.eq(OURS.iter().map(|name| Some(*name))), mpi.name);
                }
                // An MPI may have some of these names itself.
                let first =
                    expected.iter().position(|line| line.starts_with("all ")).unwrap_or(expected.len());
                let mut kept = of_the_mpi(&run, if args.is_empty() { first.saturating_sub(2) } else { 0 });
                if first == expected.len() {
                    // One of ours is bound to nothing; of the MPI's none is, and there is nothing to start and free.
                    kept.retain(|line| !line.starts_with("all ") && !line.starts_with("free "));
                }
                run.expect(
                    kept == expected,
                    &format!("{} {args:?}: {expected:#?} are not {kept:#?}", mpi.name),
                );
            }
        }
    }
}

/// What a program that is asked to count as the component does sees of each variable, by rank, variable and peer: of the MPI's own, if it
/// has it, and of ours.
fn as_component(job: Job<'_>, what: &str) -> [Vec<String>; 2] {
    let run = job.run();
    run.expect(run.code == Some(0), what);
    ["first ", "last "].map(|whose| {
        let mut lines: Vec<String> =
            run.stdout.lines().filter_map(|line| line.strip_prefix(whose)).map(str::to_owned).collect();
        lines.sort();
        lines
    })
}

#[test]
fn the_switch_counts_what_the_component_counts() {
    for mpi in &Mpi::all() {
        let program = compile_special(mpi, "as_component");
        let with = |options: &[&str], component: bool| {
            let directory = fresh_dir();
            let mut job = Job::new(mpi, 2, &program).current_dir(directory.path());
            if component {
                job = job.env("OMPI_MCA_pml_monitoring_enable", "2");
            }
            as_component(job.under_mel(["--profile", "queues"].iter().chain(options).copied()), mpi.name)
        };
        let expected = |of_self: [&str; 2], no_op: [&str; 2], sent: [&str; 2]| {
            let mut lines = Vec::new();
            for rank in 0..2 {
                let mut line = |name: &str, own: &str, other: &str| {
                    let [first, second] = if rank == 0 { [own, other] } else { [other, own] };
                    lines.push(format!("{rank} {name} {first} {second}"));
                };
                line("pml_monitoring_messages_count", of_self[0], sent[0]);
                line("pml_monitoring_messages_size", if of_self[0] == "0" { "0" } else { "10" }, sent[1]);
                line("osc_monitoring_messages_sent_count", of_self[0], no_op[0]);
                line("osc_monitoring_messages_sent_size", of_self[1], no_op[1]);
                line("osc_monitoring_messages_recv_count", "0", "2");
                line("osc_monitoring_messages_recv_size", "0", "8");
            }
            lines.sort();
            lines
        };
        // A message of 3 bytes, and a persistent one of 5 that is started twice.
        let sent = ["3", "13"];
        assert_eq!(with(&[], false)[1], expected(["0", "0"], ["0", "0"], sent), "{}", mpi.name);
        let likewise = expected(["1", "20"], ["2", "4"], sent);
        assert_eq!(with(&["--as-component"], false)[1], likewise, "{}", mpi.name);
        let alone = Job::new(mpi, 2, &program).env("MEL_AS_COMPONENT", "1");
        let alone = alone.through_env("LD_PRELOAD", built("libmpit_events.so"));
        assert_eq!(as_component(alone, mpi.name)[1], likewise, "{}", mpi.name);
        if mpi.name == "openmpi" {
            // Its variables of windows are there in this version, those of messages are not.
            let of_windows = |lines: Vec<String>| -> Vec<String> {
                lines.into_iter().filter(|line| line.contains(" osc_")).collect()
            };
            let [theirs, ours] = with(&["--as-component"], true).map(of_windows);
            assert_eq!(theirs, ours);
            let [theirs, ours] = with(&[], true).map(of_windows);
            assert_ne!(theirs, ours, "the first are the MPI's own");
        }
    }
}

#[test]
fn a_program_counts_what_a_part_of_it_sends() {
    const RANKS: u32 = 3;
    for mpi in &Mpi::all_and_newer() {
        for (job, directory) in with_each_library(mpi, RANKS, "variables", &[]) {
            let (run, outputs) = job.patient().run_apart();
            let right = outputs.iter().all(|output| output.stdout.lines().any(|line| line == "right"));
            run.expect(run.code == Some(0) && right, mpi.name);
            for rank in 0..RANKS {
                let file = directory.path().join(format!("phase_1.{rank}.prof"));
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let expected = format!(
                    "# POINT TO POINT\nE\t{rank}\t{}\t36 bytes\t9 msgs sent\t0,0,0,9,0,",
                    (rank + 1) % RANKS
                );
                run.expect(text.starts_with(&expected), &format!("{}: {text}", mpi.name));
            }
        }
    }
}
