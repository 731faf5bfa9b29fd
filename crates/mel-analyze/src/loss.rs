//! What a rule says of one call: time lost, and who was waited for.

use crate::model::{NO_COMMUNICATOR, Site};

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
            communicator: NO_COMMUNICATOR,
            distance: None,
        }
    }

    /// How long.
    pub fn nanos(&self) -> u64 {
        self.interval.1.saturating_sub(self.interval.0)
    }
}

macro_rules! rules {
    ($($variant:ident $name:literal)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            /// Its name in findings.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$variant => $name,)*
                }
            }
        }
    };
}

rules! {
    EarlyStandardSend "early_standard_send"
    EarlySynchronousSend "early_synchronous_send"
    EarlyReadySend "early_ready_send"
    LateStandardSend "late_standard_send"
    LateBufferedSend "late_buffered_send"
    LateSynchronousSend "late_synchronous_send"
    LateReadySend "late_ready_send"
    MisarrangementStandardSend "misarrangement_standard_send"
    MisarrangementBufferedSend "misarrangement_buffered_send"
    WaitAtSenderIsend "wait_at_sender_isend"
    WaitAtSenderIssend "wait_at_sender_issend"
    WaitAtSenderIrsend "wait_at_sender_irsend"
    WaitAtReceiverIsend "wait_at_receiver_isend"
    WaitAtReceiverIbsend "wait_at_receiver_ibsend"
    WaitAtReceiverIssend "wait_at_receiver_issend"
    WaitAtReceiverIrsend "wait_at_receiver_irsend"
    CloseSendAndReceive "close_send_and_receive"
    LateSender "late_sender"
    LateReceiver "late_receiver"
    WaitWithoutProgress "wait_without_progress"
    WaitAtBarrier "wait_at_barrier"
    BarrierCompletion "barrier_completion"
    WaitAtNxn "wait_at_nxn"
    NxnCompletion "nxn_completion"
    LateBroadcast "late_broadcast"
    EarlyReduce "early_reduce"
    EarlyScan "early_scan"
    LatePost "late_post"
    EarlyWait "early_wait"
    WaitAtFence "wait_at_fence"
    LockContention "lock_contention"
    WaitForProgress "wait_for_progress"
    UnexpectedCopies "unexpected_copies"
    LongSearches "long_searches"
    WildcardCost "wildcard_cost"
}
