//! Writes records such as a trace of MEL has, as `benches/archive.c` does with libotf2 alone; `benches/archive.py` compares.
//!
//! ```sh
//! cargo run --release -p otf2-writer --example archive -- DIRECTORY ITERATIONS
//! ```
//!
//! Prints how many events were written and how many seconds that took, from the opening of the archive until the last
//! location is closed.

use std::path::Path;
use std::time::Instant;

use otf2_writer::{
    ArchiveOptions, AttributeValue, Clock, Communicator, Error, Event, Group, GroupMembers, Location,
    LocationGroup, MetricBase, MetricClass, MetricMember, MetricMode, MetricOccurrence, MetricOrigin,
    MetricValue, Paradigm, RecorderKind, Region, SystemTreeNode, Ticks, Type,
};

const RANKS: u32 = 4;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory for the archive");
    let iterations: u64 = arguments.next().and_then(|number| number.parse().ok()).expect("a number");

    let begin = Instant::now();
    let mut archive = ArchiveOptions::new().create(Path::new(&directory))?;
    let definitions = archive.definitions_mut();
    definitions.set_clock(Clock { start: Some(Ticks(0)), ..Clock::new(1_000_000_000) });
    let node = definitions.system_tree_node(SystemTreeNode { name: "node", class: "node", parent: None });
    let mut region = |name| definitions.region(Region { name, ..Region::default() });
    let [irecv, isend, waitall, search] =
        ["MPI_Irecv", "MPI_Isend", "MPI_Waitall", "search"].map(&mut region);
    let mut attribute = |name, of| definitions.attribute(name, "", of);
    let (source, tag) = (attribute("source", Type::I32), attribute("tag", Type::I32));
    let (request, length) = (attribute("request", Type::U64), attribute("queue length", Type::U64));
    let waited = attribute("unexpected for", Type::U64);
    let member = definitions.metric_member(MetricMember {
        name: "length",
        description: "",
        origin: MetricOrigin::Other,
        mode: MetricMode::AbsoluteNext,
        value_type: Type::U64,
        base: MetricBase::Decimal,
        exponent: 0,
        unit: "entries",
    });
    let occurrence = MetricOccurrence::Asynchronous;
    let metric =
        definitions.metric_class(MetricClass { members: &[member], occurrence, recorder: RecorderKind::Cpu });
    let mut locations = Vec::new();
    for rank in 0..RANKS {
        let group = definitions.location_group(LocationGroup::process(&format!("rank {rank}"), node));
        for name in ["calls", "searches"] {
            locations.push(definitions.location(Location::thread(name, group)));
        }
    }
    let of_ranks: Vec<_> = locations.iter().copied().step_by(2).collect();
    let (name, paradigm) = ("", Paradigm::Mpi);
    definitions.group(Group { name, paradigm, members: GroupMembers::CommLocations(&of_ranks) });
    let members = GroupMembers::CommGroup(&[0, 1, 2, 3]);
    let group = definitions.group(Group { name, paradigm, members });
    let comm = definitions.communicator(Communicator {
        name: "MPI_COMM_WORLD",
        group,
        parent: None,
        create_destroy_events: false,
        identity: None,
    });

    let mut writers =
        locations.iter().map(|location| archive.event_writer(*location)).collect::<Result<Vec<_>, _>>()?;
    let mut events = 0u64;
    macro_rules! to {
        ($writer:ident, $time:expr, $event:expr, $attributes:expr $(,)?) => {
            $writer.write_with($time, $event, $attributes)?;
            events += 1;
        };
    }
    for rank in 0..RANKS {
        let [calls, searches] = &mut writers[2 * rank as usize..][..2] else { unreachable!("there are two") };
        let (right, left) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS);
        for i in 0..iterations {
            let at = |step: u64| Ticks(1000 * i + step);
            let elements = [
                (source, AttributeValue::I32(left as i32)),
                (tag, AttributeValue::I32((i % 100) as i32)),
                (request, AttributeValue::U64(i + 1)),
                (length, AttributeValue::U64(i % 7)),
            ];
            let tag = (i % 100) as u32;
            to!(calls, at(0), &Event::Enter { region: irecv }, &[]);
            to!(searches, at(100), &Event::Enter { region: search }, &elements);
            to!(searches, at(120), &Event::Leave { region: search }, &[]);
            to!(searches, at(120), &Event::Metric { metric, values: &[MetricValue::U64(1)] }, &[]);
            to!(calls, at(200), &Event::MpiIrecvRequest { request: i + 1 }, &[]);
            to!(calls, at(200), &Event::Leave { region: irecv }, &[]);
            to!(calls, at(300), &Event::Enter { region: isend }, &[]);
            to!(
                calls,
                at(300),
                &Event::MpiIsend { receiver: right, comm, tag, bytes: 1024, request: i + 1 },
                &[],
            );
            to!(calls, at(400), &Event::Leave { region: isend }, &[]);
            to!(calls, at(500), &Event::Enter { region: waitall }, &[]);
            to!(searches, at(600), &Event::Enter { region: search }, &elements);
            to!(searches, at(630), &Event::Leave { region: search }, &[]);
            to!(searches, at(630), &Event::Metric { metric, values: &[MetricValue::U64(0)] }, &[]);
            to!(calls, at(700), &Event::MpiIsendComplete { request: i + 1 }, &[]);
            let found = [(waited, AttributeValue::U64(i % 5000))];
            to!(
                calls,
                at(700),
                &Event::MpiIrecv { sender: left, comm, tag, bytes: 1024, request: i + 1 },
                &found,
            );
            to!(calls, at(800), &Event::Leave { region: waitall }, &[]);
        }
    }
    for writer in writers {
        writer.close()?;
    }
    println!("events {events} seconds {:.6}", begin.elapsed().as_secs_f64());
    archive.finish()
}
