//! Very many ranks: rank 0 gets sums, asks for details, and writes a row of each rank into `ranks.table`.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mel_convert::callsites::CallSites;
use mel_log::profile::columns::{self, Column, Description, RankTable};
use mel_log::profile::{Ended, OverRanks, Profile, efficiency};
use mel_log::table::TableRows;
use mel_verdict::many::{Detail, Judgement, OfRank, Selection, fill};
use ranks::{CommunicationError, Processes, tree};

use crate::warn;

/// The most bytes of a host's name in a row.
const HOST: usize = 64;

/// What was counted, beside calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub(super) queues: bool,
    pub(super) windows: bool,
}

/// Brings the sums of all ranks together: the profile, at rank 0. Collective.
pub(super) fn collect(
    ranks: &dyn Processes,
    table: Option<TableRows>,
    directory: Option<&Path>,
    counted: Counted,
) -> Result<Option<Profile>, CommunicationError> {
    let table = table.unwrap_or_else(|| TableRows {
        rank: ranks.rank(),
        ended: Ended::Finalised.in_table(),
        ..TableRows::default()
    });
    let mut profile = match ranks.rank() {
        // Of the ranks there are sums.
        0 => Profile { ranks: Vec::new(), ..calm(|| mel_verdict::described(std::slice::from_ref(&table))) },
        _ => Profile::default(),
    };
    let of_rank = OfRank::new(table);
    let since = tree::all_reduce(ranks, of_rank.out_of_init(), |latest, other| *latest = other.max(*latest))?;
    let of_rank = of_rank.since(since);
    let part = tree::reduce(ranks, calm(|| of_rank.part()), |all, part| calm(|| all.join(part)))?;
    let judgement = part.map(|part| calm(|| Judgement::of(part)));
    // What rank 0 can read others can, too: nodes are alike.
    let counters = of_rank.has_counters();
    let selection = judgement.as_ref();
    let selection = selection.map(|of| of.selection(counted.queues, counted.windows, counters));
    let selection = tree::broadcast(ranks, tree::encode(&selection.unwrap_or_default())?)?;
    let selection: Selection = tree::decode(&selection)?;
    let own = calm(|| of_rank.detail(&selection));
    let detail = tree::reduce(ranks, own, |all, detail| calm(|| all.join(detail)))?;
    let row = row(&of_rank, &selection);
    drop(of_rank);
    let table = match (&judgement, directory) {
        (Some(judgement), Some(directory)) => create(directory, judgement, &selection, ranks.size()),
        _ => None,
    };
    let mut written = Ok(());
    tree::stream(ranks, row, |first, rows| {
        if let (Some(judgement), Some(table), Ok(())) = (&judgement, &table, &written) {
            written = table.write(first, &decoded(rows, first, judgement, table));
        }
    })?;
    let (Some(judgement), Some(detail)) = (&judgement, detail) else { return Ok(None) };
    calm(|| finish(&mut profile, judgement, &detail, table, written));
    Ok(Some(profile))
}

/// Rank 0 has all.
fn finish(
    profile: &mut Profile,
    judgement: &Judgement,
    detail: &Detail,
    table: Option<RankTable>,
    written: io::Result<()>,
) {
    let mut sites = CallSites::default();
    fill(profile, judgement, detail, |path, address| sites.place(path, address));
    let over = table.map_or_else(|| Ok(Vec::new()), |table| written.and_then(|()| table.over_ranks()));
    let over = over.unwrap_or_else(|error| {
        let name = columns::FILE_NAME;
        warn(&format!("the numbers of each rank cannot be kept in {name}: {error}; make room or use -o"));
        Vec::<OverRanks>::new()
    });
    if let Some(reduced) = &mut profile.reduced {
        reduced.over_ranks = over;
    }
    profile.efficiency = efficiency::of(profile);
}

/// What a fault of ours makes nothing of: others wait for what comes next.
fn calm<T: Default>(of: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(of)).unwrap_or_default()
}

fn create(directory: &Path, judgement: &Judgement, selection: &Selection, ranks: u32) -> Option<RankTable> {
    let hosts = judgement.part.hosts.iter().cloned().collect();
    let description = Description { columns: selection.columns.clone(), hosts };
    let table = RankTable::create(&columns::path_in(directory), ranks, description);
    table
        .map_err(|error| {
            warn(&format!(
                "cannot write {} in {}: {error}; make room or use -o",
                columns::FILE_NAME,
                directory.display()
            ));
        })
        .ok()
}

/// The bytes of a rank's row: its numbers, and its host.
fn row(of_rank: &OfRank, selection: &Selection) -> Vec<u8> {
    let mut numbers = calm(|| of_rank.row(selection));
    numbers.resize(selection.columns.len(), f64::NAN);
    let mut bytes: Vec<u8> = numbers.into_iter().flat_map(f64::to_ne_bytes).collect();
    let numbers = bytes.len();
    bytes.extend(of_rank.host().bytes().take(HOST));
    bytes.resize(numbers + HOST, 0);
    bytes
}

/// The rows of consecutive ranks, with what others have lost for each, and the place of its host.
fn decoded(bytes: &[u8], first: u32, judgement: &Judgement, table: &RankTable) -> Vec<Vec<f64>> {
    let Description { columns, hosts } = &table.description;
    let is_caused = |column: &Column| (&*column.group, &*column.name) == (columns::TIME, columns::CAUSED);
    let caused = columns.iter().position(is_caused);
    let cut = |name: &str| name.bytes().take(HOST).collect::<Vec<u8>>();
    let rows = bytes.chunks_exact(columns.len() * 8 + HOST);
    rows.zip(first..)
        .map(|(row, rank)| {
            let (numbers, host) = row.split_at(columns.len() * 8);
            let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap_or_default());
            let mut row: Vec<f64> = numbers.chunks_exact(8).map(number).collect();
            if let Some(value) = caused.and_then(|place| row.get_mut(place)) {
                *value = judgement.caused(rank) as f64 * 1e-9;
            }
            let host = host.split(|byte| *byte == 0).next().unwrap_or_default();
            let place = hosts.binary_search_by(|name| cut(name).as_slice().cmp(host));
            row.push(place.map_or(f64::NAN, |place| place as f64));
            row
        })
        .collect()
}
