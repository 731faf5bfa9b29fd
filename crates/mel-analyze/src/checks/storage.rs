//! Sends that end only because the library stores their messages.
//!
//! The run is followed once more, as if no standard send ended before its receive is posted, and no collective operation before those have
//! come that it needs. Where ranks wait for each other in a circle then, the program depends on stored messages (section 3.5 of MPI-5.0
//! calls it unsafe). The sends of the circle are let go, and the rest is followed.
//!
//! What may go another way under other times makes nobody wait: calls that end as soon as one of several is complete, and receives of ranks
//! that have used a wildcard or probed. Nor do messages without data, which get no longer.

use std::collections::{BTreeMap, BTreeSet};

use mel_log::number::size;
use mel_log::profile::quantities::Basis;
use mel_log::profile::remarks::{Mistake, Remark};
use mel_log::profile::text::layout::ranks as ranks_in_words;
use mpi_functions::{Function, Kind, Mode, Step as How};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Call, Entry, Site};
use crate::names::{Names, Processes};
use crate::operations::Operation;
use crate::rules::collectives::{Needed, needed};
use crate::units::Unit;

/// The most calls that are kept: what comes later is not looked at.
const MOST: usize = 1 << 20;
/// The most of their needs that are kept.
const MOST_NEEDS: usize = 1 << 23;
/// The most members of an operation that is followed: each is asked for each.
const MOST_MEMBERS: usize = 512;
/// The most places that a remark names.
const MOST_PLACES: usize = 4;

/// Why a call waits for another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It needs a message.
    Receives,
    /// Its message is not stored.
    Stored,
    /// It has to be so.
    Meets,
}

/// A call waits until another rank has come to a call of that time, or further.
#[derive(Clone, Copy, Debug)]
struct Need {
    rank: u32,
    time: u64,
    why: Why,
}

/// A call that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    begin: u64,
    site: Site,
    function: u16,
    /// The longest message that it sends.
    bytes: u64,
    /// The places of its needs.
    needs: (u32, u32),
}

/// What is kept of the run for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Storage {
    by_rank: FxHashMap<u32, Vec<Waiting>>,
    needs: Vec<Need>,
    count: usize,
    /// The needs of all members of operations under way, and of how many it was asked for.
    shared: FxHashMap<(u32, u64), ((u32, u32), usize)>,
    /// Ranks whose receives may get other messages.
    choosing: FxHashSet<u32>,
}

impl Storage {
    /// A rank has used a wildcard or probed.
    pub(super) fn chooses(&mut self, rank: u32) {
        self.choosing.insert(rank);
    }

    /// Messages of a call are complete.
    pub(super) fn unit(&mut self, unit: &Unit, names: &Names) {
        let Some(about) = names.about(unit.call.function) else { return };
        let waits_for_all = about.kind == Kind::Completion && about.step == How::Completes;
        if about.step != How::Blocks && !waits_for_all || about.waits_for_one() {
            return;
        }
        let is_send = |call: &Call| names.about(call.function).is_some_and(Function::sends);
        let needs = unit.parts.iter().filter_map(|part| {
            let why = match (part.sends, part.own.mode) {
                (false, _) => Why::Receives,
                (true, Mode::Synchronous) => Why::Meets,
                // How a persistent request sends, the call that starts it does not say.
                (true, Mode::Standard) if part.own.bytes > 0 && is_send(&part.own.call) => Why::Stored,
                _ => return None,
            };
            Some(Need { rank: part.other.call.rank, time: part.other.call.begin, why })
        });
        let sent = unit.parts.iter().filter(|part| part.sends).map(|part| part.own.bytes);
        let call = Call { begin: unit.entered, ..unit.call };
        self.waits(&call, sent.max().unwrap_or(0), needs.collect::<Vec<_>>());
    }

    fn waits(&mut self, call: &Call, bytes: u64, needs: Vec<Need>) {
        if needs.is_empty() || self.is_full() {
            return;
        }
        let first = self.needs.len() as u32;
        self.needs.extend(needs);
        self.add(call, bytes, (first, self.needs.len() as u32));
    }

    /// What comes later is not looked at.
    fn is_full(&self) -> bool {
        self.count >= MOST || self.needs.len() >= MOST_NEEDS
    }

    fn add(&mut self, call: &Call, bytes: u64, needs: (u32, u32)) {
        self.count += 1;
        let Call { begin, site, function, .. } = *call;
        self.by_rank.entry(call.rank).or_default().push(Waiting { begin, site, function, bytes, needs });
    }

    /// A process leaves a collective operation.
    pub(super) fn leaves(&mut self, entry: &Entry, operation: &Operation, of: (&Processes, &Function)) {
        if entry.waiting != entry.call || self.is_full() || operation.entries.len() > MOST_MEMBERS {
            return;
        }
        let need = |other: &Entry| Need { rank: other.call.rank, time: other.call.begin, why: Why::Meets };
        match needed(operation, entry, of) {
            Needed::All => {
                let key = (entry.communicator, entry.number);
                let (needs, asked) = self.shared.remove(&key).unwrap_or_else(|| {
                    let first = self.needs.len() as u32;
                    self.needs.extend(operation.entries.iter().map(need));
                    ((first, self.needs.len() as u32), 0)
                });
                self.add(&entry.call, 0, needs);
                if asked + 1 < operation.entries.len() {
                    self.shared.insert(key, (needs, asked + 1));
                }
            }
            Needed::These(entries) => {
                self.waits(&entry.call, 0, entries.into_iter().map(need).collect());
            }
            Needed::Unknown => {}
        }
    }

    /// A remark for each set of calls in which ranks wait for each other. `place` names a call by its site and function.
    pub(super) fn remarks(mut self, place: &dyn Fn(Site, u16) -> String) -> Vec<Remark> {
        let mut stored: BTreeMap<BTreeSet<String>, Stored> = BTreeMap::new();
        for circle in self.circles() {
            let places: Vec<String> =
                circle.iter().map(|(_, call)| place(call.site, call.function)).collect();
            let of = stored.entry(places.iter().cloned().collect()).or_default();
            for ((rank, call), place) in circle.iter().zip(places) {
                of.ranks.entry(place).or_default().insert(*rank);
                of.bytes = of.bytes.max(call.bytes);
            }
            of.longest = of.longest.max(circle.len());
            of.count += 1;
        }
        stored.into_values().filter_map(Stored::remark).collect()
    }

    /// Follows the run; gives the circles in which ranks wait for each other, one of them at least in a send.
    fn circles(&mut self) -> Vec<Vec<(u32, Waiting)>> {
        let mut ranks: Vec<(u32, Vec<Waiting>)> = std::mem::take(&mut self.by_rank).into_iter().collect();
        ranks.sort_by_key(|(rank, _)| *rank);
        ranks.iter_mut().for_each(|(_, calls)| calls.sort_by_key(|call| call.begin));
        let places = ranks.iter().enumerate().map(|(place, (rank, _))| (*rank, place)).collect();
        let choosing = ranks.iter().map(|(rank, _)| self.choosing.contains(rank)).collect();
        let heads = vec![Head::default(); ranks.len()];
        let (wakes, wakes_at) = (vec![Vec::new(); ranks.len()], vec![None; ranks.len()]);
        let mut follow =
            Follow { ranks: &ranks, needs: &self.needs, places, choosing, heads, wakes, wakes_at };
        let mut circles = Vec::new();
        follow.advance_all((0..ranks.len()).collect());
        while let Some(blocked) = (0..ranks.len()).find(|place| follow.call(*place).is_some()) {
            let circle = follow.circle_from(blocked);
            let sends = |place: &&usize| follow.blocker(**place).is_some_and(|need| need.why == Why::Stored);
            let sending: Vec<usize> = circle.iter().filter(sends).copied().collect();
            if !sending.is_empty() {
                let calls = circle.iter().filter_map(|place| Some((ranks[*place].0, *follow.call(*place)?)));
                circles.push(calls.collect());
            }
            let released = if sending.is_empty() { circle } else { sending };
            released.iter().for_each(|place| follow.heads[*place].let_go = true);
            follow.advance_all(released);
        }
        circles
    }
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    /// The call that it waits in.
    call: usize,
    /// How many of its needs are there.
    there: u32,
    /// It waits no more.
    let_go: bool,
}

/// The run, as if no message were stored.
struct Follow<'a> {
    ranks: &'a [(u32, Vec<Waiting>)],
    needs: &'a [Need],
    /// The place of each rank.
    places: FxHashMap<u32, usize>,
    choosing: Vec<bool>,
    heads: Vec<Head>,
    /// By rank: who waits for it to come further, among them some that wait for another one by now.
    wakes: Vec<Vec<usize>>,
    /// By rank: where it is among these.
    wakes_at: Vec<Option<usize>>,
}

impl Follow<'_> {
    /// The call that a rank waits in; none where it has come to its end.
    fn call(&self, place: usize) -> Option<&Waiting> {
        self.ranks[place].1.get(self.heads[place].call)
    }

    fn is_there(&self, place: usize, need: &Need) -> bool {
        let is_free = need.why == Why::Receives && self.choosing[place];
        let come = || self.places.get(&need.rank).and_then(|other| self.call(*other));
        is_free || come().is_none_or(|call| call.begin >= need.time)
    }

    /// What a rank waits for, first.
    fn blocker(&self, place: usize) -> Option<&Need> {
        let call = self.call(place)?;
        let needs = &self.needs[call.needs.0 as usize..call.needs.1 as usize];
        needs[self.heads[place].there as usize..].iter().find(|need| !self.is_there(place, need))
    }

    /// These ranks go on as far as they can, and those that waited for them.
    fn advance_all(&mut self, mut going: Vec<usize>) {
        while let Some(place) = going.pop() {
            let mut has_moved = false;
            while let Some(call) = self.call(place) {
                let (first, last) = call.needs;
                let needs = &self.needs[first as usize..last as usize];
                let Head { there, let_go, .. } = self.heads[place];
                let missing = needs[there as usize..].iter().position(|need| !self.is_there(place, need));
                match missing {
                    Some(more) if !let_go => {
                        let there = there + more as u32;
                        self.heads[place].there = there;
                        let other = self.places.get(&needs[there as usize].rank).copied();
                        if let Some(other) = other.filter(|other| self.wakes_at[place] != Some(*other)) {
                            self.wakes[other].push(place);
                            self.wakes_at[place] = Some(other);
                        }
                        break;
                    }
                    _ => {
                        self.heads[place] = Head { call: self.heads[place].call + 1, ..Head::default() };
                        has_moved = true;
                    }
                }
            }
            if has_moved {
                for waiting in std::mem::take(&mut self.wakes[place]) {
                    if self.wakes_at[waiting] == Some(place) {
                        self.wakes_at[waiting] = None;
                        going.push(waiting);
                    }
                }
            }
        }
    }

    /// Ranks that wait for each other, found from one that waits.
    fn circle_from(&self, place: usize) -> Vec<usize> {
        let mut way = vec![place];
        loop {
            let next = way.last().and_then(|last| self.places.get(&self.blocker(*last)?.rank)).copied();
            let Some(next) = next else { return way };
            if let Some(begin) = way.iter().position(|known| *known == next) {
                return way.split_off(begin);
            }
            way.push(next);
        }
    }
}

/// Ranks that wait for each other where messages are not stored.
#[derive(Clone, Debug, Default)]
struct Stored {
    /// By call.
    ranks: BTreeMap<String, BTreeSet<u32>>,
    bytes: u64,
    /// How many wait for each other at once, at most.
    longest: usize,
    count: u64,
}

impl Stored {
    fn remark(self) -> Option<Remark> {
        let places = self.ranks.iter().take(MOST_PLACES).filter_map(|(place, ranks)| {
            let ranks: Vec<u32> = ranks.iter().copied().collect();
            Some(format!("{} in {place}", ranks_in_words(&ranks)?))
        });
        let places: Vec<String> = places.collect();
        let text = format!(
            "{} would wait for {} forever if the MPI did not store what is sent there ({} at most), as it does not with longer \
             messages (modelled)",
            places.join(" and "),
            match (self.longest, self.ranks.values().map(BTreeSet::len).sum::<usize>()) {
                (1, 1) => "itself",
                (1, _) => "itself, each of them,",
                _ => "each other",
            },
            size(self.bytes as f64),
        );
        let ranks: BTreeSet<u32> = self.ranks.into_values().flatten().collect();
        let basis = Basis::Modelled.word("").into();
        let (kind, count) = (Mistake::NeedsStorage, self.count);
        Some(Remark { kind, ranks: ranks.into_iter().collect(), count, basis, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, named as names, side};
    use crate::units::Part;

    /// A call of a function, with one message: to or from another rank, whose call began then.
    fn unit(function: u16, rank: u32, begin: u64, sends: bool, (other, since): (u32, u64)) -> Unit {
        let times = (begin, begin + 1);
        let call = Call { function, ..call(rank, times) };
        let part =
            Part { sends, own: side(rank, times, other), other: side(other, (since, since + 1), rank) };
        Unit { call, entered: begin, parts: vec![part] }
    }

    const SEND: u16 = 0;
    const RECV: u16 = 1;

    fn waiting(units: &[Unit], choosing: &[u32]) -> Vec<Vec<u32>> {
        let names = names(&["MPI_Send", "MPI_Recv"]);
        let mut storage = Storage::default();
        units.iter().for_each(|unit| storage.unit(unit, &names));
        choosing.iter().for_each(|rank| storage.chooses(*rank));
        storage.circles().iter().map(|circle| circle.iter().map(|(rank, _)| *rank).collect()).collect()
    }

    /// Two ranks send to each other and then receive, this often.
    fn head_to_head(times: u64) -> Vec<Unit> {
        let step = |step: u64| {
            let (send, receive) = (10 * step, 10 * step + 5);
            (0..2).flat_map(move |rank| {
                let other = 1 - rank;
                [
                    unit(SEND, rank, send, true, (other, receive)),
                    unit(RECV, rank, receive, false, (other, send)),
                ]
            })
        };
        (0..times).flat_map(step).collect()
    }

    #[test]
    fn each_circle_is_found_and_let_go() {
        // Many: what each costs does not grow.
        let circles = waiting(&head_to_head(100_000), &[]);
        assert_eq!(circles.len(), 100_000);
        assert!(circles.iter().all(|circle| circle.len() == 2));
    }

    #[test]
    fn where_one_receives_first_nobody_waits_forever() {
        let units = [
            unit(SEND, 0, 0, true, (1, 3)),
            unit(RECV, 1, 3, false, (0, 0)),
            unit(SEND, 1, 5, true, (0, 8)),
            unit(RECV, 0, 8, false, (1, 5)),
        ];
        assert_eq!(waiting(&units, &[]), [[0; 0]; 0]);
    }

    #[test]
    fn a_receive_that_may_get_another_message_makes_nobody_wait() {
        // 0 receives from 2 and then from 1; 2 waits for 1, and 1 for its send to 0.
        let units = [
            unit(SEND, 1, 0, true, (0, 20)),
            unit(SEND, 1, 2, true, (2, 4)),
            unit(RECV, 2, 4, false, (1, 2)),
            unit(SEND, 2, 6, true, (0, 8)),
            unit(RECV, 0, 8, false, (2, 6)),
            unit(RECV, 0, 20, false, (1, 0)),
        ];
        assert_eq!(waiting(&units, &[]).len(), 1);
        assert_eq!(waiting(&units, &[0]), [[0; 0]; 0]);
    }

    #[test]
    fn a_send_before_a_barrier_is_stored_where_its_receive_is_after_it() {
        let names = names(&["MPI_Send", "MPI_Recv", "MPI_Barrier"]);
        let of = Processes { members: vec![0, 1], ..Processes::default() };
        let barrier = |rank, begin| {
            let call = Call { function: 2, ..call(rank, (begin, 12)) };
            Entry::blocking(call, 0)
        };
        let mut operation = Operation::default();
        let entries = [barrier(0, 10), barrier(1, 5)];
        entries.iter().for_each(|entry| operation.enter(*entry));
        let mut storage = Storage::default();
        storage.unit(&unit(SEND, 0, 0, true, (1, 20)), &names);
        let function = names.about(2).unwrap();
        entries.iter().for_each(|entry| storage.leaves(entry, &operation, (&of, function)));
        storage.unit(&unit(RECV, 1, 20, false, (0, 0)), &names);
        let circles = storage.circles();
        let calls: Vec<(u32, u16)> = circles[0].iter().map(|(rank, call)| (*rank, call.function)).collect();
        assert_eq!((circles.len(), calls), (1, vec![(0, 0), (1, 2)]));
    }
}
