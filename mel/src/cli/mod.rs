//! The command `mel`: starts programs under measurement, and shows what they left behind.
//!
//! One file per subcommand. Each returns its error as one sentence that says what happened and what
//! to do; only [`main`] prints it.

pub mod advise;
pub mod analyze;
pub mod before;
pub mod collect;
pub mod convert;
pub mod diff;
pub mod doctor;
pub mod elf;
pub mod events;
pub mod gather;
pub mod known_variables;
pub mod library;
pub mod manual;
pub mod matrix;
pub mod net;
pub mod of_program;
pub mod of_run;
pub mod output;
pub mod place;
pub mod plugins;
pub mod probe;
pub mod report;
pub mod run;
pub mod scale;
mod screen;
mod settings;
pub mod stuck;
pub mod tune;
pub mod vars;
pub mod watch;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use mel_log::launcher::is_first_rank;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "mel",
    version,
    about = "Tells where the time of an MPI program goes, at which line, which rank is the cause, and what inside MPI explains it: on any \
             MPI, without recompiling.",
    after_help = "Examples:
  mpirun -n 4 mel run ./app          where the time goes, at which line, and who is the cause
  mpirun -n 4 mel run --trace ./app  the same, and an OTF2 trace for Vampir and the like
  mel watch mel-app-1                a run while it goes on, in the terminal or in a browser
  mel stuck mel-app-1                who waits for whom in a job that hangs, or was killed
  mel analyze mel-app-1              what costs time in a traced run, and which rank is the cause
  mel report mel-app-1               what a finished run has found
  mel report mel-app-1 --html a.html the same as a page for the browser
  mel diff mel-app-1 mel-app-2       what has changed from one run to another
  mel scale run-2 run-4 run-8        how the program scales, and what grows with the number of ranks
  mel advise mel-app-1               settings of the MPI that are worth a try
  mel tune -- mpirun -n 4 ./app      tries them in paired runs, and tells which make it faster
  mel place mel-app-1                a placement of the ranks with less traffic between nodes and sockets
  mel net mel-app-1 --fabric FILE    which links of the network the run has loaded
  mel doctor                         whether MEL works on this machine, and what to do where not
  mel run --help                     more about `run`; likewise for the other commands"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Watch(watch::Args),
    Stuck(stuck::Args),
    Gather(gather::Args),
    Report(report::Args),
    Analyze(analyze::Args),
    Advise(advise::Args),
    Tune(tune::Args),
    Diff(diff::Args),
    Scale(scale::Args),
    Place(place::Args),
    Net(net::Args),
    Convert(convert::Args),
    Collect(collect::Args),
    Events(events::Args),
    Vars(vars::Args),
    Doctor(doctor::Args),
    // `make install` calls it.
    #[command(hide = true)]
    Manual(manual::Args),
    #[command(hide = true)]
    Probe(probe::Args),
}

/// Waits until the first rank of a job, or of its node, has said what is wrong: a launcher ends all ranks when one has ended so.
fn leave_it_to_the_first_rank() {
    std::thread::sleep(Duration::from_secs(1));
}

/// Runs the command `mel` with the arguments of this process.
pub fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(line) => line.command,
        Err(error) if is_first_rank() => {
            // Help and version are what was asked for.
            if error.use_stderr() {
                output::mark();
            }
            error.exit()
        }
        Err(error) => {
            leave_it_to_the_first_rank();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX));
        }
    };
    let result = match command {
        Command::Run(args) => run::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Stuck(args) => stuck::run(&args),
        Command::Gather(args) => gather::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Place(args) => place::run(&args),
        Command::Net(args) => net::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Collect(args) => collect::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Vars(args) => vars::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Manual(args) => manual::run(&args),
        Command::Probe(args) => probe::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            output::warn(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_teaches_by_example() {
        for command in Cli::command().get_subcommands_mut().filter(|command| command.get_name() != "probe") {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:\n"), "{help}");
            let example = format!("mel {} ", command.get_name());
            assert!(help.contains(&example) || command.get_name() == "events", "{help}");
        }
    }
}
