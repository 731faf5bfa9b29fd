//! Messages by rendezvous: how they come to their receives, and what that takes.

use crate::matching::EAGER_LIMIT;

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
