//! What the model costs per message: a match with posted queues of several lengths, a message that
//! is unexpected, and an envelope through a ring.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use mpit_events::{Clock, Core, EventIndex, Record, Ticks};
use mpit_sources::matching::{CommIndex, Completion, Engine, Envelope, Event, Ob1Events, Sink};
use mpit_sources::transport::ring::{Ring, RingWriter};

/// Takes the events that the queue profile wants, as the real sink does.
struct Taking {
    events: Ob1Events,
    clock: Clock,
    records: Vec<Record>,
}

impl Sink for Taking {
    fn index(&self, event: Event) -> EventIndex {
        self.events.index(event)
    }
    fn wants(&self, event: Event) -> bool {
        (Event::SearchPostedBegin as u8..=Event::UnexRemove as u8).contains(&(event as u8))
    }
    fn wants_any(&self, mask: u16) -> bool {
        mask & 0x01fe != 0
    }
    fn now(&self) -> Ticks {
        self.clock.now()
    }
    fn push(&mut self, record: Record) {
        self.records.push(record);
    }
    fn lost(&mut self, _: CommIndex, _: u64) {}
}

fn envelope(sequence: u32, tag: i32) -> Envelope {
    Envelope { context: 7, source: 1, tag, sequence, bytes: 8, ..Envelope::default() }
}

fn matching(criterion: &mut Criterion) {
    let events = Ob1Events::register(&Core::new(), "").unwrap();
    let new_sink = || Taking { events, clock: Clock::best(), records: Vec::with_capacity(4096) };

    let mut group = criterion.benchmark_group("post, arrive and complete, behind so many other receives");
    for others in [0, 1, 10, 100, 1000] {
        let mut sink = new_sink();
        let mut engine = Engine::new();
        let comm = engine.add_comm(&mut sink, 7);
        for request in 0..others {
            engine.post(&mut sink, comm, request + 1_000_000, 1, 999);
        }
        let mut sequence = 0;
        group.bench_function(BenchmarkId::from_parameter(others), |bencher| {
            bencher.iter(|| {
                let posted = engine.post(&mut sink, comm, 1, 1, 5);
                engine.arrive(&mut sink, &envelope(sequence, 5), Ticks(0));
                sequence = sequence.wrapping_add(1);
                engine.complete(&mut sink, posted.receive, Completion::Message { source: 1, tag: 5 });
                sink.records.clear();
            });
        });
    }
    group.finish();

    criterion.bench_function("an unexpected message, arrive and post", |bencher| {
        let mut sink = new_sink();
        let mut engine = Engine::new();
        let comm = engine.add_comm(&mut sink, 7);
        let mut sequence = 0;
        bencher.iter(|| {
            engine.arrive(&mut sink, &envelope(sequence, 5), Ticks(0));
            sequence = sequence.wrapping_add(1);
            let posted = engine.post(&mut sink, comm, 1, 1, 5);
            engine.complete(&mut sink, posted.receive, Completion::Message { source: 1, tag: 5 });
            sink.records.clear();
        });
    });

    criterion.bench_function("an envelope through the ring, one thread", |bencher| {
        let mut ring = Ring::create().unwrap();
        let writer = RingWriter::open(ring.address().unwrap()).unwrap();
        bencher.iter_batched(
            || envelope(1, 5),
            |envelope| {
                writer.push(&envelope);
                ring.pop()
            },
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, matching);
criterion_main!(benches);
