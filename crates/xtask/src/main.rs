//! Development tasks. `cargo xtask wrappers` generates the MPI wrappers and the table of functions, `cargo xtask otf2-bindings` the
//! bindings to libotf2; see `README.md` here.

mod api;
mod emit;
mod fortran;
mod names;
mod otf2_bindings;
mod semantics;
mod types;

use std::{
    fs,
    path::{Path, PathBuf},
};

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
    /// Write crates/otf2-sys/src/bindings.rs from the headers of the installed libotf2; needs libclang
    Otf2Bindings {
        /// Change nothing; fail when the committed file is not what would be written
        #[arg(long)]
        check: bool,
    },
}

fn main() -> Result<()> {
    match Options::parse().task {
        Task::Wrappers { check, apis } => wrappers(check, apis),
        Task::Names => names::check(&root().canonicalize()?),
        Task::Otf2Bindings { check } => otf2_bindings(check),
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn wrappers(check: bool, apis: Option<PathBuf>) -> Result<()> {
    let root = root();
    let text = match apis {
        Some(path) => fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?,
        None => api::description(&root)?,
    };
    let functions = api::functions(&text, include_str!("../data/removed.json"))?;
    let files = [
        ("crates/intercept/src/generated.rs", emit::file(&functions)?),
        ("crates/intercept/src/fortran/generated.rs", emit::fortran_file(&functions)?),
        ("crates/mpi-functions/src/generated.rs", emit::table_file(&functions)?),
    ];
    for (name, wanted) in files {
        write(&root.join(name), &wanted, check.then_some("cargo xtask wrappers"))?;
    }
    println!("{} functions", functions.len());
    Ok(())
}

fn otf2_bindings(check: bool) -> Result<()> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(otf2_bindings::FILE);
    let headers = otf2_bindings::Headers::find()?;
    if let Some(of) = otf2_bindings::of_bindings(&path).filter(|of| check && *of != headers.version) {
        println!(
            "{} is of OTF2 {of}, and here are headers of {}: not compared",
            path.display(),
            headers.version
        );
        return Ok(());
    }
    write(&path, &headers.bindings()?, check.then_some("cargo xtask otf2-bindings"))
}

/// Writes a generated file, or, where the command that would write it is given, fails if it is not current.
fn write(path: &Path, wanted: &str, checked_by: Option<&str>) -> Result<()> {
    let name = path.display();
    let Some(command) = checked_by else {
        fs::write(path, wanted).with_context(|| format!("writing {name}"))?;
        println!("{name} is written");
        return Ok(());
    };
    if fs::read_to_string(path).unwrap_or_default() != wanted {
        bail!("{name} is not current: run `{command}` and commit it");
    }
    println!("{name} is current");
    Ok(())
}
