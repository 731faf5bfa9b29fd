//! What is believed of the ranks that files speak of, and which of a run's ranks have left none.
//!
//! A file's word on its rank and on the size of the run sizes nothing: it is checked here, once, where a file is read. Whoever
//! works with ranks afterwards may rely on each being below [`MOST_RANKS`] and below the size of its run.

use std::ops::Range;

/// The most ranks that a run is believed to have, four millions: a file that speaks of more is damaged.
pub const MOST_RANKS: u32 = 1 << 22;

/// Why a file cannot be believed that says to be of this rank, of a run of so many; none where it can. A size of zero is none.
pub fn contradiction(rank: u32, world_size: u32) -> Option<String> {
    let most = if world_size == 0 { MOST_RANKS } else { world_size };
    (rank >= most || world_size > MOST_RANKS)
        .then(|| format!("says that it is of rank {rank} of {world_size}: its beginning is damaged"))
}

/// The number of ranks of a run, by what its files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeOfRun {
    /// How many there are: each of them is below this.
    pub ranks: u32,
    /// The ranks whose files say something else, ascending.
    others: Vec<u32>,
}

impl SizeOfRun {
    /// From the rank of each file, and how many the run has by it: zero where the file does not say it. What most of them say
    /// counts; of two numbers that equally many say the smaller one, if it has room for all of these ranks.
    pub fn of(said: &[(u32, u32)]) -> SizeOfRun {
        let least = said.iter().map(|(rank, _)| rank.saturating_add(1)).max().unwrap_or(0);
        let mut sizes: Vec<u32> = said.iter().map(|(_, size)| *size).filter(|size| *size > 0).collect();
        sizes.sort_unstable();
        let votes = sizes.chunk_by(|one, other| one == other).map(|same| (same.len(), same[0]));
        let best = votes.max_by_key(|&(votes, size)| (votes, size >= least, std::cmp::Reverse(size)));
        let ranks = best.map_or(least, |(_, size)| size);
        let differs = |(rank, size): &&(u32, u32)| *rank >= ranks || ![0, ranks].contains(size);
        let mut others: Vec<u32> = said.iter().filter(differs).map(|(rank, _)| *rank).collect();
        others.sort_unstable();
        others.dedup();
        SizeOfRun { ranks, others }
    }

    /// A sentence on the files of this kind that say something else, if any do. Those of ranks that the run does not have are to be
    /// left out.
    pub fn contradiction(&self, kind: &str) -> Option<String> {
        let who = crate::profile::text::layout::ranks(&self.others)?;
        let (says, beyond) = (if self.others.len() == 1 { "says" } else { "say" }, self.ranks);
        let left_out = match self.others.last() {
            Some(last) if *last >= beyond => "; what is of other ranks is left out",
            _ => "",
        };
        Some(format!(
            "the {kind} of {who} {says} that the run has another number of ranks than the {beyond} of the others{left_out}"
        ))
    }
}

/// A set of ranks, in as little memory as it has gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankRanges(Vec<Range<u32>>);

impl RankRanges {
    /// The ranks of a run of so many that are not among these, which ascend.
    pub fn missing(known: impl IntoIterator<Item = u32>, world_size: u32) -> RankRanges {
        let (mut missing, mut next) = (Vec::new(), 0);
        for rank in known.into_iter().chain([world_size]) {
            let until = rank.min(world_size);
            if next < until {
                missing.push(next..until);
            }
            next = next.max(rank.saturating_add(1));
        }
        RankRanges(missing)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest and the highest.
    pub fn ends(&self) -> Option<(u32, u32)> {
        Some((self.0.first()?.start, self.0.last()?.end - 1))
    }

    /// In a few words: `rank 3`, `ranks 1, 2, 5`, `ranks 1, 2, 5 to 99999`, `ranks 1, 3, 5 and 17 more`; none for nobody.
    pub fn in_words(&self) -> Option<String> {
        const MOST: usize = 8;
        let all = self.len();
        if all == 1 {
            return Some(format!("rank {}", self.ends()?.0));
        }
        let is_few = all as usize <= MOST;
        let (mut pieces, mut named) = (Vec::new(), 0);
        for range in &self.0 {
            match range.len() {
                length if length > 2 && !is_few => {
                    pieces.push((format!("{} to {}", range.start, range.end - 1), length))
                }
                _ => pieces.extend(range.clone().map(|rank| (rank.to_string(), 1))),
            }
            if pieces.len() > MOST {
                pieces.truncate(3);
                break;
            }
        }
        let list: Vec<String> = pieces
            .into_iter()
            .map(|(piece, length)| {
                named += length;
                piece
            })
            .collect();
        let more = all as usize - named;
        match (all, more) {
            (0, _) => None,
            (_, 0) => Some(format!("ranks {}", list.join(", "))),
            _ => Some(format!("ranks {} and {more} more", list.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_believed_as_far_as_it_can_be_true() {
        for (rank, size) in [(0, 1), (3, 4), (7, 0), (MOST_RANKS - 1, MOST_RANKS)] {
            assert_eq!(contradiction(rank, size), None);
        }
        for (rank, size) in
            [(4, 4), (0, MOST_RANKS + 1), (u32::MAX, 4), (u32::MAX, u32::MAX), (MOST_RANKS, 0)]
        {
            assert!(contradiction(rank, size).unwrap().contains(&format!("rank {rank} of {size}")));
        }
    }

    #[test]
    fn the_size_is_what_most_files_say() {
        let size = |said: &[(u32, u32)]| SizeOfRun::of(said).ranks;
        assert_eq!(size(&[]), 0);
        assert_eq!(size(&[(2, 0)]), 3);
        assert_eq!(size(&[(0, 4), (1, 1 << 20), (2, 4)]), 4);
        assert_eq!(size(&[(0, 4), (1, 1 << 20)]), 4);
        assert_eq!(size(&[(0, 1), (1, 2)]), 2, "there is a rank 1");
        assert_eq!(size(&[(7, 100_000)]), 100_000);
    }

    #[test]
    fn files_that_contradict_the_others_are_told_in_a_line() {
        let told = |said: &[(u32, u32)]| SizeOfRun::of(said).contradiction("event log");
        assert_eq!(told(&[(0, 2), (1, 2), (1, 0)]), None);
        let line = told(&[(0, 4), (1, 9), (2, 4)]).unwrap();
        assert_eq!(
            line,
            "the event log of rank 1 says that the run has another number of ranks than the 4 of the others"
        );
        assert!(told(&[(0, 4), (8, 9), (2, 4)]).unwrap().ends_with("what is of other ranks is left out"));
    }

    #[test]
    fn missing_ranks_are_a_few_words_however_many_they_are() {
        let words = |known: &[u32], size| RankRanges::missing(known.iter().copied(), size).in_words();
        assert_eq!(words(&[0, 1], 2), None);
        assert_eq!(words(&[1], 2).unwrap(), "rank 0");
        assert_eq!(words(&[0, 3], 6).unwrap(), "ranks 1, 2, 4, 5");
        assert_eq!(words(&[0, 3, 4], 100_000).unwrap(), "ranks 1, 2, 5 to 99999");
        assert_eq!(words(&[], u32::MAX).unwrap(), format!("ranks 0 to {}", u32::MAX - 1));
        let odd: Vec<u32> = (0..100).map(|place| 2 * place + 1).collect();
        assert_eq!(words(&odd, 200).unwrap(), "ranks 0, 2, 4 and 97 more");
        let missing = RankRanges::missing([2, 2, 90], 8);
        assert_eq!((missing.len(), missing.ends()), (7, Some((0, 7))));
    }
}
