//! What a network without any cost would leave of each phase and region, from single waits: estimated.

use std::collections::HashMap;

use mel_log::profile::efficiency::OfRegion;
use mel_log::profile::{Basis, Efficiencies, Efficiency, RankProfile};

use crate::ideal::InPart;
use crate::losses::Losses;
use crate::regions::{paths, with_outer};
use crate::run::{Rank, Run};

/// The estimate is made for at most this many phases, and for as many regions, those in which ranks compute longest: the program waits for it.
const MOST: usize = 16;

/// Adds it to what these ranks have observed.
pub(crate) fn add(
    all: &mut Efficiencies,
    losses: &Losses,
    run: &Run,
    (phases, ranks): (&[String], &[RankProfile]),
) {
    let Some(ideal) = losses.ideal.as_ref().filter(|ideal| ideal.has_path()) else { return };
    let calls = ideal.calls(run);
    let lost_s = |is_in: &dyn Fn(u32, u32) -> bool| -> f64 {
        let of = losses.all.iter().filter(|loss| loss.rule.is_wait() && is_in(loss.rank, loss.context));
        of.map(|loss| loss.seconds).sum()
    };
    let lost_in_all_s = lost_s(&|_, _| true);
    let with_ideal = |of: &mut Efficiency, is_in: &dyn Fn(u32, u32) -> bool, computing_s| {
        let part = InPart { is_in, run_s: of.run_s, computing_s, lost_s: lost_s(is_in), lost_in_all_s };
        if let Some(ideal_s) = ideal.seconds_in(&calls, &part) {
            *of = std::mem::take(of).with_ideal(ideal_s, Basis::Estimated);
        }
    };
    for of in longest(&mut all.phases, |of| &of.of) {
        let Some(name) = phases.get(of.phase as usize) else { continue };
        let Some(place) = run.phases.iter().position(|known| known == name) else { continue };
        let is_in = |rank, context| {
            run.rank(rank).and_then(|rank| rank.context(context)).is_some_and(|of| of.phase as usize == place)
        };
        let computing_s = |rank: &RankProfile| {
            let of = rank.phases.iter().find(|known| known.phase == of.phase)?;
            Some((rank.rank, of.computing_s?))
        };
        with_ideal(&mut of.of, &is_in, ranks.iter().filter_map(computing_s).collect());
    }
    // By rank and context.
    let paths_of = |rank: &Rank| -> Vec<Option<String>> {
        let paths = paths(&rank.rows.definitions);
        let path = |region: u16| if region == 0 { Some("") } else { paths.get(&region).copied() };
        rank.rows.contexts.iter().map(|of| path(of.key.region).map(str::to_owned)).collect()
    };
    let has_several = |of: &OfRegion| {
        let known = ranks.iter().flat_map(|rank| &rank.regions);
        known.filter(|known| known.region == of.region).any(|known| known.threads > 1)
    };
    let paths_of: HashMap<u32, Vec<Option<String>>> = match all.regions.is_empty() {
        true => HashMap::new(),
        false => run.ranks.iter().map(|rank| (rank.rank, paths_of(rank))).collect(),
    };
    for of in longest(&mut all.regions, |of| &of.of) {
        // What the threads of a rank do together is on no path.
        if has_several(of) {
            continue;
        }
        let is_in = |rank, context: u32| {
            let path = paths_of.get(&rank).and_then(|all| all.get(context as usize)?.as_deref());
            path.is_some_and(|path| with_outer(path).any(|outer| outer == of.region))
        };
        let computing_s = |rank: &RankProfile| {
            Some((rank.rank, rank.regions.iter().find(|known| known.region == of.region)?.computing_s))
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
