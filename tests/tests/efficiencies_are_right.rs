//! Efficiencies, the critical path and what would be won are those that the times say by which a program works; and what is said to be won
//! is won where the program does without it.

use std::path::{Path, PathBuf};
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::browser::Browser;
use mel_tests::docs::is_shown;
use mel_tests::verdict::TRIES;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

use super::pages_in_a_browser::{OVERLAPS, page_in, texts};

/// How far a number may be from what was planted.
const NEAR: f64 = 0.1;
/// What an efficiency may lack of what was planted: a machine that is busy takes time from all of them.
const LACKS: f64 = 0.12;

/// A program with its arguments, on four ranks of an MPI.
struct Case<'a> {
    mpi: &'a Mpi,
    program: PathBuf,
    args: &'a str,
}

impl Case<'_> {
    /// What `command` says in JSON of a run with these options.
    fn says(&self, options: &[&str], command: &str) -> Value {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let job = Job::new(self.mpi, 4, &self.program).args(self.args.split(' ')).patient();
        let job = job.current_dir(directory.path());
        let run = job.under_mel(["-o", output.as_str()].into_iter().chain(options.iter().copied())).run();
        run.expect(run.code == Some(0), self.args);
        said(command, Path::new(&output))
    }

    fn exact(&self) -> Value {
        self.says(&["--trace", "--callsites"], "analyze")
    }
}

fn said(command: &str, directory: &Path) -> Value {
    let json = Command::new(mel()).args([command, "--json"]).arg(directory).output().expect("mel starts");
    assert!(json.status.success(), "mel {command}: {}", String::from_utf8_lossy(&json.stderr));
    serde_json::from_slice(&json.stdout).expect("JSON")
}

/// Tries until `check` finds nothing wrong: a machine with something else to do lends no rank its processor in time.
fn in_time(what: &str, check: impl Fn() -> Result<(), String>) {
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        match check() {
            Ok(()) => return,
            Err(said) => wrong.push(said),
        }
    }
    panic!("{what}: {wrong:#?}");
}

/// The efficiencies of these names are near to those planted, and none is above 1.
fn are_near(of: &Value, planted: &[(&str, f64)]) -> Result<(), String> {
    for (name, planted) in planted {
        let value = of[name].as_f64().ok_or_else(|| format!("no {name}: {of}"))?;
        if value > 1.0 || value > planted + 0.06 || value < planted - LACKS {
            return Err(format!("{name} is {value}, and not {planted}: {of}"));
        }
    }
    Ok(())
}

/// Efficiencies of a run in this order: parallel, load balance, communication, serialisation, transfer.
fn efficiencies(args: &str, planted: [f64; 5], busiest: Option<u64>) {
    let names =
        ["parallel_efficiency", "load_balance", "communication_efficiency", "serialisation", "transfer"];
    let named: Vec<(&str, f64)> = names.into_iter().zip(planted).collect();
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let case = Case { mpi, program: compile_special(mpi, "could_be"), args };
        let is_busiest =
            |of: &Value| busiest.is_none_or(|busiest| of["busiest_rank"].as_u64() == Some(busiest));
        in_time(&format!("{} {args}", mpi.name), || {
            let of = &case.says(&[], "report")["efficiency"];
            assert_eq!(of["ideal_basis"], "estimated", "{of}");
            are_near(of, &named)?;
            if is_busiest(of) { Ok(()) } else { Err(format!("not {busiest:?}: {of}")) }
        });
        in_time(&format!("{} {args}, traced", mpi.name), || {
            let said = case.exact();
            are_near(&said["efficiency"], &named)?;
            if is_busiest(&said["efficiency"]) { Ok(()) } else { Err(format!("not {busiest:?}: {said}")) }
        });
    }
}

#[test]
fn ranks_that_work_as_long_are_used_well() {
    efficiencies("all 10 60 60 60 60", [1.0; 5], None);
}

#[test]
fn a_rank_that_works_longer_lowers_the_load_balance() {
    // 600, 900, 600 and 600 ms of 900 ms.
    efficiencies("all 10 60 90 60 60", [0.75, 0.75, 1.0, 1.0, 1.0], Some(1));
}

#[test]
fn ranks_that_work_in_turn_lower_the_serialisation() {
    // Each works 200 ms of 800 ms, one after the other.
    efficiencies("chain 5 40 40 40 40", [0.25, 1.0, 0.25, 0.25, 1.0], None);
}

#[test]
#[ignore = "slow"]
fn ranks_that_are_late_in_turn_lower_the_serialisation() {
    // Each works 3 times 90 ms and 9 times 60 ms: 810 ms of 1080 ms.
    efficiencies("turns 12 90 60 60 60", [0.75, 1.0, 0.75, 0.75, 1.0], None);
}

/// The finding about this rank is won where the program does without it: `mended`, whether it is estimated or exact.
fn is_won(args: &str, mended: &str, cause: u64) {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let program = compile_special(mpi, "could_be");
        let (case, mended) =
            (Case { mpi, program: program.clone(), args }, Case { mpi, program, args: mended });
        let is_won = |with: &Value, without: &Value| {
            let [real, shorter] =
                [with, without].map(|said| said["efficiency"]["run_s"].as_f64().expect("it runs"));
            let of_cause = |finding: &&Value| finding["cause_rank"].as_u64() == Some(cause);
            let findings = with["verdict"].as_array().expect("there is one");
            let finding = findings.iter().find(of_cause).ok_or_else(|| format!("not {cause}: {with}"))?;
            let won = finding["would_win_s"].as_f64().ok_or_else(|| format!("nothing is won: {finding}"))?;
            let text = finding["text"].as_str().unwrap_or_default();
            assert!(text.contains("without it the run would take"), "{text}");
            if text.contains("which comes last") && finding["basis"] == "exact" {
                // The program names a phase.
                is_shown("docs/efficiency.md", "which comes last", &text.replace(" in phase 3", ""));
            }
            let share = ((real - won) - shorter).abs() / shorter;
            if share <= NEAR {
                return Ok(());
            }
            Err(format!("{real} s, {shorter} s without it, and {} s was said", real - won))
        };
        in_time(&format!("{} {args}, traced", mpi.name), || is_won(&case.exact(), &mended.exact()));
        let estimated = |case: &Case<'_>| case.says(&[], "report");
        in_time(&format!("{} {args}", mpi.name), || is_won(&estimated(&case), &estimated(&mended)));
    }
}

#[test]
#[ignore = "slow"]
fn the_delay_of_a_rank_before_an_operation_of_all_is_won() {
    is_won("all 10 60 90 60 60", "all 10 60 60 60 60", 1);
}

#[test]
#[ignore = "slow"]
fn the_delay_of_a_rank_between_its_neighbours_is_won() {
    is_won("halo 10 60 90 60 60", "halo 10 60 60 60 60", 1);
}

#[test]
#[ignore = "slow"]
fn of_two_late_ranks_the_later_one_is_won_up_to_the_other() {
    // Without the delay of rank 1 rank 2 is the last: 80 ms a step, and not 60.
    is_won("all 10 60 100 80 60", "all 10 60 60 80 60", 1);
}

#[test]
fn the_path_is_where_the_work_is_that_all_wait_for() {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let args = "all 10 20 60 20 20";
        let case = Case { mpi, program: compile_special(mpi, "could_be"), args };
        in_time(mpi.name, || {
            let said = case.exact();
            let first = &said["critical_path"]["places"][0];
            let is_there = first["before"].as_str().is_some_and(|before| before.starts_with("MPI_Allreduce"));
            let share = first["share"].as_f64().unwrap_or_default();
            if is_there && first["rank"] == 1 && share > 0.85 { Ok(()) } else { Err(said.to_string()) }
        });
    }
}

#[test]
fn of_each_phase_and_region_it_is_known_what_a_perfect_network_would_leave() {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let program = compile_special(mpi, "could_be");
        for (options, commands, basis) in [
            (&["--trace", "--callsites"][..], &["analyze", "report"][..], "exact"),
            (&[], &["report"], "estimated"),
        ] {
            in_time(mpi.name, || {
                let job = Job::new(mpi, 4, &program).args("parts 8 60 20 40 0".split(' ')).patient();
                let options = options.iter().copied().chain(["-o", output.as_str(), "--force"]);
                let run = job.current_dir(directory.path()).under_mel(options).run();
                run.expect(run.code == Some(0), mpi.name);
                commands.iter().try_for_each(|command| parts_are_right(command, Path::new(&output), basis))
            });
        }
    }
}

/// What a command says of the phases and regions of `could_be parts 8 60 20 40 0`.
fn parts_are_right(command: &str, output: &Path, basis: &str) -> Result<(), String> {
    // In the first half they work in turn, 60 ms in each step, and each of them 120 in four; then all 40.
    let planted = [
        ("phase", "3", [1.0, 0.5, 0.5, 1.0]),
        ("phase", "4", [1.0, 1.0, 1.0, 1.0]),
        ("region", "steps", [1.0, 0.7, 0.7, 1.0]),
        ("region", "steps/in turn", [1.0, 0.5, 0.5, 1.0]),
        ("region", "steps/together", [1.0, 1.0, 1.0, 1.0]),
    ];
    let keys = ["load_balance", "communication_efficiency", "serialisation", "transfer"];
    let said = said(command, output);
    for (kind, name, shares) in planted {
        let parts = said["efficiency"][format!("{kind}s")].as_array().ok_or("no parts")?;
        let is_it = |of: &&Value| match &of[kind] {
            Value::String(known) => known == name,
            place => said["phases"][place.as_u64().unwrap_or(99) as usize] == name,
        };
        let of = parts.iter().find(is_it).ok_or_else(|| format!("no {name}: {said}"))?;
        let planted: Vec<(&str, f64)> = keys.into_iter().zip(shares).collect();
        are_near(of, &planted)?;
        assert_eq!(of["ideal_basis"], basis, "{of}");
    }
    let text = Command::new(mel()).arg(command).arg(output).output().expect("mel starts");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("efficiencies of phases") && text.contains("efficiencies of regions"), "{text}");
    Ok(())
}

/// Where calls are missing it is not known how long ranks were outside of MPI, nor what they needed.
#[test]
fn a_part_of_a_trace_says_nothing_of_paths() {
    for mpi in &Mpi::all() {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let program = compile_special(mpi, "could_be");
        let job = Job::new(mpi, 4, &program).args("parts 4 5 2 5 0".split(' ')).current_dir(directory.path());
        let options = ["--trace", "--only-calls", "MPI_Barrier", "-o", output.as_str()];
        let run = job.under_mel(options).run();
        run.expect(run.code == Some(0), mpi.name);
        let analysis = said("analyze", Path::new(&output));
        assert!(analysis["efficiency"].is_null() && analysis["critical_path"].is_null(), "{analysis}");
        for command in ["analyze", "report"] {
            let text = Command::new(mel()).arg(command).arg(&output).output().expect("mel starts");
            let text = String::from_utf8_lossy(&text.stdout).into_owned();
            assert!(!text.contains("critical path"), "{command}: {text}");
        }
    }
}

#[test]
fn each_phase_has_efficiencies_and_a_gate_holds_them() {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let program = compile_special(mpi, "could_be");
        let run = |args: &str| {
            let job =
                Job::new(mpi, 4, &program).args(args.split(' ')).patient().current_dir(directory.path());
            let run = job.under_mel(["-o", output.as_str(), "--force"]).run();
            run.expect(run.code == Some(0), args);
            run
        };
        in_time(mpi.name, || {
            let run = run("all 10 60 90 60 60");
            let said = said("report", Path::new(&output));
            let phases = said["efficiency"]["phases"].as_array().expect("there are two");
            assert_eq!(phases.len(), 2, "{said}");
            assert!(run.stderr.contains("parallel efficiency "), "{}", run.stderr);
            phases
                .iter()
                .try_for_each(|of| are_near(of, &[("parallel_efficiency", 0.75), ("load_balance", 0.75)]))
        });
        let gate = |condition: &str| {
            let diff = Command::new(mel()).args(["diff", &output, &output, "--fail-if", condition]).output();
            diff.expect("mel starts").status.code()
        };
        assert_eq!(gate("parallel_efficiency<0.9"), Some(1));
        assert_eq!(gate("parallel_efficiency<0.3"), Some(0));
        assert_eq!(gate("transfer<0.3"), Some(0));
    }
}

/// What `mel analyze` finds in a traced run of two ranks, with the lines of calls.
fn analysed(mpi: &Mpi, program: &Path, output: &Path) -> Value {
    let job = Job::new(mpi, 2, program).patient().current_dir(output.parent().unwrap());
    let options = ["--trace", "--callsites", "-o"].map(std::ffi::OsStr::new);
    let run = job.under_mel(options.into_iter().chain([output.as_os_str()])).run();
    run.expect(run.code == Some(0), mpi.name);
    said("analyze", output)
}

#[test]
fn what_is_hidden_behind_work_is_told_by_line() {
    // Line, work, what is waited, in seconds of 20 steps.
    let planted = [("PARTLY", 0.12, 0.06), ("HIDDEN", 0.12, 0.0), ("NAKED", 0.0, 0.08)];
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let program = compile_special(mpi, "hidden");
        let source = mel_tests::artifacts::root().join("tests/programs/special/hidden.c");
        let lines = std::fs::read_to_string(source).unwrap();
        let line_of = |name: &str| {
            let is_it = |line: &str| line.contains(&format!("/* line {name} */"));
            1 + lines.lines().position(is_it).unwrap()
        };
        in_time(mpi.name, || {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let found = analysed(mpi, &program, &output);
            let overlap = found["overlap"].as_array().ok_or("nothing overlaps")?;
            if overlap.len() != planted.len() {
                return Err(format!("{overlap:?}"));
            }
            for (name, work, waited) in planted {
                let started = format!("MPI_Irecv at hidden.c:{} ", line_of(name));
                let of = overlap.iter().find(|of| of["started"].as_str().unwrap().starts_with(&started));
                let of = of.ok_or_else(|| format!("no {name}: {overlap:?}"))?;
                let is_near = |key: &str, planted: f64| {
                    of[key].as_f64().is_some_and(|found| found > planted - 0.01 && found < planted + 0.03)
                };
                let share = of["overlap"].as_f64().unwrap();
                let right = is_near("work_s", work)
                    && is_near("waited_s", waited)
                    && (share - work / (work + waited)).abs() < NEAR
                    && of["operations"] == 20
                    && of["bytes"] == 160
                    && of["completed"].as_str().unwrap().starts_with("MPI_Wait at hidden.c:");
                if !right {
                    return Err(format!("{name}: {of}"));
                }
            }
            let table = Command::new(mel()).args(["analyze", "--overlap"]).arg(&output).output().unwrap();
            let table = String::from_utf8_lossy(&table.stdout).into_owned();
            if !table.contains("work meanwhile") || table.matches("MPI_Irecv at ").count() != 3 {
                return Err(table);
            }
            Ok(())
        });
    }
}

#[test]
fn the_protocol_that_suits_long_messages_is_told_by_line() {
    for mpi in Mpi::all().iter().filter(|mpi| mpi.ranks_give_way()) {
        let program = compile_special(mpi, "rendezvous");
        let source = mel_tests::artifacts::root().join("tests/programs/special/rendezvous.c");
        let lines = std::fs::read_to_string(source).unwrap();
        let call = |function: &str, name: &str| {
            let is_it = |line: &str| line.contains(&format!("/* line {name} */"));
            format!("{function} at rendezvous.c:{} (main)", 1 + lines.lines().position(is_it).unwrap())
        };
        // Calls, the share that is sent first, and what is lost with each protocol: 6 ms of 10 messages, or nothing.
        let planted = [
            (call("MPI_Isend", "SENT"), call("MPI_Irecv", "READ"), Some(10), [0.0, 0.06, 0.06], "read"),
            (call("MPI_Isend", "WRITTEN"), call("MPI_Irecv", "ASKED"), Some(0), [0.06, 0.06, 0.0], "asked"),
            (call("MPI_Send", "PROMPT"), call("MPI_Recv", "TAKEN"), None, [0.0, 0.0, 0.0], "null"),
        ];
        in_time(mpi.name, || {
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let found = analysed(mpi, &program, &output);
            let protocols = found["rendezvous"].as_array().ok_or("no long messages")?;
            if protocols.len() != planted.len() {
                return Err(format!("{protocols:?}"));
            }
            for (sent, received, first, lost, best) in &planted {
                let is_it = |of: &&Value| of["sent"] == **sent && of["received"] == **received;
                let of = protocols.iter().find(is_it);
                let of = of.ok_or_else(|| format!("no {sent}: {protocols:?}"))?;
                let is_near = |(key, planted): (&str, f64)| {
                    of[key].as_f64().is_some_and(|found| (found - planted).abs() < 0.015)
                };
                let right = ["read_s", "write_s", "asked_s"].into_iter().zip(*lost).all(is_near)
                    && first.is_none_or(|first| of["sent_first"] == first)
                    && of["messages"] == 10
                    && of["bytes"] == 10 << 20
                    && of["best"].as_str().unwrap_or("null") == *best
                    && of["pairs"].as_array().is_some_and(|pairs| pairs.len() == 1)
                    && (&of["pairs"][0]["sender"], &of["pairs"][0]["receiver"]) == (&0.into(), &1.into())
                    && of["pairs"][0]["best"] == of["best"];
                if !right {
                    return Err(format!("{sent}: {of}"));
                }
            }
            let table = |options: &[&str]| {
                let told =
                    Command::new(mel()).args(["analyze", "--rendezvous"]).args(options).arg(&output).output();
                String::from_utf8_lossy(&told.unwrap().stdout).into_owned()
            };
            let (all, none) = (table(&[]), table(&["--longer-than", "1M"]));
            if ["asked\n", "read\n", "any\n"].iter().any(|best| !all.contains(best)) || none.contains("best")
            {
                return Err(all + &none);
            }
            Ok(())
        });
    }
}

#[test]
fn the_page_has_the_protocols_where_they_make_a_difference() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let output = directory.path().join("run");
    let job = Job::new(mpi, 2, compile_special(mpi, "rendezvous"));
    let run = job.under_mel(["--trace".as_ref(), "-o".as_ref(), output.as_os_str()]).run();
    run.expect(run.code == Some(0), mpi.name);
    browser.open(&page_in(&output));
    let waits = texts(&mut browser, "#waits");
    let found = said("analyze", &output);
    let protocols = found["rendezvous"].as_array().unwrap();
    assert_eq!(protocols.len(), 3, "{found}");
    assert!(waits.contains("Long messages by protocol"), "{waits}");
    for of in protocols {
        let is_shown =
            waits.contains(of["sent"].as_str().unwrap()) && waits.contains(of["received"].as_str().unwrap());
        // Where it makes no difference there is no row; the calls may be in other tables.
        assert!(is_shown || of["best"].is_null(), "{of}: {waits}");
    }
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
    // Of a trace that lacks calls it is not known.
    let lacking = directory.path().join("lacking");
    let job = Job::new(mpi, 2, compile_special(mpi, "rendezvous"));
    let only = ["--trace", "--only-calls", "MPI_Isend,MPI_Irecv,MPI_Wait", "-o"].map(std::ffi::OsStr::new);
    let run = job.under_mel(only.into_iter().chain([lacking.as_os_str()])).run();
    run.expect(run.code == Some(0), mpi.name);
    for option in ["--rendezvous", "--overlap"] {
        let told = Command::new(mel()).args(["analyze", option]).arg(&lacking).output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("the trace lacks calls"), "{option}: {told}");
    }
}
