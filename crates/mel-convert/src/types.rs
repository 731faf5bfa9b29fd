//! What the event types of a log are to each other, by their names.
//!
//! `X_begin` and `X_end` are the ends of a pair `X`; `X_insert` and `X_remove` change a queue `X`. A pair `search_posted`
//! searches the queue `posted`. That, and the element `request`, is all that conversion knows of event types.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::value::{self, Kind, Value};
use mel_log::RankLog;
use mel_log::definitions::EventType;

/// What an event type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// It begins the pair of this name.
    Begins(&'a str),
    /// It ends the pair of this name.
    Ends(&'a str),
    /// It changes a queue.
    Changes(Change),
    /// It stands for itself.
    Single,
}

/// What an event type does to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The place of the queue among [`Types::queues`].
    pub queue: usize,
    /// Whether an entry comes, or goes.
    pub inserts: bool,
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which of MPI's queues it is.
    pub kind: QueueKind,
}

/// The queues that MPI libraries have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Receives that wait for their messages.
    Posted,
    /// Messages that wait for their receives.
    Unexpected,
    /// Another one.
    Other,
}

impl QueueKind {
    fn of(name: &str) -> QueueKind {
        match name {
            name if name.ends_with("posted") => QueueKind::Posted,
            name if name.ends_with("unex") => QueueKind::Unexpected,
            _ => QueueKind::Other,
        }
    }
}

/// An event type of a log.
#[derive(Clone, Copy, Debug)]
pub struct Type<'a> {
    /// As the log defines it.
    pub definition: &'a EventType,
    /// What it is to the others.
    pub role: Role<'a>,
    /// The queue that the pair searches which it begins.
    pub searches: Option<usize>,
    request: Option<(Kind, u32)>,
}

impl Type<'_> {
    /// The element `request` of a payload of this type, if it has one.
    pub fn request(&self, payload: &[u8]) -> Option<u64> {
        let (kind, displacement) = self.request?;
        match value::read_at(kind, displacement, payload)? {
            Value::Unsigned(request) => Some(request),
            _ => None,
        }
    }
}

/// The event types of a log.
#[derive(Clone, Debug, Default)]
pub struct Types<'a> {
    of: FxHashMap<u16, Type<'a>>,
    /// The queues that they change.
    pub queues: Vec<Queue<'a>>,
}

impl<'a> Types<'a> {
    /// Those of this log.
    pub fn of(log: &'a RankLog) -> Types<'a> {
        let types = &log.definitions.event_types;
        let known: BTreeSet<&str> = types.values().map(|event_type| event_type.name.as_str()).collect();
        let stem = |name: &'a str, own: &str, other: &str| {
            name.strip_suffix(own).filter(|stem| known.contains(&*format!("{stem}{other}")))
        };
        let mut queues: Vec<Queue<'a>> = Vec::new();
        for name in types.values().filter_map(|of| stem(&of.name, "_insert", "_remove")) {
            if queues.iter().all(|queue| queue.name != name) {
                queues.push(Queue { name, kind: QueueKind::of(name) });
            }
        }
        let of = types.iter().map(|(number, definition)| {
            let name = definition.name.as_str();
            let change = |stem: &str, inserts| {
                let queue = queues.iter().position(|queue| queue.name == stem)?;
                Some(Role::Changes(Change { queue, inserts }))
            };
            let role = stem(name, "_begin", "_end")
                .map(Role::Begins)
                .or_else(|| stem(name, "_end", "_begin").map(Role::Ends))
                .or_else(|| change(stem(name, "_insert", "_remove")?, true))
                .or_else(|| change(stem(name, "_remove", "_insert")?, false))
                .unwrap_or(Role::Single);
            let searches = match role {
                Role::Begins(pair) => searched_by(pair, &queues),
                _ => None,
            };
            let request = definition.elements.iter().find(|element| element.name == "request");
            let request = request.and_then(|of| Some((Kind::of(&of.datatype)?, of.displacement)));
            (*number, Type { definition, role, searches, request })
        });
        Types { of: of.collect(), queues }
    }

    /// An event type, by its number.
    pub fn get(&self, number: u16) -> Option<&Type<'a>> {
        self.of.get(&number)
    }

    /// All of them, with their numbers, ascending.
    pub fn all(&self) -> Vec<(u16, &Type<'a>)> {
        let mut all: Vec<_> = self.of.iter().map(|(number, of)| (*number, of)).collect();
        all.sort_by_key(|(number, _)| *number);
        all
    }
}

/// Whether a pair of this name is a search of a queue.
pub fn is_search(pair: &str) -> bool {
    pair.contains("search_")
}

/// The queue that a pair of this name searches: `search_posted` searches `posted`, `search_unexpected` `unex`.
fn searched_by(pair: &str, queues: &[Queue<'_>]) -> Option<usize> {
    let (prefix, searched) = pair.split_once("search_")?;
    let is_searched =
        |queue: &Queue<'_>| queue.name.strip_prefix(prefix).is_some_and(|stem| searched.starts_with(stem));
    queues.iter().position(is_searched)
}

/// The operations, by the number that the element `operation` has.
const OPERATION_NAMES: [&str; 7] = ["put", "get", "send", "receive", "CMA read", "CMA write", "atomic"];

/// Whether events of this type are operations of a transport: they have an operation, a target and a size.
pub fn are_operations(event_type: &EventType) -> bool {
    let has = |name: &str| event_type.elements.iter().any(|element| element.name == name);
    ["operation", "target rank", "size"].into_iter().all(has)
}

/// The operation of an event of such a type: its place among those that are known, and its name.
pub fn operation(event_type: &EventType, payload: &[u8]) -> Option<(usize, &'static str)> {
    let element = event_type.elements.iter().find(|element| element.name == "operation")?;
    let number = match value::read(element, payload)? {
        Value::Signed(number) => usize::try_from(number).ok()?,
        Value::Unsigned(number) => usize::try_from(number).ok()?,
        Value::Real(_) | Value::Character(_) => return None,
    };
    Some((number, OPERATION_NAMES.get(number)?))
}

/// Whether the data of the operation at this place flows from the target.
pub const fn is_inward(place: usize) -> bool {
    matches!(place, 1 | 3 | 4)
}

/// Whether a source of this name is that of a transport.
pub fn is_transport(source: &str) -> bool {
    ["TCP ", "CMA ", "verbs "].iter().any(|begin| source.starts_with(begin))
}
