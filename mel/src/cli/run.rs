//! `mel run`: sets the environment, and becomes the program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::elf::{self, Program};
use super::output::warn;
use super::screen::screen;
use super::settings::{Given, described};
use super::{before, known_variables, leave_it_to_the_first_rank, library, plugins};
use mel_log::launcher::{Place, is_first_of_node, is_first_rank};
use mel_log::setting::Setting;
use mel_log::settings::{self, counted};
use mel_rules::policy::Policy;

/// Runs a program under measurement
///
/// Stands between the launcher and the program: it sets the environment and then becomes the
/// program, so it works with every launcher and adds no process.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mpirun -n 4 mel run ./app in.txt
      the profile: where the time goes, at which line, who is the cause; how long messages waited
  mpirun -n 4 mel run --lines ./app
      and the statistics of each rank's queues, a line each
  srun -n 4 mel run --trace -o first-try ./app
      the profile, and an OTF2 trace, in the directory first-try
  mpirun -n 4 mel run -e pml_ob1_message_arrived,pml_ob1_unex_insert ./app
      logs each of these events (mel events lists all); mel convert shows the log
  mpirun -n 4 mel run -e 'pml_ob1_unex_*' --profile none ./app
      logs all events of the unexpected queue, and counts nothing
  mpirun -n 4 mel run --profile matrix --inside ./app
      who sends what to whom, and the messages that Open MPI makes of collective operations
  mpirun -n 4 mel run --trace --no-calls 'MPI_Iprobe,MPI_Test*' ./app
      a trace without the calls that poll; messages that complete in them are there
  mpirun -n 4 mel run --trace --callsites ./app
      a trace that shows the line of each MPI call, if ./app was compiled with -g
  mpirun -n 4 mel run --set coll_tuned_use_dynamic_rules=1 --set coll_tuned_bcast_algorithm=6 ./app
      with other values of control variables of the MPI: mel vars lists them
  mpirun -n 4 mel run --vars 'pml_monitoring_*' --every 500ms ./app
      and what these performance variables were over time (docs/variables.md)
  mpirun -n 4 mel run --attribute 'mel_wait_time,mel_bytes_sent' ./app
      and what each MPI function, call site and region has done to them
  mpirun -n 4 mel run --trace --only-comms 'halo*' --paused ./app
      only communicators whose names begin so, and only from MPI_Pcontrol(1) on

MPI_Pcontrol in the program: 0 switches trace and event log off, 1 on again, 2
writes the log to the disk, and 3 and more begin phases of the profile
(docs/phases.md), which counts the whole run. All processes
should switch where no message is under way: a message that only one of them
has recorded is not in the trace.")]
#[command(mut_args(described))]
#[allow(missing_docs, reason = "the catalogue of settings has the words of each option")]
pub struct Args {
    #[command(flatten)]
    pub given: Given,
    #[arg(long, value_enum, value_delimiter = ',')]
    pub profile: Vec<Profile>,
    #[arg(long, value_parser = plugins::plugin)]
    pub plugin: Vec<String>,
    #[arg(long)]
    pub set: Vec<Setting>,
    #[arg(long)]
    pub policy: Vec<PathBuf>,
    /// Run although there is no event, MPI function or control variable of a name that was given, or it may not have that value
    ///
    /// Else such a name ends the run before it starts. What an MPI may have itself is known only when it runs: if there is no such event,
    /// one line says so.
    #[arg(long)]
    pub no_strict: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// What is counted while the program runs.
#[allow(missing_docs, reason = "the catalogue of settings has the words of each")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Calls,
    Queues,
    Rma,
    Matrix,
    Net,
    None,
}

impl Profile {
    /// As `MEL_PROFILE` has it.
    fn name(self) -> &'static str {
        match self {
            Profile::Calls => counted::CALLS,
            Profile::Queues => counted::QUEUES,
            Profile::Rma => counted::RMA,
            Profile::Matrix => counted::MATRIX,
            Profile::Net => counted::NET,
            Profile::None => counted::NONE,
        }
    }
}

impl ValueEnum for Profile {
    fn value_variants<'a>() -> &'a [Profile] {
        use Profile::{Calls, Matrix, Net, None, Queues, Rma};
        &[Calls, Queues, Rma, Matrix, Net, None]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let word = settings::PROFILE.kind.words().iter().find(|word| word.name == self.name())?;
        Some(PossibleValue::new(word.name).help(word.meaning))
    }
}

/// Becomes the program. Returns only if that failed: exit code 127 if there is no such program, 126
/// if it cannot be executed, as shells have it; 1 where something is wrong that can be seen before it runs.
///
/// # Errors
/// `libmel.so` cannot be found.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some((program, arguments)) = args.program.split_first() else { return Ok(ExitCode::FAILURE) };
    let (library, _) = library::find()?;
    let path = resolve(program, env::var_os("PATH").as_deref());
    let objections = objections(args, path.as_deref());
    if !objections.is_empty() {
        if is_first_rank() {
            objections.iter().for_each(|line| warn(line));
        } else {
            leave_it_to_the_first_rank();
        }
        return Ok(ExitCode::FAILURE);
    }
    let policies = match super::advise::policies(&args.policy) {
        Ok(policies) => policies,
        Err(error) if is_first_rank() => return Err(error.context("nothing was started")),
        Err(_) => {
            leave_it_to_the_first_rank();
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut command = Command::new(program);
    if !policies.is_empty() {
        command.env(settings::POLICY.name, Policy::encode(&policies));
    }
    command.args(arguments).envs(environment(args, &library, |name| env::var_os(name)));
    // The first rank prints.
    if is_first_rank() && env::var_os(settings::TERMINAL.name).is_none() {
        command.envs(screen().map(|screen| (settings::TERMINAL.name, screen.in_words())));
    }
    let rank = Place::here().map_or(0, |place| place.rank);
    command.envs(
        args.set
            .iter()
            .filter(|setting| setting.is_for(rank) && !setting.name.starts_with("mel_"))
            .map(|setting| (setting.environment(), &setting.value)),
    );
    match path.and_then(|path| why_not_measured(program, &path)) {
        Some(warning) if is_first_rank() => warn(&warning),
        Some(_) => {}
        // It stays the same process: one that has not initialised MPI in the end says so.
        None => _ = command.env(settings::STARTED.name, std::process::id().to_string()),
    }
    let error = command.exec();
    let program = Path::new(program).display();
    let (line, code) = if error.kind() == io::ErrorKind::NotFound {
        (format!("cannot find the program {program}; check its path"), 127)
    } else {
        (format!("cannot execute {program}: {error}; check its path and permissions"), 126)
    };
    // It may be missing on one node alone.
    if is_first_of_node() {
        warn(&line);
    } else {
        leave_it_to_the_first_rank();
    }
    Ok(ExitCode::from(code))
}

/// Switches Open MPI's monitoring component on: with 2, messages of the library's own are counted apart from the program's.
const MONITORING: &str = "OMPI_MCA_pml_monitoring_enable";

/// The variables that the program gets in addition. What the user did not ask for on the command
/// line stays as it is in the environment; only the profile is on where nothing at all was said.
fn environment(
    args: &Args,
    library: &Path,
    inherited: impl Fn(&str) -> Option<OsString>,
) -> Vec<(&'static str, OsString)> {
    let is_set = |name: &str| inherited(name).is_some_and(|value| !value.is_empty());
    let mut set: Vec<(&str, OsString)> =
        vec![("LD_PRELOAD", library::preload(library, inherited("LD_PRELOAD").as_deref()))];
    let options = library::asan_options(inherited(library::ASAN_OPTIONS).as_deref());
    set.extend(options.map(|options| (library::ASAN_OPTIONS, options)));
    set.extend(args.given.variables());
    let wanted: Vec<&str> = args
        .profile
        .iter()
        .filter(|profile| **profile != Profile::None)
        .map(|profile| profile.name())
        .collect();
    let profile = match &args.profile[..] {
        [] if is_set(settings::PROFILE.name) => None,
        [] => Some(settings::PROFILE.default.value.to_owned()),
        _ if wanted.is_empty() => Some("none".to_owned()),
        _ => Some(wanted.join(",")),
    };
    set.extend(profile.map(|profile| (settings::PROFILE.name, profile.into())));
    // What the user has set, or has given to mpirun, stays.
    if args.given.has(&settings::INSIDE) && !is_set(MONITORING) {
        set.push((MONITORING, "2".into()));
    }
    if let Some(list) = plugins::variable(&args.plugin) {
        set.push((settings::PLUGINS.name, list.into()));
    }
    let rank = Place::here().map_or(0, |place| place.rank);
    let for_this: Vec<&Setting> = args.set.iter().filter(|setting| setting.is_for(rank)).collect();
    if !for_this.is_empty() {
        set.push((settings::SET.name, Setting::join(&for_this).into()));
    }
    let name = args.program.first().and_then(|program| Path::new(program).file_name());
    set.push((settings::PROGRAM.name, name.unwrap_or(OsStr::new("program")).to_owned()));
    set
}

/// Why the program is not to start.
fn objections(args: &Args, program: Option<&Path>) -> Vec<String> {
    let (directory, force) = (args.given.of(&settings::OUTPUT), args.given.has(&settings::FORCE));
    let mut lines: Vec<String> = before::of_directory(directory.map(Path::new), force).into_iter().collect();
    lines.extend(
        plugins::objections(&args.plugin).into_iter().map(|line| format!("{line} (nothing was started)")),
    );
    if !args.no_strict {
        let of_settings = known_variables::objections(&args.set, program);
        let of_names = before::of_names(args, program).into_iter().chain(of_settings);
        lines.extend(of_names.map(|line| format!("{line} (nothing was started; --no-strict goes on)")));
    }
    lines
}

/// Why nothing will be measured, if that can be seen from the program's file.
pub(crate) fn why_not_measured(program: &OsStr, path: &Path) -> Option<String> {
    let name = Path::new(program).display();
    match elf::look(path).ok()? {
        Program::Dynamic | Program::Other => None,
        Program::Static => Some(format!(
            "{name} is linked statically, so nothing in it can be measured; link it to the MPI's shared library"
        )),
        Program::MpiInside => Some(format!(
            "{name} has the MPI library linked into it, so no call of it can be measured; link it to the MPI's shared \
             library"
        )),
        Program::OtherWordSize => Some(format!(
            "{name} has another word size than this mel, so nothing in it can be measured; use a mel built for it"
        )),
    }
}

/// The file that executing a name executes: the name itself if it has a slash, else the first of
/// that name in the path.
fn resolve(program: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(program.into());
    }
    env::split_paths(path?).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command as Subcommand};
    use clap::Parser;

    fn parse(line: &str) -> Args {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Subcommand::Run(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn variables(line: &str, inherited: &[(&str, &str)]) -> Vec<String> {
        let inherited =
            |name: &str| inherited.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(*value));
        let set = environment(&parse(line), Path::new("/l/libmel.so"), inherited);
        set.iter().map(|(name, value)| format!("{name}={}", value.display())).collect()
    }

    #[test]
    fn the_profile_is_on_unless_another_one_is_chosen() {
        assert_eq!(
            variables("mel run /bin/app", &[]),
            [
                "LD_PRELOAD=/l/libmel.so",
                "ASAN_OPTIONS=verify_asan_link_order=0",
                "MEL_PROFILE=calls,queues",
                "MEL_PROGRAM=app"
            ]
        );
        assert_eq!(
            variables(
                "mel run -e a,b app",
                &[("LD_PRELOAD", "x.so"), ("ASAN_OPTIONS", "verify_asan_link_order=1")]
            ),
            ["LD_PRELOAD=/l/libmel.so:x.so", "MEL_EVENTS=a,b", "MEL_PROFILE=calls,queues", "MEL_PROGRAM=app"]
        );
        assert_eq!(
            variables("mel run -e a --profile queues --trace -o d --force app", &[])[2..],
            [
                "MEL_EVENTS=a",
                "MEL_TRACE=1",
                "MEL_OUTPUT=d",
                "MEL_FORCE=1",
                "MEL_PROFILE=queues",
                "MEL_PROGRAM=app"
            ]
        );
        assert!(variables("mel run --lines app", &[]).contains(&"MEL_LINES=1".into()));
        assert!(variables("mel run --profile none app", &[]).contains(&"MEL_PROFILE=none".into()));
        assert!(
            variables("mel run --profile queues,rma app", &[]).contains(&"MEL_PROFILE=queues,rma".into())
        );
    }

    #[test]
    fn the_component_is_switched_on_unless_the_user_has_said_something() {
        let set = variables("mel run --profile matrix --inside app", &[]);
        assert!(set.contains(&"MEL_INSIDE=1".into()) && set.contains(&format!("{MONITORING}=2")), "{set:?}");
        let set = variables("mel run --inside app", &[(MONITORING, "0")]);
        assert!(!set.iter().any(|variable| variable.starts_with(MONITORING)), "{set:?}");
        assert!(!variables("mel run --profile matrix app", &[]).iter().any(|set| set.contains("monitoring")));
    }

    #[test]
    fn the_environment_speaks_where_the_command_line_does_not() {
        assert!(
            variables("mel run app", &[("MEL_EVENTS", "a")]).contains(&"MEL_PROFILE=calls,queues".into())
        );
        assert!(variables("mel run app", &[("MEL_EVENTS", "")]).contains(&"MEL_PROFILE=calls,queues".into()));
        let set = variables("mel run app", &[("MEL_PROFILE", "none")]);
        assert!(!set.iter().any(|variable| variable.starts_with("MEL_PROFILE")), "{set:?}");
        let set = variables("mel run --profile queues app", &[("MEL_PROFILE", "none")]);
        assert!(set.contains(&"MEL_PROFILE=queues".into()));
    }

    #[test]
    fn options_behind_the_program_are_the_programs() {
        assert_eq!(
            parse("mel run ./app --trace -e x -- y").program,
            ["./app", "--trace", "-e", "x", "--", "y"]
        );
        assert_eq!(parse("mel run --trace -- ./app --help").program, ["./app", "--help"]);
        assert!(!parse("mel run ./app --trace").given.has(&settings::TRACE));
        assert!(Cli::try_parse_from(["mel", "run", "--trase", "./app"]).is_err());
        assert!(Cli::try_parse_from(["mel", "run"]).is_err());
        assert!(Cli::try_parse_from(["mel", "run", "--callsites", "./app"]).is_err());
    }

    #[test]
    fn names_are_looked_up_as_the_shell_does() {
        assert_eq!(resolve("./app".as_ref(), None), Some("./app".into()));
        assert!(
            resolve("sh".as_ref(), Some("/nonexistent:/bin".as_ref())).is_some_and(|p| p.ends_with("sh"))
        );
        assert_eq!(resolve("sh".as_ref(), Some("/nonexistent".as_ref())), None);
    }
}
