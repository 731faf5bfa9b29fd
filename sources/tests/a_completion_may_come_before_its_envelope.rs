//! Where a message is told of after it is sent, its receive may be complete before its envelope is there: the engine
//! says which ones to wait for, and follows those whose envelopes do come.
#![allow(missing_docs)]
mod common;

use common::{Notes, Senders, engine};
use mpit_events::Ticks;
use mpit_sources::matching::{ANY_SOURCE, Completion};

const REAL: Completion = Completion::Message { source: 1, tag: 5 };

#[test]
fn it_lacks_its_envelope_until_that_arrives() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    let request = engine.identity();
    let receive = engine.post(&mut notes, comm, request, ANY_SOURCE, 5).receive;
    assert!(engine.lacks(receive, REAL).is_some());
    assert_eq!(engine.lacks(receive, Completion::Cancelled), None);
    assert_eq!(engine.complete_matched(&mut notes, receive, REAL), None);
    engine.arrive(&mut notes, &senders.envelope(1, 5, 0), Ticks(0));
    assert_eq!(engine.lacks(receive, REAL), None);
    assert!(engine.complete_matched(&mut notes, receive, REAL).is_some());
    let truth = engine.close(&mut notes);
    assert_eq!((truth.matched, truth.rematched, truth.envelopes_lost, truth.never_received), (1, 0, 0, 0));
}

#[test]
fn a_lost_envelope_is_not_waited_for() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    let request = engine.identity();
    let receive = engine.post(&mut notes, comm, request, 1, 5).receive;
    let _lost = senders.envelope(1, 5, 0);
    engine.arrive(&mut notes, &senders.envelope(1, 6, 0), Ticks(0));
    assert_eq!(engine.lacks(receive, REAL), None);
}
