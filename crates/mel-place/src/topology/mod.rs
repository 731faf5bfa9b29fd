//! The machine: nodes with sockets, caches and cores.
//!
//! - [`build`]: machines from objects that open and close, as all the readers find them.
//! - [`xml`]: what `lstopo --of xml` writes.
//! - [`synthetic`]: a description such as `node:2 pack:2 core:4 pu:1`.
//! - [`here`]: the machine that this runs on.

pub mod build;
pub mod here;
pub mod synthetic;
pub mod xml;

use std::path::Path;

use thiserror::Error;

use crate::slots::INSIDE;

/// Where one hardware thread is in its node. Numbers are logical: in the order of the topology, as hwloc counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The socket in the node.
    pub socket: u32,
    /// The core in the node.
    pub core: u32,
    /// The core in its socket.
    pub core_in_socket: u32,
    /// The number that the operating system has for it; none where that is not known.
    pub of_system: Option<u32>,
    /// The groups that it belongs to, from the socket to the core: two threads share what is between them where the numbers are equal.
    pub groups: [u32; INSIDE],
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Hardware threads, in the order of the topology.
    pub leaves: Vec<Leaf>,
}

impl Machine {
    /// The first hardware thread of each core.
    pub fn cores(&self) -> Vec<&Leaf> {
        let mut cores: Vec<&Leaf> = Vec::new();
        for leaf in &self.leaves {
            if cores.last().is_none_or(|last| last.core != leaf.core) {
                cores.push(leaf);
            }
        }
        cores
    }

    /// Number of sockets.
    pub fn sockets(&self) -> u32 {
        self.leaves.iter().map(|leaf| leaf.socket + 1).max().unwrap_or(0)
    }
}

/// What is known of the nodes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One node; all hosts of the run are taken to be like it.
    Each(Machine),
    /// These nodes.
    Nodes(Vec<Machine>),
}

impl Topology {
    /// From the machines that a description has: one stands for all hosts.
    pub(crate) fn of(mut machines: Vec<Machine>) -> Result<Topology, TopologyError> {
        machines.retain(|machine| !machine.leaves.is_empty());
        match machines.len() {
            0 => Err(TopologyError::Empty),
            1 => Ok(Topology::Each(machines.remove(0))),
            _ => Ok(Topology::Nodes(machines)),
        }
    }

    /// What a user has asked for: `auto` for this machine, the name of a file that `lstopo --of xml` has written, or a description in
    /// words.
    ///
    /// # Errors
    /// [`TopologyError`], each of which names what to do.
    pub fn of_argument(argument: &str) -> Result<Topology, TopologyError> {
        if argument == "auto" {
            return here::here();
        }
        let path = Path::new(argument);
        if path.exists() || path.extension().is_some_and(|extension| extension == "xml") {
            let error = |error| TopologyError::Io { path: argument.to_owned(), error };
            return xml::parse(&std::fs::read_to_string(path).map_err(error)?);
        }
        synthetic::parse(argument)
    }
}

/// Why a topology cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The file system said no.
    #[error("cannot read {path}: {error}; write the topology of a node with `lstopo --of xml FILE.xml`")]
    Io {
        /// The file.
        path: String,
        /// What the file system said.
        error: std::io::Error,
    },
    /// It is no topology as hwloc writes it.
    #[error("this is no topology of hwloc: {0}; write it with `lstopo --of xml FILE.xml`")]
    NotXml(String),
    /// It is no description.
    #[error("{word:?} is no part of a topology: {expected}; for example \"node:2 pack:2 core:4 pu:1\"")]
    NotSynthetic {
        /// What was found.
        word: String,
        /// What is expected.
        expected: &'static str,
    },
    /// There is no processor in it.
    #[error("the topology has no processors (PU)")]
    Empty,
    /// This machine does not say how it is made.
    #[error(
        "this machine does not say how it is made: install hwloc (`lstopo`), or give a topology, such as \"pack:2 core:4\""
    )]
    Unknown,
}
