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
