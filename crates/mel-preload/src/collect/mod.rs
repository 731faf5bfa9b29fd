//! What the ranks have counted comes together at `MPI_Finalize`, along a tree of messages.
//!
//! Of very many ranks only sums do: [`many`].

mod many;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mel_convert::callsites::CallSites;
use mel_log::profile::Profile;
use mel_log::table::{TableRows, layout::MAX_INTERVALS};
use ranks::{CommunicationError, Processes, tree};

use crate::mpi_ranks::MpiRanks;
use crate::state::{Run, Session};

/// The profile of the run, at rank 0; nothing elsewhere. Collective. Up to as many ranks as the user wants, rank 0 gets the tables of all;
/// beyond, sums.
///
/// # Errors
/// Where the communication fails.
pub(crate) fn profile(session: &Session, run: &Run) -> Result<Option<Profile>, CommunicationError> {
    let ranks = MpiRanks::new(session.abi.world(), run.rank, run.size);
    let ranks = ranks.map_err(CommunicationError::of)?;
    // What rank 0 was asked holds for all.
    let exact = tree::broadcast(&ranks, vec![u8::from(!is_of_many(session, run))])?;
    let image = |intervals| run.table.as_ref().map(|table| table.image(intervals)).unwrap_or_default();
    if exact == [1] {
        return all(&ranks, image(intervals(run)));
    }
    let counted = many::Counted { queues: session.config.profile, windows: session.config.windows };
    many::collect(&ranks, TableRows::of_image(&image(MAX_INTERVALS)), run.directory.as_deref(), counted)
}

/// Whether there are more ranks than rank 0 gets all of, as far as this process knows.
pub(crate) fn is_of_many(session: &Session, run: &Run) -> bool {
    run.size as u32 > session.config.exact_ranks
}

/// The most intervals of a rank that are sent to rank 0, of each list: all ranks together take some 64 MiB there.
fn intervals(run: &Run) -> usize {
    ((1 << 20) / run.size.max(1) as usize).clamp(256, MAX_INTERVALS)
}

/// Brings together the images of the tables. Rank 0 keeps all of them, any other one at a time.
fn all(ranks: &dyn Processes, image: Vec<u8>) -> Result<Option<Profile>, CommunicationError> {
    let mut tables = Vec::new();
    tree::relay(ranks, image, |_, image| tables.extend(TableRows::of_image(&image)))?;
    if ranks.rank() != 0 {
        return Ok(None);
    }
    let profile = catch_unwind(AssertUnwindSafe(|| {
        let mut sites = CallSites::default();
        mel_verdict::profile(tables, |path, address| sites.place(path, address))
    }));
    Ok(profile.ok())
}
