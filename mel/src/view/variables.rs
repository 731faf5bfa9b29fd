//! Performance variables over time, from the profile.

use mel_log::profile::Profile;
use serde::Serialize;

/// The most variables that are shown: those that change most often.
const MOST: usize = 40;
/// The most curves of a variable: of more ranks, those that are lowest and highest at the end.
const MOST_RANKS: usize = 16;

/// A variable on one object.
#[derive(Debug, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// What it means.
    pub description: String,
    /// The communicator or window; empty for none.
    pub object: String,
    /// Whether it counts up: what differs is what has been counted since the sample before.
    pub counts: bool,
    /// Of how many ranks there are samples.
    pub of_ranks: usize,
    /// Some of them, by rank.
    pub curves: Vec<Curve>,
}

/// The values of a rank.
#[derive(Debug, Serialize)]
pub struct Curve {
    /// The rank.
    pub rank: u32,
    /// Seconds since `MPI_Init*`, and values.
    pub points: Vec<(f64, f64)>,
}

/// What there is to show: variables that were something else than zero at some time.
pub fn variables(profile: &Profile) -> Vec<Variable> {
    let mut all: Vec<Variable> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for rank in &profile.ranks {
        for of in rank.variables.iter().filter(|of| of.element.is_none() && !of.curve.is_empty()) {
            let place = *places.entry((&of.name, &of.class, &of.object)).or_insert_with(|| {
                all.push(Variable {
                    name: of.name.clone(),
                    class: of.class.clone(),
                    description: of.description.clone(),
                    object: of.object.clone(),
                    counts: of.counts(),
                    of_ranks: 0,
                    curves: Vec::new(),
                });
                all.len() - 1
            });
            all[place].curves.push(Curve { rank: rank.rank, points: of.curve.clone() });
        }
    }
    all.retain(|of| of.curves.iter().flat_map(|curve| &curve.points).any(|(_, value)| *value != 0.0));
    let changes = |of: &Variable| -> usize {
        of.curves.iter().map(|curve| curve.points.windows(2).filter(|two| two[0].1 != two[1].1).count()).sum()
    };
    if all.len() > MOST {
        let mut order: Vec<usize> = all.iter().map(changes).collect();
        order.sort_unstable();
        let least = order[order.len() - MOST];
        all.retain(|of| changes(of) >= least);
        all.truncate(MOST);
    }
    for of in &mut all {
        of.of_ranks = of.curves.len();
        if of.curves.len() > MOST_RANKS {
            let end = |curve: &Curve| curve.points.last().map_or(0.0, |(_, value)| *value);
            of.curves.sort_by(|a, b| end(a).total_cmp(&end(b)));
            let highest = of.curves.len() - MOST_RANKS / 2;
            of.curves.drain(MOST_RANKS / 2..highest);
            of.curves.sort_by_key(|curve| curve.rank);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{RankProfile, VariableProfile};

    #[test]
    fn of_many_ranks_the_lowest_and_the_highest_are_shown_and_zeros_are_not() {
        let variable = |name: &str, value: f64| VariableProfile {
            name: name.into(),
            samples: 2,
            curve: vec![(0.0, 0.0), (1.0, value)],
            ..VariableProfile::default()
        };
        let ranks = (0..100).map(|rank| RankProfile {
            rank,
            variables: vec![variable("length", f64::from(rank)), variable("zero", 0.0)],
            ..RankProfile::default()
        });
        let shown = variables(&Profile { ranks: ranks.collect(), ..Profile::default() });
        assert_eq!((shown.len(), shown[0].of_ranks), (1, 100));
        let ranks: Vec<u32> = shown[0].curves.iter().map(|curve| curve.rank).collect();
        assert_eq!(ranks, (0..8).chain(92..100).collect::<Vec<_>>());
    }
}
