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
