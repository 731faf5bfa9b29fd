//! Which send belongs to which receive.
//!
//! Messages from one rank to another with one tag in one communicator do not overtake each other (MPI-5.0, section 3.5): the
//! n-th that was sent is matched by the n-th receive that was posted, of those that took such a message. So both sides
//! compute the same number without looking at each other. What went unseen while recording was off counts, too; where that
//! is not enough to know a number, there is none.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::merge::Merged;
use super::run::Run;
use mel_log::{Completion, Message, RankLog, Record, StreamKind, Switch, UnseenMessages, kind};

/// A message among those with its sender, receiver, communicator and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Sender, receiver, communicator and tag, as one number.
    pub channel: u64,
    /// How many there were before.
    pub number: u64,
}

/// The places of the messages of a rank, in the order in which its log tells of them; none where that is not known.
#[derive(Debug, Default)]
pub struct Places {
    /// Of what was sent.
    pub sends: Vec<Option<Place>>,
    /// Of what was received.
    pub receives: Vec<Option<Place>>,
    /// Which receive it is, counted from 0, that completes each request that was posted, in the order in which they were.
    pub completes: Vec<Option<usize>>,
}

impl Places {
    /// Looks at a log: which of the receives were posted first is only known at its end.
    pub fn of(log: &RankLog) -> Places {
        let streams = log.definitions.streams.iter();
        let calls = streams.filter(|(_, stream)| stream.kind == StreamKind::Calls).map(|(number, _)| *number);
        let mut pass = Pass { log, ..Pass::new(log) };
        for (_, record) in Merged::new(log, calls) {
            pass.record(&record);
        }
        pass.finish()
    }
}

/// What of a channel was received at once, in the order in which the receives were posted.
struct Received {
    channel: u64,
    order: u64,
    /// One that the log has, by its number there, or so many that it has not.
    what: Result<usize, u32>,
}

/// A time in which recording was off.
struct Gap {
    /// Requests that were made in it have numbers above the first, up to the second.
    requests: (u32, u32),
    /// In the order of all that is posted: receives that were posted in it lie from here on.
    order: u64,
}

/// The orders that lie in a gap: that of each request, and behind them what went unseen.
const GAP: u64 = 1 << 33;

struct Pass<'a> {
    log: &'a RankLog,
    places: Places,
    sent: FxHashMap<u64, u64>,
    received: Vec<Received>,
    /// When each pending receive was posted, as its number among all, and among the requests.
    posted: FxHashMap<u32, (u64, usize)>,
    order: u64,
    gaps: Vec<Gap>,
    /// From here on not all that went unseen is known.
    lost: Option<u64>,
}

impl<'a> Pass<'a> {
    fn new(log: &'a RankLog) -> Self {
        Pass {
            log,
            places: Places::default(),
            sent: FxHashMap::default(),
            received: Vec::new(),
            posted: FxHashMap::default(),
            order: 0,
            gaps: Vec::new(),
            lost: None,
        }
    }

    /// The channel between this rank and a peer; none if the communicator is not known.
    fn channel(&self, object: u16, (peer, tag): (i32, i32), sent: bool) -> Option<u64> {
        let known = self.log.definitions.communicators.get(&object)?;
        let members = known.remote.as_ref().unwrap_or(&known.members);
        let peer = i64::from(members.get(u32::try_from(peer).ok()?)?);
        let rank = i64::from(self.log.info.rank);
        let (sender, receiver) = if sent { (rank, peer) } else { (peer, rank) };
        let mut hasher = FxHasher::default();
        (known.context, sender, receiver, tag).hash(&mut hasher);
        Some(hasher.finish())
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order - 1
    }

    fn record(&mut self, record: &Record<'_>) {
        let request = || Completion::from_payload(&record.payload).request;
        match record.kind {
            kind::MPI_SEND | kind::MPI_ISEND => {
                let Message { peer, tag, .. } = Message::from_payload(&record.payload);
                let channel = self.channel(record.object, (peer, tag), true);
                let place = channel.map(|channel| {
                    let number = self.sent.entry(channel).or_default();
                    *number += 1;
                    Place { channel, number: *number - 1 }
                });
                self.places.sends.push(place.filter(|_| self.lost.is_none()));
            }
            kind::MPI_IRECV_REQUEST => {
                let order = self.next_order();
                self.posted.insert(request(), (order, self.places.completes.len()));
                self.places.completes.push(None);
            }
            kind::REQUEST_CANCELLED => _ = self.posted.remove(&request()),
            kind::MPI_RECV => {
                let order = self.next_order();
                self.receives(record, Some(order));
            }
            kind::MPI_IRECV => {
                let request = Message::from_payload(&record.payload).request;
                let order = match self.posted.remove(&request) {
                    Some((order, place)) => {
                        self.places.completes[place] = Some(self.places.receives.len());
                        Some(order)
                    }
                    // A message that a matched probe took is received without a posted receive.
                    None if self.gaps.is_empty() => Some(self.next_order()),
                    None => self.order_in_gap(request),
                };
                self.receives(record, order);
            }
            kind::RECORDING => self.switch(Switch::from_payload(&record.payload)),
            kind::UNSEEN_MESSAGES => {
                let UnseenMessages { peer, tag, sent, received } =
                    UnseenMessages::from_payload(&record.payload);
                if let Some(channel) = self.channel(record.object, (peer, tag), true) {
                    *self.sent.entry(channel).or_default() += u64::from(sent);
                }
                if let Some(channel) = self.channel(record.object, (peer, tag), false)
                    && received > 0
                    && let Some(gap) = self.gaps.last()
                {
                    let order = gap.order + GAP - 1;
                    self.received.push(Received { channel, order, what: Err(received) });
                }
            }
            _ => {}
        }
    }

    fn receives(&mut self, record: &Record<'_>, order: Option<u64>) {
        let Message { peer, tag, .. } = Message::from_payload(&record.payload);
        let place = self.places.receives.len();
        self.places.receives.push(None);
        if let Some(channel) = self.channel(record.object, (peer, tag), false)
            && let Some(order) = order
        {
            self.received.push(Received { channel, order, what: Ok(place) });
        }
    }

    fn switch(&mut self, told: Switch) {
        if !told.on {
            let (requests, order) = ((told.request, u32::MAX), self.order);
            self.order += GAP;
            self.gaps.push(Gap { requests, order });
        } else if let Some(gap) = self.gaps.last_mut() {
            gap.requests.1 = told.request;
            if told.incomplete {
                self.lost.get_or_insert(gap.order);
            }
        }
    }

    /// When a request was posted that was not seen: in the order of their numbers, and in the gap that they were made in.
    fn order_in_gap(&mut self, request: u32) -> Option<u64> {
        let of_gap = |gap: &&Gap| gap.requests.0 < request && request <= gap.requests.1;
        match self.gaps.iter().find(of_gap) {
            Some(gap) => Some(gap.order + u64::from(request)),
            None => Some(self.next_order()),
        }
    }

    fn finish(mut self) -> Places {
        let mut received = std::mem::take(&mut self.received);
        received.sort_by_key(|received| (received.channel, received.order));
        for of_channel in received.chunk_by(|a, b| a.channel == b.channel) {
            let mut number = 0;
            // Of what was posted in one gap some may have gone unseen; nobody knows which.
            let gap = |received: &Received| self.gap(received.order);
            let phases = of_channel.chunk_by(|a, b| gap(a).is_some() && gap(a) == gap(b));
            for of_phase in phases.collect::<Vec<_>>() {
                let is_known = of_phase.iter().all(|received| received.what.is_ok());
                for Received { channel, order, what } in of_phase {
                    if let Ok(place) = *what
                        && is_known
                        && self.lost.is_none_or(|lost| *order < lost)
                    {
                        self.places.receives[place] = Some(Place { channel: *channel, number });
                    }
                    number += what.map_or_else(u64::from, |_| 1);
                }
            }
        }
        self.places
    }

    /// The gap that this order lies in.
    fn gap(&self, order: u64) -> Option<usize> {
        let gap = self.gaps.partition_point(|gap| gap.order <= order).checked_sub(1)?;
        (order - self.gaps[gap].order < GAP).then_some(gap)
    }
}

/// The messages that the logs of a run have, where recording was off at times.
#[derive(Debug)]
pub struct Recorded {
    /// By channel: runs of numbers, from the first to before the second, of what was sent and of what was received.
    runs: FxHashMap<u64, [Vec<(u64, u64)>; 2]>,
}

impl Recorded {
    /// Looks at all logs; none if recording was on all the time, and each message has both of its sides.
    pub fn of(run: &Run) -> Option<Recorded> {
        if !run.ranks.iter().any(|log| log.definitions.phases) {
            return None;
        }
        let mut runs: FxHashMap<u64, [Vec<(u64, u64)>; 2]> = FxHashMap::default();
        for log in &run.ranks {
            let Places { sends, receives, .. } = Places::of(log);
            for (side, places) in [sends, receives].into_iter().enumerate() {
                let mut places: Vec<Place> = places.into_iter().flatten().collect();
                places.sort_by_key(|place| (place.channel, place.number));
                for Place { channel, number } in places {
                    let runs = &mut runs.entry(channel).or_default()[side];
                    match runs.last_mut().filter(|run| run.1 == number) {
                        Some(run) => run.1 += 1,
                        None => runs.push((number, number + 1)),
                    }
                }
            }
        }
        Some(Recorded { runs })
    }

    /// Whether the logs have both sides of a message.
    pub fn has_both(&self, place: Place) -> bool {
        self.runs.get(&place.channel).is_some_and(|sides| {
            sides.iter().all(|runs| {
                let run = runs.partition_point(|run| run.0 <= place.number).checked_sub(1);
                run.is_some_and(|run| place.number < runs[run].1)
            })
        })
    }
}

#[cfg(test)]
mod tests;
