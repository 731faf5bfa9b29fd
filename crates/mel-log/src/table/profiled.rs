//! What a table says of its rank, but for calls and waits: for a rank that has ended in any way, or runs.

use super::TableRows;
use crate::Definition;
use crate::profile::{self, ActionProfile, Comparison, Ended, Port, RankProfile};

impl TableRows {
    /// The profile of the rank. What all ranks together are needed for is not in it: calls, waits, traffic.
    pub fn rank_profile(&self) -> RankProfile {
        let of_mpi = |place: usize| {
            let searched = |queues: &&profile::Queues| {
                queues.posted_search.searches != 0 || queues.unexpected_search.searches != 0
            };
            self.queues.get(place).filter(searched).cloned()
        };
        let profile::Queues { posted, unexpected, posted_search, unexpected_search } =
            self.queues.first().cloned().unwrap_or_default();
        let comparison = self.queues.get(2).map(|queues| Comparison {
            backend: self.second_backend(),
            queues: queues.clone(),
            internal: of_mpi(3),
        });
        let clock =
            self.clock.map(|(_, _, error)| (self.clock_offset_nanos as f64 / 1e9, error as f64 / 1e9));
        RankProfile {
            rank: self.rank,
            host: self.host.clone(),
            ended: self.how_it_ended(),
            truth: self.truth,
            not_followed: self.not_followed,
            clock_offset_s: clock.map(|(offset, _)| offset),
            clock_offset_error_s: clock.map(|(_, error)| error),
            posted,
            unexpected,
            posted_search,
            unexpected_search,
            internal: of_mpi(1),
            comparison,
            phases: self.phase_profiles(),
            variables: self.variable_profiles(),
            left_out: self.left_out,
            samples_lost: self.lost_samples.saturating_add(self.lost_sampled),
            processors: profile::processors::Processors::of(&self.definitions),
            resources: profile::Resources::of(&self.definitions),
            counters: self.counters(|_| true),
            told: profile::told::told(&self.definitions),
            actions: self.action_profiles(),
            windows: self.windows.clone(),
            ports: self.ports(),
            ..RankProfile::default()
        }
    }

    /// What the interfaces of its host have counted themselves.
    fn ports(&self) -> Vec<Port> {
        let port = |definition: &Definition| match definition {
            Definition::Port(port) => Some(port.clone()),
            _ => None,
        };
        self.definitions.iter().filter_map(port).collect()
    }

    /// Where the queue events came from that were counted for comparison.
    fn second_backend(&self) -> String {
        let second = |definition: &Definition| match definition {
            Definition::Program { second, .. } => Some(second.clone()),
            _ => None,
        };
        self.definitions.iter().find_map(second).unwrap_or_default()
    }

    /// How its process ended.
    pub fn how_it_ended(&self) -> Ended {
        Ended::of_table(self.ended, self.is_running)
    }

    /// The actions of policies as a rank's profile has them. Times are seconds since `MPI_Init*`.
    pub fn action_profiles(&self) -> Vec<ActionProfile> {
        let rate = self.ticks_per_second.max(1) as f64;
        let action = |definition: &Definition| match definition {
            Definition::Action { at, policy, outcome } => Some(ActionProfile {
                at_s: at.saturating_sub(self.started) as f64 / rate,
                policy: policy.clone(),
                outcome: outcome.clone(),
            }),
            _ => None,
        };
        self.definitions.iter().filter_map(action).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lost_of_a_damaged_table_are_as_many_as_a_number_holds() {
        let rows = TableRows { lost_samples: u64::MAX, lost_sampled: 1, ..TableRows::default() };
        assert_eq!(rows.rank_profile().samples_lost, u64::MAX);
    }
}
