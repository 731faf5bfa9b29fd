//! What the ranks have counted comes together at `MPI_Finalize`, along a tree of messages.
//!
//! - [`links`]: the tree over MPI.

mod links;

use mel_log::profile::RankProfile;
use mel_log::table::TableRows;
use mel_verdict::many::tree::Links;
use mpi_abi::{Comm, Error};

use links::MpiLinks;

/// The profiles and tables of all ranks, at rank 0; nothing elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// By rank ascending.
    pub(crate) ranks: Vec<RankProfile>,
    /// Of all ranks, or of none.
    pub(crate) tables: Vec<TableRows>,
}

/// Brings together what each rank has: its profile, and the image of its table. Collective. Rank 0 keeps all of it, any other what one
/// rank has, at a time.
///
/// # Errors
/// Those of MPI.
pub(crate) fn all(
    (rank, size): (i32, i32),
    world: Comm,
    own: &RankProfile,
    image: Option<Vec<u8>>,
) -> Result<Collected, Error> {
    let links = MpiLinks::new(rank, size, world)?;
    let mut collected = Collected::default();
    let of_rank = serde_json::to_vec(own).unwrap_or_default();
    links.relay(of_rank, |_, bytes| collected.ranks.extend(serde_json::from_slice(&bytes).ok()))?;
    links
        .relay(image.unwrap_or_default(), |_, image| collected.tables.extend(TableRows::of_image(&image)))?;
    Ok(collected)
}
