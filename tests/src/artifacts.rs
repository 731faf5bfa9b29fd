//! Where the built things lie: `mel`, `libmel.so`, and a place for compiled programs.
//!
//! The system tests use the release build, which `make build` leaves; they build nothing of MEL themselves.

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

/// A file of the release build.
///
/// # Panics
///
/// If it has not been built.
pub fn release(name: &str) -> PathBuf {
    let path = target_dir().join("release").join(name);
    assert!(path.exists(), "{} is not there: run `make build` first", path.display());
    path
}

/// The `mel` command.
pub fn mel() -> PathBuf {
    release("mel")
}

/// The library that is preloaded.
pub fn libmel() -> PathBuf {
    release("libmel.so")
}

/// Whether `make test` runs the tests, which wants no more than the distribution has: `MEL_TEST=quick`.
pub fn quick() -> bool {
    std::env::var_os("MEL_TEST").is_some_and(|wanted| wanted == "quick")
}

/// Where one of our scripts has put what it installs, if it has: the whole, or the part of a name. Nowhere for
/// [`quick`] tests.
pub fn installed_by(script: &str, name: Option<&str>) -> Option<PathBuf> {
    if quick() {
        return None;
    }
    let output = Command::new(root().join(script)).arg("--prefix").args(name).output().ok()?;
    let prefix = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    prefix.join(".complete").exists().then_some(prefix)
}

/// A fresh directory for the output of one run; it is removed when the value is dropped.
///
/// # Panics
///
/// If it cannot be created.
pub fn fresh_dir() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("mel-test-").tempdir().expect("a temporary directory can be created")
}
