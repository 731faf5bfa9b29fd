//! Advice, and what comes of following it: settings tried in paired runs. Where a setting makes a program faster, that is because a sleep
//! is no longer waited for, so that it is so on busy processors, too. Budgets are for machines that are busy: trying ends earlier.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::{Finished, Job, Mpi, compile_special};
use serde_json::Value;

/// Of the distribution: the others take their time to start.
fn installed() -> Vec<Mpi> {
    Mpi::all().into_iter().filter(|mpi| mpi.name == "openmpi" || mpi.name == "mpich").collect()
}

fn json(run: &Finished) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

fn tune<'a>(job: Job<'a>, options: &[&str]) -> Job<'a> {
    let mel = mel().display().to_string();
    let words = [mel.as_str(), "tune"].into_iter().chain(options.iter().copied()).chain(["--"]);
    job.launched_by(words)
}

/// The bytes of a message just above the eager limit of an MPI.
fn above_the_limit(mpi: &Mpi) -> &'static str {
    if mpi.name == "openmpi" { "6000" } else { "16000" }
}

/// The variable that is its eager limit.
fn limit_of(mpi: &Mpi) -> &'static str {
    if mpi.name == "openmpi" { "OMPI_MCA_btl_vader_eager_limit" } else { "UCX_RNDV_THRESH" }
}

#[test]
fn a_run_with_late_receivers_is_advised_a_greater_eager_limit() {
    for mpi in &installed() {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let job = |args: &[&str]| Job::new(mpi, 3, compile_special(mpi, "late_receives")).args(args);
        let run = job(&[above_the_limit(mpi), "10", "30000"]).under_mel(["-o", &output]).run();
        run.expect(run.code == Some(0), mpi.name);
        let advise = |options: &[&str]| {
            let asked =
                std::process::Command::new(mel()).arg("advise").arg(&output).args(options).output().unwrap();
            assert!(asked.status.success(), "{asked:?}");
            String::from_utf8(asked.stdout).unwrap()
        };
        let said: Value = serde_json::from_str(&advise(&["--json"])).unwrap();
        let report = |directory: &str| {
            let asked = std::process::Command::new(mel()).arg("report").arg(directory).output().unwrap();
            String::from_utf8(asked.stdout).unwrap()
        };
        let rules = said["said"].as_array().map_or(0, Vec::len);
        let pointer = format!(
            "mel advise {output}: {rules} rule{} something to try",
            if rules == 1 { " has" } else { "s have" }
        );
        assert_eq!(report(&output).lines().last(), Some(&*pointer), "{}: {said:#}", mpi.name);
        let rule = said["said"][0]["rule"].as_str().unwrap_or_default();
        assert!(rule.starts_with("eager limit of"), "{}: {said:#}", mpi.name);
        let text = advise(&[]);
        assert!(text.contains("wait for receives that are posted late"), "{text}");
        assert!(
            text.contains("no promises")
                && text.contains(&format!("mel tune --from {output} -- mpirun -n 3")),
            "{text}"
        );
        // What would be tried is told without starting anything: there is no such launcher.
        let asked = std::process::Command::new(mel())
            .args(["tune", "--dry-run", "--from", &output, "--", "no-such-launcher"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&asked.stdout).into_owned();
        assert!(asked.status.success() && text.contains(limit_of(mpi)), "{asked:?}");
        // The twin whose messages are below the limit is left alone, as far as that goes.
        let output = directory.path().join("small").display().to_string();
        let run = job(&["1000", "10", "30000"]).under_mel(["-o", &output]).run();
        run.expect(run.code == Some(0), mpi.name);
        let asked = std::process::Command::new(mel()).arg("advise").arg(&output).output().unwrap();
        let text = String::from_utf8_lossy(&asked.stdout).into_owned();
        assert!(!text.contains("Eager limit") && asked.status.success(), "{}: {text}", mpi.name);
        // The report points to what there is to say, and to nothing else.
        let points = report(&output).contains("mel advise");
        assert_eq!(points, !text.contains("No rule has a setting to try"), "{}: {text}", mpi.name);
    }
}

#[test]
#[ignore = "slow"]
fn a_greater_eager_limit_is_found_to_be_faster() {
    for mpi in &installed() {
        let job = Job::new(mpi, 3, compile_special(mpi, "late_receives"));
        let job = job.args([above_the_limit(mpi), "15", "60000"]);
        let run = tune(job, &["--json", "--budget", "120s", "--check", "grep -q OK"]).run();
        run.expect(run.code == Some(0), mpi.name);
        let found = json(&run);
        let best = found["best"].as_u64().unwrap_or_else(|| panic!("{}: {found:#}", mpi.name)) as usize;
        let trial = &found["trials"][best];
        assert_eq!(trial["verdict"], "faster", "{found:#}");
        assert!(trial["ratio_high"].as_f64() < Some(1.0), "{found:#}");
        assert!(trial["environment"][limit_of(mpi)].is_string(), "{found:#}");
        assert!(found["use"].as_str().unwrap().contains(limit_of(mpi)), "{found:#}");
    }
}

#[test]
#[ignore = "slow"]
fn another_algorithm_of_a_broadcast_is_found_to_be_faster() {
    for mpi in &installed() {
        // The rank over which the MPI's own tree leads.
        let (bytes, late) = if mpi.name == "openmpi" { ("4000", "1") } else { ("20000", "2") };
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let job = || {
            Job::new(mpi, 4, compile_special(mpi, "late_in_broadcasts")).args([bytes, "10", "60000", late])
        };
        let run = job().under_mel(["-o", &output]).run();
        run.expect(run.code == Some(0), mpi.name);
        // It ends as soon as it is certain; beside much else that takes its time.
        let tuned = tune(job(), &["--json", "--budget", "240s", "--from", &output]);
        let run = tuned.time_limit(Duration::from_secs(400)).run();
        run.expect(run.code == Some(0), mpi.name);
        let found = json(&run);
        let best = found["best"].as_u64().unwrap_or_else(|| panic!("{}: {found:#}", mpi.name)) as usize;
        let trial = &found["trials"][best];
        assert!(trial["rule"].as_str().unwrap().starts_with("algorithm of MPI_Bcast"), "{found:#}");
        assert!(trial["ratio_high"].as_f64() < Some(1.0), "{found:#}");
    }
}

#[test]
#[ignore = "slow"]
fn a_program_that_cannot_get_faster_is_told_so_and_a_setting_that_breaks_it_is_dropped() {
    for mpi in &installed() {
        let (harmless, breaks) = match mpi.name {
            "openmpi" => ("btl_tcp_eager_limit=131072", "btl=self"),
            _ => ("UCX_RNDV_THRESH=131072", "MPIR_CVAR_BCAST_INTRA_ALGORITHM=no_such"),
        };
        let job =
            || Job::new(mpi, 2, compile_special(mpi, "late_receives")).args(["100", "5", "50000", "even"]);
        // Rules have nothing to say.
        let run = tune(job(), &["--budget", "50s"]).run();
        run.expect(run.code == Some(0) && run.stdout.contains("There is nothing to try"), mpi.name);
        let run = tune(job(), &["--budget", "90s", "--try", harmless, "--try", breaks]).run();
        run.expect(run.code == Some(0), mpi.name);
        run.expect(run.stdout.contains("makes it faster: the differences are within"), mpi.name);
        run.expect(run.stdout.contains("Setting 2 was dropped: "), mpi.name);
        run.expect(!run.stdout.contains("Use it"), mpi.name);
    }
}

/// A script that takes its time before it becomes the program, as launchers do.
fn late_starter(mpi: &Mpi, directory: &Path, seconds: f64) -> PathBuf {
    let (path, program) = (directory.join("starter"), compile_special(mpi, "late_receives"));
    fs::write(&path, format!("#!/bin/sh\nsleep {seconds}\nexec '{}' \"$@\"\n", program.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
#[ignore = "slow"]
fn the_time_of_the_program_has_nothing_of_its_start_in_it() {
    const START_S: f64 = 0.5;
    for mpi in &installed() {
        let directory = fresh_dir();
        let program = late_starter(mpi, directory.path(), START_S);
        let job = Job::new(mpi, 3, program).args([above_the_limit(mpi), "10", "30000"]);
        let setting = match mpi.name {
            "openmpi" => "btl_vader_eager_limit=8192 btl_sm_eager_limit=8192",
            _ => "UCX_RNDV_THRESH=65536",
        };
        let run = tune(
            job.current_dir(directory.path()),
            &["--json", "--measure", "program", "--budget", "120s", "--try", setting],
        )
        .run();
        run.expect(run.code == Some(0), mpi.name);
        let found = json(&run);
        let measured = found["measured"].as_str().unwrap();
        assert!(
            measured.contains("between MPI_Init and MPI_Finalize, under MEL on both sides"),
            "{measured}"
        );
        let trial = &found["trials"][0];
        assert_eq!(trial["verdict"], "faster", "{}: {found:#}", mpi.name);
        // All of it took what was measured, and the start of each run.
        let times = || trial["pairs"].as_array().unwrap().iter().flat_map(|pair| pair.as_array().unwrap());
        let (sum, runs) = (times().filter_map(Value::as_f64).sum::<f64>(), found["runs"].as_f64().unwrap());
        assert!(sum + runs * START_S <= found["took_s"].as_f64().unwrap(), "{}: {found:#}", mpi.name);
        // Ten steps of 30 ms.
        assert!(times().filter_map(Value::as_f64).all(|time| time >= 0.3), "{}: {found:#}", mpi.name);
        // The command to use is without MEL, and nothing is left of the runs under it.
        assert!(!found["use"].as_str().unwrap().contains("mel run"), "{found:#}");
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["starter"], "{}", mpi.name);
    }
}

#[test]
fn two_settings_that_help_each_are_used_together_where_that_is_faster_still() {
    let directory = fresh_dir();
    let script = directory.path().join("sleeper");
    fs::write(&script, "sleep 0.05\n[ \"$UCX_A\" ] || sleep 0.15\n[ \"$UCX_B\" ] || sleep 0.25\n").unwrap();
    let asked = std::process::Command::new(mel())
        .args(["tune", "--json", "--budget", "100s", "--try", "UCX_A=1", "--try", "UCX_B=1", "--", "sh"])
        .arg(&script)
        .output()
        .unwrap();
    assert!(asked.status.success(), "{asked:?}");
    let found: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(found["best"], 1, "{found:#}");
    let together = &found["together"];
    assert_eq!((&together["of"], &together["compared_with"]), (&serde_json::json!([1, 0]), &1.into()));
    assert_eq!(together["verdict"], "faster", "{found:#}");
    assert!(together["ratio_high"].as_f64() < Some(1.0), "{found:#}");
    let command = found["use"].as_str().unwrap();
    assert!(command.starts_with("UCX_B=1 UCX_A=1 sh "), "{command}");
}

#[test]
fn a_program_without_a_time_between_init_and_finalize_is_told_so() {
    for mpi in &installed() {
        let job = Job::new(mpi, 1, "/bin/true");
        let run = tune(job, &["--measure", "program", "--try", "a=1"]).run();
        run.expect(run.code == Some(1), mpi.name);
        let told = "the time between MPI_Init and MPI_Finalize is not known: MEL has left no profile";
        run.expect(run.stderr.contains(told) && run.stderr.contains("--measure job"), mpi.name);
    }
}

#[test]
fn a_program_that_fails_or_whose_results_are_wrong_is_told() {
    for mpi in &installed() {
        let job = |name| Job::new(mpi, 2, compile_special(mpi, name)).args(["10", "1", "0", "even"]);
        let run = tune(job("late_receives"), &["--try", "a=1", "--check", "grep -q something_else"]).run();
        run.expect(run.code == Some(1), mpi.name);
        run.expect(
            run.stderr.contains("fails without any setting: its results do not pass the check"),
            mpi.name,
        );
        let run = tune(job("late_receives"), &["--try", "a=1", "--budget", "100ms"]).run();
        run.expect(run.code == Some(1) && run.stderr.contains("give --budget"), mpi.name);
    }
}

#[test]
fn a_policy_sets_what_its_condition_says_and_the_profile_has_it() {
    for mpi in &installed() {
        let directory = fresh_dir();
        let file = directory.path().join("policy.toml");
        let (name, other) = match mpi.name {
            "openmpi" => ("coll_tuned_bcast_algorithm", "accepted, without effect"),
            _ => ("MPIR_CVAR_BCAST_SHORT_MSG_SIZE", "set (read back)"),
        };
        let rule = |name: &str, when: &str, set: &str| {
            format!("[[rule]]\nname = '{name}'\nwhen = \"{when}\"\nthen.set.{set}\n")
        };
        let text = rule(
            "bytes",
            "sum(variable('mel_bytes_sent')) > 10 kB and rank == 0",
            &format!("{name} = '2 + rank'"),
        ) + &rule("never", "sum(variable('mel_bytes_sent')) > 10 GB", &format!("{name} = 3"))
            + &rule("lacking", "any(variable('no_such_variable') > 1)", &format!("{name} = 4"));
        fs::write(&file, text).unwrap();
        let output = directory.path().join("run");
        let options = ["--policy", file.to_str().unwrap(), "--every", "20ms", "-o", output.to_str().unwrap()];
        let job = Job::new(mpi, 3, compile_special(mpi, "late_receives")).args(["6000", "10", "20000"]);
        let run = job.under_mel(options).run();
        run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
        let told = |words: &str| run.stderr.matches(words).count();
        run.expect(told("policy \"bytes\" on rank 0 after") == 1, "told once");
        run.expect(
            told("policy \"lacking\" is not applied: variable('no_such_variable') was not measured") == 1,
            "told",
        );
        run.expect(told("\"never\"") == 0, "its condition never holds");
        let profile: Value =
            serde_json::from_str(&fs::read_to_string(output.join("profile.json")).unwrap()).unwrap();
        let actions =
            profile["ranks"][0]["actions"].as_array().unwrap_or_else(|| panic!("{}: {profile:#}", mpi.name));
        assert_eq!(actions.len(), 1, "{}: {actions:?}", mpi.name);
        let outcome = actions[0]["outcome"].as_str().unwrap();
        assert!(
            outcome.starts_with(&format!("{name}=2: ")) && outcome.contains(other),
            "{}: {outcome}",
            mpi.name
        );
        assert!(profile["ranks"][1]["actions"].is_null() && profile["ranks"][2]["actions"].is_null());
        // What is no policy is refused before anything runs.
        fs::write(&file, rule("wrong", "varable('a') > 1", "a = 1")).unwrap();
        let refused = std::process::Command::new(mel())
            .args(["run", "--policy"])
            .arg(&file)
            .arg("true")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && said.contains("policy.toml:3:9: there is no quantity varable"),
            "{said}"
        );
    }
}

/// Processes whose command line has this word.
fn with_word(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())).count()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_interrupt_leaves_no_process_behind() {
    for mpi in &installed() {
        let word = format!("even-{}-{}", mpi.name, std::process::id());
        let job =
            Job::new(mpi, 2, compile_special(mpi, "late_receives")).args(["10", "1000", "100000", &word]);
        let running = tune(job, &["--try", "a=1"]).start();
        // The command itself, the launcher, and two ranks.
        until("the ranks run", || with_word(&word) >= 4);
        let tuner = running.launcher().to_string();
        std::process::Command::new("kill").args(["-INT", &tuner]).status().unwrap();
        let run = running.wait();
        run.expect(run.code == Some(130), mpi.name);
        until("all have ended", || with_word(&word) == 0);
    }
}
