//! What raising an event costs: nobody listening, and one or more counting callbacks.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use criterion::{Criterion, criterion_group, criterion_main};
use mpit_events::{BindKind, Clock, Core, EventType, Ordering, Safety, Source, Ticks, Token, event_payload};

event_payload! {
    struct Inserted { "request" request: u64, "source" source: i32, "tag" tag: i32 }
}

fn raise(criterion: &mut Criterion) {
    let core = Core::new();
    let clock = Clock::best();
    let source = core.add_source(Source::new("bench", "", Ordering::Ordered, clock));
    let event = core.add_type(EventType::of::<Inserted>("inserted", "", BindKind::Comm)).unwrap();
    let object = core.bind(BindKind::Comm, Token(1));
    let payload = Inserted { request: 1, source: 0, tag: 3 };
    let raise_one = || {
        if core.is_active(event) {
            let raise = core.raise_section(source, Safety::MpiRestricted);
            raise.event(event, &object, clock.now(), black_box(&payload));
        }
    };

    let bare = AtomicU64::new(0);
    criterion.bench_function("a bare relaxed load", |b| b.iter(|| black_box(&bare).load(Memory::Relaxed)));
    criterion.bench_function("raise, nobody listens", |b| b.iter(raise_one));
    criterion.bench_function("the clock alone", |b| b.iter(|| clock.now()));

    let raiser = core.raiser(source);
    let mut prepared = raiser.prepare(Safety::MpiRestricted, event, &object).unwrap();
    let mut raise_prepared = |observed: Ticks| {
        if core.is_active(event) {
            raiser.event(&mut prepared, &object, Some(observed), black_box(&payload));
        }
    };

    let mut handles = Vec::new();
    for registrations in [1, 4, 40] {
        while handles.len() < registrations {
            let handle = core.alloc(event, Some(Token(1))).unwrap();
            let count = Arc::new(Cell::default());
            core.set_callback(handle, Safety::MpiRestricted, move |_| count.add()).unwrap();
            handles.push(handle);
        }
        criterion
            .bench_function(&format!("raise, counting callbacks: {registrations}"), |b| b.iter(raise_one));
        // What a source does that raises one event after the other: `Raiser` and `Prepared`.
        let name = format!("raise prepared, counting callbacks: {registrations}");
        criterion.bench_function(&name, |b| b.iter(|| raise_prepared(clock.now())));
        criterion.bench_function(&format!("{name}, the time is known"), |b| {
            b.iter(|| raise_prepared(black_box(Ticks(1))));
        });
    }

    let raise = core.raise_section(source, Safety::MpiRestricted);
    criterion.bench_function("raise in an open section, counting callbacks: 40", |b| {
        b.iter(|| raise.event(event, &object, clock.now(), black_box(&payload)));
    });
}

/// A counter of one thread: what a tool's callback at `MPI_RESTRICTED` would have.
#[derive(Default)]
struct Cell(AtomicU64);

impl Cell {
    fn add(&self) {
        self.0.store(self.0.load(Memory::Relaxed) + 1, Memory::Relaxed);
    }
}

criterion_group!(benches, raise);
criterion_main!(benches);
