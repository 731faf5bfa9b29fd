//! From who has sent how much to whom, and the machine, to a better placement of ranks.
//!
//! - [`graph`]: how many bytes each pair of ranks exchanges.
//! - [`topology`]: the machine: nodes, sockets, caches, cores.
//! - [`slots`]: the places that the ranks of a run may take, and how far they are from each other.
//! - [`standard`]: the orders that launchers know.
//! - [`hierarchical`], [`bisect`]: the ranks divided over nodes, sockets, caches, top-down.
//! - [`exchange`]: what is left to gain by exchanging two ranks.
//! - [`scotch`]: the mapping of libscotch, where it is installed.
//! - [`advice`]: what a placement costs, the best of all of them, and whether moving is worth it.
//! - [`files`]: placements as the launchers read them.
//!
//! Nothing here reads a command line, draws, or knows how the bytes were counted. All costs are estimates from observed traffic.

pub mod advice;
pub mod bisect;
pub mod exchange;
pub mod files;
pub mod graph;
pub mod hierarchical;
pub mod scotch;
pub mod slots;
pub mod standard;
pub mod topology;

pub use advice::{Advice, Cost, advise, cost};
pub use graph::Graph;
pub use slots::{Level, Slots};
pub use topology::{Machine, Topology};

/// A placement: for each rank, in ascending order, the slot that it takes. Each slot is taken by one rank.
pub type Placement = Vec<u32>;
