//! A line for each pair of ranks, with phase, communicator and kind (RFC 4180).

use std::collections::BTreeMap;
use std::io::{self, Write};

use mel_log::profile::TrafficKind;
use serde::Serialize;

use crate::choice::{self, Choice};
use crate::matrix::Cell;
use crate::rows::Rows;

/// A line. Who sends to itself is its own receiver.
#[derive(Serialize)]
struct Line<'a> {
    phase: &'a str,
    communicator: &'a str,
    kind: &'a str,
    sender: u32,
    receiver: u32,
    messages: u64,
    bytes: u64,
}

/// Phase, communicator and kind, and the cells of theirs.
type Groups = BTreeMap<(u32, Option<u32>, TrafficKind), BTreeMap<(u32, u32), Cell>>;

/// Writes a line of names, then a line for each pair of the chosen rows, sorted. The phase before the first named one has no name.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: impl Write, rows: &Rows<'_>, choice: &Choice) -> io::Result<()> {
    let mut groups = Groups::new();
    for (rank, row) in rows.chosen(choice) {
        let cells = groups.entry((row.phase, row.communicator, row.kind)).or_default();
        let cell = Cell { messages: row.messages, bytes: row.bytes };
        rows.pairs(rank, row, |from, to| cells.entry((from, to)).or_default().add(cell));
    }
    let mut out = mel_log::csv::Writer::new(out);
    if groups.values().all(BTreeMap::is_empty) {
        out.write_record(["phase", "communicator", "kind", "sender", "receiver", "messages", "bytes"])?;
    }
    for ((phase, communicator, kind), cells) in groups {
        for ((sender, receiver), cell) in cells {
            out.serialize(Line {
                phase: rows.profile.phases.get(phase as usize).map_or("", String::as_str),
                communicator: choice::communicator(rows, communicator),
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
    use crate::Matrix;
    use crate::choice::Asked;
    use mel_log::profile::sample;

    #[test]
    fn the_lines_add_up_to_the_matrix() {
        let profile = sample::traffic(8);
        let rows = Rows::of(&profile);
        let choice = Choice::apart(&rows, Asked::default()).unwrap();
        let mut text = Vec::new();
        csv(&mut text, &rows, &choice).unwrap();
        let mut reader = csv::Reader::from_reader(&text[..]);
        assert_eq!(
            reader.headers().unwrap().iter().collect::<Vec<_>>().join(","),
            "phase,communicator,kind,sender,receiver,messages,bytes"
        );
        let lines: Vec<_> = reader.records().map(Result::unwrap).collect();
        for kind in &choice.kinds {
            let matrix = Matrix::of(&rows, &choice.with_kinds(&[*kind]));
            let of_kind = lines.iter().filter(|line| &line[2] == kind.name());
            let bytes: u64 = of_kind.map(|line| line[6].parse::<u64>().unwrap()).sum();
            assert_eq!(bytes, matrix.total().bytes + matrix.total_own().bytes, "{}", kind.name());
        }
        assert!(lines.iter().any(|line| &line[0] == "solve") && lines.iter().any(|line| line[0].is_empty()));
    }
}
