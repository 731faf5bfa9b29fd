//! What policies have set, as definitions in the table.

use super::TableRows;
use crate::Definition;
use crate::profile::ActionProfile;

impl TableRows {
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
