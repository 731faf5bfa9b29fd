//! What policies have set while the program ran.

use serde::{Deserialize, Serialize};

use super::schema::Profile;
use super::text::layout::ranks as in_words;
use crate::number::duration;

/// A control variable that a policy has set in a process, or has tried to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionProfile {
    /// When, in seconds since the rank has called `MPI_Init*`.
    pub at_s: f64,
    /// The policy.
    pub policy: String,
    /// What came of it: the name, the value, and how it reads back.
    pub outcome: String,
}

/// A sentence for each thing that policies have done, over the ranks.
pub(super) fn sentences(profile: &Profile) -> Vec<String> {
    let mut done: Vec<(&str, &str, f64, Vec<u32>, usize)> = Vec::new();
    for rank in &profile.ranks {
        for action in &rank.actions {
            let known =
                done.iter_mut().find(|known| (known.0, known.1) == (&*action.policy, &*action.outcome));
            let Some((_, _, first_s, ranks, times)) = known else {
                done.push((&action.policy, &action.outcome, action.at_s, vec![rank.rank], 1));
                continue;
            };
            *first_s = first_s.min(action.at_s);
            *times += 1;
            if ranks.last() != Some(&rank.rank) {
                ranks.push(rank.rank);
            }
        }
    }
    let sentence = |(policy, outcome, first_s, ranks, times): (&str, &str, f64, Vec<u32>, usize)| {
        let who = in_words(&ranks).unwrap_or_default();
        let often = if times > ranks.len() { format!(", {times} times") } else { String::new() };
        format!("policy \"{policy}\" on {who}{often}, first after {}: {outcome}", duration(first_s))
    };
    done.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RankProfile;

    #[test]
    fn what_policies_did_is_told_once_for_all_ranks() {
        let action =
            |at_s| ActionProfile { at_s, policy: "p".into(), outcome: "a=1: set (read back)".into() };
        let rank = |rank, actions| RankProfile { rank, actions, ..RankProfile::default() };
        let ranks = vec![rank(0, vec![action(2.0)]), rank(1, vec![action(1.0), action(3.0)])];
        let profile = Profile { ranks, ..Profile::default() };
        let told = "policy \"p\" on ranks 0, 1, 3 times, first after 1.00 s: a=1: set (read back)";
        assert_eq!(sentences(&profile), [told]);
    }
}
