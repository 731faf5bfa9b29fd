//! From the system calls of the MPI library to the event.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::sync::{Arc, OnceLock};

use mpi_abi::{Abi, pmpi, questions};
use mpi_intercept::io::ucx::{self, Handed};
use mpi_intercept::io::verbs::{self as interposed, Leads, Posted, Verb, Ways};
use mpi_intercept::io::{self, Function, Moved};
use mpit_events::{
    Clock, Core, Error, EventIndex, Object, Ordering, Producer, Safety, Source, SourceIndex, Ticks,
};

use super::card::{Card, bytes};
use super::connections::{Connections, Observer};
use super::events::{self, NetOp, Operation, UNKNOWN};
use super::messages::{self, Messages, Told};
use super::own;
use super::peers::Peers;
use super::ports::{self, Port};
use super::verbs::Verbs;

/// How many threads have sources of their own; those after them share one.
const MAX_THREADS: usize = 64;

/// The source of [`NAME`](events::NAME). Lives as long as the process; one listens to the system calls.
#[derive(Clone, Copy)]
pub struct NetOps(&'static State);

struct State {
    abi: &'static Abi,
    core: &'static Core,
    event: EventIndex,
    object: Arc<Object>,
    peers: OnceLock<Peers>,
    /// Between start and end.
    runs: AtomicBool,
    connections: Connections,
    verbs: Verbs,
    messages: Messages,
    /// What the interfaces had counted at the begin, where that is this process's matter.
    ports: OnceLock<Vec<Port>>,
    threads: AtomicUsize,
    /// The sources of the threads that have none of their own.
    shared: OnceLock<[SourceIndex; 2]>,
    shared_further: [OnceLock<SourceIndex>; 2],
}

/// A transport; its number is its place among the sources of a thread.
#[derive(Clone, Copy)]
enum Transport {
    Cma,
    Tcp,
}

/// What a thread has a source for only where it is used; its number is its place.
#[derive(Clone, Copy)]
enum Further {
    Verbs,
    Ucx,
}

static STATE: OnceLock<State> = OnceLock::new();

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread.
    static SOURCES: Cell<Option<[SourceIndex; 2]>> = const { Cell::new(None) };
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    // Made where they are used.
    static FURTHER: [Cell<Option<SourceIndex>>; 2] = const { [const { Cell::new(None) }; 2] };
}

impl NetOps {
    /// The source, which raises its event in `core`; the same one if it was made before. Nothing is observed before
    /// [`start`](NetOps::start).
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core has no room for the event type.
    pub fn new(abi: &'static Abi, core: &'static Core) -> Result<Self, Error> {
        let event = events::register(core)?;
        let mut is_new = false;
        let state = STATE.get_or_init(|| {
            is_new = true;
            State {
                abi,
                core,
                event,
                object: core.no_object(),
                peers: OnceLock::new(),
                runs: AtomicBool::new(false),
                connections: Connections::new(),
                verbs: Verbs::new(),
                messages: Messages::new(),
                ports: OnceLock::new(),
                threads: AtomicUsize::new(0),
                shared: OnceLock::new(),
                shared_further: [const { OnceLock::new() }; 2],
            }
        });
        if is_new {
            core.add_producer(state)?;
        }
        Ok(NetOps(state))
    }

    /// Network cards that the MPI library opens from now on are watched, so that what it posts to them can be seen. To be called
    /// before `MPI_Init*` goes on to the library, where something will want the event.
    pub fn watch_devices(self) {
        interposed::watch(&WAYS);
    }

    /// Lets somebody hear, from [`begin`](NetOps::begin) to [`finish`](NetOps::finish), of each message that the MPI library hands over to UCX:
    /// the first who asks, before `MPI_Init*` goes on to the library, and in all processes. Where somebody listens to the event it is
    /// raised for these, too.
    pub fn observe_messages(self, observer: &'static dyn messages::Observer) {
        self.0.messages.observe(observer);
        ucx::watch(&HEARS);
    }

    /// Of which messages that somebody hears: [`Told::Nothing`] unless the MPI library hands any over to UCX.
    pub fn tells_messages(self) -> Told {
        self.0.messages.told()
    }

    /// Begins, at the end of `MPI_Init*`, all processes together: where one of them wants it, all do, because processes say to
    /// each other where they listen. What is moved is observed from [`begin`](NetOps::begin) on.
    ///
    /// # Errors
    /// Those of MPI; nothing is observed then.
    pub fn start(self, wanted: bool) -> mpi_abi::Result<()> {
        let constants = &self.0.abi.constants;
        let world = self.0.abi.world();
        let mut any = [0];
        let wanted = (wanted || self.0.messages.are_observed()) && io::AVAILABLE;
        pmpi::allreduce(&[i32::from(wanted)], &mut any, constants.max, world)?;
        if any == [0] {
            return Ok(());
        }
        let (rank, size) = (questions::comm_rank(world)?, questions::comm_size(world)?);
        let mut cards = vec![Card::default(); usize::try_from(size).unwrap_or(0)];
        let card = own::card().with_workers(self.0.messages.workers().into_iter());
        pmpi::allgather(bytemuck::bytes_of(&card), bytemuck::cast_slice_mut(&mut cards), world)?;
        let _ = self.0.peers.set(Peers::new(&cards, usize::try_from(rank).unwrap_or(usize::MAX)));
        if let Some(peers) = self.0.peers.get() {
            self.0.messages.begin(peers, cards.len());
            self.0.messages.probe(self.0.abi, &cards, usize::try_from(rank).unwrap_or(usize::MAX))?;
        }
        // The first thread has its sources before its first event.
        self.0.sources();
        Ok(())
    }

    /// From here on the system calls are observed while somebody listens to the event, where this was started. To be called
    /// when what is done at the start has communicated all that it has to.
    pub fn begin(self) {
        if let Some(peers) = self.0.peers.get() {
            io::refresh();
            let pid = std::process::id() as i32;
            if self.0.connections.are_observed() && peers.of_process(pid) == peers.first_of_node() {
                let _ = self.0.ports.set(ports::all());
            }
            self.0.connections.begin(peers, next_reading(Clock::best().now().0));
            self.0.verbs.begin(peers);
            self.0.runs.store(true, Memory::Release);
            self.0.listeners_changed();
        }
    }

    /// Ends, before MPI is finalised.
    pub fn finish(self) {
        self.0.connections.finish();
        self.0.verbs.finish();
        self.0.runs.store(false, Memory::Release);
        io::ignore();
        ucx::ignore();
    }

    /// Lets somebody hear from [`begin`](NetOps::begin) to [`finish`](NetOps::finish) what the connections of this process have carried,
    /// while somebody listens to the event: the first who asks.
    pub fn observe_connections(self, observer: &'static dyn Observer) {
        self.0.connections.observe(observer);
        self.0.verbs.observe(observer);
    }

    /// The observer hears now what the connections have carried until now. Otherwise it does so at the end, when the library closes a
    /// connection, and each second in which something is moved.
    pub fn read_connections(self) {
        if self.0.runs.load(Memory::Acquire) {
            self.0.connections.read();
            self.0.verbs.read();
        }
    }

    /// What the interfaces of this host have counted themselves since [`begin`](NetOps::begin): in the process of the first rank of each
    /// node, where connections are observed; otherwise nothing. Allocates, and reads files of the system.
    pub fn ports(self) -> Vec<Port> {
        self.0.ports.get().map_or_else(Vec::new, |before| ports::between(before, &ports::all()))
    }

    /// The event type.
    pub fn event(self) -> EventIndex {
        self.0.event
    }
}

impl Producer for State {
    fn listeners_changed(&self) {
        if self.runs.load(Memory::Acquire) && self.core.is_active(self.event) {
            io::listen(raise, closing);
        } else {
            io::ignore();
        }
    }
}

/// A system call has moved data.
fn raise(moved: &Moved) {
    let Some(state) = STATE.get() else { return };
    let Some(peers) = state.peers.get().filter(|_| state.runs.load(Memory::Relaxed)) else { return };
    let (transport, operation) = match moved.function {
        Function::ProcessVmReadv => (Transport::Cma, Operation::CmaRead),
        Function::ProcessVmWritev => (Transport::Cma, Operation::CmaWrite),
        Function::Writev | Function::Sendmsg | Function::Send => (Transport::Tcp, Operation::Send),
        Function::Readv | Function::Recvmsg | Function::Recv => (Transport::Tcp, Operation::Receive),
    };
    let target = match transport {
        Transport::Cma => Some(peers.of_process(moved.whose)),
        Transport::Tcp => other_end(moved.whose, peers),
    };
    // Not a connection over a network.
    let Some(target) = target else { return };
    let now = Clock::best().now();
    if matches!(transport, Transport::Tcp) {
        state.connections.note(moved.whose, peers);
        state.read_if_due(now.0);
    }
    let payload = NetOp {
        operation: operation as i32,
        target,
        size: moved.bytes,
        local: moved.local as u64,
        remote: moved.remote as u64,
    };
    state.raise(state.sources()[transport as usize], now, &payload);
}

/// What is heard of queue pairs and address handles.
static WAYS: Ways = Ways { leads, ends, posted };

/// A queue pair or an address handle leads somewhere.
fn leads(leads: &Leads) {
    if let Some(state) = STATE.get() {
        state.verbs.leads(leads, state.peers.get());
    }
}

fn ends(way: usize) {
    if let Some(state) = STATE.get() {
        state.verbs.ends(way);
    }
}

/// A request was posted to a network card.
fn posted(posted: &Posted) {
    let Some(state) = STATE.get().filter(|state| state.runs.load(Memory::Relaxed)) else { return };
    let target = state.verbs.posted(posted);
    let now = Clock::best().now();
    state.read_if_due(now.0);
    let operation = match posted.verb {
        Verb::Write => Operation::Put,
        Verb::Read => Operation::Get,
        Verb::Send => Operation::Send,
        Verb::Atomic => Operation::Atomic,
    };
    let payload = NetOp {
        operation: operation as i32,
        target,
        size: posted.bytes,
        local: posted.local,
        remote: posted.remote,
    };
    state.raise(state.source_of(Further::Verbs), now, &payload);
}

/// What is heard of UCX.
static HEARS: ucx::Listener = ucx::Listener { worker, leads: endpoint_leads, handed };

/// This process has a worker of UCX.
fn worker(worker: ucx::Worker) {
    if let Some(state) = STATE.get() {
        state.messages.worker(worker);
    }
}

/// An endpoint leads to a worker.
fn endpoint_leads(endpoint: usize, worker: ucx::Worker) {
    if let Some(state) = STATE.get() {
        state.messages.leads(endpoint, worker, state.peers.get());
    }
}

/// The library has handed something over to UCX. What MEL sends itself is not the program's.
fn handed(handed: &Handed) {
    let Some(state) = STATE.get() else { return };
    if mpi_intercept::runs_hook() {
        return state.messages.own();
    }
    if !state.runs.load(Memory::Relaxed) {
        return;
    }
    let (operation, target) = state.messages.handed(handed);
    if !state.core.is_active(state.event) {
        return;
    }
    let Handed { bytes, local, remote, .. } = *handed;
    let payload = NetOp { operation: operation as i32, target, size: bytes, local, remote };
    state.raise(state.source_of(Further::Ucx), Clock::best().now(), &payload);
}

/// The library is about to close a descriptor.
fn closing(descriptor: i32) {
    if let Some(state) = STATE.get().filter(|state| state.runs.load(Memory::Relaxed)) {
        state.connections.closing(descriptor);
    }
}

/// When connections are to be read again, in ticks: after a second.
fn next_reading(now: u64) -> u64 {
    now.saturating_add(Clock::best().ticks_per_second())
}

/// The rank at the other end of a socket, which may be unknown; `None` for files, pipes and sockets within the node.
fn other_end(descriptor: i32, peers: &Peers) -> Option<i32> {
    // SAFETY: plain data, for which zeros are valid.
    let mut address: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut size = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: valid outputs; the descriptor is the caller's, and the system checks it.
    let code = unsafe { libc::getpeername(descriptor, (&raw mut address).cast(), &raw mut size) };
    if code != 0 {
        return is_of_network(descriptor).then_some(UNKNOWN);
    }
    // SAFETY: an address of the system's, as large as its family says.
    let (address, port) = unsafe { own::address_of((&raw const address).cast()) }?;
    Some(peers.of_end(bytes(address), port))
}

/// Whether it is a socket of the network, though it has no other end: that of datagrams.
fn is_of_network(descriptor: i32) -> bool {
    let mut domain: libc::c_int = 0;
    let mut size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: valid outputs; the descriptor is the caller's, and the system checks it.
    let code = unsafe {
        libc::getsockopt(
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_DOMAIN,
            (&raw mut domain).cast(),
            &raw mut size,
        )
    };
    code == 0 && (domain == libc::AF_INET || domain == libc::AF_INET6)
}

impl State {
    /// Raises the event: inside the library, which may hold locks, on any of its threads.
    fn raise(&self, source: SourceIndex, now: Ticks, payload: &NetOp) {
        self.core.raise_section(source, Safety::ThreadSafe).event(self.event, &self.object, now, payload);
    }

    /// The number of this thread among those that have moved something.
    fn number(&self) -> usize {
        NUMBER.get().unwrap_or_else(|| {
            let number = self.threads.fetch_add(1, Memory::Relaxed);
            NUMBER.set(Some(number));
            number
        })
    }

    /// The sources of this thread, made at its first event.
    fn sources(&self) -> [SourceIndex; 2] {
        if let Some(known) = SOURCES.get() {
            return known;
        }
        let number = self.number();
        let made = if number < MAX_THREADS {
            self.add_sources(&format!("thread {number}"), false)
        } else {
            *self.shared.get_or_init(|| self.add_sources("further threads", true))
        };
        SOURCES.set(Some(made));
        made
    }

    /// Connections and queue pairs are read each second.
    fn read_if_due(&self, now: u64) {
        if self.connections.is_due(now, next_reading(now)) {
            self.connections.read();
            self.verbs.read();
        }
    }

    /// A further source of this thread, made at its first event.
    fn source_of(&self, further: Further) -> SourceIndex {
        let place = further as usize;
        let known = FURTHER.with(|all| all[place].get());
        if let Some(known) = known {
            return known;
        }
        let number = self.number();
        let made = if number < MAX_THREADS {
            self.add_further(further, &format!("thread {number}"), false)
        } else {
            *self.shared_further[place].get_or_init(|| self.add_further(further, "further threads", true))
        };
        FURTHER.with(|all| all[place].set(Some(made)));
        made
    }

    fn add_further(&self, further: Further, threads: &str, shared: bool) -> SourceIndex {
        let (name, what) = match further {
            Further::Verbs => ("verbs", "requests to network cards (verbs), as"),
            Further::Ucx => ("UCX", "messages and the like that go to UCX, as"),
        };
        let description = format!("{what} {threads} of the MPI library posts them");
        let source = Source::new(format!("{name} {threads}"), description, Ordering::Ordered, Clock::best());
        self.core.add_source(if shared { source.shared() } else { source })
    }

    fn add_sources(&self, threads: &str, shared: bool) -> [SourceIndex; 2] {
        let transports =
            [("CMA", "memory of other processes of the node"), ("TCP", "connections over a network")];
        transports.map(|(name, what)| {
            let description = format!("{what}, as {threads} of the MPI library's calls moves data");
            let source =
                Source::new(format!("{name} {threads}"), description, Ordering::Ordered, Clock::best());
            self.core.add_source(if shared { source.shared() } else { source })
        })
    }
}
