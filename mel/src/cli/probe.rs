//! `mel probe`: what `mel doctor` tries in a process of its own. Not for users.

use std::path::PathBuf;
use std::process::ExitCode;

use super::vars::asked;
use crate::doctor::probe;

/// Tries one thing for `mel doctor`
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Ask an MPI library what it is
    Library { path: PathBuf },
    /// Read the variables of an MPI library
    Variables { path: PathBuf },
    /// Have memory to share until standard input ends
    Hold,
    /// Reach the memory of another process
    Reach {
        /// Where the other process has said that it is
        #[arg(required = true, allow_negative_numbers = true)]
        address: Vec<i32>,
    },
}

/// Tries it, and prints the answer.
///
/// # Errors
/// It could not be tried.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Library { path } => probe::library(path)?,
        What::Variables { path } => asked::probe(path)?,
        What::Hold => probe::hold()?,
        What::Reach { address } => probe::reach(address)?,
    }
    Ok(ExitCode::SUCCESS)
}
