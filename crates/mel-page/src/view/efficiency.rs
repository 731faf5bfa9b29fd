//! How well the ranks are used: a sentence, and each efficiency with what it means; those of phases and regions beside them.

use mel_log::profile::Efficiencies;
use mel_log::profile::efficiency::Efficiency;
use mel_log::profile::quantities::run::{DEPTHS, EFFICIENCY};
use mel_log::profile::text::efficiency::{self, in_words};
use serde::Serialize;

/// What is shown.
#[derive(Debug, Serialize)]
pub struct View {
    /// All in a sentence.
    pub told: String,
    /// Those of the run, in the order of the catalogue.
    pub of: Vec<Row>,
    /// Those of parts of the run.
    pub parts: Vec<Parts>,
    #[serde(skip)]
    pub(super) all: Efficiencies,
    #[serde(skip)]
    pub(super) names: Vec<String>,
}

/// One efficiency.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// From 0 to 1.
    pub share: f64,
    /// How deep it is in the tree, in which each is the product of those one deeper that follow it.
    pub depth: u8,
    /// What it means.
    pub means: &'static str,
}

/// Parts of the run, of one kind.
#[derive(Debug, Serialize)]
pub struct Parts {
    /// What each of them is.
    pub what: &'static str,
    /// What a row has, by name.
    pub head: Vec<String>,
    /// A row for each.
    pub rows: Vec<Part>,
}

/// A part of the run.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// How deep it lies in others.
    pub depth: usize,
    /// Efficiencies, from 0 to 1, as far as they are known.
    pub shares: Vec<Option<f64>>,
}

/// What is shown of the efficiencies of a run that has phases of these names.
pub(super) fn view(all: &Efficiencies, names: &[String]) -> View {
    let rows = EFFICIENCY.iter().zip(DEPTHS).filter_map(|(quantity, depth)| {
        let row =
            |share| Row { name: quantity.name.replace('_', " "), share, depth, means: quantity.sentence };
        (quantity.of)(&all.whole).map(row)
    });
    let parts = efficiency::parts(all, names).into_iter().map(of_kind).collect();
    View { told: told(&all.whole), of: rows.collect(), parts, all: all.clone(), names: names.to_vec() }
}

/// Parts of one kind, without what nothing is known for.
fn of_kind(parts: efficiency::Parts<'_>) -> Parts {
    let known: Vec<_> = parts.known().collect();
    let row = |&(name, depth, of): &(&str, usize, &Efficiency)| Part {
        name: name.to_owned(),
        depth,
        shares: known.iter().map(|quantity| (quantity.of)(of)).collect(),
    };
    Parts {
        what: parts.what,
        head: known.iter().map(|quantity| quantity.name.replace('_', " ")).collect(),
        rows: parts.of.iter().map(row).collect(),
    }
}

/// With a capital and a full stop.
fn told(of: &Efficiency) -> String {
    mel_log::profile::text::verdict::sentence(&in_words(of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{Basis, sample};

    #[test]
    fn what_is_not_known_is_not_shown() {
        let all = sample::late_rank(4, 1).efficiency.unwrap();
        let names: Vec<String> = view(&all, &[]).of.into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["parallel efficiency", "load balance", "communication efficiency"]);
        let exact = Efficiencies { whole: all.whole.with_ideal(0.995, Basis::Exact), ..all };
        let shown = view(&exact, &[]);
        assert_eq!((shown.of.len(), shown.of[4].share), (5, 0.995));
        let depths: Vec<u8> = shown.of.iter().map(|row| row.depth).collect();
        assert_eq!(depths, [0, 1, 1, 2, 2]);
        assert!(shown.told.starts_with("Parallel efficiency 54.0 %"), "{}", shown.told);
    }
}
