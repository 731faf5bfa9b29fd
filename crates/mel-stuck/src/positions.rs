//! Where each rank is.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mel_log::profile::Ended;
use mel_log::table::{TableRows, ThreadRow};
use mel_verdict::run::{Context, Rank, Run};
use mpi_functions::{Function, Kind, Members};
use serde::{Deserialize, Serialize};

use super::Look;
use super::messages::{self, Holds};

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is in a call.
    InCall,
    /// It is in no call that is counted: it computes, is lost in a loop, or is in `MPI_Finalize`, of which a table says only when it ends.
    Outside,
    /// It tests again and again, without success.
    Polls,
    /// It makes calls: it was in another one a moment later.
    Moves,
    /// It has ended its measurement in `MPI_Finalize`, which it is in, or has left.
    Finalised,
    /// It has called `MPI_Abort`.
    Aborted,
    /// It has ended with `exit`, without `MPI_Finalize`.
    Exited,
    /// It was killed while others run, or crashed.
    Killed,
    /// It has no table on the node whose tables were read: it runs on another one.
    OnAnotherNode,
    /// It has left no table.
    Unknown,
}

/// A call: of [`State::InCall`] the one under way, else the last one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub function: Rc<str>,
    /// Place in [`Run::sites`].
    pub site: Option<u32>,
    /// Place in [`Run::communicators`].
    pub communicator: Option<u32>,
    /// Its how many-th collective operation on the communicator it is, from 1; none where that is not known, and for other calls.
    pub number: Option<u64>,
}

impl Call {
    pub(crate) fn about(&self) -> Option<&'static Function> {
        mpi_functions::named(&self.function)
    }
}

/// Where a rank is, or one of its threads that are in calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Position {
    pub rank: u32,
    pub state: State,
    pub call: Option<Call>,
    /// For how long, in seconds; 0 where that is not known.
    pub seconds: f64,
    /// What the call waits for, of [`State::InCall`], where that is known.
    pub holds: Option<Holds>,
}

/// The collective operations that a rank has completed.
#[derive(Debug, Default)]
struct Done {
    /// How many, by communicator.
    all: BTreeMap<u32, u64>,
    /// By communicator and function.
    by_function: BTreeMap<(u32, &'static str), u64>,
}

/// Where all ranks are.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// By rank, ascending.
    pub all: Vec<Position>,
    /// How many collective operations a rank has completed, by communicator; none where its table has not counted all.
    done: HashMap<u32, Option<Done>>,
}

impl Positions {
    /// How many collective operations a rank has completed on a communicator, which it may not even have used; none where that is not known.
    pub(crate) fn done(&self, rank: u32, communicator: u32) -> Option<u64> {
        let done = self.done.get(&rank)?.as_ref()?;
        Some(done.all.get(&communicator).copied().unwrap_or(0))
    }

    /// The function that one rank has completed less often on a communicator than another one has called it there, whose call is under way:
    /// how often each did. None where that is not known, or there is no such function.
    pub(crate) fn lacks(&self, rank: u32, other: u32, under_way: &Call) -> Option<(&'static str, u64, u64)> {
        let (done, of_other) = (self.done.get(&rank)?.as_ref()?, self.done.get(&other)?.as_ref()?);
        let (communicator, under_way) = (under_way.communicator?, under_way.about()?.plain().name);
        let mut called = of_other.by_function.clone();
        *called.entry((communicator, under_way)).or_default() += 1;
        called.into_iter().filter(|((of, _), _)| *of == communicator).find_map(|(key, called)| {
            let completed = done.by_function.get(&key).copied().unwrap_or(0);
            (completed < called).then_some((key.1, completed, called))
        })
    }

    /// How often a rank has returned from such functions on a communicator or window; none where its table has not counted all.
    pub(crate) fn returned(
        &self,
        rank: &Rank,
        communicator: Option<u32>,
        is_one: impl Fn(&Function) -> bool,
    ) -> Option<u64> {
        self.done.get(&rank.rank)?.as_ref()?;
        let contexts = (0..).zip(&rank.contexts).filter(|(_, of)| of.communicator == communicator);
        let of = contexts.filter(|(_, of)| mpi_functions::named(&of.function).is_some_and(&is_one));
        Some(of.map(|(number, _)| rank.returned(number)).sum())
    }

    /// Those of a rank.
    pub(crate) fn of_rank(&self, rank: u32) -> &[Position] {
        let begin = self.all.partition_point(|position| position.rank < rank);
        let end = self.all.partition_point(|position| position.rank <= rank);
        &self.all[begin..end]
    }
}

/// Ranks that do the same, ascending, and for how many seconds the one does that has done it longest.
pub(crate) type Together = (Vec<u32>, f64);

/// Ranks that do the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Their ranks, ascending.
    pub ranks: Vec<u32>,
    /// What they do.
    pub state: State,
    /// The function of the call that they are in, or have made last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its call site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Its communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communicator: Option<String>,
    /// The how many-th collective operation of each of them on the communicator it is, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<u64>,
    /// For how many seconds, of the rank that has done it longest.
    pub longest_s: f64,
}

/// How a rank has ended.
pub(crate) fn ended(rank: &Rank) -> Ended {
    Ended::of_table(rank.rows.ended, rank.rows.is_running)
}

/// A time of a rank in nanoseconds since 1970.
pub(crate) fn instant(rows: &TableRows, ticks: u64) -> u64 {
    let since = u128::from(ticks.saturating_sub(rows.started)) * 1_000_000_000;
    rows.started_realtime_nanos.saturating_add((since / u128::from(rows.ticks_per_second.max(1))) as u64)
}

/// When something of a rank was seen last, in nanoseconds since 1970.
pub(crate) fn last_seen(rank: &Rank) -> u64 {
    instant(&rank.rows, rank.rows.last_seen())
}

/// The same, with when calls were seen that lasted long and had not returned.
pub(crate) fn seen_until(rank: &Rank) -> u64 {
    instant(&rank.rows, rank.rows.seen_until())
}

/// From one instant to another in seconds.
pub(crate) fn seconds(from: u64, until: u64) -> f64 {
    until.saturating_sub(from) as f64 / 1e9
}

/// Whether calls of a function on a communicator follow each other in one order in all of its members.
pub(crate) fn is_ordered(function: &Function) -> bool {
    function.members() == Some(Members::Communicator)
}

/// Where all ranks are.
pub(crate) fn of(run: &Run, world_size: u32, look: &Look) -> Positions {
    let is_running = run.ranks.iter().any(|rank| ended(rank) == Ended::Running);
    let mut positions = Positions::default();
    for number in 0..world_size {
        let Some(rank) = run.rank(number) else {
            let state = if look.is_of_one_node { State::OnAnotherNode } else { State::Unknown };
            positions.all.push(Position { rank: number, state, call: None, seconds: 0.0, holds: None });
            continue;
        };
        let done = done(rank);
        of_rank((run, rank), done.as_ref(), is_running, look, &mut positions.all);
        positions.done.insert(number, done);
    }
    positions
}

/// Whether the table of a rank has a row for all that it has called.
pub(crate) fn has_counted_all(rank: &Rank) -> bool {
    let left_out = &rank.rows.left_out;
    left_out.contexts == 0
        && left_out.communicators == 0
        && rank.rows.missing_bytes() == 0
        && rank.rows.damaged.is_empty()
}

/// How many collective operations a rank has completed, by communicator; none where its table has not counted all.
fn done(rank: &Rank) -> Option<Done> {
    if !has_counted_all(rank) {
        return None;
    }
    let all = rank.communicators.values().map(|communicator| (*communicator, 0)).collect();
    let mut done = Done { all, by_function: BTreeMap::new() };
    for (number, context) in (0..).zip(&rank.contexts) {
        let function = mpi_functions::named(&context.function).filter(|function| is_ordered(function));
        let (Some(function), Some(communicator)) = (function, context.communicator) else { continue };
        *done.all.entry(communicator).or_default() += rank.returned(number);
        *done.by_function.entry((communicator, function.plain().name)).or_default() += rank.returned(number);
    }
    Some(done)
}

fn of_rank(
    (run, rank): (&Run, &Rank),
    done: Option<&Done>,
    others_run: bool,
    look: &Look,
    all: &mut Vec<Position>,
) {
    let threads = || rank.rows.threads.iter().filter(|thread| thread.last() > 0);
    let last = || threads().max_by_key(|thread| thread.last()).and_then(|thread| call(rank, thread));
    let since = |ticks| seconds(instant(&rank.rows, ticks), look.now);
    let mut push = |state, call, seconds| {
        all.push(Position { rank: rank.rank, state, call, seconds, holds: None });
    };
    let state = match ended(rank) {
        Ended::Finalised => State::Finalised,
        Ended::Aborted => State::Aborted,
        Ended::Exited => State::Exited,
        Ended::Killed if others_run => State::Killed,
        _ if rank.rows.runs_until > 0 => State::Finalised,
        _ if look.polls.contains_key(&rank.rank) => State::Polls,
        _ if look.moved.contains(&rank.rank) => State::Moves,
        _ => State::InCall,
    };
    if state == State::Finalised {
        return push(state, None, since(rank.rows.runs_until));
    }
    if let (State::Polls, Some(seconds)) = (state, look.polls.get(&rank.rank)) {
        return push(state, last(), *seconds);
    }
    if state != State::InCall {
        return push(state, last(), since(rank.rows.last_seen()));
    }
    let in_calls: Vec<(usize, &ThreadRow, Call)> = (0..)
        .zip(&rank.rows.threads)
        .filter(|(_, thread)| thread.last() > 0 && thread.is_in_call())
        .filter_map(|(number, thread)| Some((number, thread, call(rank, thread)?)))
        .collect();
    if in_calls.is_empty() {
        return push(State::Outside, last(), since(rank.rows.last_seen()));
    }
    let ordered = |call: &Call| call.communicator.filter(|_| call.about().is_some_and(is_ordered));
    let places: Vec<Option<u32>> = in_calls.iter().map(|(_, _, call)| ordered(call)).collect();
    for (number, (at, thread, call)) in in_calls.into_iter().enumerate() {
        // Which of two threads came first to a communicator is not known.
        let is_only = places.iter().filter(|place| **place == places[number]).count() == 1;
        let before = places[number].filter(|_| is_only).and_then(|place| done?.all.get(&place));
        let call = Call { number: before.map(|calls| calls + 1), ..call };
        let is_end = call.about().is_some_and(|about| about.kind == Kind::Finalize);
        all.push(Position {
            rank: rank.rank,
            state: if is_end { State::Finalised } else { State::InCall },
            call: Some(call),
            seconds: since(thread.entered),
            holds: messages::of_call(run, rank, at, thread.entered),
        });
    }
}

/// The call that a thread is in, or has made last.
fn call(rank: &Rank, thread: &ThreadRow) -> Option<Call> {
    let Context { function, site, communicator, .. } = rank.context(thread.context)?;
    Some(Call { function: Rc::clone(function), site: *site, communicator: *communicator, number: None })
}

/// Ranks that do the same, by their lowest rank.
pub(crate) fn groups(run: &Run, positions: &Positions) -> Vec<Group> {
    let mut groups: BTreeMap<(State, &Option<Call>), Together> = BTreeMap::new();
    for position in &positions.all {
        let (ranks, longest) = groups.entry((position.state, &position.call)).or_default();
        if ranks.last() != Some(&position.rank) {
            ranks.push(position.rank);
        }
        *longest = longest.max(position.seconds);
    }
    let group = |((state, call), (ranks, longest_s)): ((State, &Option<Call>), Together)| {
        let call = call.as_ref();
        Group {
            ranks,
            state,
            function: call.map(|call| call.function.to_string()),
            site: call.and_then(|call| run.site(call.site)),
            communicator: call
                .and_then(|call| Some(run.communicators.get(call.communicator? as usize)?.name.clone())),
            operation: call.and_then(|call| call.number),
            longest_s,
        }
    };
    let mut groups: Vec<Group> = groups.into_iter().map(group).collect();
    groups.sort_by(|a, b| a.ranks.cmp(&b.ranks));
    groups
}
