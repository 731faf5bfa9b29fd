//! Which protocol would suit long messages, by their call sites and ranks: from the order of send, receive, and the waits for both.
//!
//! The data of a long message goes by one of three protocols, each of which needs both sides in MPI at other times, where nobody drives messages
//! but calls of MPI:
//! - *read*: the sender announces the message, and the receiver reads it, as soon as it is in MPI with the receive posted and the message announced;
//! - *write*: the receiver answers at that time, and the sender writes, as soon as it is in MPI after the answer;
//! - *asked*: the receiver asks for the message when it posts the receive, and the sender writes as soon as it is in MPI and asked.
//!
//! Sides are taken to be in MPI when they start the operation, and from the begin of the wait on; other calls in between are not looked at,
//! and what starts at both sides within the time of a control message finds nothing of the other side. Buffered sends, whose sides do not
//! wait, are left out. How much longer both would wait than if the data went as soon as both had started is estimated from that, with the
//! time that a message between the two ranks takes when both wait: the median over calls that complete no other. A call that waits for
//! several messages waits for the last of them.
//!
//! Source: S. Ramesh's thesis, future work; M. Small and X. Yuan, "Maximizing MPI point-to-point communication performance on RDMA-enabled
//! clusters with customized protocols", ICS 2009.

use mpi_functions::Mode;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::model::{Key, Site};
use crate::names::call_at;
use crate::units::{Part, Unit};

/// Messages of fewer bytes are not looked at, if nothing else is asked for: most MPIs send those at once.
pub const LONGER_THAN: u64 = 64 << 10;

/// A control message takes so long at least, in nanoseconds: what starts sooner after the other side finds nothing of it.
const CONTROL: u64 = 5_000;

/// So many messages are kept at a time.
const MOST_KEPT: usize = 1 << 20;

/// A protocol is better than another where it saves this share of the time lost, and this many seconds.
const BETTER: (f64, f64) = (0.05, 1e-3);

/// What the losses are.
pub const PROTOCOLS: &str = "How much longer both sides of long messages wait than if the data went as soon as both had started, were each of three \
                             protocols used and messages driven by calls of MPI alone (estimated)";

/// The protocol that suits best. That in which the sender writes after an answer never does: the receiver could read when it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The receiver reads what the sender has announced.
    Read,
    /// The receiver asks, the sender writes.
    Asked,
}

/// What long messages have to wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lost {
    /// How many messages there were.
    pub messages: u64,
    /// How many of them were sent before their receives were posted.
    pub sent_first: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How much longer both sides wait if the receiver reads, in seconds.
    pub read_s: f64,
    /// The same, if the sender writes after an answer.
    pub write_s: f64,
    /// The same, if the sender writes when it is asked.
    pub asked_s: f64,
    /// The one that loses least; none where it makes no difference. Where reading and asking are alike, reading.
    pub best: Option<Protocol>,
}

/// Those between two call sites.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rendezvous {
    /// The call that sends them, as `MPI_Isend at app.c:7 (main)`.
    pub sent: String,
    /// The call that receives them.
    pub received: String,
    /// Of all ranks.
    #[serde(flatten)]
    pub lost: Lost,
    /// Of each sender and receiver, by their ranks.
    pub pairs: Vec<OfPair>,
}

/// Those between two call sites and two ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OfPair {
    /// Who sends.
    pub sender: u32,
    /// Who receives.
    pub receiver: u32,
    /// What they have to wait for.
    #[serde(flatten)]
    pub lost: Lost,
}

impl Lost {
    fn add(&mut self, other: &Lost) {
        self.messages += other.messages;
        self.sent_first += other.sent_first;
        self.bytes += other.bytes;
        self.read_s += other.read_s;
        self.write_s += other.write_s;
        self.asked_s += other.asked_s;
    }

    fn judge(&mut self) {
        let least = BETTER.1.max(BETTER.0 * self.write_s.max(self.asked_s));
        // An answer comes no sooner than the receiver could read; few MPIs have receivers that ask.
        self.best = if self.read_s - self.asked_s >= least {
            Some(Protocol::Asked)
        } else if self.write_s.max(self.asked_s) - self.read_s >= least {
            Some(Protocol::Read)
        } else {
            None
        };
    }
}

/// A side of a message: when it is started, when its wait begins, and when that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    start: u64,
    wait: u64,
    end: u64,
    /// The call that waits: who, when, and whether for nothing else.
    call: (u32, u64),
    alone: bool,
}

impl Times {
    /// Of what the call of `unit` completes. What was started in the same call waits at once.
    fn of(part: &Part, unit: &Unit) -> Times {
        let start = part.own.call.begin;
        let call = (unit.call.rank, unit.entered);
        Times {
            start,
            wait: unit.call.begin.max(start),
            end: unit.call.end,
            call,
            alone: unit.parts.len() == 1,
        }
    }

    /// When it is in MPI and finds what the other side has sent at `from`, which takes `control` to come.
    fn finds(&self, from: u64, control: u64) -> u64 {
        if from + control <= self.start { self.start } else { self.wait.max(from) }
    }
}

/// What messages have in common that are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Between {
    sites: (Site, Site),
    ranks: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Message {
    between: Between,
    bytes: u64,
    sender: Times,
    receiver: Times,
}

/// When the data of a message is there: if it goes as soon as both sides have started, and read, written, and asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct There {
    soon: u64,
    late: [u64; 3],
}

impl Message {
    /// How long it took at the most, once both sides waited, in nanoseconds for a byte.
    fn pace(&self) -> f64 {
        let both = self.sender.wait.max(self.receiver.wait);
        self.receiver.end.saturating_sub(both) as f64 / self.bytes.max(1) as f64
    }

    /// At this pace, where a control message takes so long.
    fn there(&self, pace: f64, control: u64) -> There {
        let Message { bytes, sender, receiver, .. } = *self;
        let takes = (pace * bytes as f64) as u64;
        let read = receiver.finds(sender.start, control);
        // An answer comes when the sender has started the operation.
        let write = sender.wait.max(read);
        let asked = sender.finds(receiver.start, control);
        let soon = sender.start.max(receiver.start) + takes;
        There { soon, late: [read, write, asked].map(|begins| begins + takes) }
    }
}

/// A call that waits for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Waiting {
    /// When it is left with data that go at once, and by protocol.
    soon: u64,
    late: [u64; 3],
    /// How much longer its messages would each let it wait, all together.
    sums: [u64; 3],
}

impl Waiting {
    fn add(&mut self, wait: u64, there: There) -> [u64; 3] {
        let soon = wait.max(there.soon);
        let longer = there.late.map(|late| wait.max(late) - soon);
        self.soon = self.soon.max(soon);
        for (place, late) in there.late.into_iter().enumerate() {
            self.late[place] = self.late[place].max(wait.max(late));
            self.sums[place] += longer[place];
        }
        longer
    }

    /// A message's part of how much longer the call waits, in seconds; alone, the message would let it wait so much `longer`.
    fn part(&self, place: usize, longer: u64) -> f64 {
        let whole = (self.late[place] - self.soon) as f64;
        if longer == 0 { 0.0 } else { whole * longer as f64 / self.sums[place] as f64 * 1e-9 }
    }
}

/// Adds up.
#[derive(Clone, Debug)]
pub struct Protocols {
    longer_than: u64,
    /// How long a control message takes, and how far clocks may be apart, in nanoseconds.
    control: u64,
    /// Sides whose others are not complete yet.
    half: FxHashMap<Key, Times>,
    messages: Vec<Message>,
    sums: FxHashMap<Between, Lost>,
}

impl Protocols {
    /// Of messages of more bytes than this, where clocks may be so far apart, in nanoseconds.
    pub fn of(longer_than: u64, clocks: u64) -> Protocols {
        let (half, messages, sums) = (FxHashMap::default(), Vec::new(), FxHashMap::default());
        Protocols { longer_than, control: CONTROL.max(clocks), half, messages, sums }
    }

    /// A call that completes messages.
    pub fn unit(&mut self, unit: &Unit) {
        for part in &unit.parts {
            let (own, other) = (&part.own, &part.other);
            // The receiver's side has the bytes that have come.
            let bytes = if part.sends { other.bytes } else { own.bytes };
            let mode = if part.sends { own.mode } else { other.mode };
            let is_waited_for = other.unit.is_some() && mode != Mode::Buffered;
            if bytes <= self.longer_than || own.call.rank == own.peer || !is_waited_for {
                continue;
            }
            let here = Times::of(part, unit);
            let Some(there) = self.half.remove(&own.key) else {
                self.half.insert(own.key, here);
                continue;
            };
            let (send, receive) = if part.sends { (own, other) } else { (other, own) };
            let (sender, receiver) = if part.sends { (here, there) } else { (there, here) };
            let between = Between {
                sites: (send.call.site, receive.call.site),
                ranks: (send.call.rank, receive.call.rank),
            };
            self.messages.push(Message { between, bytes, sender, receiver });
            if self.messages.len() >= MOST_KEPT {
                self.settle();
            }
        }
    }

    /// Adds the messages to the sums, with the time that they take between their ranks.
    fn settle(&mut self) {
        // Of calls that complete no other message, and of all where there are none.
        let mut paces: FxHashMap<(u32, u32), [Vec<f64>; 2]> = FxHashMap::default();
        for message in &self.messages {
            let of = paces.entry(message.between.ranks).or_default();
            of[usize::from(!message.receiver.alone)].push(message.pace());
        }
        let medians: FxHashMap<(u32, u32), f64> = paces
            .into_iter()
            .map(|(ranks, [alone, all])| {
                let mut paces = if alone.is_empty() { all } else { alone };
                let middle = paces.len() / 2;
                (ranks, *paces.select_nth_unstable_by(middle, f64::total_cmp).1)
            })
            .collect();
        let mut calls: FxHashMap<(u32, u64), Waiting> = FxHashMap::default();
        let mut longer = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let pace = medians.get(&message.between.ranks).copied().unwrap_or(0.0);
            let there = message.there(pace, self.control);
            longer.push([message.sender, message.receiver].map(|side| {
                let waiting = calls.entry(side.call).or_default();
                waiting.add(side.wait, there)
            }));
        }
        for (message, longer) in self.messages.drain(..).zip(longer) {
            let sides = [message.sender, message.receiver];
            let lost = |place: usize| -> f64 {
                let of = |(side, longer): (&Times, &[u64; 3])| calls[&side.call].part(place, longer[place]);
                sides.iter().zip(&longer).map(of).sum()
            };
            self.sums.entry(message.between).or_default().add(&Lost {
                messages: 1,
                sent_first: (message.sender.start < message.receiver.start).into(),
                bytes: message.bytes,
                read_s: lost(0),
                write_s: lost(1),
                asked_s: lost(2),
                best: None,
            });
        }
    }

    /// By the lines of call sites and their functions: what loses most with the worst protocol first.
    pub(crate) fn by_line(mut self, lines: &[(String, Option<String>)]) -> Vec<Rendezvous> {
        self.settle();
        let call = |site: Site| call_at(lines, site, None);
        // Several addresses are one line.
        let mut merged: FxHashMap<(String, String), Rendezvous> = FxHashMap::default();
        let mut sums: Vec<(Between, Lost)> = self.sums.into_iter().collect();
        sums.sort_unstable_by_key(|(between, _)| (between.ranks, between.sites));
        for (Between { sites, ranks: (sender, receiver) }, lost) in sums {
            let (sent, received) = (call(sites.0), call(sites.1));
            let of = merged.entry((sent.clone(), received.clone())).or_insert_with(|| Rendezvous {
                sent,
                received,
                ..Rendezvous::default()
            });
            of.lost.add(&lost);
            match of.pairs.last_mut().filter(|pair| (pair.sender, pair.receiver) == (sender, receiver)) {
                Some(pair) => pair.lost.add(&lost),
                None => of.pairs.push(OfPair { sender, receiver, lost }),
            }
        }
        let mut all: Vec<Rendezvous> = merged.into_values().collect();
        for of in &mut all {
            of.lost.judge();
            of.pairs.iter_mut().for_each(|pair| pair.lost.judge());
        }
        // No protocol loses more than this one.
        all.sort_by(|a, b| {
            let worst = |of: &Rendezvous| of.lost.write_s.max(of.lost.asked_s);
            worst(b).total_cmp(&worst(a)).then_with(|| (&a.sent, &a.received).cmp(&(&b.sent, &b.received)))
        });
        all
    }
}

impl Default for Protocols {
    fn default() -> Protocols {
        Protocols::of(LONGER_THAN, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Call, Side};
    use crate::testing::{call, side};

    const MILLI: u64 = 1_000_000;

    /// A side of a message number `number`, and its wait; start, wait and end are in milliseconds.
    fn of(rank: u32, number: u64, [start, wait, end]: [u64; 3]) -> (Side, (u64, u64)) {
        let times = (start * MILLI, start * MILLI + 10);
        let own = Side {
            key: Key { channel: 1, number },
            call: Call { site: rank, ..call(rank, times) },
            bytes: 1 << 20,
            unit: Some(1),
            ..side(rank, times, 1 - rank)
        };
        (own, (wait * MILLI, end * MILLI))
    }

    fn add(protocols: &mut Protocols, sent: (Side, (u64, u64)), received: (Side, (u64, u64))) {
        for (sends, (own, times), other) in [(true, sent, received.0), (false, received, sent.0)] {
            let parts = vec![Part { sends, own, other }];
            protocols.unit(&Unit { call: call(own.call.rank, times), entered: times.0, parts });
        }
    }

    fn message(protocols: &mut Protocols, number: u64, send: [u64; 3], receive: [u64; 3]) {
        add(protocols, of(0, number, send), of(1, number, receive));
    }

    fn found(messages: &[([u64; 3], [u64; 3])]) -> Lost {
        let mut protocols = Protocols::default();
        for (number, (send, receive)) in (0..).zip(messages) {
            message(&mut protocols, number, *send, *receive);
        }
        let line = |name: &str, function: &str| (name.to_owned(), Some(function.to_owned()));
        let found = protocols.by_line(&[line("a.c:1", "MPI_Isend"), line("a.c:2", "MPI_Irecv")]);
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].sent, &*found[0].received), ("MPI_Isend at a.c:1", "MPI_Irecv at a.c:2"));
        assert_eq!(found[0].pairs.len(), 1);
        assert_eq!((found[0].pairs[0].sender, found[0].pairs[0].receiver), (0, 1));
        assert_eq!(found[0].pairs[0].lost, found[0].lost);
        found[0].lost.clone()
    }

    #[track_caller]
    fn is(lost: &Lost, millis: [f64; 3], best: Option<Protocol>) {
        let found = [lost.read_s, lost.write_s, lost.asked_s].map(|seconds| (seconds * 1e3).round());
        assert_eq!((found, lost.best), (millis, best));
    }

    #[test]
    fn what_is_sent_first_is_read() {
        // Read at 2; written, or written when asked, as soon as the sender waits, at 30, while the receiver waits from 20 on;
        // it takes 1, which both wait for then.
        let lost = found(&[([0, 30, 31], [2, 20, 31])]);
        assert_eq!(lost.sent_first, 1);
        is(&lost, [0.0, 12.0, 12.0], Some(Protocol::Read));
    }

    #[test]
    fn what_is_received_first_is_asked_for() {
        // Asked for at 0, and written at 2; read when the receiver waits, at 30, while the sender waits from 20 on;
        // it takes 1, which both wait for then.
        let lost = found(&[([2, 20, 31], [0, 30, 31])]);
        assert_eq!(lost.sent_first, 0);
        is(&lost, [12.0, 12.0, 0.0], Some(Protocol::Asked));
    }

    #[test]
    fn where_both_wait_at_once_nothing_is_lost() {
        is(&found(&[([0, 0, 5], [4, 4, 5]), ([10, 10, 20], [10, 10, 20])]), [0.0; 3], None);
    }

    #[test]
    fn a_call_waits_for_the_last_of_its_messages() {
        // Four of them: the receiver waits 12 once, and not four times.
        let (send, receive) = (of(0, 0, [0, 30, 31]), of(1, 0, [2, 20, 31]));
        let mut protocols = Protocols::default();
        let sides = |of: &(Side, (u64, u64)), other: &(Side, (u64, u64)), sends| {
            let parts = (0..4).map(|number| {
                let key = Key { channel: 1, number };
                Part { sends, own: Side { key, ..of.0 }, other: Side { key, ..other.0 } }
            });
            Unit { call: call(of.0.call.rank, of.1), entered: of.1.0, parts: parts.collect() }
        };
        protocols.unit(&sides(&send, &receive, true));
        protocols.unit(&sides(&receive, &send, false));
        let found = protocols.by_line(&[]);
        assert_eq!(found[0].lost.messages, 4);
        is(&found[0].lost, [0.0, 12.0, 12.0], Some(Protocol::Read));
    }

    #[test]
    fn what_both_start_at_once_finds_nothing_of_the_other_side() {
        is(&found(&[([0, 20, 21], [0, 20, 21])]), [2.0, 2.0, 2.0], None);
    }

    #[test]
    fn buffered_sends_do_not_wait() {
        let mut protocols = Protocols::default();
        let (mut send, receive) = (of(0, 0, [0, 0, 1]), of(1, 0, [2, 4, 31]));
        send.0.mode = Mode::Buffered;
        add(&mut protocols, send, receive);
        assert!(protocols.by_line(&[]).is_empty());
    }

    #[test]
    fn short_messages_and_those_to_oneself_do_not_count() {
        let mut protocols = Protocols::of(1 << 20, 0);
        message(&mut protocols, 0, [0, 30, 31], [2, 20, 31]);
        assert!(protocols.by_line(&[]).is_empty());
    }
}
