//! The files that Open MPI's monitoring component leaves, so that its scripts read ours: one for each rank, fields separated by tabs
//! (`ompi/mca/common/monitoring` of Open MPI 4.1).
//!
//! The format is its, the numbers are ours: `E` has no message of the library's own, `C` no collective operation that MPI makes for itself,
//! and what goes to the root of a collective operation stands with those who send it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use mel_log::profile::traffic::SIZE_BINS;
use mel_log::profile::{Traffic, TrafficKind};

use crate::choice::Choice;
use crate::matrix::Cell;
use crate::rows::{Rows, Shape};

/// What one rank has sent to one peer, and the sizes.
#[derive(Clone, Debug)]
struct ToPeer {
    cell: Cell,
    sizes: [u64; SIZE_BINS],
}

impl Default for ToPeer {
    fn default() -> ToPeer {
        ToPeer { cell: Cell::default(), sizes: [0; SIZE_BINS] }
    }
}

impl ToPeer {
    fn add(&mut self, row: &Traffic) {
        self.cell.add(Cell { messages: row.messages, bytes: row.bytes });
        for (bin, count) in &row.sizes {
            let sum = &mut self.sizes[usize::from(*bin).min(SIZE_BINS - 1)];
            *sum = sum.saturating_add(*count);
        }
    }

    fn histogram(&self) -> String {
        self.sizes.map(|count| count.to_string()).join(",")
    }
}

/// The operations on a communicator, from one rank's view: from one to all, from all to one, from all to all.
type Operations = [Cell; 3];

/// The files of a run.
#[derive(Debug)]
pub struct Prof<'a> {
    rows: &'a Rows<'a>,
    choice: &'a Choice,
    /// By rank, then by communicator.
    operations: Vec<BTreeMap<u32, Operations>>,
}

impl<'a> Prof<'a> {
    /// Those of the chosen rows.
    pub fn of(rows: &'a Rows<'a>, choice: &'a Choice) -> Prof<'a> {
        let mut operations = vec![BTreeMap::<u32, Operations>::new(); rows.size() as usize];
        // As the component does, the root counts what goes to it: all bytes, and the calls of whoever has made most.
        let mut to_roots = BTreeMap::<(u32, u32, &str), BTreeMap<u32, Cell>>::new();
        for (rank, row) in rows.chosen(choice) {
            let (TrafficKind::Collective, Some(communicator)) = (row.kind, row.communicator) else {
                continue;
            };
            let (mut bytes, mut receiver) = (0u64, None);
            rows.pairs(rank, row, |_, to| {
                bytes = bytes.saturating_add(row.bytes);
                receiver = Some(to);
            });
            let Some(receiver) = receiver else { continue };
            let cell = Cell { messages: row.messages, bytes };
            let of_rank = |operations: &mut Vec<BTreeMap<u32, Operations>>, rank: u32, place: usize, cell| {
                if let Some(of_rank) = operations.get_mut(rank as usize) {
                    of_rank.entry(communicator).or_default()[place].add(cell);
                }
            };
            match Shape::of(&row.operation) {
                Shape::FromRoot => of_rank(&mut operations, rank, 0, cell),
                Shape::ToRoot => {
                    let key = (receiver, communicator, row.operation.as_str());
                    to_roots.entry(key).or_default().entry(rank).or_default().add(cell);
                }
                Shape::Upwards | Shape::All => of_rank(&mut operations, rank, 2, cell),
            }
        }
        for ((root, communicator, _), senders) in to_roots {
            let messages = senders.values().map(|cell| cell.messages).max().unwrap_or(0);
            let bytes = senders.values().fold(0u64, |sum, cell| sum.saturating_add(cell.bytes));
            if let Some(of_root) = operations.get_mut(root as usize) {
                of_root.entry(communicator).or_default()[1].add(Cell { messages, bytes });
            }
        }
        Prof { rows, choice, operations }
    }

    /// The name of a rank's file.
    pub fn file_name(name: &str, rank: u32) -> String {
        format!("{name}.{rank}.prof")
    }

    /// Writes the file of a rank.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: impl Write, me: u32) -> io::Result<()> {
        let mut by_kind = BTreeMap::<TrafficKind, BTreeMap<u32, ToPeer>>::new();
        let ranks = self.rows.profile.ranks.iter().filter(|rank| rank.rank == me);
        for row in ranks.flat_map(|rank| &rank.traffic).filter(|row| self.choice.has(row)) {
            let peers = by_kind.entry(row.kind).or_default();
            self.rows.pairs(me, row, |from, to| {
                let peer = if row.kind.is_inward() { from } else { to };
                // Of collective operations the component has no part of a rank's own; of messages to itself it has all.
                if peer != me || row.kind != TrafficKind::Collective {
                    peers.entry(peer).or_default().add(row);
                }
            });
        }
        let none = BTreeMap::new();
        let of = |kind| by_kind.get(&kind).unwrap_or(&none);
        let line = |out: &mut dyn Write, mark: &str, peer: u32, cell: Cell, end: &str| {
            writeln!(out, "{mark}\t{me}\t{peer}\t{} bytes\t{} msgs sent{end}", cell.bytes, cell.messages)
        };
        let (external, internal) = (of(TrafficKind::P2p), of(TrafficKind::Internal));
        writeln!(out, "# POINT TO POINT")?;
        for (peer, to) in external {
            line(&mut out, "E", *peer, to.cell, &format!("\t{}", to.histogram()))?;
        }
        for (peer, to) in internal {
            // Only who has no line above has sizes here.
            let end =
                if external.contains_key(peer) { String::new() } else { format!("\t{}", to.histogram()) };
            line(&mut out, "I", *peer, to.cell, &end)?;
        }
        writeln!(out, "# OSC")?;
        let (put, get) = (of(TrafficKind::Put), of(TrafficKind::Get));
        let mut peers: Vec<u32> = put.keys().chain(get.keys()).copied().collect();
        peers.sort_unstable();
        peers.dedup();
        for peer in peers {
            for (mark, kind) in [("S", put), ("R", get)] {
                if let Some(to) = kind.get(&peer) {
                    line(&mut out, mark, peer, to.cell, "")?;
                }
            }
        }
        writeln!(out, "# COLLECTIVES")?;
        for (peer, to) in of(TrafficKind::Collective) {
            line(&mut out, "C", *peer, to.cell, "")?;
        }
        let operations = self.operations.get(me as usize);
        for (communicator, sums) in operations.into_iter().flatten() {
            let Some((own, _)) = self.rows.groups(*communicator).and_then(|groups| groups.seen_by(me)) else {
                continue;
            };
            let known = self.rows.profile.communicators.get(*communicator as usize);
            let name = known.map(|known| known.name.as_str()).filter(|name| !name.is_empty());
            let members: Vec<String> = own.world.iter().map(u32::to_string).collect();
            // A name must not end its field.
            let name = name.unwrap_or("(no-name)").replace(['\t', '\n'], " ");
            writeln!(out, "D\t{name}\tprocs: {}", members.join(","))?;
            for (mark, sum) in ["O2A", "A2O", "A2A"].into_iter().zip(sums) {
                writeln!(out, "{mark}\t{me}\t{} bytes\t{} msgs sent", sum.bytes, sum.messages)?;
            }
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::Members;
    use mel_log::profile::{NamedCommunicator, Profile, RankProfile};

    /// What Debian's Open MPI 4.1.4 has written, in that form, of a program with these messages and operations.
    #[test]
    fn the_form_is_that_of_the_component() {
        let row = |kind, peer, messages, bytes, sizes: &[(u8, u64)]| Traffic {
            kind,
            peer: Some(peer),
            messages,
            bytes,
            sizes: sizes.to_vec(),
            ..Traffic::default()
        };
        let operation = |name: &str, root, messages, bytes| Traffic {
            kind: TrafficKind::Collective,
            communicator: Some(0),
            operation: name.into(),
            root,
            messages,
            bytes,
            ..Traffic::default()
        };
        let communicator =
            NamedCommunicator { members: Members::from_ranks(0..3), size: 3, ..NamedCommunicator::default() };
        let named = NamedCommunicator { name: "MPI_COMM_WORLD".into(), ..communicator.clone() };
        let of_0 = vec![
            row(TrafficKind::P2p, 1, 3, 120, &[(0, 1), (6, 1), (7, 1)]),
            row(TrafficKind::P2p, 0, 9, 9, &[(1, 9)]),
            row(TrafficKind::Internal, 1, 6, 28, &[(3, 6)]),
            row(TrafficKind::Internal, 2, 1, 1, &[(1, 1)]),
            row(TrafficKind::Put, 2, 4, 64, &[]),
            row(TrafficKind::Get, 2, 1, 8, &[]),
            operation("MPI_Reduce", Some(2), 2, 16),
            operation("MPI_Allreduce", None, 1, 8),
            operation("MPI_Bcast", Some(1), 1, 16),
        ];
        let of_1 = vec![
            operation("MPI_Bcast", Some(1), 1, 16),
            operation("MPI_Reduce", Some(2), 2, 16),
            Traffic { communicator: Some(1), ..operation("MPI_Barrier", None, 1, 0) },
        ];
        let rank = |rank, traffic| RankProfile { rank, traffic, ..RankProfile::default() };
        let profile = Profile {
            world_size: 3,
            communicators: vec![named, communicator],
            ranks: vec![rank(0, of_0), rank(1, of_1), rank(2, vec![operation("MPI_Reduce", Some(2), 2, 16)])],
            ..Profile::default()
        };
        let rows = Rows::of(&profile);
        let choice = Choice::of_kinds(&TrafficKind::ALL);
        let prof = Prof::of(&rows, &choice);
        let text = |rank| {
            let mut out = Vec::new();
            prof.write(&mut out, rank).unwrap();
            String::from_utf8(out).unwrap()
        };
        let histogram = |counts: &[u64]| {
            let mut all = vec!["0".to_owned(); SIZE_BINS];
            counts.iter().enumerate().for_each(|(bin, count)| all[bin] = count.to_string());
            all.join(",")
        };
        assert_eq!(
            text(0),
            format!(
                "# POINT TO POINT\nE\t0\t0\t9 bytes\t9 msgs sent\t{}\nE\t0\t1\t120 bytes\t3 msgs sent\t{}\nI\t0\t1\t28 bytes\t6 msgs sent\n\
                 I\t0\t2\t1 bytes\t1 msgs sent\t{}\n# OSC\nS\t0\t2\t64 bytes\t4 msgs sent\n\
                 R\t0\t2\t8 bytes\t1 msgs sent\n# COLLECTIVES\nC\t0\t1\t8 bytes\t1 msgs sent\n\
                 C\t0\t2\t24 bytes\t3 msgs sent\nD\tMPI_COMM_WORLD\tprocs: 0,1,2\n\
                 O2A\t0\t0 bytes\t0 msgs sent\nA2O\t0\t0 bytes\t0 msgs sent\nA2A\t0\t16 bytes\t1 msgs sent\n",
                histogram(&[0, 9]),
                histogram(&[1, 0, 0, 0, 0, 0, 1, 1]),
                histogram(&[0, 1]),
            )
        );
        assert!(
            text(1).contains("O2A\t1\t32 bytes\t1 msgs sent\n")
                && text(1).contains("D\t(no-name)\tprocs: 0,1,2\n")
        );
        assert!(text(2).contains("A2O\t2\t32 bytes\t2 msgs sent\n"), "{}", text(2));
        assert!(!text(2).contains("C\t"));
    }
}
