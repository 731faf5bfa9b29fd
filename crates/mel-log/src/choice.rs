//! What of a run goes into its log: names that are wanted, and names that are not, with wildcards.

use glob::{MatchOptions, Pattern};

use crate::names::nearest_names;

/// A choice among things that have names: MPI functions, or communicators.
///
/// In a pattern `*` stands for any number of characters, `?` for one, `[ab]` for one of these. Capitals do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    only: Vec<Pattern>,
    without: Vec<Pattern>,
}

impl Choice {
    /// A choice by two lists of patterns, separated by commas (names of communicators may hold blanks): with the first one,
    /// nothing else is wanted; what is in the second one is not.
    ///
    /// # Errors
    /// A pattern that is none, in a line for the user.
    pub fn new(only: &str, without: &str) -> Result<Choice, String> {
        let read = |list: &str| {
            let patterns = list.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
            patterns
                .map(|pattern| {
                    Pattern::new(pattern).map_err(|error| format!("{pattern} is no pattern: {error}"))
                })
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Choice { only: read(only)?, without: read(without)? })
    }

    /// Whether everything is wanted.
    pub fn is_all(&self) -> bool {
        self.only.is_empty() && self.without.is_empty()
    }

    /// Whether a thing is wanted that has these names.
    pub fn wants(&self, names: &[&str]) -> bool {
        let options = MatchOptions { case_sensitive: false, ..MatchOptions::default() };
        let any = |patterns: &[Pattern]| {
            patterns.iter().any(|pattern| names.iter().any(|name| pattern.matches_with(name, options)))
        };
        (self.only.is_empty() || any(&self.only)) && !any(&self.without)
    }

    /// A line for the user about each pattern that fits none of these names.
    pub fn complaints<'a>(&self, what: &str, known: &[&'a str]) -> Vec<String> {
        let options = MatchOptions { case_sensitive: false, ..MatchOptions::default() };
        let fits = |pattern: &&Pattern| known.iter().any(|name| pattern.matches_with(name, options));
        let unknown = self.only.iter().chain(&self.without).filter(|pattern| !fits(pattern));
        let lower: Vec<String> = known.iter().map(|name| name.to_lowercase()).collect();
        unknown
            .map(|pattern| {
                let nearest: Vec<&'a str> = nearest_names(pattern.as_str(), lower.iter().map(String::as_str))
                    .into_iter()
                    .filter_map(|near| known.iter().copied().find(|name| name.eq_ignore_ascii_case(near)))
                    .collect();
                let hint = match nearest[..] {
                    [] => "wildcards are * and ?".into(),
                    _ => format!("nearest: {}", nearest.join(", ")),
                };
                format!("there is no {what} {pattern}; {hint}")
            })
            .collect()
    }

    /// The patterns as they were given: those of what is wanted, and of what is not.
    pub fn given(&self) -> (Vec<String>, Vec<String>) {
        let text =
            |patterns: &[Pattern]| patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect();
        (text(&self.only), text(&self.without))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_wanted_by_patterns() {
        let all = Choice::default();
        assert!(all.is_all() && all.wants(&["MPI_Send"]));
        let some = Choice::new("MPI_*send, MPI_?recv", "*_Isend").unwrap();
        let wanted: Vec<&str> = ["MPI_Send", "MPI_Isend", "MPI_Irecv", "MPI_Recv", "MPI_Bsend", "MPI_Wait"]
            .into_iter()
            .filter(|name| some.wants(&[name]))
            .collect();
        assert_eq!(wanted, ["MPI_Send", "MPI_Irecv", "MPI_Bsend"]);
        let polls = Choice::new("", "mpi_iprobe,MPI_Test*").unwrap();
        assert!(
            !polls.wants(&["MPI_Testany"]) && !polls.wants(&["MPI_Iprobe"]) && polls.wants(&["MPI_Wait"])
        );
    }

    #[test]
    fn one_of_several_names_is_enough() {
        let halo = Choice::new("the halo,7", "").unwrap();
        assert!(halo.wants(&["the halo", "3"]) && halo.wants(&["rows", "7"]) && !halo.wants(&["rows", "8"]));
    }

    #[test]
    fn what_fits_nothing_is_told() {
        assert!(Choice::new("MPI_[", "").unwrap_err().starts_with("MPI_[ is no pattern"));
        let known = ["MPI_Send", "MPI_Recv", "MPI_Finalize"];
        let complaints = Choice::new("MPI_Sned,MPI_R*", "").unwrap().complaints("function", &known);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(
            complaints[0].starts_with("there is no function MPI_Sned; nearest: MPI_Send"),
            "{complaints:?}"
        );
    }
}
