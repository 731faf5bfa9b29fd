//! How many messages have which size, in powers of two.

use std::collections::BTreeMap;
use std::io::{self, Write};

use mel_log::profile::TrafficKind;
use mel_log::profile::traffic::sizes_of_bin;
use serde::Serialize;

use crate::choice::{self, Choice};
use crate::rows::Rows;

/// Messages of about one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfSize {
    /// The least bytes of one, and the most.
    pub bytes: (u64, u64),
    /// How many.
    pub messages: u64,
}

/// By size, ascending, without what is empty. Messages of ranks to themselves are in it, and of a collective operation one for each pair.
pub fn by_size(rows: &Rows<'_>, choice: &Choice) -> Vec<OfSize> {
    let mut bins = BTreeMap::<u8, u64>::new();
    for (rank, row) in rows.chosen(choice) {
        let mut pairs = 0u64;
        rows.pairs(rank, row, |_, _| pairs += 1);
        for (bin, count) in row.sizes.iter().filter(|_| pairs > 0) {
            let sum = bins.entry(*bin).or_default();
            *sum = sum.saturating_add(count.saturating_mul(pairs));
        }
    }
    let of = |(bin, messages): (u8, u64)| OfSize { bytes: sizes_of_bin(bin.into()), messages };
    bins.into_iter().map(of).filter(|of| of.messages > 0).collect()
}

/// A line. Who sends to itself is its own receiver.
#[derive(Serialize)]
struct Line<'a> {
    phase: &'a str,
    communicator: &'a str,
    kind: &'a str,
    sender: u32,
    receiver: u32,
    least_bytes: u64,
    most_bytes: u64,
    messages: u64,
}

/// What lines have in common: phase, communicator, kind, sender, receiver, bin.
type Key = (u32, Option<u32>, TrafficKind, u32, u32, u8);

/// Writes a line of names, then a line for each pair and size of the chosen rows, sorted (RFC 4180). The phase before the first named one
/// has no name.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: impl Write, rows: &Rows<'_>, choice: &Choice) -> io::Result<()> {
    let mut counts = BTreeMap::<Key, u64>::new();
    for (rank, row) in rows.chosen(choice) {
        rows.pairs(rank, row, |from, to| {
            for (bin, count) in &row.sizes {
                let key = (row.phase, row.communicator, row.kind, from, to, *bin);
                let sum = counts.entry(key).or_default();
                *sum = sum.saturating_add(*count);
            }
        });
    }
    let mut out = mel_log::csv::Writer::without_header(out);
    let header =
        ["phase", "communicator", "kind", "sender", "receiver", "least_bytes", "most_bytes", "messages"];
    out.write_record(header)?;
    for ((phase, communicator, kind, sender, receiver, bin), messages) in counts {
        let (least_bytes, most_bytes) = sizes_of_bin(bin.into());
        out.serialize(Line {
            phase: rows.profile.phases.get(phase as usize).map_or("", String::as_str),
            communicator: choice::communicator(rows, communicator),
            kind: kind.name(),
            sender,
            receiver,
            least_bytes,
            most_bytes,
            messages,
        })?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use mel_log::profile::{Profile, RankProfile, Traffic, sample};

    #[test]
    fn sizes_add_up_and_each_is_in_its_range() {
        let row =
            |peer, sizes| Traffic { peer: Some(peer), sizes, messages: 3, bytes: 9, ..Traffic::default() };
        let of = |rank, traffic| RankProfile { rank, traffic, ..RankProfile::default() };
        let ranks = vec![of(0, vec![row(1, vec![(0, 1), (4, 2)])]), of(1, vec![row(0, vec![(4, 3)])])];
        let profile = Profile { world_size: 2, ranks, ..Profile::default() };
        let (rows, choice) = (Rows::of(&profile), Choice::of_kinds(&[TrafficKind::P2p]));
        let found: Vec<_> = by_size(&rows, &choice).iter().map(|of| (of.bytes, of.messages)).collect();
        assert_eq!(found, [((0, 0), 1), ((8, 15), 5)]);
        let mut text = Vec::new();
        csv(&mut text, &rows, &choice).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "phase,communicator,kind,sender,receiver,least_bytes,most_bytes,messages");
        assert_eq!((lines.len(), lines[2].ends_with(",p2p,0,1,8,15,2")), (4, true), "{text}");
    }

    #[test]
    fn there_are_as_many_as_in_the_matrix() {
        let profile = sample::traffic(8);
        let rows = Rows::of(&profile);
        let choice = Choice::of_kinds(&[TrafficKind::P2p]);
        let matrix = Matrix::of(&rows, &choice);
        let all: u64 = by_size(&rows, &choice).iter().map(|of| of.messages).sum();
        assert_eq!(all, matrix.total().messages + matrix.total_own().messages);
    }
}
