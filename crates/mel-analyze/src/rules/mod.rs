//! The rules, a family in a file. Each looks at one call, or one operation, with all that is known of it, and says what was
//! lost; none of them knows who is the cause in the end.
//!
//! - [`messages`]: sends and receives, the patterns by name, Scalasca's late sender and late receiver, and waits in which
//!   nobody made progress.
//! - [`close`]: a send and a receive that may be one.
//! - [`collectives`]: operations of a communicator.
//! - [`one_sided`] has windows.
//! - [`queues`] has what only the queues tell.

pub mod close;
pub mod collectives;
pub mod messages;
#[cfg(test)]
mod naive;
pub mod one_sided;
pub mod queues;

pub use mel_verdict::findings::Rule;

use crate::model::{NO_COMMUNICATOR, NO_SITE, Site};

/// From when on time lost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Shorter losses of one call are none, in nanoseconds.
    pub epsilon: u64,
    /// A send and a receive are close where less time lies between them, in nanoseconds.
    pub delta_sr: u64,
    /// They are close, too, where less than this share of the transfer lies between them, in percent.
    pub delta_percent: u64,
    /// How far the clocks of two ranks may be apart, in nanoseconds.
    pub clocks: u64,
}

/// Time that one call has lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The name of the rule.
    pub rule: Rule,
    /// Who has lost it.
    pub rank: u32,
    /// The call in which.
    pub site: Site,
    /// From when until when.
    pub interval: (u64, u64),
    /// Who was waited for; none where nobody was.
    pub culprit: Option<u32>,
    /// The call that ended the waiting.
    pub cause_site: Site,
    /// The call in MPI in which the cause was instead; [`NO_SITE`] where it was outside.
    pub inside: Site,
    /// The communicator, where there is one.
    pub communicator: u32,
    /// What the optimal distance between a nonblocking call and its wait would have been, where the rule has one: without
    /// the transfer, and the bytes that were transferred.
    pub distance: Option<(u64, u64)>,
}

impl Loss {
    /// A loss without a communicator or a distance.
    pub fn new(
        rule: Rule,
        (rank, site): (u32, Site),
        interval: (u64, u64),
        (culprit, cause_site): (Option<u32>, Site),
    ) -> Loss {
        Loss {
            rule,
            rank,
            site,
            interval,
            culprit,
            cause_site,
            inside: NO_SITE,
            communicator: NO_COMMUNICATOR,
            distance: None,
        }
    }

    /// How long.
    pub fn nanos(&self) -> u64 {
        self.interval.1.saturating_sub(self.interval.0)
    }
}
