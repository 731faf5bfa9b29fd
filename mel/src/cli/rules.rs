//! The rules that commands ask: those that come with MEL, and those of files.

use std::path::PathBuf;

use anyhow::{Context, bail};
use mel_log::access;
use mel_rules::file;
use mel_rules::policy::Policy;
use mel_rules::rule::Rule;

/// Reads them, those of files first.
///
/// # Errors
/// A file cannot be read, others could have written it, or it has something that is no rule: where, and what would be right.
pub fn read(files: &[PathBuf]) -> anyhow::Result<Vec<Rule>> {
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
/// As [`read`]; or a file has a rule that only advises.
pub fn policies(files: &[PathBuf]) -> anyhow::Result<Vec<Policy>> {
    let policy = |rule: &Rule| {
        rule.policy().with_context(|| {
            format!("rule \"{}\" is no policy: it advises after a run (mel advise), and sets nothing while one goes on", rule.name)
        })
    };
    of_files(files)?.iter().map(policy).collect()
}
