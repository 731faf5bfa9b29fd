//! What MEL says of one run of a program.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::artifacts::{fresh_dir, mel};
use crate::planted::{Wrong, kept_time};
use crate::{Finished, Job, Mpi};

/// A run that is not as wanted is repeated so often, for something else may have come in between.
pub const TRIES: usize = 5;
/// Where the machine had nothing else to do, so often.
const QUIET_TRIES: usize = 2;

/// Where a verdict comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// `mel run`.
    Estimated,
    /// `mel run --trace` and `mel analyze`.
    Exact,
}

/// A program on an MPI.
#[derive(Debug)]
pub struct Case<'a> {
    /// The MPI.
    pub mpi: &'a Mpi,
    /// Number of ranks.
    pub ranks: u32,
    /// The executable.
    pub program: PathBuf,
    /// The program's arguments.
    pub args: &'a [&'a str],
    /// What `mel run` is given where it writes no trace.
    pub options: &'a [String],
}

impl Case<'_> {
    /// The verdict on one run, and what the run left behind.
    ///
    /// # Panics
    ///
    /// If the program fails, or the command says no verdict.
    pub fn verdict(&self, basis: Basis) -> (Vec<Value>, Finished) {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let run = match basis {
            Basis::Estimated => self.run(&output, []),
            Basis::Exact => self.run(&output, ["--trace", "--callsites"]),
        };
        (self.said(basis, &output), run)
    }

    /// Both verdicts on one run, and whether the machine kept the time planted.
    ///
    /// # Panics
    ///
    /// As [`verdict`](Case::verdict).
    pub fn both_verdicts(&self) -> ([Vec<Value>; 2], bool) {
        let directory = fresh_dir();
        let output = directory.path().join("run").display().to_string();
        let run = self.run(&output, ["--trace", "--callsites"]);
        ([Basis::Estimated, Basis::Exact].map(|basis| self.said(basis, &output)), kept_time(&run))
    }

    /// Runs under MEL, in the directory above its output.
    fn run<'b>(&'b self, output: &'b str, options: impl IntoIterator<Item = &'b str>) -> Finished {
        let options = ["-o", output].into_iter().chain(options);
        let options = options.chain(self.options.iter().map(String::as_str));
        let directory = Path::new(output).parent().expect("the output is in a directory of its own");
        let job = Job::new(self.mpi, self.ranks, &self.program).args(self.args).current_dir(directory);
        // Ranks that share processors give them up while they wait.
        let job = if self.ranks > 2 { job.patient() } else { job };
        let run = job.under_mel(options).run();
        run.expect(run.code == Some(0), &self.to_string());
        run
    }

    /// The verdict on the run in this directory.
    fn said(&self, basis: Basis, output: &str) -> Vec<Value> {
        let command = match basis {
            Basis::Estimated => "report",
            Basis::Exact => "analyze",
        };
        let json =
            Command::new(mel()).args([command, "--json", output]).output().expect("mel can be started");
        let said = String::from_utf8_lossy(&json.stderr);
        assert!(json.status.success(), "{self}: mel {command} --json: {said}");
        let profile: Value = serde_json::from_slice(&json.stdout).expect("JSON");
        if basis == Basis::Exact && !self.needs_storage() {
            assert_eq!(profile["remarks"], Value::Null, "{self}: it makes no mistake");
        }
        let verdict = profile["verdict"].as_array();
        let verdict = verdict.unwrap_or_else(|| panic!("{self}: mel {command}: there is no verdict: {said}"));
        verdict.clone()
    }

    /// Whether the program would hang if the MPI did not store its messages.
    fn needs_storage(&self) -> bool {
        const ALL: [&str; 3] = ["misarrangement_standard_send", "tags_backwards", "backwards"];
        ALL.iter().any(|name| self.program.file_name().is_some_and(|file| file == *name))
    }

    /// Runs until `wrong_in` finds nothing in a verdict. On a machine that was busy all the time only times may be wrong.
    ///
    /// # Panics
    ///
    /// If it finds something each time.
    pub fn is_right(&self, basis: Basis, wrong_in: impl Fn(&[Value]) -> Vec<Wrong>) {
        let (mut quiet, mut only_times) = (0, false);
        for attempt in 1..=TRIES {
            let (verdict, run) = self.verdict(basis);
            let kept = kept_time(&run);
            let wrong = wrong_in(&verdict);
            if wrong.is_empty() {
                return;
            }
            quiet += usize::from(kept);
            only_times |= !kept && wrong.iter().all(|wrong| matches!(wrong, Wrong::Time(_)));
            let last = quiet == QUIET_TRIES || attempt == TRIES && !only_times;
            assert!(!last, "{self}, {basis:?}: {wrong:#?}\nThe verdict is {verdict:#?}");
        }
        println!("skipped: the times of {self}, {basis:?}: the machine has too much else to do");
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.program.display(), self.mpi.name)
    }
}

/// What `mel analyze` remarks on in a run with a trace.
///
/// # Panics
///
/// If it says nothing.
pub fn remarks_on(run: &Path) -> Vec<Value> {
    let said = Command::new(mel()).args(["analyze", "--json"]).arg(run).output().expect("mel starts");
    assert!(said.status.success(), "{}: {}", run.display(), String::from_utf8_lossy(&said.stderr));
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    said["remarks"].as_array().cloned().unwrap_or_default()
}
