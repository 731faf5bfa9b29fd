//! Development tasks. `cargo xtask wrappers` generates the MPI wrappers; see `README.md` here.

mod api;
mod emit;
mod fetch;
mod types;

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

/// Development tasks of MEL.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write intercept/src/generated.rs from the machine-readable description of MPI
    Wrappers {
        /// Change nothing; fail when the committed file is not what would be written
        #[arg(long)]
        check: bool,
        /// Read this description instead of fetching the pinned one
        #[arg(long, value_name = "APIS.JSON")]
        apis: Option<PathBuf>,
    },
}

fn main() -> Result<()> {
    match Options::parse().task {
        Task::Wrappers { check, apis } => wrappers(check, apis),
    }
}

fn wrappers(check: bool, apis: Option<PathBuf>) -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = match apis {
        Some(path) => fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?,
        None => fetch::description(&root)?,
    };
    let functions = api::functions(&text, include_str!("../data/removed.json"))?;
    let wanted = emit::file(&functions)?;
    let path = root.join("intercept/src/generated.rs");
    if check {
        let found = fs::read_to_string(&path).unwrap_or_default();
        if found != wanted {
            bail!("intercept/src/generated.rs is not current: run `cargo xtask wrappers` and commit it");
        }
        println!("intercept/src/generated.rs is current: {} functions", functions.len());
    } else {
        fs::write(&path, wanted).with_context(|| format!("writing {}", path.display()))?;
        println!("intercept/src/generated.rs: {} functions", functions.len());
    }
    Ok(())
}
