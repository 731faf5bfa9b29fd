//! The patterns of messages once more, over all pairs of sends and receives, as their conditions are written: what the judge
//! finds, step by step and in any order of the ranks, is the same.

use proptest::prelude::*;

use super::{Rule, Thresholds};
use crate::found::Found;
use crate::judge::Judge;
use crate::model::{Call, Completing, Key, Side, Step, Way};
use crate::names::{Function, Names, Processes};
use mpi_functions::Mode;

const EPSILON: u64 = 10;
const RANKS: u32 = 4;

/// A message as it is made up: when it is sent and received, and how.
#[derive(Clone, Copy, Debug)]
struct Message {
    from: u32,
    to: u32,
    sent: (u64, u64),
    received: (u64, u64),
    mode: Mode,
    /// Each started before, and completed by a wait in these times.
    requests: (bool, bool),
}

/// What the paper's conditions say of one message: the rule, who has lost, and how much.
fn conditions(message: &Message) -> Vec<(Rule, u32, u64)> {
    let Message { from, to, sent, received, mode, requests } = *message;
    let mut found = Vec::new();
    let early = received.0.saturating_sub(sent.0);
    let waited = mode != Mode::Buffered && (mode == Mode::Synchronous || received.0 <= sent.1);
    let lost = early.min(sent.1 - sent.0);
    if waited && lost >= EPSILON {
        let rule = match (mode, requests) {
            (Mode::Standard, (false, _)) => Rule::EarlyStandardSend,
            (Mode::Synchronous, (false, _)) => Rule::EarlySynchronousSend,
            (Mode::Ready, (false, _)) => Rule::EarlyReadySend,
            (Mode::Standard, (true, true)) => Rule::WaitAtSenderIsend,
            (Mode::Synchronous, (true, true)) => Rule::WaitAtSenderIssend,
            (Mode::Ready, (true, true)) => Rule::WaitAtSenderIrsend,
            _ => Rule::LateReceiver,
        };
        found.push((rule, from, lost));
    }
    let lost = sent.0.saturating_sub(received.0).min(received.1 - received.0);
    if lost >= EPSILON {
        let rule = match (mode, requests) {
            (Mode::Standard, (false, false)) => Rule::LateStandardSend,
            (Mode::Buffered, (false, false)) => Rule::LateBufferedSend,
            (Mode::Synchronous, (false, false)) => Rule::LateSynchronousSend,
            (Mode::Ready, (false, false)) => Rule::LateReadySend,
            (Mode::Standard, (true, true)) => Rule::WaitAtReceiverIsend,
            (Mode::Buffered, (true, true)) => Rule::WaitAtReceiverIbsend,
            (Mode::Synchronous, (true, true)) => Rule::WaitAtReceiverIssend,
            (Mode::Ready, (true, true)) => Rule::WaitAtReceiverIrsend,
            _ => Rule::LateSender,
        };
        found.push((rule, to, lost));
    }
    found
}

/// The steps of a message on either side: the call that completes it, and the side.
fn steps(number: usize, message: &Message, sends: bool) -> [Step; 2] {
    let Message { from, to, sent, received, mode, requests } = *message;
    let (rank, peer, (begin, end), request) = match sends {
        true => (from, to, sent, requests.0),
        false => (to, from, received, requests.1),
    };
    // Each from a site of its own, so that what is found of each can be told apart.
    let call = Call { begin, end, rank, site: number as u32, function: 0, computed: 0 };
    let unit = 2 * number as u64 + u64::from(sends);
    let side = Side {
        key: Key { channel: number as u64, number: 0 },
        call,
        way: if request { Way::Nonblocking } else { Way::Blocking },
        mode: if sends { mode } else { Mode::Standard },
        unit: Some(unit),
        peer,
        communicator: 0,
        bytes: 2048,
        unexpected: None,
        order: number as u64,
        alone: false,
        buffer: 0,
        signature: mpi_functions::signature::Signature::default(),
    };
    let completing = Step::Completing(Completing { unit, call, entered: call.begin, count: 1 });
    [completing, if sends { Step::Sent(side) } else { Step::Received(side) }]
}

/// What the judge finds, given what ranks do in rounds.
fn judged(messages: &[Message], round: u64) -> Found {
    let mut names = Names::default();
    names.functions.push(Function::of("MPI_Other"));
    names.communicators.push(Processes { members: (0..RANKS).collect(), ..Processes::default() });
    let thresholds = Thresholds { epsilon: EPSILON, delta_sr: EPSILON, delta_percent: 0, clocks: 0 };
    let mut judge = Judge::new(&names, thresholds);
    // Calls of a rank are made up without a look at each other.
    (0..RANKS).for_each(|rank| judge.has_threads(rank));
    let mut all: Vec<(u64, u32, [Step; 2])> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        all.push((message.sent.1, message.from, steps(number, message, true)));
        all.push((message.received.1, message.to, steps(number, message, false)));
    }
    // As they are read: round after round, and in a round rank after rank.
    all.sort_by_key(|(end, rank, _)| (end / round, *rank, *end));
    let mut until = 0;
    for (end, _, steps) in all {
        if end / round > until {
            judge.judge(until * round);
            until = end / round;
        }
        steps.into_iter().for_each(|step| judge.step(step));
    }
    judge.finish().0
}

fn message() -> impl Strategy<Value = Message> {
    let times = || (0u64..2000, 0u64..200);
    let modes = [Mode::Standard, Mode::Buffered, Mode::Synchronous, Mode::Ready];
    let ranks = (0..RANKS, 1..RANKS);
    (ranks, times(), times(), prop::sample::select(modes.to_vec()), any::<(bool, bool)>()).prop_map(
        |((from, other), sent, received, mode, requests)| Message {
            from,
            to: (from + other) % RANKS,
            sent: (sent.0, sent.0 + sent.1),
            received: (received.0, received.0 + received.1),
            mode,
            requests,
        },
    )
}

proptest! {
    #[test]
    fn the_judge_finds_what_the_conditions_say(
        messages in prop::collection::vec(message(), 1..60),
        round in 1u64..3000,
    ) {
        let found = judged(&messages, round);
        let mut lost: Vec<(Rule, u32, u32, u64)> = Vec::new();
        for (group, sum) in &found.groups {
            for (rank, nanos) in &sum.by_rank {
                match lost.iter_mut().find(|of| (of.0, of.1, of.2) == (group.rule, group.site, *rank)) {
                    // Parts of several causes.
                    Some(of) => of.3 += nanos.round() as u64,
                    None => lost.push((group.rule, group.site, *rank, nanos.round() as u64)),
                }
            }
        }
        let mut expected: Vec<(Rule, u32, u32, u64)> = Vec::new();
        for (number, message) in messages.iter().enumerate() {
            expected.extend(conditions(message).into_iter().map(|(rule, rank, nanos)| {
                (rule, number as u32, rank, nanos)
            }));
        }
        lost.sort();
        expected.sort();
        prop_assert_eq!(lost.len(), expected.len(), "{:?} and {:?}", lost, expected);
        for (found, expected) in lost.iter().zip(&expected) {
            prop_assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, expected.2));
            // Parts are rounded.
            prop_assert!(found.3.abs_diff(expected.3) <= 8, "{:?} and {:?}", found, expected);
        }
    }
}
