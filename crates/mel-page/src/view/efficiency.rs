//! How well the ranks are used: a sentence, and each efficiency with what it means; those of phases beside them.

use mel_log::profile::Efficiencies;
use mel_log::profile::efficiency::Efficiency;
use mel_log::profile::phases::name_of;
use mel_log::profile::quantities::run::{DEPTHS, EFFICIENCY};
use mel_log::profile::text::efficiency::in_words;
use serde::Serialize;

/// What is shown.
#[derive(Debug, Serialize)]
pub struct View {
    /// All in a sentence.
    pub told: String,
    /// Those of the run, in the order of the catalogue.
    pub of: Vec<Row>,
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
    /// The same of each phase for which it is known.
    pub phases: Vec<OfPhase>,
}

/// An efficiency of a phase.
#[derive(Debug, Serialize)]
pub struct OfPhase {
    /// The name of the phase.
    pub name: String,
    /// From 0 to 1.
    pub share: f64,
}

/// What is shown of the efficiencies of a run that has phases of these names.
pub(super) fn view(all: &Efficiencies, names: &[String]) -> View {
    let rows = EFFICIENCY.iter().zip(DEPTHS).filter_map(|(quantity, depth)| {
        let of_phase = |phase: &mel_log::profile::efficiency::OfPhase| {
            let name = name_of(names, phase.phase).to_owned();
            Some(OfPhase { name, share: (quantity.of)(&phase.of)? })
        };
        let row = |share| Row {
            name: quantity.name.replace('_', " "),
            share,
            depth,
            means: quantity.sentence,
            phases: all.phases.iter().filter_map(of_phase).collect(),
        };
        (quantity.of)(&all.whole).map(row)
    });
    View { told: told(&all.whole), of: rows.collect(), all: all.clone(), names: names.to_vec() }
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
