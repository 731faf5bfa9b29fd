//! The tables of a trace, read with pyarrow through the package `mel_mpi`, have the numbers that the profile of the same run has; and
//! the notebook of the documentation runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, installed_by, mel, root};
use mel_tests::profile::Profile;
use mel_tests::{Job, Mpi, Program, compile_source};
use serde_json::{Value, json};

/// The packages that scripts/pypi-readers has installed under this name.
fn packages(name: &str) -> Option<(PathBuf, PathBuf)> {
    let prefix = installed_by("scripts/pypi-readers", Some(name))?;
    let python = prefix.join("bin/python");
    let words = ["-c", "import site; print(site.getsitepackages()[0])"];
    let output = Command::new(&python).args(words).output().expect("python can be started");
    let packages = String::from_utf8(output.stdout).expect("a path").trim_end().to_owned();
    Some((python, packages.into()))
}

/// What a script of ours prints, with `mel_mpi` and these packages at hand.
#[track_caller]
fn read(python: &Path, packages: &[&Path], script: &str, argument: &Path, run: &Path) -> String {
    let own = root().join("packaging/python");
    let paths = packages.iter().copied().chain([own.as_path()]);
    let commands = std::env::var_os("PATH").unwrap_or_default();
    let built = mel().parent().expect("a folder").to_owned();
    let commands = std::iter::once(built).chain(std::env::split_paths(&commands));
    let output = Command::new(python)
        .arg(root().join("tests/readers").join(script))
        .arg(argument)
        .env("PYTHONPATH", std::env::join_paths(paths).expect("paths"))
        .env("PATH", std::env::join_paths(commands).expect("paths"))
        .env("MEL_RUN", run)
        .env("MPLBACKEND", "agg")
        .output()
        .expect("python can be started");
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");
    String::from_utf8(output.stdout).expect("text")
}

/// Numbers by their names, but for those with one of these words.
fn numbers(value: &Value, but: &[&str]) -> BTreeMap<String, f64> {
    let all = value.as_object().expect("names").iter();
    let wanted = all.filter(|(name, _)| !but.iter().any(|word| name.contains(word)));
    wanted.map(|(name, number)| (name.clone(), number.as_f64().expect("a number"))).collect()
}

#[test]
fn tables_of_a_trace_have_the_numbers_of_the_profile() {
    let Some((python, _)) = packages("pyarrow") else { return };
    for mpi in &Mpi::all() {
        for program in ["random", "wildcards", "many_to_one"] {
            let what = format!("{} {program}", mpi.name);
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let options = ["--trace", "--vars", "mel_bytes_sent,mel_wait_time", "-o"].map(AsRef::as_ref);
            let job = Job::new(mpi, 4, Program::named(program).compile(mpi));
            let run = job.under_mel(options.into_iter().chain([output.as_os_str()])).run();
            run.expect(run.code == Some(0), &what);
            let profile = Profile::read(&output);
            let read: Value = serde_json::from_str(&read(&python, &[], "read_trace.py", &output, &output))
                .expect("the reader writes JSON");

            // The profile's calls are those between these.
            let apart = ["MPI_Init", "MPI_Finalize"];
            assert_eq!(numbers(&read["calls"], &apart), numbers(&read["profile_calls"], &apart), "{what}");
            assert_eq!(
                read["sites"].as_array().map(|all| all.contains(&"None".into())),
                Some(true),
                "{what}"
            );
            let known = read["profile_sites"].as_array().expect("sites");
            let sites = read["sites"].as_array().expect("sites");
            assert!(known.iter().all(|site| sites.contains(site)), "{what}: {known:?}, {sites:?}");
            let names = read["profile_communicators"].as_array().expect("names");
            let used = read["communicators"].as_array().expect("names");
            assert!(!used.is_empty() && used.iter().all(|name| names.contains(name)), "{what}: {used:?}");

            for rank in 0..4u32 {
                let of = |name: &str, key: &str| read[name][key].as_u64().unwrap_or(0);
                for (search, field) in [
                    ("pml_ob1_search_posted", "posted_search.searches"),
                    ("pml_ob1_search_unexpected", "unexpected_search.searches"),
                ] {
                    let searches = of("searches", &format!("{rank} {search}"));
                    assert_eq!(searches, profile.count(rank, field), "{what}: {rank}: {search}");
                }
                // The log says of each message and of each receive when it was in a queue, and conversion joins the two by their times.
                // Of many at once it misses one now and then.
                let (found, all) =
                    (of("unexpected", &rank.to_string()), profile.count(rank, "unexpected.messages"));
                let least = if program == "random" { all - all / 10 } else { all };
                assert!(
                    (least..=all).contains(&found),
                    "{what}: {rank}: {found} of {all} unexpected messages"
                );
            }
            // Each message that was received was sent, by whom it is said to come from.
            let peers = numbers(&read["peers"], &[]);
            let mut received = 0;
            for (key, bytes) in &peers {
                let [direction, rank, peer] = key.split(' ').collect::<Vec<_>>()[..] else { panic!("{key}") };
                if direction == "received" {
                    received += 1;
                    let sent = peers.get(&format!("sent {peer} {rank}"));
                    assert!(sent.is_some_and(|sent| sent >= bytes), "{what}: {key}: {bytes}, sent: {sent:?}");
                }
            }
            assert!(received > 0, "{what}: {peers:?}");
            assert!(
                read["samples"]["mel_bytes_sent bytes"].as_u64() > Some(0),
                "{what}: {}",
                read["samples"]
            );
            assert_eq!(read["units"]["messages.unexpected_s"], "s", "{what}");
            assert_eq!(read["units"]["calls.bytes_sent"], "B", "{what}");
            assert_eq!(read["units"].get("messages.tag"), None, "{what}: a name has no unit");
            assert_eq!(
                read["types"]["site"], "dictionary<values=string, indices=int32, ordered=0>",
                "{what}"
            );
            assert_eq!(read["converted_once"], true, "{what}");
        }
    }
}

#[test]
fn a_run_without_a_trace_says_what_to_do() {
    let Some((python, _)) = packages("pyarrow") else { return };
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let job = Job::new(mpi, 2, Program::named("many_to_one").compile(mpi));
    let run = job.under_mel(["-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), mpi.name);
    let script = format!(
        "import mel_mpi, sys\ntry: mel_mpi.Trace({:?})\nexcept ValueError as error: print(error)",
        output.display().to_string()
    );
    let built = mel().parent().expect("a folder").to_owned();
    let said = Command::new(python)
        .args(["-c", &script])
        .env("PYTHONPATH", root().join("packaging/python"))
        .env("PATH", built)
        .output()
        .expect("python can be started");
    let (said, complaints) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.contains("`mel run --trace`"), "{said}{complaints}");
    assert!(!output.join("parquet").exists(), "nothing is left");
}

#[test]
fn the_notebook_of_the_documentation_runs() {
    let (Some((python, _)), Some((_, arrow))) = (packages("hatchet"), packages("pyarrow")) else { return };
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let program = compile_source(mpi, &root().join("examples/programs/halo2d.c"));
    let job = Job::new(mpi, 4, program).args(["--iterations", "20", "--slow-rank", "1", "--slow-us", "4000"]);
    let run = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), mpi.name);
    let notebook = root().join("docs/python.ipynb");
    let told = read(&python, &[&arrow], "run_notebook.py", &notebook, &output);
    for wanted in ["cause: rank 1", "MPI_Waitall", "halo2d.c:", "% of the messages came before"] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    // As an editor leaves it that has run nothing.
    let text = std::fs::read_to_string(notebook).expect("the notebook");
    let cells = serde_json::from_str::<Value>(&text).expect("JSON")["cells"].take();
    for cell in cells.as_array().expect("cells") {
        assert!(cell["cell_type"] != "code" || cell["execution_count"] == json!(null), "{cell}");
    }
}
