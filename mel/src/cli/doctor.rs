//! `mel doctor`: whether MEL works on this machine, and what to do where it does not.

use std::ffi::OsString;
use std::process::ExitCode;

use super::output::to_stdout;
use crate::doctor::{examine, text};

/// Says what MEL finds on this machine, and what to do about what is missing
///
/// The MPIs and who raises the queue events on each, the launcher, shared memory, the clock, traces. A line that begins with
/// `less` says what MEL does without; BROKEN says why it cannot work. The exit code is 1 where something is BROKEN, else 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel doctor
      the MPIs on the path and those that the dynamic linker finds
  mel doctor ./app
      the MPI that this program is linked with, and whether the launcher fits
  mel doctor mpicc.mpich /opt/mpi/lib/libmpi.so.12
      the MPI of this compiler, and this library
  srun -n 1 mel doctor --json
      the same on a compute node, for a program to read")]
pub struct Args {
    /// Programs, compilers of MPI programs or MPI libraries: examine only these MPIs
    #[arg(value_name = "PROGRAM|COMPILER|LIBRARY")]
    given: Vec<OsString>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Examines the machine and prints what was found. The exit code is 1 where MEL cannot work.
///
/// # Errors
/// Those of standard output.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let report = examine(&args.given);
    let printed = if args.json { serde_json::to_string_pretty(&report)? + "\n" } else { text::text(&report) };
    to_stdout(|out| out.write_all(printed.as_bytes()))?;
    Ok(if report.usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
