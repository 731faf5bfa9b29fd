//! Why time was lost: one list of rules, with their names and their words.

use mpi_functions::{Kind, Operation, Waits, WindowCall};
use serde::{Deserialize, Serialize};

/// What one rule says.
struct About {
    /// Its name.
    name: &'static str,
    /// The rule that the default run has for the same; itself, where it is none of the patterns of a trace.
    family: Rule,
    /// What the ranks did while they lost the time, where one rank is the cause: `{rank}` stands for it. Empty: nobody is waited for.
    because: &'static str,
    /// The same where no single rank is the cause.
    without: &'static str,
    /// What to change: `{rank}` is the cause, `{before}` its call. Empty: look at the cause.
    advice: &'static str,
}

/// Of a wait without a single cause.
const NOBODY: &str = "waiting for each other: no single rank is the cause";
/// Advice where no single rank is the cause.
const SPREAD: &str =
    "look whether work is spread unevenly from step to step, or whether the processes can meet less often";
const SENDER: &str = "waiting for messages because {rank} is late";
const RECEIVER: &str = "sending to receivers that were late because of {rank}";
const LAST: &str = "waiting for {rank}, which comes last";
const POST: &str =
    "let {rank} post its receives earlier (before {before}), or send with MPI_Isend and wait later";
const ORDER: &str = "receive in the order in which the messages are sent";

macro_rules! rules {
    ($($variant:ident $name:literal $family:ident $because:tt $without:tt $advice:tt;)*) => {
        /// Why time was lost. docs/verdict.md has each of them by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            fn about(self) -> About {
                match self {
                    $(Rule::$variant => About {
                        name: $name,
                        family: Rule::$family,
                        because: $because,
                        without: $without,
                        advice: $advice,
                    },)*
                }
            }
        }
    };
}

rules! {
    // The rules of the default run and of a trace.
    LateSender "late_sender" LateSender SENDER NOBODY "";
    LateReceiver "late_receiver" LateReceiver RECEIVER NOBODY POST;
    WaitAtBarrier "wait_at_barrier" WaitAtBarrier LAST NOBODY "";
    WaitAtNxn "wait_at_nxn" WaitAtNxn LAST NOBODY "";
    LateBroadcast "late_broadcast" LateBroadcast "waiting for {rank}, the root, which comes later" NOBODY "";
    EarlyReduce "early_reduce" EarlyReduce LAST NOBODY "";
    EarlyScan "early_scan" EarlyScan LAST NOBODY "";
    WaitAtFence "wait_at_fence" WaitAtFence LAST NOBODY "";
    LateMember "late_member" LateMember
        "waiting for {rank}, which comes later: data is large, or {rank} passes it on" NOBODY "";
    WaitAtFinalize "wait_at_finalize" WaitAtFinalize LAST NOBODY
        "look at what {rank} does before MPI_Finalize: it comes there later than the others";
    Polling "polling" Polling "polling for what {rank} completes later"
        "testing again and again for what is not there yet"
        "look at what it is tested for: whoever completes it, and that is not known here, comes later; a trace knows (mel analyze)";
    UnexpectedCopies "unexpected_copies" UnexpectedCopies ""
        "with copies of messages that came before their receives were posted"
        "post the receives before the messages are sent";
    LongSearches "long_searches" LongSearches "" "searching the unexpected queue"
        "post receives earlier, or in the order in which the messages are sent; fewer messages under way make searches short";
    WildcardCost "wildcard_cost" WildcardCost "" "searching the queues of all senders for receives with a wildcard"
        "name the source where it is known, or let fewer messages wait";
    Idle "idle_by_design" Idle "" "idle by design" "";
    FileAccess "file_access" FileAccess "" "in calls about files"
        "write and read less often and in larger pieces, or let processes do it that do nothing else";
    WaitForTransfer "wait_for_transfer" WaitForTransfer ""
        "waiting for data on its way, though both sides had begun"
        "start the operation earlier, or move less data: the bandwidth is the bound";
    OnlyCommunication "only_communication" OnlyCommunication ""
        "waiting for messages whose other side did nothing but communicate: no rank is the cause"
        "send fewer and larger messages, or let them overlap with work";
    BarrierCompletion "barrier_completion" BarrierCompletion "" "until all have left the barrier"
        "see whether there are more processes than processors";
    NxnCompletion "nxn_completion" NxnCompletion "" "until all have left an operation of all with all"
        "see whether there are more processes than processors";
    LatePost "late_post" LatePost "waiting until {rank} exposes its window (MPI_Win_post)" NOBODY
        "let {rank} expose its window earlier (before {before})";
    EarlyWait "early_wait" EarlyWait "waiting until {rank} completes its accesses (MPI_Win_complete)" NOBODY
        "let {rank} complete its accesses earlier (before {before}), or wait later";
    LockContention "lock_contention" LockContention "waiting for a lock that {rank} holds" NOBODY
        "hold the lock for a shorter time, or use a shared one";
    // The rules of a trace alone; the first is found from sums, too, for sends.
    WaitWithoutProgress "wait_without_progress" WaitWithoutProgress
        "though both sides had begun: {rank} is outside of MPI, and nobody makes progress" NOBODY
        "call MPI_Test now and then in the long work of {rank}, or use a progress thread";
    WaitForProgress "wait_for_progress" WaitForProgress
        "operating on the window of {rank}, which is outside of MPI" NOBODY
        "let {rank} call MPI now and then, or use a progress thread";
    CloseSendAndReceive "close_send_and_receive" CloseSendAndReceive ""
        "sending to a rank and then receiving from it, with buffers that are disjoint"
        "this may be one MPI_Sendrecv, if the reply does not depend on what is sent";
    // The patterns of messages in a trace.
    EarlyStandardSend "early_standard_send" LateReceiver RECEIVER NOBODY POST;
    EarlySynchronousSend "early_synchronous_send" LateReceiver RECEIVER NOBODY POST;
    EarlyReadySend "early_ready_send" LateReceiver RECEIVER NOBODY POST;
    LateStandardSend "late_standard_send" LateSender SENDER NOBODY "";
    LateBufferedSend "late_buffered_send" LateSender SENDER NOBODY "";
    LateSynchronousSend "late_synchronous_send" LateSender SENDER NOBODY "";
    LateReadySend "late_ready_send" LateSender SENDER NOBODY "";
    MisarrangementStandardSend "misarrangement_standard_send" LateSender
        "waiting for a message of {rank} while an earlier one of it is there already" NOBODY ORDER;
    MisarrangementBufferedSend "misarrangement_buffered_send" LateSender
        "waiting for a message of {rank} while an earlier one of it is there already" NOBODY ORDER;
    WaitAtSenderIsend "wait_at_sender_isend" LateReceiver RECEIVER NOBODY POST;
    WaitAtSenderIssend "wait_at_sender_issend" LateReceiver RECEIVER NOBODY POST;
    WaitAtSenderIrsend "wait_at_sender_irsend" LateReceiver RECEIVER NOBODY POST;
    WaitAtReceiverIsend "wait_at_receiver_isend" LateSender SENDER NOBODY "";
    WaitAtReceiverIbsend "wait_at_receiver_ibsend" LateSender SENDER NOBODY "";
    WaitAtReceiverIssend "wait_at_receiver_issend" LateSender SENDER NOBODY "";
    WaitAtReceiverIrsend "wait_at_receiver_irsend" LateSender SENDER NOBODY "";
}

impl Rule {
    /// Its name, for example `late_standard_send`.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The rule of which this is a pattern; itself, where it is none. Findings have the name of this one, whoever made them.
    #[must_use]
    pub fn family(self) -> Rule {
        self.about().family
    }

    /// Whether the time was spent waiting for another rank; else it is of the rank's own doing.
    pub fn is_wait(self) -> bool {
        !self.about().because.is_empty()
    }

    /// Whether it is about operations in which each waits for the last of all, or of its neighbours.
    #[must_use]
    pub fn waits_for_last(self) -> bool {
        matches!(self, Rule::WaitAtBarrier | Rule::WaitAtNxn)
    }

    /// Whether it is about time in calls that is no work of the library and not of the queues.
    #[must_use]
    pub fn takes_time_of_calls(self) -> bool {
        use Rule::{BarrierCompletion, Idle, NxnCompletion, OnlyCommunication};
        self.is_wait() || matches!(self, Idle | OnlyCommunication | BarrierCompletion | NxnCompletion)
    }

    /// Whether the queues take the time.
    pub(crate) fn is_of_queues(self) -> bool {
        matches!(self, Rule::UnexpectedCopies | Rule::LongSearches | Rule::WildcardCost)
    }

    /// Whether the communication itself is the bound: then it is worth a word only where it is much.
    pub(crate) fn is_a_bound(self) -> bool {
        matches!(self, Rule::FileAccess | Rule::WaitForTransfer)
    }

    /// The rule of a function that processes call together, by its name.
    pub(crate) fn of_collective(function: &str) -> Rule {
        let Some(function) = mpi_functions::named(function) else { return Rule::WaitAtNxn };
        match (function.kind, function.waits()) {
            (Kind::Window(WindowCall::Fence), _) => Rule::WaitAtFence,
            (_, Some(waits)) => Rule::of_waits(waits, function.operation() == Some(Operation::Barrier)),
            (Kind::Collective(Operation::Barrier), None) => Rule::WaitAtBarrier,
            (_, None) => Rule::WaitAtNxn,
        }
    }

    /// The rule of an operation in which processes wait for each other in this way, and which may be a barrier.
    pub fn of_waits(waits: Waits, is_barrier: bool) -> Rule {
        match waits {
            _ if is_barrier => Rule::WaitAtBarrier,
            Waits::ForRoot => Rule::LateBroadcast,
            Waits::RootForAll => Rule::EarlyReduce,
            Waits::ForLower => Rule::EarlyScan,
            Waits::All | Waits::Neighbours => Rule::WaitAtNxn,
        }
    }

    /// The rule of searches, by whether receives with a wildcard make them.
    pub fn of_searches(are_wild: bool) -> Rule {
        if are_wild { Rule::WildcardCost } else { Rule::LongSearches }
    }

    /// Why the ranks have lost the time, as the end of a sentence.
    pub(super) fn why(self, cause: Option<u32>, cause_site: Option<&str>) -> String {
        let about = self.about();
        match cause.filter(|_| self.is_wait()) {
            None => about.without.to_owned(),
            Some(cause) => {
                let from = cause_site.map(|site| format!(" (its call: {site})")).unwrap_or_default();
                about.because.replace("{rank}", &format!("rank {cause}")) + &from
            }
        }
    }

    /// What to change, in a sentence.
    pub(super) fn advice(self, cause: Option<u32>, cause_site: Option<&str>) -> String {
        let advice = self.about().advice;
        match cause {
            _ if !self.is_wait() => advice.to_owned(),
            None if self.about().without == NOBODY => SPREAD.to_owned(),
            None => advice.to_owned(),
            Some(cause) => {
                let before = cause_site.unwrap_or("its calls");
                let advice = match advice {
                    "" => "look at what {rank} does before {before}: it comes there later than the others",
                    advice => advice,
                };
                advice.replace("{rank}", &format!("rank {cause}")).replace("{before}", before)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_rule_has_a_name_of_its_own_that_the_documentation_explains() {
        let names: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        let page = include_str!("../../../../docs/verdict.md");
        let missing: Vec<&&str> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "not in docs/verdict.md: {missing:?}");
    }

    #[test]
    fn a_family_is_a_rule_and_no_pattern_of_another_one() {
        for rule in Rule::ALL {
            assert_eq!(rule.family().family(), rule.family(), "{}", rule.name());
            assert_eq!(rule.family().is_wait(), rule.is_wait(), "{}", rule.name());
        }
        assert_eq!(Rule::WaitAtReceiverIssend.family(), Rule::LateSender);
    }

    #[test]
    fn a_rank_is_named_where_it_is_the_cause() {
        let why = Rule::EarlyReadySend.why(Some(3), Some("a.c:9 (main)"));
        assert_eq!(why, "sending to receivers that were late because of rank 3 (its call: a.c:9 (main))");
        let advice = Rule::EarlyReadySend.advice(Some(3), Some("a.c:9 (main)"));
        assert!(advice.starts_with("let rank 3 post its receives earlier (before a.c:9 (main))"), "{advice}");
        assert!(!Rule::LongSearches.why(Some(3), None).contains("rank 3"));
        assert!(Rule::WaitAtNxn.why(None, None).contains("no single rank"));
        for rule in Rule::ALL {
            for cause in [None, Some(1)] {
                let text = rule.why(cause, None) + &rule.advice(cause, None);
                assert!(!text.contains(['{', '}']), "{text}");
            }
        }
    }
}
