//! The fifteen performance variables of Open MPI's monitoring component, by its names, on any MPI.
//!
//! Names, classes, types and bindings are Open MPI's. Three things differ. Each handle counts for itself, from its start
//! to its stop, where Open MPI has one state for all. A handle may be bound to any communicator: of `MPI_COMM_WORLD` it
//! gives what goes to each process on whatever communicator, as Open MPI does, and of any other what goes over that one;
//! what goes through windows is given by process either way. And the counts may be reset, and written.

use std::fs;
use std::sync::Arc;

use crate::prof::Prof;
use crate::store::{Amount, Everything, Kind, Shape, Store};
use crate::{
    Bind, Class, Contents, Counted, Description, Element, Error, Tally, Value, Variable, Variables, Verbosity,
};

/// What of an amount a variable gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Count,
    Size,
}

impl Part {
    fn of(self, amount: Amount) -> u64 {
        match self {
            Part::Count => amount.messages,
            Part::Size => amount.bytes,
        }
    }
}

/// What a variable counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    ByPeer(Kind),
    Operations(Shape),
}

const COUNTED: [(&str, What, Part, &str); 14] = {
    use Kind::{Collective, Get, Message, Put};
    use Part::{Count, Size};
    use Shape::{AllToAll, AllToOne, OneToAll};
    use What::{ByPeer, Operations};
    [
        (
            "pml_monitoring_messages_count",
            ByPeer(Message),
            Count,
            "Number of messages that the program has sent to each process of the communicator.",
        ),
        (
            "pml_monitoring_messages_size",
            ByPeer(Message),
            Size,
            "Bytes of the messages that the program has sent to each process of the communicator.",
        ),
        (
            "osc_monitoring_messages_sent_count",
            ByPeer(Put),
            Count,
            "Number of one-sided operations that bring data to each process of the communicator.",
        ),
        (
            "osc_monitoring_messages_sent_size",
            ByPeer(Put),
            Size,
            "Bytes that one-sided operations bring to each process of the communicator.",
        ),
        (
            "osc_monitoring_messages_recv_count",
            ByPeer(Get),
            Count,
            "Number of one-sided operations that get data from each process of the communicator.",
        ),
        (
            "osc_monitoring_messages_recv_size",
            ByPeer(Get),
            Size,
            "Bytes that one-sided operations get from each process of the communicator.",
        ),
        (
            "coll_monitoring_messages_count",
            ByPeer(Collective),
            Count,
            "Number of times that collective operations bring data to each process of the communicator, by their meaning and \
             not by an algorithm.",
        ),
        (
            "coll_monitoring_messages_size",
            ByPeer(Collective),
            Size,
            "Bytes that collective operations bring to each process of the communicator, by their meaning and not by an \
             algorithm.",
        ),
        (
            "coll_monitoring_o2a_count",
            Operations(OneToAll),
            Count,
            "Number of one-to-all collective operations on the communicator with this process as root.",
        ),
        (
            "coll_monitoring_o2a_size",
            Operations(OneToAll),
            Size,
            "Bytes that this process has sent as the root of one-to-all collective operations on the communicator.",
        ),
        (
            "coll_monitoring_a2o_count",
            Operations(AllToOne),
            Count,
            "Number of all-to-one collective operations on the communicator with this process as root.",
        ),
        (
            "coll_monitoring_a2o_size",
            Operations(AllToOne),
            Size,
            "Bytes that this process has got as the root of all-to-one collective operations on the communicator.",
        ),
        (
            "coll_monitoring_a2a_count",
            Operations(AllToAll),
            Count,
            "Number of all-to-all collective operations on the communicator.",
        ),
        (
            "coll_monitoring_a2a_size",
            Operations(AllToAll),
            Size,
            "Bytes that this process has sent in all-to-all collective operations on the communicator.",
        ),
    ]
};

/// The names of the fifteen variables, in the order in which they are added.
pub fn names() -> impl Iterator<Item = &'static str> {
    [FLUSH].into_iter().chain(COUNTED.iter().map(|(name, ..)| *name))
}

const FLUSH: &str = "pml_monitoring_flush";

/// The variables as tools see them, in the order of their numbers.
pub fn descriptions() -> impl Iterator<Item = Description> {
    let flush = Description {
        name: FLUSH.into(),
        description:
            "Starting begins to record; writing sets the name of a file, which is completed by the rank in \
                      MPI_COMM_WORLD and \".prof\"; stopping writes what was recorded to it."
                .into(),
        verbosity: Verbosity::UserBasic,
        class: Class::Generic,
        element: Element::Char,
        bind: Bind::Nothing,
        readonly: false,
        continuous: false,
        atomic: false,
    };
    let counted = COUNTED.iter().map(|&(name, what, part, text)| Description {
        name: name.into(),
        description: text.into(),
        verbosity: Verbosity::TunerBasic,
        class: match (what, part) {
            (What::ByPeer(_), _) => Class::Size,
            (What::Operations(_), Part::Count) => Class::Counter,
            (What::Operations(_), Part::Size) => Class::Aggregate,
        },
        element: Element::UnsignedLong,
        bind: Bind::Comm,
        readonly: false,
        continuous: false,
        atomic: true,
    });
    std::iter::once(flush).chain(counted)
}

/// Adds the fifteen variables, whose counts come from this store.
///
/// # Errors
/// [`Error::InvalidName`] where they are there already.
pub fn add(variables: &Variables, store: Arc<dyn Store>) -> Result<(), Error> {
    let mut descriptions = descriptions();
    if let Some(flush) = descriptions.next() {
        variables.add(flush, Arc::new(Flush(store.clone())))?;
    }
    for (description, (_, what, part, _)) in descriptions.zip(COUNTED) {
        variables.add(description, Arc::new(Count { store: store.clone(), what, part }))?;
    }
    Ok(())
}

struct Count {
    store: Arc<dyn Store>,
    what: What,
    part: Part,
}

impl Variable for Count {
    fn bind(&self, object: Option<u64>) -> Result<Box<dyn Value>, Error> {
        let handle = object.ok_or(Error::InvalidHandle)?;
        let communicator = self.store.communicator(handle).ok_or(Error::InvalidHandle)?;
        let count = if matches!(self.what, What::ByPeer(_)) { communicator.size } else { 1 };
        let (store, what, part) = (self.store.clone(), self.what, self.part);
        Ok(Box::new(Counted::new(OnCommunicator { store, communicator: communicator.id, count, what, part })))
    }
}

struct OnCommunicator {
    store: Arc<dyn Store>,
    communicator: u64,
    count: usize,
    what: What,
    part: Part,
}

impl Tally for OnCommunicator {
    fn count(&self) -> usize {
        self.count
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.store.begin()
    }

    fn now(&mut self, into: &mut [u64]) {
        into.fill(0);
        match self.what {
            What::ByPeer(kind) => self.store.by_peer(self.communicator, kind, &mut |rank, amount| {
                if let Some(place) = into.get_mut(rank) {
                    *place = place.wrapping_add(self.part.of(amount));
                }
            }),
            What::Operations(shape) => {
                if let Some(place) = into.first_mut() {
                    *place = self.part.of(self.store.operations(self.communicator, shape));
                }
            }
        }
    }
}

struct Flush(Arc<dyn Store>);

impl Variable for Flush {
    fn bind(&self, _: Option<u64>) -> Result<Box<dyn Value>, Error> {
        let (store, before) = (self.0.clone(), Everything::default());
        Ok(Box::new(ToFile { store, name: String::new(), before }))
    }
}

/// The value of a handle of `pml_monitoring_flush`.
struct ToFile {
    store: Arc<dyn Store>,
    /// Of the file, without its end; empty for none.
    name: String,
    /// What had been counted when it was started.
    before: Everything,
}

impl Value for ToFile {
    /// There is nothing to read.
    fn count(&self) -> usize {
        0
    }

    fn start(&mut self) -> Result<(), Error> {
        self.store.begin()?;
        self.before = self.store.everything();
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        if self.name.is_empty() {
            return Ok(());
        }
        let recorded = self.store.everything().since(&self.before);
        let file = format!("{}.{}.prof", self.name, recorded.rank);
        fs::write(file, Prof(&recorded).to_string()).map_err(|_| Error::Failed)
    }

    fn read(&mut self) -> Result<Contents<'_>, Error> {
        Ok(Contents::Text(""))
    }

    fn write(&mut self, contents: Contents<'_>) -> Result<(), Error> {
        let Contents::Text(name) = contents else { return Err(Error::Failed) };
        name.clone_into(&mut self.name);
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.before = self.store.everything();
        Ok(())
    }
}
