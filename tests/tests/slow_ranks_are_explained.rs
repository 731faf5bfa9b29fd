//! Why a rank is slow that others wait for: each planted reason is told of the right rank, and none of one that computes longer.
//!
//! What the processor counts is made up, so that it is the same on each machine: `MEL_FAKE_COUNTERS`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::docs::is_shown;
use mel_tests::profile::Profile;
use mel_tests::{Finished, Job, Mpi, compile_special, marked_sentences};

/// Runs two ranks, of which the second is slow.
fn run(mpi: &Mpi, mode: &str, before: &[&str], directory: &Path) -> (Finished, Profile) {
    run_with(mpi, mode, (before, &[]), directory)
}

fn run_with(
    mpi: &Mpi,
    mode: &str,
    (before, options): (&[&str], &[&str]),
    directory: &Path,
) -> (Finished, Profile) {
    let output = directory.join("run");
    let job = Job::new(mpi, 2, compile_special(mpi, "slow_rank")).args([mode]).current_dir(directory);
    // What the processor itself counts is another thing on each machine.
    let job = job.launched_by(before).env("MEL_COUNTERS", "0");
    finished(job, mode, options, &output)
}

/// Runs two ranks, the counters of whose processors grow by these rates.
fn counted(mpi: &Mpi, mode: &str, rates: &str, directory: &Path) -> (Finished, Profile) {
    let job = Job::new(mpi, 2, compile_special(mpi, "slow_rank")).args([mode]).current_dir(directory);
    finished(job.env("MEL_FAKE_COUNTERS", rates), mode, &[], &directory.join("run"))
}

fn finished(job: Job<'_>, mode: &str, options: &[&str], output: &Path) -> (Finished, Profile) {
    let run = job
        .under_mel(["-o".as_ref(), output.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
        .run();
    run.expect(run.code == Some(0) && run.stdout.contains("OK"), mode);
    (run, Profile::read(output))
}

/// What the verdict says of why rank 1 is slow.
fn why(mpi: &Mpi, mode: &str) -> Option<String> {
    let directory = fresh_dir();
    why_in(mpi, mode, &run(mpi, mode, &[], directory.path()).1)
}

/// What a verdict says of why rank 1 is slow, which it names.
fn why_in(mpi: &Mpi, mode: &str, profile: &Profile) -> Option<String> {
    let verdict = profile.json()["verdict"].as_array().cloned().unwrap_or_default();
    let finding = verdict.iter().find(|finding| finding["cause_rank"] == 1);
    let finding = finding.unwrap_or_else(|| panic!("{}, {mode}: rank 1 is named: {verdict:#?}", mpi.name));
    finding["why"].as_str().map(str::to_owned)
}

fn is_told(mode: &str, parts: &[&str]) {
    for mpi in &Mpi::all() {
        let said = why(mpi, mode).unwrap_or_else(|| panic!("{}, {mode}: nothing is told", mpi.name));
        assert!(
            said.starts_with("rank 1 was ") && parts.iter().all(|part| said.contains(part)),
            "{}: {said}",
            mpi.name
        );
    }
}

/// The default run names the function of a rank that computes longer; with `MEL_SAMPLE=0` it tells nothing.
#[test]
fn who_computes_longer_has_no_other_reason() {
    for mpi in &Mpi::all() {
        let why = why(mpi, "computes").unwrap_or_else(|| panic!("{}: nothing is told", mpi.name));
        assert!(
            why.starts_with("rank 1 was in ") && why.contains(", most at slow_rank.c:"),
            "{}: {why}",
            mpi.name
        );
        is_shown("docs/sampling.md", ", most at ", &why);
        let directory = fresh_dir();
        let job = Job::new(mpi, 2, compile_special(mpi, "slow_rank")).args(["computes"]);
        let job = job.current_dir(directory.path()).env("MEL_SAMPLE", "0");
        let (_, profile) = finished(job, "computes", &[], &directory.path().join("run"));
        assert_eq!(why_in(mpi, "computes", &profile), None, "{}", mpi.name);
        assert!(profile.json()["ranks"][1]["stacks"].is_null(), "{}: nothing is sampled", mpi.name);
    }
}

#[test]
fn pages_that_are_new_each_time() {
    is_told("faults", &["in the operating system", "page faults"]);
}

#[test]
fn a_file_that_is_written_through() {
    is_told("writes", &["and wrote "]);
}

#[test]
fn a_rank_that_sleeps_and_one_that_is_stopped() {
    is_told("sleeps", &["asleep for 5", "or was stopped"]);
    is_told("stopped", &["asleep for ", "or was stopped"]);
}

#[test]
fn a_hog_on_the_processor_of_a_rank() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (run, _) = run(mpi, "hog", &[], directory.path());
        let is_told = run.stderr.contains("rank 1 had no processor for ");
        run.expect(is_told, "the rank that has company is told");
    }
}

/// A control group that gives half of a processor; taken away at the end.
struct HalfAProcessor(PathBuf);

impl HalfAProcessor {
    /// None where nobody may make one.
    fn make() -> Option<HalfAProcessor> {
        let name = format!("mel-test-{}", std::process::id());
        let old = [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "10000")];
        let hierarchies: [(&str, &[_]); 2] =
            [("/sys/fs/cgroup/cpu", &old), ("/sys/fs/cgroup", &[("cpu.max", "10000 20000")])];
        hierarchies.into_iter().find_map(|(hierarchy, files)| {
            let group = HalfAProcessor(Path::new(hierarchy).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            let is_set = files.iter().all(|(file, text)| std::fs::write(group.0.join(file), text).is_ok());
            is_set.then_some(group)
        })
    }
}

impl Drop for HalfAProcessor {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Both ranks compute as long, the second with half of a processor.
#[test]
fn the_quota_of_a_control_group() {
    let Some(group) = HalfAProcessor::make() else {
        return eprintln!("skipped: no control group with a quota can be made here");
    };
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let script = directory.path().join("slow_rank");
        let text = format!(
            "#!/bin/sh\n[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 0 ] || echo $$ > {}/cgroup.procs\nexec {} \"$@\"\n",
            group.0.display(),
            compile_special(mpi, "slow_rank").display()
        );
        std::fs::write(&script, text).expect("a file can be written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, executable).expect("a script");
        let job = Job::new(mpi, 2, script).args(["alike"]).env("MEL_COUNTERS", "0");
        let (run, _) = finished(job, "alike", &[], &directory.path().join("run"));
        let said = marked_sentences(&run.stderr);
        let is_told = |said: &String| {
            said.starts_with("rank 1 had no processor for ")
                && said.contains("the quota of its control group, 0.5 processors, stopped it")
        };
        run.expect(said.iter().any(is_told), &format!("the quota is told: {said:#?}"));
        run.expect(!run.stderr.contains("2 ranks on 0.5"), "that of one rank is not that of all");
    }
}

#[test]
fn all_ranks_on_one_of_the_processors() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (run, _) = run(mpi, "computes", &["taskset", "-c", "0"], directory.path());
        let is_told = run.stderr.contains("2 ranks on 1 processor: ") && run.stderr.contains("the host has ");
        run.expect(is_told, "there are more processors than they may use");
    }
}

/// The function of a slow rank is named with its line, and its stacks become a profile that speedscope reads.
#[test]
fn a_function_that_takes_longer() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (_, profile) = run_with(mpi, "computes", (&[], &["--sample"]), directory.path());
        let verdict = profile.json()["verdict"].as_array().cloned().unwrap_or_default();
        let why = verdict.iter().find_map(|finding| finding["why"].as_str()).unwrap_or_default();
        let is_told = why.starts_with("rank 1 was in ") && why.contains(", most at slow_rank.c:");
        assert!(is_told && why.contains("(the others almost never)"), "{}: {why}: {verdict:#?}", mpi.name);
        let scope = directory.path().join("scope.json");
        let run = directory.path().join("run");
        let made = Command::new(mel()).args(["convert", "--speedscope"]).args([&scope, &run]).status();
        assert!(made.expect("mel").success());
        let scope: serde_json::Value =
            serde_json::from_slice(&std::fs::read(scope).expect("a profile")).expect("JSON");
        let frames = scope["shared"]["frames"].as_array().expect("frames");
        let slow = scope["profiles"].as_array().expect("profiles").iter().find(|of| of["name"] == "rank 1");
        let slow = slow.expect("rank 1 was sampled");
        // All but what the kernel takes of half a second.
        let seconds = slow["endValue"].as_f64().expect("seconds");
        assert!((0.25..0.6).contains(&seconds), "{}: {seconds}", mpi.name);
        let stacks = slow["samples"].as_array().expect("stacks");
        // The function `main` may have been put into others; what calls it has not.
        let is_whole = |stack: &serde_json::Value| {
            let of_stack = stack.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64);
            let mut names = of_stack.filter_map(|frame| frames[frame as usize]["name"].as_str());
            names.any(|name| name.starts_with("__libc_start"))
        };
        let whole = stacks.iter().filter(|stack| is_whole(stack)).count();
        assert!(whole * 10 >= stacks.len() * 8, "{}: {whole} of {} stacks are whole", mpi.name, stacks.len());
    }
}

/// What both ranks count where they are alike: two instructions per cycle at 2.5 GHz, and a miss in a thousand instructions.
const ALIKE: &str = "instructions=5e9;cycles=2.5e9;misses=5e6";

/// The rates of which the last rank has these instead.
fn but(rates: &str) -> String {
    format!("{ALIKE};{rates}")
}

#[test]
fn what_the_processor_counts_tells_why_a_rank_computes_longer() {
    let cases = [
        // It computes twice as long, at the same pace.
        ("", "rank 1 needs 2.0 times the instructions of the others: its part is larger"),
        (
            "instructions=2.5e9@1;misses=2.5e6@1",
            "rank 1 has as many instructions as the others, at 0.5 of their pace (1.00",
        ),
        (
            "instructions=2.5e9@1;cycles=1.25e9@1;misses=2.5e6@1",
            "rank 1 has as many instructions as the others, and its processor runs at 0.5 of their frequency (1.25 GHz, \
             the others 2.50)",
        ),
        (
            "instructions=2.5e9@1;misses=2e7@1",
            "and misses its caches 8.0 times as often (8.0 times in a thousand",
        ),
    ];
    for mpi in &Mpi::all() {
        for (rates, expected) in cases {
            let directory = fresh_dir();
            let (run, profile) = counted(mpi, "twice", &but(rates), directory.path());
            let said = why_in(mpi, rates, &profile).unwrap_or_default();
            // Ranks without a processor of their own for a while, as on a busy machine, are a little longer or shorter.
            let is_it = [
                expected,
                &expected.replace("2.0 times", "1.9 times"),
                &expected.replace("2.0 times", "2.1 times"),
            ]
            .iter()
            .any(|expected| said.contains(*expected));
            run.expect(is_it, &format!("{}: {said}, and not {expected}", mpi.name));
        }
    }
}

/// Of very many ranks those for which others wait send what explains it, beside some that are usual.
#[test]
fn where_ranks_are_shown_in_sums_the_reason_is_told_too() {
    for mpi in &Mpi::all() {
        for (mode, rates, expected) in [
            (
                "computes",
                None,
                &["rank 1 was in ", ", most at slow_rank.c:", "(the others almost never)"][..],
            ),
            ("writes", None, &["rank 1 was ", "and wrote "]),
            ("twice", Some(ALIKE), &["rank 1 needs ", " times the instructions of the others"]),
            ("alike", Some(ALIKE), &[]),
        ] {
            let directory = fresh_dir();
            let job = Job::new(mpi, 2, compile_special(mpi, "slow_rank"))
                .args([mode])
                .current_dir(directory.path());
            let job = match rates {
                Some(rates) => job.env("MEL_FAKE_COUNTERS", rates),
                None => job.env("MEL_COUNTERS", "0"),
            };
            let output = directory.path().join("run");
            let (run, profile) = finished(job.env("MEL_EXACT_RANKS", "1"), mode, &["--sample"], &output);
            run.expect(profile.json()["reduced"]["ranks"] == 2, mode);
            let verdict = profile.json()["verdict"].as_array().cloned().unwrap_or_default();
            let said: Vec<&str> = verdict.iter().filter_map(|finding| finding["why"].as_str()).collect();
            let is_it = match expected {
                [] => said.iter().all(|why| !why.contains("instructions")),
                parts => said.iter().any(|why| parts.iter().all(|part| why.contains(part))),
            };
            run.expect(is_it, &format!("{}, {mode}: {said:?}", mpi.name));
        }
    }
}

/// Nothing is said of ranks that are alike, nor where one is slower and nobody waits for it; their numbers are in the profile.
#[test]
fn of_ranks_that_compute_as_long_nothing_is_said() {
    for mpi in &Mpi::all() {
        for rates in [ALIKE.to_owned(), but("instructions=2.5e9@1")] {
            let directory = fresh_dir();
            let (run, profile) = counted(mpi, "alike", &rates, directory.path());
            let verdict = profile.json()["verdict"].as_array().cloned().unwrap_or_default();
            let is_silent = verdict
                .iter()
                .all(|finding| !finding["why"].as_str().is_some_and(|why| why.contains("instructions")));
            run.expect(is_silent, &format!("{}: {verdict:#?}", mpi.name));
            let counters = &profile.json()["ranks"][0]["counters"];
            let number = |key: &str| counters[key].as_f64().unwrap_or_default();
            // Half a second of work, and what MPI itself does at the ends.
            let worked = number("on_processor_s");
            run.expect(
                (0.45..0.7).contains(&worked) && number("observed_s") >= worked,
                &format!("{}: {counters:#}", mpi.name),
            );
            let pace = number("instructions") / number("cycles");
            run.expect((pace - 2.0).abs() < 0.01, &format!("{}: {counters:#}", mpi.name));
            let of_processor = number("instructions") / number("on_processor_s");
            run.expect((of_processor / 5e9 - 1.0).abs() < 0.01, &format!("{}: {counters:#}", mpi.name));
        }
    }
}

/// Where the processor has no counters nothing is said of them, and what it counts is in no number of those that it does not.
#[test]
fn without_counters_there_are_no_numbers_and_no_lines() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let (run, profile) = run(mpi, "alike", &[], directory.path());
        run.expect(profile.json()["ranks"][0]["counters"].is_null(), "they are left alone");
        run.expect(!run.stderr.contains("counter"), "and nobody speaks of them");
    }
}
