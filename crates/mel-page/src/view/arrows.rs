//! Messages as arrows from the call that sends to the call that receives, a bounded number of them.
//!
//! Both sides of a message compute the same key without looking at each other. Where there are too many, only those stay whose
//! key ends with so many zero bits: both sides keep the same ones, whichever rank they are on.

use rustc_hash::FxHashMap;
use serde::Serialize;

use mel_convert::partners::MessageId;

/// Arrows of a run.
const MOST: usize = 20_000;
/// Ends of arrows that a rank keeps at least.
const LEAST_OF_RANK: usize = 2048;
/// Where the log of a rank has more records there are no arrows: to match its messages would take too much memory.
pub const MOST_RECORDS: usize = 40_000_000;

/// One end of an arrow.
#[derive(Clone, Copy, Debug)]
struct End {
    rank: u32,
    time: u64,
    bytes: u64,
    sent: bool,
}

/// The ends of the arrows of one rank, or of several.
#[derive(Debug, Default)]
pub struct Ends {
    ends: Vec<(u64, End)>,
    most: usize,
    zeros: u32,
}

/// The arrows, in columns.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Arrows {
    /// Every so-many-th message has an arrow.
    pub every: u64,
    /// The rank that sends.
    pub from: Vec<u32>,
    /// The rank that receives.
    pub to: Vec<u32>,
    /// When the sending call is entered: nanoseconds since that of the arrow before.
    pub steps: Vec<u64>,
    /// From there to when the receiving call is left, in nanoseconds; negative where the clocks of two nodes say so.
    pub durations: Vec<i64>,
    /// Bytes of the message.
    pub bytes: Vec<u64>,
}

impl Ends {
    /// Room for the ends of one of so many ranks.
    pub fn of_one(ranks: usize) -> Ends {
        Ends { ends: Vec::new(), most: (8 * MOST / ranks.max(1)).max(LEAST_OF_RANK), zeros: 0 }
    }

    /// Adds the end of a message that a rank has sent or received, at a time in nanoseconds.
    pub fn add(&mut self, id: MessageId, sent: bool, rank: u32, time: u64, bytes: u64) {
        let key = key(id);
        if key.trailing_zeros() < self.zeros {
            return;
        }
        self.ends.push((key, End { rank, time, bytes, sent }));
        while self.ends.len() > self.most {
            self.keep(self.zeros + 1);
        }
    }

    fn keep(&mut self, zeros: u32) {
        self.zeros = zeros;
        self.ends.retain(|(key, _)| key.trailing_zeros() >= zeros);
    }
}

/// A number of 64 bits, each of which depends on all bits of the message's channel and number.
fn key(id: MessageId) -> u64 {
    let mut key = id.channel ^ id.number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for factor in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
        key = (key ^ (key >> 30)).wrapping_mul(factor);
    }
    key ^ (key >> 31)
}

/// The arrows whose two ends are there.
pub fn arrows(mut all: Vec<Ends>) -> Arrows {
    let mut zeros = all.iter().map(|ends| ends.zeros).max().unwrap_or(0);
    for ends in &mut all {
        ends.keep(zeros);
    }
    let ends = || all.iter().flat_map(|ends| &ends.ends);
    let receives: FxHashMap<u64, End> = ends().filter(|(_, end)| !end.sent).copied().collect();
    let mut pairs: Vec<(u64, End, End)> = ends()
        .filter(|(_, end)| end.sent)
        .filter_map(|(key, sent)| Some((*key, *sent, *receives.get(key)?)))
        .collect();
    while pairs.len() > MOST {
        zeros += 1;
        pairs.retain(|(key, ..)| key.trailing_zeros() >= zeros);
    }
    pairs.sort_by_key(|(_, sent, _)| sent.time);
    let (mut arrows, mut before) = (Arrows { every: 1 << zeros, ..Arrows::default() }, 0);
    for (_, sent, received) in pairs {
        arrows.from.push(sent.rank);
        arrows.to.push(received.rank);
        arrows.steps.push(sent.time - std::mem::replace(&mut before, sent.time));
        arrows.durations.push(received.time.cast_signed() - sent.time.cast_signed());
        arrows.bytes.push(received.bytes);
    }
    arrows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_keep_the_same_messages() {
        let (mut sender, mut receiver) = (Ends::of_one(2), Ends::of_one(2));
        for number in 0..300_000 {
            let id = MessageId { channel: 77, number };
            sender.add(id, true, 0, number * 10, 8);
            receiver.add(id, false, 1, number * 10 + 4, 8);
        }
        assert!(sender.ends.len() <= 8 * MOST / 2);
        let arrows = arrows(vec![sender, receiver]);
        assert!(arrows.from.len() <= MOST && arrows.from.len() > MOST / 4, "{}", arrows.from.len());
        let expected = 300_000 / arrows.every as usize;
        assert!(arrows.from.len().abs_diff(expected) < expected / 5, "each has the same chance");
        assert!(arrows.durations.iter().all(|duration| *duration == 4));
        assert!(arrows.from.iter().all(|rank| *rank == 0) && arrows.to.iter().all(|rank| *rank == 1));
    }

    #[test]
    fn a_message_with_one_end_has_no_arrow() {
        let mut ends = Ends::of_one(1);
        ends.add(MessageId { channel: 1, number: 0 }, true, 0, 5, 8);
        ends.add(MessageId { channel: 1, number: 1 }, true, 0, 50, 8);
        ends.add(MessageId { channel: 1, number: 1 }, false, 0, 40, 16);
        let arrows = arrows(vec![ends]);
        assert_eq!((arrows.every, arrows.steps, arrows.durations), (1, vec![50], vec![-10]));
        assert_eq!(arrows.bytes, [16]);
    }
}
