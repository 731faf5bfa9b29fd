//! From who has sent how much to whom, and a network's switches and routes, to the load of each link.
//!
//! - [`fabric`]: hosts, switches, links and planes as a graph; [`read`](mod@read): from files.
//! - [`ranks`]: which host each rank is on.
//! - [`flows`](mod@flows): what goes between ranks; [`planes`]: over which plane.
//! - [`routes`]: the way of it.
//! - [`load`](mod@load): what each end of each link carries.
//! - [`functions`]: which MPI functions load it.
//! - [`levels`]: the same by level and direction.
//! - [`lossy`]: a link that loses packets where others do not; [`bottleneck`]: the one that holds the others up.
//! - [`advice`]: what stands out, and what to do.
//! - [`arrange`](mod@arrange): ranks on other hosts, so that the hottest links cool down.
//! - [`of_run`]: all of this for a run.
//! - [`write`](mod@write): comma-separated values; [`boxfish`]: tables for Boxfish.
//!
//! Knows no MPI, and nothing of how it is shown. Bytes are observed; what links carry is modelled from them and the routes.

pub mod advice;
pub mod arrange;
pub mod bottleneck;
pub mod boxfish;
pub mod error;
pub mod fabric;
pub mod flows;
pub mod functions;
pub mod levels;
pub mod load;
pub mod lossy;
mod names;
pub mod of_run;
pub mod planes;
pub mod ranks;
pub mod read;
pub mod routes;
pub mod write;

pub use arrange::arrange;
pub use error::NetError;
pub use fabric::{Fabric, Kind, LinkEnd};
pub use flows::{Flow, Flows, flows};
pub use functions::{AtEnds, Functions};
pub use load::{Load, load};
pub use planes::Shares;
pub use read::{Network, read};

#[cfg(test)]
mod testing;
