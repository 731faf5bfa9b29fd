//! `mel advise`: which settings of the MPI rules would try, after a run. The rules that this and other commands ask: those that come with
//! MEL, and those of files.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use mel_log::profile::Profile;
use mel_log::profile::text::layout::wrapped;
use mel_rules::advice::{Advices, advise};

use super::of_run::{complain, missing};
use super::output::to_stdout;
use mel_log::access;
use mel_rules::file;
use mel_rules::policy::Policy;
use mel_rules::rule::Rule;
use mel_run::profile as run_profile;
use mel_tune::advice::{EXPECTATION, text};
use mel_tune::command::typed;

/// Says which settings of the MPI are worth a try, after a run under the profile
///
/// Rules look at the sizes of messages, wait states and times in MPI functions of a finished run. Each that applies says what was
/// seen, which control variables to set to what, and why. `mel tune` tries them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel advise mel-app-1
      what the rules that come with MEL say of this run
  mel advise mel-app-1 --rules mine.toml
      and those of a file (docs/tuning.md has the syntax)
  mel advise mel-app-1 --json | jq -r '.said[] | .tries[0][] | join(\"=\")'
      the settings, for scripts
  mel tune --from mel-app-1 -- mpirun -n 4 ./app
      tries what is advised, in paired runs")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// Rules of this file, too
    #[arg(long, value_name = "FILE.toml")]
    pub rules: Vec<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints what the rules say. The exit code is 3 where something of the run is missing.
///
/// # Errors
/// There is no profile, or a file has no rules.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rules = read_rules(&args.rules)?;
    let directory = &args.directory;
    let profile = run_profile::read_with_traffic(directory)
        .with_context(|| format!("cannot say anything about {}", directory.display()))?;
    let advices = advise(&rules, &profile);
    let text = match args.json {
        true => serde_json::to_string_pretty(&json(&advices))? + "\n",
        false => terminal(args, &profile, &advices),
    };
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(complain(&missing(&profile)))
}

fn json(advices: &Advices) -> serde_json::Value {
    let not_judged =
        advices.not_judged.iter().map(|(rule, why)| serde_json::json!({ "rule": rule, "why": why }));
    serde_json::json!({ "said": advices.said, "not_judged": not_judged.collect::<Vec<_>>() })
}

fn terminal(args: &Args, profile: &Profile, advices: &Advices) -> String {
    let mut said = text(advices);
    if advices.said.is_empty() {
        let directory = args.directory.display();
        return said
            + &wrapped(
                "",
                &format!("No rule has a setting to try for {directory}: nothing that they know was seen."),
            );
    }
    let words = ["mel".into(), "tune".into(), "--from".into(), args.directory.clone().into_os_string()];
    let files = args.rules.iter().flat_map(|file| ["--rules".into(), file.clone().into_os_string()]);
    let launcher = ["--", "mpirun", "-n", &profile.world_size.to_string()].map(Into::into);
    let command =
        words.into_iter().chain(files).chain(launcher).chain(profile.command.iter().map(Into::into));
    said +=
        &wrapped("", &format!("{EXPECTATION} This tries them in paired runs, if the program is started so:"));
    said + &format!("  {}\n", typed(&[], &command.collect::<Vec<_>>()))
}

/// Reads them, those of files first.
///
/// # Errors
/// A file cannot be read, others could have written it, or it has something that is no rule: where, and what would be right.
pub fn read_rules(files: &[PathBuf]) -> anyhow::Result<Vec<Rule>> {
    let mut rules = of_files(files)?;
    rules.extend(file::shipped()?);
    Ok(rules)
}

fn of_files(files: &[PathBuf]) -> anyhow::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for path in files {
        if let Some(objection) = access::objection_to_code(path) {
            bail!("{objection}");
        }
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        rules.extend(file::parse(&text, &path.display().to_string())?);
    }
    Ok(rules)
}

/// The policies of files: their rules that set something.
///
/// # Errors
/// As [`read_rules`]; or a file has a rule that only advises.
pub fn policies(files: &[PathBuf]) -> anyhow::Result<Vec<Policy>> {
    let policy = |rule: &Rule| {
        rule.policy().with_context(|| {
            format!("rule \"{}\" is no policy: it advises after a run (mel advise), and sets nothing while one goes on", rule.name)
        })
    };
    of_files(files)?.iter().map(policy).collect()
}
