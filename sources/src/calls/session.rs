//! The life of the tracker in a process: started in `MPI_Init*`, finished in `MPI_Finalize`.

use std::io;

use mpi_abi::{Abi, Family, pmpi, questions};
use mpit_events::{Core, Error};

use super::comms;
use super::communicators::world_ranks;
use super::descheduled;
use super::mode::{Mode, Part};
use super::observer::Observer;
use super::state::NotFollowed;
use super::table::Calls;
use super::tracker::Tracker;
use crate::between_calls::{self, BetweenCalls};
use crate::matching::{Ob1Events, Truth, Waiting};
use crate::progress_model::Copying;
use crate::transport::clocks::{NodeClock, Nodes};
use crate::transport::memory::{self, node_identity};
use crate::transport::ring::Ring;
use crate::transport::segment::Address;

/// How envelopes travel between processes of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// Through shared memory, where that is possible.
    #[default]
    Best,
    /// In messages of a private communicator, as between nodes.
    Messages,
}

/// The model of ob1, fed with the application's calls.
#[derive(Clone, Copy)]
pub struct Ob1Model(&'static Tracker);

impl Ob1Model {
    /// A model that raises its events in `core`, with `prefix` before their names. It lives as long as the
    /// process.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core has no room for its event types.
    pub fn new(abi: &'static Abi, core: &'static Core, prefix: &str) -> Result<Self, Error> {
        let events = Ob1Events::register(core, prefix)?;
        Ok(Ob1Model(Box::leak(Box::new(Tracker::new(abi, core, events)))))
    }

    pub(super) fn tracker(self) -> &'static Tracker {
        self.0
    }

    /// The hook that follows the application's calls.
    pub fn hook(self) -> &'static Calls {
        Box::leak(Box::new(Calls(self.0)))
    }

    /// Sets who is notified of communicators and messages; once, before [`start`](Ob1Model::start).
    pub fn set_observers(self, observers: Vec<&'static dyn Observer>) {
        self.0.set_observers(observers);
    }

    /// Sets how calls are followed as long as nobody registers callbacks: [`Mode::Profile`], [`Mode::Trace`], or [`Mode::Tool`],
    /// which it is if this is not called; before [`hook`](Ob1Model::hook) is registered.
    pub fn set_mode(self, mode: Mode) {
        self.0.want_mode(mode);
    }

    /// Sets how much of the model runs; before [`start`](Ob1Model::start).
    pub fn set_part(self, part: Part) {
        self.0.set_part(part);
        mpi_intercept::ask_again();
    }

    /// Several threads may call MPI at the same time.
    pub fn set_threads(self) {
        self.0.set_multiple();
    }

    /// The ranks in `MPI_COMM_WORLD` of a communicator's members (or of its remote group); −1 for
    /// processes of another job. Calls MPI; takes memory for each member.
    pub fn members(self, communicator: mpit_events::Token, remote: bool) -> Vec<i32> {
        world_ranks(self.0.abi, communicator.0 as usize, remote)
    }

    /// Begins to follow, at the end of `MPI_Init*`, all processes together. Gives a line for the
    /// user where shared memory cannot be used.
    ///
    /// Where `may_wait`, in all processes, and all are on one node, nothing is followed until one of them has a tool
    /// ([`mpi_intercept::listen`]).
    ///
    /// Calls collectives on `MPI_COMM_WORLD`, which nobody else can use yet. A communicator of our
    /// own is made only for envelopes that go in messages: Open MPI's progress takes longer in every
    /// call once a communicator has been duplicated.
    ///
    /// # Errors
    /// Those of MPI; nothing is followed then.
    pub fn start(self, path: Path, may_wait: bool) -> mpi_abi::Result<Option<String>> {
        let tracker = self.0;
        let abi = tracker.abi;
        let world = abi.world();
        let world_rank = questions::comm_rank(world)?;
        let world_size = questions::comm_size(world)?;
        tracker.outside_of_calls(|work| {
            work.state.routes.world_rank = world_rank;
            // Counted when it was made, before it was known to be the world.
            let counted = u64::from(abi.has_adopted_a_world());
            let left_alone = &mut work.state.not_followed.communicators;
            *left_alone = left_alone.saturating_sub(counted);
        });
        if tracker.part() == Part::Communicators {
            tracker.outside_of_calls(|work| work.follow_predefined());
            tracker.set_runs(true);
            return Ok(None);
        }
        let mut ring =
            if path == Path::Best { Ring::create() } else { Err(io::ErrorKind::Unsupported.into()) };
        if let Ok(ring) = &mut ring {
            ring.set_time(tracker.now());
        }
        // Every process says on which node its ring is, and where, or that it has none.
        let address = ring.as_ref().ok().and_then(Ring::address).unwrap_or(Address::NOWHERE);
        let mut mine = [0; 2 + Address::WORDS];
        mine[..2].copy_from_slice(&node_identity(tracker.clock()));
        mine[2..].copy_from_slice(&address.words());
        let mut all = vec![0; mine.len() * world_size as usize];
        pmpi::allgather(&mine, &mut all, world)?;

        let level = pmpi::query_thread().unwrap_or(abi.constants.thread.multiple);
        if level == abi.constants.thread.single || level == abi.constants.thread.funneled {
            tracker.set_home();
        }
        if level != abi.constants.thread.multiple && !tracker.has_threads() {
            // SAFETY: below that level the program's threads do not call MPI at the same time (MPI-5.0, section 11.6). A thread of
            // ours shares the state first (`set_threads`).
            unsafe { tracker.state.leave_to_one_thread() };
        }
        descheduled::follow(tracker);
        let members: Vec<(i32, Address)> = (0..)
            .zip(all.chunks_exact(mine.len()))
            .filter(|(_, one)| one[..2] == mine[..2])
            .filter_map(|(rank, one)| Some((rank, Address::of_words(one[2..].try_into().ok()?))))
            .collect();
        let own = members.iter().position(|(rank, _)| *rank == world_rank).unwrap_or(0);
        let neighbour = (own + 1) % members.len();
        let neighbour_pid = members[neighbour].1.pid;
        let (reachable, alone, heard) = tracker
            .outside_of_calls(|work| {
                let routes = &mut work.state.routes;
                routes.set_node(members);
                // Whether a neighbour's memory can be opened is so for all of the node.
                let reachable = ring.as_ref().map(|_| ()).map_err(ToString::to_string);
                let reachable = reachable.and_then(|()| {
                    if neighbour == own {
                        Ok(())
                    } else {
                        routes.open(neighbour as u32).map_err(|e| e.to_string())
                    }
                });
                ring.iter().for_each(|ring| tracker.watch(ring));
                routes.ring = ring.ok();
                let heard = if may_wait && reachable.is_ok() { routes.heard() } else { None };
                (reachable, routes.node_is_world(world_size), heard)
            })
            .unwrap_or((Ok(()), true, None));

        // All processes use the same way, so that none waits for envelopes that go the other.
        let mut verdict = [0i32; 3];
        let found = [reachable.is_err(), !alone, heard.is_none()].map(i32::from);
        pmpi::allreduce(&found, &mut verdict, abi.constants.max, world)?;
        let [unreachable, several_nodes, follows] = verdict.map(|any| any != 0);
        if unreachable {
            tracker.outside_of_calls(|work| work.state.routes.forget_node());
        }
        if (unreachable || several_nodes) && abi.has_adopted_a_world() {
            // Envelopes that go in messages need a communicator of ours, which nobody could free.
            self.set_part(Part::Communicators);
            tracker.outside_of_calls(|work| work.follow_predefined());
            tracker.set_runs(true);
            let line = "queues are not followed: of a program of sessions they are where all ranks are on one node, and \
                        share memory";
            return Ok((world_rank == 0).then(|| line.into()));
        }
        if unreachable || several_nodes {
            let nodes = all.chunks_exact(mine.len()).map(|one| [one[0], one[1]]);
            tracker.open_mail(several_nodes.then(|| Nodes::new(nodes, world_rank)))?;
        }
        let floor = tracker.shortest_search();
        let copying = Copying {
            of_64_kib: memory::time_of_64_kib(tracker.clock()),
            at_once: abi.family == Family::OpenMpi && !several_nodes && memory::may_be_read(neighbour_pid),
        };
        tracker.set_copying(copying);
        tracker.outside_of_calls(|work| {
            work.state.engine.set_floor(floor);
            work.follow_predefined();
        });
        tracker.set_runs(true);
        if let Some(heard) = heard.filter(|_| !(follows || several_nodes || unreachable)) {
            tracker.pass_until(heard);
        }
        let warns = unreachable && path == Path::Best && world_rank == 0;
        Ok(warns.then(|| {
            let why = reachable.err().unwrap_or_else(|| "on another rank".into());
            format!("cannot share memory between processes ({why}); envelopes go in messages instead")
        }))
    }

    /// Another communicator stands for the world, and now there is `MPI_COMM_WORLD`, too.
    pub fn follow_late_world(self) {
        let constants = &self.0.abi.constants;
        self.0.outside_of_calls(|work| {
            work.follow(constants.comm_world, comms::LATE_WORLD);
            work.follow(constants.comm_self, comms::SELF);
        });
    }

    /// This node's clock beside that of rank 0, as it was compared at the start and, after [`finish`](Ob1Model::finish),
    /// at the end. Nothing where all processes of the job have one clock.
    pub fn clocks(self) -> Vec<NodeClock> {
        self.0.compared()
    }

    /// Begins to take in envelopes between MPI calls, if that is wanted; at the end of `MPI_Init*`, after
    /// [`start`](Ob1Model::start). Gives a line for the user where it cannot be done.
    pub fn start_progress(self, progress: BetweenCalls) -> Option<String> {
        let line = between_calls::start(self.0, progress).err();
        // Which ends of a call matter depends on which threads there are.
        mpi_intercept::ask_again();
        line.filter(|_| self.0.outside_of_calls(|work| work.state.routes.world_rank) == Some(0))
    }

    /// Calls are followed as those want who listen now: else from the first call on that asks, which may be one that returns. Not inside
    /// a hook of the model.
    pub fn notice_listeners(self) {
        self.0.with_frame(|frame| self.0.mode(frame));
    }

    /// Lets the model follow all that this thread's calls have left for later, and raises the events of that. Not inside a
    /// hook of the model. Gives a number that no request has: those that were made before have lower ones, those that are made
    /// from now on greater ones.
    pub fn catch_up(self) -> u64 {
        self.0.with_frame(|frame| {
            self.0.catch_up(frame);
            self.0.flush(frame);
        });
        self.0.outside_of_calls(|work| work.state.engine.identity()).unwrap_or(0)
    }

    /// The same as [`catch_up`](Ob1Model::catch_up) once per call: one load and no more where nothing was left.
    #[inline]
    pub fn catch_up_in_call(self) {
        self.0.with_frame(|frame| {
            self.0.catch_up(frame);
            self.0.flush(frame);
        });
    }

    /// Lets the model follow all that was left for later, where the calling thread may do that between its MPI calls: it is the
    /// only one that calls MPI. Where several do, nothing is left. Whether the model is up to date.
    pub fn catch_up_between_calls(self) -> bool {
        let tracker = self.0;
        if tracker.has_threads() {
            return true;
        }
        tracker.is_at_home()
            && mpi_intercept::asked(|| {
                tracker.with_frame(|frame| {
                    tracker.catch_up(frame);
                    tracker.flush(frame);
                });
            })
    }

    /// What waits in the queues now, after [`catch_up_between_calls`](Ob1Model::catch_up_between_calls): for each communicator, by its
    /// [index](super::Communicator::index), receives, messages, and bytes of these. `None` where the calling thread may not look, or the
    /// model is not the one that raises events.
    pub fn census(self) -> Option<Vec<Waiting>> {
        let tracker = self.0;
        let may = tracker.part() == Part::Events && (tracker.has_threads() || tracker.is_at_home());
        let mut found = None;
        if may {
            mpi_intercept::asked(|| found = tracker.outside_of_calls(|work| work.state.engine.census()));
        }
        found
    }

    /// Notifies one more observer of what calls have waited for, from now on; only one can be added so.
    pub fn ask_for_waits(self, observer: &'static dyn Observer) {
        self.0.ask_for_waits(observer);
    }

    /// Notifies this observer of the bytes of unexpected messages, as soon as who listens has changed next; only one can be added so.
    pub fn ask_for_bytes(self, observer: &'static dyn Observer) {
        self.0.ask_for_bytes(observer);
    }

    /// Counting receives in the queues may take this share of the run: where they come so densely that it would take more, and who
    /// listens [weighs](mpit_events::BulkListener::weighs), some stand for others. Before any message.
    pub fn set_budget(self, share: f64) {
        self.0.state.with(|state| state.bursts.set_share(share));
    }

    /// Counting begins, ends, or begins anew: no receive stands for one of before.
    pub fn count_anew(self) {
        self.0.state.with(|state| state.bursts.begin_anew());
    }

    /// Whether it is the model that raises the events of the queues.
    pub fn raises(self) -> bool {
        self.0.part() == Part::Events
    }

    /// Whether several threads may work with the model, and raise its events, at the same time.
    #[inline]
    pub fn is_shared(self) -> bool {
        self.0.state.is_shared()
    }

    /// Whether calls are followed later than they return.
    pub fn defers(self) -> bool {
        self.0.current_mode().defers()
    }

    /// Envelopes that were lost until now. In a hook, but not one of the model.
    pub fn lost_in_call(self) -> Option<u64> {
        self.0.outside_of_calls(|work| {
            let in_ring = work.state.routes.ring.as_ref().map_or(0, Ring::lost);
            work.state.engine.truth().dropped.max(in_ring)
        })
    }

    /// Envelopes that were lost until now, where the calling thread may look.
    pub fn lost(self) -> Option<u64> {
        let tracker = self.0;
        let mut lost = None;
        if tracker.has_threads() || tracker.is_at_home() {
            mpi_intercept::asked(|| lost = self.lost_in_call());
        }
        lost
    }

    /// What this process has done until now that is not followed.
    pub fn not_followed(self) -> NotFollowed {
        self.0.outside_of_calls(|work| work.state.not_followed).unwrap_or_default()
    }

    /// Ends, at the beginning of `MPI_Finalize`, all processes together: takes in what is still on
    /// its way, and counts what nobody received.
    pub fn finish(self) -> Truth {
        between_calls::stop();
        let tracker = self.0;
        if tracker.part() == Part::Communicators {
            return Truth::default();
        }
        tracker.exchange();
        // Whatever was sent is in its ring after this.
        let _ = pmpi::barrier(tracker.abi.world());
        tracker.with_frame(|frame| {
            frame.call.entered = tracker.now();
            tracker.take_in(frame);
        });
        tracker.compare_clocks_again();
        tracker.with_frame(|frame| tracker.close_mail(frame));
        self.finish_alone()
    }

    /// Ends without the other processes: the program exits without `MPI_Finalize`.
    pub fn finish_alone(self) -> Truth {
        between_calls::stop();
        self.0.set_runs(false);
        self.0.with_frame(|frame| self.0.catch_up(frame));
        let truth = self.0.outside_of_calls(|work| {
            let mut truth = work.state.engine.close(work.sink);
            // The ring knows also of losses at the end, which no later envelope reveals.
            let lost = work.state.routes.ring.as_ref().map_or(0, Ring::lost);
            truth.dropped = truth.dropped.max(lost);
            truth
        });
        self.0.with_frame(|frame| self.0.flush(frame));
        truth.unwrap_or_default()
    }
}
