//! Why a rank computes longer than the others, by what the processor counted of it: it has more instructions, or takes longer for each.
//!
//! The time of a rank outside of MPI is its instructions, divided by the pace (instructions in a cycle) and by the frequency (cycles in a
//! second on a processor). Of the three each is told that explains a good part of how much longer it computes.
//! Counts are observed; that all of the time outside of MPI is as what was observed is estimated.

use super::RankProfile;
use super::counters::Counters;
use super::why::{LEAST, SHORTEST, median};

/// A number of the rank that differs from the others by less than this factor is the same.
const SAME: f64 = 1.1;
/// A factor that explains less than this part of how much longer the rank computes, on a scale of logarithms, is no reason.
const PART: f64 = 0.3;
/// A rank whose caches miss that many times as often as those of the others has them to thank for its pace.
const MANY_TIMES: f64 = 2.0;
/// Fewer cache misses in a thousand instructions cost nothing.
const FEW_MISSES: f64 = 0.5;
/// Others that have less than this part of its instructions have nothing to compare.
const ALMOST_NONE: f64 = 0.01;

/// A rank beside the median of the others: its number, and theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Beside {
    own: f64,
    usual: f64,
}

impl Beside {
    /// None where either has no such number.
    fn of(
        cause: &RankProfile,
        others: &[&RankProfile],
        of: impl Fn(&RankProfile) -> Option<f64>,
    ) -> Option<Beside> {
        let (own, usual) = (of(cause)?, median(others.iter().filter_map(|rank| of(rank)))?);
        Some(Beside { own, usual })
    }

    fn factor(self) -> f64 {
        if self.usual > 0.0 { self.own / self.usual } else { f64::INFINITY }
    }
}

/// Why a rank computes longer, for which others have waited so long each, in seconds; none where it does not, where nothing was counted,
/// and where nothing differs much.
#[must_use]
pub fn why(cause: &RankProfile, others: &[&RankProfile], late_s: f64) -> Option<String> {
    let computing = Beside::of(cause, others, |rank| Some(rank.budget?.computing_s))?;
    if computing.own - computing.usual < (LEAST * late_s).max(SHORTEST) {
        return None;
    }
    let instructions = Beside::of(cause, others, RankProfile::computing_instructions)?;
    let rank = cause.rank;
    if instructions.factor() * ALMOST_NONE > 1.0 {
        return Some(format!("rank {rank} has almost all of the instructions: its part is larger"));
    }
    // A rank that was hardly looked at has no pace.
    let counted = |of: fn(&Counters) -> Option<f64>| {
        Beside::of(cause, others, |rank| {
            rank.counters.as_ref().filter(|known| known.observed_s >= SHORTEST).and_then(of)
        })
    };
    let explains = |factor: f64| factor >= SAME && factor.ln() >= PART * computing.factor().ln();
    let has_more = explains(instructions.factor());
    let slower = |of: Option<Beside>| of.filter(|of| explains(1.0 / of.factor()));
    let (pace, frequency) = (slower(counted(Counters::pace)), slower(counted(Counters::frequency)));
    let and = match (pace, frequency) {
        (None, None) if has_more => ": its part is larger".to_owned(),
        (None, None) => return None,
        _ => {
            let at = pace.map(|pace| {
                let misses = counted(Counters::misses_of_thousand).and_then(misses).unwrap_or_default();
                format!(
                    ", at {} of their pace ({:.2} instructions per cycle, the others {:.2}){misses}",
                    part(pace.factor()),
                    pace.own,
                    pace.usual
                )
            });
            let runs = frequency.map(|frequency| {
                format!(
                    ", and its processor runs at {} of their frequency ({:.2} GHz, the others {:.2})",
                    part(frequency.factor()),
                    frequency.own * 1e-9,
                    frequency.usual * 1e-9
                )
            });
            at.into_iter().chain(runs).collect()
        }
    };
    let what = match instructions.factor() {
        factor if has_more => format!("needs {} times the instructions of the others", times(factor)),
        factor if factor * SAME < 1.0 => format!("has {} of the instructions of the others", part(factor)),
        _ => "has as many instructions as the others".to_owned(),
    };
    Some(format!("rank {rank} {what}{and}"))
}

/// That a rank misses its caches more often, where it does by much.
fn misses(of: Beside) -> Option<String> {
    (of.own >= FEW_MISSES && of.factor() >= MANY_TIMES).then(|| {
        let often = if of.factor().is_finite() {
            format!("{} times as often", times(of.factor()))
        } else {
            "often".into()
        };
        format!(
            ", and misses its caches {often} ({:.1} times in a thousand instructions, the others {:.1})",
            of.own, of.usual
        )
    })
}

/// A factor above one.
fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { format!("{factor:.0}") }
}

/// A factor below one.
fn part(factor: f64) -> String {
    if factor < 0.095 { format!("{factor:.2}") } else { format!("{factor:.1}") }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Parts;
    use super::*;

    /// A rank that computes for so long: its instructions in thousand millions, its pace, its frequency in GHz, its misses in a thousand
    /// instructions.
    fn rank(number: u32, computing_s: f64, [billions, pace, frequency, misses]: [f64; 4]) -> RankProfile {
        let instructions = billions * 1e9;
        let cycles = instructions / pace;
        let counters = Counters {
            observed_s: computing_s,
            on_processor_s: cycles / (frequency * 1e9),
            instructions: instructions as u64,
            cycles: Some(cycles as u64),
            cache_misses: Some((instructions * misses / 1000.0) as u64),
        };
        RankProfile {
            rank: number,
            budget: Some(Parts { computing_s, ..Parts::default() }),
            counters: Some(counters),
            ..RankProfile::default()
        }
    }

    const USUAL: [f64; 4] = [4.0, 2.0, 2.0, 1.5];

    fn said(computing_s: f64, numbers: [f64; 4]) -> Option<String> {
        let others = [0, 1, 2].map(|number| rank(number, 1.0, USUAL));
        why(&rank(3, computing_s, numbers), &others.iter().collect::<Vec<_>>(), computing_s - 1.0)
    }

    #[test]
    fn a_larger_part_has_more_instructions() {
        assert_eq!(
            said(1.9, [7.6, 2.0, 2.0, 1.5]).unwrap(),
            "rank 3 needs 1.9 times the instructions of the others: its part is larger"
        );
    }

    #[test]
    fn the_same_part_is_slower_by_its_pace_or_by_its_processor() {
        assert_eq!(
            said(2.0, [4.0, 1.0, 2.0, 1.5]).unwrap(),
            "rank 3 has as many instructions as the others, at 0.5 of their pace (1.00 instructions per cycle, the \
             others 2.00)"
        );
        let told = said(2.0, [4.0, 1.0, 2.0, 12.0]).unwrap();
        assert!(
            told.ends_with(
                "the others 2.00), and misses its caches 8.0 times as often (12.0 times in a thousand \
                 instructions, the others 1.5)"
            ),
            "{told}"
        );
        assert_eq!(
            said(1.67, [4.0, 2.0, 1.2, 1.5]).unwrap(),
            "rank 3 has as many instructions as the others, and its processor runs at 0.6 of their frequency (1.20 GHz, \
             the others 2.00)"
        );
    }

    #[test]
    fn several_reasons_are_told_together() {
        let told = said(3.0, [6.0, 1.0, 2.0, 1.5]).unwrap();
        assert!(
            told.starts_with("rank 3 needs 1.5 times the instructions of the others, at 0.5 of their pace"),
            "{told}"
        );
        let told = said(2.0, [2.0, 0.5, 2.0, 1.5]).unwrap();
        assert!(
            told.starts_with("rank 3 has 0.5 of the instructions of the others, at 0.2 of their pace"),
            "{told}"
        );
    }

    #[test]
    fn where_nothing_differs_much_nothing_is_told() {
        assert_eq!(said(1.0, USUAL), None, "it does not compute longer");
        // Longer, by something that is not counted.
        assert_eq!(said(2.0, [4.2, 1.95, 1.95, 1.5]), None);
        let mut without = rank(3, 2.0, USUAL);
        without.counters = None;
        let others = [rank(0, 1.0, USUAL)];
        assert_eq!(why(&without, &others.iter().collect::<Vec<_>>(), 1.0), None);
        assert_eq!(why(&rank(3, 2.0, [8.0, 2.0, 2.0, 1.5]), &[], 1.0), None, "there are no others");
    }

    #[test]
    fn of_others_that_compute_almost_nothing_only_the_part_is_told() {
        let others = [rank(0, 0.001, [0.002, 1.0, 2.0, 0.0])];
        assert_eq!(
            why(&rank(3, 1.0, USUAL), &others.iter().collect::<Vec<_>>(), 1.0).unwrap(),
            "rank 3 has almost all of the instructions: its part is larger"
        );
    }
}
