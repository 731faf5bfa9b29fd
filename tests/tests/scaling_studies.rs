//! `mel scale` finds how planted times grow from runs of at most 16 ranks.

use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::{Job, Mpi, compile_special};
use serde_json::Value;

/// Runs on 2 to 16 ranks: with an MPI that gives up its processors while it waits, as there are fewer.
#[test]
fn planted_growth_is_found_at_its_lines() {
    let all = Mpi::all();
    let Some(mpi) = all.iter().find(|mpi| mpi.name == "openmpi") else { return };
    let program = compile_special(mpi, "scaling");
    let directory = fresh_dir();
    let mut runs = Vec::new();
    for ranks in [2, 4, 8, 16] {
        let output = directory.path().join(format!("run-{ranks}"));
        let run = Job::new(mpi, ranks, program.clone())
            .patient()
            .under_mel(["-o".as_ref(), output.as_os_str()])
            .run();
        run.expect(run.code == Some(0), "ranks that sleep");
        runs.push(output);
    }
    let scale = |options: &[&str]| {
        let mut command = Command::new(mel());
        command.arg("scale").args(&runs).args(options).current_dir(directory.path());
        let output = command.output().expect("mel");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let json: Value = serde_json::from_str(&scale(&["--json"])).expect("JSON");
    let source = std::fs::read_to_string(root().join("tests/programs/special/scaling.c")).expect("a program");
    let parts = json["parts"].as_array().expect("parts");
    for (line, term) in [("LINEAR", "linear"), ("SQUARE", "square"), ("LOG", "log")] {
        let number =
            source.lines().position(|text| text.contains(&format!("line {line} "))).expect("it is marked");
        let name = format!("scaling.c:{} (main) MPI_Barrier", number + 1);
        let part =
            parts.iter().find(|part| part["name"] == *name).unwrap_or_else(|| panic!("{name}: {json:#}"));
        assert_eq!(part["model"]["term"], term, "{part:#}");
    }
    let sizes = json["sizes"].as_array().expect("sizes");
    assert_eq!(sizes.iter().map(|size| size["ranks"].as_u64()).collect::<Vec<_>>(), [2, 4, 8, 16].map(Some));
    for size in sizes {
        let of = |name: &str| size[name].as_f64().expect("a number");
        let product = of("load_balance") * of("communication_efficiency");
        assert!((of("parallel_efficiency") - product).abs() < 1e-6, "{size:#}");
        let global = of("parallel_efficiency") * of("computation_scalability");
        assert!((of("global_efficiency") - global).abs() < 1e-6, "{size:#}");
    }
    // What grows with the square takes most in the end, and is said to.
    let text = scale(&["--history", "all.jsonl", "--label", "first", "--html", "page.html"]);
    assert!(text.contains("MPI_Barrier grows like p^2"), "{text}");
    let page = std::fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert!(page.contains("grows like p^2") && !page.contains("Studies so far"), "one study is no history");
    scale(&["--history", "all.jsonl", "--label", "again"]);
    let history = std::fs::read_to_string(directory.path().join("all.jsonl")).expect("a history");
    assert!(
        history.lines().count() == 1 && history.contains("again"),
        "the same runs are one study: {history}"
    );
}
