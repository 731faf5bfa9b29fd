//! What may not have changed between two runs, such as `mpi_time>+5%`.

use std::fmt;
use std::str::FromStr;

use mel_log::profile::quantities::Unit;
use mel_log::profile::quantities::run::RUN;

use super::{Change, Diff, terminal};

/// A condition that fails a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As the user has written it.
    text: String,
    name: String,
    above: bool,
    limit: Limit,
}

/// What the second run is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// `>5`: this number.
    Value(f64),
    /// `>5%`: this part of the time of all ranks.
    Share(f64),
    /// `>+5`: so much more than the first run.
    Difference(f64),
    /// `>+5%`: the same as a part of the first run's.
    Relative(f64),
}

impl Condition {
    /// What there is to say where the comparison fails: a sentence with both numbers; nothing where it does not. What cannot be compared
    /// has failed, too: nobody wants to be told that all is well.
    pub fn failed(&self, diff: &Diff) -> Option<String> {
        if diff.lacks(&self.name) {
            return Some(format!("{self} cannot be checked: the second run has no {}", self.name));
        }
        let change = diff.find(&self.name);
        let fails = match self.limit {
            Limit::Value(limit) => self.beyond(change.b, limit),
            // A share is one already.
            Limit::Share(limit) if change.unit == Unit::Share => self.beyond(change.b, limit),
            Limit::Share(limit) => self.beyond(change.b, limit * diff.all_runs_s),
            Limit::Difference(limit) => self.beyond(change.difference(), limit),
            // From nothing to something is more than any part of nothing.
            Limit::Relative(limit) => match change.relative() {
                Some(relative) => self.beyond(relative, limit),
                None => self.above,
            },
        };
        fails.then(|| format!("{self} is true: {}", words(&change)))
    }

    fn beyond(&self, value: f64, limit: f64) -> bool {
        if self.above { value > limit } else { value < limit }
    }
}

fn words(change: &Change) -> String {
    let [before, after] = [change.a, change.b].map(|value| change.unit.text(value));
    format!("{} was {before} and is {after} ({})", change.name, terminal::relative(change))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let usage =
            "give a quantity, < or >, and a limit, such as mpi_time>+5%, run_time>2s or MPI_Waitall>+100ms";
        let place = text.find(['<', '>']).ok_or(usage)?;
        let (name, limit) = (text[..place].trim(), text[place + 1..].trim());
        let of_run = || RUN.iter().map(|quantity| quantity.name);
        if !of_run().any(|known| known == name) && mpi_functions::named(name).is_none() && !name.contains(':')
        {
            let known = of_run().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "{name} is no quantity; there are {known}, MPI functions, and call sites as file:line"
            ));
        }
        let is_change = limit.starts_with(['+', '-']);
        let (number, unit) =
            limit.split_at(limit.find(|c: char| c.is_alphabetic() || c == '%').unwrap_or(limit.len()));
        let number: f64 = number.trim().parse().map_err(|_| usage)?;
        let scale = match unit.trim() {
            "%" => 0.01,
            "" | "s" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            "ns" => 1e-9,
            unit => return Err(format!("{unit} is no unit of a limit; there are %, s, ms, us and ns")),
        };
        let number = number * scale;
        let limit = match (is_change, unit.trim()) {
            (false, "%") => Limit::Share(number),
            (false, _) => Limit::Value(number),
            (true, "%") => Limit::Relative(number),
            (true, _) => Limit::Difference(number),
        };
        let above = text.as_bytes()[place] == b'>';
        Ok(Condition { text: text.to_owned(), name: name.to_owned(), above, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compare;
    use mel_log::profile::sample;

    fn fails(condition: &str, diff: &Diff) -> bool {
        condition.parse::<Condition>().unwrap().failed(diff).is_some()
    }

    #[test]
    fn an_efficiency_is_held_against_a_share_and_fails_where_it_is_not_known() {
        // Of 4 ranks three compute 390 ms of a second, and one 990 ms.
        let diff = compare(&sample::healthy(4), &sample::late_rank(4, 1));
        for (condition, expected) in [
            ("parallel_efficiency<0.8", true),
            ("parallel_efficiency<80%", true),
            ("parallel_efficiency<0.5", false),
            ("communication_efficiency<0.9", false),
            ("load_balance<-10%", true),
            ("transfer<0.1", true),
        ] {
            assert_eq!(fails(condition, &diff), expected, "{condition}");
        }
        let unknown = "transfer>0.1".parse::<Condition>().unwrap().failed(&diff).unwrap();
        assert_eq!(unknown, "transfer>0.1 cannot be checked: the second run has no transfer");
    }

    #[test]
    fn conditions_are_of_values_shares_and_changes() {
        let mut slower = sample::healthy(4);
        slower.ranks.iter_mut().for_each(|rank| rank.calls[2].total_s *= 2.0);
        // Of 4 seconds 40 ms in MPI, and 56 ms; of these in MPI_Waitall 16 ms, and 32 ms.
        let diff = compare(&sample::healthy(4), &slower);
        for (condition, expected) in [
            ("mpi_time>+5%", true),
            ("mpi_time > +30%", true),
            ("mpi_time>+50%", false),
            ("mpi_time>+15ms", true),
            ("mpi_time>+17ms", false),
            ("mpi_time>0.05", true),
            ("mpi_time>50ms", true),
            ("mpi_time>60000us", false),
            ("mpi_time>1%", true),
            ("mpi_time>2%", false),
            ("MPI_Waitall>+99%", true),
            ("MPI_Waitall>+101%", false),
            ("halo.c:44>+10ms", true),
            ("MPI_Bcast>+0%", false),
            ("MPI_Bcast>0", false),
            ("run_time>+1%", false),
            ("run_time<-1%", false),
            ("calls<10000000", true),
            ("lost_time>+5%", false),
        ] {
            assert_eq!(fails(condition, &diff), expected, "{condition}");
        }
        let faster = compare(&slower, &sample::healthy(4));
        assert!(fails("mpi_time<-20%", &faster) && !fails("mpi_time<-40%", &faster));
        assert!(fails("lost_time>+5%", &compare(&sample::healthy(4), &sample::late_rank(4, 1))));
    }

    #[test]
    fn a_failure_has_both_numbers() {
        let diff = compare(&sample::healthy(4), &sample::late_rank(4, 1));
        let condition: Condition = "mpi_time>+5%".parse().unwrap();
        assert_eq!(
            condition.failed(&diff).unwrap(),
            "mpi_time>+5% is true: mpi_time was 40.0 ms and is 1.84 s (+4500.0 %)"
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (condition, complaint) in [
            ("mpi_time", "give a quantity"),
            ("mpi_time>fast", "give a quantity"),
            ("mpi_time>+5 parsecs", "parsecs is no unit"),
            ("mpi_tme>+5%", "mpi_tme is no quantity"),
            (">5", " is no quantity"),
        ] {
            let error = condition.parse::<Condition>().unwrap_err();
            assert!(error.starts_with(complaint), "{condition}: {error}");
        }
    }
}
