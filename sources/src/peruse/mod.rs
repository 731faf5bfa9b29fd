//! Queue events from inside Open MPI's ob1, where it was built with PERUSE (`--enable-peruse`).
//!
//! PERUSE notifies of each step of ob1's queues as it happens, per communicator. This room registers with it for
//! the events that somebody listens to, on the communicators that they listen to, and only for as long. Its
//! notifications become the prototype's events ([`pairing`]), which are raised when the MPI call returns
//! ([`outbox`]). Messages of collectives are seen too: their events are
//! [internal](mpit_events::Record::internal) and come from a source of their own.
//!
//! With `MPI_THREAD_MULTIPLE`, PERUSE calls back under ob1's matching lock. Nothing here calls MPI there,
//! nor takes a lock that is held while MPI is called.
//!
//! What this room must not know: who listens, and what else raises the same events.

mod library;
mod outbox;
mod pairing;
mod sends;

pub use outbox::{event_buffer_size, set_event_buffer_size};

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mpi_abi::{Abi, Handle as _, StatusPtr};
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_events::{BindKind, Clock, Core, Error, Object, Producer, Safety};
use rustc_hash::FxHashMap;

pub use library::selected_pml;
use library::{Handle, Library, Spec};
use outbox::{Objects, Outbox};
use pairing::{Kind, Notification, Queues, Where, needs};
pub use sends::Sends;

use crate::Serial;
use crate::calls::{self, Communicator, Observer};
use crate::matching::{CommIndex, Event, Ob1Events};

/// PERUSE in this process. Lives as long as the process.
pub struct Peruse {
    abi: &'static Abi,
    core: &'static Core,
    events: Ob1Events,
    library: Library,
    /// PERUSE's numbers of its events, by [`Kind`], for those that it has.
    numbers: OnceLock<[Option<c_int>; Kind::COUNT]>,
    /// Several threads may call MPI at the same time.
    threads: AtomicBool,
    /// Whether it listens: from `MPI_Init*` to `MPI_Finalize`.
    listens: AtomicBool,
    /// Whether callbacks wait for the end of MPI calls.
    calls_back: AtomicBool,
    /// Whether the application has probed.
    probes: AtomicBool,
    /// Whether it raises events; it may tell of sends only.
    raises: AtomicBool,
    /// Who hears of sends.
    sends: OnceLock<&'static dyn Sends>,
    comms: Mutex<Comms>,
}

/// The communicators that are there, and the objects that their events are bound to.
#[derive(Default)]
struct Comms {
    /// By handle.
    all: FxHashMap<usize, &'static Bound>,
    /// Those that were freed while somebody had registered on them.
    freed: Vec<&'static Bound>,
    objects: Objects,
    /// Whether PERUSE has refused a registration on a communicator: warned of once.
    refused: bool,
}

/// A communicator with its registrations. PERUSE may come back to it after it was freed, so it stays.
struct Bound {
    owner: &'static Peruse,
    handle: usize,
    object: Arc<Object>,
    context: u32,
    /// Its place among the objects; none once it was freed.
    place: AtomicU32,
    queues: Serial<Queues>,
    /// Ranks in `MPI_COMM_WORLD` of those whom it sends to, where somebody hears of sends.
    ranks: Vec<i32>,
    registrations: [Registration; Kind::COUNT],
}

impl Bound {
    fn at(&self) -> Where {
        Where { comm: CommIndex(self.place.load(Ordering::Relaxed)), context: self.context }
    }
}

/// One PERUSE event on one communicator: what its callback is given.
struct Registration {
    kind: Kind,
    bound: AtomicPtr<Bound>,
    handle: OnceLock<Handle>,
    active: AtomicBool,
}

/// No place among the objects.
const NOWHERE: u32 = u32::MAX;

impl Peruse {
    /// The PERUSE of this process's MPI, which will raise its events in `core`; `None` where the MPI was
    /// built without it. The types get `prefix` before their names.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core is full of event types.
    pub fn find(
        abi: &'static Abi,
        core: &'static Core,
        prefix: &str,
    ) -> Result<Option<&'static Self>, Error> {
        Library::find().map(|library| Peruse::with(library, abi, core, prefix)).transpose()
    }

    fn with(
        library: Library,
        abi: &'static Abi,
        core: &'static Core,
        prefix: &str,
    ) -> Result<&'static Self, Error> {
        let peruse: &'static Peruse = Box::leak(Box::new(Peruse {
            abi,
            core,
            events: Ob1Events::register(core, prefix)?,
            library,
            numbers: OnceLock::new(),
            threads: AtomicBool::new(false),
            listens: AtomicBool::new(false),
            calls_back: AtomicBool::new(false),
            probes: AtomicBool::new(false),
            raises: AtomicBool::new(true),
            sends: OnceLock::new(),
            comms: Mutex::default(),
        }));
        core.add_producer(peruse)?;
        Ok(peruse)
    }

    /// Whether the MPI of this process has PERUSE.
    pub fn is_there() -> bool {
        Library::find().is_some()
    }

    /// Lets somebody hear of each send: the first who asks, before [`start`](Peruse::start).
    pub(crate) fn observe_sends(&self, sends: &'static dyn Sends) {
        let _ = self.sends.set(sends);
    }

    /// Whether somebody wants to hear of sends.
    pub(crate) fn observes_sends(&self) -> bool {
        self.sends.get().is_some()
    }

    /// Another one raises the events: here only sends are told of. To be called before [`start`](Peruse::start).
    pub(crate) fn only_sends(&self) {
        self.raises.store(false, Ordering::Relaxed);
    }

    /// Whether it listens.
    pub(crate) fn listens(&self) -> bool {
        self.listens.load(Ordering::Acquire)
    }

    /// Begins to listen, at the end of `MPI_Init*`, before observers hear of communicators. Returns a line for the
    /// user where PERUSE lacks events.
    ///
    /// # Errors
    /// A line for the user, where PERUSE does not start.
    pub fn start(&'static self, threads: bool) -> Result<Option<String>, String> {
        self.library.initialise().map_err(|code| format!("PERUSE does not start (error {code})"))?;
        self.threads.store(threads, Ordering::Relaxed);
        let numbers = self.numbers.get_or_init(|| Kind::ALL.map(|(_, name)| self.library.event(name)));
        self.listens.store(true, Ordering::Release);
        let absent: Vec<_> = Kind::ALL
            .iter()
            .zip(numbers)
            .filter(|(_, number)| number.is_none())
            .map(|((_, name), _)| name.to_string_lossy())
            .collect();
        Ok((!absent.is_empty())
            .then(|| format!("this PERUSE has no {}: events that need it are not raised", absent.join(", "))))
    }

    /// The events that it can tell of, as bits: it has each notification that they need.
    fn served(&self) -> u16 {
        let numbers = self.numbers.get().copied().unwrap_or([None; Kind::COUNT]);
        let has = (Kind::ALL.iter().zip(numbers))
            .filter(|(_, number)| number.is_some())
            .fold(0, |bits, ((kind, _), _)| bits | kind.bit());
        let served = Event::ALL.into_iter().filter(|&event| needs(event, false) & !has == 0);
        served.fold(0, |bits, event| bits | 1 << event as u8)
    }

    /// Ends listening, at the entry of `MPI_Finalize` or at the end of the process; waiting events are raised. `mpi`:
    /// MPI may still be called.
    pub fn finish(&self, mpi: bool) {
        if !self.listens.swap(false, Ordering::AcqRel) {
            return;
        }
        if mpi {
            self.comms().all.values().for_each(|bound| self.activate(bound, 0));
        }
        let objects = self.comms().objects.clone();
        for outbox in outbox::all() {
            self.raise(outbox, &objects);
        }
    }

    /// Raises what the calling thread has left for later, between MPI calls.
    pub(crate) fn catch_up(&self) {
        if let Some(outbox) = outbox::current().filter(|_| self.listens.load(Ordering::Acquire)) {
            let objects = self.comms().objects.clone();
            self.raise(outbox, &objects);
        }
    }

    fn comms(&self) -> std::sync::MutexGuard<'_, Comms> {
        self.comms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn level(&self) -> Safety {
        if self.threads.load(Ordering::Relaxed) { Safety::ThreadSafe } else { Safety::MpiRestricted }
    }

    /// The notifications that are needed of a communicator, as bits of [`Kind`].
    fn wanted(&self, object: &Object) -> u16 {
        let listens = |event: Event| {
            let index = self.events.index(event);
            self.core.is_in_bulk(index) || object.is_active(index)
        };
        let probes = self.probes.load(Ordering::Relaxed);
        let of_sends = if self.observes_sends() { Kind::Activate.bit() } else { 0 };
        if !self.raises.load(Ordering::Relaxed) {
            return of_sends;
        }
        Event::ALL
            .into_iter()
            .filter(|&event| listens(event))
            .fold(of_sends, |bits, event| bits | needs(event, probes))
    }

    /// Registers for what somebody listens to, and deactivates the rest. Where PERUSE refuses, the user is warned once.
    fn follow(&self, comms: &mut Comms) {
        comms.freed.retain(|bound| {
            let wanted = self.wanted(&bound.object);
            self.activate(bound, wanted);
            wanted != 0
        });
        let Comms { all, refused, .. } = comms;
        all.values().for_each(|bound| self.follow_one(bound, refused));
    }

    /// The same for one communicator.
    fn follow_one(&self, bound: &'static Bound, refused: &mut bool) {
        if let Err(line) = self.register(bound, self.wanted(&bound.object))
            && !std::mem::replace(refused, true)
        {
            mpi_intercept::standard_error::say(&line);
        }
    }

    fn register(&self, bound: &'static Bound, wanted: u16) -> Result<(), String> {
        let Some(numbers) = self.numbers.get() else { return Ok(()) };
        let mut outcome = Ok(());
        for registration in &bound.registrations {
            let Some(number) = numbers[registration.kind as usize] else { continue };
            if wanted & registration.kind.bit() == 0 || registration.handle.get().is_some() {
                continue;
            }
            let data = std::ptr::from_ref(registration).cast_mut().cast();
            // SAFETY: a communicator of the application that is alive, as its creation was seen and its end
            // was not; the registration lives for ever.
            match unsafe { self.library.register(number, bound.handle, on_event, data) } {
                Ok(handle) => _ = registration.handle.set(handle),
                Err(code) => {
                    outcome = Err(format!(
                        "PERUSE refuses an event on a communicator (error {code}): its queues are not seen"
                    ));
                }
            }
        }
        self.activate(bound, wanted);
        outcome
    }

    /// Switches on what is wanted and off what is not.
    fn activate(&self, bound: &Bound, wanted: u16) {
        for registration in &bound.registrations {
            let active = wanted & registration.kind.bit() != 0;
            if let Some(&handle) = registration.handle.get()
                && registration.active.swap(active, Ordering::Relaxed) != active
            {
                // SAFETY: PERUSE gave the handle, and nobody calls this after `MPI_Finalize` has begun.
                let _ = unsafe { self.library.set_active(handle, active) };
            }
        }
        if wanted == 0 {
            bound.queues.with(Queues::forget);
        }
    }

    /// Raises what waits in an outbox.
    fn raise(&self, outbox: &Serial<Outbox>, objects: &Objects) {
        let Some(Some(waiting)) = outbox.with(Outbox::take) else { return };
        waiting.raise(self.core, self.level(), objects);
        outbox.with(|outbox| outbox.reuse(waiting));
    }
}

/// Everything that runs per event, with [`Queues::notified`] and [`Outbox::flush_if_full`]. Inside ob1.
unsafe extern "C" fn on_event(_: Handle, request: isize, spec: *mut Spec, data: *mut c_void) -> c_int {
    // SAFETY: the data is what was registered with this function: a registration that lives for ever.
    let registration = unsafe { &*data.cast::<Registration>() };
    // SAFETY: set when the registration was made, to a communicator that is never dropped.
    let Some(bound) = (unsafe { registration.bound.load(Ordering::Relaxed).as_ref() }) else { return 0 };
    // SAFETY: PERUSE gives a description that is valid during the call.
    let spec = unsafe { &*spec };
    // A panic, which would be a fault of ours, must not unwind into ob1.
    let _ = catch_unwind(AssertUnwindSafe(|| bound.owner.notified(bound, registration.kind, request, spec)));
    0
}

impl Peruse {
    #[inline(always)]
    fn notified(&self, bound: &Bound, kind: Kind, request: isize, spec: &Spec) {
        if !self.listens.load(Ordering::Relaxed) {
            return;
        }
        if kind == Kind::Activate
            && let Some(sends) = self.sends.get()
        {
            sends::tell(*sends, spec, &bound.ranks);
        }
        if !self.raises.load(Ordering::Relaxed) {
            return;
        }
        let outbox = outbox::current().unwrap_or_else(|| {
            let threads = self.threads.load(Ordering::Relaxed);
            outbox::make(self.core, self.events, self.served(), threads)
        });
        let notification =
            Notification { kind, request: request as u64, peer: spec.peer, tag: spec.tag, count: spec.count };
        let at = bound.at();
        let threads = self.threads.load(Ordering::Relaxed);
        outbox.with(|outbox| {
            outbox.sink.update(self.core);
            outbox.sink.internal = notification.is_internal();
            bound
                .queues
                .with(|queues| queues.notified(notification, at, &mut outbox.searching, &mut outbox.sink));
            // Where threads race, delivering at once keeps the order between them best.
            outbox.flush_if_full(self.core, self.level(), self.calls_back.load(Ordering::Relaxed), threads);
        });
    }
}

impl Producer for Peruse {
    fn listeners_changed(&self) {
        let calls_back =
            Event::ALL.into_iter().any(|event| self.core.has_registration(self.events.index(event)));
        let called_back = self.calls_back.swap(calls_back, Ordering::Relaxed);
        if !self.listens.load(Ordering::Acquire) {
            return;
        }
        self.follow(&mut self.comms());
        if calls_back != called_back {
            mpi_intercept::ask_again();
        }
    }
}

impl Observer for &'static Peruse {
    fn communicator_created(&self, communicator: &Communicator) {
        if !self.listens.load(Ordering::Acquire) {
            return;
        }
        let object = self.core.bind(BindKind::Comm, communicator.token);
        let bound: &'static Bound = Box::leak(Box::new(Bound {
            owner: self,
            handle: communicator.token.0 as usize,
            object: object.clone(),
            context: communicator.context as u32,
            place: AtomicU32::new(communicator.index),
            ranks: if self.observes_sends() {
                calls::world_ranks(self.abi, communicator.token.0 as usize, true)
            } else {
                Vec::new()
            },
            queues: Serial::new(Queues::new((self.wanted(&object) != 0).then(|| Clock::best().now()))),
            registrations: Kind::ALL.map(|(kind, _)| Registration {
                kind,
                bound: AtomicPtr::default(),
                handle: OnceLock::new(),
                active: AtomicBool::new(false),
            }),
        }));
        if !self.threads.load(Ordering::Relaxed) {
            // SAFETY: the program's threads do not call MPI at the same time (MPI-5.0, section 11.6), and ob1 calls us in MPI calls.
            unsafe { bound.queues.leave_to_one_thread() };
        }
        for registration in &bound.registrations {
            registration.bound.store(std::ptr::from_ref(bound).cast_mut(), Ordering::Relaxed);
        }
        let mut comms = self.comms();
        let place = communicator.index as usize;
        // Copies all where somebody raises just now.
        let objects = Arc::make_mut(&mut comms.objects);
        objects.resize(objects.len().max(place + 1), self.core.no_object());
        objects[place] = object;
        comms.all.insert(bound.handle, bound);
        self.follow_one(bound, &mut comms.refused);
    }

    fn communicator_freed(&self, communicator: &Communicator) {
        // Transfers under way go on, and statistics see their ends; registrations on the communicator get nothing.
        let mut comms = self.comms();
        let Some(bound) = comms.all.remove(&(communicator.token.0 as usize)) else { return };
        bound.place.store(NOWHERE, Ordering::Relaxed);
        let registered = |event| bound.object.is_active(self.events.index(event));
        if Event::ALL.into_iter().any(registered) {
            comms.freed.push(bound);
        }
    }
}

fn is_probe(call: &Call<'_>) -> bool {
    matches!(call, Call::Probe(_) | Call::Iprobe(_) | Call::Mprobe(_) | Call::Improbe(_))
}

/// The end of MPI calls: events are raised there, where somebody wants callbacks.
impl Hook for &'static Peruse {
    fn wants(&self, function: FunctionId) -> Wants {
        use FunctionId as F;
        if !self.listens.load(Ordering::Relaxed) || !self.raises.load(Ordering::Relaxed) {
            return Wants::Nothing;
        }
        let first_probe = !self.probes.load(Ordering::Relaxed);
        match function {
            F::Mprobe | F::Improbe => Wants::Both,
            F::Probe | F::Iprobe if first_probe && self.calls_back.load(Ordering::Relaxed) => Wants::Both,
            F::Probe | F::Iprobe if first_probe => Wants::Enter,
            _ if self.calls_back.load(Ordering::Relaxed) => Wants::Leave,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        if !self.probes.load(Ordering::Relaxed) && is_probe(call) {
            self.follow_probes();
        }
        let status = match call {
            Call::Mprobe(a) => &mut a.status,
            Call::Improbe(a) => &mut a.status,
            _ => return,
        };
        let Some(outbox) = outbox::current() else { return };
        outbox.with(|outbox| {
            outbox.searching.take_probe_found();
            if status.is_ignore(self.abi) {
                *status = StatusPtr(outbox.status.as_mut_ptr().cast());
            }
        });
    }

    #[inline]
    fn leave(&self, _: FunctionId, call: &mut Call<'_>, code: c_int) {
        let Some(outbox) = outbox::current() else { return };
        let probed = match call {
            Call::Mprobe(a) => Some((a.comm.word(), a.status)),
            Call::Improbe(a) => Some((a.comm.word(), a.status)),
            _ => None,
        };
        if let Some((comm, status)) = probed.filter(|_| code == self.abi.constants.success) {
            self.taken(outbox, comm, status);
        }
        if outbox.with(|outbox| outbox.is_empty()) == Some(false) && self.calls_back.load(Ordering::Relaxed) {
            let objects = self.comms().objects.clone();
            self.raise(outbox, &objects);
        }
    }
}

impl Peruse {
    /// The application probes for the first time: from now on PERUSE must notify of the ends of probes.
    #[cold]
    fn follow_probes(&self) {
        self.probes.store(true, Ordering::Relaxed);
        self.follow(&mut self.comms());
        mpi_intercept::ask_again();
    }

    /// A matched probe has found a message in the unexpected queue, or it has not.
    #[cold]
    fn taken(&self, outbox: &Serial<Outbox>, comm: usize, status: StatusPtr) {
        let found = outbox.with(|outbox| outbox.searching.take_probe_found()) == Some(true);
        if !found || status.is_ignore(self.abi) {
            return;
        }
        let Some(bound) = self.comms().all.get(&comm).copied() else { return };
        // SAFETY: the call has found a message, and so filled its status, in this MPI's layout.
        let (source, tag) = unsafe { (status.source(self.abi), status.tag(self.abi)) };
        let at = bound.at();
        outbox.with(|outbox| {
            outbox.sink.update(self.core);
            outbox.sink.internal = false;
            bound.queues.with(|queues| queues.taken(source, tag, at, &mut outbox.sink));
        });
    }
}
