//! With the feature `bundled`: the libraries that `mel run` preloads, to be a part of the command.
//!
//! They are built here, or taken from the folder that `MEL_BUNDLE` names.

use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, io};

const NAMES: [&str; 2] = ["libmel.so", "libmpit_events.so"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MEL_BUNDLE");
    if env::var_os("CARGO_FEATURE_BUNDLED").is_none() {
        return ExitCode::SUCCESS;
    }
    match bundle() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bundle() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let folder = match env::var_os("MEL_BUNDLE").filter(|folder| !folder.is_empty()) {
        Some(folder) => folder.into(),
        None => build(&out)?,
    };
    let mut hasher = DefaultHasher::new();
    let mut table = String::new();
    for name in NAMES {
        let path = folder.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let path = path.canonicalize().map_err(|error| {
            format!(
                "{}: {error}. Remedy: let MEL_BUNDLE name a folder with {}, or unset it",
                path.display(),
                NAMES.join(" and ")
            )
        })?;
        fs::read(&path)?.hash(&mut hasher);
        table += &format!("({name:?}, include_bytes!({path:?})), ");
    }
    let text = format!(
        "pub(super) const BUNDLE: Bundle = Bundle {{ version: \"{}-{:016x}\", files: &[{table}] }};",
        env::var("CARGO_PKG_VERSION")?,
        hasher.finish()
    );
    fs::write(out.join("bundle.rs"), text)?;
    Ok(())
}

/// Builds the libraries; the folder in which they are.
fn build(out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let workspace =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("not started by cargo")?).join("..");
    if !workspace.join("crates/mel-preload").is_dir() {
        return Err(
            "the sources of libmel.so are not beside the sources of the command. Remedy: build in a checkout of \
                    MEL, or let MEL_BUNDLE name a folder with libmel.so and libmpit_events.so"
                .into(),
        );
    }
    for entry in fs::read_dir(&workspace)?.chain(fs::read_dir(workspace.join("crates"))?) {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() && path.join("src").is_dir() {
            println!("cargo::rerun-if-changed={}", path.join("src").display());
        }
    }
    for file in ["Cargo.lock", "scripts/build"] {
        println!("cargo::rerun-if-changed={}", workspace.join(file).display());
    }
    // Another folder than that in which the command is being built: that one is locked.
    let (target, triple) = (out.join("libraries"), env::var("TARGET")?);
    let mut command = Command::new(workspace.join("scripts/build"));
    command.args(["libraries", "--target", &triple, "--target-dir"]).arg(&target);
    // What this process was told of another package.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "MEL_BUNDLE", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
        command.env_remove(name);
    }
    // What Cargo reads in standard output is of this program.
    command.stdout(io::stderr());
    match command.status()?.success() {
        true => Ok(target.join(triple).join("release")),
        false => Err("cannot build libmel.so and libmpit_events.so; `make build` shows why".into()),
    }
}
