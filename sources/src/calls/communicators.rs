//! The calls that are not point-to-point: communicators come and go, and progress is made.

use std::ffi::{CStr, c_char};

use mpi_abi::{Abi, Comm, Handle, HandlePtr, pmpi, questions};
use mpi_functions::{Kind, Making, Step, WindowCall};
use mpi_intercept::{Call, FunctionId, Wants};
use mpit_events::Ticks;

use super::comms::{self, Processes, mix, with_member};
use super::frame::Frame;
use super::requests::{Stage, Tracked};
use super::tracker::{Tracker, Work};

/// The call makes progress from here on.
pub(crate) fn enter(tracker: &'static Tracker, frame: &mut Frame) {
    tracker.catch_up(frame);
    frame.call.entered = tracker.now();
}

pub(crate) fn leave(
    tracker: &'static Tracker,
    frame: &mut Frame,
    function: FunctionId,
    call: &mut Call<'_>,
    success: bool,
) {
    if frame.call.entered.0 != 0 {
        tracker.operated_together(frame);
    }
    if !success {
        return;
    }
    match call {
        Call::Comm_dup(a) => child(tracker, frame, a.comm, a.newcomm, true),
        Call::Comm_dup_with_info(a) => child(tracker, frame, a.comm, a.newcomm, true),
        Call::Comm_idup(a) => duplicate(tracker, frame, a.comm, a.newcomm, a.request),
        Call::Comm_idup_with_info(a) => duplicate(tracker, frame, a.comm, a.newcomm, a.request),
        Call::Comm_create(a) => child(tracker, frame, a.comm, a.newcomm, false),
        Call::Comm_split(a) => child(tracker, frame, a.comm, a.newcomm, false),
        Call::Comm_split_type(a) => child(tracker, frame, a.comm, a.newcomm, false),
        Call::Cart_create(a) => child(tracker, frame, a.comm_old, a.comm_cart, false),
        Call::Cart_sub(a) => child(tracker, frame, a.comm, a.newcomm, false),
        Call::Graph_create(a) => child(tracker, frame, a.comm_old, a.comm_graph, false),
        Call::Dist_graph_create(a) => child(tracker, frame, a.comm_old, a.comm_dist_graph, false),
        Call::Dist_graph_create_adjacent(a) => child(tracker, frame, a.comm_old, a.comm_dist_graph, false),
        Call::Intercomm_merge(a) => child(tracker, frame, a.intercomm, a.newintracomm, false),
        Call::Comm_create_group(a) => by_group(tracker, frame, a.comm, a.newcomm, a.tag),
        Call::Intercomm_create(a) => by_group(tracker, frame, a.local_comm, a.newintercomm, a.tag),
        // Processes of other jobs.
        Call::Comm_spawn(a) => leave_alone(tracker, frame, a.intercomm),
        Call::Comm_spawn_multiple(a) => leave_alone(tracker, frame, a.intercomm),
        Call::Comm_accept(a) => leave_alone(tracker, frame, a.newcomm),
        Call::Comm_connect(a) => leave_alone(tracker, frame, a.newcomm),
        Call::Comm_join(a) => leave_alone(tracker, frame, a.intercomm),
        Call::Comm_create_from_group(a) => from_group(tracker, frame, a.newcomm, a.stringtag),
        Call::Intercomm_create_from_groups(a) => from_group(tracker, frame, a.newintercomm, a.stringtag),
        Call::Psend_init(_) | Call::Precv_init(_) => {
            tracker.with_state(frame, |work, _| work.state.not_followed.partitioned += 1);
        }
        call => {
            if tracker.wants_collectives()
                && let Some(stage) = collective_with_request(function)
                && let (Some(comm), Some(request)) = (call.comm(), call.request())
            {
                keep_collective(tracker, frame, comm, request, stage);
            }
        }
    }
}

/// Whether the call makes a communicator, or ends one, or completes a request by which one is made.
pub(crate) fn changes_communicators(function: FunctionId, awaited: bool) -> bool {
    match function.about().kind {
        Kind::Communicator(Making::Connect | Making::WithoutParent) => false,
        Kind::Communicator(_) => true,
        Kind::Completion => awaited,
        _ => false,
    }
}

/// Which of these calls matter, and at which end.
pub(crate) fn wants(function: FunctionId, collectives: bool) -> Wants {
    let about = function.about();
    match (about.kind, about.step) {
        (Kind::Collective(_), Step::Starts | Step::Prepares) if collectives => Wants::Leave,
        (Kind::Communicator(Making::Free), _) => Wants::Nothing,
        (Kind::Communicator(Making::WithoutParent), _) | (Kind::Communicator(_), Step::Starts) => {
            Wants::Leave
        }
        // Waits for others, so that ob1 makes progress in it.
        (Kind::Collective(_) | Kind::Communicator(_), Step::Blocks) => Wants::Both,
        (Kind::Window(call), Step::Blocks) if makes_progress(call) => Wants::Both,
        (Kind::PartitionedSend | Kind::PartitionedReceive, _) => Wants::Leave,
        _ => Wants::Nothing,
    }
}

/// Whether what a call does with a window waits for others.
fn makes_progress(call: WindowCall) -> bool {
    match call {
        WindowCall::Create
        | WindowCall::Free
        | WindowCall::Fence
        | WindowCall::Wait
        | WindowCall::Flush
        | WindowCall::Unlock
        | WindowCall::Complete => true,
        WindowCall::Start
        | WindowCall::Post
        | WindowCall::Lock
        | WindowCall::FlushLocal
        | WindowCall::Local => false,
    }
}

/// Where the request of a collective operation is after the call that makes it; `None` of a function that makes none.
fn collective_with_request(function: FunctionId) -> Option<Stage> {
    let about = function.about();
    match (about.kind, about.step) {
        (Kind::Collective(_), Step::Starts) => Some(Stage::Once),
        (Kind::Collective(_), Step::Prepares) => Some(Stage::Idle),
        _ => None,
    }
}

/// Remembers the request of a collective operation.
fn keep_collective(
    tracker: &'static Tracker,
    frame: &mut Frame,
    comm: Comm,
    request: HandlePtr<mpi_abi::Request>,
    stage: Stage,
) {
    // SAFETY: MPI has filled the request, because the call succeeded.
    let handle = unsafe { request.read() };
    tracker.with_state(frame, |work, _| {
        let Some(comm) = work.state.comms.get(comm.word()).map(|comm| comm.index) else { return };
        let request = work.state.engine.identity();
        // Complete already, where many share this handle.
        let is_complete = stage == Stage::Once && work.tracker.abi.is_shared_request(handle);
        if !is_complete {
            work.state.requests.insert(handle.word(), Tracked::Collective { comm, request, stage });
        }
        let during = work.during(Ticks(0));
        work.notify_of_collective(|observer| observer.collective_requested(comm.0, request, during));
        if is_complete {
            work.notify_of_collective(|observer| observer.collective_completed(comm.0, request, during));
        }
    });
}

/// A communicator that all processes of its parent made together. `same`: it has all of them.
fn child(tracker: &'static Tracker, frame: &mut Frame, parent: Comm, new: HandlePtr<Comm>, same: bool) {
    // SAFETY: MPI has filled the new handle, because the call succeeded.
    let handle = unsafe { new.read() };
    tracker.with_state(frame, |work, _| {
        // Counted also where this process is not a member: the others count it.
        let Some(identity) = work.state.comms.next_child(parent.word()) else {
            return count_left_alone(work, handle);
        };
        match work.state.comms.get(parent.word()).filter(|_| same).map(|parent| parent.processes) {
            Some(processes) => {
                work.add_comm(handle.word(), with_member(identity, processes.first), processes)
            }
            None => work.follow(handle, identity),
        }
    });
}

/// A communicator of a session. All of its members follow the run, or none does: that begins together.
fn from_group(tracker: &'static Tracker, frame: &mut Frame, new: HandlePtr<Comm>, tag: *const c_char) {
    if !tracker.runs() || tag.is_null() {
        return leave_alone(tracker, frame, new);
    }
    // SAFETY: the program's argument: a C string, which MPI has read.
    let tag = unsafe { CStr::from_ptr(tag) };
    let tag = tag.to_bytes().iter().fold(0, |hash, &byte| mix(hash, byte.into()));
    by_members(tracker, frame, new, tag);
}

/// A communicator is about to be freed. Where it stands for the world another one of the same processes does from now on, if there is one.
pub(crate) fn is_freed(tracker: &'static Tracker, frame: &mut Frame, handle: usize) {
    let abi = tracker.abi;
    if !abi.has_adopted_a_world() || handle != abi.world().word() {
        return;
    }
    match tracker.with_state(frame, |work, _| work.state.comms.another_of_same(handle)).flatten() {
        Some(other) => abi.adopt_world(Comm(other)),
        None => abi.lose_world(),
    }
}

/// A communicator that is not followed.
fn leave_alone(tracker: &'static Tracker, frame: &mut Frame, new: HandlePtr<Comm>) {
    // SAFETY: MPI has filled the new handle, because the call succeeded.
    let handle = unsafe { new.read() };
    tracker.with_state(frame, |work, _| count_left_alone(work, handle));
}

fn count_left_alone(work: &mut Work<'_>, handle: Comm) {
    if handle != work.tracker.abi.constants.comm_null {
        work.state.not_followed.communicators += 1;
    }
}

/// A duplicate that is complete only with its request.
fn duplicate(
    tracker: &'static Tracker,
    frame: &mut Frame,
    parent: Comm,
    new: HandlePtr<Comm>,
    request: HandlePtr<mpi_abi::Request>,
) {
    // SAFETY: MPI has filled the request, because the call succeeded.
    let request = unsafe { request.read() }.word();
    let new = new.as_ptr() as usize;
    tracker.with_state(frame, |work, _| match work.state.comms.next_child(parent.word()) {
        Some(context) => work.state.requests.insert(request, Tracked::Duplicate { context, new }),
        None => work.state.not_followed.communicators += 1,
    });
    tracker.await_duplicates();
}

/// A communicator that only its own members know of: its identity is that of its groups.
fn by_group(tracker: &'static Tracker, frame: &mut Frame, parent: Comm, new: HandlePtr<Comm>, tag: i32) {
    // A parent that is not followed may be a session's: there need not be an MPI_COMM_WORLD then.
    let is_followed = |work: &mut Work<'_>, _: &mut _| work.state.comms.get(parent.word()).is_some();
    if tracker.with_state(frame, is_followed) != Some(true) {
        return leave_alone(tracker, frame, new);
    }
    by_members(tracker, frame, new, tag as u64);
}

/// A communicator whose identity is that of its groups, and a tag that all of its members give.
fn by_members(tracker: &'static Tracker, frame: &mut Frame, new: HandlePtr<Comm>, tag: u64) {
    // SAFETY: MPI has filled the new handle, because the call succeeded.
    let handle = unsafe { new.read() };
    if handle == tracker.abi.constants.comm_null {
        return;
    }
    let local = group_key(tracker.abi, handle, false);
    let inter = questions::comm_test_inter(handle).unwrap_or(false);
    let remote = if inter { group_key(tracker.abi, handle, true) } else { Some(0) };
    let (Some(local), Some(remote)) = (local, remote) else { return leave_alone(tracker, frame, new) };
    // Both sides of an intercommunicator compute the same.
    let key = mix(mix(local.min(remote), local.max(remote)), tag);
    tracker.with_state(frame, |work, _| {
        let identity = work.state.comms.next_of_group(key);
        work.follow(handle, identity);
    });
}

impl Work<'_> {
    /// Follows a new communicator; none (`MPI_COMM_NULL`) is not followed.
    pub(crate) fn follow(&mut self, handle: Comm, identity: u64) {
        if handle == self.tracker.abi.constants.comm_null {
            return;
        }
        if let Some(processes) = self.processes(handle) {
            self.add_comm(handle.word(), with_member(identity, processes.first), processes);
        }
    }

    /// Follows the communicators that are there from the start.
    pub(crate) fn follow_predefined(&mut self) {
        let constants = &self.tracker.abi.constants;
        let world = self.tracker.abi.world();
        for (handle, context) in [(world, comms::WORLD), (constants.comm_self, comms::SELF)] {
            // Where sessions are alone there is nothing predefined.
            if handle != world && self.tracker.abi.has_adopted_a_world() {
                continue;
            }
            if let Some(processes) = self.processes(handle) {
                self.add_comm(handle.word(), context, processes);
            }
        }
    }

    /// Who is in a communicator, as MPI says.
    fn processes(&mut self, handle: Comm) -> Option<Processes> {
        let abi = self.tracker.abi;
        let inter = questions::comm_test_inter(handle).unwrap_or(false);
        let (rank, size) = (questions::comm_rank(handle).ok()?, questions::comm_size(handle).ok()?);
        let peers = if inter { questions::comm_remote_size(handle).unwrap_or(0) } else { size };
        let lowest = |remote| world_rank_of(abi, handle.word(), 0, remote);
        // Both sides of an intercommunicator name the lower of their first members.
        let first = match (inter, size) {
            (true, _) => lowest(false).min(lowest(true))?,
            (false, 1) => self.state.routes.world_rank,
            (false, _) => lowest(false)?,
        };
        Some(Processes { rank, size, peers, inter, first, group: self.state.comms.another_group() })
    }
}

/// The rank in `MPI_COMM_WORLD` of a rank of a communicator; of the remote group if `remote` and
/// there is one. `None` for a process of another job.
pub(crate) fn world_rank_of(abi: &Abi, comm: usize, rank: i32, remote: bool) -> Option<i32> {
    with_group(abi, comm, remote, |group, world| {
        let mut translated = [abi.constants.undefined];
        questions::group_translate_ranks(group, &[rank], world, &mut translated).ok()?;
        (translated[0] != abi.constants.undefined).then_some(translated[0])
    })
}

/// The ranks in `MPI_COMM_WORLD` of all members of a communicator (or of its remote group), −1 for
/// a process of another job. Takes memory for each member.
pub(crate) fn world_ranks(abi: &Abi, comm: usize, remote: bool) -> Vec<i32> {
    let ranks = with_group(abi, comm, remote, |group, world| {
        let size = questions::group_size(group).ok()?;
        let ranks: Vec<i32> = (0..size).collect();
        let mut translated = vec![abi.constants.undefined; ranks.len()];
        questions::group_translate_ranks(group, &ranks, world, &mut translated).ok()?;
        translated
            .iter_mut()
            .for_each(|rank| *rank = if *rank == abi.constants.undefined { -1 } else { *rank });
        Some(translated)
    });
    ranks.unwrap_or_default()
}

/// A hash of the members of a group; `None` where some are of another job.
pub(crate) fn group_key(abi: &Abi, comm: Comm, remote: bool) -> Option<u64> {
    let ranks = world_ranks(abi, comm.word(), remote);
    (!ranks.is_empty() && !ranks.contains(&-1))
        .then(|| ranks.iter().fold(comms::WORLD, |key, &rank| mix(key, rank as u64 + 1)))
}

fn with_group<R>(
    abi: &Abi,
    comm: usize,
    remote: bool,
    user: impl FnOnce(mpi_abi::Group, mpi_abi::Group) -> Option<R>,
) -> Option<R> {
    let comm = Comm(comm);
    let remote = remote && questions::comm_test_inter(comm).unwrap_or(false);
    let group = if remote { questions::comm_remote_group(comm) } else { questions::comm_group(comm) }.ok()?;
    let result = abi.with_world_group(|world| Ok(user(group, world))).ok().flatten();
    let _ = pmpi::group_free(group);
    result
}
