//! The machine-readable description of MPI: one JSON file in a Python package, fetched once.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

/// The package and the version whose description the wrappers are generated from.
const PACKAGE: &str = "pympistandard";
const VERSION: &str = "0.2.0";
/// Where the description lies in the package.
const MEMBER: &str = "pympistandard/data/apis.json";

/// The text of the description, from `target/mpi-api/` or, the first time, by way of pip.
pub(crate) fn description(root: &Path) -> Result<String> {
    let directory = cache(root);
    let wheel = directory.join(format!("{PACKAGE}-{VERSION}-py3-none-any.whl"));
    if !wheel.exists() {
        fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
        download(&directory)?;
    }
    let file = fs::File::open(&wheel).with_context(|| format!("opening {}", wheel.display()))?;
    let mut archive = zip::ZipArchive::new(file).context("the package is no zip archive")?;
    let mut text = String::new();
    archive
        .by_name(MEMBER)
        .with_context(|| format!("no {MEMBER} in {}", wheel.display()))?
        .read_to_string(&mut text)?;
    Ok(text)
}

fn cache(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    target.join("mpi-api")
}

fn download(directory: &Path) -> Result<()> {
    let package = format!("{PACKAGE}=={VERSION}");
    let status = Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"])
        .arg(directory)
        .arg(&package)
        .status()
        .context("starting python3 -m pip (install python3-pip, or give --apis)")?;
    if !status.success() {
        bail!("pip could not download {package}; give the description with --apis");
    }
    Ok(())
}
