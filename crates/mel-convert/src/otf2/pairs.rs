//! Which pairs of event types are regions.
//!
//! Pairs that belong to no call stack, such as the beginning and
//! the end of transfers that overlap, would cross other regions on their location; they are found
//! by looking at the logs first, and are then no regions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::types::{Role, Type, Types};
use mel_log::{RankLog, StreamKind};

/// What an event type is to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The beginning of the region of that number.
    Begin(usize),
    /// The end of the region of that number.
    End(usize),
    /// Neither.
    None,
}

/// What each event type of a log is to the trace.
pub(super) type Parts = BTreeMap<u16, Part>;

/// The pairs of a run.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    names: Vec<String>,
    crossing: BTreeSet<usize>,
}

/// The pairs of some logs. Those of several processes are merged in the order of their ranks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FoundPairs {
    names: Vec<String>,
    /// How many there are of each.
    counts: Vec<u64>,
    /// Those that cross each other.
    crossings: BTreeSet<(usize, usize)>,
}

impl FoundPairs {
    /// Goes through the events of these logs.
    pub(super) fn of(logs: &[RankLog]) -> FoundPairs {
        let mut pairs = Pairs::default();
        let mut counts = Vec::new();
        let mut crossings = BTreeSet::new();
        for log in logs {
            let parts = pairs.parts(&Types::of(log));
            counts.resize(pairs.names.len(), 0u64);
            for stream in event_streams(log) {
                let mut open = Vec::new();
                for record in log.records(stream) {
                    let part = record.event_type().map(|number| parts.get(&number).copied());
                    match part.flatten() {
                        Some(Part::Begin(pair)) => {
                            counts[pair] += 1;
                            open.push(pair);
                        }
                        Some(Part::End(pair)) => {
                            if let Some(position) = open.iter().rposition(|other| *other == pair) {
                                crossings.extend(open[position + 1..].iter().map(|other| (pair, *other)));
                                open.remove(position);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        FoundPairs { names: pairs.names, counts, crossings }
    }

    /// Adds those of later ranks.
    pub(super) fn merge(&mut self, later: FoundPairs) {
        let FoundPairs { names, counts, crossings } = later;
        let mut place = |name: String| {
            let known = self.names.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                self.names.push(name);
                self.counts.push(0);
                self.names.len() - 1
            })
        };
        let places: Vec<usize> = names.into_iter().map(&mut place).collect();
        for (place, count) in places.iter().zip(counts) {
            self.counts[*place] += count;
        }
        let of = |pair: usize| places.get(pair).copied();
        self.crossings.extend(crossings.into_iter().filter_map(|(a, b)| Some((of(a)?, of(b)?))));
    }
}

impl From<FoundPairs> for Pairs {
    /// Those that nest properly in all logs.
    fn from(found: FoundPairs) -> Pairs {
        let FoundPairs { names, counts, mut crossings } = found;
        let mut pairs = Pairs { names, crossing: BTreeSet::new() };
        // Of two that cross each other the rarer one goes, as long as there are any.
        while let Some(rarest) = crossings.iter().flat_map(|(a, b)| [*a, *b]).min_by_key(|p| (counts[*p], *p))
        {
            pairs.crossing.insert(rarest);
            crossings.retain(|(a, b)| *a != rarest && *b != rarest);
        }
        pairs
    }
}

impl Pairs {
    /// What each event type of a log is to the trace.
    pub(super) fn parts(&mut self, types: &Types<'_>) -> Parts {
        let part = |(number, of): (u16, &Type<'_>)| {
            let (name, part): (_, fn(usize) -> Part) = match of.role {
                Role::Begins(name) => (name, Part::Begin),
                Role::Ends(name) => (name, Part::End),
                Role::Changes(_) | Role::Single => return (number, Part::None),
            };
            let pair = self.number(name);
            (number, if self.crossing.contains(&pair) { Part::None } else { part(pair) })
        };
        types.all().into_iter().map(part).collect()
    }

    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// The name of a pair's region.
    pub(super) fn name(&self, pair: usize) -> &str {
        self.names.get(pair).map_or("", String::as_str)
    }
}

/// The streams of a log that hold events.
fn event_streams(log: &RankLog) -> impl Iterator<Item = u32> + '_ {
    log.definitions.streams.iter().filter(|(_, s)| s.kind == StreamKind::Events).map(|(number, _)| *number)
}
