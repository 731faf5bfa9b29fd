//! A known order of posts and arrivals gives a known sequence of events.
#![allow(missing_docs)]
mod common;
use common::{Notes, QUEUE, Senders, arrive, engine};
use mpit_events::Ticks;
use mpit_sources::matching::{ANY_SOURCE, ANY_TAG, Completion, EAGER_LIMIT, Envelope};
use mpit_sources::progress_model::CallInterval;

const HIT: Completion = Completion::Message { source: 1, tag: 5 };

#[test]
fn a_posted_receive() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let posted = engine.post(&mut notes, comm, 42, 1, 5);
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    assert!(engine.complete(&mut notes, posted.receive, HIT).is_some());
    assert_eq!(
        notes.lines(),
        [
            "request_activate 42",
            "search_unexpected_begin 42 1 5",
            "search_unexpected_end 42 1 5",
            "posted_insert 42 1 5",
            "message_arrived 7 1 5 1",
            "search_posted_begin 1 5 1",
            "posted_remove 42 1 5",
            "search_posted_end 1 5 1",
            "transfer_begin 42",
            "transfer 42 8",
            "transfer_end 42",
            "request_complete 42",
        ]
    );
}

#[test]
fn an_unexpected_message() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    let posted = engine.post(&mut notes, comm, 42, ANY_SOURCE, ANY_TAG);
    engine.complete(&mut notes, posted.receive, HIT);
    assert_eq!(
        notes.lines(),
        [
            "message_arrived 7 1 5 1",
            "search_posted_begin 1 5 1",
            "unex_insert 1 1 5 1",
            "search_posted_end 1 5 1",
            "request_activate 42",
            "search_unexpected_begin 42 -1 -1",
            "unex_remove 1 1 5 1",
            "search_unexpected_end 42 -1 -1",
            "transfer_begin 42",
            "transfer 42 8",
            "transfer_end 42",
            "request_complete 42",
        ]
    );
}

#[test]
fn a_large_message_is_complete_only_when_the_library_says_so() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let posted = engine.post(&mut notes, comm, 42, 1, 5);
    let envelope = Envelope { bytes: EAGER_LIMIT + 1, ..Senders::default().envelope(1, 5, 0) };
    engine.arrive(&mut notes, &envelope, Ticks(0));
    assert_eq!(notes.lines().last().unwrap(), "transfer_begin 42");
    engine.complete(&mut notes, posted.receive, HIT);
    assert_eq!(notes.lines(), ["transfer 42 4097", "transfer_end 42", "request_complete 42"]);
}

#[test]
fn a_cancelled_receive_leaves_the_queue() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let posted = engine.post(&mut notes, comm, 42, 1, 5);
    notes.lines();
    engine.cancel(&mut notes, posted.receive);
    engine.complete(&mut notes, posted.receive, Completion::Cancelled);
    assert_eq!(notes.lines(), ["posted_remove 42 1 5", "cancel 42", "request_complete 42"]);
}

#[test]
fn an_arrival_is_stamped_with_the_time_it_came() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, _) = engine(&mut notes);
    let mut interval = CallInterval::open(Ticks(300), Ticks(u64::MAX));
    arrive(&mut engine, &mut notes, &senders.envelope(1, 5, 500), &mut interval);
    assert_eq!(notes.records[0].ticks, Ticks(500), "sent while the process was inside MPI");
    let mut interval = CallInterval::open(Ticks(900), Ticks(u64::MAX));
    arrive(&mut engine, &mut notes, &senders.envelope(1, 5, 600), &mut interval);
    assert_eq!(notes.records[4].ticks, Ticks(900), "sent while the process computed: seen at the next call");
}

#[test]
fn a_wildcard_that_the_library_resolved_otherwise_is_rematched() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let (first, second) = (engine.post(&mut notes, comm, 1, -1, 5), engine.post(&mut notes, comm, 2, -1, 5));
    let mut senders = Senders::default();
    engine.arrive(&mut notes, &senders.envelope(1, 5, 0), Ticks(0));
    engine.arrive(&mut notes, &senders.envelope(2, 5, 0), Ticks(0));
    let from = |source| Completion::Message { source, tag: 5 };
    assert_eq!(engine.complete(&mut notes, first.receive, from(2)).unwrap().source, 2);
    assert_eq!(engine.complete(&mut notes, second.receive, from(1)).unwrap().source, 1);
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.rematched, truth.never_received), (1, 1, 0));
}

#[test]
fn a_completion_may_come_before_its_envelope() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let posted = engine.post(&mut notes, comm, 42, ANY_SOURCE, 5);
    notes.lines();
    assert_eq!(engine.complete(&mut notes, posted.receive, HIT), None);
    assert!(notes.records.iter().all(|record| !record.late));
    assert_eq!(notes.lines_of(QUEUE), ["posted_remove 42 -1 5"], "the receive has left the queue");
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    assert!(notes.records.iter().all(|record| record.late));
    let told = notes.lines_of(&["message_arrived", "posted_remove"]);
    assert!(matches!(&told[..], [only] if only.starts_with("message_arrived")), "{told:?}");
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.envelopes_lost), (1, 0));
}

#[test]
fn a_lost_envelope_is_counted_with_its_receive() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let receives: Vec<_> =
        (1..=3).map(|request| engine.post(&mut notes, comm, request, 1, 5).receive).collect();
    let mut senders = Senders::default();
    engine.arrive(&mut notes, &senders.envelope(1, 5, 0), Ticks(0));
    senders.envelope(1, 5, 0);
    engine.arrive(&mut notes, &senders.envelope(1, 5, 0), Ticks(0));
    for receive in receives {
        engine.complete(&mut notes, receive, HIT);
    }
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.envelopes_lost, truth.dropped, notes.lost), (2, 1, 1, 1));
    assert_eq!(notes.lines_of(&["posted_remove"]).len(), 3);
}

#[test]
fn an_envelope_may_come_before_its_communicator() {
    let mut notes = Notes::default();
    let (mut engine, _) = engine(&mut notes);
    engine.arrive(&mut notes, &Envelope { context: 8, ..Senders::default().envelope(1, 5, 0) }, Ticks(0));
    assert!(notes.lines().is_empty());
    engine.add_comm(&mut notes, 8);
    assert_eq!(notes.lines_of(QUEUE), ["unex_insert 1 1 5 1"]);
}

#[test]
fn a_probe_takes_nothing_and_a_matched_probe_takes_the_message() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    assert!(engine.probe(&mut notes, comm, 9, ANY_SOURCE, 5).0.is_some());
    assert_eq!(engine.unexpected_len(), 1);
    notes.lines();
    assert!(engine.take(&mut notes, comm, 1, 5).is_some());
    assert_eq!(notes.lines(), ["unex_remove 1 1 5 1"]);
}

#[test]
fn an_envelope_that_comes_after_its_communicator_is_freed_meets_its_receive() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let posted = engine.post(&mut notes, comm, 42, 1, 5);
    engine.complete(&mut notes, posted.receive, HIT);
    engine.remove_comm(comm);
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.envelopes_lost, truth.never_received), (1, 0, 0));
}

#[test]
fn an_envelope_of_a_communicator_whose_place_is_taken_is_not_of_the_new_one() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    let posted = engine.post(&mut notes, comm, 42, 1, 5);
    engine.complete(&mut notes, posted.receive, HIT);
    engine.remove_comm(comm);
    assert_eq!(engine.add_comm(&mut notes, 8), comm);
    engine.arrive(&mut notes, &Senders::default().envelope(1, 5, 0), Ticks(0));
    assert_eq!(engine.unexpected_len(), 0);
    assert_eq!(engine.close(&mut notes).never_received, 1);
}

#[test]
fn a_freed_communicator_is_reused_only_when_it_is_idle() {
    let mut notes = Notes::default();
    let (mut engine, comm) = engine(&mut notes);
    let posted = engine.post(&mut notes, comm, 42, 1, 5);
    engine.remove_comm(comm);
    let mut last = engine.add_comm(&mut notes, 8);
    assert_ne!(last, comm, "a receive is still pending on it");
    engine.complete(&mut notes, posted.receive, Completion::Cancelled);
    // What was in use is looked at again when more has been freed since.
    let reused = (9..20).any(|context| {
        engine.remove_comm(last);
        last = engine.add_comm(&mut notes, context);
        last == comm
    });
    assert!(reused, "it is idle");
}
