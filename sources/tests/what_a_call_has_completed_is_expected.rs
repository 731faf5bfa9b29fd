//! When the model follows a call it is known what the call has completed: receives get their own messages.
#![allow(missing_docs)]
mod common;

use common::{Notes, QUEUE, Senders, arrive, engine};
use mpit_events::Ticks;
use mpit_sources::matching::{ANY_SOURCE, ANY_TAG, Completed, Completion, EAGER_LIMIT, Envelope, Event};
use mpit_sources::progress_model::{CallInterval, Copying};
use proptest::prelude::*;

fn from(source: i32) -> Completion {
    Completion::Message { source, tag: 5 }
}

#[test]
fn wildcards_get_the_messages_that_they_have_completed_with() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    let receives = [1, 2].map(|request| engine.post(&mut notes, comm, request, ANY_SOURCE, 5).receive);
    let mut interval = CallInterval::waited(Ticks(0), Ticks(1000));
    // The library gave them the other way round than the messages come here.
    interval.completes(engine.expect(receives[0], from(2)), Copying::default());
    interval.completes(engine.expect(receives[1], from(1)), Copying::default());
    for source in [1, 2] {
        assert!(!interval.is_over());
        arrive(&mut engine, &mut notes, &senders.envelope(source, 5, 500), &mut interval);
    }
    assert!(interval.is_over());
    assert!(engine.complete_matched(&mut notes, receives[0], from(2)).is_some());
    assert!(engine.complete_matched(&mut notes, receives[1], from(1)).is_some());
    assert_eq!(notes.lines_of(QUEUE)[2..], ["posted_remove 2 -1 5", "posted_remove 1 -1 5"]);
    assert_eq!(engine.truth().rematched, 0);
}

#[test]
fn a_message_that_a_waiting_wildcard_receive_did_not_get_came_after_its_own() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    let receive = engine.post(&mut notes, comm, 1, ANY_SOURCE, 5).receive;
    let (first, own) = (senders.envelope(1, 5, 400), senders.envelope(2, 5, 500));
    let of_another_tag = senders.envelope(3, 6, 450);
    let mut interval = CallInterval::waited(Ticks(0), Ticks(1000));
    assert!(engine.has_wildcards() && !engine.comes_later(&first), "nothing is known yet");
    interval.completes(engine.expect(receive, from(2)), Copying::default());
    assert!(engine.comes_later(&first), "else the receive would have taken it");
    assert!(!engine.comes_later(&own) && !engine.comes_later(&of_another_tag));
    arrive(&mut engine, &mut notes, &own, &mut interval);
    assert!(!engine.comes_later(&first));

    // A receive posted before takes it: nothing is known of when.
    let open = engine.post(&mut notes, comm, 2, 1, 5).receive;
    let wild = engine.post(&mut notes, comm, 3, ANY_SOURCE, ANY_TAG).receive;
    engine.expect(wild, from(2));
    assert!(!engine.comes_later(&first));
    engine.cancel(&mut notes, open);
    assert!(engine.comes_later(&first) && engine.comes_later(&of_another_tag));
}

#[test]
fn a_message_that_a_receive_found_at_once_was_taken_in_before() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    engine.arrive(&mut notes, &senders.envelope(1, 5, 100), Ticks(100));
    let receive = engine.post_at(&mut notes, comm, 1, ANY_SOURCE, 5, Ticks(200)).receive;
    assert_eq!(engine.lacks(receive, from(1)), None, "it has this message");
    let lacking = engine.lacks(receive, from(2)).expect("there is none of 2");
    assert!(lacking.by.is_some_and(|posted| posted >= Ticks(200)), "{lacking:?}");
    assert_eq!(lacking.sender, senders.envelope(2, 9, 0).sender());
    assert_ne!(lacking.sender, senders.envelope(1, 5, 0).sender());
    assert_ne!(lacking.sender, Envelope { context: 8, ..senders.envelope(2, 5, 0) }.sender());
    engine.arrive(&mut notes, &senders.envelope(2, 5, 150), Ticks(200));
    assert_eq!(engine.lacks(receive, from(2)), None, "now it has");
    let waits = engine.post(&mut notes, comm, 2, 7, 5).receive;
    assert_eq!(
        engine.lacks(waits, from(7)).map(|lacking| lacking.by),
        Some(None),
        "its message may come later"
    );
}

#[test]
fn a_receive_is_known_by_how_far_it_was_when_the_call_began() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    let long = Envelope { bytes: EAGER_LIMIT + 1, ..senders.envelope(1, 5, 0) };
    engine.arrive(&mut notes, &long, Ticks(0));
    let [found, waits] = [1, 2].map(|request| engine.post(&mut notes, comm, request, 1, 5).receive);
    assert_eq!(engine.expect(found, from(1)), Completed::Matched { bytes: EAGER_LIMIT + 1 });
    assert_eq!(engine.expect(waits, Completion::Unknown), Completed::Unknown);
    assert_eq!(engine.expect(waits, Completion::Cancelled), Completed::Over);
    assert_eq!(engine.expect(waits, from(1)), Completed::Waits);
}

#[test]
fn a_message_that_was_exchanged_is_inserted_once() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    for source in [1, 2] {
        engine.arrive(&mut notes, &senders.envelope(source, 5, 0), Ticks(0));
    }
    let receive = engine.post(&mut notes, comm, 1, ANY_SOURCE, 5).receive;
    // The model gave it the message of 1.
    assert!(engine.complete(&mut notes, receive, from(2)).is_some());
    let other = engine.post(&mut notes, comm, 2, 1, 5).receive;
    assert!(engine.complete(&mut notes, other, from(1)).is_some());
    assert_eq!(notes.count(Event::UnexInsert), 2);
    assert_eq!(notes.count(Event::UnexRemove), 2);
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.rematched, truth.never_received), (1, 1, 0));
}

proptest! {
    /// However many messages ob1 had taken in before the model, and in whichever order it gave them away: with those that
    /// the model says it lacks, each receive gets its own, and none is left over.
    #[test]
    fn a_model_that_is_given_what_it_lacks_ends_with_the_truth(
        sources in prop::collection::vec(0..3i32, 1..40),
        seen in 0..40usize,
        choices in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let (mut notes, mut senders) = (Notes::default(), Senders::default());
        let (mut engine, comm) = engine(&mut notes);
        let sent: Vec<Envelope> = sources.iter().map(|&source| senders.envelope(source, 5, 0)).collect();
        let (looked_at, rest) = sent.split_at(seen.min(sent.len()));
        looked_at.iter().for_each(|envelope| engine.arrive(&mut notes, envelope, Ticks(0)));
        let receives: Vec<_> =
            sent.iter().map(|_| engine.post(&mut notes, comm, 1, ANY_SOURCE, 5).receive).collect();
        let (mut rest, mut unreceived) = (rest.to_vec(), sources);
        for (receive, choice) in receives.into_iter().zip(choices) {
            let source = unreceived.remove(choice.index(unreceived.len()));
            while let Some(lacking) = engine.lacks(receive, from(source)) {
                let next = rest.iter().position(|envelope| envelope.sender() == lacking.sender);
                let next = next.expect("it has been sent");
                engine.arrive(&mut notes, &rest.remove(next), Ticks(0));
            }
            let got = engine.complete(&mut notes, receive, from(source));
            prop_assert_eq!(got.map(|envelope| envelope.source), Some(source));
        }
        prop_assert!(rest.is_empty());
        let truth = engine.close(&mut notes);
        prop_assert_eq!((truth.never_received, truth.envelopes_lost, truth.dropped), (0, 0, 0));
        let (inserted, removed) = (notes.count(Event::UnexInsert), notes.count(Event::UnexRemove));
        prop_assert_eq!(inserted, removed);
        prop_assert_eq!(notes.count(Event::PostedInsert), notes.count(Event::PostedRemove));
    }
}
