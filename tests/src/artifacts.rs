//! Where the built things lie: `mel`, `libmel.so`, and a place for compiled programs.
//!
//! The system tests use the release build, which `make build` leaves, or that of `make test`; they build nothing of MEL themselves.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the checkout")
}

/// Cargo's target directory: `CARGO_TARGET_DIR` when set (taken from the root of the checkout), else `target`.
pub fn target_dir() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// A file of the release build; of another one where `BUILT` names its folder.
///
/// # Panics
///
/// If it has not been built.
pub fn built(name: &str) -> PathBuf {
    let folder =
        std::env::var_os("BUILT").map_or_else(|| target_dir().join("release"), |built| root().join(built));
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{} is not there: run `make build` first, or `scripts/build variants`",
        path.display()
    );
    path
}

/// The `mel` command.
pub fn mel() -> PathBuf {
    built("mel")
}

/// The library that is preloaded.
pub fn libmel() -> PathBuf {
    built("libmel.so")
}

/// Whether `make test` runs the tests, which wants no more than the distribution has: `MEL_TEST=quick`.
pub fn quick() -> bool {
    std::env::var_os("MEL_TEST").is_some_and(|wanted| wanted == "quick")
}

/// Something that a test needs is not on this machine: the test fails, with the remedy. With [`quick`] tests, or
/// `MEL_MAY_SKIP=1`, it says so and returns, and the test does without.
///
/// Only for what could be there. What cannot exist, such as sessions of an MPI that has none, is no reason to fail.
///
/// # Panics
///
/// Unless tests may do without.
#[track_caller]
pub fn absent(what: &str, remedy: &str) {
    let may_skip = quick() || std::env::var_os("MEL_MAY_SKIP").is_some_and(|value| value == "1");
    assert!(may_skip, "absent: {what}; {remedy} (MEL_MAY_SKIP=1: tests do without what is absent)");
    eprintln!("skipped: {what} is absent; {remedy}");
}

/// Where one of our scripts has put what it installs: the whole, or the part of a name. Nowhere for [`quick`] tests.
///
/// # Panics
///
/// As [`absent`], if the script has not been run.
#[track_caller]
pub fn installed_by(script: &str, name: Option<&str>) -> Option<PathBuf> {
    let output = Command::new(root().join(script)).arg("--prefix").args(name).output();
    let output = output.expect("a script of ours can be run");
    let prefix = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
    let found = Some(prefix).filter(|prefix| !quick() && prefix.join(".complete").exists());
    if found.is_none() {
        absent(&format!("what {script} {} installs", name.unwrap_or_default()), "run it");
    }
    found
}

/// A fresh directory for the output of one run; it is removed when the value is dropped.
///
/// # Panics
///
/// If it cannot be created.
pub fn fresh_dir() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("mel-test-").tempdir().expect("a temporary directory can be created")
}
