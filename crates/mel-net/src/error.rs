//! What is wrong with a file, with its line and what to do.

use std::path::PathBuf;

use mel_traffic::ChoiceError;
use thiserror::Error;

/// Why a network could not be read, or ranks not be put into it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// The file system said no.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        error: std::io::Error,
    },
    /// The file is none of the known ones.
    #[error(
        "{}: this is no description of a network that is known: wanted is the output of ibnetdiscover, of dump_fts, of \
         ibdiagnet (ibdiagnet2.db_csv, ibdiagnet2.fdbs), of opensm (opensm.fdbs, opensm-lfts.dump), Slurm's topology.conf, \
         or a file FILE.toml (docs/network.md)",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// A line is not what it should be.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// What is wrong, and what is wanted.
        what: String,
    },
    /// The run does not say who sends what to whom, or has nothing of such a name.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// What is wrong in a text, before the name of its file is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong, and what is wanted.
    pub what: String,
}

impl Wrong {
    /// On that line.
    pub(crate) fn new(line: usize, what: impl Into<String>) -> Wrong {
        Wrong { line, what: what.into() }
    }
}
