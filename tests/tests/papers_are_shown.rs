//! The commands of docs/seeds.md, which show where the claims of the papers are in MEL: each ends well, and prints what the page says.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::{Mpi, compile_source};

/// A row that has a command.
struct Row {
    command: String,
    prints: Option<String>,
}

/// What stands in back quotes in a cell, if anything does.
fn quoted(cell: &str) -> Option<String> {
    Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned())
}

fn rows() -> Vec<Row> {
    let page = fs::read_to_string(root().join("docs/seeds.md")).expect("the page");
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").map(str::trim).collect();
        Some(Row { command: quoted(cells.get(1)?)?, prints: quoted(cells.get(2)?) })
    };
    page.lines().filter_map(row).collect()
}

/// A launcher called `mpirun`, as users have it.
fn launcher(mpi: &Mpi, folder: &Path) {
    let launcher = mpi.launcher(1);
    // Without the number of ranks.
    let mut arguments: Vec<&OsStr> = launcher.get_args().collect();
    arguments.truncate(arguments.len() - 2);
    let words = [launcher.get_program()].into_iter().chain(arguments);
    let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
    let script = folder.join("mpirun");
    fs::write(&script, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "))).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it can be run");
}

#[test]
#[ignore = "slow"]
fn every_command_of_the_page_prints_what_it_says() {
    let rows = rows();
    assert!(rows.len() >= 18 && rows.iter().filter(|row| row.prints.is_some()).count() >= 15);
    for mpi in Mpi::all().iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name)) {
        let directory = fresh_dir();
        let here = directory.path();
        fs::copy(compile_source(mpi, &root().join("examples/programs/halo2d.c")), here.join("halo2d"))
            .expect("the program");
        let policy = "free-buffers.toml";
        fs::copy(root().join("examples/policies").join(policy), here.join(policy)).expect("the policy");
        launcher(mpi, here);
        let environment = mpi.launcher(1);
        let path =
            [here, mel().parent().expect("a folder")].map(|folder| folder.display().to_string()).join(":");
        let path = format!("{path}:{}", std::env::var("PATH").unwrap_or_default());
        for Row { command, prints } in &rows {
            let output = Command::new("timeout")
                .args(["120", "sh", "-c", command])
                .env("PATH", &path)
                .envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))))
                .current_dir(here)
                .stdin(Stdio::null())
                .output()
                .expect("a shell");
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {command}: {said}", mpi.name);
            // A sentence may go on in the next line.
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let prints = prints.as_deref().unwrap_or_default().trim();
            assert!(said.contains(prints), "{}: {command} does not print {prints}: {said}", mpi.name);
        }
    }
}
