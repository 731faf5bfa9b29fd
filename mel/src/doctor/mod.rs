//! What MEL finds on a machine: the MPIs, what the system allows, and what to do about what is missing.
//!
//! - `library`: can `libmel.so` be preloaded?
//! - `mpis`: which MPI libraries are there, and what does each offer?
//! - `launchers`: do the launcher and the MPI belong together?
//! - `node`: may the processes of one node share memory?
//! - `system`: the clock, traces, where a run's directory is made, containers, settings.
//! - [`text`]: the findings in 100 columns.
//! - [`command`]: other programs, for a limited time.
//!
//! Nothing is assumed that can be tried. What may hang or crash is tried in a process of its own (`mel probe`).

pub mod command;
mod launchers;
mod library;
pub(crate) mod mpis;
mod node;
mod system;
pub mod text;

use std::ffi::OsString;

use serde::Serialize;

pub use mpis::Mpi;

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// MEL works, and shows or allows less than it could.
    Less,
    /// MEL cannot work.
    Broken,
}

/// One thing that was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about, in a word or two.
    pub what: &'static str,
    /// How well it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What follows from it; empty where all is well.
    pub means: String,
    /// What to do; empty where all is well.
    pub remedy: String,
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>) -> Finding {
        Finding { what, level: Level::Ok, found: found.into(), means: String::new(), remedy: String::new() }
    }

    fn less(
        what: &'static str,
        found: impl Into<String>,
        means: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { what, level: Level::Less, found: found.into(), means: means.into(), remedy: remedy.into() }
    }

    fn broken(
        what: &'static str,
        found: impl Into<String>,
        means: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { level: Level::Broken, ..Finding::less(what, found, means, remedy) }
    }
}

/// All that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// MEL's version.
    pub version: &'static str,
    /// Whether MEL can work here at all.
    pub usable: bool,
    /// The findings, in the order in which they matter.
    pub findings: Vec<Finding>,
    /// The MPI libraries that were found.
    pub mpis: Vec<Mpi>,
}

/// Examines this machine. With `given`, programs, MPI libraries or their compilers, only the MPIs of these; without, those on the
/// path and those that the dynamic linker knows.
pub fn examine(given: &[OsString]) -> Report {
    let (mut findings, mpis) = mpis::examine(given);
    findings.insert(0, library::examine());
    findings.extend(launchers::examine(&mpis));
    findings.extend(node::examine());
    findings.extend(system::examine());
    let usable = findings.iter().all(|finding| finding.level != Level::Broken);
    Report { version: env!("CARGO_PKG_VERSION"), usable, findings, mpis }
}
