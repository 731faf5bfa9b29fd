//! The tracker: the model and the tables of one process, who may use them when, and the communicators.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use mpi_abi::{Abi, Family, StatusPtr, pmpi};
use mpi_intercept::ThreadSlot;
use mpit_events::{Clock, Core, Safety, Ticks, Token};

use super::comms::{Comm, Destination, Processes};
use super::frame::{self, Buffer, Current, Frame};
use super::mode::{Mode, Modes, Part};
use super::observer::{Communicator, During, Observer};
use super::state::State;
use super::unheard::Unheard;
use crate::Serial;
use crate::matching::{Engine, Envelope, Event, Ob1Events};
use crate::progress_model::{Copying, Parameters, Progress};
use crate::transport::batch::Mail;
use crate::transport::clocks::{NodeClock, Nodes};
use crate::transport::ring::{Ring, RingView};

/// Events of a send's request.
pub(crate) const OF_SENDS: u16 = 1 << Event::RequestActivate as u8
    | 1 << Event::TransferBegin as u8
    | 1 << Event::Transfer as u8
    | 1 << Event::TransferEnd as u8
    | 1 << Event::RequestComplete as u8
    | 1 << Event::Free as u8;

/// Events that may wait to be raised together, where calls defer.
const MAX_WAITING: usize = 64;

/// Follows the application's point-to-point calls.
pub(crate) struct Tracker {
    pub(crate) abi: &'static Abi,
    pub(crate) core: &'static Core,
    pub(crate) events: Ob1Events,
    clock: Clock,
    /// The numbers of the model of progress: as they are known before, and once copying has been timed.
    assumed: Parameters,
    timed: OnceLock<Parameters>,
    modes: Modes,
    /// Whether several threads of the application call MPI at the same time.
    multiple: AtomicBool,
    /// Whether it follows: from when all processes have begun to, to the end.
    runs: AtomicBool,
    /// Whether calls are deferred that the model has not followed.
    pub(crate) behind: AtomicBool,
    /// Whether the state keeps what the next call that polls has to take in: envelopes that a poll has left, or events that were
    /// raised between calls. Written by who has the state.
    pub(crate) unseen: AtomicBool,
    /// Whether envelopes wait in this process's ring, for those who have not got the state.
    ring: OnceLock<RingView>,
    /// What is followed, as a number.
    part: AtomicU8,
    /// Whether a communicator has been made by a request.
    duplicates: AtomicBool,
    /// Whether calls that post nonblocking receives are timed from their beginning.
    times_posts: AtomicBool,
    /// The frame of the only thread that calls MPI, if there is only one.
    home: AtomicPtr<Frame>,
    /// While it is held only local procedures of MPI are called (MPI-5.0, section 2.4.3: groups, ranks and sizes), which
    /// wait for no other process. A lock that MPI takes in them is not held by a thread that waits for this one, because
    /// hooks never run inside MPI (`mpi_intercept`). What sends, receives or makes progress is called without it
    /// ([`exchange`](super::exchange)).
    pub(crate) state: Serial<State>,
    pub(crate) mail: Mail,
    /// The clocks of several nodes: at the start, and at the end.
    compared: [OnceLock<NodeClock>; 2],
    /// Which processes share a clock, where not all do.
    nodes: OnceLock<Nodes>,
    observers: OnceLock<Vec<&'static dyn Observer>>,
    /// Those of them that want messages.
    of_messages: OnceLock<Vec<&'static dyn Observer>>,
    wants_messages: AtomicBool,
    of_collectives: OnceLock<Vec<&'static dyn Observer>>,
    /// Those that want to know what calls have waited for.
    of_waits: OnceLock<Vec<&'static dyn Observer>>,
    wants_waits: AtomicBool,
    /// Who has asked for waits later.
    of_waits_later: OnceLock<&'static dyn Observer>,
    /// Who has asked for the bytes of unexpected messages.
    for_bytes: OnceLock<&'static dyn Observer>,
    /// The shortest wait that they are notified of: a microsecond.
    shortest_wait: u64,
    pub(super) unheard: Unheard,
}

/// What is known of how a receive has ended.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    /// Its status says it.
    Status(StatusPtr),
    /// It is complete and cannot have got another message than one with this source and tag.
    AskedFor { source: i32, tag: i32 },
    /// It is complete.
    Unknown,
}

impl Ending {
    /// That of a receive that has not failed nor been cancelled, of which there is no status; wildcards are negative.
    #[inline(always)]
    pub(crate) fn asked_for(source: i32, tag: i32) -> Self {
        if source | tag < 0 { Ending::Unknown } else { Ending::AskedFor { source, tag } }
    }
}

/// The operations of one locked use of the state.
pub(crate) struct Work<'a> {
    pub(crate) tracker: &'static Tracker,
    pub(crate) state: &'a mut State,
    pub(crate) sink: &'a mut Buffer,
    /// The context of the call under way; calls that are followed later keep their own.
    pub(crate) context: u16,
    /// When it returned; zero before that.
    left: Ticks,
}

impl Tracker {
    /// A tracker of this process; it follows nothing until communicators are added.
    pub(crate) fn new(abi: &'static Abi, core: &'static Core, events: Ob1Events) -> Self {
        let clock = Clock::best();
        let per_second = clock.ticks_per_second();
        let ob1 = abi.family == Family::OpenMpi;
        Tracker {
            abi,
            core,
            events,
            clock,
            assumed: if ob1 {
                Parameters::ob1(per_second)
            } else {
                Parameters::of_another_library(per_second)
            },
            timed: OnceLock::new(),
            modes: Modes::default(),
            multiple: AtomicBool::new(false),
            runs: AtomicBool::new(false),
            behind: AtomicBool::new(false),
            unseen: AtomicBool::new(false),
            ring: OnceLock::new(),
            part: AtomicU8::new(Part::Events as u8),
            duplicates: AtomicBool::new(false),
            times_posts: AtomicBool::new(false),
            home: AtomicPtr::new(std::ptr::null_mut()),
            state: Serial::default(),
            mail: Mail::default(),
            compared: [const { OnceLock::new() }; 2],
            nodes: OnceLock::new(),
            observers: OnceLock::new(),
            of_messages: OnceLock::new(),
            wants_messages: AtomicBool::new(false),
            of_collectives: OnceLock::new(),
            of_waits: OnceLock::new(),
            wants_waits: AtomicBool::new(false),
            of_waits_later: OnceLock::new(),
            for_bytes: OnceLock::new(),
            shortest_wait: (per_second / 1_000_000).max(1),
            unheard: Unheard::default(),
        }
    }

    /// Sets who is notified of communicators and messages; once, before MPI is initialised.
    pub(crate) fn set_observers(&self, observers: Vec<&'static dyn Observer>) {
        let of_messages: Vec<_> =
            observers.iter().copied().filter(|observer| observer.wants_messages()).collect();
        self.wants_messages.store(!of_messages.is_empty(), Ordering::Relaxed);
        let _ = self.of_messages.set(of_messages);
        let of_collectives = observers.iter().copied().filter(|observer| observer.wants_collectives());
        let _ = self.of_collectives.set(of_collectives.collect());
        let of_waits: Vec<_> = observers.iter().copied().filter(|observer| observer.wants_waits()).collect();
        self.wants_waits.store(!of_waits.is_empty(), Ordering::Relaxed);
        let _ = self.of_waits.set(of_waits);
        let _ = self.observers.set(observers);
    }

    /// One more observer is notified of what calls have waited for, from now on; only one can be.
    pub(crate) fn ask_for_waits(&self, observer: &'static dyn Observer) {
        let _ = self.of_waits_later.set(observer);
        self.wants_waits.store(true, Ordering::Relaxed);
    }

    /// This observer is notified of the bytes of unexpected messages, from the next change of who listens on; only one can be.
    pub(crate) fn ask_for_bytes(&self, observer: &'static dyn Observer) {
        let _ = self.for_bytes.set(observer);
    }

    /// Who wants the bytes of unexpected messages.
    pub(crate) fn for_bytes(&self) -> Option<&'static dyn Observer> {
        self.for_bytes.get().copied()
    }

    /// Envelopes that wait in this process's ring, but no more than `most`. For any thread.
    pub(crate) fn waiting_in_ring(&self, most: usize) -> Vec<Envelope> {
        self.ring.get().map_or(Vec::new(), |ring| ring.waiting(most))
    }

    /// The frame of the only thread that calls MPI; null where there may be several. It is never freed.
    pub(crate) fn home(&self) -> *const Frame {
        self.home.load(Ordering::Relaxed)
    }

    /// Whether the calling thread is the only one that calls MPI.
    pub(crate) fn is_at_home(&self) -> bool {
        let home = self.home.load(Ordering::Relaxed);
        !home.is_null() && frame::is_of_this_thread(home)
    }

    /// Whether it follows, and so in all processes of the run.
    pub(crate) fn runs(&self) -> bool {
        self.runs.load(Ordering::Relaxed)
    }

    pub(crate) fn set_runs(&self, runs: bool) {
        self.runs.store(runs, Ordering::Relaxed);
    }

    /// Several threads may call MPI at the same time from now on.
    pub(crate) fn set_multiple(&self) {
        self.multiple.store(true, Ordering::Relaxed);
        self.set_threads();
    }

    /// Several threads use the state from now on.
    pub(crate) fn set_threads(&self) {
        self.modes.set_threads();
        // Calls are not deferred any more, and may have left something.
        self.unseen.store(true, Ordering::Relaxed);
        self.state.share();
    }

    /// The clock of all times here.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// From now on envelopes can go in messages. Where there are several nodes, their clocks are compared. All processes together.
    ///
    /// # Errors
    /// Those of the MPI.
    pub(crate) fn open_mail(&self, nodes: Option<Nodes>) -> mpi_abi::Result<()> {
        let private = pmpi::comm_dup(self.abi.constants.comm_world)?;
        pmpi::comm_return_errors(private)?;
        let clock = match nodes {
            Some(nodes) => {
                let compared = NodeClock::compare(self.clock, &nodes, private)?;
                let _ = self.compared[0].set(compared);
                let _ = self.nodes.set(nodes);
                compared
            }
            None => NodeClock::of_reference(self.clock),
        };
        self.mail.open(self.abi, private, clock);
        Ok(())
    }

    /// Compares the clocks of the nodes at the end, all processes together; where they cannot be, the comparison
    /// of the start has to do.
    pub(crate) fn compare_clocks_again(&self) {
        if let (Some(nodes), Some(comm)) = (self.nodes.get(), self.mail.comm())
            && let Ok(compared) = NodeClock::compare(self.clock, nodes, comm)
        {
            let _ = self.compared[1].set(compared);
        }
    }

    /// The comparisons so far.
    pub(crate) fn compared(&self) -> Vec<NodeClock> {
        self.compared.iter().filter_map(|compared| compared.get().copied()).collect()
    }

    /// The numbers of the model of progress.
    #[inline(always)]
    pub(crate) fn parameters(&self) -> &Parameters {
        self.timed.get().unwrap_or(&self.assumed)
    }

    /// Copying has been timed; once.
    pub(crate) fn set_copying(&self, copying: Copying) {
        let _ = self.timed.set(Parameters { copying, ..self.assumed });
    }

    /// Whether several threads use the state.
    pub(crate) fn has_threads(&self) -> bool {
        self.modes.has_threads()
    }

    /// How calls are followed, as far as that is known: see [`mode`](Tracker::mode).
    #[inline(always)]
    pub(crate) fn current_mode(&self) -> Mode {
        self.modes.current()
    }

    /// The model of progress that calls are followed with.
    #[inline(always)]
    pub(crate) fn progress(&self) -> Progress {
        self.modes.progress()
    }

    /// From now on envelopes are taken in between calls, too; before any call is followed.
    pub(crate) fn set_between_calls(&self) {
        self.modes.set_between_calls();
    }

    /// How calls are followed, with those who listen now.
    #[inline(always)]
    pub(crate) fn mode(&self, frame: &mut Frame) -> Mode {
        if frame.sink.is_outdated(self.core) {
            self.listeners_changed(frame);
        }
        self.modes.current()
    }

    #[cold]
    #[inline(never)]
    fn listeners_changed(&self, frame: &mut Frame) {
        frame.sink.update(self.core, self.part(), self.for_bytes());
        let callbacks = self.core.has_registrations() || frame.sink.wanted & OF_SENDS != 0;
        if self.modes.listeners_changed(callbacks) {
            // Which ends of a call matter depends on it.
            mpi_intercept::ask_again();
        }
    }

    /// Sets how calls are followed as long as nobody registers callbacks; before the hook is registered.
    pub(crate) fn want_mode(&self, mode: Mode) {
        self.modes.want(mode);
        mpi_intercept::ask_again();
    }

    /// The time now.
    #[inline(always)]
    pub(crate) fn now(&self) -> Ticks {
        self.clock.now()
    }

    /// What a search costs that looks at one entry, in ticks: measured on an engine of its own, a
    /// thousand searches at a time, because one takes less than a reading of the clock.
    pub(crate) fn shortest_search(&self) -> u64 {
        const SEARCHES: u32 = 1000;
        let mut fastest = u64::MAX;
        let mut sink = Buffer::deaf(self.clock, self.events);
        let mut engine = Engine::new();
        let comm = engine.add_comm(&mut sink, 0);
        for source in 0..2 {
            let envelope = Envelope { source, tag: 1, sequence: 1, ..Envelope::default() };
            engine.arrive(&mut sink, &envelope, Ticks(0));
        }
        for _ in 0..10 {
            let begin = self.now();
            for _ in 0..SEARCHES {
                std::hint::black_box(engine.finds(&sink, comm, std::hint::black_box(1), 1));
            }
            fastest = fastest.min(self.now().since(begin));
        }
        (fastest / u64::from(SEARCHES)).max(1)
    }

    pub(crate) fn observers(&self) -> &[&'static dyn Observer] {
        self.observers.get().map_or(&[], Vec::as_slice)
    }

    /// Those who want messages.
    #[inline(always)]
    pub(crate) fn observers_of_messages(&self) -> &[&'static dyn Observer] {
        self.of_messages.get().map_or(&[], Vec::as_slice)
    }

    /// Whether anybody wants to know of collective operations that have a request.
    pub(crate) fn wants_collectives(&self) -> bool {
        self.of_collectives.get().is_some_and(|observers| !observers.is_empty())
    }

    #[inline(always)]
    pub(crate) fn wants_messages(&self) -> bool {
        self.wants_messages.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn wants_waits(&self) -> bool {
        self.wants_waits.load(Ordering::Relaxed)
    }

    /// The shortest wait that observers are notified of, in ticks.
    #[inline(always)]
    pub(crate) fn shortest_wait(&self) -> u64 {
        self.shortest_wait
    }

    /// What a search takes at most for each message that it looks at, in ticks: a fifth of a microsecond, with the message far from
    /// the processor.
    pub(crate) fn longest_step(&self) -> u64 {
        self.shortest_wait / 5 + 1
    }

    #[inline]
    fn level(&self) -> Safety {
        if self.multiple.load(Ordering::Relaxed) { Safety::ThreadSafe } else { Safety::MpiRestricted }
    }

    /// Works on the state where the model emits nothing that could not wait.
    #[inline(always)]
    pub(crate) fn without_raising<R>(
        &'static self,
        frame: &mut Frame,
        user: impl FnOnce(&mut Work<'_>, &mut Current) -> R,
    ) -> Option<R> {
        let Frame { sink, call, .. } = frame;
        let result = self.state.with(|state| {
            state.hand_over(sink);
            let Current { context, left, .. } = *call;
            user(&mut Work { tracker: self, state, sink, context, left }, call)
        });
        if !frame.sink.is_empty() && !self.has_home() {
            // Raises it, with the communicators that other threads have made since.
            self.with_state(frame, |_, _| ());
        }
        result
    }

    /// Works on the state, then raises what the model emitted, with no lock held.
    #[inline(always)]
    pub(crate) fn with_state<R>(
        &'static self,
        frame: &mut Frame,
        user: impl FnOnce(&mut Work<'_>, &mut Current) -> R,
    ) -> Option<R> {
        let mode = self.mode(frame);
        let Frame { sink, call, seen, .. } = frame;
        let mut changed = false;
        let result = self.state.with(|state| {
            state.hand_over(sink);
            let Current { context, left, .. } = *call;
            let mut work = Work { tracker: self, state, sink, context, left };
            let result = user(&mut work, call);
            changed = seen.keep_up(&work.state.objects);
            result
        });
        // What only bulk listeners want may wait until there is more of it, where no other thread's events could come before.
        // Nor may it wait where a communicator has come or gone, whose place may be another's next.
        let may_wait = mode.is_in_bulk() && self.has_home() && !changed;
        if frame.sink.records.len() > MAX_WAITING || !may_wait {
            self.flush(frame);
        }
        result
    }

    /// Raises what waits.
    #[inline]
    pub(crate) fn flush(&self, frame: &mut Frame) {
        frame.raise(self.core, self.level());
    }

    /// The frame of the calling thread.
    #[inline(always)]
    fn frame(&self) -> *mut Frame {
        let home = self.home.load(Ordering::Relaxed);
        if home.is_null() || self.has_threads() { frame::current(self.events) } else { home }
    }

    /// Works with the frame of the calling thread, outside of the hook. Nothing in `user` may do so again.
    pub(crate) fn with_frame<R>(&self, user: impl FnOnce(&mut Frame) -> R) -> R {
        // SAFETY: the frame is this thread's own and lives as long as the thread. Its other user is the hook: that never runs while
        // we are outside of MPI calls or inside of a hook, and `user` calls nothing that comes back here.
        user(unsafe { &mut *self.frame() })
    }

    /// Works on the state outside of the hook.
    pub(crate) fn outside_of_calls<R>(&'static self, user: impl FnOnce(&mut Work<'_>) -> R) -> Option<R> {
        self.with_frame(|frame| self.with_state(frame, |work, _| user(work)))
    }

    /// The frame of the calling thread, which the interception keeps after its first call: it lives as long as the thread.
    #[inline(always)]
    pub(crate) fn frame_kept(&self, kept: &ThreadSlot) -> *mut Frame {
        let known = kept.get().cast::<Frame>();
        if known.is_null() { self.keep_frame(kept) } else { known }
    }

    #[cold]
    #[inline(never)]
    fn keep_frame(&self, kept: &ThreadSlot) -> *mut Frame {
        let frame = self.frame();
        // SAFETY: the frame is this thread's own, and its first hook has not begun to use it.
        self.listeners_changed(unsafe { &mut *frame });
        kept.set(frame.cast());
        let kept = std::ptr::from_ref(kept);
        // SAFETY: what is kept of a thread lives as long as the thread, which is this one.
        mpi_intercept::at_thread_end(move || unsafe { &*kept }.set(std::ptr::null_mut()));
        frame
    }

    /// Whether only one thread calls MPI.
    #[inline(always)]
    pub(crate) fn has_home(&self) -> bool {
        !self.home.load(Ordering::Relaxed).is_null()
    }

    /// Only this thread calls MPI: its frame need not be looked up.
    pub(crate) fn set_home(&self) {
        let frame = frame::current(self.events);
        // SAFETY: the frame is this thread's own, and no hook is running.
        unsafe { &mut *frame }.is_home = true;
        self.home.store(frame, Ordering::Relaxed);
    }

    /// Takes in what has come, as ob1 does where it makes progress, since the call was entered.
    #[inline]
    pub(crate) fn take_in(&'static self, frame: &mut Frame) {
        if self.nothing_has_come() && frame.sink.is_empty() {
            return;
        }
        if self.behind.load(Ordering::Relaxed) {
            self.catch_up(frame);
        } else {
            self.exchange();
        }
        while self.with_state(frame, |work, local| work.take_in_now(local.entered)) == Some(true) {}
    }

    /// Whether a call that makes progress has nothing to take in, as far as can be known without the state: most often so in
    /// calls that are not about messages, of which many threads may be in one at the same time.
    #[inline(always)]
    fn nothing_has_come(&self) -> bool {
        !self.behind.load(Ordering::Relaxed)
            && !self.unseen.load(Ordering::Relaxed)
            && !self.current_mode().defers()
            && !self.mail.is_open()
            && self.ring.get().is_some_and(RingView::is_empty)
    }

    /// Envelopes come in this ring from now on.
    pub(crate) fn watch(&self, ring: &Ring) {
        let _ = self.ring.set(ring.view());
    }

    /// Lets the model catch up with the calls that were deferred.
    #[inline]
    pub(crate) fn catch_up(&'static self, frame: &mut Frame) {
        if self.behind.load(Ordering::Relaxed) && !self.passes_straight() {
            self.exchange();
            while self.with_state(frame, |work, _| work.catch_up_some()) == Some(true) {}
        }
    }

    /// The model catches up with a call that has polled in vain, where one thread calls MPI and that is all that is to be done.
    #[inline(always)]
    fn passes_straight(&self) -> bool {
        let passes = self.has_home()
            && !self.mail.is_open()
            && self.state.with(State::passes_only_vain_poll) == Some(true);
        if passes {
            self.behind.store(false, Ordering::Relaxed);
        }
        passes
    }

    /// Lets the model catch up where calls are not deferred, or so many were that it is [due](Work::is_due).
    #[inline(always)]
    pub(crate) fn catch_up_if_due(&'static self, frame: &mut Frame, is_due: Option<bool>) {
        if is_due == Some(true) || !self.current_mode().defers() {
            self.catch_up(frame);
        }
    }

    /// Lets the model catch up, then works on the state: in one go where there is little to catch up.
    #[inline(always)]
    pub(crate) fn with_caught_up<R>(
        &'static self,
        frame: &mut Frame,
        mut user: impl FnMut(&mut Work<'_>, &mut Current) -> R,
    ) -> Option<R> {
        if self.behind.load(Ordering::Relaxed) {
            self.exchange();
        }
        loop {
            let done = self.with_state(frame, |work, call| {
                if self.behind.load(Ordering::Relaxed) && work.catch_up_some() {
                    return None;
                }
                Some(user(work, call))
            })?;
            if done.is_some() {
                return done;
            }
        }
    }

    /// Whether somebody wants events of requests that are not receives.
    #[inline(always)]
    pub(crate) fn raises_of_sends(&self, frame: &mut Frame) -> bool {
        self.mode(frame);
        frame.sink.wanted & OF_SENDS != 0
    }

    /// What is followed.
    #[inline(always)]
    pub(crate) fn part(&self) -> Part {
        match self.part.load(Ordering::Relaxed) {
            0 => Part::Events,
            1 => Part::Messages,
            _ => Part::Communicators,
        }
    }

    /// Whether a communicator has been made by a request, so that completions matter where only
    /// communicators are followed.
    pub(crate) fn awaits_duplicates(&self) -> bool {
        self.duplicates.load(Ordering::Relaxed)
    }

    /// A communicator is made by a request.
    pub(crate) fn await_duplicates(&self) {
        if !self.duplicates.swap(true, Ordering::Relaxed) && self.part() == Part::Communicators {
            mpi_intercept::ask_again();
        }
    }

    /// Whether the beginning of a call that posts a nonblocking receive is noted.
    pub(crate) fn times_posts(&self) -> bool {
        self.times_posts.load(Ordering::Relaxed)
    }

    /// From now on it is.
    #[inline]
    pub(crate) fn time_posts(&self) {
        if !self.times_posts() && !self.times_posts.swap(true, Ordering::Relaxed) {
            mpi_intercept::ask_again();
        }
    }

    /// Sets what is followed; before anything is.
    pub(crate) fn set_part(&self, part: Part) {
        self.part.store(part as u8, Ordering::Relaxed);
    }
}

impl Work<'_> {
    /// The time now; at the exit of a call the one reading of the clock that all hooks share.
    #[inline(always)]
    pub(crate) fn now(&self) -> Ticks {
        if self.left.0 != 0 { self.left } else { self.tracker.now() }
    }

    /// Follows a communicator from now on.
    pub(crate) fn add_comm(&mut self, handle: usize, context: u64, processes: Processes) {
        let index = self.state.engine.add_comm(self.sink, context);
        let token = Token(handle as u64);
        let object = self.tracker.core.bind(mpit_events::BindKind::Comm, token);
        let Processes { rank, size, peers, inter, group, .. } = processes;
        let made_in = self.context;
        let public = Communicator { token, context, index: index.0, size, rank, inter, group, made_in };
        let destinations: Vec<Destination> = bytemuck::zeroed_vec(usize::try_from(peers).unwrap_or(0));
        self.state.objects.set(index, object.clone(), self.tracker.core.no_object());
        self.state.comms.insert(handle, Comm { public, index, processes, created: 0, object, destinations });
        self.notify(|observer| observer.communicator_created(&public));
    }

    /// The application freed a communicator.
    pub(crate) fn remove_comm(&mut self, handle: usize) {
        if let Some(comm) = self.state.comms.remove(handle) {
            self.notify(|observer| observer.communicator_freed(&comm.public));
            self.state.engine.remove_comm(comm.index);
            self.state.objects.touch(comm.index);
            self.tracker.core.unbind(&comm.object);
        }
    }

    /// Whether so much was deferred that the model should not wait to catch up.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        self.state.deferred.is_full()
    }

    /// Notifies those who want messages.
    #[inline(always)]
    pub(crate) fn notify_of_message(&self, what: impl Fn(&dyn Observer)) {
        self.tracker.observers_of_messages().iter().for_each(|observer| what(*observer));
    }

    /// Notifies those who want collective operations.
    pub(crate) fn notify_of_collective(&self, what: impl Fn(&dyn Observer)) {
        self.tracker.of_collectives.get().into_iter().flatten().for_each(|observer| what(*observer));
    }

    /// The call under way, which was entered at this time.
    pub(crate) fn during(&self, entered: Ticks) -> During {
        During { context: self.context, entered, left: self.left }
    }

    /// Notifies those who want to know what calls have waited for.
    #[inline(always)]
    pub(crate) fn notify_of_waits(&self, what: impl Fn(&dyn Observer)) {
        let tracker = self.tracker;
        let later = tracker.of_waits_later.get();
        tracker.of_waits.get().into_iter().flatten().chain(later).for_each(|observer| what(*observer));
    }

    fn notify(&self, what: impl Fn(&dyn Observer)) {
        self.tracker.observers().iter().for_each(|observer| what(*observer));
    }
}
