//! `mel scale`: how a program scales, from runs of several sizes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use mel_log::profile::Profile;
use mel_log::profile::text::COLUMNS;
use mel_run::profile as run_profile;
use mel_scale::history::{self, Entry};
use mel_scale::{Scaling, Study, page, text};

use super::of_run::missing;
use super::output::{to_stdout, warn, write_text};

/// Shows how a program scales: efficiencies over the number of ranks, and what grows with it
///
/// Reads runs of one program on several numbers of ranks. For each size it shows the efficiencies of POP; for what the time of a rank
/// goes (computing, each call site, each phase) a model says how it grows with the number of ranks p: constant, log p, p, p log p, p^2 or
/// 1 / p. So it names the call that will take more than anything else at a number of ranks that nobody has tried.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  for n in 2 4 8 16; do mpirun -n $n mel run -o run-$n ./app; done; mel scale run-*
      four sizes; several runs of one size count with their mean
  mel scale run-* --html scale.html
      the same as a page with figures
  mel scale run-* --history scale.jsonl --label \"$(git rev-parse --short HEAD)\" --html scale.html
      for continuous integration: the study is added to the history, which the page shows
  mel scale run-* --json | jq -r '.parts[] | [.name, .model.term, .dominates_from] | @tsv'
      all numbers

docs/scaling-studies.md says what the numbers mean, and how good models of few sizes are.")]
pub struct Args {
    /// The directories of the runs: at least two sizes, three for models
    #[arg(value_name = "DIR", required = true, num_args = 1.., value_parser = super::of_run::directory)]
    pub directories: Vec<PathBuf>,
    /// Whether the problem grows with the number of ranks; default: by what the ranks compute
    #[arg(long, value_name = "strong|weak", value_parser = scaling)]
    pub scaling: Option<Scaling>,
    /// Write a page with figures into this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Add this study to a file with a line for each, which --html shows
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// What the study is called in the history, such as a commit
    #[arg(long, value_name = "NAME", requires = "history", default_value = "")]
    pub label: String,
    /// Print all numbers as JSON
    #[arg(long)]
    pub json: bool,
}

fn scaling(word: &str) -> Result<Scaling, String> {
    match word {
        "strong" => Ok(Scaling::Strong),
        "weak" => Ok(Scaling::Weak),
        _ => Err("strong: all ranks together have the same to compute; weak: each rank has".into()),
    }
}

/// Compares runs of several sizes.
///
/// # Errors
/// One of the directories holds no profile, the runs cannot be compared, or a file cannot be read or written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut profiles: Vec<(String, Profile)> = Vec::new();
    for directory in &args.directories {
        let profile = run_profile::read(directory);
        let profile = profile.with_context(|| format!("cannot read {}", directory.display()))?;
        for sentence in missing(&profile) {
            warn(&format!("{}: {sentence}", directory.display()));
        }
        profiles.push((directory.display().to_string(), profile));
    }
    let study = Study::of(&profiles, args.scaling).map_err(|sentence| anyhow!(sentence))?;
    let entries = match &args.history {
        Some(file) => remember(file, &study, &args.label)?,
        None => Vec::new(),
    };
    if let Some(file) = &args.html {
        write_text(file, |out| std::io::Write::write_all(out, page::page(&study, &entries).as_bytes()))?;
    }
    let text = match args.json {
        true => serde_json::to_string_pretty(&study)? + "\n",
        false => text::text(&study, COLUMNS),
    };
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Adds the study to a history, and gives all of it.
fn remember(file: &Path, study: &Study, label: &str) -> anyhow::Result<Vec<Entry>> {
    let known = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("cannot read {}", file.display()))?,
    };
    let entries = history::with(history::read(&known), Entry::of(study, label));
    write_text(file, |out| history::write(out, &entries))?;
    Ok(entries.into_iter().filter(|entry| entry.program == study.program).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::Cli;

    #[test]
    fn what_is_misspelt_is_refused_with_what_is_meant() {
        let said = |line: &str| Cli::try_parse_from(line.split(' ')).err().map(|error| error.to_string());
        assert!(said("mel scale a b --scaling strng").unwrap().contains("each rank has"));
        assert!(said("mel scale a b --label x").unwrap().contains("--history"));
        assert!(said("mel scale").is_some() && said("mel scale a b c").is_none());
    }
}
