//! How many records of each kind a trace must have, by the profile of the same run.

use crate::profile::Profile;
use crate::trace::Trace;

/// The operations that OTF2 has as atomic ones.
const ATOMIC: [&str; 4] = ["accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];

/// What a program does that leaves records without a counterpart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone {
    /// Messages whose receive fails: they are sent, and neither received nor left over.
    pub failed_receives: u64,
    /// Sends whose request is freed, at once: the trace may not know when they are complete.
    pub freed_sends: u64,
}

/// What a trace and a profile report differently. There is a rule for each kind of record; a kind without one is returned,
/// too. Windows are compared where the profile has them.
pub fn disagreements(trace: &Trace, profile: &Profile, alone: Alone) -> Vec<String> {
    let kinds = trace.kinds();
    let count =
        |names: &[&str]| -> u64 { names.iter().map(|name| kinds.get(name).copied().unwrap_or(0)).sum() };
    let total = |fields: &[&str]| -> u64 { fields.iter().map(|field| profile.total(field)).sum() };
    let windows = Windows::of(profile);
    let enters = trace.enters();
    let entered = |ending: &str| -> u64 {
        enters.iter().filter(|(region, _)| region.ends_with(ending)).map(|(_, count)| count).sum()
    };
    let [isend, complete] = ["MPI_ISEND", "MPI_ISEND_COMPLETE"].map(|kind| count(&[kind]));
    let received = count(&["MPI_RECV", "MPI_IRECV"]);
    let mut rules = vec![
        ("searches of the posted queue", entered("search_posted"), total(&["posted_search.searches"])),
        (
            "searches of the unexpected queue",
            entered("search_unexpected"),
            total(&["unexpected_search.searches"]),
        ),
        ("LEAVE", count(&["LEAVE"]), count(&["ENTER"])),
        (
            "MPI_RECV and MPI_IRECV",
            received,
            total(&["truth.matched", "truth.rematched", "truth.envelopes_lost"]),
        ),
        (
            "MPI_SEND and MPI_ISEND",
            count(&["MPI_SEND", "MPI_ISEND"]),
            received + total(&["truth.never_received"]) + alone.failed_receives,
        ),
        ("MPI_ISEND_COMPLETE", complete, complete.clamp(isend.saturating_sub(alone.freed_sends), isend)),
        ("MPI_IRECV_REQUEST", count(&["MPI_IRECV_REQUEST"]), count(&["MPI_IRECV", "MPI_REQUEST_CANCELLED"])),
        ("MPI_COLLECTIVE_END", count(&["MPI_COLLECTIVE_END"]), count(&["MPI_COLLECTIVE_BEGIN"])),
        ("METRIC", count(&["METRIC"]), 2 * total(&["posted.messages", "unexpected.messages"])),
        ("RMA_COLLECTIVE_END", count(&["RMA_COLLECTIVE_END"]), count(&["RMA_COLLECTIVE_BEGIN"])),
        ("RMA_ACQUIRE_LOCK", count(&["RMA_ACQUIRE_LOCK"]), count(&["RMA_REQUEST_LOCK"])),
        ("RMA_WIN_DESTROY", count(&["RMA_WIN_DESTROY"]), count(&["RMA_WIN_CREATE"])),
    ];
    if profile.counts_windows() {
        rules.extend([
            ("RMA_PUT", count(&["RMA_PUT"]), windows.operations(&["put"])),
            ("RMA_GET", count(&["RMA_GET"]), windows.operations(&["get"])),
            ("RMA_ATOMIC", count(&["RMA_ATOMIC"]), windows.operations(&ATOMIC)),
            (
                "RMA_OP_COMPLETE_BLOCKING and RMA_OP_COMPLETE_NON_BLOCKING",
                count(&["RMA_OP_COMPLETE_BLOCKING", "RMA_OP_COMPLETE_NON_BLOCKING"]),
                windows.completed(),
            ),
            ("RMA_RELEASE_LOCK", count(&["RMA_RELEASE_LOCK"]), windows.times("locks_held")),
            ("lock epochs", entered("lock epoch") + entered("lock_all epoch"), windows.times("locks_held")),
            ("fence epochs", entered("fence epoch"), windows.times("fence_epochs")),
            ("access epochs", entered("access epoch"), windows.times("access_epochs")),
            ("exposure epochs", entered("exposure epoch"), windows.times("exposure_epochs")),
            (
                "RMA_GROUP_SYNC",
                count(&["RMA_GROUP_SYNC"]),
                2 * (windows.times("access_epochs") + windows.times("exposure_epochs")),
            ),
            ("RMA_WIN_CREATE", count(&["RMA_WIN_CREATE"]), windows.made()),
        ]);
    }
    let differ = rules.iter().filter(|(_, traced, counted)| traced != counted);
    let mut wrong: Vec<String> = differ
        .map(|(what, traced, counted)| format!("{what}: {traced} in the trace, {counted} by the profile"))
        .collect();
    const GIVEN: [&str; 6] = [
        "ENTER",
        "MPI_COLLECTIVE_BEGIN",
        "MPI_REQUEST_CANCELLED",
        "MPI_REQUEST_TEST",
        "RMA_COLLECTIVE_BEGIN",
        "RMA_REQUEST_LOCK",
    ];
    let ruled = |kind: &str| {
        GIVEN.contains(&kind) || rules.iter().any(|(what, ..)| what.split(" and ").any(|name| name == kind))
    };
    wrong.extend(kinds.keys().filter(|kind| !ruled(kind)).map(|kind| format!("{kind}: no rule")));
    wrong
}

/// The windows in a profile, of all ranks.
struct Windows<'a>(Vec<&'a serde_json::Value>);

impl Windows<'_> {
    fn of(profile: &Profile) -> Windows<'_> {
        let ranks = profile.json()["ranks"].as_array().into_iter().flatten();
        Windows(ranks.filter_map(|rank| rank["windows"].as_array()).flatten().collect())
    }

    fn threads(&self) -> impl Iterator<Item = &serde_json::Value> {
        self.0.iter().filter_map(|window| window["threads"].as_array()).flatten()
    }

    fn operations(&self, kinds: &[&str]) -> u64 {
        let started = |thread: &serde_json::Value, kind: &str| thread["operations"][kind]["started"].as_u64();
        self.threads().flat_map(|thread| kinds.iter().filter_map(move |kind| started(thread, kind))).sum()
    }

    fn completed(&self) -> u64 {
        self.threads().filter_map(|thread| thread["completed"].as_u64()).sum()
    }

    fn times(&self, name: &str) -> u64 {
        self.0.iter().filter_map(|window| window[name]["count"].as_u64()).sum()
    }

    fn made(&self) -> u64 {
        self.0.iter().filter_map(|window| window["windows"].as_u64()).sum()
    }
}
