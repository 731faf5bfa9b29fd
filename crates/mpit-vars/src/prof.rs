//! The text of the files that Open MPI's monitoring component writes, `NAME.RANK.prof`: its scripts read ours too.
//!
//! Internal messages of an MPI (`I`) are not known here: what is counted is what the program sends.

use std::fmt::{self, Display, Formatter};

use crate::store::{Amount, BINS, Everything, Kind};

/// What was counted, as text.
#[derive(Debug)]
pub struct Prof<'a>(pub &'a Everything);

fn line(f: &mut Formatter<'_>, letter: &str, me: u32, peer: u32, amount: Amount) -> fmt::Result {
    write!(f, "{letter}\t{me}\t{peer}\t{} bytes\t{} msgs sent", amount.bytes, amount.messages)
}

impl Prof<'_> {
    /// Lines for all peers that anything was exchanged with.
    fn peers(&self, f: &mut Formatter<'_>, kinds: &[(Kind, &str)]) -> fmt::Result {
        let mut ranks: Vec<u32> = self.0.peers.keys().map(|(_, rank)| *rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for peer in ranks {
            for &(kind, letter) in kinds {
                let Some(found) = self.0.peers.get(&(kind, peer)) else { continue };
                if found.amount.messages == 0 {
                    continue;
                }
                line(f, letter, self.0.rank, peer, found.amount)?;
                if kind == Kind::Message {
                    let bins = (0..BINS).map(|bin| found.sizes.get(bin).copied().unwrap_or(0).to_string());
                    write!(f, "\t{}", bins.collect::<Vec<_>>().join(","))?;
                }
                f.write_str("\n")?;
            }
        }
        Ok(())
    }
}

impl Display for Prof<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("# POINT TO POINT\n")?;
        self.peers(f, &[(Kind::Message, "E")])?;
        f.write_str("# OSC\n")?;
        self.peers(f, &[(Kind::Put, "S"), (Kind::Get, "R")])?;
        f.write_str("# COLLECTIVES\n")?;
        self.peers(f, &[(Kind::Collective, "C")])?;
        for communicator in self.0.communicators.values() {
            let name = if communicator.name.is_empty() { "(no-name)" } else { &communicator.name };
            let ranks: Vec<String> = communicator.ranks.iter().map(u32::to_string).collect();
            writeln!(f, "D\t{name}\tprocs: {}", ranks.join(","))?;
            for (letters, amount) in ["O2A", "A2O", "A2A"].into_iter().zip(communicator.operations) {
                writeln!(
                    f,
                    "{letters}\t{}\t{} bytes\t{} msgs sent",
                    self.0.rank, amount.bytes, amount.messages
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{OfCommunicator, Peer, bin};

    #[test]
    fn a_file_has_the_lines_of_open_mpi() {
        let amount = |messages, bytes| Amount { messages, bytes };
        let mut sizes = vec![0; BINS];
        sizes[bin(4)] = 3;
        let peer = |messages, bytes| Peer { amount: amount(messages, bytes), sizes: Vec::new() };
        let mut everything = Everything { rank: 1, ..Everything::default() };
        everything.peers.insert((Kind::Message, 0), Peer { amount: amount(3, 12), sizes });
        everything.peers.insert((Kind::Message, 2), Peer::default());
        everything.peers.insert((Kind::Get, 0), peer(1, 40));
        everything.peers.insert((Kind::Put, 2), peer(2, 80));
        everything.peers.insert((Kind::Collective, 2), peer(5, 0));
        let operations = [amount(0, 0), amount(1, 8), amount(4, 32)];
        let world = OfCommunicator { name: "MPI_COMM_WORLD".into(), ranks: vec![0, 1, 2], operations };
        everything.communicators.insert(0, world);
        everything.communicators.insert(1, OfCommunicator { ranks: vec![1], ..OfCommunicator::default() });
        let zeros = vec!["0"; 62].join(",");
        let expected = format!(
            "# POINT TO POINT\nE\t1\t0\t12 bytes\t3 msgs sent\t0,0,0,3,{zeros}\n# OSC\nR\t1\t0\t40 bytes\t1 msgs sent\n\
             S\t1\t2\t80 bytes\t2 msgs sent\n# COLLECTIVES\nC\t1\t2\t0 bytes\t5 msgs sent\n\
             D\tMPI_COMM_WORLD\tprocs: 0,1,2\nO2A\t1\t0 bytes\t0 msgs sent\nA2O\t1\t8 bytes\t1 msgs sent\n\
             A2A\t1\t32 bytes\t4 msgs sent\nD\t(no-name)\tprocs: 1\nO2A\t1\t0 bytes\t0 msgs sent\n\
             A2O\t1\t0 bytes\t0 msgs sent\nA2A\t1\t0 bytes\t0 msgs sent\n"
        );
        assert_eq!(Prof(&everything).to_string(), expected);
    }
}
