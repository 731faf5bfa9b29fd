//! What found no space in the tables of a rank: how much, and in words. All outputs take the words from here.

use serde::{Deserialize, Serialize};

use super::quantities::{Quantity, numbers};
use super::schema::Profile;

/// Declares [`LeftOut`] once: what is counted, its field, and what users read of it.
macro_rules! left_out {
    ($($(#[doc = $meaning:literal])+ $field:ident $sentence:literal;)*) => {
        /// How many of what found no space, or shares the space of others.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct LeftOut {
            $($(#[doc = $meaning])+ #[serde(skip_serializing_if = "is_none")] pub $field: u64,)*
        }

        /// What found no space, of what there is any. The sentences follow the number.
        pub const LEFT_OUT: &[Quantity<LeftOut>] = &[$(Quantity {
            group: "left out",
            name: stringify!($field),
            key: stringify!($field),
            sentence: $sentence,
            of: |of| (of.$field > 0).then_some(of.$field as f64),
            ..Quantity::NONE
        }),*];

        /// How many numbers there are.
        pub const NUMBERS: usize = LEFT_OUT.len();

        impl From<LeftOut> for [u64; NUMBERS] {
            fn from(of: LeftOut) -> Self {
                [$(of.$field),*]
            }
        }

        impl From<[u64; NUMBERS]> for LeftOut {
            fn from([$($field),*]: [u64; NUMBERS]) -> Self {
                Self { $($field),* }
            }
        }
    };
}

left_out! {
    /// Combinations of function, call site, communicator, thread and phase: their calls are counted together.
    contexts "call sites by communicator, thread and phase (calls counted together)";
    /// Combinations of a context and whom it has waited for.
    waits "pairs of a call site and whom it waited for";
    /// Communicators and windows that have no number: what is counted on them is counted as on none.
    communicators "communicators and windows (counted as if on none)";
    /// The same of the event log: its records on them name none.
    logged "communicators and windows of the event log (its records name none)";
    /// Communicators whose queues are counted together.
    queues "queues of communicators (counted together)";
    /// Threads that share a row.
    threads "threads (counted together)";
    /// Times that a phase beyond the last number was named: it is counted with the last one.
    phases "begins of phases beyond the last number (counted with the last)";
    /// Combinations of sender, receiver and kind of traffic.
    traffic "pairs of sender and receiver";
    /// Connections.
    connections "connections";
    /// Stacks of the program.
    stacks "samples of the program's stacks";
    /// Names.
    definitions "names";
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(number: &u64) -> bool {
    *number == 0
}

impl LeftOut {
    /// Whether all found space.
    pub fn is_none(&self) -> bool {
        *self == LeftOut::default()
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: LeftOut) -> LeftOut {
        let (own, more) = (<[u64; NUMBERS]>::from(self), <[u64; NUMBERS]>::from(other));
        std::array::from_fn(|place| own[place].saturating_add(more[place])).into()
    }

    /// What users read; nothing where all found space.
    pub fn sentence(&self) -> Option<String> {
        let parts = numbers(LEFT_OUT, self).map(|(quantity, count)| format!("{count} {}", quantity.sentence));
        let parts: Vec<String> = parts.collect();
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
        let all = LeftOut::from(std::array::from_fn(|place| place as u64 + 1));
        let json = serde_json::to_value(all).expect("it is JSON");
        for (quantity, count) in numbers(LEFT_OUT, &all) {
            assert_eq!(json[quantity.key].as_f64(), Some(count), "{}", quantity.key);
        }
        assert_eq!(<[u64; NUMBERS]>::from(all.plus(all))[NUMBERS - 1], 2 * NUMBERS as u64);
    }
}
