//! Several processes write one archive. Here they are threads, each with an archive of its own.

mod support;

use std::cell::Cell;
use std::rc::Rc;

use otf2_writer::*;

/// Communication that ends after so many messages.
struct Breaks {
    inner: ThreadAsProcess,
    messages: Cell<u32>,
}

impl Breaks {
    fn count(&self) -> Result<(), CommunicationError> {
        self.messages.set(self.messages.get().checked_sub(1).ok_or_else(CommunicationError::default)?);
        Ok(())
    }
}

impl Processes for Breaks {
    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<(), CommunicationError> {
        self.count()?;
        self.inner.send(to, bytes)
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, CommunicationError> {
        self.count()?;
        self.inner.receive(from)
    }
}

/// Runs `process` once for each rank of a group of this size, with so many messages each; the results are by rank.
fn run<T: Send>(size: u32, messages: u32, process: impl Fn(u32, Rc<dyn Processes>) -> T + Sync) -> Vec<T> {
    let breaks = |inner| Breaks { inner, messages: Cell::new(messages) };
    ranks::on_threads(size, |inner| process(inner.rank(), Rc::new(breaks(inner))))
}

const ENOUGH: u32 = 10_000;

/// What each rank writes: its own definitions, in an order of its own, and events that refer to them.
fn write(archive: &mut Archive, rank: u32, size: u32) -> Result<(), Error> {
    let defs = archive.definitions_mut();
    defs.set_clock(Clock::new(1_000_000_000));
    let node = format!("n{}", rank / 2);
    let node = defs.system_tree_node(SystemTreeNode { name: &node, class: "node", parent: None });
    let process = LocationGroupRef::from_raw(rank);
    defs.location_group_as(process, LocationGroup::process(&format!("MPI Rank {rank}"), node));
    let main = LocationRef::from_raw(rank.into());
    defs.location_as(main, Location::thread(&format!("rank {rank}"), process));
    let unwritten = LocationRef::from_raw(u64::from(rank) | 1 << 32);
    defs.location_as(unwritten, Location::thread(&format!("rank {rank}: nothing"), process));
    let (name, paradigm) = ("", Paradigm::Mpi);
    if rank == 0 {
        let all: Vec<LocationRef> = (0..size).map(|rank| LocationRef::from_raw(rank.into())).collect();
        defs.group(Group { name, paradigm, members: GroupMembers::CommLocations(&all) });
    }
    let mut comm = |name: &str, members: &[u32], identity| {
        let group = defs.group(Group { name: "", paradigm, members: GroupMembers::CommGroup(members) });
        let (parent, create_destroy_events) = (None, false);
        defs.communicator(Communicator { name, group, parent, create_destroy_events, identity })
    };
    let all: Vec<u32> = (0..size).collect();
    // Both halves have an identity in common, and each rank makes its half first.
    let half = if rank < size / 2 { &all[..size as usize / 2] } else { &all[size as usize / 2..] };
    let half = comm("half", half, Some(7));
    let (world, copy) = (comm("world", &all, Some(1)), comm("world", &all, Some(2)));
    let regions = [rank % 3, (rank + 1) % 3].map(|number| {
        let name = format!("region {number}");
        defs.region(Region { name: &name, ..Region::default() })
    });
    let whence = defs.attribute("whence", "", Type::String);
    let text = defs.string(&format!("line {}", rank % 2));
    let member = defs.metric_member(MetricMember {
        name: &format!("length {}", rank % 2),
        description: "",
        origin: MetricOrigin::Other,
        mode: MetricMode::AbsoluteNext,
        value_type: Type::U64,
        base: MetricBase::Decimal,
        exponent: 0,
        unit: "entries",
    });
    let (members, occurrence, recorder) = (&[member][..], MetricOccurrence::Asynchronous, RecorderKind::Cpu);
    let metric = defs.metric_class(MetricClass { members, occurrence, recorder });
    let window = defs.rma_window(RmaWindow { name: "window", comm: world, create_destroy_events: true });
    let partners = defs.group(Group { name, paradigm, members: GroupMembers::CommGroup(&[rank]) });
    let marker = defs.marker("test", &format!("subject {}", rank % 2), Severity::Low);
    defs.mark(Ticks(5), main, marker, &format!("by rank {rank}"));
    let value = AttributeValue::String(defs.string("early"));
    defs.location_group_property(process, &format!("ENDED {}", rank % 2), value);

    let mut events = archive.event_writer(main)?;
    let base = 10 * u64::from(rank);
    events.enter(Ticks(base), regions[0], &[(whence, AttributeValue::String(text))])?;
    events.enter(Ticks(base + 1), regions[1], &[])?;
    for (time, comm) in [(2, half), (3, world), (4, copy)] {
        let event = Event::MpiSend { receiver: 0, comm, tag: rank, bytes: 8 };
        events.write(Ticks(base + time), &event)?;
    }
    events.write(Ticks(base + 5), &Event::Metric { metric, values: &[MetricValue::U64(3)] })?;
    events.write(Ticks(base + 5), &Event::RmaWinCreate { window })?;
    let level = RmaSyncLevel::ProcessAndMemory;
    events.write(Ticks(base + 6), &Event::RmaGroupSync { level, window, group: partners })?;
    events.leave(Ticks(base + 7), regions[1], &[])?;
    events.leave(Ticks(base + 8), regions[0], &[])?;
    events.close()
}

/// What the readers print.
fn printed(directory: &std::path::Path) -> [Vec<String>; 2] {
    [support::definitions(directory), support::events(directory)]
}

#[test]
fn what_many_define_alike_is_there_once_and_events_refer_to_it() {
    let (directory, size) = (tempfile::tempdir().unwrap(), 7);
    let results = run(size, ENOUGH, |rank, processes| {
        let mut archive = ArchiveOptions::new().processes(processes).create(directory.path())?;
        write(&mut archive, rank, size)?;
        archive.finish()
    });
    results.into_iter().for_each(|result| result.unwrap());
    let [definitions, events] = printed(directory.path());
    let count = |kind: &str| definitions.iter().filter(|line| line.split(' ').next() == Some(kind)).count();
    assert_eq!((count("LOCATION"), count("LOCATION_GROUP"), count("REGION")), (14, 7, 3), "{definitions:#?}");
    // Two halves, the world and its copy; the ranks alone for the epochs.
    assert_eq!((count("COMM"), count("GROUP")), (4, 1 + 3 + 7), "{definitions:#?}");
    assert_eq!((count("METRIC_CLASS"), count("RMA_WIN"), count("SYSTEM_TREE_NODE")), (2, 1, 4));
    assert_eq!(events.len(), 10 * size as usize);
    for rank in 0..size {
        let of_rank: Vec<&String> =
            events.iter().filter(|event| event.split(' ').nth(1) == Some(&rank.to_string())).collect();
        for (event, what) in [
            (0, format!("Region: \"region {}\"", rank % 3)),
            (0, format!("\"line {}\"", rank % 2)),
            (1, format!("Region: \"region {}\"", (rank + 1) % 3)),
            (2, "\"half\"".into()),
            (5, format!("\"length {}\"", rank % 2)),
            (6, "\"window\"".into()),
        ] {
            assert!(of_rank[event].contains(&what), "{what} in {}", of_rank[event]);
        }
        let comm = |event: &str| {
            event.split("Communicator: ").nth(1).and_then(|rest| rest.split(',').next()).map(str::to_owned)
        };
        assert_ne!(comm(of_rank[3]), comm(of_rank[4]), "two communicators of one name");
    }
    let output = std::process::Command::new("otf2-marker").arg(directory.path().join("traces.otf2")).output();
    let markers = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
    assert!((0..size).all(|rank| markers.contains(&format!("by rank {rank}"))), "{markers}");
}

#[test]
fn all_learn_that_the_archive_exists() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("traces")).unwrap();
    let results = run(3, ENOUGH, |_, processes| {
        ArchiveOptions::new().processes(processes).create(directory.path()).map(drop)
    });
    assert!(matches!(results[0], Err(Error::Exists(_))), "{results:?}");
    for result in &results[1..] {
        assert!(
            matches!(result, Err(Error::Elsewhere(text)) if text.contains("exists already")),
            "{result:?}"
        );
    }
}

#[test]
fn all_learn_that_the_directory_cannot_be_made() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let results = run(2, ENOUGH, |_, processes| {
        ArchiveOptions::new().processes(processes).create(file.path()).map(drop)
    });
    for result in results {
        assert!(result.is_err(), "{result:?}");
    }
}

#[test]
fn failing_communication_is_an_error_and_nobody_waits() {
    for messages in 0..40 {
        let directory = tempfile::tempdir().unwrap();
        let results = run(3, messages, |rank, processes| {
            let mut archive = ArchiveOptions::new().processes(processes).create(directory.path())?;
            write(&mut archive, rank, 3)?;
            archive.finish()
        });
        let failed = results.iter().filter(|result| result.is_err()).count();
        assert!(messages > 10 || failed == 3, "{messages}: {results:?}");
    }
}

#[test]
fn an_open_location_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let results = run(2, ENOUGH, |rank, processes| {
        let mut archive = ArchiveOptions::new().processes(processes).create(directory.path())?;
        let events = archive.event_writer(LocationRef::from_raw(rank.into()))?;
        if rank == 0 {
            events.close()?;
            archive.finish()
        } else {
            archive.finish().inspect_err(|_| drop(events))
        }
    });
    assert!(matches!(&results[0], Err(Error::Elsewhere(text)) if text.contains("still open")), "{results:?}");
    assert!(matches!(results[1], Err(Error::LocationOpen(_))), "{results:?}");
}
