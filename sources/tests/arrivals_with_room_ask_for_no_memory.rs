//! What the engine says it has room for comes in without a single allocation: a signal handler relies on it.
#![allow(missing_docs)]
mod common;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Notes, Senders, engine};
use mpit_events::Ticks;
use mpit_sources::matching::{ANY_SOURCE, Completion, Envelope, MAX_EMITTED};

/// Counts what a thread asks for.
struct Counting;

thread_local!(static ASKED: Cell<usize> = const { Cell::new(0) });

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller upholds what the trait asks for, and it goes on to the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn until_the_room_is_used_up() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    engine.arrive(&mut notes, &senders.envelope(1, 5, 0), Ticks(0));
    // Some find a receive, named or wild, after a search; the others are unexpected.
    for tag in [90, 91] {
        engine.post(&mut notes, comm, 1, 1, tag);
        engine.post(&mut notes, comm, 1, ANY_SOURCE, tag);
    }
    engine.reserve(1000);
    notes.records.clear();
    notes.records.reserve(10_000);
    let mut taken = 0;
    loop {
        let envelope = senders.envelope(1, if taken % 50 == 7 { 90 + taken / 100 } else { 5 }, 0);
        if !engine.has_room_for(&envelope) {
            break;
        }
        let (asked, emitted) = (ASKED.get(), notes.records.len());
        engine.arrive(&mut notes, &envelope, Ticks(0));
        assert_eq!(ASKED.get() - asked, 0, "message {taken} asks for memory");
        assert!(notes.records.len() - emitted <= MAX_EMITTED);
        assert!(notes.records[emitted..].iter().all(|record| !record.late) && notes.lost == 0);
        taken += 1;
    }
    assert!((1000..2000).contains(&taken), "{taken} were taken in");
}

#[test]
fn what_is_out_of_order_must_wait() {
    let (mut notes, mut senders) = (Notes::default(), Senders::default());
    let (mut engine, comm) = engine(&mut notes);
    let first = senders.envelope(1, 5, 0);
    assert!(!engine.has_room_for(&first), "the sender is new");
    engine.arrive(&mut notes, &first, Ticks(0));
    let second = senders.envelope(1, 5, 0);
    assert!(engine.has_room_for(&second));
    assert!(!engine.has_room_for(&Envelope { context: 8, ..second }), "the communicator is new");
    assert!(!engine.has_room_for(&senders.envelope(1, 5, 0)), "one is missing before it");
    let early = engine.post(&mut notes, comm, 1, 2, 9);
    engine.complete(&mut notes, early.receive, Completion::Message { source: 2, tag: 9 });
    assert!(!engine.has_room_for(&second), "a completed receive waits for its envelope");
}
