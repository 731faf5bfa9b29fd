//! The queues of each communicator, over all ranks.

use std::collections::BTreeMap;

use serde::Serialize;

use mel_convert::Run;
use mel_log::profile::communicators::{OfCommunicator, by_communicator};
use mel_log::profile::{self, Profile};

/// More than so many are not shown: those with the most messages are.
const MOST: usize = 200;

/// One communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub context: u64,
    /// Number of its processes.
    pub size: u32,
    /// Its queues, if the profile has them.
    pub queues: Option<Queues>,
    /// Calls on it, if the profile has them.
    pub calls: Option<Calls>,
    /// Its messages, if the event logs have any.
    pub traffic: Option<Traffic>,
}

/// The messages and searches of a communicator, over all of its ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Messages that were received.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that were unexpected, where that was logged.
    pub unexpected: u64,
    /// Searches of its queues.
    pub searches: u64,
    /// Nanoseconds that they took.
    pub search_ns: u64,
}

impl Traffic {
    /// Adds what another rank has.
    pub fn add(&mut self, other: Traffic) {
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
        self.searches = self.searches.saturating_add(other.searches);
        self.search_ns = self.search_ns.saturating_add(other.search_ns);
    }
}

/// The queues of a communicator, over all of its ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Queues {
    /// Receives that were posted and waited.
    pub posted: u64,
    /// Messages that were unexpected.
    pub unexpected: u64,
    /// The longest that the posted queue of any rank was.
    pub posted_length: u64,
    /// The longest that the unexpected queue of any rank was.
    pub unexpected_length: u64,
    /// The mean of the lifetimes of the unexpected messages.
    pub unexpected_mean_s: f64,
    /// The longest of them.
    pub unexpected_max_s: f64,
    /// Time spent with searching.
    pub search_s: f64,
}

impl Queues {
    fn of(sum: &profile::Queues) -> Queues {
        Queues {
            posted: sum.posted.messages,
            unexpected: sum.unexpected.messages,
            posted_length: sum.posted.max_length,
            unexpected_length: sum.unexpected.max_length,
            unexpected_mean_s: sum.unexpected.mean_s,
            unexpected_max_s: sum.unexpected.max_s,
            search_s: sum.posted_search.total_s + sum.unexpected_search.total_s,
        }
    }
}

/// The calls on a communicator, over all of its ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// Time in them.
    pub in_mpi_s: f64,
    /// Time lost waiting; estimated.
    pub waiting_s: f64,
}

/// By what communicators are distinguished: identity, name, number of processes.
pub type Key = (u64, String, u32);

type Rows = BTreeMap<Key, Row>;

fn insert<'a>(rows: &'a mut Rows, context: u64, name: &str, size: u32) -> &'a mut Row {
    let name = name.to_owned();
    rows.entry((context, name.clone(), size)).or_insert(Row {
        name,
        context,
        size,
        queues: None,
        calls: None,
        traffic: None,
    })
}

/// The communicators of a run, those with the most messages first.
pub fn rows(
    profile: Option<&Profile>,
    logs: Option<&Run>,
    traffic: Option<&BTreeMap<Key, Traffic>>,
) -> Vec<Row> {
    let mut rows = Rows::new();
    for log in logs.iter().flat_map(|run| &run.ranks) {
        for known in log.definitions.communicators.values() {
            let size = known.members.len() as u32;
            insert(&mut rows, known.context, &known.name, size);
        }
    }
    for OfCommunicator { sum, .. } in profile.map(by_communicator).unwrap_or_default() {
        let row = insert(&mut rows, sum.context, &sum.name, sum.size);
        row.queues = sum.queues.as_ref().map(Queues::of);
        row.calls = (sum.calls > 0 || sum.waiting_s > 0.0).then_some(Calls {
            calls: sum.calls,
            in_mpi_s: sum.in_mpi_s,
            waiting_s: sum.waiting_s,
        });
    }
    for (key, traffic) in traffic.into_iter().flatten() {
        insert(&mut rows, key.0, &key.1, key.2).traffic = Some(*traffic);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    let messages = |row: &Row| {
        let queued = row.queues.map_or(0, |queues| queues.posted + queues.unexpected);
        queued.max(row.traffic.map_or(0, |traffic| traffic.messages))
    };
    rows.sort_by_key(|row| std::cmp::Reverse(messages(row)));
    rows.truncate(MOST);
    rows
}
