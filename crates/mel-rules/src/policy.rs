//! A policy: a rule that is applied while a program runs. As text for the processes of a job, a line for each part.

use crate::expr::{Expr, Kind, Quantity};
use crate::rule::Assignment;

/// When something is so in a process, control variables are set there.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// When it applies.
    pub when: Expr,
    /// What is set then.
    pub set: Vec<Assignment>,
    /// What is set when it no longer applies.
    pub otherwise: Vec<Assignment>,
}

impl Policy {
    /// Several as text.
    #[must_use]
    pub fn encode(policies: &[Policy]) -> String {
        let line = |what: &str, text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            format!("{what} {}\n", words.join(" "))
        };
        let mut text = String::new();
        for policy in policies {
            text += &line("policy", &policy.name);
            text += &line("when", policy.when.text());
            for (what, all) in [("set", &policy.set), ("otherwise", &policy.otherwise)] {
                text.extend(all.iter().map(|one| line(what, &format!("{}={}", one.name, one.value.text()))));
            }
        }
        text
    }

    /// Those of such a text.
    ///
    /// # Errors
    /// It is none, in a sentence.
    pub fn decode(text: &str) -> Result<Vec<Policy>, String> {
        let mut policies: Vec<Policy> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
            let wrong = |why: String| format!("{line:?}: {why}");
            if what == "policy" {
                let when = Expr::condition("false", QUANTITIES).map_err(|error| error.message)?;
                policies.push(Policy { name: rest.into(), when, set: Vec::new(), otherwise: Vec::new() });
                continue;
            }
            let policy = policies
                .last_mut()
                .ok_or_else(|| wrong("a line with policy and a name comes first".into()))?;
            if what == "when" {
                policy.when = Expr::condition(rest, QUANTITIES).map_err(|error| wrong(error.to_string()))?;
                continue;
            }
            let (name, value) =
                rest.split_once('=').ok_or_else(|| wrong("a name, = and a value are missing".into()))?;
            let value = Expr::parse(value, QUANTITIES).map_err(|error| wrong(error.to_string()))?;
            let assignment = Assignment { name: name.into(), value };
            match what {
                "set" => policy.set.push(assignment),
                "otherwise" => policy.otherwise.push(assignment),
                _ => return Err(wrong("lines begin with policy, when, set or otherwise".into())),
            }
        }
        Ok(policies)
    }

    /// The performance variables that it reads.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let assignments = self.set.iter().chain(&self.otherwise).map(|assignment| &assignment.value);
        let all = std::iter::once(&self.when).chain(assignments);
        all.flat_map(Expr::quantities)
            .filter(|(name, _)| *name == "variable")
            .filter_map(|(_, variable)| variable)
    }
}

/// The quantities that a policy may name: what is known in a process while it runs.
pub const QUANTITIES: &[Quantity] = &[
    Quantity {
        name: "variable",
        of: Some("a performance variable"),
        kind: Kind::List,
        meaning: "the elements of a performance variable of MPI or of MEL, in this process; of one that is bound to a communicator \
                  that of MPI_COMM_WORLD",
    },
    Quantity { name: "rank", of: None, kind: Kind::Number, meaning: "the rank in MPI_COMM_WORLD" },
    Quantity { name: "ranks", of: None, kind: Kind::Number, meaning: "the number of ranks" },
    Quantity { name: "time", of: None, kind: Kind::Seconds, meaning: "the time since MPI_Init" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_read_as_they_were_written() {
        let text = "policy free buffers\nwhen any(variable('a') - variable('b') > 10) and rank == 0\nset control=1\n\
                    set reduced=variable('b')\notherwise control=0\npolicy other\nwhen time > 1 s\nset x='a=b'\n";
        let policies = Policy::decode(text).unwrap();
        assert_eq!(policies.len(), 2);
        assert_eq!((policies[0].set.len(), policies[0].otherwise.len()), (2, 1));
        assert_eq!(policies[0].variables().collect::<Vec<_>>(), ["a", "b", "b"]);
        assert_eq!(Policy::encode(&policies), text);
        for wrong in [
            "set a=1",
            "policy a\nwhen rank >",
            "policy a\nset b",
            "policy a\nelse b=1",
            "policy a\nset b=ranks2",
        ] {
            assert!(Policy::decode(wrong).is_err(), "{wrong}");
        }
    }
}
