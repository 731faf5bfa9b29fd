//! What the ranks have counted comes together at `MPI_Finalize`, along a tree of messages.
//!
//! Of very many ranks only sums do: [`many`].

mod many;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mel_convert::callsites::CallSites;
use mel_log::profile::{Profile, RankProfile};
use mel_log::table::{TableRows, layout::MAX_INTERVALS};
use ranks::{CommunicationError, Processes, tree};

use crate::calls::CallProfiler;
use crate::mpi_ranks::MpiRanks;
use crate::state::{Run, Session};

/// The profile of the run, at rank 0; nothing elsewhere. Collective. Up to as many ranks as the user wants, rank 0 gets all of what each has;
/// beyond, sums.
///
/// # Errors
/// Where the communication fails.
pub(crate) fn profile(
    session: &Session,
    run: &Run,
    own: RankProfile,
    mut whole: Profile,
) -> Result<Option<Profile>, CommunicationError> {
    let ranks = MpiRanks::new(session.abi.constants.comm_world, run.rank, run.size);
    let ranks = ranks.map_err(CommunicationError::of)?;
    // What rank 0 was asked holds for all.
    let exact = tree::broadcast(&ranks, vec![u8::from(!is_of_many(session, run))])?;
    // Without calls and traffic there is nothing in the table that the rank's own profile lacks.
    let of_traffic = run.table.as_ref().filter(|_| session.carried.is_some());
    let table = session.calls.and_then(CallProfiler::table).or(of_traffic);
    if exact == [1] {
        let image = table.map(|table| table.image(intervals(run)));
        all(&ranks, &own, image, &mut whole)?;
    } else {
        let counted = many::Counted { queues: session.config.profile, windows: session.config.windows };
        let table = table.and_then(|table| TableRows::of_image(&table.image(MAX_INTERVALS)));
        many::collect(&ranks, own, table, (&mut whole, run.directory.as_deref()), counted)?;
    }
    Ok((run.rank == 0).then_some(whole))
}

/// Whether there are more ranks than rank 0 gets all of, as far as this process knows.
pub(crate) fn is_of_many(session: &Session, run: &Run) -> bool {
    run.size as u32 > session.config.exact_ranks
}

/// The most intervals of a rank that are sent to rank 0, of each list: all ranks together take some 64 MiB there.
fn intervals(run: &Run) -> usize {
    ((1 << 20) / run.size.max(1) as usize).clamp(256, MAX_INTERVALS)
}

/// Brings together what each rank has: its profile, and the image of its table. Rank 0 keeps all of it, any other what one rank has, at a
/// time.
fn all(
    ranks: &dyn Processes,
    own: &RankProfile,
    image: Option<Vec<u8>>,
    whole: &mut Profile,
) -> Result<(), CommunicationError> {
    let of_rank = serde_json::to_vec(own).unwrap_or_default();
    tree::relay(ranks, of_rank, |_, bytes| whole.ranks.extend(serde_json::from_slice(&bytes).ok()))?;
    whole.number_phases();
    let mut tables = Vec::new();
    tree::relay(ranks, image.unwrap_or_default(), |_, image| tables.extend(TableRows::of_image(&image)))?;
    if ranks.rank() == 0 {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let mut sites = CallSites::default();
            mel_verdict::fill(whole, tables, |path, address| sites.place(path, address));
        }));
    }
    Ok(())
}
