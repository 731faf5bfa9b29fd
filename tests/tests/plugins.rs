//! Plugins: the examples are told what happens, advise, and set control variables; what is none, or does not end, does no harm.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root, target_dir};
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

/// A plugin in C, compiled into a directory.
fn compiled(source: &Path, directory: &Path) -> PathBuf {
    let name = source.file_stem().expect("a file").to_str().expect("a name");
    let file = directory.join(format!("lib{name}.so"));
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-I"]);
    command.arg(root().join("include")).arg("-o").arg(&file).arg(source);
    assert!(command.status().expect("there is a compiler").success(), "{}", source.display());
    file
}

/// One of the examples.
fn advise(directory: &Path) -> PathBuf {
    compiled(&root().join("examples/plugins/advise.c"), directory)
}

/// A plugin of these tests.
fn special(name: &str, directory: &Path) -> PathBuf {
    compiled(&root().join("tests/programs/plugins").join(format!("{name}.c")), directory)
}

fn run(mpi: &Mpi, options: &[&str], directory: &Path) -> (Finished, Profile) {
    let output = directory.to_str().expect("a name");
    let job = Job::new(mpi, 2, compile_special(mpi, "sampled")).args(["60"]);
    let run = job.under_mel(options.iter().copied().chain(["-o", output])).run();
    run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
    (run, Profile::read(directory))
}

/// What plugins have told of a rank: names and values.
fn told(profile: &Profile, rank: usize) -> Vec<(String, String)> {
    let text = |told: &Value, key: &str| told[key].as_str().unwrap_or_default().to_owned();
    let all = profile.json()["ranks"][rank]["told"].as_array();
    all.into_iter().flatten().map(|told| (text(told, "name"), text(told, "value"))).collect()
}

/// What is told of this.
fn line<'a>(told: &'a [(String, String)], name: &str) -> &'a str {
    told.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

#[test]
fn the_example_in_c_watches_and_advises() {
    for mpi in &Mpi::all_and_newer() {
        let directory = fresh_dir();
        let plugin = format!("{},length=0,share=0,bytes=1e9", advise(directory.path()).display());
        let options = ["--every", "10ms", "--plugin", &plugin];
        let (finished, profile) = run(mpi, &options, &directory.path().join("run"));
        for rank in 0..2 {
            let told = told(&profile, rank);
            assert_eq!(line(&told, "watched"), "mel_unexpected_queue_length", "{}: {told:?}", mpi.name);
            assert!(
                line(&told, "unexpected messages").contains("post receives earlier"),
                "{}: {told:?}",
                mpi.name
            );
            // MPI_Send or MPI_Recv, Comm_dup, Comm_set_name, Comm_free, Barrier, and others at least.
            let functions =
                line(&told, "called").split(' ').next().and_then(|count| count.parse::<u32>().ok());
            assert!(functions.is_some_and(|count| (6..30).contains(&count)), "{}: {told:?}", mpi.name);
        }
        // What it wanted to be sampled was.
        let variables = profile.json()["ranks"][0]["variables"].as_array().cloned().unwrap_or_default();
        let all_wanted = variables.iter().all(|of| of["name"] == "mel_unexpected_queue_length");
        assert!(!variables.is_empty() && all_wanted, "{}: {variables:?}", mpi.name);
        finished.expect(finished.stderr.contains("what plugins say"), "the text at the end has it");
        let report = Command::new(mel()).arg("report").arg(directory.path().join("run")).output().unwrap();
        let report = String::from_utf8_lossy(&report.stdout).into_owned();
        assert!(report.contains("advise, all ranks: watched: mel_unexpected_queue_length"), "{report}");
    }
}

/// The example in Rust, built once for all tests.
fn free_buffers() -> PathBuf {
    let target = target_dir().join("plugins");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--locked", "--offline", "--target-dir"]).arg(&target);
    command.current_dir(root().join("examples/plugins/free_buffers"));
    assert!(command.status().expect("cargo can be started").success());
    target.join("debug/libfree_buffers.so")
}

#[test]
fn the_example_in_rust_sets_control_variables_by_its_policy() {
    let plugin = free_buffers();
    for mpi in &Mpi::all_and_newer() {
        // Numbers that may be set while an MPI runs, whatever they do.
        let (control, keep) = match mpi.name.contains("mpich") || mpi.name == "standard" {
            true => ("MPIR_CVAR_BCAST_MIN_PROCS", "MPIR_CVAR_BCAST_SHORT_MSG_SIZE"),
            false => ("coll_tuned_bcast_algorithm_segmentsize", "coll_tuned_reduce_algorithm_segmentsize"),
        };
        let of = |threshold: u32| {
            format!(
                "{},allocated=pml_monitoring_messages_count,used=osc_monitoring_messages_sent_count,threshold={threshold},control={control},keep={keep}",
                plugin.display()
            )
        };
        let directory = fresh_dir();
        let (finished, profile) =
            run(mpi, &["--every", "10ms", "--plugin", &of(20)], &directory.path().join("run"));
        // Rank 0 has sent more than 20 messages to rank 1, which has sent none: each decides for itself.
        let [of_sender, of_other] = [told(&profile, 0), told(&profile, 1)];
        finished.expect(line(&of_sender, control) == "1: set (read back)", mpi.name);
        assert!(line(&of_sender, "freeing").starts_with("switched on after "), "{of_sender:?}");
        // That one has an element for each process, and is given to a variable that has one: not set, and told.
        assert!(line(&of_sender, keep).starts_with("0,0: "), "{of_sender:?}");
        assert_eq!(of_other, [], "{}", mpi.name);
        let (_, profile) =
            run(mpi, &["--every", "10ms", "--plugin", &of(1000)], &directory.path().join("again"));
        assert_eq!((told(&profile, 0), told(&profile, 1)), (vec![], vec![]), "{}", mpi.name);
    }
}

#[test]
fn what_is_no_plugin_is_refused_before_the_run() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let program = compile_special(mpi, "sampled");
    let text = directory.path().join("libtext.so");
    std::fs::write(&text, "no object").expect("a file can be written");
    let other = special("other_version", directory.path());
    for (plugin, why) in [
        ("nowhere", "give its path, such as ./libnowhere.so"),
        (text.to_str().expect("a name"), "it is no shared object"),
        (mel_tests::artifacts::libmel().to_str().expect("a name"), "no function mel_plugin_init"),
    ] {
        let run = Job::new(mpi, 2, &program).under_mel(["--plugin", plugin]).run();
        run.expect(run.code != Some(0) && run.stderr.contains(why), why);
        run.expect(run.stderr.contains("(nothing was started)") && !run.stdout.contains("OK"), why);
    }
    // What can be known only when it is asked is told in one line, and the program runs.
    let name = other.to_str().expect("a name");
    let (finished, profile) = run(mpi, &["--plugin", name], &directory.path().join("run"));
    let lines = finished.stderr.matches("was built for version 77 of mel_plugin.h").count();
    finished.expect(lines == 1, "one line");
    finished.expect(line(&told(&profile, 1), "not running").contains("version 77"), "on each rank");
    let plugin = format!("{},unwanted", advise(directory.path()).display());
    let (finished, _) = run(mpi, &["--plugin", &plugin], &directory.path().join("again"));
    finished.expect(finished.stderr.contains("[MEL] advise: give length=N"), "what it says itself");
    finished.expect(
        finished.stderr.contains("it does not want to run (mel_plugin_init has returned 2)"),
        "a line",
    );
}

#[test]
fn plugins_are_found_by_their_names_and_by_the_environment() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    advise(directory.path());
    special("counts", directory.path());
    let output = directory.path().join("run");
    let job = Job::new(mpi, 2, compile_special(mpi, "sampled"));
    let job = job.env("MEL_PLUGINS_PATH", format!("/nowhere:{}", directory.path().display()));
    let job = job.env("MEL_PLUGINS", "counts:advise,length=0").env("MEL_EVERY", "10ms");
    let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), "found");
    let profile = Profile::read(&output);
    let told = told(&profile, 0);
    assert!(line(&told, "unexpected messages").contains("post receives earlier"), "{told:?}");
    // Each hook, on one thread; variables before their samples, and the end is the last.
    let hooks: Vec<&str> = line(&told, "hooks").split(' ').collect();
    let place = |hook: &str| hooks.iter().position(|known| *known == hook).expect(hook);
    assert!(hooks.len() == 5 && place("end") == 4 && place("function") < 4, "{told:?}");
    assert!(place("variable") < place("sample") && place("sample") < place("interrupt"), "{told:?}");
}

#[test]
fn a_plugin_that_does_not_return_delays_the_end_and_nothing_else() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let plugin = special("stuck", directory.path());
    let options = ["--every", "10ms", "--plugin", plugin.to_str().expect("a name")];
    let (finished, profile) = run(mpi, &options, &directory.path().join("run"));
    finished.expect(
        finished.stderr.contains("a plugin has not returned for 5 seconds: it is left alone"),
        "a line",
    );
    let variables = profile.json()["ranks"][0]["variables"].as_array().cloned().unwrap_or_default();
    let sampled =
        |of: &&Value| of["name"] == "pml_monitoring_messages_count" && of["object"] == "MPI_COMM_WORLD";
    let sum = variables.iter().find(sampled).and_then(|of| of["last"].as_f64());
    assert_eq!(sum, Some(65.0), "what is sampled does not suffer: {variables:?}");
}
