//! What found no space in the tables of a rank: how much, and in words. All outputs take the words from here.

use serde::{Deserialize, Serialize};

use super::schema::Profile;

/// How many of what found no space, or shares the space of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOut {
    /// Combinations of function, call site, communicator, thread and phase: their calls are counted together.
    #[serde(skip_serializing_if = "is_none")]
    pub contexts: u64,
    /// Combinations of a context and whom it has waited for.
    #[serde(skip_serializing_if = "is_none")]
    pub waits: u64,
    /// Communicators and windows that have no number: what is counted on them is counted as on none.
    #[serde(skip_serializing_if = "is_none")]
    pub communicators: u64,
    /// Communicators whose queues are counted together.
    #[serde(skip_serializing_if = "is_none")]
    pub queues: u64,
    /// Threads that share a row.
    #[serde(skip_serializing_if = "is_none")]
    pub threads: u64,
    /// Times that a phase beyond the last number was named: it is counted with the last one.
    #[serde(skip_serializing_if = "is_none")]
    pub phases: u64,
    /// Combinations of sender, receiver and kind of traffic.
    #[serde(skip_serializing_if = "is_none")]
    pub traffic: u64,
    /// Connections.
    #[serde(skip_serializing_if = "is_none")]
    pub connections: u64,
    /// Names.
    #[serde(skip_serializing_if = "is_none")]
    pub definitions: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(number: &u64) -> bool {
    *number == 0
}

impl From<LeftOut> for [u64; 9] {
    fn from(of: LeftOut) -> Self {
        of.numbers().map(|(_, number, _)| number)
    }
}

impl From<[u64; 9]> for LeftOut {
    fn from(numbers: [u64; 9]) -> Self {
        let [contexts, waits, communicators, queues, threads, phases, traffic, connections, definitions] =
            numbers;
        Self { contexts, waits, communicators, queues, threads, phases, traffic, connections, definitions }
    }
}

impl LeftOut {
    /// The numbers with their keys in `profile.json`, and what they are numbers of.
    pub fn numbers(&self) -> [(&'static str, u64, &'static str); 9] {
        [
            (
                "contexts",
                self.contexts,
                "call sites by communicator, thread and phase (calls counted together)",
            ),
            ("waits", self.waits, "pairs of a call site and whom it waited for"),
            ("communicators", self.communicators, "communicators and windows (counted as if on none)"),
            ("queues", self.queues, "queues of communicators (counted together)"),
            ("threads", self.threads, "threads (counted together)"),
            ("phases", self.phases, "begins of phases beyond the last number (counted with the last)"),
            ("traffic", self.traffic, "pairs of sender and receiver"),
            ("connections", self.connections, "connections"),
            ("definitions", self.definitions, "names"),
        ]
    }

    /// Whether all found space.
    pub fn is_none(&self) -> bool {
        *self == LeftOut::default()
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: LeftOut) -> LeftOut {
        let (own, more) = (<[u64; 9]>::from(self), <[u64; 9]>::from(other));
        std::array::from_fn(|place| own[place].saturating_add(more[place])).into()
    }

    /// What users read; nothing where all found space.
    pub fn sentence(&self) -> Option<String> {
        let parts = self.numbers().into_iter().filter(|(_, count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(_, count, what)| format!("{count} {what}")).collect();
        (!parts.is_empty()).then(|| format!("tables were full, and had no space for {}", parts.join(", ")))
    }
}

/// What found no space in the tables of all ranks.
pub fn of(profile: &Profile) -> LeftOut {
    let of_many = profile.reduced.as_ref().map(|reduced| reduced.tables_left_out).unwrap_or_default();
    profile.ranks.iter().fold(of_many, |sum, rank| sum.plus(rank.left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RankProfile;

    #[test]
    fn what_found_no_space_is_summed_over_the_ranks_and_named() {
        assert_eq!(LeftOut::default().sentence(), None);
        let rank = |contexts, traffic| RankProfile {
            left_out: LeftOut { contexts, traffic, ..LeftOut::default() },
            ..RankProfile::default()
        };
        let profile = Profile { ranks: vec![rank(3, 0), rank(4, 5)], ..Profile::default() };
        let sentence = of(&profile).sentence().expect("something was left out");
        assert!(
            sentence.contains("7 call sites") && sentence.ends_with(", 5 pairs of sender and receiver"),
            "{sentence}"
        );
        assert!(!of(&profile).is_none());
    }

    #[test]
    fn every_number_has_the_key_that_it_has_in_the_file() {
        let all = LeftOut {
            contexts: 1,
            waits: 1,
            communicators: 1,
            queues: 1,
            threads: 1,
            phases: 1,
            traffic: 1,
            connections: 1,
            definitions: 1,
        };
        let json = serde_json::to_value(all).expect("it is JSON");
        for (key, count, _) in all.numbers() {
            assert_eq!((json[key].as_u64(), count), (Some(1), 1), "{key}");
        }
        assert_eq!(all.plus(all).numbers().map(|(_, count, _)| count), [2; 9]);
    }
}
