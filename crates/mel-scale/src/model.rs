//! Models of how a time depends on the number of ranks: the performance model normal form with one term (Calotoiu and others, Using
//! Automated Performance Modeling to Find Scalability Bugs in Complex Codes, SC 2013), f(p) = c + a·t(p).
//!
//! Of the terms the one is chosen that says best what is left out (leave one size out, mean relative error), and of those that say it
//! about as well the one that grows least.

use std::fmt;

use serde::Serialize;

/// How a time grows with the number of ranks p.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// It shrinks: 1 / p.
    Inverse,
    /// It stays.
    Constant,
    /// log2 p.
    Log,
    /// p.
    Linear,
    /// p log2 p.
    LinearLog,
    /// p².
    Square,
}

impl Term {
    /// All, from the one that shrinks to the one that grows most.
    pub const ALL: [Term; 6] =
        [Term::Inverse, Term::Constant, Term::Log, Term::Linear, Term::LinearLog, Term::Square];

    /// Its value for this number of ranks.
    #[must_use]
    pub fn at(self, ranks: f64) -> f64 {
        match self {
            Term::Inverse => 1.0 / ranks,
            Term::Constant => 1.0,
            Term::Log => ranks.log2(),
            Term::Linear => ranks,
            Term::LinearLog => ranks * ranks.log2(),
            Term::Square => ranks * ranks,
        }
    }

    /// Whether it grows with the number of ranks.
    #[must_use]
    pub fn grows(self) -> bool {
        self > Term::Constant
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Term::Inverse => "1 / p",
            Term::Constant => "constant",
            Term::Log => "log p",
            Term::Linear => "p",
            Term::LinearLog => "p log p",
            Term::Square => "p^2",
        })
    }
}

/// A time in seconds as a function of the number of ranks: `constant` + `factor` × term.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Model {
    /// What does not depend on the number of ranks, in seconds.
    pub constant: f64,
    /// Times the term, in seconds.
    pub factor: f64,
    /// What it grows with.
    pub term: Term,
    /// How far the model is from a size that it has not seen, as a share: the mean over all sizes.
    pub error: f64,
}

/// A term that explains more is chosen only where it leaves less than this part of the error.
const CLEARLY: f64 = 0.7;
/// A model that is this good is good enough: what is closer is noise.
const GOOD: f64 = 0.03;

/// A model that is worse says nothing of sizes that were not measured.
const WORST: f64 = 0.25;

impl Model {
    /// The time of so many ranks, in seconds.
    #[must_use]
    pub fn at(&self, ranks: f64) -> f64 {
        self.constant + if self.factor == 0.0 { 0.0 } else { self.factor * self.term.at(ranks) }
    }

    /// The model of these times, in seconds, by the number of ranks; none of fewer than three sizes, where nothing was
    /// measured, and where no term fits.
    #[must_use]
    pub fn of(points: &[(f64, f64)]) -> Option<Model> {
        if points.len() < 3 || points.iter().all(|(_, time)| *time <= 0.0) {
            return None;
        }
        let mut tried: Vec<Model> = Term::ALL
            .iter()
            .filter_map(|term| validated(points, *term))
            .filter(|of| of.error.is_finite())
            .collect();
        // What grows least comes first, where as much is explained; nothing is simpler than a constant.
        tried.sort_by_key(|of| (of.term != Term::Constant, of.term));
        let mut best: Option<Model> = None;
        for model in tried {
            let is_better = best.is_none_or(|best| best.error > GOOD && model.error < best.error * CLEARLY);
            if is_better {
                best = Some(model);
            }
        }
        best.filter(|best| best.error <= WORST)
    }
}

/// The model with a term, and how well it says what is left out.
fn validated(points: &[(f64, f64)], term: Term) -> Option<Model> {
    let model = fit(points, term)?;
    let mut error = 0.0;
    for left_out in 0..points.len() {
        let mut rest = points.to_vec();
        let (ranks, time) = rest.remove(left_out);
        let said = fit(&rest, term)?.at(ranks);
        // Symmetric, so that too little is as wrong as too much.
        let size = (said.abs() + time.abs()) / 2.0;
        error += if size > 0.0 { (said - time).abs() / size } else { 0.0 };
    }
    Some(Model { error: error / points.len() as f64, ..model })
}

/// Least squares of relative differences; neither part is below zero. None where the term has no part in it.
fn fit(points: &[(f64, f64)], term: Term) -> Option<Model> {
    let least = points.iter().map(|(_, time)| *time).fold(0.0, f64::max) * 1e-3;
    let weighted = |(ranks, time): &(f64, f64)| {
        let weight = time.max(least).max(f64::MIN_POSITIVE).powi(-2);
        (weight, if term == Term::Constant { 0.0 } else { term.at(*ranks) }, *time)
    };
    let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (weight, of_term, time) in points.iter().map(weighted) {
        w += weight;
        x += weight * of_term;
        y += weight * time;
        xx += weight * of_term * of_term;
        xy += weight * of_term * time;
    }
    let of = |constant, factor| Some(Model { constant, factor, term, error: f64::INFINITY });
    if term == Term::Constant {
        return of(y / w, 0.0);
    }
    let divisor = w * xx - x * x;
    let factor = if divisor.abs() > f64::EPSILON * w * xx { (w * xy - x * y) / divisor } else { 0.0 };
    let constant = (y - factor * x) / w;
    match (constant >= 0.0, factor > 0.0) {
        (_, false) => None,
        (true, true) => of(constant, factor),
        (false, true) => of(0.0, xy / xx),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn measured(term: Term, constant: f64, factor: f64, noise: &[f64]) -> Vec<(f64, f64)> {
        let sizes = [2.0, 4.0, 8.0, 16.0, 32.0];
        let time = |(ranks, noise): (&f64, &f64)| {
            let of_term = if term == Term::Constant { 0.0 } else { factor * term.at(*ranks) };
            (*ranks, (constant + of_term) * (1.0 + noise))
        };
        sizes.iter().zip(noise).map(time).collect()
    }

    #[test]
    fn terms_are_found_in_times_that_are_theirs() {
        for term in Term::ALL {
            let found = Model::of(&measured(term, 0.01, 0.02, &[0.0; 5])).unwrap();
            assert_eq!(found.term, term, "{found:?}");
            assert!(
                found.error < 1e-6
                    && (found.at(64.0) / (0.01 + 0.02 * term.at(64.0) * f64::from(term != Term::Constant))
                        - 1.0)
                        .abs()
                        < 1e-6
            );
        }
    }

    #[test]
    fn of_two_sizes_nothing_is_said() {
        assert_eq!(Model::of(&[(2.0, 1.0), (4.0, 2.0)]), None);
        assert_eq!(Model::of(&[(2.0, 0.0), (4.0, 0.0), (8.0, 0.0)]), None);
    }

    #[test]
    fn where_nothing_fits_nothing_is_said() {
        assert_eq!(Model::of(&[(2.0, 1.0), (4.0, 0.01), (8.0, 3.0), (16.0, 0.02)]), None);
    }

    #[test]
    fn four_sizes_up_to_sixteen_are_enough() {
        for term in [Term::Log, Term::Linear, Term::Square] {
            let points = &measured(term, 0.0, 0.01, &[0.01, -0.01, 0.01, -0.01, 0.0])[..4];
            assert_eq!(Model::of(points).map(|found| found.term), Some(term), "{points:?}");
        }
    }

    proptest! {
        #[test]
        fn what_stays_is_said_to_stay(noise in proptest::collection::vec(-0.02..0.02f64, 5), constant in 1e-3..10.0f64) {
            let found = Model::of(&measured(Term::Constant, constant, 0.0, &noise)).unwrap();
            prop_assert_eq!(found.term, Term::Constant);
        }

        #[test]
        fn models_are_never_negative_and_never_fail(times in proptest::collection::vec(0.0..1e3f64, 3..8)) {
            let points: Vec<(f64, f64)> = times.iter().enumerate().map(|(at, time)| ((at * 3 + 1) as f64, *time)).collect();
            if let Some(found) = Model::of(&points) {
                for ranks in [1.0, 7.0, 1e6] {
                    prop_assert!(found.at(ranks) >= 0.0 && found.at(ranks).is_finite());
                }
            }
        }

        #[test]
        fn noise_of_a_few_percent_hides_no_square(noise in proptest::collection::vec(-0.03..0.03f64, 5)) {
            let found = Model::of(&measured(Term::Square, 0.001, 0.001, &noise)).unwrap();
            prop_assert_eq!(found.term, Term::Square);
        }
    }
}
