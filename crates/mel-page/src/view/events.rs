//! One pass over the event logs of a run, several ranks at a time.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Window;
use super::arrows::{self, Arrows};
use super::communicators;
use super::lengths::Lengths;
use super::matrix::{Matrix, Pairs, matrix};
use super::pass::{Found, Pass, Shared, keep};
use super::timeline::{Name, Row};
use super::variables;
use mel_convert::Run;
use mel_convert::callsites::CallSites;
use mel_convert::spans::walk;
use mel_convert::time::Timeline;

/// Slices of all rows together; with their attributes they take some seven megabytes.
const MOST_SLICES: usize = 120_000;
/// Steps of the lengths of all queues together.
const MOST_STEPS: usize = 60_000;
/// Ranks with rows of their own.
const MOST_RANKS: usize = 256;

/// What the event logs of a run hold.
#[derive(Debug, Serialize)]
pub struct Events {
    /// The part of the run that is shown, in nanoseconds since its first record.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Where to look first: starting the program takes long and shows little.
    pub first_look_ns: u64,
    /// MPI calls in it.
    pub calls: u64,
    /// Searches of the queues.
    pub searches: u64,
    /// Operations on windows that were completed.
    pub operations: u64,
    /// Messages that were received.
    pub messages: u64,
    /// Those of them that the timeline does not show: the calls that received them are not recorded.
    pub lone_messages: u64,
    /// What slices are.
    pub names: Vec<Name>,
    /// Names of communicators, to which [attributes](super::timeline::Attribute) refer.
    pub communicators: Vec<String>,
    /// From where functions are called, as slices number it.
    pub sites: Vec<String>,
    /// The rows of the timeline, by rank; calls above searches and epochs.
    pub rows: Vec<Row>,
    /// Messages; none where there are too many to match them.
    pub arrows: Option<Arrows>,
    /// When recording was off, of each rank that had it switched off.
    pub pauses: Vec<Row>,
    /// Ranks that have no rows because there are too many.
    pub hidden_ranks: usize,
    /// The lengths of the queues of each rank; empty if their changes were not logged.
    pub lengths: Vec<RankLengths>,
    /// Who sends to whom.
    pub matrix: Option<Matrix>,
    /// The longest searches, the longest first.
    pub moments: Vec<Moment>,
    /// Variables that were sampled.
    #[serde(skip)]
    pub variables: Vec<variables::Variable>,
    /// The messages of each communicator.
    #[serde(skip)]
    pub traffic: BTreeMap<communicators::Key, communicators::Traffic>,
}

/// The lengths of the queues of a rank.
#[derive(Debug, Serialize)]
pub struct RankLengths {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The posted receive queues, all communicators together.
    pub posted: Lengths,
    /// The unexpected message queues.
    pub unexpected: Lengths,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Moment {
    /// Its duration, in nanoseconds.
    pub duration_ns: u64,
    /// When it began, in nanoseconds.
    pub start_ns: u64,
    /// Where.
    pub rank: u32,
    /// What: its [`Name`].
    pub name: u16,
}

/// Reads the logs.
pub fn read_logs(run: &Run, window: Window, tick: &(dyn Fn(u64) + Sync)) -> Events {
    let timeline = Timeline::new(&run.ranks);
    let nanos = |seconds: f64| (seconds * 1e9).clamp(0.0, 1e19) as u64;
    let shared = Shared {
        timeline: &timeline,
        from: window.from.map_or(0, nanos),
        to: window.to.map_or(u64::MAX, nanos),
        slices: MOST_SLICES / (2 * run.ranks.len().clamp(1, MOST_RANKS)),
        steps: MOST_STEPS / (2 * run.ranks.len().clamp(1, MOST_RANKS)),
        ranks: run.ranks.len(),
        arrows: run.ranks.iter().all(|log| log.records_at_most() <= arrows::MOST_RECORDS),
        stride: run.ranks.len().div_ceil(MOST_RANKS).max(1),
    };
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(run.ranks.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let position = next.fetch_add(1, Ordering::Relaxed);
                    let Some(log) = run.ranks.get(position) else { break };
                    let mut pass = Pass::new(&shared, log, position);
                    walk(log, &mut pass, &|records| tick(records));
                    let found = pass.finish();
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(position, found);
                }
            });
        }
    });
    join(run, &shared, done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// What was found of all ranks, with one numbering of names.
fn join(run: &Run, shared: &Shared<'_>, all: BTreeMap<usize, Found>) -> Events {
    let mut events = Events {
        from_ns: shared.from,
        to_ns: 0,
        first_look_ns: shared.from,
        calls: 0,
        searches: 0,
        operations: 0,
        messages: 0,
        lone_messages: 0,
        names: Vec::new(),
        communicators: Vec::new(),
        sites: Vec::new(),
        rows: Vec::new(),
        arrows: None,
        pauses: Vec::new(),
        hidden_ranks: run.ranks.len() - run.ranks.len().div_ceil(shared.stride),
        lengths: Vec::new(),
        matrix: None,
        moments: Vec::new(),
        variables: Vec::new(),
        traffic: BTreeMap::new(),
    };
    let (mut pairs, mut unexpected_known, mut started) = (Pairs::default(), false, None);
    let (mut ends, mut sampled) = (Vec::new(), Vec::new());
    // Debug information is read once for all ranks.
    let (mut lines, mut numbers) = (CallSites::default(), FxHashMap::default());
    for (position, mut found) in all {
        let number = |name: &Name| position_or_push(&mut events.names, name) as u16;
        let names: Vec<u16> = found.names.iter().map(number).collect();
        let communicator = |name: &String| position_or_push(&mut events.communicators, name) as u32;
        let communicators: Vec<u32> = found.communicators.iter().map(communicator).collect();
        let mut site = |address: &u64| {
            let line = lines.of(&run.ranks[position], *address)?;
            Some(*numbers.entry(line).or_insert_with_key(|line| {
                events.sites.push(line.to_string());
                (events.sites.len() - 1) as u32
            }))
        };
        let sites: Vec<u32> = found.sites.iter().map(|address| site(address).unwrap_or(0)).collect();
        for row in &mut found.rows {
            row.finish(&names, &communicators, &sites);
        }
        for mut moment in found.moments {
            moment.name = names[usize::from(moment.name)];
            keep(&mut events.moments, moment);
        }
        for (object, traffic) in found.traffic {
            let Some(known) = run.ranks[position].definitions.communicators.get(&object) else { continue };
            let key = (known.context, known.name.clone(), known.members.len() as u32);
            events.traffic.entry(key).or_default().add(traffic);
        }
        ends.push(found.ends);
        sampled.push((run.ranks[position].info.rank, found.sampled));
        events.rows.append(&mut found.rows);
        events.pauses.extend(found.pauses);
        events.lengths.extend(found.lengths);
        pairs.extend(found.pairs);
        unexpected_known |= found.unexpected_known;
        events.calls += found.calls;
        events.searches += found.searches;
        events.messages += found.messages;
        events.lone_messages += found.lone_messages;
        events.operations += found.operations;
        events.to_ns = events.to_ns.max(found.last);
        started = [started, found.started].into_iter().flatten().min();
    }
    events.to_ns = events.to_ns.min(shared.to).max(events.from_ns + 1);
    // Somebody who names a part of the run wants to see it from its beginning.
    let looks = started.filter(|started| shared.from == 0 && *started < events.to_ns);
    events.first_look_ns = looks.unwrap_or(events.from_ns);
    events.variables = variables::of_logs(sampled);
    events.arrows = shared.arrows.then(|| arrows::arrows(ends));
    events.matrix = matrix(&pairs, run.world_size(), unexpected_known);
    events
}

fn position_or_push<T: PartialEq + Clone>(known: &mut Vec<T>, wanted: &T) -> usize {
    known.iter().position(|other| other == wanted).unwrap_or_else(|| {
        known.push(wanted.clone());
        known.len() - 1
    })
}
