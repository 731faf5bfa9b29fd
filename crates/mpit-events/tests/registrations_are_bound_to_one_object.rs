//! A registration hears of its own object only, and others are not drops.
#![allow(missing_docs)]
mod common;
use common::{MockConsumer, MockSource};
use mpit_events::{BindKind, Error, Token};

#[test]
fn only_the_bound_object_is_heard() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let (mine, other) = (mock.core.bind(BindKind::Comm, Token(1)), mock.core.bind(BindKind::Comm, Token(2)));
    let handle = consumer.listen(&mock, mock.bound, Some(Token(1)));
    mock.raise_on(&mine, 1);
    mock.raise_on(&other, 2);
    assert_eq!(consumer.take_notes().len(), 1);
    assert_eq!(mock.core.dropped(handle), Ok(0));
}

// Rule 11.
#[test]
fn types_bound_to_nothing_take_any_object() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    for token in [None, Some(Token(0)), Some(Token(u64::MAX))] {
        consumer.listen(&mock, mock.unbound, token);
    }
    mock.raise(7);
    assert_eq!(consumer.take_notes().len(), 3, "each hears every event");
}

#[test]
fn a_bound_type_needs_an_object() {
    let mock = MockSource::new();
    assert_eq!(mock.core.alloc(mock.bound, None), Err(Error::ObjectNeeded));
}

#[test]
fn registering_may_come_before_the_object() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    consumer.listen(&mock, mock.bound, Some(Token(7)));
    mock.raise_on(&mock.core.bind(BindKind::Comm, Token(7)), 1);
    assert_eq!(consumer.take_notes().len(), 1);
}

#[test]
fn a_token_that_comes_back_is_another_object() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let first = mock.core.bind(BindKind::Comm, Token(1));
    let handle = consumer.listen(&mock, mock.bound, Some(Token(1)));
    mock.core.unbind(&first);
    mock.raise_on(&mock.core.bind(BindKind::Comm, Token(1)), 1);
    assert!(consumer.take_notes().is_empty());
    mock.core.free(handle, None).unwrap();
}

#[test]
fn what_only_registrations_name_is_not_bound() {
    let (mock, consumer) = (MockSource::new(), MockConsumer::default());
    let bound = |token| mock.core.is_bound(BindKind::Comm, Token(token));
    consumer.listen(&mock, mock.bound, Some(Token(1)));
    assert!(!bound(1), "no producer knows it");
    let object = mock.core.bind(BindKind::Comm, Token(1));
    assert!(bound(1) && !bound(2));
    assert!(!mock.core.is_bound(BindKind::Win, Token(1)), "another kind of object");
    mock.core.unbind(&object);
    assert!(!bound(1), "it is no more");
}
