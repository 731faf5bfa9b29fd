//! Performance variables over time: all samples from the event logs where those have any, beside the timeline; else some, from the profile.

use mel_log::definitions::SampledVariable;
use mel_log::profile::Profile;
use serde::{Serialize, Serializer};

use super::table::columns;

/// The most variables that are shown: those that change most often.
const MOST: usize = 40;
/// The most curves of a variable: of more ranks, those that are lowest and highest at the end.
const MOST_RANKS: usize = 16;
/// About so many points of all curves together.
const MOST_POINTS: usize = 60_000;

/// A variable on one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Whether times are those of the timeline, and not each rank's own since `MPI_Init*`.
    pub on_timeline: bool,
    /// Of how many ranks there are samples.
    pub of_ranks: usize,
    /// Some of them, by rank.
    pub curves: Vec<Curve>,
}

/// The values of a rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The rank.
    pub rank: u32,
    /// Times in seconds, and values: a table of [`Point`].
    #[serde(serialize_with = "points")]
    pub points: Vec<(f64, f64)>,
}

/// A value at a time.
#[derive(Debug, Serialize)]
pub struct Point {
    /// The time, in seconds.
    pub time_s: f64,
    /// The value.
    pub value: f64,
}

fn points<S: Serializer>(points: &[(f64, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let points: Vec<Point> = points.iter().map(|&(time_s, value)| Point { time_s, value }).collect();
    columns(&points, serializer)
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
                    on_timeline: false,
                    of_ranks: 0,
                    curves: Vec::new(),
                });
                all.len() - 1
            });
            all[place].curves.push(Curve { rank: rank.rank, points: of.curve.clone() });
        }
    }
    few(all)
}

/// What was sampled of a rank, as its log has it.
pub(super) type OfRank = Vec<(SampledVariable, Thinned)>;

/// The same from the event logs of these ranks.
pub(super) fn of_logs(ranks: Vec<(u32, OfRank)>) -> Vec<Variable> {
    let mut all: Vec<Variable> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (rank, variables) in ranks {
        for (of, points) in variables {
            let SampledVariable { name, class, description, object, .. } = &of;
            let place = *places.entry((name.clone(), class.clone(), object.clone())).or_insert_with(|| {
                all.push(Variable {
                    name: name.clone(),
                    class: class.clone(),
                    description: description.clone(),
                    object: object.clone(),
                    counts: of.counts(),
                    on_timeline: true,
                    of_ranks: 0,
                    curves: Vec::new(),
                });
                all.len() - 1
            });
            all[place].curves.push(Curve { rank, points: points.points() });
        }
    }
    few(all)
}

/// How many points a curve may have where so many ranks have some.
pub(super) fn room(ranks: usize) -> usize {
    (MOST_POINTS / (MOST * ranks.clamp(1, MOST_RANKS))).clamp(128, 2048)
}

/// A curve with room for so many points: one in so many samples, and the last.
#[derive(Debug, Default)]
pub(super) struct Thinned {
    points: Vec<(f64, f64)>,
    room: usize,
    stride: usize,
    samples: usize,
    last: Option<(f64, f64)>,
}

impl Thinned {
    pub(super) fn new(room: usize) -> Thinned {
        Thinned { room: room.max(2), stride: 1, ..Thinned::default() }
    }

    /// A sample, later than those before: seconds, and the value.
    pub(super) fn add(&mut self, time: f64, value: f64) {
        if self.samples.is_multiple_of(self.stride) {
            if self.points.len() >= self.room {
                let mut place = 0;
                self.points.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride *= 2;
            }
            if self.samples.is_multiple_of(self.stride) {
                self.points.push((time, value));
            }
        }
        self.samples += 1;
        self.last = Some((time, value));
    }

    fn points(self) -> Vec<(f64, f64)> {
        let Thinned { mut points, last, .. } = self;
        points.extend(last.filter(|last| points.last() != Some(last)));
        points
    }
}

/// Those that were something else than zero at some time, and of many of them those that change most often.
fn few(mut all: Vec<Variable>) -> Vec<Variable> {
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
    fn a_curve_of_any_length_has_room_and_its_ends() {
        for samples in [1, 2, 7, 128, 129, 1000, 12_345] {
            let mut curve = Thinned::new(128);
            (0..samples).for_each(|number| curve.add(f64::from(number), f64::from(2 * number)));
            let points = curve.points();
            let end = f64::from(samples - 1);
            assert_eq!((points[0], points[points.len() - 1]), ((0.0, 0.0), (end, 2.0 * end)), "{samples}");
            assert!(points.len() <= 129 && points.len() >= (samples as usize).min(64), "{samples}");
            assert!(points.is_sorted_by(|a, b| a.0 < b.0), "{samples}");
        }
    }

    #[test]
    fn logs_have_a_variable_for_each_object() {
        let variable = |object: &str| SampledVariable {
            name: "length".into(),
            class: "level".into(),
            object: object.into(),
            ..SampledVariable::default()
        };
        let curve = |value| {
            let mut curve = Thinned::new(10);
            curve.add(1.0, value);
            curve
        };
        let of_rank = |value| vec![(variable("a"), curve(value)), (variable("b"), curve(0.0))];
        let all = of_logs(vec![(0, of_rank(1.0)), (3, of_rank(2.0))]);
        assert_eq!((all.len(), all[0].object.as_str(), all[0].on_timeline), (1, "a", true));
        let curves: Vec<(u32, f64)> =
            all[0].curves.iter().map(|curve| (curve.rank, curve.points[0].1)).collect();
        assert_eq!(curves, [(0, 1.0), (3, 2.0)]);
    }

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
