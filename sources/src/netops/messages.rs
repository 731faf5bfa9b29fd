//! UCX: what the MPI library hands over to it, the messages that it makes of collective operations among them, and to which rank.
//!
//! A rank is known by its worker: processes say at the start which workers they have, and UCX is told to which worker an endpoint
//! leads. An endpoint to a process of another `MPI_COMM_WORLD` (`MPI_Comm_spawn`), or to a worker that a process made after `MPI_Init*`, has
//! no rank.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use mpi_abi::pmpi;
use mpi_functions::Kind;
use mpi_intercept::io::ucx::{Act, Handed, Worker};

use super::card::Card;
use super::events::{Operation, UNKNOWN};
use super::peers::Peers;
use super::ranks::Ranks;

/// Hears of what the MPI library hands over to its transport.
pub trait Observer: Sync {
    /// So many bytes go to a rank in `MPI_COMM_WORLD`, or to one that is not known (negative), by this operation; by the library for itself,
    /// or by the program. Called inside the library, on any of its threads: it must not call MPI, wait or panic.
    fn handed(&self, operation: Operation, peer: i32, bytes: u64, is_internal: bool);
}

/// Which messages of the MPI library are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// None: the library does not use UCX, or nobody hears of messages.
    Nothing,
    /// Those to other nodes: within a node the library has ways of its own.
    BetweenNodes,
    /// All.
    All,
}

/// The workers and endpoints of this process, of which there is one set.
pub(super) struct Messages {
    observer: OnceLock<&'static dyn Observer>,
    known: Mutex<Known>,
    /// Ranks by endpoints, from the begin on.
    ranks: OnceLock<Ranks>,
    /// How much MEL has sent itself.
    own: AtomicU64,
    /// Whether messages within a node are handed over.
    within_nodes: AtomicBool,
}

#[derive(Default)]
struct Known {
    workers: Vec<Worker>,
    /// Endpoints of before the begin, and their workers.
    endpoints: Vec<(usize, Worker)>,
}

/// A number for an endpoint, whose address is even; its upper bits differ.
fn key(endpoint: usize) -> u64 {
    (endpoint as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

impl Messages {
    pub(super) const fn new() -> Messages {
        let known = Known { workers: Vec::new(), endpoints: Vec::new() };
        Messages {
            observer: OnceLock::new(),
            known: Mutex::new(known),
            ranks: OnceLock::new(),
            own: AtomicU64::new(0),
            within_nodes: AtomicBool::new(true),
        }
    }

    pub(super) fn observe(&self, observer: &'static dyn Observer) {
        let _ = self.observer.set(observer);
    }

    pub(super) fn are_observed(&self) -> bool {
        self.observer.get().is_some()
    }

    /// This process has such a worker.
    pub(super) fn worker(&self, worker: Worker) {
        let mut known = self.lock();
        if !known.workers.contains(&worker) {
            known.workers.push(worker);
        }
    }

    /// The workers of this process.
    pub(super) fn workers(&self) -> Vec<Worker> {
        self.lock().workers.clone()
    }

    /// An endpoint leads to this worker from now on. Allocates.
    pub(super) fn leads(&self, endpoint: usize, worker: Worker, peers: Option<&Peers>) {
        let mut known = self.lock();
        match (self.ranks.get(), peers) {
            (Some(ranks), Some(peers)) => ranks.put(key(endpoint), peers.of_worker(worker)),
            _ => known.endpoints.push((endpoint, worker)),
        }
    }

    /// From here on endpoints have ranks.
    pub(super) fn begin(&self, peers: &Peers, ranks: usize) {
        let mut known = self.lock();
        let table = Ranks::new(8 * ranks.max(known.endpoints.len()));
        // In the order in which they came: an address may be used again.
        known
            .endpoints
            .drain(..)
            .for_each(|(endpoint, worker)| table.put(key(endpoint), peers.of_worker(worker)));
        let _ = self.ranks.set(table);
    }

    /// UCX has taken what MEL sends itself.
    pub(super) fn own(&self) {
        self.own.fetch_add(1, Ordering::Relaxed);
    }

    /// Finds out whether messages within a node are handed over: all processes together, where all have workers. Of the processes of each
    /// node, the second, fourth and so on get an empty message from the one before them.
    ///
    /// # Errors
    /// Those of MPI.
    pub(super) fn probe(&self, abi: &mpi_abi::Abi, cards: &[Card], rank: usize) -> mpi_abi::Result<()> {
        let (constants, world) = (&abi.constants, abi.world());
        let Some(mine) = cards.get(rank).filter(|_| cards.iter().all(|card| card.workers().next().is_some()))
        else {
            return Ok(());
        };
        let on_node: Vec<usize> =
            (0..cards.len()).filter(|&other| cards[other].is_on_node_of(mine)).collect();
        let place = on_node.iter().position(|&other| other == rank).unwrap_or(0);
        let to = |place: usize| on_node.get(place).and_then(|&other| i32::try_from(other).ok());
        let mut goes_past = false;
        if place % 2 == 1 {
            let from = to(place - 1).unwrap_or(constants.proc_null);
            pmpi::recv(&mut [], from, 0, world)?;
        } else if let Some(next) = to(place + 1) {
            let before = self.own.load(Ordering::Relaxed);
            pmpi::send(&[], next, 0, world)?;
            goes_past = self.own.load(Ordering::Relaxed) == before;
        }
        let mut any = [0];
        pmpi::allreduce(&[i32::from(goes_past)], &mut any, constants.max, world)?;
        self.within_nodes.store(any == [0], Ordering::Relaxed);
        Ok(())
    }

    /// What is seen here.
    pub(super) fn told(&self) -> Told {
        match (
            self.are_observed() && !self.lock().workers.is_empty(),
            self.within_nodes.load(Ordering::Relaxed),
        ) {
            (false, _) => Told::Nothing,
            (true, false) => Told::BetweenNodes,
            (true, true) => Told::All,
        }
    }

    /// Tells the observer what UCX has taken; gives the operation and the rank.
    pub(super) fn handed(&self, handed: &Handed) -> (Operation, i32) {
        let rank = self.ranks.get().and_then(|ranks| ranks.get(key(handed.endpoint))).unwrap_or(UNKNOWN);
        let operation = match handed.act {
            Act::Message => Operation::Message,
            Act::Put => Operation::MessagePut,
            Act::Get => Operation::MessageGet,
            Act::Atomic => Operation::MessageAtomic,
        };
        if let Some(observer) = self.observer.get() {
            observer.handed(operation, rank, handed.bytes, is_internal(handed.act));
        }
        (operation, rank)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the library sends for itself, by the function that the thread is in: MPI libraries hand a message over when they are called to
/// send it, and data of one-sided operations in these or when they are synchronised. All else is their own.
fn is_internal(act: Act) -> bool {
    let function = mpi_intercept::current_function().map(mpi_intercept::FunctionId::about);
    !function.is_some_and(|function| match function.kind {
        Kind::Start | Kind::Partition | Kind::OneSided(_) => true,
        Kind::Window(_) => act != Act::Message,
        _ => function.sends(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = (Operation, i32, u64, bool);

    struct All(Mutex<Vec<Seen>>);

    impl Observer for All {
        fn handed(&self, operation: Operation, peer: i32, bytes: u64, is_internal: bool) {
            self.0.lock().unwrap().push((operation, peer, bytes, is_internal));
        }
    }

    #[test]
    fn an_endpoint_has_the_rank_whose_worker_it_leads_to() {
        let messages = Messages::new();
        let all: &'static All = Box::leak(Box::new(All(Mutex::default())));
        messages.observe(all);
        assert_eq!(messages.told(), Told::Nothing);
        messages.worker(71);
        messages.worker(71);
        assert_eq!(messages.told(), Told::All);
        assert_eq!(messages.workers(), [71]);
        // The second one takes the place of the first.
        messages.leads(0x1000, 71, None);
        messages.leads(0x1000, 72, None);
        let cards = [71, 72].map(|worker| Card::default().with_workers([worker].into_iter()));
        let peers = Peers::new(&cards, 0);
        messages.begin(&peers, 2);
        messages.leads(0x2000, 71, Some(&peers));
        messages.leads(0x3000, 73, Some(&peers));
        let hand = |act, endpoint, bytes| {
            messages.handed(&Handed { act, endpoint, bytes, local: 0, remote: 0 });
        };
        hand(Act::Message, 0x1000, 1);
        hand(Act::Put, 0x2000, 2);
        hand(Act::Get, 0x3000, 4);
        hand(Act::Atomic, 0x4000, 8);
        let expected = [
            (Operation::Message, 1, 1, true),
            (Operation::MessagePut, 0, 2, true),
            (Operation::MessageGet, UNKNOWN, 4, true),
            (Operation::MessageAtomic, UNKNOWN, 8, true),
        ];
        assert_eq!(*all.0.lock().unwrap(), expected);
    }
}
