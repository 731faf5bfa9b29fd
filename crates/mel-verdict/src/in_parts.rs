//! What a network without any cost would leave of each phase and region, from single waits: estimated.

use std::collections::{BTreeSet, HashMap};

use mel_log::profile::{Basis, Efficiencies, Efficiency, RankProfile};

use crate::ideal::{self, Ideal};
use crate::regions::{paths, with_outer};
use crate::run::{Rank, Run};

/// Of so many phases and so many regions, in which ranks compute longest: this is done while the program waits.
const MOST: usize = 16;

/// Adds it to what these ranks have observed.
pub(crate) fn add(
    all: &mut Efficiencies,
    ideal: &Ideal,
    run: &Run,
    (phases, ranks): (&[String], &[RankProfile]),
) {
    let with_ideal =
        |of: &mut Efficiency, is_in: &dyn Fn(&Rank, u32) -> bool, computing_s: HashMap<u32, f64>| {
            let calls = |rank| run.rank(rank).map_or_else(Vec::new, |rank| calls(rank, is_in));
            if let Some(ideal_s) = ideal.seconds_in(calls, (of.run_s, &computing_s)) {
                *of = std::mem::take(of).with_ideal(ideal_s, Basis::Estimated);
            }
        };
    for of in longest(&mut all.phases, |of| &of.of) {
        let Some(name) = phases.get(of.phase as usize) else { continue };
        let Some(place) = run.phases.iter().position(|known| known == name) else { continue };
        let is_in = |rank: &Rank, context| rank.context(context).is_some_and(|of| of.phase as usize == place);
        let computing_s = |rank: &RankProfile| {
            let of = rank.phases.iter().find(|known| known.phase == of.phase)?;
            Some((rank.rank, of.computing_s?))
        };
        with_ideal(&mut of.of, &is_in, ranks.iter().filter_map(computing_s).collect());
    }
    for of in longest(&mut all.regions, |of| &of.of) {
        let numbers = |rank: &Rank| -> BTreeSet<u16> {
            let all = paths(&rank.rows.definitions).into_iter().chain([(0, "")]);
            let is_in = |path| with_outer(path).any(|outer| outer == of.region);
            all.filter(|(_, path)| is_in(path)).map(|(number, _)| number).collect()
        };
        let numbers: HashMap<u32, BTreeSet<u16>> =
            run.ranks.iter().map(|rank| (rank.rank, numbers(rank))).collect();
        let is_in = |rank: &Rank, context: u32| {
            let of = rank.rows.contexts.get(context as usize);
            of.is_some_and(|of| numbers[&rank.rank].contains(&of.key.region))
        };
        let computing_s = |rank: &RankProfile| {
            let known = rank.regions.iter().find(|known| known.region == of.region && known.threads < 2)?;
            Some((rank.rank, known.computing_s))
        };
        with_ideal(&mut of.of, &is_in, ranks.iter().filter_map(computing_s).collect());
    }
}

/// Those in which ranks compute longest.
fn longest<T>(all: &mut [T], of: impl Fn(&T) -> &Efficiency) -> impl Iterator<Item = &mut T> {
    let computing = |part: &T| of(part).mean_computing_s * f64::from(of(part).ranks);
    let mut times: Vec<f64> = all.iter().map(computing).collect();
    times.sort_by(|a, b| b.total_cmp(a));
    let least = times.get(MOST - 1).copied().unwrap_or(0.0);
    let kept: Vec<bool> = all.iter().map(|part| computing(part) >= least).collect();
    all.iter_mut().zip(kept).filter(|(_, kept)| *kept).map(|(part, _)| part).take(MOST)
}

/// When the calls of a rank begin that are known one by one, and whether they belong to a part.
fn calls(rank: &Rank, is_in: &dyn Fn(&Rank, u32) -> bool) -> Vec<(u64, bool)> {
    ideal::calls(rank).map(|row| (row.begin, is_in(rank, row.key.context))).collect()
}
