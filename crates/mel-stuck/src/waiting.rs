//! Which operations never meet, and who has not come to them.

use std::collections::{BTreeMap, BTreeSet};

use mel_verdict::run::Run;
use mpi_functions::{Function, Kind as About, Members, Step, Waits, WindowCall};
use serde::{Deserialize, Serialize};

use super::positions::{Call, Position, Positions, State, Together};
use super::{messages, words};

/// What a finding is about, most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Ranks are in different collective operations on one communicator, as their operation of the same number, or in one with different
    /// roots; or one has completed as many, and others.
    Mismatch,
    /// A rank waits for a message, and one has come that nobody asks for and that differs in one thing: tag, communicator or sender.
    Differs,
    /// Ranks wait for each other in a circle: operations on several communicators, or messages.
    Cycle,
    /// A member will not come to an operation, or a peer will not answer: it has ended, or is in `MPI_Finalize`.
    Ended,
    /// A member has not come to an operation, or a peer has not answered, because it is in no call, or makes others.
    Outside,
    /// The same, because it is in another call.
    Elsewhere,
    /// All who could answer a point-to-point call have ended, or are in `MPI_Finalize`.
    NobodyLeft,
    /// A point-to-point call, or another one, of which the tables do not say whom it waits for.
    NotKnown,
    /// All members are in an operation: what holds it up is not in the tables.
    AllThere,
}

/// What blocks whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about.
    pub kind: Kind,
    /// Who waits, ascending. Of a mismatch and a cycle: all who are in it.
    pub waiting: Vec<u32>,
    /// For whom, ascending; empty where that is not known.
    pub causes: Vec<u32>,
    /// The same in words.
    pub sentence: String,
}

/// The operation of a number on a communicator: where its ranks are.
#[derive(Debug)]
pub(crate) struct Meeting<'a> {
    /// Place in [`Run::communicators`].
    pub communicator: u32,
    /// From 1.
    pub number: u64,
    /// Who is in it, by call.
    pub calls: BTreeMap<&'a Call, Vec<u32>>,
    /// Members that have not come to it.
    pub missing: Vec<u32>,
    /// Members that have completed as many operations or more.
    pub past: Vec<u32>,
    /// Whether all members are known, and how many operations each has completed.
    pub is_whole: bool,
}

impl Meeting<'_> {
    /// Who is in it, ascending.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.calls.values().flatten().copied().collect();
        ranks.sort_unstable();
        ranks
    }

    /// Whether its ranks are in functions that do not meet.
    fn is_mismatch(&self) -> bool {
        let mut functions = self.calls.keys().filter_map(|call| Some(call.about()?.plain().name));
        let first = functions.next();
        functions.any(|function| Some(function) != first)
    }

    /// Whether each of its ranks waits for all.
    pub(crate) fn is_for_all(&self) -> bool {
        self.calls.keys().all(|call| call.about().is_some_and(|about| about.waits() == Some(Waits::All)))
    }
}

/// What blocks whom, most certain first; of calls that are under way for so many seconds at least.
pub(crate) fn findings(run: &Run, positions: &Positions, settled_s: f64) -> Vec<Finding> {
    let meetings = meetings(run, positions, settled_s);
    let mut findings = Vec::new();
    let mut told = vec![false; meetings.len()];
    for (meeting, told) in meetings.iter().zip(&mut told).filter(|(meeting, _)| meeting.is_mismatch()) {
        *told = true;
        let sentence = words::mismatch(run, meeting);
        findings.push(Finding {
            kind: Kind::Mismatch,
            waiting: meeting.ranks(),
            causes: Vec::new(),
            sentence,
        });
    }
    for (meeting, told) in meetings.iter().zip(&mut told).filter(|(_, told)| !**told) {
        let mut roots: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
        for rank in meeting.ranks() {
            let mut here = positions.of_rank(rank).iter().filter(|position| {
                position.call.as_ref().is_some_and(|call| meeting.calls.contains_key(call))
            });
            if let Some(root) = here.find_map(|position| position.holds.as_ref()?.root) {
                roots.entry(root).or_default().push(rank);
            }
        }
        if roots.len() > 1 {
            *told = true;
            let sentence = words::roots(run, meeting, &roots);
            let (waiting, causes) = (meeting.ranks(), Vec::new());
            findings.push(Finding { kind: Kind::Mismatch, waiting, causes, sentence });
        }
    }
    // Who is past it has completed the same operations, or others.
    for (meeting, told) in meetings.iter().zip(&mut told).filter(|(_, told)| !**told) {
        let Some((call, ranks)) = meeting.calls.iter().next() else { continue };
        let lacking = |rank: &u32| Some((*rank, positions.lacks(*rank, ranks[0], call)?));
        let Some((past, lacks)) = meeting.past.iter().find_map(lacking) else { continue };
        *told = true;
        let sentence = words::other_operations(run, meeting, past, lacks);
        findings.push(Finding {
            kind: Kind::Mismatch,
            waiting: meeting.ranks(),
            causes: vec![past],
            sentence,
        });
    }
    while let Some(cycle) = cycle(&meetings, &told) {
        cycle.iter().for_each(|place| told[*place] = true);
        let cycle: Vec<&Meeting<'_>> = cycle.into_iter().map(|place| &meetings[place]).collect();
        let mut waiting: Vec<u32> = cycle.iter().flat_map(|meeting| meeting.ranks()).collect();
        waiting.sort_unstable();
        waiting.dedup();
        let sentence = words::cycle(run, &cycle);
        findings.push(Finding { kind: Kind::Cycle, waiting, causes: Vec::new(), sentence });
    }
    for meeting in meetings.iter().zip(told).filter_map(|(meeting, told)| (!told).then_some(meeting)) {
        findings.extend(of_meeting(run, positions, meeting));
    }
    let (of_messages, told) = messages::findings(run, positions, &meetings, settled_s);
    findings.extend(of_messages);
    findings.extend(apart(run, positions, settled_s, &told));
    findings.sort_by_key(|finding| finding.kind);
    findings
}

/// The first operation on each communicator in which ranks are.
fn meetings<'a>(run: &Run, positions: &'a Positions, settled_s: f64) -> Vec<Meeting<'a>> {
    let mut all: BTreeMap<(u32, u64), BTreeMap<&Call, Vec<u32>>> = BTreeMap::new();
    let in_call = |position: &&Position| position.state == State::InCall && position.seconds >= settled_s;
    for position in positions.all.iter().filter(in_call) {
        let Some(call) = &position.call else { continue };
        if let (Some(communicator), Some(number)) = (call.communicator, call.number) {
            all.entry((communicator, number)).or_default().entry(call).or_default().push(position.rank);
        }
    }
    // Who is in a later one waits for the first, unless nobody lacks there any more.
    let mut meetings: Vec<Meeting<'_>> = Vec::new();
    for ((communicator, number), calls) in all {
        let blocks = |last: &Meeting<'_>| {
            last.communicator == communicator
                && (!last.missing.is_empty() || !last.is_whole || last.is_mismatch())
        };
        if meetings.last().is_some_and(blocks) {
            continue;
        }
        let mut meeting =
            Meeting { communicator, number, calls, missing: Vec::new(), past: Vec::new(), is_whole: false };
        let ranks = meeting.ranks();
        if let Some(members) = members(run, communicator, ranks[0]) {
            let has_come = |rank: &u32| ranks.binary_search(rank).is_ok();
            let others = members.into_iter().filter(|rank| !has_come(rank));
            let others: Vec<(u32, Option<u64>)> =
                others.map(|rank| (rank, positions.done(rank, communicator))).collect();
            meeting.is_whole = others.iter().all(|(_, done)| done.is_some());
            let is_missing = |(_, done): &&(u32, Option<u64>)| done.is_some_and(|done| done < number);
            let is_past = |(_, done): &&(u32, Option<u64>)| done.is_some_and(|done| done >= number);
            meeting.past = others.iter().filter(is_past).map(|(rank, _)| *rank).collect();
            meeting.missing = others.iter().filter(is_missing).map(|(rank, _)| *rank).collect();
        }
        meetings.push(meeting);
    }
    meetings
}

/// The members of a communicator, ascending, as one of them knows them: of an intercommunicator those of both groups.
pub(crate) fn members(run: &Run, communicator: u32, member: u32) -> Option<Vec<u32>> {
    let known = |rank: u32| -> Option<Vec<u32>> {
        let members = run.rank(rank)?.members(communicator)?;
        Some(members.ranks().filter_map(|rank| u32::try_from(rank).ok()).collect())
    };
    let mut members = known(member)?;
    if !members.contains(&member) {
        let other = members.iter().find_map(|rank| known(*rank)).unwrap_or_default();
        members.extend(other);
    }
    members.sort_unstable();
    members.dedup();
    Some(members)
}

/// Operations of which each lacks a rank that is in the next one, and the last one lacks one that is in the first.
fn cycle(meetings: &[Meeting<'_>], told: &[bool]) -> Option<Vec<usize>> {
    let waits_for = |from: usize, to: usize| {
        let ranks = meetings[to].ranks();
        !told[to] && from != to && meetings[from].missing.iter().any(|rank| ranks.binary_search(rank).is_ok())
    };
    // By depth: 0 not seen, 1 on the way, 2 leads to none.
    fn follow(
        at: usize,
        all: usize,
        waits_for: &dyn Fn(usize, usize) -> bool,
        seen: &mut [u8],
        way: &mut Vec<usize>,
    ) -> Option<Vec<usize>> {
        seen[at] = 1;
        way.push(at);
        for next in (0..all).filter(|next| waits_for(at, *next)) {
            if seen[next] == 1 {
                let begin = way.iter().position(|place| *place == next)?;
                return Some(way[begin..].to_vec());
            }
            if seen[next] == 0
                && let Some(found) = follow(next, all, waits_for, seen, way)
            {
                return Some(found);
            }
        }
        way.pop();
        seen[at] = 2;
        None
    }
    let mut seen = vec![0; meetings.len()];
    (0..meetings.len()).filter(|place| !told[*place]).collect::<Vec<_>>().into_iter().find_map(|place| {
        (seen[place] == 0)
            .then(|| follow(place, meetings.len(), &waits_for, &mut seen, &mut Vec::new()))
            .flatten()
    })
}

/// What it is that holds others up where a rank does this.
pub(crate) fn kind_of(state: State) -> Kind {
    match state {
        State::InCall | State::Polls => Kind::Elsewhere,
        State::Outside | State::Moves => Kind::Outside,
        State::Unknown | State::OnAnotherNode => Kind::NotKnown,
        _ => Kind::Ended,
    }
}

/// Who has not come to an operation of one function, and where they are.
fn of_meeting(run: &Run, positions: &Positions, meeting: &Meeting<'_>) -> Vec<Finding> {
    let waiting = meeting.ranks();
    if meeting.missing.is_empty() {
        let kind = if meeting.is_whole { Kind::AllThere } else { Kind::NotKnown };
        let sentence = words::no_one_missing(run, meeting);
        return vec![Finding { kind, waiting, causes: Vec::new(), sentence }];
    }
    // Members that do the same are named together.
    let mut places: BTreeMap<(Kind, State, Option<&Call>), Together> = BTreeMap::new();
    for rank in &meeting.missing {
        let Some(position) = positions.of_rank(*rank).first() else { continue };
        let kind = kind_of(position.state);
        let place = places.entry((kind, position.state, position.call.as_ref())).or_default();
        place.0.push(*rank);
        place.1 = place.1.max(position.seconds);
    }
    let Some(((kind, state, call), (causes, seconds))) = places.pop_first() else { return Vec::new() };
    let holds = positions.of_rank(causes[0]).first().and_then(|position| position.holds.clone());
    let first = Position { rank: causes[0], state, call: call.cloned(), seconds, holds };
    let others: Vec<u32> = places.values().flat_map(|(ranks, _)| ranks).copied().collect();
    let sentence = words::missing(run, meeting, &causes, &first, &others);
    vec![Finding { kind, waiting, causes, sentence }]
}

/// Whether a function can wait for another process, and is none of which operations are counted.
fn waits_alone(call: &Call) -> bool {
    let Some(about) = call.about() else { return false };
    call.number.is_none() && about.step != Step::Tests && !about.is_local()
}

/// Whether it is a receive, a send, a probe or the completion of one.
fn is_point_to_point(call: &Call) -> bool {
    call.about().is_some_and(|about| {
        about.sends() || about.receives() || matches!(about.kind, About::Probe | About::Completion)
    })
}

/// Calls that are no numbered operations: of these the tables do not say whom they wait for.
fn apart(run: &Run, positions: &Positions, settled_s: f64, told: &BTreeSet<u32>) -> Vec<Finding> {
    let mut places: BTreeMap<&Call, Together> = BTreeMap::new();
    let is_new = |position: &&Position| position.seconds >= settled_s && !told.contains(&position.rank);
    for position in positions.all.iter().filter(is_new) {
        let waits = |call: &&Call| match position.state {
            State::InCall => waits_alone(call),
            state => state == State::Polls,
        };
        if let Some(call) = position.call.as_ref().filter(waits) {
            let place = places.entry(call).or_default();
            place.0.push(position.rank);
            place.1 = place.1.max(position.seconds);
        }
    }
    let will_not_answer = |position: &Position| {
        matches!(position.state, State::Finalised | State::Aborted | State::Exited | State::Killed)
    };
    let ended: Vec<u32> = positions
        .all
        .iter()
        .filter(|position| will_not_answer(position))
        .map(|position| position.rank)
        .collect();
    let finding = |(call, (waiting, seconds)): (&Call, Together)| {
        let here = (call, &waiting[..], seconds);
        if let Some(finding) = by_counts(run, positions, here).or_else(|| by_group(run, positions, here)) {
            return finding;
        }
        let partners = call.communicator.and_then(|communicator| members(run, communicator, waiting[0]));
        let partners =
            partners.unwrap_or_else(|| positions.all.iter().map(|position| position.rank).collect());
        let others: Vec<u32> =
            partners.into_iter().filter(|rank| waiting.len() > 1 || *rank != waiting[0]).collect();
        let is_alone = !others.is_empty() && others.iter().all(|rank| ended.binary_search(rank).is_ok());
        let point_to_point = is_point_to_point(call);
        let is_certain = point_to_point && is_alone;
        let kind = if is_certain { Kind::NobodyLeft } else { Kind::NotKnown };
        let ended = if point_to_point { &ended[..] } else { &[] };
        let sentence = words::apart(run, call, &waiting, seconds, ended, is_certain);
        let causes = if is_certain { others } else { Vec::new() };
        Finding { kind, waiting, causes, sentence }
    };
    places.into_iter().map(finding).collect()
}

/// Who keeps ranks waiting in a call about a window or a file, as far as counts tell: who has called a function that all call less often, or
/// has locked more often than unlocked.
fn by_counts(run: &Run, positions: &Positions, here: (&Call, &[u32], f64)) -> Option<Finding> {
    let (call, waiting, _) = here;
    let about = call.about()?;
    let is_lock = matches!(
        about.kind,
        About::Window(WindowCall::Lock | WindowCall::Unlock | WindowCall::Flush | WindowCall::FlushLocal)
    );
    if !is_lock && !matches!(about.members(), Some(Members::Window | Members::File)) {
        return None;
    }
    let returned = |rank: u32, is_one: &dyn Fn(&Function) -> bool| {
        positions.returned(run.rank(rank)?, call.communicator, is_one)
    };
    let is_same = |other: &Function| other.plain() == about.plain();
    let before = waiting.iter().filter_map(|rank| returned(*rank, &is_same)).min()?;
    let keeps_waiting = |rank: u32| {
        if is_lock {
            // Those that lock all do not keep each other waiting.
            let of = |name| returned(rank, &|function| function.name == name);
            return Some(of("MPI_Win_lock")? > of("MPI_Win_unlock")?);
        }
        // It may be there from another line.
        let is_there = positions.of_rank(rank).iter().any(|position| {
            let is_it = |of: &Call| of.communicator == call.communicator && of.about().is_some_and(is_same);
            position.state == State::InCall && position.call.as_ref().is_some_and(is_it)
        });
        Some(!is_there && returned(rank, &is_same)? <= before)
    };
    let (mut ranks, are_members) = around(run, positions, here);
    ranks.retain(|rank| keeps_waiting(*rank) == Some(true));
    let first = positions.of_rank(*ranks.first()?).first()?;
    let alike = |rank: &u32| {
        let here = positions.of_rank(*rank).first();
        here.is_some_and(|here| (here.state, &here.call) == (first.state, &first.call))
    };
    let (causes, others): (Vec<u32>, Vec<u32>) = ranks.iter().partition(|rank| alike(rank));
    let sentence = if is_lock {
        words::locks(run, here, (&causes, first), &others)
    } else {
        words::behind(run, here, (before, are_members), (&causes, first), &others)
    };
    Some(Finding { kind: kind_of(first.state), waiting: waiting.to_vec(), causes, sentence })
}

/// The ranks that share a window or a file with those that wait, without these; and whether it is known who they are.
fn around(run: &Run, positions: &Positions, (call, waiting, _): (&Call, &[u32], f64)) -> (Vec<u32>, bool) {
    // Threads of a rank have a position each.
    let mut ranks: Vec<u32> = positions.all.iter().map(|position| position.rank).collect();
    ranks.dedup();
    let members = call.communicator.and_then(|communicator| members(run, communicator, waiting[0]));
    ranks.retain(|rank| !waiting.contains(rank));
    if let Some(members) = &members {
        ranks.retain(|rank| members.contains(rank));
    }
    (ranks, members.is_some())
}

/// What the processes of a group have to do for a call of this kind (MPI-5.0, section 12.5.2).
fn needed_of_group(kind: About) -> Option<WindowCall> {
    match kind {
        About::Window(WindowCall::Start | WindowCall::Complete) => Some(WindowCall::Post),
        About::Window(WindowCall::Wait) => Some(WindowCall::Complete),
        _ => None,
    }
}

/// Who keeps ranks waiting in a call for a group of a window. Which ranks are in the group the tables do not say: certain is a rank that is the
/// only one to have done, or to be able to do, what is needed, and has done it less often than it was needed.
fn by_group(run: &Run, positions: &Positions, here: (&Call, &[u32], f64)) -> Option<Finding> {
    let (call, waiting, _) = here;
    let about = call.about()?;
    let needed = needed_of_group(about.kind)?;
    let returned = |rank: u32, is_one: &dyn Fn(&Function) -> bool| {
        positions.returned(run.rank(rank)?, call.communicator, is_one)
    };
    // A test without success has returned, too.
    let tests =
        |rank: &u32| returned(*rank, &|of| of.kind == about.kind && of.step == Step::Tests) != Some(0);
    if about.kind == About::Window(WindowCall::Wait) && waiting.iter().any(tests) {
        return None;
    }
    let before = waiting.iter().filter_map(|rank| returned(*rank, &|of| of.kind == about.kind)).min()?;
    let (mut ranks, _) = around(run, positions, here);
    let times = |rank: u32| returned(rank, &|of| of.kind == About::Window(needed));
    if ranks.iter().any(|rank| times(*rank).is_some_and(|times| times > 0)) {
        ranks.retain(|rank| times(*rank) != Some(0));
    }
    let function = mpi_functions::FUNCTIONS.iter().find(|of| of.kind == About::Window(needed))?.name;
    let first = positions.of_rank(*ranks.first()?).first()?;
    let is_certain = ranks.len() == 1 && times(ranks[0])? <= before;
    let sentence = words::of_group(run, here, function, (&ranks, first), is_certain);
    let (kind, causes) =
        if is_certain { (kind_of(first.state), ranks) } else { (Kind::NotKnown, Vec::new()) };
    Some(Finding { kind, waiting: waiting.to_vec(), causes, sentence })
}

/// Whether the members of a window or of a file call a function together.
pub(crate) fn is_of_another_group(call: &Call) -> bool {
    call.about().is_some_and(|about| about.members().is_some_and(|members| members != Members::Communicator))
}
