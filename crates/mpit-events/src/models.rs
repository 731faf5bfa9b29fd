//! Models of the parts without locks, for loom: each is run in every order of its threads that can
//! make a difference, with every value that the memory model lets an atomic load give.
//!
//! `make loom` runs them. What is retired carries [`Alive`](crate::sync::Alive), which makes any use
//! that is not over before the end an error. Leave a barrier of `grace` out, or the
//! section at the end of a registration, and they fail.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use loom::thread;

use crate::append_only::AppendOnly;
use crate::callback::Safety;
use crate::grace::{Grace, Retired};
use crate::object::{BindKind, Token};
use crate::source::{Ordering as Order, Source};
use crate::sync::Alive;
use crate::{Clock, Core, Error, EventIndex, EventType, Registration, SourceIndex, Ticks, UserData};

/// Runs a model with at most so many changes from one thread to another while both could go on.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

#[test]
fn what_is_below_the_length_of_a_list_is_there() {
    check(3, || {
        let list = Arc::new(AppendOnly::<usize, 2>::new());
        let writer = list.clone();
        let writing = thread::spawn(move || (10..12).for_each(|value| assert!(writer.push(value).is_ok())));
        let seen: Vec<usize> = (0..list.len()).map(|index| *list.get(index).unwrap()).collect();
        assert_eq!(seen, (10..10 + seen.len()).collect::<Vec<_>>());
        writing.join().unwrap();
        assert_eq!(list.push(12), Err(12));
    });
}

/// Something that readers use in sections, and what was in its place before.
struct Published {
    grace: Grace,
    current: AtomicPtr<Alive>,
    released: AtomicUsize,
}

struct Old {
    _value: Box<Alive>,
    published: Arc<Published>,
}

impl Retired for Old {
    fn release(self: Box<Self>, _: &Grace) {
        self.published.released.fetch_add(1, Ordering::Relaxed);
    }
}

impl Published {
    fn new() -> Arc<Self> {
        let current = AtomicPtr::new(Box::into_raw(Box::new(Alive::new())));
        Arc::new(Published { grace: Grace::new(), current, released: AtomicUsize::new(0) })
    }

    fn read(&self) {
        let _section = self.grace.enter(true);
        // SAFETY: what is replaced lives until this section is over: that is what the model checks.
        unsafe { &*self.current.load(Ordering::SeqCst) }.used();
    }

    fn replace(self: &Arc<Self>) {
        let new = Box::into_raw(Box::new(Alive::new()));
        // SAFETY: from `Box::into_raw`, and the swap gave it to us alone.
        let value = unsafe { Box::from_raw(self.current.swap(new, Ordering::SeqCst)) };
        self.grace.retire(Box::new(Old { _value: value, published: self.clone() }));
        self.grace.release();
    }

    /// After all threads: everything that was replaced has been released.
    fn end(&self, replaced: usize) {
        assert_eq!(self.released.load(Ordering::Relaxed), replaced);
        // SAFETY: from `Box::into_raw`; no other thread is left, so the pointer is ours alone.
        drop(unsafe { Box::from_raw(self.current.load(Ordering::SeqCst)) });
    }
}

/// `readers` threads that read `times` each, while this one replaces as often as `replacing`.
fn readers_and_a_writer(readers: usize, times: usize, replacing: usize) {
    let published = Published::new();
    let reading: Vec<_> = (0..readers)
        .map(|_| {
            let published = published.clone();
            thread::spawn(move || (0..times).for_each(|_| published.read()))
        })
        .collect();
    (0..replacing).for_each(|_| published.replace());
    reading.into_iter().for_each(|reader| reader.join().unwrap());
    published.end(replacing);
}

#[test]
fn nothing_is_released_while_a_section_uses_it_and_all_is_in_the_end() {
    check(3, || readers_and_a_writer(1, 2, 2));
}

#[test]
fn that_holds_with_two_readers() {
    check(3, || readers_and_a_writer(2, 1, 1));
}

#[test]
fn that_holds_where_threads_share_a_counter() {
    // Two counters of their own are there: the writer has none, so the third reader shares the last.
    check(2, || readers_and_a_writer(3, 1, 1));
}

/// A core with one event type and one registration that counts what it hears.
struct Small {
    core: Core,
    source: SourceIndex,
    event: EventIndex,
    heard: AtomicUsize,
    lost: AtomicUsize,
    ended: AtomicUsize,
}

impl Small {
    fn new() -> Arc<Self> {
        let core = Core::new();
        let source = core.add_source(Source::new("", "", Order::Unordered, Clock::Monotonic));
        let event = core.add_type(EventType::of::<()>("event", "", BindKind::None)).unwrap();
        let [heard, lost, ended] = [(); 3].map(|()| AtomicUsize::new(0));
        Arc::new(Small { core, source, event, heard, lost, ended })
    }

    fn data(&self) -> UserData {
        UserData(std::ptr::from_ref(self).cast_mut().cast())
    }

    fn register(&self) -> Registration {
        let handle = self.core.alloc(self.event, None).unwrap();
        self.install(handle, Safety::MpiRestricted);
        // SAFETY: the models keep `self` until all threads are over.
        unsafe { self.core.set_dropped_handler(handle, Some((count_lost, self.data()))) }.unwrap();
        handle
    }

    fn install(&self, handle: Registration, level: Safety) {
        unsafe extern "C" fn count(
            _: *const crate::Instance<'_>,
            _: Registration,
            _: c_int,
            me: *mut c_void,
        ) {
            // SAFETY: `data` is what the models pass.
            unsafe { &*me.cast::<Small>() }.heard.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the function takes such data, which outlives the core.
        let _ = unsafe { self.core.set_callback_raw(handle, level, Some((count, self.data()))) };
    }

    fn raise(&self, level: Safety) {
        let section = self.core.raise_section(self.source, level);
        section.event_bytes(self.event, &self.core.no_object(), Ticks(0), &[]);
    }

    fn free(&self, handle: Registration) -> Result<(), Error> {
        unsafe extern "C" fn count(_: Registration, _: c_int, me: *mut c_void) {
            // SAFETY: `data` is what the models pass.
            unsafe { &*me.cast::<Small>() }.ended.fetch_add(1, Ordering::Relaxed);
        }
        self.core.free(handle, Some((count, self.data())))
    }
}

unsafe extern "C" fn count_lost(count: i64, _: Registration, _: c_int, _: c_int, me: *mut c_void) {
    // SAFETY: `data` is what the models pass.
    unsafe { &*me.cast::<Small>() }.lost.fetch_add(count as usize, Ordering::Relaxed);
}

/// Runs `other` in a thread of its own beside `mine`.
fn beside<A, B>(small: &Arc<Small>, other: A, mine: B)
where
    A: FnOnce(&Small) + 'static,
    B: FnOnce(&Small),
{
    let theirs = small.clone();
    let thread = thread::spawn(move || other(&theirs));
    mine(small);
    thread.join().unwrap();
}

#[test]
fn a_registration_that_ends_during_a_raise_ends_once() {
    check(3, || {
        let small = Small::new();
        let handle = small.register();
        beside(&small, |small| small.raise(Safety::MpiRestricted), |small| small.free(handle).unwrap());
        assert_eq!(small.ended.load(Ordering::Relaxed), 1);
        small.raise(Safety::MpiRestricted);
        assert!(small.heard.load(Ordering::Relaxed) <= 1);
    });
}

#[test]
fn of_two_who_free_one_succeeds() {
    check(3, || {
        let small = Small::new();
        let handle = small.register();
        let free = move |small: &Small| {
            let _ = small.free(handle);
        };
        beside(&small, free, free);
        assert_eq!(small.ended.load(Ordering::Relaxed), 1);
        assert_eq!(small.free(handle), Err(Error::InvalidHandle));
    });
}

#[test]
fn a_callback_may_be_replaced_while_it_runs() {
    check(3, || {
        let small = Small::new();
        let handle = small.register();
        let install = move |small: &Small| small.install(handle, Safety::MpiRestricted);
        beside(&small, |small| small.raise(Safety::MpiRestricted), install);
        assert_eq!(small.heard.load(Ordering::Relaxed), 1, "the old one or the new one");
        small.free(handle).unwrap();
    });
}

#[test]
fn every_lost_event_is_reported_once() {
    check(3, || {
        let small = Small::new();
        let handle = small.register();
        let raise = |small: &Small| {
            small.raise(Safety::ThreadSafe);
            small.raise(Safety::MpiRestricted);
        };
        beside(&small, raise, raise);
        small.free(handle).unwrap();
        assert_eq!(small.lost.load(Ordering::Relaxed), 2);
        assert_eq!(small.heard.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_handler_may_be_replaced_while_its_registration_ends() {
    check(3, || {
        let small = Small::new();
        let handle = small.register();
        small.raise(Safety::ThreadSafe);
        let replace = move |small: &Small| {
            // SAFETY: the function takes such data, which outlives the core.
            let _ = unsafe { small.core.set_dropped_handler(handle, Some((count_lost, small.data()))) };
        };
        beside(&small, replace, |small| small.free(handle).unwrap());
        assert!(small.lost.load(Ordering::Relaxed) <= 1, "reported, or forgotten with the old handler");
    });
}

#[test]
fn who_sees_a_new_version_sees_who_listens() {
    check(3, || {
        let small = Small::new();
        let before = small.core.version();
        let listen = |small: &Small| {
            small.core.alloc(small.event, None).unwrap();
        };
        beside(&small, listen, |small| {
            if small.core.version() != before {
                assert_eq!(small.core.active_from(small.event), 1);
                assert!(small.core.is_active(small.event));
            }
        });
    });
}

#[test]
fn a_registration_hears_an_event_that_is_raised_after_it_was_made() {
    check(3, || {
        let small = Small::new();
        let handle = small.register();
        beside(
            &small,
            |small| small.raise(Safety::MpiRestricted),
            |small| {
                let other = small.core.alloc(small.event, Some(Token(0))).unwrap();
                small.free(other).unwrap();
            },
        );
        assert_eq!(small.heard.load(Ordering::Relaxed), 1);
        small.free(handle).unwrap();
        assert_eq!(small.ended.load(Ordering::Relaxed), 2);
    });
}
