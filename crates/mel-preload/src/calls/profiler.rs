//! The hook: all that runs per call.

use std::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

use mel_log::Definition;
use mel_log::table::{ContextKey, IntervalKind, ProfileTable, TableRows};
use mpi_abi::questions::TypeSizes;
use mpi_abi::{Abi, Handle, StatusPtr, questions};
use mpi_functions::Direction;
use mpi_intercept::{Call, FunctionId, Hook, InThread, Numbered, PerThread, ThreadSlot, Wants};
use mpit_events::Clock;
use mpit_sources::calls::{Communicator, Ob1Model, Observer, PostedLate, Received, Waited};
use mpit_sources::transfers::Transfer;

use super::bytes;
use super::communicators::{Communicators, First, Known};
use super::contexts::{Cache, Contexts, Place};
use super::functions::{Kind, kinds, returns_at_once};
use super::waits::Waits;
use crate::described;

/// Above this size, in bytes, a standard send may wait for its receiver; below it, it waits for space at most.
const LONG: u64 = 4096;

/// The communicator that a call is on, or the window: handles of both are never the same.
#[inline(always)]
fn handle(call: &Call<'_>) -> Option<usize> {
    call.comm().map(Handle::word).or_else(|| call.win().map(Handle::word))
}

/// The root of a collective operation as the table has it: plus one, 0 where there is none.
fn root(transfer: &Transfer) -> u16 {
    let (Direction::FromRoot | Direction::ToRoot) = transfer.operation.direction() else { return 0 };
    transfer
        .root
        .checked_add(1)
        .and_then(|root| u16::try_from(root).ok())
        .filter(|root| *root != 0)
        .unwrap_or(0xffff)
}

/// Counts calls by context. Lives as long as the process.
pub struct CallProfiler {
    abi: &'static Abi,
    clock: Clock,
    /// A microsecond in ticks.
    microsecond: u64,
    kinds: [Kind; FunctionId::COUNT],
    contexts: OnceLock<Contexts>,
    communicators: Communicators,
    waits: Waits,
    model: Ob1Model,
    threads: PerThread<Thread>,
    /// Whether calls are counted; otherwise only communicators and windows are followed, for others to count on them.
    counts: bool,
    /// Where several threads may be in collective operations at the same time: for one at a time.
    several: OnceLock<Mutex<()>>,
}

impl std::fmt::Debug for CallProfiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallProfiler").finish_non_exhaustive()
    }
}

/// A call that has returned.
#[derive(Clone, Copy)]
struct Made {
    context: u32,
    entered: u64,
    left: u64,
}

/// What a thread keeps.
#[derive(Debug, Default)]
struct Thread {
    /// Whether the table has been notified of the thread.
    is_added: bool,
    epoch: u32,
    epoch_of_datatypes: u32,
    cache: Cache,
    sizes: TypeSizes,
    /// The communicator that was asked for last.
    recent: Option<(usize, Option<Known>)>,
}

impl Thread {
    /// Handles may mean something else than before. What the cache has of other epochs is not found any more.
    #[cold]
    #[inline(never)]
    fn forget(&mut self, epoch: u32, epoch_of_datatypes: u32) {
        (self.epoch, self.recent) = (epoch, None);
        if std::mem::replace(&mut self.epoch_of_datatypes, epoch_of_datatypes) != epoch_of_datatypes {
            self.sizes = TypeSizes::default();
        }
    }
}

impl CallProfiler {
    /// Counts nothing until [`begin`](CallProfiler::begin); then calls, if `counts`. Otherwise it knows and defines communicators
    /// and windows only.
    pub fn new(abi: &'static Abi, model: Ob1Model, counts: bool) -> &'static CallProfiler {
        let clock = Clock::best();
        Box::leak(Box::new(CallProfiler {
            abi,
            clock,
            microsecond: (clock.ticks_per_second() / 1_000_000).max(1),
            kinds: kinds(),
            contexts: OnceLock::new(),
            communicators: Communicators::default(),
            waits: Waits::default(),
            model,
            threads: PerThread::default(),
            counts,
            several: OnceLock::new(),
        }))
    }

    /// Counts into this table from now on; before communicators are followed.
    pub fn begin(&'static self, table: ProfileTable) {
        let _ = self.contexts.set(Contexts::new(table));
        if self.counts {
            mpi_intercept::set_clock(self.clock.reader());
            mpi_intercept::set_contexts(self);
        }
    }

    /// Several threads may call MPI at the same time.
    pub fn set_threads(&self) {
        let _ = self.several.set(Mutex::default());
    }

    /// From now on waits are counted without a lock.
    ///
    /// # Safety
    /// The program's threads do not call MPI at the same time.
    pub unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it.
        unsafe { self.waits.leave_to_one_thread() };
    }

    /// The table, once there is one.
    pub fn table(&self) -> Option<&ProfileTable> {
        self.contexts.get().map(|contexts| &contexts.table)
    }

    /// The process is in another [phase](crate::phases::current): calls that begin from now on count in that.
    pub fn phase_changed(&self) {
        if let Some(contexts) = self.contexts.get() {
            contexts.forget_handles();
        }
    }

    /// Defines something in the table.
    pub fn define(&self, definition: &Definition) {
        if let Some(contexts) = self.contexts.get() {
            contexts.define(definition);
        }
    }

    /// So many variables are attributed from now on; whether there is space for that.
    pub fn begin_attribution(&self, variables: usize) -> bool {
        self.contexts.get().is_some_and(|contexts| contexts.begin_attribution(variables))
    }

    /// The context of what a thread does outside of MPI, in a phase and a region: that of a function which is none.
    pub fn context_outside(&self, function: u16, thread: u16, phase: u16, region: u16) -> u32 {
        let key = ContextKey { function, thread, phase, region, ..ContextKey::default() };
        self.contexts.get().map_or(0, |contexts| contexts.find(key))
    }

    /// The number of the calling thread in contexts, once it has made a call.
    pub fn thread_number(&self, here: InThread<'_>) -> Option<u16> {
        let thread = here.slot_of_contexts().get().cast::<Numbered<Thread>>();
        // SAFETY: null, or this thread's state; only its number is read, which never changes.
        (!thread.is_null()).then(|| unsafe { (*thread).number })
    }

    /// Whether calls of this function are counted.
    pub fn counts_calls_of(&self, function: FunctionId) -> bool {
        self.counts && self.kinds[function.index()] != Kind::NotCounted
    }

    /// Forgets what was counted until `now`, in ticks.
    pub fn clear(&self, now: u64) {
        if let Some(contexts) = self.contexts.get() {
            let _no_collectives =
                self.several.get().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.waits.while_none_is_counted(|| contexts.clear(now));
        }
    }

    /// What was counted so far.
    pub fn rows(&self) -> Option<TableRows> {
        self.table().map(ProfileTable::rows)
    }

    /// The number of a communicator or a window in the table, by the value of its handle; 0 where it has none.
    pub fn number_of(&self, handle: usize) -> u32 {
        self.known(handle).map_or(0, |known| known.number)
    }

    /// The number of the communicator at this place of the model; 0 where it has none.
    pub fn number_at(&self, place: u32) -> u32 {
        match self.communicators.number(place) {
            Some(number) => number,
            None => self.used(self.communicators.arrive_at(place)).map_or(0, |known| known.number),
        }
    }

    /// What is known of the communicator or window with this handle, on which the program makes a call.
    fn known(&self, handle: usize) -> Option<Known> {
        self.communicators.get(handle).or_else(|| self.used(self.communicators.call_on(handle)))
    }

    /// Something counts on a communicator for the first time: the table has its definition from now on.
    #[cold]
    #[inline(never)]
    fn used(&self, first: Option<First>) -> Option<Known> {
        let First { known, definition, is_lost } = first?;
        let contexts = self.contexts.get()?;
        if is_lost {
            contexts.lose_communicator();
        }
        definition.iter().for_each(|definition| contexts.define(definition));
        Some(known)
    }

    /// The table has the name of this function.
    pub fn define_function(&self, function: FunctionId) {
        if let Some(contexts) = self.contexts.get() {
            contexts.define_function(function as u16);
        }
    }

    /// The context of a call that is not at hand.
    #[cold]
    #[inline(never)]
    fn find(&self, contexts: &Contexts, place: Place, thread: u16) -> u32 {
        let communicator = self.known(place.comm).map_or(0, |known| known.number);
        let phase = crate::phases::current();
        contexts.find(ContextKey {
            site: place.site as u64,
            communicator,
            function: place.function,
            thread,
            phase,
            region: place.region,
        })
    }

    /// What is known of a communicator.
    #[inline(always)]
    fn communicator(&self, thread: &mut Thread, handle: usize) -> Option<Known> {
        match thread.recent {
            Some((recent, known)) if recent == handle => known,
            _ => {
                let known = self.known(handle);
                thread.recent = Some((handle, known));
                known
            }
        }
    }

    /// A collective operation has returned.
    #[inline(never)]
    fn operated(
        &self,
        contexts: &Contexts,
        thread: &mut Thread,
        (function, call): (FunctionId, &Call<'_>),
        made: Made,
        success: bool,
    ) {
        let known = handle(call).and_then(|handle| self.communicator(thread, handle));
        // Objects are made without data of the program.
        let transfer = Transfer::of(self.abi, function, call);
        if success && let Some(transfer) = &transfer {
            let (sent, received) = bytes::of_collective(self.abi, &mut thread.sizes, known, transfer);
            let row = contexts.table.context(made.context);
            row.sent.add(sent);
            row.received.add(received);
        }
        if let Some(known) = known {
            let _one_at_a_time =
                self.several.get().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
            let number = self.communicators.operate(known.number);
            let root = transfer.as_ref().map_or(0, root);
            contexts.table.add_collective(made.context, number, root, (made.entered, made.left));
        }
    }

    /// A blocking send took longer than its data needs.
    #[cold]
    #[inline(never)]
    fn blocked(&self, contexts: &Contexts, call: &Call<'_>, made: Made, bytes: u64) {
        let peer = match call {
            Call::Send(a) => a.dest,
            Call::Ssend(a) => a.dest,
            Call::Rsend(a) => a.dest,
            _ => return,
        };
        if peer >= 0 {
            let what = (made.context, peer, IntervalKind::LateReceiver);
            self.waits.blocked(contexts, what, (made.entered, made.left), bytes);
        }
    }

    /// A probe has found a message, which it may have waited for.
    #[cold]
    #[inline(never)]
    fn probed(&self, contexts: &Contexts, call: &Call<'_>, made: Made) {
        let (asked, status) = match call {
            Call::Probe(a) => (a.source, a.status),
            Call::Mprobe(a) => (a.source, a.status),
            _ => return,
        };
        let of_status = |status: StatusPtr| {
            // SAFETY: the call has succeeded and has filled its status, the program's or one of ours.
            (!status.is_ignore(self.abi)).then(|| unsafe { status.source(self.abi) })
        };
        let source = if asked >= 0 { asked } else { of_status(status).unwrap_or(-1) };
        if source >= 0 {
            let what = (made.context, source, IntervalKind::LateSender);
            self.waits.blocked(contexts, what, (made.entered, made.left), 0);
        }
    }

    /// A window was made: from now on calls on it have a communicator of their own.
    #[cold]
    fn made_window(&self, contexts: &Contexts, call: &Call<'_>) {
        let (comm, window) = match call {
            Call::Win_create(a) => (a.comm, a.win),
            Call::Win_allocate(a) => (a.comm, a.win),
            Call::Win_allocate_shared(a) => (a.comm, a.win),
            Call::Win_create_dynamic(a) => (a.comm, a.win),
            _ => return,
        };
        // SAFETY: MPI has filled the window, because the call succeeded.
        let window = unsafe { window.read() }.word();
        self.known(comm.word());
        let Some(first) = self.communicators.add_window(window, comm.word()) else { return };
        contexts.forget_handles();
        self.used(Some(first));
    }
}

impl mpi_intercept::Contexts for CallProfiler {
    #[inline]
    fn find(&self, slot: &ThreadSlot, site: usize, function: FunctionId, call: &Call<'_>) -> u32 {
        let Some(contexts) = self.contexts.get() else { return 0 };
        // SAFETY: a profiler is made by `new` only, which leaks it.
        let this: &'static CallProfiler = unsafe { &*std::ptr::from_ref(self) };
        // SAFETY: the state is this thread's own, lives as long as the thread, and is used by one function of ours at a time: the
        // interception never runs hooks inside hooks, and `leave_in_thread` holds no reference when it asks for the context.
        let lent = unsafe { &mut *this.threads.get(slot) };
        let (number, thread) = (lent.number, &mut lent.state);
        if !thread.is_added {
            thread.is_added = true;
            contexts.table.add_thread(number);
        }
        let epoch = contexts.epoch();
        if thread.epoch != epoch {
            thread.forget(epoch, contexts.epoch_of_datatypes());
        }
        let region = crate::attribution::current_region();
        let place = Place { site, comm: handle(call).unwrap_or(0), function: function as u16, region, epoch };
        thread.cache.get(place, || this.find(contexts, place, number))
    }
}

impl Hook for CallProfiler {
    fn wants(&self, function: FunctionId) -> Wants {
        match self.kinds[function.index()] {
            Kind::NotCounted => Wants::Nothing,
            Kind::Names | Kind::MakesWindow if !self.counts => Wants::Leave,
            _ if !self.counts => Wants::Nothing,
            // It may be the last call of a process that is killed, or the handle that the context has is gone at the exit.
            _ if !returns_at_once(function) => Wants::Both,
            _ => Wants::Leave,
        }
    }

    fn wants_time(&self, function: FunctionId) -> bool {
        self.counts && self.kinds[function.index()] != Kind::NotCounted
    }

    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        let Some(contexts) = self.contexts.get() else { return };
        let context = here.context(function, call);
        let thread = here.slot_of_contexts().get().cast::<Numbered<Thread>>();
        if !thread.is_null() {
            // SAFETY: the slot leads to this thread's state; see `find`.
            let number = unsafe { (*thread).number };
            contexts.table.thread(number).enter(context, self.clock.now().0);
        }
    }

    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let Some(contexts) = self.contexts.get() else { return };
        let success = code == self.abi.constants.success;
        if !self.counts {
            return self.only_objects(contexts, function, call, success);
        }
        let left = here.left(|| self.clock.now().0);
        let made = Made { context: here.context(function, call), entered: here.entered(), left };
        let thread = here.slot_of_contexts().get().cast::<Numbered<Thread>>();
        // The measurement began in this call.
        if thread.is_null() || made.entered == 0 {
            return;
        }
        // SAFETY: the context was found in this thread, and so the slot leads to this thread's state; see `find`.
        let lent = unsafe { &mut *thread };
        let (number, thread) = (lent.number, &mut lent.state);
        let took = left.saturating_sub(made.entered);
        let last = contexts.table.thread(number);
        last.enter(made.context, made.entered);
        last.leave(left);
        let row = contexts.table.context(made.context);
        row.count(took);
        match self.kinds[function.index()] {
            Kind::Collective => self.operated(contexts, thread, (function, call), made, success),
            Kind::MakesWindow => {
                self.operated(contexts, thread, (function, call), made, success);
                if success {
                    self.made_window(contexts, call);
                }
            }
            Kind::Probe if took > self.microsecond && success => self.probed(contexts, call, made),
            Kind::Frees => contexts.forget_datatypes(),
            Kind::Names => self.named(call),
            // It has moved nothing, and its arguments may be anything.
            _ if !success => {}
            kind => {
                let (sent, received) = bytes::of_messages(&mut thread.sizes, call);
                if sent != 0 {
                    row.sent.add(sent);
                    // What the data needs at a gigabyte per second: one byte takes a nanosecond.
                    let needed = self.microsecond + sent * self.microsecond / 1000;
                    let may_wait = sent > LONG || matches!(call, Call::Ssend(_));
                    if kind == Kind::BlockingSend && may_wait && took > needed {
                        self.blocked(contexts, call, made, sent);
                    }
                }
                if received != 0 {
                    row.received.add(received);
                }
            }
        }
    }
}

impl CallProfiler {
    /// A call that makes or names an object has returned, and calls are not counted.
    #[cold]
    #[inline(never)]
    fn only_objects(&self, contexts: &Contexts, function: FunctionId, call: &Call<'_>, success: bool) {
        match self.kinds[function.index()] {
            Kind::Names => self.named(call),
            Kind::MakesWindow if success => self.made_window(contexts, call),
            _ => {}
        }
    }

    #[cold]
    fn named(&self, call: &Call<'_>) {
        // One that is not known may be none at all.
        if let Call::Comm_set_name(a) = call
            && let Some(contexts) = self.contexts.get()
            && self.known(a.comm.word()).is_some()
        {
            let name = questions::comm_get_name(a.comm).unwrap_or_default();
            if let Some(number) =
                self.communicators.rename(a.comm.word(), &name).filter(|number| *number != 0)
            {
                contexts.define(&Definition::CommunicatorName { index: number as u16, name });
            }
        }
    }
}

impl Observer for CallProfiler {
    fn communicator_created(&self, communicator: &Communicator) {
        self.communicators.add(communicator, described::groups(self.model, communicator));
        if let Some(contexts) = self.contexts.get() {
            contexts.forget_handles();
        }
    }

    fn communicator_freed(&self, communicator: &Communicator) {
        self.communicators.remove(communicator);
        if let Some(contexts) = self.contexts.get() {
            contexts.forget_handles();
        }
    }

    fn wants_waits(&self) -> bool {
        self.counts
    }

    fn waited(&self, waited: &Waited) {
        if let Some(contexts) = self.contexts.get() {
            self.waits.waited(contexts, waited, self.number_at(waited.comm));
        }
    }

    fn received_bytes(&self, received: &Received) {
        if let Some(contexts) = self.contexts.get() {
            Waits::received(contexts, received);
        }
    }

    fn posted_late(&self, late: &PostedLate) {
        if let Some(contexts) = self.contexts.get() {
            self.waits.posted_late(contexts, late);
        }
    }

    fn found_unexpected(&self, context: u16, bytes: u64) {
        if let Some(contexts) = self.contexts.get() {
            Waits::found_unexpected(contexts, context, bytes);
        }
    }

    fn searched(&self, context: u16, ticks: u64, wildcard: bool) {
        if let Some(contexts) = self.contexts.get() {
            Waits::searched(contexts, context, ticks, wildcard);
        }
    }
}
