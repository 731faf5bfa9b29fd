//! How true the model was: what its matches were, compared with the real library's completions.

use std::ops::AddAssign;

/// Counts of the truth check, over completed receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Receives that the real library completed with the message that the model had matched.
    pub matched: u64,
    /// Receives that the real library completed with another message; the model followed it.
    pub rematched: u64,
    /// Receives that completed although no envelope of their message ever came.
    pub envelopes_lost: u64,
    /// Envelopes of messages that the application never received.
    pub never_received: u64,
    /// Envelopes that were lost because a ring was full.
    pub dropped: u64,
}

impl AddAssign for Truth {
    fn add_assign(&mut self, other: Truth) {
        self.matched += other.matched;
        self.rematched += other.rematched;
        self.envelopes_lost += other.envelopes_lost;
        self.never_received += other.never_received;
        self.dropped += other.dropped;
    }
}
