//! Control variables: the MPI's own are all there as without us, those of MEL behind them; and what `mel run --set` refuses.

use std::fs;
use std::process::Command;

use mel_tests::artifacts::{built, fresh_dir, mel, root};
use mel_tests::{Job, Mpi, Program, compile_preloadable, compile_special};
use serde_json::Value;

/// The lines about variables, but for those of MEL.
fn of_the_mpi(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("variable ") && !line.starts_with("variable mel_")).collect()
}

#[test]
fn the_mpis_own_are_there_as_without_us_and_ours_behind() {
    for mpi in &Mpi::all_and_newer() {
        let program = compile_special(mpi, "control_variables");
        let plain = Job::new(mpi, 1, &program).run();
        plain.expect(plain.code == Some(0), mpi.name);
        let events = Job::new(mpi, 1, &program).through_env("LD_PRELOAD", built("libmpit_events.so")).run();
        events.expect(events.code == Some(0) && events.stdout == plain.stdout, mpi.name);

        let directory = fresh_dir();
        let run = directory.path().join("run");
        let job = Job::new(mpi, 1, &program).args(["ours"]);
        let ours = job.under_mel(["-o".as_ref(), run.as_os_str()]).run();
        ours.expect(ours.code == Some(0) && !ours.stdout.contains("WRONG"), mpi.name);
        ours.expect(of_the_mpi(&ours.stdout) == of_the_mpi(&plain.stdout), mpi.name);
        let names: Vec<&str> = ours.stdout.lines().filter(|line| line.starts_with("variable ")).collect();
        let first = names.iter().position(|line| line.starts_with("variable mel_")).expect("MEL's are there");
        ours.expect(names[first..].iter().all(|line| line.starts_with("variable mel_")), "they are the last");
        // Ten barriers are made while nothing is recorded, ten before the phase is named, and five in it.
        let profile = std::fs::read(run.join("profile.json")).expect("a profile");
        let profile: Value = serde_json::from_slice(&profile).expect("JSON");
        let calls = profile["ranks"][0]["calls"].as_array().expect("calls");
        let barriers = calls.iter().filter(|call| call["function"] == "MPI_Barrier");
        assert_eq!(barriers.map(|call| call["calls"].as_u64().unwrap_or(0)).sum::<u64>(), 15, "{}", mpi.name);
    }
}

/// Runs a program that would leave a file, under `mel run` with these options; what it says, and whether the program ran.
fn refused(mpi: &Mpi, options: &[&str]) -> (String, bool) {
    let directory = fresh_dir();
    let program = compile_special(mpi, "control_variables");
    let mut command = Command::new(mel());
    command.current_dir(directory.path()).env("XDG_CACHE_HOME", cache()).arg("run").args(options);
    let output = command.arg(program).output().expect("mel can be started");
    let ran = String::from_utf8_lossy(&output.stdout).contains("variable ");
    (String::from_utf8_lossy(&output.stderr).into_owned(), ran)
}

/// A cache of this test's own: each MPI is asked once.
fn cache() -> &'static std::path::Path {
    static CACHE: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    CACHE.get_or_init(fresh_dir).path()
}

#[test]
fn what_is_certainly_wrong_is_refused_before_the_job() {
    for mpi in &Mpi::all()[..] {
        let is_open_mpi = mpi.name.starts_with("openmpi");
        let (misspelt, meant) = if is_open_mpi {
            ("coll_tuned_bcast_algoritm=1", "coll_tuned_bcast_algorithm")
        } else {
            ("MPIR_CVAR_BCAST_MIN_PROC=5", "MPIR_CVAR_BCAST_MIN_PROCS")
        };
        let (said, ran) = refused(mpi, &["--set", misspelt]);
        assert!(!ran && said.contains("nearest: ") && said.contains(meant), "{}: {said}", mpi.name);
        let (said, ran) = refused(mpi, &["--no-strict", "--set", misspelt]);
        assert!(ran && said.contains("this MPI has no such control variable"), "{}: {said}", mpi.name);
        let (value, allowed) = if is_open_mpi {
            ("coll_tuned_bcast_algorithm=77", "(pipeline)")
        } else {
            // With such a value MPICH would crash in `MPI_Init`.
            ("MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomiall", "binomial  ")
        };
        let (said, ran) = refused(mpi, &["--set", value]);
        assert!(!ran && said.contains(allowed), "{}: {said}", mpi.name);
        let (said, ran) = refused(mpi, &["--set", "mel_recording=2"]);
        assert!(!ran && said.contains("0 (off) or 1 (on)"), "{}: {said}", mpi.name);
        let (said, ran) = refused(mpi, &["--set", "mel_recording=off", "--set", meant_right(is_open_mpi)]);
        assert!(ran && said.contains("mel_recording=off: set (read back)"), "{}: {said}", mpi.name);
    }
}

fn meant_right(is_open_mpi: bool) -> &'static str {
    if is_open_mpi { "coll_tuned_bcast_algorithm=1" } else { "MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial" }
}

#[test]
fn what_is_there_before_mpi_init_only_is_known_and_what_no_mpi_lists_is_set() {
    for mpi in &Mpi::all()[..] {
        let settings: &[(&str, &str)] = if mpi.name.starts_with("openmpi") {
            // Of a component that Open MPI closes where it is one process.
            &[
                ("btl_vader_eager_limit=8192", "set in the environment"),
                ("UCX_RNDV_THRESH=64k", "set in the environment"),
            ]
        } else {
            &[("FI_TCP_PORT_LOW_RANGE=1024", "set in the environment")]
        };
        for (setting, what) in settings {
            let (said, ran) = refused(mpi, &["--set", setting]);
            assert!(ran && said.contains(&format!("{setting}: {what}")), "{}: {said}", mpi.name);
        }
        if let Some((setting, _)) = settings.first().filter(|_| mpi.name.starts_with("openmpi")) {
            let program = compile_special(mpi, "control_variables");
            let directory = fresh_dir();
            let job = Job::new(mpi, 2, &program).current_dir(directory.path());
            let ended = job.under_mel(["--set", *setting]).run();
            ended.expect(ended.stderr.contains(&format!("{setting}: set (read back)")), mpi.name);
        }
    }
}

#[test]
fn mel_vars_has_the_variables_before_mpi_init_with_the_values_of_the_environment() {
    for mpi in &Mpi::all()[..] {
        let program = compile_special(mpi, "control_variables");
        let is_open_mpi = mpi.name.starts_with("openmpi");
        let (name, variable) = match is_open_mpi {
            true => ("btl_vader_eager_limit", "OMPI_MCA_btl_vader_eager_limit"),
            false => ("MPIR_CVAR_BCAST_MIN_PROCS", "MPIR_CVAR_BCAST_MIN_PROCS"),
        };
        let mut command = Command::new(mel());
        let output =
            command.args(["vars", name, "--json", "--mpi"]).arg(&program).env(variable, "5000").output();
        let output = output.expect("mel can be started");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let found = all.as_array().into_iter().flatten().find(|found| found["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{}: {all}", mpi.name));
        assert_eq!(
            (&found["value"], &found["is_until_init"]),
            (&"5000".into(), &is_open_mpi.into()),
            "{found}"
        );
    }
}

/// Of a variable with several elements all are set, or none.
#[test]
fn a_variable_of_the_mpis_with_several_elements_is_set_as_a_whole() {
    for mpi in &Mpi::all() {
        let library = compile_preloadable(mpi, "pools");
        for (value, told, printed) in [
            (
                "4,5,6,7",
                "MPIR_CVAR_VBUF_POOL_REDUCED_VALUE=4,5,6,7: set",
                "control 0, reduced 4,5,6,7, allocated 2000,",
            ),
            (
                "4",
                "MPIR_CVAR_VBUF_POOL_REDUCED_VALUE=4: not set, it is 1,2,3,4 (MPI_INT): it has 4 elements, and 1 are given",
                "control 0, reduced 1,2,3,4, allocated 2000,",
            ),
        ] {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let set = format!("MPIR_CVAR_VBUF_POOL_REDUCED_VALUE={value}");
            // The MPI itself has none of this name.
            let options = ["--no-strict", "--set", &set, "-o"].map(std::ffi::OsStr::new);
            let job = Job::new(mpi, 1, Program::named("selfsend").compile(mpi)).env("LD_PRELOAD", &library);
            let run = job.under_mel(options.into_iter().chain([output.as_os_str()])).run();
            run.expect(
                run.code == Some(0) && run.stdout.contains(printed),
                &format!("{}: {value}", mpi.name),
            );
            let said = run.stderr.replace("\n      ", " ");
            run.expect(said.contains(told), &format!("{}: {told}", mpi.name));
        }
    }
}

/// The thesis's policy for MVAPICH2, on variables that behave as its own do: buffers are given back once, and the control is off again.
#[test]
fn a_policy_reads_and_sets_variables_with_several_elements() {
    for mpi in &Mpi::all() {
        let library = compile_preloadable(mpi, "pools");
        let directory = fresh_dir();
        let output = directory.path().join("run");
        let policy = root().join("examples/policies/free-buffers.toml");
        let policy = ["--policy".as_ref(), policy.as_os_str()];
        let options = ["--every", "20ms", "--vars", "mv2_*", "-o"].map(std::ffi::OsStr::new);
        let program = compile_special(mpi, "late_receives");
        let job = Job::new(mpi, 3, program).args(["600", "10", "20000"]).env("LD_PRELOAD", &library);
        let run = job.under_mel(policy.into_iter().chain(options).chain([output.as_os_str()])).run();
        let printed = "control 0, reduced 500,5,6,7, allocated 500,5,6,7";
        run.expect(run.code == Some(0) && run.stdout.matches(printed).count() == 3, mpi.name);
        let profile = fs::read_to_string(output.join("profile.json")).unwrap();
        let profile: Value = serde_json::from_str(&profile).unwrap();
        for rank in profile["ranks"].as_array().unwrap() {
            let actions = rank["actions"].as_array().into_iter().flatten();
            let mut outcomes: Vec<&str> = actions.map(|of| of["outcome"].as_str().unwrap()).collect();
            // Both are set by the same rule, at once.
            outcomes[..2].sort_unstable();
            assert_eq!(outcomes.len(), 3, "{}: {outcomes:?}", mpi.name);
            let set = [
                "CONTROL=1: set (read back)",
                "REDUCED_VALUE=500,5,6,7: set (read back)",
                "CONTROL=0: set (read back)",
            ];
            for (outcome, set) in outcomes.iter().zip(set) {
                assert!(
                    outcome.contains(&format!("MPIR_CVAR_VBUF_POOL_{set}")),
                    "{}: {outcomes:?}",
                    mpi.name
                );
            }
        }
        let sampled = profile["ranks"][0]["variables"].as_array().unwrap();
        let first = sampled.iter().find(|of| of["name"] == "mv2_vbuf_allocated_array" && of["element"] == 0);
        let first = first.unwrap_or_else(|| panic!("{}: {sampled:?}", mpi.name));
        assert_eq!((&first["first"], &first["last"]), (&2000.0.into(), &500.0.into()), "{}", mpi.name);
    }
}
