//! Who sends to whom from which call site, as a trace has it: the rows of a communication matrix.

use std::collections::BTreeMap;

use mel_convert::Run;
use mel_convert::time::Timeline;
use mel_log::RankLog;
use mel_log::profile::{NamedCommunicator, Profile, RankProfile, Traffic, TrafficKind};
use rustc_hash::FxHashMap;

use crate::model::{Change, Site, Step};
use crate::names::{Names, call_at};
use crate::reader::Shared;
use crate::run::read;

/// What messages have in common that have one row: the phase as a place in the profile's `phases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    rank: u32,
    site: Site,
    function: u16,
    communicator: u32,
    peer: u32,
    phase: u32,
}

/// The messages of a trace by the call that sends them, or starts to: what `function` of a row says, as `MPI_Send at app.c:7 (main)`. `profile` is
/// what else is known of the run; its rows, communicators and phases are replaced. `tick` is called with how many more records have been read,
/// by several threads.
#[must_use]
pub fn by_site(run: &Run, profile: Profile, tick: &(dyn Fn(u64) + Sync)) -> Profile {
    let logs = &run.ranks[..];
    let timeline = Timeline::new(logs);
    let (names, locals) = Names::of(logs);
    let gaps = logs.iter().any(|log| log.definitions.phases);
    let shared = Shared { timeline: &timeline, names: &names, epsilon: u64::MAX, gaps };
    let mut changes: FxHashMap<u32, Vec<Change>> = FxHashMap::default();
    let mut sums: FxHashMap<Key, (u64, u64)> = FxHashMap::default();
    read(logs, &locals, &shared, tick, |steps, _| {
        for step in steps {
            match step {
                Step::Phase(rank, change) => changes.entry(rank).or_default().push(change),
                Step::Sent(side) => {
                    let rank = side.call.rank;
                    let of_rank = changes.get(&rank).map_or(&[][..], |changes| changes);
                    let next = of_rank.partition_point(|change| change.time <= side.call.begin);
                    let phase = next.checked_sub(1).and_then(|place| of_rank[place].place);
                    let key = Key {
                        rank,
                        site: side.call.site,
                        function: side.call.function,
                        communicator: side.communicator,
                        peer: side.peer,
                        // The first one has no name.
                        phase: phase.map_or(0, |phase| phase + 1),
                    };
                    let sum = sums.entry(key).or_default();
                    *sum = (sum.0 + 1, sum.1.saturating_add(side.bytes));
                }
                _ => {}
            }
        }
    });
    let lines = names.lines(logs);
    let of_rank = |log: &RankLog| {
        let (rank, host) = (log.info.rank, log.info.host.clone());
        (rank, RankProfile { rank, host, ..RankProfile::default() })
    };
    let mut ranks: BTreeMap<u32, RankProfile> = logs.iter().map(of_rank).collect();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable();
    for (Key { rank, site, function, communicator, peer, phase }, (messages, bytes)) in sums {
        let function = names.function(function).map(|function| function.name.as_str());
        let Some(of_rank) = ranks.get_mut(&rank) else { continue };
        of_rank.traffic.push(Traffic {
            kind: TrafficKind::P2p,
            phase,
            communicator: names.communicator(communicator).map(|_| communicator),
            peer: Some(peer),
            function: call_at(&lines, site, function),
            messages,
            bytes,
            ..Traffic::default()
        });
    }
    let communicators = names.communicators.iter().map(|of| NamedCommunicator {
        name: of.name.clone(),
        size: of.members.len() as u32,
        ..NamedCommunicator::default()
    });
    Profile {
        world_size: run.world_size(),
        communicators: communicators.collect(),
        phases: std::iter::once(String::new()).chain(names.phases.iter().cloned()).collect(),
        ranks: ranks.into_values().collect(),
        reduced: None,
        ..profile
    }
}
