//! The hook: all that runs per call.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use mel_log::choice::Choice;
use mel_log::profile::Ended;
use mel_log::table::attributed::{OUTSIDE, OfContext, growth};
use mel_log::table::{Arithmetic, ProfileTable};
use mpi_abi::Abi;
use mpi_functions::Kind;
use mpi_intercept::{Call, FunctionId, Hook, InThread, ThreadSlot, Wants};
use mpit_events::Clock;
use mpit_events_entry_points::reading::Reading;
use mpit_sources::vars::QueueCounts;
use mpit_vars::direct::{Direct, Sent};

use super::chosen::{Chosen, Loaded};
use super::group::Group;
use super::threads::{self, NO_CONTEXT, Thread};
use crate::calls::{self, CallProfiler};
use crate::config::Config;
use crate::consumer::{Consumer, Parts};
use crate::registry::Registry;
use crate::state::Run;
use crate::{phases, regions, warn};

/// Attributes variables to calls. Lives as long as the process.
pub(crate) struct Attributor {
    abi: &'static Abi,
    calls: &'static CallProfiler,
    registry: &'static Registry,
    config: &'static Config,
    counts: Option<&'static QueueCounts>,
    active: OnceLock<Active>,
    /// Several threads may call MPI at the same time.
    several: AtomicBool,
    over: AtomicBool,
}

impl std::fmt::Debug for Attributor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attributor").finish_non_exhaustive()
    }
}

/// Whether calls of a function may send messages of the program.
fn may_send(function: FunctionId) -> bool {
    function.about().sends() || matches!(function.about().kind, Kind::Start)
}

/// Whether calls of a function may change the queues of this process: those that send do not, nor those that answer from memory.
fn has_to_do_with_queues(function: FunctionId) -> bool {
    let about = function.about();
    !(about.is_local() || matches!(about.kind, Kind::Send(_)))
}

/// Variables that grow, with what tells when one of them has.
struct Changing {
    variables: Box<[Loaded]>,
    /// What it told when they were read last.
    seen: AtomicU64,
}

impl Changing {
    fn new(variables: Vec<Loaded>) -> Changing {
        // What is never told: they are read for the first time.
        Changing { variables: variables.into_boxed_slice(), seen: AtomicU64::new(u64::MAX) }
    }

    /// Whether they may have changed since they were read last. They are read now, if so: after this.
    #[inline(always)]
    fn may_have(&self, tells: u64) -> bool {
        self.seen.load(Ordering::Relaxed) != tells && {
            self.seen.store(tells, Ordering::Relaxed);
            true
        }
    }

    /// They are read next time in any case.
    fn forget(&self) {
        self.seen.store(u64::MAX, Ordering::Relaxed);
    }
}

/// What is there once the run has begun.
struct Active {
    table: ProfileTable,
    /// Those about what was sent.
    of_sent: Option<(&'static Sent, Changing)>,
    /// Those about the queues, and whoever counts these.
    of_queues: Option<(&'static QueueCounts, Changing)>,
    /// Those of them that have a value in each call, whether it has changed or not.
    levels: Box<[Loaded]>,
    /// Whether the model leaves calls for later. Then it follows a call before the next one that has to do with the queues is entered, as it
    /// does without us, and what has changed by then belongs to the call before.
    is_deferred: bool,
    /// The context of the last call that has to do with the queues, which may not be followed yet.
    last: AtomicU32,
    /// Whether the levels after that call were read already, between it and the next one.
    levels_read: AtomicBool,
    /// Whether envelopes are attributed that were lost.
    counts_lost: bool,
    /// What a function reads, for one thread at a time.
    group: Option<Mutex<Group>>,
    several: bool,
    /// Whether all that changes is known at one end of a call: at the exit of those that send what was sent, and at the entry of those that
    /// have to do with the queues what the last one of these has changed. Then no other call is looked at, and calls are not counted here.
    is_known_at_ends: bool,
    /// Whether calls of a function have to do with the queues, and whether they may send.
    looks_at_queues: [bool; FunctionId::COUNT],
    looks_at_sent: [bool; FunctionId::COUNT],
    reading: Mutex<Reading>,
}

impl Attributor {
    fn new(parts: &Parts, calls: &'static CallProfiler) -> &'static Attributor {
        let &Parts { abi, config, registry, variables: counts, .. } = parts;
        let (several, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let active = OnceLock::new();
        Box::leak(Box::new(Attributor { abi, calls, registry, config, counts, active, several, over }))
    }

    /// Finds the variables, reads them for the first time, and attributes from now on. Where the program may call MPI, at the end of
    /// `MPI_Init*`. Where it `tells` the user, what is the same for all.
    fn attribute(&self, table: ProfileTable, choice: &Choice, tells: bool) {
        let clock = Clock::best();
        let mut reading = Reading::open(self.abi);
        let chosen = Chosen::find(self.abi, &reading, choice, clock.ticks_per_second());
        if tells {
            let names: Vec<&str> = chosen.names.iter().map(String::as_str).collect();
            choice.complaints("performance variable", &names).iter().for_each(|line| warn(line));
            if chosen.left_out > 0 {
                warn(&format!(
                    "{} performance variables are not attributed: there are too many",
                    chosen.left_out
                ));
            }
        }
        chosen.definitions.iter().for_each(|definition| self.registry.define(definition));
        if chosen.count() == 0 {
            reading.close();
            if tells {
                warn("nothing is attributed: there is no such variable; mel vars --performance lists them");
            }
            return;
        }
        if !self.calls.begin_attribution(chosen.count()) {
            chosen.read_out.into_iter().for_each(|mut variable| variable.bound.end());
            reading.close();
            warn("nothing is attributed: there is no space for it in the run's directory");
            return;
        }
        let counts = self.counts.filter(|_| chosen.loaded.iter().any(|of| of.what.sent().is_none()));
        if let Some(counts) = counts {
            counts.catch_up_in_call();
        }
        for of in &chosen.loaded {
            let row = table.attributed_variable(of.place);
            let value = of.what.read();
            row.first.set(value);
            row.last.set(value);
            row.every.set(1);
            row.most_every.set(1);
        }
        let group = (!chosen.read_out.is_empty()).then(|| {
            Mutex::new(Group::new(chosen.read_out, self.config.budget.map(|share| share.0), clock, &table))
        });
        let several = self.several.load(Ordering::Relaxed);
        let counts_lost = chosen.loaded.iter().any(|of| matches!(of.what, Direct::Lost(_)));
        let sent = chosen.loaded.iter().find_map(|of| of.what.sent());
        let (of_sent, of_queues): (Vec<Loaded>, Vec<Loaded>) =
            chosen.loaded.into_iter().partition(|of| of.what.sent().is_some());
        let (growing, levels): (Vec<Loaded>, Vec<Loaded>) =
            of_queues.into_iter().partition(|of| of.arithmetic == Arithmetic::Difference);
        let is_deferred = !several && counts.is_some_and(QueueCounts::defers);
        let is_known_at_ends = !several && group.is_none() && (is_deferred || counts.is_none());
        let mut looks_at_queues = [false; FunctionId::COUNT];
        let mut looks_at_sent = [false; FunctionId::COUNT];
        for function in FunctionId::all() {
            looks_at_queues[function.index()] = counts.is_some() && has_to_do_with_queues(function);
            looks_at_sent[function.index()] = sent.is_some() && may_send(function);
        }
        let active = Active {
            table,
            of_sent: sent.map(|sent| (sent, Changing::new(of_sent))),
            of_queues: counts.map(|counts| (counts, Changing::new(growing))),
            levels: levels.into_boxed_slice(),
            is_deferred,
            last: AtomicU32::new(NO_CONTEXT),
            levels_read: AtomicBool::new(false),
            counts_lost,
            group,
            several,
            is_known_at_ends,
            looks_at_queues,
            looks_at_sent,
            reading: Mutex::new(reading),
        };
        let _ = self.active.set(active);
        mpi_intercept::ask_again();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn active(&self) -> Option<&Active> {
        self.active.get().filter(|_| !self.over.load(Ordering::Relaxed))
    }

    /// The thread is between two calls, and what follows belongs elsewhere: another region, or another phase.
    fn between_calls(&self, thread: &Thread) {
        let Some(active) = self.active() else { return };
        let Some(outside) = self.outside(thread) else { return };
        active.take_all(outside);
        if thread.reads_outside.get()
            && let Some(mut group) = active.group()
        {
            let weight = u64::from(group.every());
            group.read(&active.table, Some((outside, weight)));
        }
    }

    /// The context of what is outside of MPI in this thread; `None` before its first call.
    #[inline]
    fn outside(&self, thread: &Thread) -> Option<u32> {
        let (phase, region) = (phases::current(), regions::current());
        let known = thread.outside.get();
        if (known.0, known.1) == (phase, region) && known.2 != NO_CONTEXT {
            return Some(known.2);
        }
        let number = thread.number.get()?;
        let context = self.calls.context_outside(OUTSIDE, number, phase, region);
        thread.outside.set((phase, region, context));
        Some(context)
    }

    /// The program is in `MPI_Finalize`: last values are taken, and all handles end.
    fn end(&self) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let thread = threads::this();
        if thread.number.get().is_none() {
            // It has made no call that counts.
            thread.number.set(Some(0));
        }
        self.between_calls(thread);
        self.over.store(true, Ordering::Relaxed);
        let Some(active) = self.active.get() else { return };
        if let Some(group) = &active.group {
            let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
            // The last value, whether it belongs somewhere or not.
            group.read(&active.table, None);
            group.end();
        }
        active.reading.lock().unwrap_or_else(PoisonError::into_inner).close();
    }

    /// The program ends otherwise: MPI is not called.
    fn end_alone(&self) {
        if let (Some(active), Some(thread)) = (self.active(), threads::known())
            && let Some(outside) = self.outside(thread)
        {
            active.take_all(outside);
        }
        self.over.store(true, Ordering::Relaxed);
    }

    /// The thread makes its first call that counts: from now on it has a number.
    #[cold]
    #[inline(never)]
    fn first_call(&self, here: InThread<'_>, thread: &Thread, function: FunctionId, call: &Call<'_>) {
        let _ = here.context(function, call);
        thread.number.set(self.calls.thread_number(here));
    }

    /// This thread's state, which the slot leads to.
    #[inline(always)]
    fn thread(slot: &ThreadSlot) -> &'static Thread {
        let known = slot.get().cast::<Thread>();
        if known.is_null() {
            return Self::find_thread(slot);
        }
        // SAFETY: only `find_thread` stores there: what lives as long as the process.
        unsafe { &*known }
    }

    #[cold]
    #[inline(never)]
    fn find_thread(slot: &ThreadSlot) -> &'static Thread {
        let thread = threads::this();
        slot.set(std::ptr::from_ref(thread).cast_mut().cast());
        let slot = std::ptr::from_ref(slot);
        mpi_intercept::at_thread_end(move || {
            // SAFETY: the slot of a thread lives as long as the thread, which is this one.
            unsafe { &*slot }.set(std::ptr::null_mut());
        });
        thread
    }
}

impl Active {
    /// This context was there once more, and what was sent since the last one belongs to it.
    #[inline(always)]
    fn take(&self, context: u32) {
        self.table.attributed(context).context.times.add(1);
        self.take_sent(context);
    }

    /// What was sent since the last time belongs to this context.
    #[inline(always)]
    fn take_sent(&self, context: u32) {
        if let Some((sent, changing)) = &self.of_sent
            && changing.may_have(sent.messages())
        {
            self.take_changes(&changing.variables, self.table.attributed(context));
        }
    }

    /// The model follows what it has left for later, and variables of the queues are read: what has changed belongs to this context, or to
    /// the call that was left.
    #[inline(always)]
    fn take_queues(&self, context: u32) {
        let Some((counts, changing)) = &self.of_queues else { return };
        counts.catch_up_in_call();
        if self.counts_lost {
            counts.count_lost_in_call();
        }
        let last = if self.is_deferred { self.last.load(Ordering::Relaxed) } else { NO_CONTEXT };
        let rows = self.table.attributed(if last == NO_CONTEXT { context } else { last });
        if changing.may_have(counts.changes()) {
            self.take_changes(&changing.variables, rows);
        }
        if self.levels_read.load(Ordering::Relaxed) {
            return;
        }
        for of in &self.levels {
            let value = of.what.read();
            let before = self.table.attributed_variable(of.place).replace(value);
            rows.variables[of.place].was_read(of.arithmetic, before, value);
        }
    }

    fn take_changes(&self, variables: &[Loaded], rows: OfContext<'_>) {
        for of in variables {
            let value = of.what.read();
            let row = self.table.attributed_variable(of.place);
            if value == row.last.get() {
                continue;
            }
            let before = if self.several { row.advance(value) } else { row.replace(value) };
            let by = growth(before, value, 0);
            if by != 0 {
                rows.variables[of.place].grew(by, 1);
            }
        }
    }

    /// All variables of ours are read, whether something tells of a change or not: another thread may be about to.
    fn take_all(&self, context: u32) {
        let changing = [self.of_sent.as_ref().map(|of| &of.1), self.of_queues.as_ref().map(|of| &of.1)];
        changing.into_iter().flatten().for_each(Changing::forget);
        self.take(context);
        self.take_queues(context);
        self.levels_read.store(self.is_deferred, Ordering::Relaxed);
    }

    /// A call has to do with the queues: what they do from now on is its.
    #[inline(always)]
    fn begin(&self, context: u32) {
        self.last.store(context, Ordering::Relaxed);
        self.levels_read.store(false, Ordering::Relaxed);
    }

    /// What a function reads, where no other thread is reading.
    fn group(&self) -> Option<std::sync::MutexGuard<'_, Group>> {
        self.group.as_ref()?.try_lock().ok()
    }

    /// A call is entered after one that was read, or one that is to be read.
    #[cold]
    #[inline(never)]
    fn read_at_entry(&self, thread: &Thread, outside: u32, is_due: bool) {
        let Some(mut group) = self.group() else {
            // Another thread reads: this one does not wait, and reads its next call.
            thread.reads_outside.set(false);
            return;
        };
        let belongs = thread.reads_outside.replace(false).then(|| (outside, u64::from(group.every())));
        group.read(&self.table, belongs);
        thread.reads.set(is_due);
    }

    /// The call that was read at its entry returns.
    #[cold]
    #[inline(never)]
    fn read_at_exit(&self, thread: &Thread, context: u32) {
        thread.reads.set(false);
        let Some(mut group) = self.group() else { return };
        let weight = u64::from(group.every());
        group.read(&self.table, Some((context, weight)));
        group.sampled(&self.table, thread.since.replace(0));
        let mut dice = thread.dice.get();
        thread.left.set(dice.next(group.every()));
        thread.dice.set(dice);
        thread.reads_outside.set(true);
    }
}

impl Hook for Attributor {
    fn wants(&self, function: FunctionId) -> Wants {
        let Some(active) = self.active() else { return Wants::Nothing };
        let (enters, leaves) = match active.is_known_at_ends {
            true => (active.looks_at_queues[function.index()], active.looks_at_sent[function.index()]),
            false => (true, true),
        };
        match (enters, leaves) {
            (false, false) => Wants::Nothing,
            _ if !self.calls.counts_calls_of(function) => Wants::Nothing,
            (true, false) => Wants::Enter,
            (false, true) => Wants::Leave,
            (true, true) => Wants::Both,
        }
    }

    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        let Some(active) = self.active() else { return };
        let thread = Self::thread(here.slot());
        if thread.number.get().is_none() {
            self.first_call(here, thread, function, call);
        }
        if active.is_known_at_ends {
            let context = here.context(function, call);
            active.take_queues(context);
            return active.begin(context);
        }
        let outside = self.outside(thread).unwrap_or(0);
        active.take(outside);
        if active.looks_at_queues[function.index()] {
            active.take_queues(outside);
        }
        if active.group.is_some() {
            thread.since.set(thread.since.get() + 1);
            let left = thread.left.get().saturating_sub(1);
            thread.left.set(left);
            if left == 0 || thread.reads_outside.get() {
                active.read_at_entry(thread, outside, left == 0);
            }
        }
    }

    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, _: c_int) {
        let Some(active) = self.active() else { return };
        let context = here.context(function, call);
        let thread = Self::thread(here.slot());
        if active.is_known_at_ends {
            if thread.number.get().is_none() {
                self.first_call(here, thread, function, call);
            }
            return active.take_sent(context);
        }
        active.take(context);
        if active.looks_at_queues[function.index()] {
            if active.is_deferred {
                active.begin(context);
            } else {
                active.take_queues(context);
            }
        }
        if thread.reads.get() {
            active.read_at_exit(thread, context);
        }
    }
}

static ATTRIBUTOR: OnceLock<&'static Attributor> = OnceLock::new();

/// The thread is about to be in another region.
fn before_region() {
    let attributor = ATTRIBUTOR.get().filter(|attributor| !attributor.is_over());
    if let (Some(attributor), Some(thread)) = (attributor, threads::known()) {
        mpi_intercept::without_traps(|| attributor.between_calls(thread));
    }
}

/// The consumer that attributes variables.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let calls = calls::profiler(parts).filter(|_| parts.config.attribute.is_some())?;
    regions::attribute(before_region);
    Some(*ATTRIBUTOR.get_or_init(|| Attributor::new(parts, calls)))
}

impl Consumer for Attributor {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn set_threads(&self) {
        self.several.store(true, Ordering::Relaxed);
    }

    fn start(&'static self, run: Option<&'static Run>) {
        if let (Some(Run { table: Some(table), rank, .. }), Some(choice)) = (run, &self.config.attribute) {
            self.attribute(table.clone(), choice, *rank == 0);
        }
    }

    fn phase_ends(&self) {
        if let Some(thread) = threads::known() {
            self.between_calls(thread);
        }
    }

    fn finish(&self, ended: Ended) {
        if ended == Ended::Finalised { self.end() } else { self.end_alone() }
    }

    fn counted(&self) -> Option<&'static str> {
        Some("attribution")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_receive_post_or_wait_have_to_do_with_the_queues() {
        use FunctionId as F;
        for function in
            [F::Recv, F::Irecv_c, F::Wait, F::Sendrecv, F::Start, F::Barrier, F::Iprobe, F::Comm_free]
        {
            assert!(has_to_do_with_queues(function), "{}", function.name());
        }
        for function in [F::Send, F::Isend_c, F::Comm_rank, F::Type_commit, F::Group_size] {
            assert!(!has_to_do_with_queues(function), "{}", function.name());
        }
    }
}
