//! Which send belongs to which receive.
//!
//! Messages from one rank to another with one tag in one communicator do not overtake each other (MPI-5.0, section 3.5): the
//! n-th that was sent is matched by the n-th receive that was posted, of those that took such a message. So both sides
//! compute the same number without looking at each other. What went unseen while recording was off counts, too; where that
//! is not enough to know a number, there is none.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use ranks::{CommunicationError, Processes, tree};
use rustc_hash::{FxHashMap, FxHasher};

use super::content::{Content, RequestStep, Transfer};
use super::run::{Merged, Run};
use mel_log::{Message, RankLog, Record, StreamKind, Switch, UnseenMessages};

/// Which message it is, the same on both of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId {
    /// Sender, receiver, communicator and tag, as one number.
    pub channel: u64,
    /// How many there were before.
    pub number: u64,
}

/// Which messages a rank sent and received, in the order of its log; none where that is not known.
#[derive(Debug, Default)]
pub struct MessageIds {
    /// Of what was sent.
    pub sends: Vec<Option<MessageId>>,
    /// Of what was received.
    pub receives: Vec<Option<MessageId>>,
    /// Which receive it is, counted from 0, that completes each request that was posted, in the order in which they were.
    pub completes: Vec<Option<usize>>,
    /// By channel: the rank in the world at its other end.
    peers: FxHashMap<u64, u32>,
}

impl MessageIds {
    /// Looks at a log: which of the receives were posted first is only known at its end.
    pub fn of(log: &RankLog) -> MessageIds {
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
    ids: MessageIds,
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
            ids: MessageIds::default(),
            sent: FxHashMap::default(),
            received: Vec::new(),
            posted: FxHashMap::default(),
            order: 0,
            gaps: Vec::new(),
            lost: None,
        }
    }

    /// The channel between this rank and a peer; none if the communicator is not known.
    fn channel(&mut self, object: u16, (peer, tag): (i32, i32), sent: bool) -> Option<u64> {
        let known = self.log.definitions.communicators.get(&object)?;
        let members = known.remote.as_ref().unwrap_or(&known.members);
        let peer = members.get(u32::try_from(peer).ok()?)?;
        let (peer, other) = (i64::from(peer), u32::try_from(peer));
        let rank = i64::from(self.log.info.rank);
        let (sender, receiver) = if sent { (rank, peer) } else { (peer, rank) };
        let mut hasher = FxHasher::default();
        (known.context, sender, receiver, tag).hash(&mut hasher);
        let channel = hasher.finish();
        if let Ok(other) = other {
            self.ids.peers.entry(channel).or_insert(other);
        }
        Some(channel)
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order - 1
    }

    fn record(&mut self, record: &Record) {
        let object = record.object;
        match Content::of(record) {
            Content::Message(Transfer { sent: true, message, .. }) => {
                let channel = self.channel(object, (message.peer, message.tag), true);
                let id = channel.map(|channel| {
                    let number = self.sent.entry(channel).or_default();
                    *number += 1;
                    MessageId { channel, number: *number - 1 }
                });
                self.ids.sends.push(id.filter(|_| self.lost.is_none()));
            }
            Content::Message(Transfer { has_request: false, message, .. }) => {
                let order = self.next_order();
                self.receives(object, message, Some(order));
            }
            Content::Message(Transfer { message, .. }) => {
                let order = match self.posted.remove(&message.request) {
                    Some((order, place)) => {
                        self.ids.completes[place] = Some(self.ids.receives.len());
                        Some(order)
                    }
                    // A message that a matched probe took is received without a posted receive.
                    None if self.gaps.is_empty() => Some(self.next_order()),
                    None => self.order_in_gap(message.request),
                };
                self.receives(object, message, order);
            }
            Content::Request(RequestStep::ReceivePosted, request) => {
                let order = self.next_order();
                self.posted.insert(request, (order, self.ids.completes.len()));
                self.ids.completes.push(None);
            }
            Content::Request(RequestStep::Cancelled, request) => _ = self.posted.remove(&request),
            Content::Recording(switch) => self.switch(switch),
            Content::UnseenMessages(UnseenMessages { peer, tag, sent, received }) => {
                if let Some(channel) = self.channel(object, (peer, tag), true) {
                    *self.sent.entry(channel).or_default() += u64::from(sent);
                }
                if let Some(channel) = self.channel(object, (peer, tag), false)
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

    fn receives(&mut self, object: u16, message: Message, order: Option<u64>) {
        let place = self.ids.receives.len();
        self.ids.receives.push(None);
        if let Some(channel) = self.channel(object, (message.peer, message.tag), false)
            && let Some(order) = order
        {
            self.received.push(Received { channel, order, what: Ok(place) });
        }
    }

    fn switch(&mut self, switch: Switch) {
        if !switch.on {
            let (requests, order) = ((switch.request, u32::MAX), self.order);
            self.order += GAP;
            self.gaps.push(Gap { requests, order });
        } else if let Some(gap) = self.gaps.last_mut() {
            gap.requests.1 = switch.request;
            if switch.incomplete {
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

    fn finish(mut self) -> MessageIds {
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
                        self.ids.receives[place] = Some(MessageId { channel: *channel, number });
                    }
                    number += what.map_or_else(u64::from, |_| 1);
                }
            }
        }
        self.ids
    }

    /// The gap that this order lies in.
    fn gap(&self, order: u64) -> Option<usize> {
        let gap = self.gaps.partition_point(|gap| gap.order <= order).checked_sub(1)?;
        (order - self.gaps[gap].order < GAP).then_some(gap)
    }
}

/// By channel: runs of numbers, from the first to before the second, of what was sent and of what was received.
type Runs = FxHashMap<u64, [Vec<(u64, u64)>; 2]>;

/// The messages that the logs of a run have, where recording was off at times.
#[derive(Debug)]
pub struct Recorded {
    runs: Runs,
}

/// What one side of a channel has: the channel, whether it is that of the receiver, and the runs.
type Side = (u64, bool, Vec<(u64, u64)>);

impl Recorded {
    /// Looks at all logs; none if recording was on all the time, and each message has both of its sides.
    pub fn of(run: &Run) -> Option<Recorded> {
        if !run.ranks.iter().any(|log| log.definitions.phases) {
            return None;
        }
        let mut runs = Runs::default();
        run.ranks.iter().for_each(|log| _ = add_runs(log, &mut runs));
        Some(Recorded { runs })
    }

    /// Looks at the logs of this process, which are some of those of a run in which recording was off at times. The
    /// processes tell each other of the messages between their ranks; `process_of` says which one a rank belongs to.
    ///
    /// # Errors
    /// Where the communication fails.
    pub(crate) fn among(
        processes: &dyn Processes,
        logs: &[RankLog],
        process_of: impl Fn(u32) -> u32,
    ) -> Result<Recorded, CommunicationError> {
        let mut runs = Runs::default();
        let mut there: BTreeMap<u32, Vec<Side>> = BTreeMap::new();
        for log in logs {
            let mut of_log = Runs::default();
            let peers = add_runs(log, &mut of_log);
            for (channel, sides) in of_log {
                let process = peers.get(&channel).map(|peer| process_of(*peer));
                for (side, of_side) in
                    sides.into_iter().enumerate().filter(|(_, of_side)| !of_side.is_empty())
                {
                    if let Some(process) = process.filter(|process| *process != processes.rank()) {
                        there.entry(process).or_default().push((channel, side == 1, of_side.clone()));
                    }
                    runs.entry(channel).or_default()[side].extend(of_side);
                }
            }
        }
        let encode = |(process, sides): (u32, Vec<Side>)| Ok((process, tree::encode(&sides)?));
        let messages = there.into_iter().map(encode).collect::<Result<Vec<_>, CommunicationError>>()?;
        for message in tree::route(processes, messages)? {
            for (channel, is_receiver, of_side) in tree::decode::<Vec<Side>>(&message)? {
                runs.entry(channel).or_default()[usize::from(is_receiver)].extend(of_side);
            }
        }
        Ok(Recorded { runs })
    }

    /// Whether the logs have both sides of a message.
    pub fn has_both(&self, message: MessageId) -> bool {
        self.runs.get(&message.channel).is_some_and(|sides| {
            sides.iter().all(|runs| {
                let run = runs.partition_point(|run| run.0 <= message.number).checked_sub(1);
                run.is_some_and(|run| message.number < runs[run].1)
            })
        })
    }
}

/// Adds what a log has; gives the ranks at the other ends of the channels.
fn add_runs(log: &RankLog, runs: &mut Runs) -> FxHashMap<u64, u32> {
    let MessageIds { sends, receives, peers, .. } = MessageIds::of(log);
    for (side, ids) in [sends, receives].into_iter().enumerate() {
        let mut ids: Vec<MessageId> = ids.into_iter().flatten().collect();
        ids.sort_by_key(|message| (message.channel, message.number));
        for MessageId { channel, number } in ids {
            let runs = &mut runs.entry(channel).or_default()[side];
            match runs.last_mut().filter(|run| run.1 == number) {
                Some(run) => run.1 += 1,
                None => runs.push((number, number + 1)),
            }
        }
    }
    peers
}

#[cfg(test)]
mod tests;
