//! The tracker: the twin and the tables of one process, who may use them when, and the communicators.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use mpi_abi::{Abi, Family, StatusPtr};
use mpi_intercept::ThreadSlot;
use mpit_events::{Clock, Core, Record, Safety, Ticks, Token};

use super::comms::{Comm, Comms, Destination};
use super::deferral::Deferred;
use super::frame::{self, Buffer, Current, Frame, Objects};
use super::last_look::{Awaits, LastLook};
use super::not_followed::NotFollowed;
use super::observer::{Communicator, Observer};
use super::posts::Posts;
use super::requests::Requests;
use super::routes::Routes;
use super::rows::Rows;
use super::session::Part;
use super::types::TypeSizes;
use crate::Serial;
use crate::shadow::{CommIndex, EAGER_LIMIT, Engine, Envelope, Event, Ob1Events};
use crate::transport::batch::{Mail, Outbox};
use crate::transport::clocks::{NodeClock, Nodes};
use crate::transport::ring::{Lookout, Ring};

/// Events of a send's request.
pub(super) const OF_SENDS: u16 = 1 << Event::RequestActivate as u8
    | 1 << Event::TransferBegin as u8
    | 1 << Event::Transfer as u8
    | 1 << Event::TransferEnd as u8
    | 1 << Event::RequestComplete as u8
    | 1 << Event::Free as u8;

/// Events that may wait to be raised together, where calls defer.
const MAX_WAITING: usize = 64;

/// Follows the application's point-to-point calls.
pub(super) struct Tracker {
    pub(super) abi: &'static Abi,
    pub(super) core: &'static Core,
    pub(super) events: Ob1Events,
    clock: Clock,
    /// Ticks of 30 microseconds.
    long: u64,
    /// When calls look for the last time.
    pub(super) last_look: LastLook,
    /// The size in bytes up to which this MPI sends a message without waiting for its receiver.
    pub(super) prompt: u64,
    /// The size in bytes above which the twin takes a send to wait.
    pub(super) waits_above: u64,
    /// Whether several threads use the state.
    threads: AtomicBool,
    /// Whether several threads of the application call MPI at the same time.
    multiple: AtomicBool,
    defer: AtomicBool,
    /// Whether progress is deferred.
    pub(super) unsettled: AtomicBool,
    /// Whether the state keeps what the next call that makes progress has to take in: envelopes that a look has left, or
    /// events that were told between calls. Written by who has the state.
    pub(super) unseen: AtomicBool,
    /// Whether envelopes wait in this process's ring, for those who have not got the state.
    lookout: OnceLock<Lookout>,
    /// Whether the requests of sends are followed.
    follows_sends: AtomicBool,
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
    pub(super) state: Serial<State>,
    pub(super) mail: Mail,
    /// The clocks of several nodes: at the start, and at the end.
    compared: [OnceLock<NodeClock>; 2],
    /// Which processes share a clock, where not all do.
    nodes: OnceLock<Nodes>,
    observers: OnceLock<Vec<&'static dyn Observer>>,
    /// Those of them that want messages.
    of_messages: OnceLock<Vec<&'static dyn Observer>>,
    wants_messages: AtomicBool,
}

/// What one MPI call at a time works on.
#[derive(Default)]
pub(super) struct State {
    pub(super) engine: Engine,
    pub(super) comms: Comms,
    pub(super) requests: Requests,
    /// Messages taken by matched probes, and their sizes in bytes, by handle.
    pub(super) messages: hashbrown::HashMap<usize, (CommIndex, u64), rustc_hash::FxBuildHasher>,
    pub(super) routes: Routes,
    /// Envelopes that wait to be sent to other nodes.
    pub(super) outbox: Outbox,
    /// Envelopes that came from other nodes.
    pub(super) inbox: VecDeque<Envelope>,
    pub(super) sizes: TypeSizes,
    /// Whether the application has cancelled a request: the status of a receive tells whether it was.
    pub(super) cancels: bool,
    /// The most that calls have had to wait for which completed the nonblocking sends so far.
    pub(super) long_sends: Awaits,
    /// How often the thread had been taken off the processor when it was asked last.
    pub(super) switches: i64,
    pub(super) not_followed: NotFollowed,
    /// Progress that the real library has made and the twin has not yet.
    pub(super) deferred: Deferred,
    /// Receives that the application has posted after that and the twin has not yet.
    pub(super) posts: Posts,
    /// Receives that were posted and completed together, before that.
    pub(super) rows: Rows,
    /// Events of envelopes that were taken in between MPI calls: registrations have heard of them, bulk
    /// listeners hear in the next call.
    pub(super) told: Vec<Record>,
    pub(super) objects: Objects,
    objects_version: u64,
}

/// What is known of how a receive has ended.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    /// Its status tells.
    Told(StatusPtr),
    /// It is complete and cannot have got another message than one with this source and tag.
    AskedFor { source: i32, tag: i32 },
    /// It is complete.
    Unknown,
}

impl Ending {
    /// That of a receive that has not failed nor been cancelled, of which there is no status; wildcards are negative.
    #[inline(always)]
    pub(super) fn asked_for(source: i32, tag: i32) -> Self {
        if source | tag < 0 { Ending::Unknown } else { Ending::AskedFor { source, tag } }
    }
}

/// The operations of one locked use of the state.
pub(super) struct Work<'a> {
    pub(super) tracker: &'static Tracker,
    pub(super) state: &'a mut State,
    pub(super) sink: &'a mut Buffer,
}

impl Tracker {
    /// A tracker of this process; it follows nothing until communicators are added.
    pub(super) fn new(abi: &'static Abi, core: &'static Core, events: Ob1Events) -> Self {
        // ob1 hands more than 256 bytes to shared memory in a buffer, and waits until the receiver has given that back, though
        // up to 4096 bytes need no answer of the receive (`mca_pml_ob1_send_inline`, `mca_btl_vader_send`, Open MPI 4.1).
        let (prompt, waits_above) =
            if abi.family == Family::OpenMpi { (256, 256) } else { (1024, EAGER_LIMIT) };
        Tracker {
            abi,
            core,
            events,
            prompt,
            waits_above,
            clock: Clock::best(),
            long: Clock::best().ticks_per_second() * 30 / 1_000_000,
            last_look: LastLook::of_clock(Clock::best().ticks_per_second()),
            threads: AtomicBool::new(false),
            multiple: AtomicBool::new(false),
            defer: AtomicBool::new(false),
            unsettled: AtomicBool::new(false),
            unseen: AtomicBool::new(false),
            lookout: OnceLock::new(),
            follows_sends: AtomicBool::new(true),
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
        }
    }

    /// Sets who is told of communicators and messages; once, before MPI is initialised.
    pub(super) fn set_observers(&self, observers: Vec<&'static dyn Observer>) {
        let of_messages: Vec<_> =
            observers.iter().copied().filter(|observer| observer.wants_messages()).collect();
        self.wants_messages.store(!of_messages.is_empty(), Ordering::Relaxed);
        let _ = self.of_messages.set(of_messages);
        let _ = self.observers.set(observers);
    }

    /// Several threads may call MPI at the same time from now on.
    pub(super) fn set_multiple(&self) {
        self.multiple.store(true, Ordering::Relaxed);
        self.set_threads();
    }

    /// Several threads use the state from now on.
    pub(super) fn set_threads(&self) {
        self.threads.store(true, Ordering::Relaxed);
        // Calls defer no more, and may have left something.
        self.unseen.store(true, Ordering::Relaxed);
        self.state.set_threads();
    }

    /// The clock of all times here.
    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    /// The clocks of the nodes have been compared, at the start.
    pub(super) fn set_compared(&self, compared: NodeClock, nodes: Nodes) {
        let _ = self.compared[0].set(compared);
        let _ = self.nodes.set(nodes);
    }

    /// Compares the clocks of the nodes at the end, all processes together; where they cannot be, the comparison
    /// of the start has to do.
    pub(super) fn compare_clocks_again(&self) {
        if let (Some(nodes), Some(comm)) = (self.nodes.get(), self.mail.comm())
            && let Ok(compared) = NodeClock::compare(self.clock, nodes, comm)
        {
            let _ = self.compared[1].set(compared);
        }
    }

    /// The comparisons so far.
    pub(super) fn compared(&self) -> Vec<NodeClock> {
        self.compared.iter().filter_map(|compared| compared.get().copied()).collect()
    }

    /// So many ticks in a call are long enough to ask whether the thread was off the processor.
    #[inline(always)]
    pub(super) fn long(&self) -> u64 {
        self.long
    }

    /// The thread was away in earnest where that took more ticks: those of two microseconds.
    pub(super) fn brief(&self) -> u64 {
        self.long / 15
    }

    /// Whether several threads use the state.
    pub(super) fn has_threads(&self) -> bool {
        self.threads.load(Ordering::Relaxed)
    }

    /// The time now.
    #[inline(always)]
    pub(super) fn now(&self) -> Ticks {
        self.clock.now()
    }

    /// What a search costs that looks at one entry, in ticks: measured on a twin of its own, a
    /// thousand searches at a time, because one takes less than a reading of the clock.
    pub(super) fn shortest_search(&self) -> u64 {
        const SEARCHES: u32 = 1000;
        let mut fastest = u64::MAX;
        let mut sink = Buffer::deaf(self.clock, self.events);
        let mut engine = Engine::new();
        let comm = engine.add_comm(&mut sink, 0);
        for source in 0..2 {
            let envelope = Envelope { source, tag: 1, ..Envelope::default() };
            engine.arrive(&mut sink, envelope, Ticks(0));
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

    pub(super) fn observers(&self) -> &[&'static dyn Observer] {
        self.observers.get().map_or(&[], Vec::as_slice)
    }

    /// Those who want messages.
    #[inline(always)]
    pub(super) fn observers_of_messages(&self) -> &[&'static dyn Observer] {
        self.of_messages.get().map_or(&[], Vec::as_slice)
    }

    #[inline(always)]
    pub(super) fn wants_messages(&self) -> bool {
        self.wants_messages.load(Ordering::Relaxed)
    }

    #[inline]
    fn level(&self) -> Safety {
        if self.multiple.load(Ordering::Relaxed) { Safety::ThreadSafe } else { Safety::MpiRestricted }
    }

    /// Works on the state where the twin emits nothing that could not wait.
    #[inline(always)]
    pub(super) fn quietly<R>(
        &'static self,
        frame: &mut Frame,
        user: impl FnOnce(&mut Work<'_>, &mut Current) -> R,
    ) -> Option<R> {
        let Frame { sink, call, .. } = frame;
        let result = self.state.with(|state| {
            state.hand_over(sink);
            user(&mut Work { tracker: self, state, sink }, call)
        });
        if !frame.sink.is_empty() && !self.has_home() {
            // Raises it, with the communicators that other threads have made since.
            self.work(frame, |_, _| ());
        }
        result
    }

    /// Works on the state, then raises what the twin emitted, with no lock held.
    #[inline(always)]
    pub(super) fn work<R>(
        &'static self,
        frame: &mut Frame,
        user: impl FnOnce(&mut Work<'_>, &mut Current) -> R,
    ) -> Option<R> {
        frame.sink.update(self.core, self.part());
        let Frame { sink, call, objects, objects_version, .. } = frame;
        let result = self.state.with(|state| {
            state.hand_over(sink);
            let mut work = Work { tracker: self, state, sink };
            let result = user(&mut work, call);
            if *objects_version != work.state.objects_version {
                *objects = work.state.objects.clone();
                *objects_version = work.state.objects_version;
            }
            result
        });
        // What only bulk listeners want may wait until there is more of it, where no other thread's events could come before.
        let may_wait = self.defers() && self.has_home() && !self.core.has_registrations();
        if frame.sink.records.len() > MAX_WAITING || !may_wait {
            self.flush(frame);
        }
        result
    }

    /// Raises what waits.
    #[inline]
    pub(super) fn flush(&self, frame: &mut Frame) {
        frame.raise(self.core, self.level());
    }

    /// The frame of the calling thread.
    #[inline(always)]
    pub(super) fn frame(&self) -> *mut Frame {
        if self.threads.load(Ordering::Relaxed) {
            return frame::current(self.events);
        }
        let home = self.home.load(Ordering::Relaxed);
        if home.is_null() { frame::current(self.events) } else { home }
    }

    /// The frame of the calling thread, which the interception keeps after its first call.
    #[inline(always)]
    pub(super) fn frame_kept(&self, kept: &ThreadSlot) -> *mut Frame {
        let frame = kept.get().cast::<Frame>();
        if frame.is_null() { self.keep_frame(kept) } else { frame }
    }

    #[cold]
    #[inline(never)]
    fn keep_frame(&self, kept: &ThreadSlot) -> *mut Frame {
        let frame = self.frame();
        // SAFETY: the frame is this thread's own, and its first hook has not begun to use it.
        unsafe { &mut *frame }.sink.update(self.core, self.part());
        kept.set(frame.cast());
        let kept = std::ptr::from_ref(kept);
        // SAFETY: what is kept of a thread lives as long as the thread, which is this one.
        mpi_intercept::at_thread_end(move || unsafe { &*kept }.set(std::ptr::null_mut()));
        frame
    }

    /// Whether only one thread calls MPI.
    #[inline(always)]
    fn has_home(&self) -> bool {
        !self.home.load(Ordering::Relaxed).is_null()
    }

    /// Only this thread calls MPI: its frame need not be looked up.
    pub(super) fn set_home(&self) {
        let frame = frame::current(self.events);
        // SAFETY: the frame is this thread's own, and no hook is running.
        unsafe { &mut *frame }.is_home = true;
        self.home.store(frame, Ordering::Relaxed);
    }

    /// Takes in what has come, as ob1 does where it makes progress. `entered` is when the call
    /// that makes progress began.
    #[inline]
    pub(super) fn drain(&'static self, frame: &mut Frame) {
        if self.nothing_has_come() && frame.sink.is_empty() {
            return;
        }
        if self.unsettled.load(Ordering::Relaxed) {
            self.settle(frame);
        } else {
            self.exchange();
        }
        while self.work(frame, |work, local| work.drain_all(local.entered)) == Some(true) {}
    }

    /// Whether a call that makes progress has nothing to take in, as far as can be told without the state: most often so in
    /// calls that are not about messages, of which many threads may be in one at the same time.
    #[inline(always)]
    fn nothing_has_come(&self) -> bool {
        !self.unsettled.load(Ordering::Relaxed)
            && !self.unseen.load(Ordering::Relaxed)
            && !self.defers()
            && !self.mail.is_open()
            && self.lookout.get().is_some_and(Lookout::is_empty)
    }

    /// Envelopes come in this ring from now on.
    pub(super) fn watch(&self, ring: &Ring) {
        let _ = self.lookout.set(ring.lookout());
    }

    /// Lets the twin catch up with what calls have deferred.
    #[inline]
    pub(super) fn settle(&'static self, frame: &mut Frame) {
        if !self.unsettled.load(Ordering::Relaxed) {
            return;
        }
        self.exchange();
        while self.work(frame, |work, _| work.settle_some()) == Some(true) {}
    }

    /// Whether somebody wants to know of requests that are not receives.
    #[inline(always)]
    pub(super) fn tells_of_sends(&self, frame: &mut Frame) -> bool {
        frame.sink.update(self.core, self.part());
        frame.sink.wanted & OF_SENDS != 0
    }

    /// Lets the twin catch up where calls do not leave that for later, or have left much.
    #[inline]
    pub(super) fn settle_if_due(&'static self, frame: &mut Frame) {
        if !self.defers() || self.quietly(frame, |work, _| work.state.deferred.is_full()) == Some(true) {
            self.settle(frame);
        }
    }

    /// Lets the twin catch up, then works on the state: in one go where there is little to catch up.
    #[inline(always)]
    pub(super) fn settled<R>(
        &'static self,
        frame: &mut Frame,
        mut user: impl FnMut(&mut Work<'_>, &mut Current) -> R,
    ) -> Option<R> {
        if self.unsettled.load(Ordering::Relaxed) {
            self.exchange();
        }
        loop {
            let done = self.work(frame, |work, call| {
                if self.unsettled.load(Ordering::Relaxed) && work.settle_some() {
                    return None;
                }
                Some(user(work, call))
            })?;
            if done.is_some() {
                return done;
            }
        }
    }

    /// Whether calls leave their progress for later: not where several threads call MPI.
    #[inline]
    pub(super) fn defers(&self) -> bool {
        self.defer.load(Ordering::Relaxed) && !self.threads.load(Ordering::Relaxed)
    }

    /// Whether the receiver of a message is told of it after the send has returned: nobody wants to hear in the call of
    /// what it does.
    #[inline(always)]
    pub(super) fn tells_after(&self, frame: &mut Frame) -> bool {
        self.defers()
            && (!self.follows_sends() || !self.core.has_registrations() && !self.tells_of_sends(frame))
    }

    /// Sets whether the requests of sends are followed; before the hook is registered.
    pub(super) fn set_following_sends(&self, follow: bool) {
        self.follows_sends.store(follow, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(super) fn follows_sends(&self) -> bool {
        self.follows_sends.load(Ordering::Relaxed)
    }

    /// What is followed.
    #[inline(always)]
    pub(super) fn part(&self) -> Part {
        match self.part.load(Ordering::Relaxed) {
            0 => Part::Events,
            1 => Part::Messages,
            _ => Part::Communicators,
        }
    }

    /// Whether a communicator has been made by a request, so that completions matter where only
    /// communicators are followed.
    pub(super) fn awaits_duplicates(&self) -> bool {
        self.duplicates.load(Ordering::Relaxed)
    }

    /// A communicator is made by a request.
    pub(super) fn await_duplicates(&self) {
        if !self.duplicates.swap(true, Ordering::Relaxed) && self.part() == Part::Communicators {
            mpi_intercept::ask_again();
        }
    }

    /// Whether the beginning of a call that posts a nonblocking receive is noted.
    pub(super) fn times_posts(&self) -> bool {
        self.times_posts.load(Ordering::Relaxed)
    }

    /// From now on it is.
    #[inline]
    pub(super) fn time_posts(&self) {
        if !self.times_posts() && !self.times_posts.swap(true, Ordering::Relaxed) {
            mpi_intercept::ask_again();
        }
    }

    /// Sets what is followed; before anything is.
    pub(super) fn set_part(&self, part: Part) {
        self.part.store(part as u8, Ordering::Relaxed);
    }

    /// Sets whether calls leave their progress for later.
    pub(super) fn set_deferring(&self, defer: bool) {
        self.defer.store(defer, Ordering::Relaxed);
    }
}

impl State {
    /// Puts what bulk listeners have not heard of yet before what the coming work emits.
    #[inline(always)]
    fn hand_over(&mut self, sink: &mut Buffer) {
        if !self.told.is_empty() {
            sink.take(&mut self.told);
        }
    }
}

impl Work<'_> {
    /// Follows a communicator from now on.
    pub(super) fn add_comm(
        &mut self,
        handle: usize,
        context: u64,
        rank: i32,
        size: i32,
        peers: i32,
        inter: bool,
    ) {
        let index = self.state.engine.add_comm(self.sink, context);
        let token = Token(handle as u64);
        let object = self.tracker.core.bind(mpit_events::BindKind::Comm, token);
        let public = Communicator { token, context, index: index.0, size, inter };
        let destinations: Vec<Destination> = bytemuck::zeroed_vec(usize::try_from(peers).unwrap_or(0));
        let mut objects = Vec::clone(&self.state.objects);
        objects.resize(objects.len().max(index.0 as usize + 1), self.tracker.core.no_object());
        objects[index.0 as usize] = object.clone();
        self.state.objects = Objects::new(objects);
        self.state.objects_version += 1;
        self.state.comms.insert(handle, Comm { public, index, rank, created: 0, object, destinations });
        self.tell(|observer| observer.communicator_created(&public));
    }

    /// The application freed a communicator.
    pub(super) fn remove_comm(&mut self, handle: usize) {
        if let Some(comm) = self.state.comms.remove(handle) {
            self.tell(|observer| observer.communicator_freed(&comm.public));
            self.state.engine.remove_comm(comm.index);
            self.state.deferred.boxes.forget(comm.public.context);
            self.tracker.core.unbind(&comm.object);
        }
    }

    /// Tells those who want messages.
    #[inline(always)]
    pub(super) fn tell_of_message(&self, what: impl Fn(&dyn Observer)) {
        self.tracker.observers_of_messages().iter().for_each(|observer| what(*observer));
    }

    fn tell(&self, what: impl Fn(&dyn Observer)) {
        self.tracker.observers().iter().for_each(|observer| what(*observer));
    }
}
