//! How right the model was, and what it did not follow, goes into the profile table: now and then, so that it is there of a rank that is
//! killed, and at the end.

use mel_log::table::layout::Header;
use mpit_sources::calls::NotFollowed;
use mpit_sources::matching::Truth;

/// Stores what is known so far. One thread at a time.
pub(crate) fn store(header: &Header, truth: &Truth, not_followed: &NotFollowed) {
    let Truth { matched, rematched, envelopes_lost, never_received, dropped } = *truth;
    let NotFollowed { communicators, calls, partitioned, receives, bursts, bursts_followed } = *not_followed;
    for (column, number) in [
        (&header.matched, matched),
        (&header.rematched, rematched),
        (&header.envelopes_lost, envelopes_lost),
        (&header.never_received, never_received),
        (&header.dropped, dropped),
        (&header.communicators_not_followed, communicators),
        (&header.calls_not_followed, calls),
        (&header.partitioned_not_followed, partitioned),
        (&header.receives_not_followed, receives),
        (&header.bursts, bursts),
        (&header.bursts_followed, bursts_followed),
    ] {
        column.set(number);
    }
}
