//! The fifteen variables over a store in memory: what handles give, for whom they count, and what is written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mpit_vars::store::{Amount, Communicator, Everything, Kind, OfCommunicator, Shape, Store};
use mpit_vars::{Class, Contents, Error, Handle, Variables, monitoring};

/// A job of three processes, of which this one is number 1. Handle 100 is `MPI_COMM_WORLD`, 200 has one process.
#[derive(Default)]
struct Memory {
    sent: Mutex<Vec<(u64, Kind, usize, u64)>>,
    barriers: Mutex<Amount>,
    asked: AtomicBool,
}

impl Memory {
    fn send(&self, communicator: u64, kind: Kind, peer: usize, bytes: u64) {
        self.sent.lock().unwrap().push((communicator, kind, peer, bytes));
    }
}

impl Store for Memory {
    fn communicator(&self, handle: u64) -> Option<Communicator> {
        match handle {
            100 => Some(Communicator { id: 0, size: 3 }),
            200 => Some(Communicator { id: 1, size: 1 }),
            _ => None,
        }
    }

    fn begin(&self) -> Result<(), Error> {
        self.asked.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn by_peer(&self, communicator: u64, kind: Kind, each: &mut dyn FnMut(usize, Amount)) {
        for &(on, what, peer, bytes) in &*self.sent.lock().unwrap() {
            if on == communicator && what == kind {
                each(peer, Amount { messages: 1, bytes });
            }
        }
    }

    fn operations(&self, _: u64, shape: Shape) -> Amount {
        if shape == Shape::AllToAll { *self.barriers.lock().unwrap() } else { Amount::default() }
    }

    fn everything(&self) -> Everything {
        let mut everything = Everything { rank: 1, ..Everything::default() };
        for &(_, kind, peer, bytes) in &*self.sent.lock().unwrap() {
            let found = everything.peers.entry((kind, peer as u32)).or_default();
            found.amount = found.amount.plus(Amount { messages: 1, bytes });
        }
        let world =
            OfCommunicator { name: "world".into(), ranks: vec![0, 1, 2], ..OfCommunicator::default() };
        everything.communicators.insert(0, world);
        everything
    }
}

struct Tool {
    variables: Variables,
    store: Arc<Memory>,
    session: usize,
}

impl Tool {
    fn new() -> Tool {
        let (variables, store) = (Variables::default(), Arc::new(Memory::default()));
        monitoring::add(&variables, store.clone()).unwrap();
        let session = variables.create_session(None);
        Tool { variables, store, session }
    }

    fn alloc(&self, name: &str, class: Class, object: Option<u64>) -> Result<Arc<Handle>, Error> {
        let index = self.variables.of_name(name.as_bytes(), class)?;
        self.variables.alloc(self.session, index, object).map(|(_, handle)| handle)
    }
}

fn numbers(handle: &Handle) -> Vec<u64> {
    let copy = |contents: Contents<'_>| match contents {
        Contents::Numbers(numbers) => numbers.to_vec(),
        Contents::Text(_) => panic!("no numbers"),
    };
    handle.read(copy).unwrap()
}

#[test]
fn there_are_fifteen_with_the_names_of_open_mpi() {
    let tool = Tool::new();
    let names: Vec<String> = (0..tool.variables.ours())
        .map(|index| tool.variables.description(index).unwrap().name.to_string())
        .collect();
    let mut expected = vec!["pml_monitoring_flush".to_owned()];
    for layer in ["pml_monitoring_messages", "osc_monitoring_messages_sent", "osc_monitoring_messages_recv"] {
        expected.extend(["count", "size"].map(|part| format!("{layer}_{part}")));
    }
    for what in ["messages", "o2a", "a2o", "a2a"] {
        expected.extend(["count", "size"].map(|part| format!("coll_monitoring_{what}_{part}")));
    }
    assert_eq!(names, expected);
    assert_eq!(monitoring::add(&tool.variables, tool.store.clone()), Err(Error::InvalidName));
}

#[test]
fn a_handle_has_a_number_for_each_process_of_its_communicator() {
    let tool = Tool::new();
    let world = tool.alloc("pml_monitoring_messages_size", Class::Size, Some(100)).unwrap();
    let own = tool.alloc("pml_monitoring_messages_count", Class::Size, Some(200)).unwrap();
    assert_eq!((world.count(), own.count()), (3, 1));
    assert!(!tool.store.asked.load(Ordering::Relaxed), "nothing is counted before a handle is started");
    tool.store.send(0, Kind::Message, 2, 1000);
    world.start().unwrap();
    own.start().unwrap();
    assert!(tool.store.asked.load(Ordering::Relaxed));
    tool.store.send(0, Kind::Message, 2, 8);
    tool.store.send(0, Kind::Message, 0, 1);
    tool.store.send(0, Kind::Put, 0, 50);
    tool.store.send(1, Kind::Message, 0, 7);
    world.stop().unwrap();
    tool.store.send(0, Kind::Message, 2, 4);
    assert_eq!((numbers(&world), numbers(&own)), (vec![1, 0, 8], vec![1]));
    assert_eq!(
        tool.alloc("pml_monitoring_messages_size", Class::Size, Some(7)).map(|_| ()),
        Err(Error::InvalidHandle)
    );
    assert_eq!(
        tool.alloc("pml_monitoring_messages_size", Class::Size, None).map(|_| ()),
        Err(Error::InvalidHandle)
    );
    assert_eq!(
        tool.alloc("pml_monitoring_messages_size", Class::Counter, Some(100)).map(|_| ()),
        Err(Error::InvalidName)
    );
}

#[test]
fn operations_are_one_number() {
    let tool = Tool::new();
    let count = tool.alloc("coll_monitoring_a2a_count", Class::Counter, Some(100)).unwrap();
    let size = tool.alloc("coll_monitoring_a2a_size", Class::Aggregate, Some(100)).unwrap();
    [&count, &size].iter().for_each(|handle| handle.start().unwrap());
    *tool.store.barriers.lock().unwrap() = Amount { messages: 3, bytes: 12 };
    assert_eq!((numbers(&count), numbers(&size)), (vec![3], vec![12]));
}

#[test]
fn a_flush_writes_what_was_sent_between_start_and_stop() {
    let tool = Tool::new();
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("phase_1");
    let flush = tool.alloc("pml_monitoring_flush", Class::Generic, Some(100)).unwrap();
    assert_eq!(flush.count(), 0);
    tool.store.send(0, Kind::Message, 0, 1000);
    flush.start().unwrap();
    tool.store.send(0, Kind::Message, 0, 8);
    tool.store.send(0, Kind::Message, 2, 9);
    flush.write(Contents::Text(name.to_str().unwrap())).unwrap();
    flush.stop().unwrap();
    let written = std::fs::read_to_string(directory.path().join("phase_1.1.prof")).unwrap();
    assert!(written.starts_with("# POINT TO POINT\nE\t1\t0\t8 bytes\t1 msgs sent\t0,"), "{written}");
    assert!(written.contains("\nE\t1\t2\t9 bytes\t1 msgs sent\t"), "{written}");
    // Without a name nothing is written.
    flush.start().unwrap();
    flush.write(Contents::Text("")).unwrap();
    flush.stop().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    // And a place that cannot be written to is an error.
    flush.start().unwrap();
    flush.write(Contents::Text(directory.path().join("none/phase").to_str().unwrap())).unwrap();
    assert_eq!(flush.stop(), Err(Error::Failed));
}
