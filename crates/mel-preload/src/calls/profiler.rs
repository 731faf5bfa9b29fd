//! The hook: all that runs per call.

use std::ffi::c_int;
use std::sync::OnceLock;

use mel_log::settings::counted;
use mel_log::table::{ContextKey, IntervalKind, ProfileTable};
use mpi_abi::questions::TypeSizes;
use mpi_abi::{Abi, Handle, StatusPtr};
use mpi_functions::{Direction, STORED};
use mpi_intercept::under_way::UnderWay;
use mpi_intercept::{Call, FunctionId, Hook, InThread, Numbered, Outer, PerThread, ThreadSlot, Wants};
use mpit_events::Clock;
use mpit_sources::calls::{Calls, During, KeptWaiting, NotFollowed, Observer, Received, TestFound, Waited};
use mpit_sources::matching::Truth;
use mpit_sources::transfers::Transfer;

use super::bytes;
use super::contexts::{Cache, Contexts, Place};
use super::functions::{Kind, kinds, returns_at_once};
use super::operations::{Operation, Operations};
use super::waits::Waits;
use crate::code;
use crate::consumer::Consumer;
use crate::polling::Polling;
use crate::registry::{Known, Registry};
use crate::truth;

/// A call that lasts longer may be why its rank is late elsewhere.
const LONG_CALL_MICROSECONDS: u64 = 100;
/// Polling that waits for less does not matter.
const SHORT_POLLING_MICROSECONDS: u64 = 10;

/// The communicator that a call is on, or the window, or the file: handles of these are never the same.
#[inline(always)]
fn handle(call: &Call<'_>) -> Option<usize> {
    let of_others = || call.win().map(Handle::word).or_else(|| file(call));
    call.comm().map(Handle::word).or_else(of_others)
}

/// The file that a call is about; of one that has closed it none.
#[inline(always)]
fn file(call: &Call<'_>) -> Option<usize> {
    match call {
        // SAFETY: the program gives MPI the address of a file.
        Call::File_close(a) => (!a.fh.is_null()).then(|| unsafe { a.fh.read() }.word()),
        call => call.file().map(Handle::word),
    }
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
    /// Single calls that last longer are kept, in ticks.
    long_call: u64,
    /// `MPI_PROC_NULL`.
    nobody: c_int,
    kinds: [Kind; FunctionId::COUNT],
    contexts: OnceLock<Contexts>,
    registry: &'static Registry,
    waits: Waits,
    threads: PerThread<Thread>,
    /// Held by the thread that counts one.
    operations: Operations,
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
    polling: Polling,
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
    /// Counts nothing until [`attach`](Consumer::attach).
    pub fn new(abi: &'static Abi, registry: &'static Registry) -> &'static CallProfiler {
        let clock = Clock::best();
        Box::leak(Box::new(CallProfiler {
            abi,
            clock,
            microsecond: clock.microsecond(),
            long_call: (clock.ticks_per_second() / 1_000_000).max(1) * LONG_CALL_MICROSECONDS,
            nobody: abi.constants.proc_null,
            kinds: kinds(),
            contexts: OnceLock::new(),
            registry,
            waits: Waits::default(),
            threads: PerThread::default(),
            operations: Operations::default(),
        }))
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

    /// The number of the thread that a call is under way in; `None` where the call has ended.
    pub fn thread_of(call: &UnderWay) -> Option<u16> {
        let thread: *const Numbered<Thread> = std::ptr::without_provenance(call.of_contexts());
        let number = thread.wrapping_byte_add(std::mem::offset_of!(Numbered<Thread>, number));
        // SAFETY: while the call is under way the slot leads to its thread's state, or is null.
        if thread.is_null() { None } else { unsafe { call.copy(number.cast()) } }
    }

    /// Whether calls of this function are counted.
    pub fn counts_calls_of(&self, function: FunctionId) -> bool {
        self.kinds[function.index()] != Kind::NotCounted
    }

    /// The context of a call that is not at hand.
    #[cold]
    #[inline(never)]
    fn find(&self, contexts: &Contexts, place: Place, thread: u16) -> u32 {
        let communicator = self.registry.number_of(place.comm);
        let phase = crate::phases::current();
        contexts.find(ContextKey {
            site: place.site as u64,
            communicator,
            function: place.function(),
            thread,
            phase,
            region: place.region(),
        })
    }

    /// What is known of a communicator.
    #[inline(always)]
    fn communicator(&self, thread: &mut Thread, handle: usize) -> Option<Known> {
        match thread.recent {
            Some((recent, known)) if recent == handle => known,
            _ => {
                let known = self.registry.known(handle);
                thread.recent = Some((handle, known));
                known
            }
        }
    }

    /// A collective operation has returned, or the call that starts it.
    #[inline(never)]
    fn operated(
        &self,
        contexts: &Contexts,
        thread: &mut Thread,
        (function, call): (FunctionId, &Call<'_>),
        made: Made,
        success: bool,
    ) {
        thread.polling.forget();
        let known = handle(call).and_then(|handle| self.communicator(thread, handle));
        // Objects are made without data of the program.
        let transfer = Transfer::of(self.abi, function, call);
        if success && let Some(transfer) = &transfer {
            let bytes = bytes::of_collective(self.abi, &mut thread.sizes, known, transfer);
            let row = contexts.table.context(made.context);
            row.sent.add(bytes.sent);
            row.received.add(bytes.received);
            row.given.add(bytes.given);
        }
        // The handle of a file that is closed is gone.
        let of_closed = || {
            let key = matches!(call, Call::File_close(_)).then(|| contexts.table.context(made.context).key());
            key.map(|key| key.communicator).filter(|communicator| *communicator != 0)
        };
        if let Some(communicator) = known.map(|known| known.number).or_else(of_closed) {
            let root = transfer.as_ref().map_or(0, root);
            self.operations.with(|operations| {
                let number = operations.count(communicator);
                let kind = match self.kinds[function.index()] {
                    Kind::StartsCollective => {
                        operations.started(Operation { communicator, number, root }, made.left);
                        IntervalKind::Started
                    }
                    _ => IntervalKind::Collective,
                };
                let times = (made.entered, made.left);
                contexts.table.add_part_of_collective(kind, made.context, (number, root), times);
            });
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

    /// A call has returned that synchronises a window.
    #[cold]
    #[inline(never)]
    fn synchronised(&self, contexts: &Contexts, thread: &mut Thread, call: &Call<'_>, made: Made) {
        thread.polling.forget();
        let exclusive = |lock_type| u16::from(lock_type == self.abi.constants.lock_exclusive);
        let (target, exclusive) = match call {
            Call::Win_lock(a) => (a.rank, exclusive(a.lock_type)),
            Call::Win_unlock(a) => (a.rank, 0),
            _ => (-1, 0),
        };
        self.waits.synchronised(contexts, made.context, (target, exclusive), (made.entered, made.left));
    }

    /// A call has lasted long; of collective operations all are kept.
    #[cold]
    #[inline(never)]
    fn lasted(&self, contexts: &Contexts, kind: Kind, made: Made) {
        if kind != Kind::Collective {
            self.waits.lasted(contexts, made.context, (made.entered, made.left));
        }
    }

    /// A call has looked whether something is complete, or has come.
    #[inline(always)]
    fn tested(&self, contexts: &Contexts, thread: &mut Thread, call: &Call<'_>, made: Made) {
        let polled = thread.polling.called(call, (made.entered, made.left), self.microsecond);
        let least = SHORT_POLLING_MICROSECONDS * self.microsecond;
        if let Some(polled) = polled.filter(|polled| polled.waited >= least) {
            self.waits.polled(contexts, made.context, polled, self.probed_source(call));
            let operation = self.operations.with(|operations| operations.tested(made.left)).flatten();
            if let Some(operation) = operation.filter(|_| polled.is_waiting()) {
                self.waits.completed(contexts, made.context, operation, (polled.begin, polled.end));
            }
        }
    }

    /// The sender of the message that a probe has found, as far as it is known.
    fn probed_source(&self, call: &Call<'_>) -> Option<i32> {
        let (asked, status) = match call {
            Call::Probe(a) => (a.source, a.status),
            Call::Mprobe(a) => (a.source, a.status),
            Call::Iprobe(a) => (a.source, a.status),
            Call::Improbe(a) => (a.source, a.status),
            _ => return None,
        };
        let of_status = |status: StatusPtr| {
            // SAFETY: the call has succeeded and has filled its status, the program's or one of ours.
            (!status.is_ignore(self.abi)).then(|| unsafe { status.source(self.abi) })
        };
        let source = if asked >= 0 { Some(asked) } else { of_status(status) };
        source.filter(|source| *source >= 0)
    }

    /// A probe has found a message, which it may have waited for.
    #[cold]
    #[inline(never)]
    fn probed(&self, contexts: &Contexts, call: &Call<'_>, made: Made) {
        if let Some(source) = self.probed_source(call) {
            let what = (made.context, source, IntervalKind::LateSender);
            self.waits.blocked(contexts, what, (made.entered, made.left), 0);
        }
    }
}

impl mpi_intercept::Contexts for CallProfiler {
    #[inline(always)]
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
        let region = crate::regions::current();
        let place = Place::new(site, handle(call).unwrap_or(0), function as u16, (region, epoch));
        thread.cache.get(place, || this.find(contexts, place, number))
    }
}

impl Outer for CallProfiler {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.clock.now().0
    }

    #[inline(always)]
    fn enter_last(&self, here: InThread<'_>) -> u64 {
        let Some(contexts) = self.contexts.get() else { return self.now() };
        code::entered();
        let now = self.now();
        let thread = here.slot_of_contexts().get().cast::<Numbered<Thread>>();
        if !thread.is_null() {
            // SAFETY: the slot leads to this thread's state; see `find`.
            let number = unsafe { (*thread).number };
            contexts.table.thread(number).enter(here.context_found(), now);
        }
        now
    }
}

impl Hook for CallProfiler {
    fn wants(&self, function: FunctionId) -> Wants {
        match self.kinds[function.index()] {
            Kind::NotCounted => Wants::Nothing,
            // It may be the last call of a process that is killed, or the handle that the context has is gone at the exit.
            _ if !returns_at_once(function) => Wants::Both,
            _ => Wants::Leave,
        }
    }

    fn wants_time(&self, function: FunctionId) -> bool {
        self.counts_calls_of(function)
    }

    #[inline(always)]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        let _ = here.context(function, call);
        self.enter_last(here);
    }

    #[inline(always)]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        let Some(contexts) = self.contexts.get() else { return };
        code::left(function);
        let success = code == self.abi.constants.success;
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
        let kind = self.kinds[function.index()];
        if took > self.long_call {
            self.lasted(contexts, kind, made);
        }
        match kind {
            Kind::Collective | Kind::StartsCollective => {
                self.operated(contexts, thread, (function, call), made, success);
            }
            Kind::Probe if took > self.microsecond && success => self.probed(contexts, call, made),
            Kind::Frees => contexts.forget_datatypes(),
            Kind::Tests if success => self.tested(contexts, thread, call, made),
            Kind::Synchronises if success => self.synchronised(contexts, thread, call, made),
            Kind::Local => {}
            Kind::Waits => thread.polling.forget(),
            // It has moved nothing, and its arguments may be anything.
            _ if !success => {}
            kind => {
                thread.polling.forget();
                let (sent, received) = bytes::of_messages(self.nobody, &mut thread.sizes, call);
                if sent != 0 {
                    row.sent.add(sent);
                    // What the data needs at a gigabyte per second: one byte takes a nanosecond.
                    let needed = self.microsecond + sent * self.microsecond / 1000;
                    let may_wait = sent > STORED || matches!(call, Call::Ssend(_));
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

impl Observer for CallProfiler {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wants_collectives(&self) -> bool {
        true
    }

    fn collective_requested(&self, _: u32, request: u64, during: During) {
        self.operations.with(|operations| operations.requested(request, during));
    }

    fn collective_completed(&self, _: u32, request: u64, during: During) {
        let Some(contexts) = self.contexts.get() else { return };
        let completed = self.operations.with(|operations| operations.completed(request));
        let Some(operation) = completed.flatten() else { return };
        let context = during.context.into();
        let function = contexts.table.context(context).key().function;
        // Since when a thread has tested is known when the call has returned.
        if self.kinds.get(usize::from(function)) == Some(&Kind::Tests) {
            self.operations.with(|operations| operations.found(operation, during));
        } else if during.entered.0 != 0 {
            self.waits.completed(contexts, context, operation, (during.entered.0, during.left.0));
        }
    }

    fn waited(&self, waited: &Waited) {
        if let Some(contexts) = self.contexts.get() {
            self.waits.waited(contexts, waited, self.registry.number_at(waited.comm));
        }
    }

    fn test_found(&self, found: &TestFound) {
        if let Some(contexts) = self.contexts.get() {
            self.waits.test_found(contexts, found, self.registry.number_at(found.comm));
        }
    }

    fn received_bytes(&self, received: &Received) {
        if let Some(contexts) = self.contexts.get() {
            Waits::received(contexts, received);
        }
    }

    fn followed(&self, truth: &Truth, not_followed: &NotFollowed) {
        if let Some(contexts) = self.contexts.get() {
            truth::store(contexts.table.header(), truth, not_followed);
        }
    }

    fn posted_late(&self, late: &KeptWaiting) {
        if let Some(contexts) = self.contexts.get() {
            self.waits.posted_late(contexts, late);
        }
    }

    fn left_waiting(&self, left: &KeptWaiting) {
        if let Some(contexts) = self.contexts.get() {
            self.waits.left_waiting(contexts, left);
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

impl Consumer for CallProfiler {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn straighten(&'static self, model: &'static Calls) {
        mpi_intercept::straighten(self, model);
    }

    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        vec![self]
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.contexts.set(Contexts::new(table.clone(), self.registry));
        mpi_intercept::set_clock(self.clock.reader());
        mpi_intercept::set_contexts(self);
    }

    unsafe fn leave_to_one_thread(&self) {
        // SAFETY: the caller promises it: below MPI_THREAD_MULTIPLE one thread at a time calls MPI.
        unsafe { self.waits.leave_to_one_thread() };
        // SAFETY: as above.
        unsafe { self.operations.leave_to_one_thread() };
    }

    fn while_still(&self, user: &mut dyn FnMut()) {
        self.operations.with(|_no_collectives| {
            self.waits.while_none_is_counted(|| match self.contexts.get() {
                Some(contexts) => contexts.while_none_is_made(user),
                None => user(),
            });
        });
    }

    fn counted(&self) -> Option<&'static str> {
        Some(counted::CALLS)
    }
}
