//! `mel run --inside`: the messages that an MPI makes of a collective operation, by Open MPI's own monitoring component, by PERUSE, or as
//! the library hands them over to UCX.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::{Job, Mpi, compile_special};

const RANKS: usize = 8;
const TIMES: u64 = 3;
/// Bytes of a reduction.
const BYTES: u64 = 100_000;

/// Bytes by sender and receiver, of pairs that have any.
type Pairs = BTreeMap<(u64, u64), u64>;

/// What `mel report` says of a matrix.
fn report(output: &Path, kind: &str) -> Output {
    let mut command = Command::new(mel());
    let printed = command.args(["report", "--matrix", "--csv", "--kind", kind]).arg(output).output();
    printed.expect("mel runs")
}

/// A matrix as `mel report` has it.
fn matrix(output: &Path, kind: &str) -> Pairs {
    let printed = report(output, kind);
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let text = String::from_utf8(printed.stdout).expect("it is text");
    let mut pairs = Pairs::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.rsplitn(5, ',').collect();
        let number = |place: usize| fields[place].parse::<u64>().expect("a number");
        *pairs.entry((number(3), number(2))).or_default() += number(0);
    }
    pairs.retain(|_, bytes| *bytes > 0);
    pairs
}

/// The lines of the component's files about messages of the library's own: `I`, sender, receiver, `N bytes`, and so on.
fn of_component(directory: &Path) -> Pairs {
    let mut pairs = Pairs::new();
    for rank in 0..RANKS {
        let text = std::fs::read_to_string(directory.join(format!("theirs.{rank}.prof"))).expect("its file");
        for line in text.lines().filter(|line| line.starts_with("I\t")) {
            let fields: Vec<&str> = line.split(['\t', ' ']).collect();
            let number = |place: usize| fields[place].parse::<u64>().expect("a number");
            *pairs.entry((number(1), number(2))).or_default() += number(3);
        }
    }
    pairs.retain(|_, bytes| *bytes > 0);
    pairs
}

/// The reductions, along a binomial tree where the MPI is Open MPI.
fn job(mpi: &Mpi) -> Job<'_> {
    Job::new(mpi, RANKS as u32, compile_special(mpi, "reduce"))
        .args([TIMES.to_string()])
        .env("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
        .env("OMPI_MCA_coll_tuned_reduce_algorithm", "5")
}

#[test]
fn the_tree_of_a_reduction_is_seen_inside() {
    for mpi in Mpi::all_and_newer().iter().filter(|mpi| ["openmpi", "openmpi-5"].contains(&mpi.name)) {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options =
            ["--profile=matrix".into(), "--inside".into(), "-o".into(), output.display().to_string()];
        let run = job(mpi).under_mel(options).run();
        run.expect(run.code == Some(0), "the program runs");
        run.expect(run.stdout == "wrong: 0\n", "the component prints nothing");
        run.expect(!run.stderr.contains("--inside"), "nothing is missing");
        // The parent in a binomial tree: without the lowest bit.
        let tree: Pairs = (1..RANKS as u64).map(|rank| ((rank, rank & (rank - 1)), TIMES * BYTES)).collect();
        assert_eq!(matrix(&output, "internal"), tree);
        let logical: Pairs = (1..RANKS as u64).map(|rank| ((rank, 0), TIMES * BYTES)).collect();
        assert_eq!(matrix(&output, "collective"), logical);
        // A placement weighs the tree.
        let placed = Command::new(mel()).args(["place", "--json"]).arg(&output).output().unwrap();
        let placed: serde_json::Value = serde_json::from_slice(&placed.stdout).unwrap();
        assert_eq!(placed["as_the_library_sends"], serde_json::json!(["MPI_Reduce"]), "{}", mpi.name);
        // The same by the component itself, without MEL.
        let theirs = job(mpi)
            .env("OMPI_MCA_pml_monitoring_enable", "2")
            .env("OMPI_MCA_pml_monitoring_enable_output", "3")
            .env("OMPI_MCA_pml_monitoring_filename", directory.path().join("theirs"))
            .run();
        theirs.expect(theirs.code == Some(0), "the program runs");
        assert_eq!(of_component(directory.path()), tree);
    }
}

#[test]
fn a_list_of_pmls_without_the_component_leaves_it_out_and_one_with_it_does_not() {
    for mpi in Mpi::all_and_newer().iter().filter(|mpi| ["openmpi", "openmpi-5"].contains(&mpi.name)) {
        for (pmls, is_there) in [("ob1", false), ("ob1,monitoring", true)] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = ["--inside".into(), "-o".into(), output.display().to_string()];
            let run = job(mpi).env("OMPI_MCA_pml", pmls).under_mel(options).run();
            run.expect(run.code == Some(0), mpi.name);
            let remedy = run.stderr.contains("give --mca pml ob1,monitoring");
            run.expect(remedy != is_there, &format!("{}, {pmls}", mpi.name));
            let internal = report(&output, "internal");
            assert_eq!(internal.status.success(), is_there, "{}, {pmls}", mpi.name);
        }
    }
}

#[test]
fn peruse_tells_the_same_tree() {
    let Some(mpi) = Mpi::with_peruse() else { return };
    for more in [&["--profile=matrix"][..], &["--profile=calls,queues,matrix"]] {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = more.iter().map(|&option| option.to_owned());
        let options = options.chain(["--inside".into(), "-o".into(), output.display().to_string()]);
        // Its own component would be taken first.
        let run = job(&mpi).env("OMPI_MCA_pml_monitoring_enable", "0").under_mel(options).run();
        run.expect(run.code == Some(0), "the program runs");
        run.expect(!run.stderr.contains("--inside"), "nothing is missing");
        let tree: Pairs = (1..RANKS as u64).map(|rank| ((rank, rank & (rank - 1)), TIMES * BYTES)).collect();
        let mut found = matrix(&output, "internal");
        // What else the library sends to itself, in barriers, has no or few bytes.
        found.retain(|_, bytes| *bytes >= BYTES);
        assert_eq!(found, tree, "{more:?}");
    }
}

/// The MPIs of which UCX carries all messages, with what makes it so: Debian's, and MPICH 5 without memory of its own within a node.
fn over_ucx() -> Vec<(Mpi, &'static [(&'static str, &'static str)])> {
    let with = |mpi: Mpi| {
        let environment: &[(&str, &str)] = match mpi.name {
            "openmpi" => &[
                ("OMPI_MCA_pml", "ucx"),
                ("OMPI_MCA_pml_ucx_tls", "any"),
                ("OMPI_MCA_pml_ucx_devices", "any"),
                // Its own component would be taken first.
                ("OMPI_MCA_pml_monitoring_enable", "0"),
            ],
            "mpich" => &[("MPIR_CVAR_REDUCE_INTRA_ALGORITHM", "binomial")],
            "mpich-5" | "standard" => &[
                ("MPIR_CVAR_REDUCE_INTRA_ALGORITHM", "binomial"),
                ("MPIR_CVAR_DEVICE_COLLECTIVES", "none"),
                ("MPIR_CVAR_NOLOCAL", "1"),
            ],
            _ => return None,
        };
        Some((mpi, environment))
    };
    Mpi::all_and_newer().into_iter().filter_map(with).collect()
}

#[test]
fn what_goes_to_ucx_is_seen_inside() {
    for (mpi, environment) in &over_ucx() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options =
            ["--profile=matrix".into(), "--inside".into(), "-o".into(), output.display().to_string()];
        let job = environment.iter().fold(job(mpi), |job, (name, value)| job.env(name, value));
        let run = job.under_mel(options).run();
        run.expect(run.code == Some(0) && run.stdout == "wrong: 0\n", mpi.name);
        run.expect(!run.stderr.contains("--inside"), "nothing is missing");
        let tree: Pairs = (1..RANKS as u64).map(|rank| ((rank, rank & (rank - 1)), TIMES * BYTES)).collect();
        assert_eq!(matrix(&output, "internal"), tree, "{}", mpi.name);
    }
}

#[test]
fn messages_that_ucx_packs_have_their_bytes() {
    for (mpi, environment) in &over_ucx() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--inside", "-e", "btl_netop", "-o"].map(str::to_owned);
        let options = options.into_iter().chain([output.display().to_string()]);
        let job = Job::new(mpi, 2, compile_special(mpi, "handed_over"));
        let job = environment.iter().fold(job, |job, (name, value)| job.env(name, value));
        let run = job.under_mel(options).run();
        run.expect(run.code == Some(0) && run.stdout == "wrong: 0\n", mpi.name);
        assert_eq!(matrix(&output, "carried"), Pairs::from([((0, 1), 10 * 400)]), "{}", mpi.name);
        let text = std::fs::read_to_string(output.join("events-0.txt")).expect("its text");
        let handed: Vec<&str> =
            text.lines().filter(|line| line.contains("'btl_netop' operation=7 target rank=1 ")).collect();
        assert_eq!(handed.len(), 10, "{}: {text}", mpi.name);
        assert!(handed.iter().all(|line| line.contains(" size=400 ")), "{}: {text}", mpi.name);
    }
}

#[test]
fn what_goes_past_ucx_within_a_node_is_said() {
    for mpi in Mpi::all_and_newer().iter().filter(|mpi| ["mpich-5", "standard"].contains(&mpi.name)) {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--inside".into(), "-o".into(), output.display().to_string()];
        let run = job(mpi).under_mel(options).run();
        run.expect(run.code == Some(0), mpi.name);
        run.expect(run.stderr.matches("in none of its numbers").count() == 1, mpi.name);
        assert!(!report(&output, "internal").status.success(), "{}", mpi.name);
    }
}

#[test]
fn where_nobody_tells_of_messages_one_line_says_so_and_the_run_goes_on() {
    for mpi in Mpi::all_and_newer().iter().filter(|mpi| ["openmpi", "openmpi-5"].contains(&mpi.name)) {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--inside".into(), "-o".into(), output.display().to_string()];
        // Where there is one, the user has it switched off.
        let run = job(mpi).env("OMPI_MCA_pml_monitoring_enable", "0").under_mel(options).run();
        run.expect(run.code == Some(0), mpi.name);
        run.expect(run.stderr.matches("the run goes on without").count() == 1, mpi.name);
        let internal = report(&output, "internal");
        let said = String::from_utf8_lossy(&internal.stderr);
        assert!(
            !internal.status.success() && said.contains("there is no kind internal"),
            "{}: {said}",
            mpi.name
        );
        assert!(!matrix(&output, "collective").is_empty(), "{}", mpi.name);
    }
}
