//! What calls wait for that are no collective operations: messages, as tables have them of calls that last for a second or more.
//!
//! A rank waits for all of several things, or for one of them; who can go on is found from those who wait for nothing that is known. Who
//! cannot waits in a circle, or for a rank that has ended.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mel_log::table::{HoldKind, HoldRow};
use mel_verdict::run::{Rank, Run};
use mpi_functions::{Kind as About, Mode};

use super::positions::{Call, Position, Positions, State};
use super::waiting::{Finding, Kind, Meeting, kind_of};
use super::words;

/// A message that a call waits for, or sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    /// Whether it is sent, and not received.
    pub sends: bool,
    /// The identity of the communicator.
    pub identity: u64,
    /// The peer in `MPI_COMM_WORLD`; `None` for any.
    pub peer: Option<u32>,
    /// The tag; `None` for any.
    pub tag: Option<i32>,
}

/// A message that has come, and that no receive has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Came {
    pub identity: u64,
    /// The sender in `MPI_COMM_WORLD`.
    pub sender: u32,
    pub tag: i32,
    pub bytes: u64,
}

/// What is known of a call that lasts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Holds {
    /// What it waits for.
    pub needs: Vec<Need>,
    /// How many other requests it waits for.
    pub others: u32,
    /// Its root in the communicator.
    pub root: Option<i32>,
}

/// The world rank of a rank in the communicator of this identity, as a member knows it.
fn world_rank(run: &Run, rank: &Rank, identity: u64, peer: i32) -> Option<u32> {
    let place = place_of(run, identity)?;
    let of = |rank: &Rank| u32::try_from(rank.members(place)?.get(u32::try_from(peer).ok()?)?).ok();
    // A communicator that a rank has only got messages on may be defined by others alone.
    of(rank).or_else(|| run.ranks.iter().find_map(of))
}

/// The place of the communicator of this identity in [`Run::communicators`].
pub(crate) fn place_of(run: &Run, identity: u64) -> Option<u32> {
    let place = run.communicators.iter().position(|communicator| communicator.context == identity)?;
    u32::try_from(place).ok()
}

/// What is known of the call that a thread of a rank has entered then; `None` where nothing is.
pub(crate) fn of_call(run: &Run, rank: &Rank, thread: usize, entered: u64) -> Option<Holds> {
    let is_of_it = |row: &&HoldRow| row.entered == entered && usize::from(row.thread()) == thread;
    let mut rows = rank.rows.holds.iter().filter(is_of_it).peekable();
    rows.peek()?;
    let mut holds = Holds::default();
    for row in rows {
        let (peer, tag) = (row.peer as i32, row.tag as i32);
        let sends = match row.kind() {
            HoldKind::Receive => false,
            HoldKind::Send => true,
            HoldKind::Others => {
                holds.others = row.peer;
                continue;
            }
            HoldKind::Root => {
                holds.root = Some(peer).filter(|root| *root >= 0);
                continue;
            }
            HoldKind::Message | HoldKind::Lasts | HoldKind::Unknown => continue,
        };
        let known = world_rank(run, rank, row.communicator, peer);
        if peer >= 0 && known.is_none() {
            // Whom it waits for cannot be named.
            holds.others += 1;
            continue;
        }
        let tag = (tag >= 0).then_some(tag);
        holds.needs.push(Need { sends, identity: row.communicator, peer: known, tag });
    }
    Some(holds)
}

/// The messages that have come to a rank and that no receive has asked for, as far as a thread of it is still where it was when that was seen.
fn came(run: &Run, rank: &Rank) -> Vec<Came> {
    let is_now = |row: &&HoldRow| {
        let thread = rank.rows.threads.get(usize::from(row.thread()));
        // The same call, or outside of MPI since the same one.
        row.kind() == HoldKind::Message && thread.is_some_and(|thread| thread.last() == row.entered)
    };
    let of_row = |row: &HoldRow| {
        let sender = world_rank(run, rank, row.communicator, row.peer as i32)?;
        Some(Came { identity: row.communicator, sender, tag: row.tag as i32, bytes: row.bytes })
    };
    rank.rows.holds.iter().filter(is_now).filter_map(of_row).collect()
}

impl Need {
    /// Whether this message is what it waits for.
    fn takes(&self, came: &Came) -> bool {
        !self.sends
            && self.identity == came.identity
            && self.peer.is_none_or(|peer| peer == came.sender)
            && self.tag.is_none_or(|tag| tag == came.tag)
    }

    /// In what alone this message differs from what it waits for, if it is one thing.
    fn differs(&self, came: &Came) -> Option<Differs> {
        let tag = self.tag.is_none_or(|tag| tag == came.tag);
        let sender = self.peer.is_none_or(|peer| peer == came.sender);
        match (self.identity == came.identity, sender, tag) {
            _ if self.sends => None,
            (true, true, false) => Some(Differs::Tag),
            (false, true, true) => Some(Differs::Communicator),
            (true, false, true) => Some(Differs::Sender),
            _ => None,
        }
    }
}

/// In what a message differs from what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Differs {
    Tag,
    Communicator,
    Sender,
}

/// A rank that waits for messages.
struct Waiter<'a> {
    position: &'a Position,
    call: &'a Call,
    /// What it waits for and has not come.
    needs: Vec<Need>,
    /// All that it waits for.
    all: &'a [Need],
}

/// Whether a call ends with one of the things that it waits for.
fn is_for_one(call: &Call) -> bool {
    call.about().is_some_and(|about| about.waits_for_one())
}

/// For whom a rank waits: one of each of these, or nothing where that is not known.
type Awaited = Option<Vec<Vec<u32>>>;

/// What is found of the messages that ranks wait for, and which ranks that tells of.
pub(crate) fn findings(
    run: &Run,
    positions: &Positions,
    meetings: &[Meeting<'_>],
    settled_s: f64,
) -> (Vec<Finding>, BTreeSet<u32>) {
    let came: BTreeMap<u32, Vec<Came>> = run.ranks.iter().map(|rank| (rank.rank, came(run, rank))).collect();
    let none = Vec::new();
    let of = |rank: u32| came.get(&rank).unwrap_or(&none);
    let waits = |position: &&Position| position.state == State::InCall && position.seconds >= settled_s;
    let mut waiters: Vec<Waiter<'_>> = Vec::new();
    for position in positions.all.iter().filter(waits) {
        let (Some(call), Some(holds)) = (&position.call, &position.holds) else { continue };
        let is_there = |need: &Need| of(position.rank).iter().any(|came| need.takes(came));
        let mut needs: Vec<Need> = holds.needs.iter().filter(|need| !is_there(need)).copied().collect();
        // What `MPI_Sendrecv` sends has gone, mostly, while it waits for what it receives.
        if needs.iter().any(|need| !need.sends) {
            needs.retain(|need| !need.sends || holds.others > 0);
        }
        // A message that is there ends a wait for one; requests of which nothing is known may do.
        let ends = is_for_one(call) && (holds.others > 0 || needs.len() < holds.needs.len());
        if !needs.is_empty() && !ends {
            waiters.push(Waiter { position, call, needs, all: &holds.needs });
        }
    }
    let mut told: BTreeSet<u32> = BTreeSet::new();
    let mut findings = Vec::new();
    for waiter in &waiters {
        findings.extend(near(run, waiter, of(waiter.position.rank)));
    }
    let graph = Graph::of(run, positions, &waiters, meetings);
    for waiter in &waiters {
        let rank = waiter.position.rank;
        if told.contains(&rank) {
            continue;
        }
        let circle = graph.circle(rank);
        // Who waits for one of another circle is told as that.
        if let Some(circle) = circle.filter(|circle| !circle.iter().any(|rank| told.contains(rank))) {
            let of_circle: Vec<&Waiter<'_>> = circle
                .iter()
                .filter_map(|rank| waiters.iter().find(|one| one.position.rank == *rank))
                .collect();
            let is_standard =
                |call: &Call| call.about().is_some_and(|about| about.kind == About::Send(Mode::Standard));
            let sends = of_circle.len() == circle.len() && of_circle.iter().all(|one| is_standard(one.call));
            let one_of = of_circle.iter().any(|one| {
                one.needs.iter().any(|need| need.peer.is_none())
                    || is_for_one(one.call) && one.needs.len() > 1
            });
            let bytes = of_circle.iter().flat_map(|one| {
                one.needs.iter().filter(|need| need.sends).filter_map(|need| {
                    let came = of(need.peer?).iter();
                    let is_it = |came: &&Came| {
                        came.sender == one.position.rank
                            && came.identity == need.identity
                            && need.tag == Some(came.tag)
                    };
                    came.filter(is_it).map(|came| came.bytes).max()
                })
            });
            let bytes = bytes.max();
            let parts: Vec<String> =
                circle.iter().filter_map(|rank| part(run, positions, &waiters, *rank)).collect();
            let sentence = words::circle(&parts, sends.then_some(bytes), one_of);
            let mut waiting = circle.clone();
            waiting.sort_unstable();
            told.extend(&waiting);
            findings.push(Finding { kind: Kind::Cycle, waiting, causes: Vec::new(), sentence });
        }
    }
    let mut same: BTreeMap<(Kind, Vec<u32>, &Call), Vec<&Waiter<'_>>> = BTreeMap::new();
    for waiter in waiters.iter().filter(|waiter| !told.contains(&waiter.position.rank)) {
        let Some((kind, causes)) = cause(positions, &graph, waiter) else { continue };
        same.entry((kind, causes, waiter.call)).or_default().push(waiter);
    }
    for ((kind, causes, call), waiters) in same {
        let waiting: Vec<u32> = waiters.iter().map(|waiter| waiter.position.rank).collect();
        told.extend(&waiting);
        let first = waiters[0];
        let need = first.needs.iter().find(|need| need.peer.is_none_or(|peer| causes.contains(&peer)));
        let need = need.unwrap_or(&first.needs[0]);
        let longest = waiters.iter().map(|waiter| waiter.position.seconds).fold(0.0, f64::max);
        let place = causes.first().and_then(|cause| positions.of_rank(*cause).first());
        let sentence = words::awaits(run, (call, &waiting, longest), need, (kind, &causes), place);
        findings.push(Finding { kind, waiting, causes, sentence });
    }
    for position in positions.all.iter().filter(waits).filter(|position| !told.contains(&position.rank)) {
        findings.extend(of_others(run, positions, position, &came));
    }
    told.extend(findings.iter().flat_map(|finding| &finding.waiting));
    (findings, told)
}

/// A rank waits for requests of which more is not known: who has a message of it that no receive asks for.
fn of_others(
    run: &Run,
    positions: &Positions,
    position: &Position,
    came: &BTreeMap<u32, Vec<Came>>,
) -> Option<Finding> {
    let (call, holds) = (position.call.as_ref()?, position.holds.as_ref()?);
    if holds.others == 0 || !holds.needs.is_empty() || is_for_one(call) {
        return None;
    }
    let here = came.iter().flat_map(|(rank, came)| came.iter().map(move |came| (*rank, came)));
    // The longest is the least likely to have been buffered.
    let (receiver, message) = here
        .filter(|(_, came)| came.sender == position.rank)
        .max_by_key(|(rank, came)| (came.bytes, *rank))?;
    let place = positions.of_rank(receiver).first()?;
    let sentence =
        words::of_others(run, (call, position.rank, position.seconds), holds.others, message, place);
    let kind = kind_of(place.state);
    Some(Finding { kind, waiting: vec![position.rank], causes: vec![receiver], sentence })
}

/// A message that differs in one thing from what a rank waits for.
fn near(run: &Run, waiter: &Waiter<'_>, came: &[Came]) -> Option<Finding> {
    let asked = |came: &Came| waiter.all.iter().any(|need| need.takes(came));
    let pairs = waiter.needs.iter().flat_map(|need| {
        let others = came.iter().filter(|came| !asked(came));
        others.filter_map(move |came| Some((need.differs(came)?, need, came)))
    });
    let (differs, need, came) = pairs.min_by_key(|(differs, need, came)| (*differs, **need, **came))?;
    let rank = waiter.position.rank;
    let sentence = words::near(run, (waiter.call, rank, waiter.position.seconds), need, came, differs);
    Some(Finding { kind: Kind::Differs, waiting: vec![rank], causes: vec![came.sender], sentence })
}

/// Where a rank of a circle is, and for whom it waits.
fn part(run: &Run, positions: &Positions, waiters: &[Waiter<'_>], rank: u32) -> Option<String> {
    if let Some(waiter) = waiters.iter().find(|waiter| waiter.position.rank == rank) {
        return Some(words::waits_for(run, waiter.call, &[rank], &waiter.needs[0]));
    }
    let call = positions.of_rank(rank).first()?.call.as_ref()?;
    Some(words::in_call(run, &[rank], call))
}

/// Why a rank that is in no circle waits, and for whom.
fn cause(positions: &Positions, graph: &Graph, waiter: &Waiter<'_>) -> Option<(Kind, Vec<u32>)> {
    let awaited = graph.awaited.get(&waiter.position.rank)?.as_ref()?;
    // What never comes explains more than what is late.
    let never = awaited
        .iter()
        .find(|one_of| !one_of.is_empty() && one_of.iter().all(|rank| graph.ended.contains(rank)));
    if let Some(ended) = never {
        let kind = if ended.len() == 1 { Kind::Ended } else { Kind::NobodyLeft };
        return Some((kind, ended.clone()));
    }
    let Some([one]) = awaited.iter().map(Vec::as_slice).find(|one_of| one_of.len() == 1) else {
        return Some((Kind::NotKnown, Vec::new()));
    };
    Some((kind_of(positions.of_rank(*one).first()?.state), vec![*one]))
}

/// Who waits for whom.
struct Graph {
    awaited: BTreeMap<u32, Awaited>,
    /// Ranks that will do nothing any more.
    ended: BTreeSet<u32>,
    /// Ranks that wait for what never happens.
    stuck: BTreeSet<u32>,
}

impl Graph {
    fn of(run: &Run, positions: &Positions, waiters: &[Waiter<'_>], meetings: &[Meeting<'_>]) -> Graph {
        let is_over =
            |state| matches!(state, State::Finalised | State::Aborted | State::Exited | State::Killed);
        let over = positions.all.iter().filter(|position| is_over(position.state));
        let ended: BTreeSet<u32> = over.map(|position| position.rank).collect();
        let mut awaited: BTreeMap<u32, Awaited> =
            positions.all.iter().map(|position| (position.rank, None)).collect();
        for waiter in waiters {
            let rank = waiter.position.rank;
            let peers = |need: &Need| match need.peer {
                Some(peer) => vec![peer],
                None => {
                    let members = place_of(run, need.identity)
                        .and_then(|place| super::waiting::members(run, place, rank));
                    let mut members = members.unwrap_or_default();
                    members.retain(|member| *member != rank);
                    members
                }
            };
            let each: Vec<Vec<u32>> = waiter.needs.iter().map(peers).collect();
            let all = if is_for_one(waiter.call) { vec![each.concat()] } else { each };
            awaited.insert(rank, Some(all));
        }
        for meeting in meetings.iter().filter(|meeting| meeting.is_for_all() && !meeting.missing.is_empty()) {
            let all: Vec<Vec<u32>> = meeting.missing.iter().map(|rank| vec![*rank]).collect();
            for rank in meeting.ranks() {
                awaited.insert(rank, Some(all.clone()));
            }
        }
        let mut stuck: BTreeSet<u32> =
            awaited.iter().filter(|(_, of)| of.is_some()).map(|(rank, _)| *rank).collect();
        // Who waits for one that may go on may go on.
        loop {
            let may = |rank: &u32| !ended.contains(rank) && !stuck.contains(rank);
            let freed: Vec<u32> = stuck
                .iter()
                .filter(|rank| {
                    let of = awaited[rank].as_deref().unwrap_or_default();
                    of.iter().all(|one_of| one_of.is_empty() || one_of.iter().any(may))
                })
                .copied()
                .collect();
            if freed.is_empty() {
                break;
            }
            freed.iter().for_each(|rank| _ = stuck.remove(rank));
        }
        Graph { awaited, ended, stuck }
    }

    /// The circle that a rank is in, from it on.
    fn circle(&self, from: u32) -> Option<Vec<u32>> {
        // The shortest way back.
        let next = |rank: &u32| {
            let of = self.awaited.get(rank).and_then(Option::as_ref).into_iter().flatten();
            of.flatten().copied().filter(|rank| self.stuck.contains(rank)).collect::<Vec<u32>>()
        };
        if !self.stuck.contains(&from) {
            return None;
        }
        let mut before: BTreeMap<u32, u32> = BTreeMap::new();
        let mut at = VecDeque::from([from]);
        while let Some(rank) = at.pop_front() {
            for awaited in next(&rank) {
                if awaited == from {
                    let mut circle = vec![rank];
                    while let Some(one) = before.get(&circle[circle.len() - 1]) {
                        circle.push(*one);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if let Entry::Vacant(place) = before.entry(awaited) {
                    place.insert(rank);
                    at.push_back(awaited);
                }
            }
        }
        None
    }
}
