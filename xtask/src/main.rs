//! Development tasks. `cargo xtask wrappers` generates the MPI wrappers and the table of functions; see `README.md` here.

mod api;
mod emit;
mod emit_fortran;
mod emit_table;
mod fetch;
mod fortran;
mod names;
mod semantics;
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
    /// Write the wrappers, and the table of what MPI functions are, from the machine-readable description of MPI
    Wrappers {
        /// Change nothing; fail when a committed file is not what would be written
        #[arg(long)]
        check: bool,
        /// Read this description instead of fetching the pinned one
        #[arg(long, value_name = "APIS.JSON")]
        apis: Option<PathBuf>,
    },
    /// Fail where a function's name is taken apart: what a function is, crates/mpi-functions says
    Names,
}

fn main() -> Result<()> {
    match Options::parse().task {
        Task::Wrappers { check, apis } => wrappers(check, apis),
        Task::Names => names::check(&root().canonicalize()?),
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn wrappers(check: bool, apis: Option<PathBuf>) -> Result<()> {
    let root = root();
    let text = match apis {
        Some(path) => fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?,
        None => fetch::description(&root)?,
    };
    let functions = api::functions(&text, include_str!("../data/removed.json"))?;
    let files = [
        ("intercept/src/generated.rs", emit::file(&functions)?),
        ("intercept/src/fortran/generated.rs", emit_fortran::file(&functions)?),
        ("crates/mpi-functions/src/generated.rs", emit_table::file(&functions)?),
    ];
    for (name, wanted) in files {
        let path = root.join(name);
        if check {
            if fs::read_to_string(&path).unwrap_or_default() != wanted {
                bail!("{name} is not current: run `cargo xtask wrappers` and commit it");
            }
            println!("{name} is current");
        } else {
            fs::write(&path, wanted).with_context(|| format!("writing {}", path.display()))?;
            println!("{name} is written");
        }
    }
    println!("{} functions", functions.len());
    Ok(())
}
