//! Windows of all ranks, joined; what happens to them as OTF2 has it; epochs as regions on locations of their own.
//!
//! A window has no identity that all of its processes know. But a program makes the windows of the same processes
//! in the same order in all of them, so the `n`-th window of these members is one.

use std::collections::HashMap;

use otf2_writer::{
    CollectiveOp, CollectiveRoot, CommRef, Communicator, Definitions, Event, LockTarget, LockType,
    RmaAtomicType, RmaSyncLevel, RmaWinRef, RmaWindow,
};

use super::tables::Tables;
use super::track::Track;
use super::{Conversion, ConvertError};
use crate::content::{Lock, WindowStep, partners};
use crate::facts::WindowFact;
use crate::one_sided::{EPOCHS, OperationInCall};
use mel_log::RankLog;

/// The windows of a run.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Of the log at hand, by the number of the window.
    of_log: HashMap<u16, Window>,
    known: HashMap<(Vec<u32>, u32), RmaWinRef>,
    comms: HashMap<Vec<u32>, CommRef>,
}

#[derive(Clone, Debug)]
struct Window {
    reference: RmaWinRef,
    /// Ranks in the world of its processes.
    members: Vec<u32>,
}

/// An epoch of a rank, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin: u64,
    pub(super) end: u64,
    kind: usize,
}

impl Windows {
    /// Defines the windows of a log, each once, and is then about this log. One with a process outside of the world is
    /// left out: nobody could say who that is.
    pub(super) fn define(
        &mut self,
        definitions: &mut Definitions,
        tables: &mut Tables,
        (log, world): (&RankLog, u32),
    ) {
        let Windows { of_log, known, comms } = self;
        of_log.clear();
        let mut made: HashMap<Vec<u32>, u32> = HashMap::new();
        for (index, members) in &log.definitions.windows {
            if members.is_empty() || members.len() > world as usize {
                continue;
            }
            let in_world = |rank: i32| u32::try_from(rank).ok().filter(|rank| *rank < world);
            let Some(members) = members.ranks().map(in_world).collect::<Option<Vec<u32>>>() else {
                continue;
            };
            // Each process has windows of its own; a reader sees one of each number.
            let who = if members.len() == 1 { Vec::new() } else { members.clone() };
            let number = made.entry(who.clone()).or_default();
            let comm = *comms.entry(who.clone()).or_insert_with_key(|who| {
                let group = tables.group(definitions, who);
                let name = "processes of a window";
                let (parent, create_destroy_events, identity) = (None, false, None);
                definitions.communicator(Communicator {
                    name,
                    group,
                    parent,
                    create_destroy_events,
                    identity,
                })
            });
            let reference = *known.entry((who, *number)).or_insert_with(|| {
                let name = format!("window {number} of {} processes", members.len());
                definitions.rma_window(RmaWindow { name: &name, comm, create_destroy_events: true })
            });
            *number += 1;
            of_log.insert(*index, Window { reference, members });
        }
    }

    /// The event of what happened to a window; none if the window is not known, or if it is no event.
    fn event(
        &self,
        definitions: &mut Definitions,
        tables: &mut Tables,
        number: u16,
        fact: &WindowFact,
    ) -> Option<Event<'static>> {
        let of = self.of_log.get(&number)?;
        let window = of.reference;
        let is_member =
            |target: i32| u32::try_from(target).ok().filter(|rank| (*rank as usize) < of.members.len());
        let target_of = |target: i32| match target {
            -1 => Some(LockTarget::All),
            target => is_member(target).map(LockTarget::Rank),
        };
        let lock_type = |lock: Lock| if lock.exclusive { LockType::Exclusive } else { LockType::Shared };
        let (step, record) = match *fact {
            WindowFact::Started(OperationInCall { kind, target, bytes, .. }, number) => {
                return Some(operation(kind, window, is_member(target)?, bytes, number));
            }
            WindowFact::Complete { number: matching, by_request: false, .. } => {
                return Some(Event::RmaOpCompleteBlocking { window, matching });
            }
            WindowFact::Complete { number: matching, by_request: true, .. } => {
                return Some(Event::RmaOpCompleteNonBlocking { window, matching });
            }
            WindowFact::EpochEnded(_) => return None,
            WindowFact::Step(step, ref record) => (step, record),
        };
        Some(match step {
            WindowStep::Created => Event::RmaWinCreate { window },
            WindowStep::Freed => Event::RmaWinDestroy { window },
            WindowStep::FenceEntered => Event::RmaCollectiveBegin,
            WindowStep::FencePassed => Event::RmaCollectiveEnd {
                op: CollectiveOp::Barrier,
                level: RmaSyncLevel::ProcessAndMemory,
                window,
                root: CollectiveRoot::None,
                sent_bytes: 0,
                received_bytes: 0,
            },
            WindowStep::LockRequested(lock) => {
                let (target, kind) = (target_of(lock.target)?, lock_type(lock));
                Event::RmaRequestLock { window, target, lock: 0, kind }
            }
            WindowStep::Locked(lock) => {
                let (target, kind) = (target_of(lock.target)?, lock_type(lock));
                Event::RmaAcquireLock { window, target, lock: 0, kind }
            }
            WindowStep::Unlocked(target) => {
                Event::RmaReleaseLock { window, target: target_of(target)?, lock: 0 }
            }
            WindowStep::Group(_) => {
                let partner = |rank: u32| of.members.get(rank as usize).copied();
                let partners = partners(record).map(partner).collect::<Option<Vec<u32>>>()?;
                let group = tables.group(definitions, &partners);
                Event::RmaGroupSync { level: RmaSyncLevel::ProcessAndMemory, window, group }
            }
            WindowStep::Started(..) | WindowStep::Complete { .. } | WindowStep::EpochEnded(_) => return None,
        })
    }
}

fn operation(kind: usize, window: RmaWinRef, target: u32, bytes: u64, matching: u64) -> Event<'static> {
    let atomic = |op, received_bytes| Event::RmaAtomic {
        window,
        target,
        op,
        sent_bytes: bytes,
        received_bytes,
        matching,
    };
    match kind {
        0 => Event::RmaPut { window, target, bytes, matching },
        1 => Event::RmaGet { window, target, bytes, matching },
        2 => atomic(RmaAtomicType::Accumulate, 0),
        5 => atomic(RmaAtomicType::CompareAndSwap, bytes),
        _ => atomic(RmaAtomicType::FetchAndAccumulate, bytes),
    }
}

impl Conversion<'_> {
    /// Writes what happened to a window of the log at a position to the location of its thread; an epoch goes to `epochs`.
    pub(super) fn convert_window(
        &mut self,
        (position, number): (usize, u16),
        (time, fact): (u64, &WindowFact),
        windows: &Windows,
        track: &mut Track,
        epochs: &mut Vec<Span>,
    ) -> Result<(), ConvertError> {
        if let WindowFact::EpochEnded(epoch) = fact {
            let begin = self.timeline.nanos(position, epoch.ticks.0);
            epochs.push(Span { begin: begin.min(time), end: time, kind: epoch.kind });
            return Ok(());
        }
        match windows.event(self.archive.definitions_mut(), &mut self.tables, number, fact) {
            Some(event) => {
                track.summary().operations += u64::from(matches!(fact, WindowFact::Started(..)));
                track.event(time, &event, &[])
            }
            None => {
                track.summary().unknown_messages += 1;
                Ok(())
            }
        }
    }

    /// Writes the epochs of a rank as regions, on as many locations as it takes so that none cross.
    pub(super) fn convert_epochs(&mut self, rank: u32, epochs: Vec<Span>) -> Result<(), ConvertError> {
        for (number, lane) in lanes(epochs).into_iter().enumerate() {
            let name = match number {
                0 => format!("rank {rank}: epochs of windows"),
                _ => format!("rank {rank}: epochs of windows, {}", number + 1),
            };
            let location = self.define_location(rank, &name);
            let mut track = self.track(location)?;
            let mut open: Vec<Span> = Vec::new();
            for span in lane {
                while let Some(last) = open.pop_if(|last| last.end <= span.begin) {
                    let region = self.epoch(last.kind);
                    track.leave(last.end, region)?;
                }
                let region = self.epoch(span.kind);
                track.summary().regions += 1;
                track.enter(span.begin, region, &[])?;
                open.push(span);
            }
            while let Some(last) = open.pop() {
                let region = self.epoch(last.kind);
                track.leave(last.end, region)?;
            }
            self.summary.add(track.close()?);
        }
        Ok(())
    }

    fn epoch(&mut self, kind: usize) -> otf2_writer::RegionRef {
        let description = "an epoch of a window, from the call that opens it to the call that ends it";
        self.tables.region(self.archive.definitions_mut(), EPOCHS[kind], description)
    }
}

/// Spans in the order of their begins, on as few lists as a simple rule finds, so that those of a list are apart or
/// inside each other.
fn lanes(mut spans: Vec<Span>) -> Vec<Vec<Span>> {
    spans.sort_by_key(|span| (span.begin, std::cmp::Reverse(span.end)));
    let mut lanes: Vec<(Vec<Span>, Vec<u64>)> = Vec::new();
    for span in spans {
        let place = lanes.iter_mut().position(|(_, ends)| {
            while ends.pop_if(|end| *end <= span.begin).is_some() {}
            ends.last().is_none_or(|end| span.end <= *end)
        });
        let (lane, ends) = match place {
            Some(place) => &mut lanes[place],
            None => {
                lanes.push(Default::default());
                lanes.last_mut().expect("one was just pushed")
            }
        };
        lane.push(span);
        ends.push(span.end);
    }
    lanes.into_iter().map(|(lane, _)| lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(spans: &[(u64, u64)]) -> Vec<Span> {
        spans.iter().map(|&(begin, end)| Span { begin, end, kind: 0 }).collect()
    }

    #[test]
    fn spans_that_cross_are_on_different_lanes() {
        let found = lanes(spans(&[(20, 30), (0, 10), (5, 15), (6, 9), (10, 12)]));
        assert_eq!(found, [spans(&[(0, 10), (6, 9), (10, 12), (20, 30)]), spans(&[(5, 15)])]);
        assert!(lanes(Vec::new()).is_empty());
    }

    #[test]
    fn spans_inside_others_share_a_lane() {
        let found = lanes(spans(&[(0, 10), (0, 20), (10, 20)]));
        assert_eq!(found, [spans(&[(0, 20), (0, 10), (10, 20)])]);
    }
}
