//! Performance variables that the run samples (`mel run --vars`): their values as columns behind the [quantities](super::quantities), and
//! their curves.

use std::collections::{HashMap, HashSet};

use mel_log::choice::Choice;
use mel_log::profile::text::layout::shortened;
use mel_log::profile::variables::VariableProfile;
use mel_log::profile::{Profile, RankProfile};
use mel_log::settings::VARS;
use serde::Serialize;

use super::frame::Over;
use super::quantities::short;
use super::reading::{RankReading, Stage};

/// The most variables that are shown.
pub const MOST: usize = 40;
/// The most columns of a name.
const NAME: usize = 36;
/// The communicator that a name need not have.
const WORLD: &str = "MPI_COMM_WORLD";

/// A variable of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VariableReading {
    /// Its name.
    pub name: String,
    /// The communicator or window that it is read for; absent for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Its value at the last sample.
    pub value: f64,
    /// When that was taken, in seconds since the rank has called `MPI_Init*`.
    pub at_s: f64,
    /// Of one that counts up, by how much it has grown per second: since the reading before, or between the last two samples that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_s: Option<f64>,
    /// What is the same on all ranks.
    #[serde(skip)]
    about: About,
    /// Times and values of some samples.
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
}

/// What a variable is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// Its class, as MPI has it, in lower case.
    pub class: String,
    /// What it means.
    pub description: String,
    /// Whether it counts up, so that what it has grown by per second is shown.
    pub counts: bool,
}

impl VariableReading {
    fn of(of: &VariableProfile) -> VariableReading {
        let about =
            About { class: of.class.clone(), description: of.description.clone(), counts: of.counts() };
        VariableReading {
            name: of.name.clone(),
            object: of.object.clone(),
            value: of.last,
            at_s: of.last_s,
            per_s: about
                .counts
                .then(|| of.curve.windows(2).last().and_then(|two| rate(two[0], two[1])))
                .flatten(),
            about,
            curve: of.curve.clone(),
        }
    }

    /// The number that is shown.
    pub fn shown(&self) -> Option<f64> {
        if self.about.counts { self.per_s } else { Some(self.value) }
    }

    /// The same over time, the latest last.
    pub fn over_time(&self) -> Vec<Option<f64>> {
        match self.about.counts {
            true => self.curve.windows(2).map(|two| rate(two[0], two[1])).collect(),
            false => self.curve.iter().map(|(_, value)| Some(*value)).collect(),
        }
    }

    /// How long that is, in seconds.
    pub fn lasts_s(&self) -> f64 {
        self.curve.first().zip(self.curve.last()).map_or(0.0, |(first, last)| last.0 - first.0)
    }

    fn is(&self, column: &Column) -> bool {
        self.name == column.name && self.object == column.object
    }
}

/// By how much something has grown per second between two samples; nothing is less than none.
fn rate(before: (f64, f64), now: (f64, f64)) -> Option<f64> {
    (now.0 > before.0).then(|| ((now.1 - before.1) / (now.0 - before.0)).max(0.0))
}

/// The variables of a rank that are wanted: whole ones, and not their elements.
pub fn of_rank(rank: &RankProfile, wanted: &Choice) -> Vec<VariableReading> {
    let shown = |of: &&VariableProfile| of.element.is_none() && of.samples > 0 && wanted.wants(&[&of.name]);
    rank.variables.iter().filter(shown).map(VariableReading::of).collect()
}

/// What has grown since the reading before.
pub fn since(now: &mut [VariableReading], before: &RankReading) {
    let earlier: HashMap<(&str, &str), &VariableReading> =
        before.variables.iter().map(|of| ((&*of.name, &*of.object), of)).collect();
    for of in now.iter_mut().filter(|of| of.about.counts) {
        let before = earlier.get(&(&*of.name, &*of.object));
        let grown = before.and_then(|before| rate((before.at_s, before.value), (of.at_s, of.value)));
        of.per_s = grown.or(of.per_s);
    }
}

/// A variable as a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The communicator or window that it is read for; absent for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// What it is.
    #[serde(flatten)]
    pub about: About,
    /// The number that is shown, over the ranks.
    pub over: Option<Over>,
}

impl Column {
    /// The head of the column: the name, and the object if it is not all processes.
    pub fn head(&self) -> String {
        let whole = match &*self.object {
            "" | WORLD => self.name.clone(),
            object => format!("{}, {object}", self.name),
        };
        shortened(&whole, NAME)
    }

    /// What its numbers are.
    pub fn meaning(&self) -> String {
        let per_second = if self.about.counts { ", per second" } else { "" };
        let Column { about: About { class, description, .. }, .. } = self;
        if description.is_empty() {
            format!("{class}{per_second}")
        } else {
            format!("{description} ({class}{per_second})")
        }
    }

    /// A number of it as text.
    pub fn text(&self, value: Option<f64>) -> String {
        let per_second = if self.about.counts { "/s" } else { "" };
        value.map_or("-".into(), |value| short(value) + per_second)
    }

    /// Its number on a rank.
    pub fn value(&self, rank: &RankReading) -> Option<f64> {
        self.of(rank)?.shown()
    }

    /// What is known of it on a rank.
    pub fn of<'a>(&self, rank: &'a RankReading) -> Option<&'a VariableReading> {
        rank.variables.iter().find(|of| of.is(self))
    }
}

/// The columns of these ranks, in the order of the first rank that has each.
pub fn columns(ranks: &[RankReading]) -> Vec<Column> {
    let mut seen = HashSet::new();
    let all = ranks.iter().flat_map(|rank| &rank.variables);
    let new = all.filter(|of| seen.insert((&*of.name, &*of.object)));
    let column = |of: &VariableReading| Column {
        name: of.name.clone(),
        object: of.object.clone(),
        about: of.about.clone(),
        over: None,
    };
    new.map(column).take(MOST).collect()
}

/// A sentence where none of the variables that were asked for is sampled.
pub fn missing(profile: &Profile, wanted: &Choice, stage: Stage) -> Option<String> {
    let sampled = || profile.ranks.iter().flat_map(|rank| &rank.variables);
    if wanted.is_all() || stage == Stage::Waiting || sampled().any(|of| wanted.wants(&[&of.name])) {
        return None;
    }
    let given = wanted.given().0.join(",");
    let option = VARS.option.as_ref().map_or("vars", |option| option.long);
    let mut names: Vec<&str> = sampled().map(|of| &*of.name).collect();
    names.sort_unstable();
    names.dedup();
    Some(match &names[..] {
        [] => format!("the run samples no variables: start it with mel run --{option} {given}"),
        names => format!("the run samples no variable {given}, but {}", names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str, class: &str, curve: &[(f64, f64)]) -> VariableProfile {
        let (last_s, last) = *curve.last().unwrap();
        VariableProfile {
            name: name.into(),
            class: class.into(),
            object: WORLD.into(),
            samples: curve.len() as u64,
            last_s,
            last,
            curve: curve.to_vec(),
            ..VariableProfile::default()
        }
    }

    fn rank(last: f64) -> RankReading {
        let variables = vec![
            profile("mel_unexpected_queue_length", "level", &[(0.0, 1.0), (1.0, 4.0)]),
            profile("mel_bytes_sent", "counter", &[(0.0, 0.0), (1.0, 100.0), (last, 100.0 * last)]),
            VariableProfile { element: Some(1), ..profile("array", "level", &[(0.0, 1.0)]) },
        ];
        let rank = RankProfile { variables, ..RankProfile::default() };
        RankReading { variables: of_rank(&rank, &Choice::default()), ..RankReading::default() }
    }

    #[test]
    fn levels_are_shown_as_they_are_and_what_counts_up_per_second() {
        let (before, mut now) = (rank(2.0), rank(4.0));
        let columns = columns(&[now.clone()]);
        assert_eq!(columns.len(), 2, "no elements");
        assert_eq!(columns[0].text(columns[0].value(&now)), "4");
        since(&mut now.variables, &before);
        assert_eq!(
            (columns[1].value(&now), &*columns[1].text(columns[1].value(&now))),
            (Some(100.0), "100/s")
        );
        assert_eq!(now.variables[1].over_time(), [Some(100.0); 2]);
        assert_eq!(
            (now.variables[0].over_time(), now.variables[1].lasts_s()),
            (vec![Some(1.0), Some(4.0)], 4.0)
        );
        // Without a new sample the last two are what is known.
        let mut same = rank(2.0);
        since(&mut same.variables, &before);
        assert_eq!(same.variables[1].per_s, Some(100.0));
    }

    #[test]
    fn heads_have_the_object_where_it_is_not_the_world() {
        let mut column = columns(&[rank(2.0)]).swap_remove(0);
        assert_eq!(column.head(), "mel_unexpected_queue_length");
        column.object = "rows".into();
        assert_eq!(column.head(), "mel_unexpected_queue_length, rows");
        column.object = "a communicator with a long name".into();
        assert!(column.head().chars().count() <= NAME);
    }

    #[test]
    fn what_is_not_sampled_is_said() {
        let of = |names: &[&str]| Profile {
            ranks: vec![RankProfile {
                variables: names.iter().map(|name| profile(name, "level", &[(0.0, 1.0)])).collect(),
                ..RankProfile::default()
            }],
            ..Profile::default()
        };
        let wanted = Choice::new("mel_p*", "").unwrap();
        let said = |names: &[&str]| missing(&of(names), &wanted, Stage::Running);
        assert_eq!(said(&["mel_posted_queue_length"]), None);
        assert_eq!(said(&["b", "a"]).unwrap(), "the run samples no variable mel_p*, but a, b");
        assert!(said(&[]).unwrap().contains("mel run --vars mel_p*"));
        assert_eq!(missing(&of(&[]), &Choice::default(), Stage::Running), None);
    }
}
