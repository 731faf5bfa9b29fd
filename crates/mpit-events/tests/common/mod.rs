//! A mock source and a mock consumer: the core's tests need no MPI and no tool.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses a part")]

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

use mpit_events::{
    BindKind, Clock, Core, EventIndex, EventType, Object, Ordering, Registration, Safety, Source,
    SourceIndex, Ticks, Token, UserData, event_payload,
};

event_payload! {
    /// What the mock events carry.
    pub struct Number { "number" number: u64 }
}

/// A producer with one event type bound to communicators, one bound to nothing, and one source.
pub struct MockSource {
    pub core: Core,
    pub bound: EventIndex,
    pub unbound: EventIndex,
    pub source: SourceIndex,
}

impl MockSource {
    pub fn new() -> Self {
        let core = Core::new();
        let source =
            core.add_source(Source::new("mock", "the mock's", Ordering::Ordered, Clock::Monotonic).shared());
        let bound = core.add_type(EventType::of::<Number>("bound", "", BindKind::Comm)).unwrap();
        let unbound = core.add_type(EventType::of::<Number>("unbound", "", BindKind::None)).unwrap();
        MockSource { core, bound, unbound, source }
    }

    pub fn raise(&self, number: u64) {
        self.raise_at(Safety::MpiRestricted, number);
    }

    pub fn raise_at(&self, safety: Safety, number: u64) {
        let object = self.core.no_object();
        self.core.raise_section(self.source, safety).event(
            self.unbound,
            &object,
            Ticks(number),
            &Number { number },
        );
    }

    pub fn raise_on(&self, object: &Object, number: u64) {
        let section = self.core.raise_section(self.source, Safety::MpiRestricted);
        section.event(self.bound, object, Ticks(number), &Number { number });
    }
}

/// A consumer that writes down what it hears, in order.
#[derive(Clone, Default)]
pub struct MockConsumer(Arc<Mutex<Vec<String>>>);

impl MockConsumer {
    pub fn listen(&self, mock: &MockSource, event: EventIndex, token: Option<Token>) -> Registration {
        let handle = mock.core.alloc(event, token).unwrap();
        self.listen_at(mock, handle, Safety::MpiRestricted);
        handle
    }

    pub fn listen_at(&self, mock: &MockSource, handle: Registration, level: Safety) {
        let notes = self.clone();
        let callback = move |instance: &mpit_events::Instance<'_>| {
            let number = instance.read::<u64>(0).unwrap();
            notes.note(format!("{number} at {level:?} raised {:?}", instance.safety()));
        };
        mock.core.set_callback(handle, level, callback).unwrap();
    }

    pub fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    /// Takes the notes since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// This consumer as the user data of a raw callback; must outlive the registration.
    pub fn user_data(&self) -> UserData {
        UserData(std::ptr::from_ref(self).cast_mut().cast())
    }
}

/// A dropped handler for a [`MockConsumer`].
pub unsafe extern "C" fn note_dropped(
    count: i64,
    _: Registration,
    source: c_int,
    safety: c_int,
    me: *mut c_void,
) {
    // SAFETY: the tests pass `MockConsumer::user_data`.
    unsafe { &*me.cast::<MockConsumer>() }.note(format!("dropped {count} source {source} safety {safety}"));
}

/// A free callback for a [`MockConsumer`].
pub unsafe extern "C" fn note_freed(_: Registration, safety: c_int, me: *mut c_void) {
    // SAFETY: the tests pass `MockConsumer::user_data`.
    unsafe { &*me.cast::<MockConsumer>() }.note(format!("freed safety {safety}"));
}
