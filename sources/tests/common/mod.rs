//! A sink that writes down every event as a line, with a clock that ticks at each look.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses a part")]

use std::cell::Cell;

use mpit_events::{Core, EventIndex, Record, Ticks};
use mpit_sources::matching::{CommIndex, Engine, Envelope, Event, Ob1Events, Sink};
use mpit_sources::progress_model::{CallInterval, Copying};

/// Takes everything; its time advances by one with each reading.
pub struct Notes {
    core: Core,
    events: Ob1Events,
    time: Cell<u64>,
    pub records: Vec<Record>,
    pub lost: u64,
    /// Whether several events may be one record.
    pub only_counts: bool,
}

impl Default for Notes {
    fn default() -> Self {
        let core = Core::new();
        let events = Ob1Events::register(&core, "").unwrap();
        Notes { core, events, time: Cell::new(0), records: Vec::new(), lost: 0, only_counts: false }
    }
}

impl Sink for Notes {
    fn index(&self, event: Event) -> EventIndex {
        self.events.index(event)
    }
    fn wants(&self, _: Event) -> bool {
        true
    }
    fn wants_any(&self, _: u16) -> bool {
        true
    }
    fn only_counts(&self) -> bool {
        self.only_counts
    }
    fn now(&self) -> Ticks {
        self.time.set(self.time.get() + 1);
        Ticks(self.time.get())
    }
    fn push(&mut self, record: Record) {
        self.records.push(record);
    }
    fn lost(&mut self, _: CommIndex, count: u64) {
        self.lost += count;
    }
}

impl Notes {
    /// The events since the last call, each as its name and the elements' values.
    pub fn lines(&mut self) -> Vec<String> {
        let core = &self.core;
        let line = |record: Record| {
            let event_type = core.event_type(record.event).unwrap();
            let mut line = event_type.name.trim_start_matches("pml_ob1_").to_string();
            for element in &event_type.elements {
                let bytes = &record.payload()[element.displacement..][..element.datatype.size()];
                let mut wide = [0; 8];
                wide[..bytes.len()].copy_from_slice(bytes);
                let value = i64::from_le_bytes(wide);
                let value = if bytes.len() == 4 { i64::from(value as i32) } else { value };
                line += &format!(" {value}");
            }
            line
        };
        std::mem::take(&mut self.records).into_iter().map(line).collect()
    }

    /// The events whose names start with one of `names`, since the last call.
    pub fn lines_of(&mut self, names: &[&str]) -> Vec<String> {
        self.lines().into_iter().filter(|line| names.iter().any(|name| line.starts_with(name))).collect()
    }

    pub fn is(&self, record: &Record, event: Event) -> bool {
        record.event == self.events.index(event)
    }

    pub fn count(&self, event: Event) -> usize {
        self.records.iter().filter(|record| self.is(record, event)).count()
    }
}

/// The names of the events that change a queue.
pub const QUEUE: &[&str] = &["posted_", "unex_"];

/// Envelopes of one communicator, numbered per sender as a sender numbers them.
#[derive(Default)]
pub struct Senders(std::collections::HashMap<i32, u32>);

impl Senders {
    pub fn envelope(&mut self, source: i32, tag: i32, sent: u64) -> Envelope {
        let sequence = self.0.entry(source).or_default();
        *sequence += 1;
        let sequence = *sequence;
        Envelope { context: 7, source, tag, sequence, bytes: 8, sent: Ticks(sent), context_of_send: 0 }
    }
}

/// An engine with one communicator.
pub fn engine(notes: &mut Notes) -> (Engine, CommIndex) {
    let mut engine = Engine::new();
    let comm = engine.add_comm(notes, 7);
    (engine, comm)
}

/// An envelope comes in, in this interval.
pub fn arrive(engine: &mut Engine, notes: &mut Notes, envelope: &Envelope, interval: &mut CallInterval) {
    let copying = Copying::default();
    let matched = engine.arrive_when(notes, envelope, |expected| interval.came(envelope, expected, copying));
    if let Some(copied) = matched.and_then(|matched| interval.copied(envelope, matched, copying)) {
        engine.pass_until(copied);
    }
}
