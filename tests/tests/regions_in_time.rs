//! A program names its regions, and each has its time and its efficiencies, with what lies in it, without any option.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::docs::is_shown;
use mel_tests::profile::Profile;
use mel_tests::trace::Trace;
use mel_tests::verdict::TRIES;
use mel_tests::{Job, Mpi, compile_special, marked_sentences};
use serde_json::Value;

/// What the region of this path has of a list.
fn of<'a>(list: &'a Value, path: &str) -> &'a Value {
    let mut list = list.as_array().expect("a list").iter();
    list.find(|of| of["region"] == path).unwrap_or_else(|| panic!("no region {path}"))
}

/// What is wrong with a run of `regions_in_time.c`, as a machine may have it that is busy.
fn check(profile: &Value) -> Result<(), String> {
    let regions = &profile["efficiency"]["regions"];
    let paths: Vec<_> = regions.as_array().expect("regions").iter().map(|of| of["region"].as_str()).collect();
    let planted = ["", "main", "main/output", "main/step", "main/step/assemble", "main/step/exchange"];
    assert_eq!(paths, planted.map(Some));
    for rank in 0..4 {
        let list = &profile["ranks"][rank]["regions"];
        for (path, times) in [("main", 0), ("main/output", 1), ("main/step", 10), ("main/step/assemble", 10)]
        {
            // Of what began before MPI did it is not known how often.
            assert_eq!(of(list, path)["times"], times, "{path}: {list}");
        }
        let seconds = |path: &str, what: &str| of(list, path)[what].as_f64().expect("a number");
        let parts = seconds("main/step/assemble", "run_s") + seconds("main/step/exchange", "run_s");
        assert!(parts <= seconds("main/step", "run_s") && parts > 0.08, "{list}");
        assert!(seconds("main/step", "run_s") + seconds("main/output", "run_s") <= seconds("main", "run_s"));
        let run_s = profile["ranks"][rank]["run_s"].as_f64().expect("a number");
        let all = seconds("main", "run_s") + seconds("", "run_s");
        assert!((all - run_s).abs() < 0.002, "{all} of {run_s}: {list}");
        let stopped = seconds("main/output", "run_s");
        assert!(stopped >= 0.04, "{list}");
        if stopped > 0.07 {
            return Err(format!("what was stopped counts, or rank {rank} had no processor: {list}"));
        }
    }
    let named: BTreeMap<&str, [f64; 3]> = BTreeMap::from([
        ("main/output", [1.0, 1.0, 1.0]),
        ("main/step/assemble", [0.5, 0.5, 1.0]),
        ("main/step", [0.5, 0.5, 1.0]),
    ]);
    for (path, planted) in named {
        let of = of(regions, path);
        let names = ["parallel_efficiency", "load_balance", "communication_efficiency"];
        for (name, planted) in names.into_iter().zip(planted) {
            let value = of[name].as_f64().expect("a number");
            if (value - planted).abs() > 0.1 {
                return Err(format!("{name} of {path} is {value}, and not {planted}: {of}"));
            }
        }
        if planted[1] < 1.0 && of["busiest_rank"] != 1 {
            return Err(format!("rank 1 is not the busiest in {path}: {of}"));
        }
    }
    let exchange = of(regions, "main/step/exchange")["parallel_efficiency"].as_f64();
    if exchange.is_some_and(|share| share > 0.1) {
        return Err(format!("all wait in the exchange: {regions}"));
    }
    Ok(())
}

#[test]
fn each_region_has_its_efficiencies() {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let program = compile_special(mpi, "regions_in_time");
        let mut wrong = Vec::new();
        for _ in 0..TRIES {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let run =
                Job::new(mpi, 4, &program).patient().under_mel(["-o".as_ref(), output.as_os_str()]).run();
            run.expect(run.code == Some(0), mpi.name);
            let report = |args: &[&str]| {
                let run =
                    Command::new(mel()).arg("report").args(args).arg(&output).output().expect("mel starts");
                String::from_utf8(run.stdout).expect("text")
            };
            if let Err(said) = check(&serde_json::from_str(&report(&["--json"])).expect("JSON")) {
                wrong.push(said);
                continue;
            }
            let text = report(&[]);
            let table =
                text.split("efficiencies of regions").nth(1).unwrap_or_else(|| panic!("no table: {text}"));
            assert!(table.contains("\n main ") && table.contains("\n     assemble "), "{text}");
            is_shown("docs/regions.md", "efficiencies of regions", &text);
            is_shown("docs/efficiency.md", "computes longest", &text);
            let csv = report(&["--csv"]);
            let line = csv.lines().find(|line| line.contains("main/step/assemble")).expect("a line");
            assert!(line.contains("efficiency") && line.contains("parallel_efficiency"), "{line}");
            break;
        }
        assert!(wrong.len() < TRIES, "{}: {wrong:#?}", mpi.name);
    }
}

/// A trace has the regions that each thread is in, around the calls that lie in them, whether or not there is a profile.
#[test]
fn a_trace_has_the_regions_that_calls_lie_in() {
    for mpi in &Mpi::all() {
        for options in
            [&["--trace"][..], &["--trace", "--profile", "none"], &["--trace", "--only-calls", "MPI_Barrier"]]
        {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = options.iter().map(OsStr::new).chain(["-o".as_ref(), output.as_os_str()]);
            let run =
                Job::new(mpi, 4, compile_special(mpi, "regions_in_time")).patient().under_mel(options).run();
            run.expect(run.code == Some(0), mpi.name);
            let trace = Trace::read(&output);
            assert_eq!(trace.disorder(), None, "{}", mpi.name);
            let enters = trace.enters();
            for (region, times) in
                [("main", 4), ("step", 40), ("assemble", 40), ("exchange", 40), ("output", 4)]
            {
                assert_eq!(enters.get(region), Some(&times), "{}: {region}: {enters:?}", mpi.name);
            }
            let of_rank: Vec<&str> =
                trace.entered_with(0, "").into_iter().map(|(region, _)| region).collect();
            let place = |wanted: &str| of_rank.iter().position(|region| *region == wanted);
            let order = ["MPI_Init", "main", "step", "assemble", "exchange", "MPI_Barrier"].map(place);
            // Of a filtered trace MPI_Init is there all the same.
            assert!(order.is_sorted() && order[0].is_some(), "{}: {of_rank:?}", mpi.name);
            let mut convert = Command::new(mel());
            let text =
                convert.args(["convert", "--text", "--calls"]).arg(&output).output().expect("mel starts");
            let text = String::from_utf8_lossy(&text.stdout).into_owned();
            assert_eq!(text.matches("region 'main/step/assemble'").count(), 40, "{}", mpi.name);
        }
    }
}

/// Each thread's regions are its own: begun before MPI is, changed while recording is off, and left open at its end.
#[test]
fn a_trace_has_the_regions_of_each_thread_that_calls_mpi() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let options = ["--trace".as_ref(), "-o".as_ref(), output.as_os_str()];
        let run =
            Job::new(mpi, 2, compile_special(mpi, "regions_of_threads")).patient().under_mel(options).run();
        run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
        assert_eq!(Trace::read(&output).disorder(), None, "{}", mpi.name);
        let mut convert = Command::new(mel());
        let text = convert.args(["convert", "--text", "--calls"]).arg(&output).output().expect("mel starts");
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        let told = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once("] ")?;
            let enters = rest.strip_prefix("enter MPI_").and_then(|call| call.split(' ').next());
            rest.strip_prefix("region ").or(enters.filter(|call| *call == "Barrier"))
        });
        // Where it is in none while recording is off is not there. Both ranks do the same.
        let of_rank = [
            "'before'",
            "Barrier",
            "'meanwhile'",
            "Barrier",
            "''",
            "'at the end'",
            "Barrier",
            "''",
            "Barrier",
        ];
        assert_eq!(told.collect::<Vec<_>>(), [of_rank, of_rank].concat(), "{}: {text}", mpi.name);
    }
}

#[test]
fn more_regions_than_have_numbers_are_told_once_and_lie_in_others() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let job = Job::new(mpi, 4, compile_special(mpi, "regions_in_time")).args(["many"]).patient();
        let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0) && run.stdout.contains("OK"), mpi.name);
        let said = marked_sentences(&run.stderr);
        let is_told = |said: &&String| said.contains("the program has begun more than 256 different regions");
        run.expect(said.iter().filter(is_told).count() == 1, mpi.name);
        let profile = Profile::read(&output);
        let profile = profile.json();
        // Of 300 steps 254 have numbers, beside the first two; of those in each other the outermost has its own.
        assert_eq!(profile["ranks"][3]["lost_regions"], 300 - 254 + 99, "{}", mpi.name);
        let regions = profile["efficiency"]["regions"].as_array().expect("regions");
        let paths: Vec<&str> = regions.iter().filter_map(|of| of["region"].as_str()).collect();
        assert!(paths.len() <= 257 && paths.contains(&"main") && paths.contains(&"main/step 0"), "{paths:?}");
        assert_eq!(of(&profile["ranks"][0]["regions"], "main/I|O")["times"], 2, "{}", mpi.name);
    }
}

/// What the processor counts, made up: each region has it, with what lies in it, and their ranks together have the pace.
#[test]
#[ignore = "slow"]
fn what_the_processor_counts_is_known_of_regions() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let program = compile_special(mpi, "regions_in_time");
        let job = Job::new(mpi, 2, program).args(["computes"]);
        let job = job.env("MEL_FAKE_COUNTERS", "instructions=2e9;cycles=1e9");
        let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
        run.expect(run.code == Some(0), mpi.name);
        let profile = Profile::read(&output);
        let json = profile.json();
        for rank in 0..2 {
            let of_rank = &json["ranks"][rank];
            let instructions = |counters: &Value| counters["instructions"].as_f64().unwrap_or(0.0) / 1e6;
            let of = |path: &str| instructions(&of(&of_rank["regions"], path)["counters"]);
            let (step, assemble, none) = (of("step"), of("step/assemble"), of(""));
            // Two thousand million in a second.
            let is_about = |count: f64, planted: f64| (planted - 2.0..planted + 12.0).contains(&count);
            assert!(is_about(assemble, 80.0) && is_about(step, 120.0), "{}: {of_rank}", mpi.name);
            assert!(is_about(none, 40.0), "{}: {of_rank}", mpi.name);
            let all = instructions(&of_rank["counters"]);
            assert!((all - step - none).abs() < 1.0, "{all} of the rank: {of_rank}");
        }
        let of = of(&json["efficiency"]["regions"], "step/assemble");
        let (instructions, cycles) = (&of["counters"]["instructions"], &of["counters"]["cycles"]);
        let pace = instructions.as_f64().expect("instructions") / cycles.as_f64().expect("cycles");
        assert!((pace - 2.0).abs() < 0.01, "{of}");
        let report = Command::new(mel()).arg("report").arg(&output).output().expect("mel can be started");
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        let line = text.lines().find(|line| line.trim_start().starts_with("assemble ")).unwrap_or_default();
        assert!(line.contains(" 2.00 ") && line.trim_end().ends_with("GHz"), "{text}");
    }
}
