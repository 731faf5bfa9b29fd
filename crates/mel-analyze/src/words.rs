//! Findings in words: what was lost and why, and what to change, a sentence each.

use mel_log::number::duration;
use mel_log::profile::verdict::Finding;

use crate::found::{Sum, Transfers};
use crate::loss::Rule;

/// What a finding says, and what it advises.
pub(crate) fn of(rule: Rule, finding: &Finding, sum: &Sum, transfers: &Transfers) -> (String, String) {
    let (what, advice) = phrases(rule);
    let mut text = what.to_owned();
    if let Some(site) = &finding.site {
        text += &format!(", at {site}");
    }
    if let Some(cause) = finding.cause_rank {
        let causes_itself = finding.victims == [cause];
        if !causes_itself {
            text += &format!("; the cause is rank {cause}");
            // Most of the time was lost waiting for others, who waited themselves.
            if sum.passed_on > 0.5 * sum.total() {
                text += ", for which those waited that were late";
            }
        }
        if let Some(site) = finding.cause_site.as_ref().filter(|site| Some(*site) != finding.site.as_ref()) {
            text += &format!(", at {site}");
        }
    }
    let mut advice = advice.to_owned();
    let (without, bytes) = sum.distance;
    if without > 0 {
        let distance = duration((without + transfers.of(bytes)) as f64 * 1e-9);
        advice +=
            &format!("; with {distance} of work between the start and the wait nothing would have been lost");
    }
    (text, advice)
}

/// What a rule says, and what to do about it.
fn phrases(rule: Rule) -> (&'static str, &'static str) {
    use Rule::*;
    match rule {
        EarlyStandardSend | EarlySynchronousSend | EarlyReadySend => (
            "sends wait for a receive that is posted later (late receiver)",
            "post the receive earlier, with MPI_Irecv before the work, or send with MPI_Isend",
        ),
        LateStandardSend | LateBufferedSend | LateSynchronousSend | LateReadySend => (
            "receives wait for a message that is sent later (late sender)",
            "send earlier, or give the causing rank less work before its send",
        ),
        MisarrangementStandardSend | MisarrangementBufferedSend => (
            "receives wait while an earlier message of the same rank is there already (late sender, wrong order)",
            "receive in the order in which the messages are sent",
        ),
        WaitAtSenderIsend | WaitAtSenderIssend | WaitAtSenderIrsend => (
            "waits for nonblocking sends last until the receive is posted (late receiver)",
            "post the receive earlier, or wait later",
        ),
        WaitAtReceiverIsend | WaitAtReceiverIbsend | WaitAtReceiverIssend | WaitAtReceiverIrsend => (
            "waits for nonblocking receives last until the message is sent (late sender)",
            "send earlier, give the causing rank less work, or wait later",
        ),
        CloseSendAndReceive => (
            "a send and a receive with the same rank follow each other, and their buffers are disjoint",
            "this may be one MPI_Sendrecv",
        ),
        LateSender => (
            "receives wait for a message that is sent later",
            "send earlier, or give the causing rank less work before its send",
        ),
        LateReceiver => (
            "sends wait for a receive that is posted later",
            "post the receive earlier, with MPI_Irecv before the work",
        ),
        WaitWithoutProgress => (
            "waits last though both sides have begun: the other rank is outside of MPI and makes no progress",
            "call MPI_Test now and then in the long work, or use a progress thread",
        ),
        WaitAtBarrier => (
            "processes wait in MPI_Barrier for the one that comes last",
            "balance the work before the barrier, or leave the barrier out",
        ),
        BarrierCompletion => (
            "it takes long until all have left the barrier",
            "see whether there are more processes than processors",
        ),
        WaitAtNxn => (
            "processes wait in an operation of all with all for the one that comes last",
            "balance the work before it, or start it with its nonblocking form",
        ),
        NxnCompletion => (
            "it takes long until all have left an operation of all with all",
            "see whether there are more processes than processors",
        ),
        LateBroadcast => (
            "processes wait for the root of an operation, which comes later",
            "let the root come earlier, or give it less work",
        ),
        EarlyReduce => (
            "the root of an operation waits for the process that comes last",
            "let the root do other work first, or balance the work",
        ),
        EarlyScan => {
            ("processes wait in a scan for one of a lower rank", "give lower ranks less work before the scan")
        }
        LatePost => {
            ("accesses to a window wait until it is exposed (MPI_Win_post)", "expose the window earlier")
        }
        EarlyWait => (
            "MPI_Win_wait lasts until the accesses are completed (MPI_Win_complete)",
            "complete the accesses earlier, or wait later",
        ),
        WaitAtFence => (
            "processes wait in MPI_Win_fence for the one that comes last",
            "balance the work between the fences, or synchronise only those who need it",
        ),
        LockContention => (
            "a lock of a window is wanted while another process holds it",
            "hold the lock for a shorter time, or use a shared one",
        ),
        WaitForProgress => (
            "operations on a window wait for its process, which is outside of MPI",
            "let the process call MPI now and then, or use a progress thread",
        ),
        UnexpectedCopies => (
            "messages come before their receives are posted, and are stored and copied",
            "post the receives earlier, with MPI_Irecv",
        ),
        LongSearches => (
            "searches of the unexpected queue are long: receives are in another order than messages come",
            "receive in the order in which messages are sent, or post the receives before",
        ),
        WildcardCost => (
            "receives from any source, or with any tag, search messages of others",
            "name the source and the tag where they are known",
        ),
    }
}
