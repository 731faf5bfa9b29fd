//! The rules that come with MEL, one file for each matter.

use crate::file::{self, FileError};
use crate::rule::Rule;

/// Their files: name and text.
pub const FILES: [(&str, &str); 6] = [
    ("eager-open-mpi.toml", include_str!("../rules/eager-open-mpi.toml")),
    ("eager-mpich.toml", include_str!("../rules/eager-mpich.toml")),
    ("collectives-open-mpi.toml", include_str!("../rules/collectives-open-mpi.toml")),
    ("collectives-mpich.toml", include_str!("../rules/collectives-mpich.toml")),
    ("buffers-mvapich2.toml", include_str!("../rules/buffers-mvapich2.toml")),
    ("sharp-mvapich2.toml", include_str!("../rules/sharp-mvapich2.toml")),
];

/// All of them.
///
/// # Errors
/// Never: a test reads them.
pub fn rules() -> Result<Vec<Rule>, FileError> {
    let mut all = Vec::new();
    for (name, text) in FILES {
        all.extend(file::parse(text, name)?);
    }
    Ok(all)
}
