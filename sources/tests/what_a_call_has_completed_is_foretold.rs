//! When the twin follows a call it is known what the call has completed: receives get their own messages, the last
//! message came when the call returned, and nothing after it was looked at.
#![allow(missing_docs)]
mod common;

use common::{Notes, QUEUE, Senders, twin};
use mpit_events::Ticks;
use mpit_sources::shadow::{
    ANY_SOURCE, ANY_TAG, CommIndex, Completion, Copying, EAGER_LIMIT, Engine, Envelope, Event, Foretold,
    Sink, Window,
};
use proptest::prelude::*;

fn from(source: i32) -> Completion {
    Completion::Message { source, tag: 5 }
}

#[test]
fn wildcards_get_the_messages_that_they_have_completed_with() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let receives = [1, 2].map(|request| engine.post(&mut notes, comm, request, ANY_SOURCE, 5).receive);
    let mut window = Window::waited(Ticks(0), Ticks(1000));
    // The library gave them the other way round than the messages come here.
    window.completes(engine.foretell(receives[0], from(2)));
    window.completes(engine.foretell(receives[1], from(1)));
    for source in [1, 2] {
        assert!(!window.is_over());
        engine.arrive_within(&mut notes, senders.envelope(source, 5, 500), &mut window);
    }
    assert!(window.is_over());
    assert!(engine.complete_matched(&mut notes, receives[0], from(2)).is_some());
    assert!(engine.complete_matched(&mut notes, receives[1], from(1)).is_some());
    assert_eq!(notes.told_of(QUEUE)[2..], ["posted_remove 2 -1 5", "posted_remove 1 -1 5"]);
    assert_eq!(engine.truth().rebound, 0);
}

#[test]
fn what_is_on_its_way_when_the_call_returns_comes_later() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let end = |engine: &mut Engine, notes: &mut Notes, senders: &mut Senders, sent| {
        let receive = engine.post(notes, comm, 1, 1, 5).receive;
        let mut window = Window::waited(Ticks(500), Ticks(1000));
        window.set_transit(250);
        window.completes(engine.foretell(receive, from(1)));
        assert_eq!(window.until, Ticks(1000), "what it waits for it has seen, if perhaps late");
        engine.arrive_within(notes, senders.envelope(1, 5, sent), &mut window);
        assert!(window.is_over());
        window.until
    };
    assert_eq!(end(&mut engine, &mut notes, &mut senders, 600), Ticks(750), "it returned with the message");
    assert_eq!(end(&mut engine, &mut notes, &mut senders, 400), Ticks(500), "it was there when it began");
}

#[test]
fn the_last_message_came_when_the_call_returned() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let receives = [1, 2].map(|source| engine.post(&mut notes, comm, 1, source, 5).receive);
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    for (receive, source) in receives.into_iter().zip([1, 2]) {
        window.completes(engine.foretell(receive, from(source)));
    }
    notes.records.clear();
    engine.arrive_within(&mut notes, senders.envelope(1, 5, 300), &mut window);
    engine.arrive_within(&mut notes, senders.envelope(2, 5, 400), &mut window);
    let times: Vec<u64> = notes
        .records
        .iter()
        .filter(|record| notes.is(record, Event::MessageArrived))
        .map(|record| record.ticks.0)
        .collect();
    assert_eq!(times, [300, 1000]);
    assert_eq!(window.until, Ticks(1000));
}

#[test]
fn what_was_sent_to_a_process_off_the_processor_came_when_it_was_back() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, _) = twin(&mut notes);
    let mut window = Window::open(Ticks(100), Ticks(1000));
    // The last one, sent at 900, was seen at 1000.
    window.set_back(Ticks(1000), Ticks(900));
    for sent in [50, 300, 950] {
        engine.arrive_within(&mut notes, senders.envelope(1, 5, sent), &mut window);
    }
    let arrived = |record: &&mpit_events::Record| notes.is(record, Event::MessageArrived);
    let times: Vec<u64> = notes.records.iter().filter(arrived).map(|record| record.ticks.0).collect();
    assert_eq!(times, [100, 400, 1000]);
}

#[test]
fn a_message_that_a_waiting_wildcard_receive_did_not_get_came_after_its_own() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let receive = engine.post(&mut notes, comm, 1, ANY_SOURCE, 5).receive;
    let (first, own) = (senders.envelope(1, 5, 400), senders.envelope(2, 5, 500));
    let of_another_tag = senders.envelope(3, 6, 450);
    let mut window = Window::waited(Ticks(0), Ticks(1000));
    assert!(engine.has_wildcards() && !engine.comes_later(&first), "nothing is known yet");
    window.completes(engine.foretell(receive, from(2)));
    assert!(engine.comes_later(&first), "else the receive would have taken it");
    assert!(!engine.comes_later(&own) && !engine.comes_later(&of_another_tag));
    engine.arrive_within(&mut notes, own, &mut window);
    assert!(!engine.comes_later(&first));

    // A receive posted before takes it: nothing is known of when.
    let open = engine.post(&mut notes, comm, 2, 1, 5).receive;
    let wild = engine.post(&mut notes, comm, 3, ANY_SOURCE, ANY_TAG).receive;
    engine.foretell(wild, from(2));
    assert!(!engine.comes_later(&first));
    engine.cancel(&mut notes, open);
    assert!(engine.comes_later(&first) && engine.comes_later(&of_another_tag));
}

#[test]
fn a_message_that_a_receive_found_at_once_has_been_looked_at_before() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    engine.arrive(&mut notes, senders.envelope(1, 5, 100), Ticks(100));
    let receive = engine.post_at(&mut notes, comm, 1, ANY_SOURCE, 5, Ticks(200)).receive;
    assert_eq!(engine.lacks(receive, from(1)), None, "it has this message");
    let lacking = engine.lacks(receive, from(2)).expect("the twin has none of 2");
    assert!(lacking.by.is_some_and(|posted| posted >= Ticks(200)), "{lacking:?}");
    assert_eq!(lacking.sender, senders.envelope(2, 9, 0).sender());
    assert_ne!(lacking.sender, senders.envelope(1, 5, 0).sender());
    assert_ne!(lacking.sender, Envelope { context: 8, ..senders.envelope(2, 5, 0) }.sender());
    engine.arrive(&mut notes, senders.envelope(2, 5, 150), Ticks(200));
    assert_eq!(engine.lacks(receive, from(2)), None, "now it has");
    let waits = engine.post(&mut notes, comm, 2, 7, 5).receive;
    assert_eq!(
        engine.lacks(waits, from(7)).map(|lacking| lacking.by),
        Some(None),
        "its message may come later"
    );
}

#[test]
fn ob1_had_run_out_where_the_twin_has_given_its_last_message_to_the_wrong_receive() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let other = senders.envelope(1, 5, 100);
    engine.arrive(&mut notes, other, Ticks(100));
    let receive = engine.post_at(&mut notes, comm, 1, ANY_SOURCE, 5, Ticks(200)).receive;
    assert!(engine.has_run_out(receive, from(2), None));
    assert!(!engine.has_run_out(receive, from(1), None), "it has its own");
    assert!(!engine.has_run_out(receive, Completion::Unknown, None));
    assert_eq!(engine.given_to(receive), Some(&other));
    assert_eq!(engine.unexpected().count(), 0);
    engine.arrive(&mut notes, senders.envelope(2, 5, 150), Ticks(200));
    assert!(!engine.has_run_out(receive, from(2), None), "the right one is there");
    let waits = engine.post(&mut notes, comm, 2, 7, 5).receive;
    assert!(!engine.has_run_out(waits, from(7), None), "it was given none");
}

#[test]
fn ob1_had_run_out_where_it_gave_two_messages_of_a_sender_one_after_the_other() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    for source in [1, 1, 2, 2, 3] {
        engine.arrive(&mut notes, senders.envelope(source, 5, 100), Ticks(100));
    }
    let [first, second] = [1, 2].map(|request| engine.post(&mut notes, comm, request, ANY_SOURCE, 5).receive);
    assert!(engine.complete_matched(&mut notes, first, from(1)).is_some());
    // It was given a message of 2, and others of 2 and 3 are there.
    assert!(engine.has_run_out(second, from(1), Some(from(1))));
    assert!(!engine.has_run_out(second, from(1), Some(from(3))), "it may have been the turn of 1");
    assert!(!engine.has_run_out(second, from(1), None));
    assert_eq!(engine.unexpected().count(), 3);
    for source in [2, 3] {
        let taken = engine.post(&mut notes, comm, 3, source, 5).receive;
        engine.complete(&mut notes, taken, from(source));
    }
    assert!(!engine.has_run_out(second, from(1), Some(from(1))), "there were perhaps only those of 1");
}

#[test]
fn what_was_there_at_the_beginning_was_seen_at_once_and_nothing_after_it() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let receive = engine.post(&mut notes, comm, 1, 1, 5).receive;
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    window.completes(engine.foretell(receive, from(1)));
    engine.arrive_within(&mut notes, senders.envelope(1, 5, 50), &mut window);
    assert!(window.is_over());
    assert_eq!(window.until, Ticks(100), "what was sent later was not looked at");
}

#[test]
fn a_call_that_gave_the_processor_away_had_its_last_message_when_it_was_back() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let receives = [1, 2].map(|request| engine.post(&mut notes, comm, request, ANY_SOURCE, 5).receive);
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    window.set_transit(10);
    window.set_away(Ticks(700));
    receives.into_iter().for_each(|receive| window.completes(engine.foretell(receive, from(1))));
    let [first, last, other] = [50, 60, 990].map(|sent| senders.envelope(1, 5, sent));
    assert_eq!(engine.ends_late(&first, Ticks(100), &window), None, "it was not the last one");
    engine.arrive_within(&mut notes, first, &mut window);
    assert_eq!(
        engine.ends_late(&Envelope { tag: 6, ..last }, Ticks(100), &window),
        None,
        "nothing waits for it"
    );
    let long = Envelope { bytes: EAGER_LIMIT + 1, ..last };
    assert_eq!(engine.ends_late(&long, Ticks(100), &window), None, "the call went on for its data");
    assert_eq!(engine.ends_late(&last, Ticks(100), &window), Some(Ticks(700)));
    assert_eq!(engine.ends_late(&last, Ticks(700), &window), None);
    engine.arrive_within(&mut notes, Envelope { sent: Ticks(700), ..last }, &mut window);
    assert!(window.is_over());
    assert_eq!(window.until, Ticks(700), "however long after that it returned");
    assert_eq!([0, 80, 500].map(|ticks| window.until_after(ticks)), [Ticks(700), Ticks(780), Ticks(990)]);
    assert_eq!(engine.ends_late(&other, Ticks(100), &window), None);
}

#[test]
fn a_call_for_which_all_was_there_has_not_looked() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    engine.arrive(&mut notes, senders.envelope(1, 5, 0), Ticks(0));
    let receive = engine.post(&mut notes, comm, 1, 1, 5).receive;
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    assert_eq!(engine.foretell(receive, from(1)), Foretold::Nothing);
    window.completes(Foretold::Nothing);
    assert!(window.is_over());
}

#[test]
fn a_receive_that_failed_may_have_waited() {
    let mut notes = Notes::default();
    let (mut engine, comm) = twin(&mut notes);
    let receive = engine.post(&mut notes, comm, 1, 1, 5).receive;
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    window.completes(engine.foretell(receive, Completion::Unknown));
    assert!(!window.is_over());
}

#[test]
fn a_long_message_is_complete_later_than_it_comes() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    let receive = engine.post(&mut notes, comm, 1, 1, 5).receive;
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    window.completes(engine.foretell(receive, from(1)));
    let envelope = Envelope { bytes: EAGER_LIMIT + 1, ..senders.envelope(1, 5, 300) };
    engine.arrive_within(&mut notes, envelope, &mut window);
    assert!(!window.is_over(), "the call went on for its data");
    assert_eq!(window.until, Ticks(1000));
    assert_eq!(engine.foretell(receive, from(1)), Foretold::Long);
}

/// A twin of a process that copies long messages as soon as they are matched: 64 KiB in so many ticks.
fn twin_that_copies(notes: &mut Notes, of_64_kib: u64) -> (Engine, CommIndex) {
    let (mut engine, comm) = twin(notes);
    engine.set_copying(Copying { of_64_kib, at_once: true });
    (engine, comm)
}

#[test]
fn a_long_message_that_is_copied_at_once_ends_the_call() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin_that_copies(&mut notes, 100);
    let receive = engine.post(&mut notes, comm, 1, 1, 5).receive;
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    window.completes(engine.foretell(receive, from(1)));
    let envelope = Envelope { bytes: 2 << 16, ..senders.envelope(1, 5, 300) };
    notes.records.clear();
    engine.arrive_within(&mut notes, envelope, &mut window);
    assert!(window.is_over());
    assert_eq!(window.until, Ticks(1000));
    let removed =
        notes.records.iter().find(|record| record.event == Sink::index(&notes, Event::PostedRemove));
    assert_eq!(removed.unwrap().ticks, Ticks(800), "then it took 200 ticks to copy it");
}

#[test]
fn a_long_message_that_was_copied_before_does_not_make_a_call_look() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin_that_copies(&mut notes, 100);
    let envelope = Envelope { bytes: 2 << 16, ..senders.envelope(1, 5, 0) };
    engine.arrive(&mut notes, envelope, Ticks(0));
    let receive = engine.post(&mut notes, comm, 1, 1, 5).receive;
    let mut window = Window::waited(Ticks(100), Ticks(1000));
    window.completes(engine.foretell(receive, from(1)));
    assert!(window.is_over());
}

#[test]
fn a_message_that_was_exchanged_is_inserted_once() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = twin(&mut notes);
    for source in [1, 2] {
        engine.arrive(&mut notes, senders.envelope(source, 5, 0), Ticks(0));
    }
    let receive = engine.post(&mut notes, comm, 1, ANY_SOURCE, 5).receive;
    // The twin gave it the message of 1.
    assert!(engine.complete(&mut notes, receive, from(2)).is_some());
    let other = engine.post(&mut notes, comm, 2, 1, 5).receive;
    assert!(engine.complete(&mut notes, other, from(1)).is_some());
    assert_eq!(notes.count(Event::UnexInsert), 2);
    assert_eq!(notes.count(Event::UnexRemove), 2);
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.rebound, truth.unclaimed), (1, 1, 0));
}

proptest! {
    /// However many messages ob1 had looked at before the twin, and in whichever order it gave them away: with those that
    /// the twin says it lacks, each receive gets its own, and none is left over.
    #[test]
    fn a_twin_that_is_given_what_it_lacks_ends_with_the_truth(
        sources in prop::collection::vec(0..3i32, 1..40),
        seen in 0..40usize,
        choices in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let (mut notes, mut senders) = (Notes::default(), Senders::default());
        let (mut engine, comm) = twin(&mut notes);
        let sent: Vec<Envelope> = sources.iter().map(|&source| senders.envelope(source, 5, 0)).collect();
        let (looked_at, rest) = sent.split_at(seen.min(sent.len()));
        looked_at.iter().for_each(|envelope| engine.arrive(&mut notes, *envelope, Ticks(0)));
        let receives: Vec<_> =
            sent.iter().map(|_| engine.post(&mut notes, comm, 1, ANY_SOURCE, 5).receive).collect();
        let (mut rest, mut unreceived) = (rest.to_vec(), sources);
        for (receive, choice) in receives.into_iter().zip(choices) {
            let source = unreceived.remove(choice.index(unreceived.len()));
            while let Some(lacking) = engine.lacks(receive, from(source)) {
                let next = rest.iter().position(|envelope| envelope.sender() == lacking.sender);
                let next = next.expect("it has been sent");
                engine.arrive(&mut notes, rest.remove(next), Ticks(0));
            }
            let got = engine.complete(&mut notes, receive, from(source));
            prop_assert_eq!(got.map(|envelope| envelope.source), Some(source));
        }
        prop_assert!(rest.is_empty());
        let truth = engine.close(&mut notes);
        prop_assert_eq!((truth.unclaimed, truth.synthesised, truth.dropped), (0, 0, 0));
        let (inserted, removed) = (notes.count(Event::UnexInsert), notes.count(Event::UnexRemove));
        prop_assert_eq!(inserted, removed);
        prop_assert_eq!(notes.count(Event::PostedInsert), notes.count(Event::PostedRemove));
    }
}
