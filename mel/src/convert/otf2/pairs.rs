//! Which event types are pairs: `X_begin` and `X_end` make a region `X`.
//!
//! That is all that is known of them. Pairs that belong to no call stack, such as the beginning and
//! the end of transfers that overlap, would cross other regions on their location; they are found
//! by looking at the logs first, and are then no regions.

use std::collections::{BTreeMap, BTreeSet};

use crate::log::RankLog;
use crate::log::StreamKind;

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

impl Pairs {
    /// Finds the pairs that nest properly in all logs.
    pub(super) fn find(logs: &[RankLog]) -> Pairs {
        let mut pairs = Pairs::default();
        let mut counts = Vec::new();
        let mut crossings = BTreeSet::new();
        for log in logs {
            let parts = pairs.parts(log);
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
        // Of two that cross each other the rarer one goes, as long as there are any.
        while let Some(rarest) = crossings.iter().flat_map(|(a, b)| [*a, *b]).min_by_key(|p| (counts[*p], *p))
        {
            pairs.crossing.insert(rarest);
            crossings.retain(|(a, b)| *a != rarest && *b != rarest);
        }
        pairs
    }

    /// What each event type of a log is to the trace.
    pub(super) fn parts(&mut self, log: &RankLog) -> Parts {
        let types = &log.definitions.event_types;
        let known: BTreeSet<&str> = types.values().map(|event_type| event_type.name.as_str()).collect();
        let mut parts = BTreeMap::new();
        for (number, event_type) in types {
            let name = event_type.name.as_str();
            let begins = name.strip_suffix("_begin").filter(|x| known.contains(format!("{x}_end").as_str()));
            let ends = name.strip_suffix("_end").filter(|x| known.contains(format!("{x}_begin").as_str()));
            let pair = begins.or(ends).map(|x| self.number(x)).filter(|pair| !self.crossing.contains(pair));
            let part = match pair {
                Some(pair) if begins.is_some() => Part::Begin(pair),
                Some(pair) => Part::End(pair),
                None => Part::None,
            };
            parts.insert(*number, part);
        }
        parts
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
