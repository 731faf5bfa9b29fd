//! The model with a scripted list of envelopes in place of a ring, and no MPI.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::matching::{Completed, EAGER_LIMIT};

/// What comes, in order, each with its time of sending.
struct Script(VecDeque<Envelope>);

impl Incoming for Script {
    fn pop_until(&mut self, until: Ticks) -> Option<Envelope> {
        self.0.front().filter(|next| next.sent <= until)?;
        self.0.pop_front()
    }
}

fn envelope(source: i32, sequence: u32, sent: u64) -> Envelope {
    Envelope { context: 7, source, sequence, sent: Ticks(sent), ..Envelope::default() }
}

/// So many messages of each of these senders, one sender after the other, all sent at time 1.
fn script(senders: &[(i32, u32)]) -> Script {
    let of = |&(source, count)| (0..count).map(move |number| envelope(source, number, 1));
    Script(senders.iter().flat_map(of).collect())
}

/// What a call takes in, as sender and number.
fn call(model: &mut ProgressModel, script: &mut Script, interval: &CallInterval) -> Vec<(i32, u32)> {
    model.begin();
    let next = || model.next(Progress::Ob1, script, interval, |_| false);
    std::iter::from_fn(next).map(|envelope| (envelope.source, envelope.sequence)).collect()
}

/// A call that has all that it waited for, and so polls once.
fn over() -> CallInterval {
    CallInterval::waited(Ticks(0), Ticks(10))
}

/// A call that waited for something unknown, until time 10.
fn open() -> CallInterval {
    CallInterval::open(Ticks(0), Ticks(10))
}

fn of(source: i32, numbers: std::ops::Range<u32>) -> impl Iterator<Item = (i32, u32)> {
    numbers.map(move |number| (source, number))
}

#[test]
fn one_poll_takes_32_of_each_sender() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 70), (2, 40)]));
    assert_eq!(call(&mut model, &mut script, &over()), of(1, 0..32).chain(of(2, 0..32)).collect::<Vec<_>>());
    script.0.extend([envelope(1, 70, 1), envelope(3, 0, 1)]);
    let second = of(1, 32..64).chain(of(2, 32..40)).chain(of(3, 0..1)).collect::<Vec<_>>();
    assert_eq!(call(&mut model, &mut script, &over()), second);
    assert_eq!(call(&mut model, &mut script, &over()), of(1, 64..71).collect::<Vec<_>>());
    assert!(!model.has_leftover());
}

#[test]
fn a_call_that_goes_on_polls_until_nothing_is_left() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(3, 1), (1, 70), (2, 40)]));
    let first = of(3, 0..1).chain(of(1, 0..32)).chain(of(2, 0..32));
    let all = first.chain(of(1, 32..64)).chain(of(2, 32..40)).chain(of(1, 64..70));
    assert_eq!(call(&mut model, &mut script, &open()), all.collect::<Vec<_>>());
    assert!(!model.has_leftover());
}

#[test]
fn a_call_that_goes_on_takes_all_of_a_single_sender_in() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 100)]));
    assert_eq!(call(&mut model, &mut script, &open()), of(1, 0..100).collect::<Vec<_>>());
}

#[test]
fn what_was_sent_after_the_end_of_a_call_waits_for_the_next_one() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 2)]));
    script.0.push_back(envelope(1, 2, 11));
    assert_eq!(call(&mut model, &mut script, &open()), of(1, 0..2).collect::<Vec<_>>());
    assert_eq!(call(&mut model, &mut script, &CallInterval::open(Ticks(10), Ticks(20))), [(1, 2)]);
}

#[test]
fn as_it_comes_takes_everything_in() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 70), (2, 40)]));
    let next = || model.next(Progress::AsItComes, &mut script, &over(), |_| unreachable!("not asked"));
    assert_eq!(std::iter::from_fn(next).count(), 110);
}

#[test]
fn what_comes_later_is_held_back_until_others_have_come() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 40), (2, 3)]));
    let others = std::cell::Cell::new(0);
    model.begin();
    let next = || {
        let next = model.next(Progress::Ob1, &mut script, &over(), |one| one.source == 1 && others.get() < 3);
        others.set(others.get() + next.iter().filter(|one| one.source == 2).count());
        next.map(|envelope| (envelope.source, envelope.sequence))
    };
    let taken: Vec<_> = std::iter::from_fn(next).collect();
    assert_eq!(taken, of(2, 0..3).chain(of(1, 0..32)).collect::<Vec<_>>());
    assert!(model.has_leftover(), "a poll takes no more of a sender that was held back");
}

#[test]
fn what_is_held_back_for_nothing_waits_for_the_next_call() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 2)]));
    model.begin();
    assert_eq!(model.next(Progress::Ob1, &mut script, &open(), |_| true), None);
    assert_eq!(call(&mut model, &mut script, &over()), of(1, 0..2).collect::<Vec<_>>());
}

#[test]
fn one_sender_alone_is_taken_from_what_is_left_and_from_what_comes() {
    let (mut model, mut script) = (ProgressModel::default(), script(&[(1, 40), (2, 33)]));
    call(&mut model, &mut script, &over());
    script.0.extend([envelope(3, 0, 1), envelope(2, 33, 1)]);
    let sequences: Vec<_> =
        (0..2).filter_map(|_| model.take_of((7, 2), &mut script)).map(|one| one.sequence).collect();
    assert_eq!(sequences, [32, 33]);
    assert_eq!(model.take_of((7, 2), &mut script), None);
    let rest = of(1, 32..40).chain(of(3, 0..1)).collect::<Vec<_>>();
    assert_eq!(call(&mut model, &mut script, &over()), rest);
}

/// An interval of a call that waited for so many receives.
fn waited_for(receives: usize, copying: Copying) -> CallInterval {
    let mut interval = CallInterval::waited(Ticks(100), Ticks(1000));
    (0..receives).for_each(|_| interval.completes(Completed::Waits, copying));
    interval
}

#[test]
fn the_last_message_came_when_the_call_returned() {
    let copying = Copying::default();
    let mut interval = waited_for(2, copying);
    assert_eq!(interval.came(&envelope(1, 0, 300), true, copying), Ticks(300));
    assert!(interval.is_lacking() && !interval.is_over());
    assert_eq!(interval.came(&envelope(2, 0, 400), true, copying), Ticks(1000));
    assert!(interval.is_over());
    assert_eq!(interval.until, Ticks(1000));
}

#[test]
fn what_was_there_at_the_beginning_was_seen_at_once_and_nothing_after_it() {
    let copying = Copying::default();
    let mut interval = waited_for(1, copying);
    assert_eq!(interval.came(&envelope(1, 0, 50), true, copying), Ticks(100));
    assert_eq!(interval.until, Ticks(100), "what was sent later was not taken in");
}

#[test]
fn what_is_on_its_way_when_the_call_returns_comes_later() {
    let copying = Copying::default();
    let mut interval = waited_for(1, copying);
    interval.set_transit(250);
    interval.came(&envelope(1, 0, 600), true, copying);
    assert_eq!(interval.until, Ticks(750), "it returned with the message");
}

#[test]
fn what_was_sent_to_a_descheduled_process_came_when_it_resumed() {
    let copying = Copying::default();
    let mut interval = CallInterval::open(Ticks(100), Ticks(1000));
    // The last one, sent at 900, was seen at 1000.
    interval.set_lag(Ticks(1000), Ticks(900));
    let came = [50, 300, 950].map(|sent| interval.came(&envelope(1, 0, sent), false, copying).0);
    assert_eq!(came, [100, 400, 1000]);
}

#[test]
fn what_is_known_to_have_come_when_the_process_resumed_was_seen_at_once() {
    let copying = Copying::default();
    let mut interval = waited_for(1, copying);
    interval.set_resumed(Ticks(700));
    assert_eq!(interval.came(&envelope(1, 0, 700), true, copying), Ticks(700));
    assert_eq!(interval.until, Ticks(700), "however long after that the call returned");
}

#[test]
fn a_call_for_which_all_was_there_has_not_polled() {
    let mut interval = waited_for(0, Copying::default());
    interval.completes(Completed::Over, Copying::default());
    assert!(interval.is_over());
    interval.completes(Completed::Unknown, Copying::default());
    assert!(!interval.is_over(), "a receive that failed may have waited");
}

#[test]
fn a_message_by_rendezvous_is_complete_later_than_it_comes() {
    let copying = Copying::default();
    let long = Envelope { bytes: EAGER_LIMIT + 1, ..envelope(1, 0, 300) };
    let mut interval = waited_for(1, copying);
    assert_eq!(interval.came(&long, true, copying), Ticks(300));
    assert!(!interval.is_over(), "the call went on for its data");
    let mut interval = waited_for(0, copying);
    interval.completes(Completed::Matched { bytes: EAGER_LIMIT + 1 }, copying);
    assert!(!interval.is_over(), "its data came in the call");
}

#[test]
fn a_message_by_rendezvous_that_is_copied_at_once_ends_the_call() {
    let copying = Copying { of_64_kib: 100, at_once: true };
    let long = Envelope { bytes: 2 << 16, ..envelope(1, 0, 300) };
    let mut interval = waited_for(1, copying);
    assert_eq!(interval.came(&long, true, copying), Ticks(800), "then it took 200 ticks to copy it");
    assert!(interval.is_over());
    assert_eq!(interval.until, Ticks(1000));
    let mut interval = waited_for(0, copying);
    interval.completes(Completed::Matched { bytes: 2 << 16 }, copying);
    assert!(interval.is_over(), "it was copied before");
    assert_eq!(interval.copied(&long, Ticks(400), copying), Some(Ticks(600)));
    assert_eq!(interval.copied(&envelope(1, 0, 300), Ticks(400), copying), None, "eager");
}

proptest! {
    /// Whatever calls poll, and whichever messages are needed at once: those of a sender stay in order, and none is lost.
    #[test]
    fn messages_of_a_sender_stay_in_order(
        rounds in prop::collection::vec(
            (prop::collection::vec(0..4i32, 0..120), any::<bool>(), 0..40usize, 0..40usize),
            1..8,
        )
    ) {
        let (mut model, mut script) = (ProgressModel::default(), Script(VecDeque::new()));
        let (mut sent, mut seen) = ([0; 4], [0; 4]);
        let rest = (0..60).map(|_| (Vec::new(), false, 0, usize::MAX));
        for (senders, polls_on, lacking, considered) in rounds.into_iter().chain(rest) {
            for source in senders {
                sent[source as usize] += 1;
                script.0.push_back(envelope(source, sent[source as usize] - 1, 1));
            }
            let interval = if polls_on { open() } else { over() };
            model.begin();
            // The call may end in the middle of a poll, where it had what it waited for.
            let next = || model.next(Progress::Ob1, &mut script, &interval, |_| false);
            let mut taken: Vec<_> = std::iter::from_fn(next).take(considered).collect();
            taken.extend((0..lacking).map_while(|_| model.take_of((7, 1), &mut script)));
            for Envelope { source, sequence, .. } in taken {
                prop_assert_eq!(sequence, seen[source as usize]);
                seen[source as usize] += 1;
            }
        }
        prop_assert!(!model.has_leftover());
        prop_assert_eq!(seen, sent);
    }
}
