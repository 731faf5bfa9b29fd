//! Settings that each make the program faster, tried together: which ones.
//!
//! It is the best one of each rule, the best of all first. What sets a variable to another value than one before it is left out. They are
//! compared with the best one alone and not with nothing: against nothing they would be faster, too, where only one of them does it.

use std::collections::BTreeMap;

use super::candidates::Candidate;
use super::{Trial, best_of};

/// Several settings at once.
#[derive(Clone, Debug)]
pub struct Together {
    /// The places of its settings among the trials: the best first, and no fewer than two.
    pub of: Vec<usize>,
    /// The places of those that were left out, because they set a variable otherwise.
    pub conflicting: Vec<usize>,
    /// What came of it. The first time of each of its pairs is with the best setting alone.
    pub trial: Trial,
}

impl Together {
    /// The place of the setting that it is compared with.
    pub fn best(&self) -> usize {
        self.of[0]
    }

    /// `settings 1, 2 and 4`, as people count.
    pub fn names(&self) -> String {
        let mut numbers: Vec<usize> = self.of.iter().map(|place| place + 1).collect();
        numbers.sort_unstable();
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let (last, others) = numbers.split_last().map_or((String::new(), &[][..]), |(l, o)| (l.clone(), o));
        format!("settings {} and {last}", others.join(", "))
    }
}

/// Whether some of them may come to be tried together: the confidence of all statements is widened for that beforehand.
pub fn is_possible(trials: &[Trial]) -> bool {
    let two = |a: usize, b: usize| {
        !of_one_rule(trials, a, b)
            && matches!(join(&trials[a].candidate, &trials[b].candidate), Join::Both(_))
    };
    (0..trials.len()).any(|a| (0..a).any(|b| two(a, b)))
}

/// What is to be tried together, after so many statements about settings were made possible; none where fewer than two are faster.
pub fn choose(trials: &[Trial], settings: usize) -> Option<Together> {
    let best = best_of(trials, settings, |_| true)?;
    let is_best_of_its_rule = |place: &usize| {
        !of_one_rule(trials, *place, best)
            && best_of(trials, settings, |other| of_one_rule(trials, *place, other)) == Some(*place)
    };
    let ratio = |place: &usize| trials[*place].difference(settings).map_or(1.0, |found| found.ratio);
    let mut others: Vec<usize> = (0..trials.len()).filter(is_best_of_its_rule).collect();
    others.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (mut of, mut conflicting, mut all) = (vec![best], Vec::new(), trials[best].candidate.clone());
    for place in others {
        match join(&all, &trials[place].candidate) {
            Join::Both(both) => (of, all) = ([of, vec![place]].concat(), both),
            Join::Conflict => conflicting.push(place),
            Join::OneHasAll => {}
        }
    }
    (of.len() > 1).then(|| Together { of, conflicting, trial: Trial::new(all) })
}

/// Whether two trials are of one rule. Each setting of the user stands for itself.
fn of_one_rule(trials: &[Trial], a: usize, b: usize) -> bool {
    let rule = |place: usize| trials[place].candidate.rule.as_ref();
    a == b || (rule(a).is_some() && rule(a) == rule(b))
}

enum Join {
    Both(Candidate),
    /// A variable would need two values.
    Conflict,
    /// One of them has all that the other sets.
    OneHasAll,
}

fn join(a: &Candidate, b: &Candidate) -> Join {
    // By what is set in the environment: a variable may be written in two ways.
    let (of_a, of_b): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (a.environment().into_iter().collect(), b.environment().into_iter().collect());
    if of_a.iter().any(|(name, value)| of_b.get(name).is_some_and(|other| other != value)) {
        return Join::Conflict;
    }
    let new = b.setting.iter().zip(b.environment()).filter(|(_, (name, _))| !of_a.contains_key(name));
    let setting: Vec<_> = a.setting.iter().chain(new.map(|(set, _)| set)).cloned().collect();
    if of_b.keys().all(|name| of_a.contains_key(name)) || of_a.keys().all(|name| of_b.contains_key(name)) {
        return Join::OneHasAll;
    }
    let launcher = a.launcher.iter().chain(&b.launcher).cloned().collect();
    Join::Both(Candidate { rule: None, because: String::new(), setting, launcher })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Verdict;

    /// A trial of this rule that is faster where its ratio is below 1.
    fn trial(rule: &str, words: &str, ratio: f64) -> Trial {
        let mut candidate = Candidate::of_words(words).unwrap();
        candidate.rule = (!rule.is_empty()).then(|| rule.into());
        let verdict = if ratio < 1.0 { Verdict::Faster } else { Verdict::NoBetter };
        let pairs = (0..3).map(|place| (1.0, ratio + f64::from(place) * 1e-4)).collect();
        Trial { candidate, pairs, verdict, failed: None }
    }

    fn chosen(trials: &[Trial]) -> Option<(Vec<usize>, Vec<usize>, String)> {
        let together = choose(trials, trials.len())?;
        Some((together.of, together.conflicting, together.trial.candidate.words()))
    }

    #[test]
    fn the_best_of_each_rule_is_taken_the_best_of_all_first() {
        let trials = [
            trial("eager", "a=1", 0.9),
            trial("bcast", "b=1", 0.8),
            trial("eager", "a=2", 0.7),
            trial("reduce", "c=1", 1.0),
            trial("gather", "d=1", 0.75),
        ];
        assert_eq!(chosen(&trials), Some((vec![2, 4, 1], vec![], "a=2 d=1 b=1".into())));
        assert_eq!(choose(&trials, 5).unwrap().names(), "settings 2, 3 and 5");
        assert!(is_possible(&trials));
    }

    #[test]
    fn one_that_is_faster_or_several_of_one_rule_are_no_combination() {
        assert_eq!(chosen(&[trial("x", "a=1", 0.9), trial("y", "b=1", 1.0)]), None);
        let of_one_rule = [trial("x", "a=1", 0.9), trial("x", "b=1", 0.8)];
        assert_eq!((chosen(&of_one_rule), is_possible(&of_one_rule)), (None, false));
        let of_the_user = [trial("", "a=1", 0.9), trial("", "b=1", 0.8)];
        assert_eq!(chosen(&of_the_user).unwrap().0, [1, 0]);
        assert!(is_possible(&of_the_user));
        let mut failed = of_the_user;
        failed[0].failed = Some("it fails".into());
        assert_eq!(chosen(&failed), None);
    }

    #[test]
    fn what_sets_a_variable_otherwise_is_left_out() {
        let trials =
            [trial("", "a=1 b=1", 0.7), trial("", "OMPI_MCA_b=2 c=1", 0.8), trial("", "UCX_TLS=all", 0.9)];
        assert_eq!(chosen(&trials), Some((vec![0, 2], vec![1], "a=1 b=1 UCX_TLS=all".into())));
        assert!(!is_possible(&trials[..2]));
    }

    #[test]
    fn a_variable_that_both_set_alike_is_set_once() {
        let trials = [trial("x", "dynamic=1 bcast=7", 0.7), trial("y", "OMPI_MCA_dynamic=1 reduce=3", 0.8)];
        assert_eq!(chosen(&trials).unwrap().2, "dynamic=1 bcast=7 reduce=3");
        let contained = [trial("x", "a=1 b=1", 0.7), trial("y", "a=1", 0.8)];
        assert_eq!((chosen(&contained), is_possible(&contained)), (None, false));
    }
}
