//! Every number of the model, and where it comes from.

use crate::matching::EAGER_LIMIT;

/// The most messages of one sender in one poll. Read in the sources of Open MPI 4.1: `mca_btl_vader_check_fboxes`.
pub(super) const PER_POLL: u8 = 32;

/// The numbers of a model of progress. Times are in ticks of the clock.
///
/// | source | what that is |
/// |---|---|
/// | read | in the sources of Open MPI 4.1 |
/// | measured | beside `ob1` itself, on an Open MPI 4.1 with PERUSE (docs/fidelity.md) |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// A message of at most so many bytes is sent without waiting for its receiver. Read: `mca_pml_ob1_send_inline` and
    /// `mca_btl_vader_sendi` take up to 256 bytes in a fast box.
    pub inline_bytes: u64,
    /// A send of more bytes waits for its receiver: for the buffer up to [`EAGER_LIMIT`], which the receiver gives back in its next
    /// poll, and for the receive above. Read: `mca_btl_vader_send`.
    pub waits_above: u64,
    /// A message is on its way for so long: a poll sees what was sent so long before, and nothing that was sent later. Measured on
    /// an EPYC (Zen 5), 250 ns: nine in ten messages that were sent 500 to 1000 ns before the return from a collective operation
    /// had been seen, and none that was sent later than 200 before.
    pub transit: u64,
    /// So long before its return a call that sends has polled for the last time. Measured on a Xeon, 750 ns.
    pub after_sending: u64,
    /// The same for a call that waits for requests. That is more than it takes to return: who sends the next message has mostly
    /// just given this process what it waited for, and so this process has hardly polled since. Measured, 3000 ns: 1500 to 2500
    /// fitted best on an EPYC (Zen 5), 6000 on a Xeon.
    pub after_waiting: u64,
    /// Up to this time a call that waits for buffers is taken to have polled once. Measured, 30 µs.
    pub one_poll: u64,
    /// A call that takes longer may have been descheduled: the system is asked. Chosen, 30 µs: asking takes 0.3 µs.
    pub may_be_descheduled: u64,
    /// A thread that gives its processor away and has it back within this time was not descheduled. Chosen, 2 µs.
    pub brief: u64,
    /// How messages are copied that come by rendezvous. Timed at the start.
    pub copying: Copying,
}

impl Parameters {
    /// Those of `ob1` of Open MPI 4.1 over shared memory, on a clock of so many ticks per second.
    pub fn ob1(ticks_per_second: u64) -> Self {
        let ticks = |nanos| (u128::from(ticks_per_second) * nanos / 1_000_000_000) as u64;
        Parameters {
            inline_bytes: 256,
            waits_above: 256,
            transit: ticks(250),
            after_sending: ticks(750),
            after_waiting: ticks(3000),
            one_poll: ticks(30_000),
            may_be_descheduled: ticks(30_000),
            brief: ticks(2000),
            copying: Copying::default(),
        }
    }

    /// Those of another library: its progress is modelled as `ob1`'s, but its sends wait for nobody below the eager limit. Chosen:
    /// MPICH 4 sends up to some kilobytes without an answer.
    pub fn of_another_library(ticks_per_second: u64) -> Self {
        Parameters { inline_bytes: 1024, waits_above: EAGER_LIMIT, ..Parameters::ob1(ticks_per_second) }
    }
}

/// How messages come to their receives that are not sent eagerly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copying {
    /// What it takes to copy 64 KiB from another process, in ticks.
    pub of_64_kib: u64,
    /// Whether the receiver copies all of a message as soon as it is matched, and the receive is complete then: so does
    /// ob1 where it may read the sender's memory (`mca_pml_ob1_recv_request_progress_rget`, `mca_btl_vader_get_cma`, Open MPI
    /// 4.1). Elsewhere the message comes in pieces, which later polls take in.
    pub at_once: bool,
}

impl Copying {
    /// What it takes to copy a message of so many bytes, in ticks; nothing for one that is sent eagerly.
    #[inline(always)]
    pub(super) fn takes(self, bytes: u64) -> u64 {
        if bytes > EAGER_LIMIT { (bytes >> 6).saturating_mul(self.of_64_kib) >> 10 } else { 0 }
    }
}
