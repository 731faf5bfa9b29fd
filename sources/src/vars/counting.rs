//! The store of the variables: it follows the program's calls from the first handle on.
//!
//! What is sent is counted as [`crate::traffic`] says. Beside that it follows what only the root of an all-to-one operation
//! knows, and when handles end.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use mpi_abi::questions;
use mpi_abi::{Abi, Comm, Datatype, Handle};
use mpi_functions::Direction;
use mpi_intercept::{Call, FunctionId, Hook, InThread, Wants};
use mpit_vars::Error;
use mpit_vars::direct::Sent;
use mpit_vars::store::{Amount, Communicator, Everything, Kind, Shape, Store};

use super::counts::{Counts, NO_COMMUNICATOR, Place, Row, Whom};
use super::known::Known;
use crate::traffic::{self, To, Traffic};

/// What is counted, and for which communicators.
#[derive(Debug, Default)]
struct State {
    counts: Counts,
    known: Known,
}

/// What is sent on all communicators.
static SENT: Sent = Sent::new();

impl State {
    fn communicator(&mut self, abi: &Abi, handle: usize) -> Option<u64> {
        self.known.communicator(abi, &mut self.counts, handle)
    }
}

/// The state that the store and the hook share, for the life of the process. No lock of others is taken while it is
/// locked, and MPI is called by its own name only.
type Shared = &'static Mutex<State>;

fn locked(state: Shared) -> MutexGuard<'static, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The counts of this process.
#[derive(Debug)]
pub(super) struct Counting {
    abi: &'static Abi,
    state: Shared,
    begun: OnceLock<Result<(), Error>>,
}

impl Counting {
    /// Counts nothing yet.
    pub(super) fn new(abi: &'static Abi) -> Self {
        let state: Shared = Box::leak(Box::default());
        locked(state).counts.counts_self = traffic::as_component();
        Counting { abi, state, begun: OnceLock::new() }
    }
}

impl Store for Counting {
    fn communicator(&self, handle: u64) -> Option<Communicator> {
        let handle = usize::try_from(handle).ok()?;
        if !self.abi.has_a_world() {
            return None;
        }
        // From now on it must be seen when the communicator is freed. That it cannot, starting says.
        let _ = self.begin();
        let mut state = locked(self.state);
        let id = state.communicator(self.abi, handle)?;
        state.counts.group(id).map(|group| Communicator { id, size: group.ranks.len() })
    }

    fn begin(&self) -> Result<(), Error> {
        *self.begun.get_or_init(|| {
            let traffic = Traffic::new(self.abi, Rows { abi: self.abi, state: self.state });
            let hook = Box::leak(Box::new(Following { abi: self.abi, state: self.state, traffic }));
            mpi_intercept::register(hook).map_err(|_| Error::Failed)
        })
    }

    fn by_peer(&self, communicator: u64, kind: Kind, each: &mut dyn FnMut(usize, Amount)) {
        locked(self.state).counts.by_peer(communicator, kind, each);
    }

    fn operations(&self, communicator: u64, shape: Shape) -> Amount {
        locked(self.state).counts.operations(communicator, shape)
    }

    fn sent(&self) -> Option<&'static Sent> {
        Some(&SENT)
    }

    fn everything(&self) -> Everything {
        let mut state = locked(self.state);
        let runs = self.abi.has_a_world();
        if runs {
            // What a file is named after.
            let _ = state.communicator(self.abi, self.abi.world().word());
        }
        let mut everything = state.counts.everything();
        // Of those that were freed only what was done on them matters.
        let there: Vec<u64> = state.known.all().map(|(_, id)| id).collect();
        everything.communicators.retain(|id, communicator| {
            there.contains(id) || communicator.operations.iter().any(|amount| amount.messages > 0)
        });
        for (handle, id) in state.known.all().filter(|_| runs) {
            if let Some(communicator) = everything.communicators.get_mut(&id) {
                communicator.name = questions::comm_get_name(Comm(handle)).unwrap_or_default();
            }
        }
        everything
    }
}

/// Where the program's messages are counted.
struct Rows {
    abi: &'static Abi,
    state: Shared,
}

impl traffic::Store for Rows {
    type Row = &'static Row;

    fn row(&self, to: To, thread: u16) -> Option<&'static Row> {
        let kind = match to.kind {
            traffic::Kind::Message => Kind::Message,
            traffic::Kind::Put => Kind::Put,
            traffic::Kind::Get => Kind::Get,
            traffic::Kind::Collective => Kind::Collective,
            traffic::Kind::FileRead | traffic::Kind::FileWrite => return None,
        };
        let State { counts, known } = &mut *locked(self.state);
        if matches!(kind, Kind::Put | Kind::Get) {
            let world = known.of_window(self.abi, counts, to.object, to.peer);
            let whom = Whom::One { rank: to.peer, world };
            return counts.row(Place { kind, communicator: NO_COMMUNICATOR, whom, operation: None, thread });
        }
        let communicator = known.communicator(self.abi, counts, to.object)?;
        let group = counts.group(communicator)?;
        let one = |rank: i32| {
            let world =
                usize::try_from(rank).ok().and_then(|rank| group.ranks.get(rank)).copied().unwrap_or(-1);
            Whom::One { rank, world }
        };
        let is_root = to.root < 0 || usize::try_from(to.root).ok() == group.own;
        let whom = match to.function {
            _ if to.peer >= 0 => one(to.peer),
            Some(_) if !is_root => one(to.root),
            Some(function) if goes_up(function) => Whom::Above,
            _ => Whom::Each,
        };
        let operation = to.function.map(|function| (function as u16, shape(function)));
        let total =
            (kind == Kind::Message && !counts.is_self(communicator, whom)).then(|| SENT.of_thread(thread));
        counts.counted_row(Place { kind, communicator, whom, operation, thread }, total)
    }

    #[inline]
    fn count(&self, row: &'static Row, bytes: u64) {
        row.count(bytes);
    }
}

/// The hook.
struct Following {
    abi: &'static Abi,
    state: Shared,
    traffic: &'static Traffic<Rows>,
}

impl Following {
    /// Whether this process is the root of an operation on a communicator, and how many others take part.
    fn others(&self, comm: Comm, root: c_int) -> Option<usize> {
        let mut state = locked(self.state);
        let id = state.communicator(self.abi, comm.word())?;
        let group = state.counts.group(id)?;
        match group.own {
            Some(own) => (usize::try_from(root) == Ok(own)).then(|| group.ranks.len().saturating_sub(1)),
            None => (root == self.abi.constants.root).then_some(group.ranks.len()),
        }
    }

    /// All others have sent this process so many elements each.
    fn equal(&self, comm: Comm, root: c_int, count: i64, datatype: Datatype) {
        if let Some(others) = self.others(comm, root) {
            self.got(comm, bytes(count, datatype).saturating_mul(others as u64));
        }
    }

    /// Each has sent this process its own number of elements.
    fn parts<C: Copy + Into<i64>>(&self, comm: Comm, root: c_int, counts: *const C, datatype: Datatype) {
        let Some(others) = self.others(comm, root) else { return };
        if counts.is_null() {
            return;
        }
        let inter = root == self.abi.constants.root;
        let all = if inter { others } else { others + 1 };
        // SAFETY: the root gives MPI a count for each process of the communicator, which the program cannot have changed
        // since the call that has just returned.
        let counts = unsafe { std::slice::from_raw_parts(counts, all) };
        let from_others = counts.iter().enumerate().filter(|(rank, _)| inter || *rank as c_int != root);
        let elements = from_others.fold(0i64, |sum, (_, &count)| sum.saturating_add(count.into()));
        self.got(comm, bytes(elements, datatype));
    }

    fn got(&self, comm: Comm, bytes: u64) {
        let mut state = locked(self.state);
        if let Some(id) = state.communicator(self.abi, comm.word()) {
            state.counts.received_as_root(id, bytes);
        }
    }
}

/// So many elements, in bytes.
fn bytes(count: i64, datatype: Datatype) -> u64 {
    let size = if count > 0 { questions::bytes_of(datatype) } else { 0 };
    u64::try_from(count).unwrap_or(0).saturating_mul(size)
}

impl Hook for Following {
    fn wants(&self, function: FunctionId) -> Wants {
        use FunctionId as F;
        match function {
            F::Comm_free | F::Comm_disconnect | F::Win_free => Wants::Both,
            // Among these are the all-to-one operations.
            function => self.traffic.wants(function),
        }
    }

    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        self.traffic.enter_in_thread(here, function, call);
        match call {
            Call::Comm_free(a) if !a.comm.is_null() => {
                // SAFETY: the program gives MPI a communicator to free.
                let comm = unsafe { a.comm.read() };
                locked(self.state).known.forget_communicator(comm.word());
            }
            Call::Comm_disconnect(a) if !a.comm.is_null() => {
                // SAFETY: the program gives MPI a communicator to free.
                let comm = unsafe { a.comm.read() };
                locked(self.state).known.forget_communicator(comm.word());
            }
            Call::Win_free(a) if !a.win.is_null() => {
                // SAFETY: the program gives MPI a window to free.
                let win = unsafe { a.win.read() };
                locked(self.state).known.forget_window(win.word());
            }
            _ => {}
        }
    }

    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        self.traffic.leave_in_thread(here, function, call, code);
        if code != self.abi.constants.success {
            return;
        }
        match call {
            Call::Gather(a) => self.equal(a.comm, a.root, a.recvcount, a.recvtype),
            Call::Igather(a) => self.equal(a.comm, a.root, a.recvcount, a.recvtype),
            Call::Reduce(a) => self.equal(a.comm, a.root, a.count, a.datatype),
            Call::Ireduce(a) => self.equal(a.comm, a.root, a.count, a.datatype),
            Call::Gatherv(a) => self.parts(a.comm, a.root, a.recvcounts, a.recvtype),
            Call::Igatherv(a) => self.parts(a.comm, a.root, a.recvcounts, a.recvtype),
            Call::Gatherv_c(a) => self.parts(a.comm, a.root, a.recvcounts, a.recvtype),
            Call::Igatherv_c(a) => self.parts(a.comm, a.root, a.recvcounts, a.recvtype),
            _ => {}
        }
    }
}

fn direction(function: FunctionId) -> Option<Direction> {
    function.about().operation().map(mpi_functions::Operation::direction)
}

/// Its shape, as Open MPI's monitoring component sorts them.
pub(super) fn shape(function: FunctionId) -> Shape {
    match direction(function) {
        Some(Direction::FromRoot) => Shape::OneToAll,
        Some(Direction::ToRoot) => Shape::AllToOne,
        Some(Direction::Upwards | Direction::All | Direction::Neighbours) | None => Shape::AllToAll,
    }
}

/// Whether data goes to processes of higher rank only.
pub(super) fn goes_up(function: FunctionId) -> bool {
    direction(function) == Some(Direction::Upwards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_operation_have_its_shape() {
        use FunctionId as F;
        for function in [F::Bcast, F::Ibcast_c, F::Bcast_init, F::Iscatterv, F::Scatter_c] {
            assert_eq!(shape(function), Shape::OneToAll, "{}", function.name());
        }
        for function in [F::Gather, F::Igatherv_c, F::Reduce_init, F::Ireduce] {
            assert_eq!(shape(function), Shape::AllToOne, "{}", function.name());
        }
        for function in
            [F::Barrier, F::Ibarrier, F::Reduce_scatter, F::Allgather, F::Neighbor_alltoallw, F::Scan]
        {
            assert_eq!(shape(function), Shape::AllToAll, "{}", function.name());
        }
        assert!(goes_up(F::Iexscan_c) && goes_up(F::Scan_init) && !goes_up(F::Allreduce));
    }
}
