//! Which MPI functions and regions of the program traffic belongs to: collective operations by their name; of what the library has moved, the
//! function in which it did so.

use std::collections::BTreeMap;
use std::io::{self, Write};

use mel_log::profile::attribution::shown_region;
use mel_log::profile::{Traffic, TrafficKind};
use serde::Serialize;

use crate::choice::Choice;
use crate::matrix::Cell;
use crate::rows::Rows;

/// The MPI function of a row; in brackets what it is instead, where it has none of its own.
pub fn function_of(row: &Traffic) -> &str {
    match row.kind {
        _ if !row.function.is_empty() => &row.function,
        _ if !row.operation.is_empty() => &row.operation,
        TrafficKind::P2p => "(messages)",
        TrafficKind::Put => "(put)",
        TrafficKind::Get => "(get)",
        TrafficKind::Collective => "(collective)",
        TrafficKind::FileRead | TrafficKind::FileWrite => "(files)",
        TrafficKind::Internal | TrafficKind::Carried | TrafficKind::CarriedIn => OUTSIDE,
    }
}

/// What was moved while no MPI function was under way, in threads of the library's own.
pub const OUTSIDE: &str = "(outside of MPI)";

/// The names by which traffic is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// MPI functions.
    Function,
    /// Regions of the program: what is in a region, without those in it.
    Region,
    /// Calls with their lines, of rows that have these for functions.
    Site,
}

impl By {
    /// In words, as the head of a column.
    pub fn head(self) -> &'static str {
        match self {
            By::Function => "MPI function",
            By::Region => "region",
            By::Site => "call site",
        }
    }

    /// As the name of a column in CSV.
    pub fn column(self) -> &'static str {
        match self {
            By::Function => "function",
            By::Region => "region",
            By::Site => "site",
        }
    }

    fn of(self, row: &Traffic) -> &str {
        match self {
            By::Function | By::Site => function_of(row),
            By::Region => shown_region(&row.region),
        }
    }
}

/// What belongs to a function, or a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// All that has a sender and a receiver.
    pub total: Cell,
    /// The greatest pair by bytes: sender, receiver, and what goes between them.
    pub greatest: Option<(u32, u32, Cell)>,
}

/// What belongs to each function, or region, the greatest bytes first. Messages of ranks to themselves are in it.
pub fn by_name<'a>(rows: &Rows<'a>, choice: &Choice, by: By) -> Vec<Named<'a>> {
    let mut all = BTreeMap::<&str, BTreeMap<(u32, u32), Cell>>::new();
    for (rank, row) in rows.chosen(choice) {
        let cells = all.entry(by.of(row)).or_default();
        let cell = Cell { messages: row.messages, bytes: row.bytes };
        rows.pairs(rank, row, |from, to| cells.entry((from, to)).or_default().add(cell));
    }
    let of = |(name, cells): (&'a str, BTreeMap<(u32, u32), Cell>)| {
        let mut total = Cell::default();
        cells.values().for_each(|cell| total.add(*cell));
        let greatest = cells.iter().max_by_key(|(pair, cell)| (cell.bytes, std::cmp::Reverse(**pair)));
        let greatest = greatest.map(|((from, to), cell)| (*from, *to, *cell));
        Named { name, total, greatest }
    };
    let mut found: Vec<Named<'a>> = all.into_iter().map(of).collect();
    found.retain(|named| named.total.messages > 0);
    found.sort_by_key(|named| std::cmp::Reverse(named.total.bytes));
    found
}

/// A line. Who sends to itself is its own receiver.
#[derive(Serialize)]
struct Line<'a> {
    phase: &'a str,
    name: &'a str,
    kind: &'a str,
    sender: u32,
    receiver: u32,
    messages: u64,
    bytes: u64,
}

/// Writes a line of names, then a line for each function, or region, and pair of the chosen rows, sorted (RFC 4180). The phase before the first named
/// one has no name.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: impl Write, rows: &Rows<'_>, choice: &Choice, by: By) -> io::Result<()> {
    let mut groups = BTreeMap::<(u32, &str, TrafficKind), BTreeMap<(u32, u32), Cell>>::new();
    for (rank, row) in rows.chosen(choice) {
        let cells = groups.entry((row.phase, by.of(row), row.kind)).or_default();
        let cell = Cell { messages: row.messages, bytes: row.bytes };
        rows.pairs(rank, row, |from, to| cells.entry((from, to)).or_default().add(cell));
    }
    let mut out = mel_log::csv::Writer::without_header(out);
    out.write_record(["phase", by.column(), "kind", "sender", "receiver", "messages", "bytes"])?;
    for ((phase, name, kind), cells) in groups {
        for ((sender, receiver), cell) in cells {
            out.serialize(Line {
                phase: rows.profile.phases.get(phase as usize).map_or("", String::as_str),
                name,
                kind: kind.name(),
                sender,
                receiver,
                messages: cell.messages,
                bytes: cell.bytes,
            })?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{Profile, RankProfile};

    fn row(kind: TrafficKind, function: &str, peer: u32, bytes: u64) -> Traffic {
        Traffic {
            kind,
            function: function.into(),
            peer: Some(peer),
            messages: 1,
            bytes,
            ..Traffic::default()
        }
    }

    #[test]
    fn what_was_moved_belongs_to_the_function_that_was_under_way() {
        use TrafficKind::{Carried, CarriedIn};
        let rank = |rank, traffic| RankProfile { rank, traffic, ..RankProfile::default() };
        let profile = Profile {
            world_size: 2,
            ranks: vec![
                rank(0, vec![row(Carried, "MPI_Wait", 1, 7), row(Carried, "MPI_Bcast", 1, 100)]),
                rank(1, vec![row(CarriedIn, "", 0, 50), row(Carried, "MPI_Bcast", 0, 3)]),
            ],
            ..Profile::default()
        };
        let rows = Rows::of(&profile);
        let found = by_name(&rows, &Choice::of_kinds(&[Carried]), By::Function);
        let bytes: Vec<(&str, u64)> = found.iter().map(|of| (of.name, of.total.bytes)).collect();
        assert_eq!(bytes, [("MPI_Bcast", 103), ("MPI_Wait", 7)]);
        assert_eq!(found[0].greatest.map(|(from, to, _)| (from, to)), Some((0, 1)));
        let mut text = Vec::new();
        csv(&mut text, &rows, &Choice::of_kinds(&[Carried, CarriedIn]), By::Function).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("phase,function,kind,sender,receiver,messages,bytes\n"), "{text}");
        assert!(text.contains("\n,(outside of MPI),carried-in,0,1,1,50\n"), "{text}");
        assert!(text.contains("\n,MPI_Bcast,carried,1,0,1,3\n"), "{text}");
    }
}
