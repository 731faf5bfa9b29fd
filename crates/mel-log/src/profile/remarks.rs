//! Mistakes in the use of MPI that did no harm in this run, from the sums of a run that ended well: messages that were never received,
//! receives that no message came for, objects that were not freed. They come after the verdict.
//!
//! A number of objects is a lower bound: what may give back a null handle or a predefined one (`MPI_Comm_split`, `MPI_Type_match_size`)
//! does not count, and what is freed counts whoever has made it.

use std::collections::{BTreeMap, BTreeSet};

use mpi_functions::{Function, Kind, Making, Object, Step};
use serde::{Deserialize, Serialize};

use super::ends::Ended;
use super::quantities::Basis;
use super::schema::{Profile, RankProfile};
use super::text::layout::ranks as ranks_in_words;

/// The most call sites that a remark names.
const MOST_SITES: usize = 2;

/// What a remark is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mistake {
    /// Messages have come that no receive took.
    #[default]
    NeverReceived,
    /// Receives were posted that no message came for.
    NeverMatched,
    /// Objects were made, and not freed before `MPI_Finalize`.
    NeverFreed,
    /// Ranks send before they receive, in a circle, so that they go on only because messages are stored. From a trace alone.
    NeedsStorage,
    /// Ranks came to one collective operation with different functions, roots, amounts of data, operations or types. From a trace alone;
    /// of operations and types, from one of `mel run --check`.
    CollectivesDiffer,
    /// A message was received as elements of another type than it was sent as. From a trace of `mel run --check` alone, as what follows.
    TypesDiffer,
    /// An operation has used a buffer that another one had not done with, and one of them wrote to it.
    BufferInUse,
    /// A message was longer than the room for it, and the program has gone on.
    Truncated,
}

/// A mistake that did no harm in this run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remark {
    /// What it is about.
    pub kind: Mistake,
    /// The ranks in which it was found, ascending.
    pub ranks: Vec<u32>,
    /// How many messages, receives or objects, of all these ranks.
    pub count: u64,
    /// How that is known: `observed` or `modelled`.
    pub basis: String,
    /// In a sentence.
    pub text: String,
}

impl Remark {
    /// As reports have it.
    pub fn sentence(&self) -> String {
        format!("remark: {}", self.text)
    }
}

/// The remarks about a run; none where a rank has ended otherwise than with `MPI_Finalize`, or a table was full.
pub fn of(profile: &Profile) -> Vec<Remark> {
    let ended_well = profile.ranks.iter().all(|rank| rank.ended == Ended::Finalised);
    if !ended_well || !profile.is_whole() {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    if profile.has_queues() {
        let of_queues = |rank: &RankProfile| (rank.unexpected.left, rank.posted.left);
        remarks.extend(of_queue(profile, Mistake::NeverReceived, |rank| of_queues(rank).0));
        remarks.extend(of_queue(profile, Mistake::NeverMatched, |rank| of_queues(rank).1));
    }
    remarks.extend(not_freed(profile));
    remarks
}

/// The remark about what is left in a queue of each rank.
fn of_queue(profile: &Profile, kind: Mistake, left: impl Fn(&RankProfile) -> u64) -> Option<Remark> {
    // Where the model has not seen all, what is left may be its own mistake.
    let is_sure = |rank: &&RankProfile| {
        let truth = rank.truth;
        [truth.rematched, truth.envelopes_lost, truth.dropped] == [0; 3] && left(rank) > 0
    };
    let ranks: Vec<&RankProfile> = profile.ranks.iter().filter(is_sure).collect();
    let count = ranks.iter().fold(0u64, |sum, rank| sum.saturating_add(left(rank)));
    let numbers: Vec<u32> = ranks.iter().map(|rank| rank.rank).collect();
    let who = ranks_in_words(&numbers)?;
    let basis = Basis::Modelled.word(&profile.backend).to_owned();
    let text = match (kind, count) {
        (Mistake::NeverReceived, 1) => format!("{who} never received a message that came ({basis})"),
        (Mistake::NeverReceived, _) => format!("{who} never received {count} messages that came ({basis})"),
        (_, 1) => format!("{who} ended with a receive that no message came for ({basis})"),
        (_, _) => format!("{who} ended with {count} receives that no message came for ({basis})"),
    };
    Some(Remark { kind, ranks: numbers, count, basis, text })
}

/// The object that a call of this function surely makes.
fn surely_makes(function: &Function) -> Option<Object> {
    match (function.makes, function.kind, function.step) {
        (_, _, Step::Prepares) => Some(Object::Request),
        (Some(Object::Communicator), Kind::Communicator(Making::Duplicate | Making::Merge), _) => {
            Some(Object::Communicator)
        }
        (Some(object @ (Object::Datatype | Object::Info | Object::Op)), Kind::Object, _) => Some(object),
        (Some(object @ (Object::File | Object::Window)), ..) => Some(object),
        _ => None,
    }
}

fn words(object: Object) -> (&'static str, &'static str) {
    match object {
        Object::Communicator => ("communicator", "communicators"),
        Object::Datatype => ("datatype", "datatypes"),
        Object::Errhandler => ("error handler", "error handlers"),
        Object::File => ("file", "files"),
        Object::Group => ("group", "groups"),
        Object::Info => ("info object", "info objects"),
        Object::Op => ("operation", "operations"),
        Object::Request => ("persistent request", "persistent requests"),
        Object::Session => ("session", "sessions"),
        Object::Window => ("window", "windows"),
    }
}

/// What ranks have made of one kind of object, and not freed.
#[derive(Default)]
struct NotFreed {
    by_rank: Vec<(u32, u64)>,
    made: u64,
    sites: BTreeSet<(String, Option<u32>)>,
}

/// The remarks about objects.
fn not_freed(profile: &Profile) -> Vec<Remark> {
    let mut all: BTreeMap<&'static str, (Object, NotFreed)> = BTreeMap::new();
    for rank in profile.ranks.iter().filter(|rank| rank.left_out.contexts == 0) {
        let mut balance: BTreeMap<&'static str, (Object, u64, u64)> = BTreeMap::new();
        for call in &rank.calls {
            let Some(function) = mpi_functions::named(&call.function) else { continue };
            if let Some(object) = surely_makes(function) {
                let of = balance.entry(words(object).0).or_insert((object, 0, 0));
                of.1 = of.1.saturating_add(call.calls);
            }
            if let Some(object) = function.frees {
                let of = balance.entry(words(object).0).or_insert((object, 0, 0));
                of.2 = of.2.saturating_add(call.calls);
            }
        }
        for (name, (object, made, freed)) in balance {
            if made <= freed {
                continue;
            }
            let (_, of) = all.entry(name).or_insert_with(|| (object, NotFreed::default()));
            of.by_rank.push((rank.rank, made - freed));
            of.made = of.made.saturating_add(made);
            let makers = rank
                .calls
                .iter()
                .filter(|call| mpi_functions::named(&call.function).and_then(surely_makes) == Some(object));
            of.sites.extend(makers.map(|call| (call.function.clone(), call.site)));
        }
    }
    all.into_values().filter_map(|(object, of)| remark(profile, object, &of)).collect()
}

fn remark(profile: &Profile, object: Object, of: &NotFreed) -> Option<Remark> {
    let ranks: Vec<u32> = of.by_rank.iter().map(|(rank, _)| *rank).collect();
    let count = of.by_rank.iter().fold(0u64, |sum, (_, left)| sum.saturating_add(*left));
    let mut places: Vec<String> = of
        .sites
        .iter()
        .map(|(function, site)| match site.and_then(|site| profile.sites.get(site as usize)) {
            Some(site) => format!("{function} at {site}"),
            None => function.clone(),
        })
        .collect();
    places.dedup();
    let more = places.len().saturating_sub(MOST_SITES);
    places.truncate(MOST_SITES);
    if more > 0 {
        places.push(format!("{more} places more"));
    }
    let (one, several) = words(object);
    let who = ranks_in_words(&ranks)?;
    let name = if of.made == 1 { one } else { several };
    let text = format!(
        "{who} did not free {count} of {} {name} before MPI_Finalize, made by {}",
        of.made,
        places.join(" and ")
    );
    Some(Remark { kind: Mistake::NeverFreed, ranks, count, basis: Basis::Observed.word("").into(), text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CallProfile, QueueStats, Truth};

    fn call(function: &str, calls: u64) -> CallProfile {
        CallProfile { function: function.into(), calls, ..Default::default() }
    }

    fn run(calls: &[(&str, u64)]) -> Profile {
        let rank = RankProfile {
            calls: calls.iter().map(|(function, calls)| call(function, *calls)).collect(),
            ..Default::default()
        };
        Profile {
            world_size: 1,
            profiled: vec!["calls".into(), "queues".into()],
            backend: "model".into(),
            ranks: vec![rank],
            ..Default::default()
        }
    }

    fn texts(profile: &Profile) -> Vec<String> {
        of(profile).into_iter().map(|remark| remark.text).collect()
    }

    #[test]
    fn what_is_freed_is_no_remark() {
        let calls =
            [("MPI_Type_vector", 3), ("MPI_Type_free", 3), ("MPI_Win_create", 1), ("MPI_Win_free", 1)];
        assert_eq!(texts(&run(&calls)), [""; 0]);
        // What may have given back nothing, or what is not one's own.
        let unsure = [("MPI_Comm_split", 4), ("MPI_Type_match_size", 7), ("MPI_Group_incl", 2)];
        assert_eq!(texts(&run(&unsure)), [""; 0]);
    }

    #[test]
    fn what_is_not_freed_is_counted_by_kind() {
        let calls = [
            ("MPI_Type_vector", 3),
            ("MPI_Type_free", 1),
            ("MPI_Comm_dup", 1),
            ("MPI_Send_init", 2),
            ("MPI_Request_free", 1),
        ];
        assert_eq!(
            texts(&run(&calls)),
            [
                "rank 0 did not free 1 of 1 communicator before MPI_Finalize, made by MPI_Comm_dup",
                "rank 0 did not free 2 of 3 datatypes before MPI_Finalize, made by MPI_Type_vector",
                "rank 0 did not free 1 of 2 persistent requests before MPI_Finalize, made by MPI_Send_init",
            ]
        );
    }

    #[test]
    fn what_is_left_in_queues_is_told_where_the_model_has_seen_all() {
        let mut profile = run(&[]);
        profile.ranks[0].unexpected = QueueStats { messages: 9, left: 2, ..Default::default() };
        profile.ranks[0].posted = QueueStats { messages: 9, left: 1, ..Default::default() };
        assert_eq!(
            texts(&profile),
            [
                "rank 0 never received 2 messages that came (modelled)",
                "rank 0 ended with a receive that no message came for (modelled)"
            ]
        );
        profile.ranks[0].truth = Truth { dropped: 1, ..Default::default() };
        assert_eq!(texts(&profile), [""; 0]);
        let mut aborted = run(&[("MPI_Comm_dup", 1)]);
        aborted.ranks[0].ended = Ended::Aborted;
        assert_eq!(texts(&aborted), [""; 0]);
    }
}
