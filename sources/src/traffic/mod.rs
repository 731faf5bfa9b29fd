//! Who sends what to whom: messages, one-sided operations, collective operations and files, as the program's calls say it.
//!
//! It needs neither the model nor envelopes: a message is counted at the sender, when its call has returned (a persistent one when it is
//! started). Who counts gives the rows ([`Store`]); a thread keeps those that it has used last.
//!
//! - [`collectives`]: the pairs of processes between which a collective operation moves data.
//! - [`persistent`]: what starting a request means.
//! - [`thread`]: what a thread keeps at hand.
//!
//! Must not know: who counts, files, tables.

mod collectives;
mod persistent;
mod thread;

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mel_settings::AS_COMPONENT;
use mpi_abi::{Abi, Datatype, Handle, HandlePtr, Request};
use mpi_functions::{FileCall, Kind as Of, Making, Step, WindowCall};
use mpi_intercept::{Call, FunctionId, Hook, InThread, PerThread, Wants};

use persistent::Persistent;
use thread::Thread;

/// What kind of communication it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A message between two processes.
    #[default]
    Message,
    /// One-sided, to the peer's window.
    Put,
    /// One-sided, from the peer's window.
    Get,
    /// A collective operation.
    Collective,
    /// From a file.
    FileRead,
    /// To a file.
    FileWrite,
}

/// What a message, or an operation, is counted under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct To {
    /// What it is.
    pub kind: Kind,
    /// The handle of the communicator, or of the window; 0 for none.
    pub object: usize,
    /// The peer's rank in it (in the remote group of an intercommunicator); -1 for none, and for collective operations in which the pairs
    /// follow from the function and the root.
    pub peer: i32,
    /// The root's rank in it; -1 for none.
    pub root: i32,
    /// The collective operation.
    pub function: Option<FunctionId>,
}

impl To {
    fn peer(kind: Kind, object: usize, peer: c_int) -> To {
        To { kind, object, peer, root: -1, function: None }
    }
}

/// Who counts. Several threads may call at the same time, each with its own number.
pub trait Store: Sync {
    /// Where something is counted.
    type Row: Copy + Send;

    /// The row of this thread for it; `None` where it is not to be counted. Asked where the thread has no such row at hand.
    fn row(&self, to: To, thread: u16) -> Option<Self::Row>;

    /// Counts a message of so many bytes. Once per message: no lock, no allocation.
    fn count(&self, row: Self::Row, bytes: u64);

    /// Changes when all rows are to be asked for anew, such as when a phase begins.
    fn epoch(&self) -> u32 {
        0
    }
}

/// Whether the user wants to have counted what Open MPI's monitoring component counts, and MEL otherwise does not (`MEL_AS_COMPONENT=1`).
#[must_use]
pub fn as_component() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var(AS_COMPONENT.name).is_ok_and(|value| mel_settings::is_on(&value)))
}

/// Follows the calls that send. Lives as long as the process.
pub struct Traffic<S: Store + 'static> {
    abi: &'static Abi,
    store: S,
    threads: PerThread<Thread<S::Row>>,
    persistent: Persistent,
    /// Counts up when handles may mean something else than before.
    freed: AtomicU32,
    wanted: [Wants; FunctionId::COUNT],
}

impl<S: Store> Traffic<S> {
    /// Counts in `store` once it is registered as a hook.
    pub fn new(abi: &'static Abi, store: S) -> &'static Traffic<S> {
        let mut wanted = [Wants::Nothing; FunctionId::COUNT];
        for function in FunctionId::all() {
            wanted[function.index()] = wants(function);
        }
        Box::leak(Box::new(Traffic {
            abi,
            store,
            threads: PerThread::default(),
            persistent: Persistent::default(),
            freed: AtomicU32::new(0),
            wanted,
        }))
    }

    /// Who counts.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// A persistent operation was made: what it is, is counted when it is started.
    #[cold]
    #[inline(never)]
    fn keep(&self, request: usize, thread: &mut Thread<S::Row>, function: FunctionId, call: &Call<'_>) {
        let mut parts = Vec::new();
        let mut message = |comm: usize, dest, count: i64, datatype: Datatype| {
            if dest >= 0 {
                parts.push((To::peer(Kind::Message, comm, dest), thread.size(count, datatype)));
            }
        };
        match call {
            Call::Send_init(a) => message(a.comm.word(), a.dest, a.count, a.datatype),
            Call::Ssend_init(a) => message(a.comm.word(), a.dest, a.count, a.datatype),
            Call::Bsend_init(a) => message(a.comm.word(), a.dest, a.count, a.datatype),
            Call::Rsend_init(a) => message(a.comm.word(), a.dest, a.count, a.datatype),
            Call::Psend_init(a) => {
                let count = a.count.saturating_mul(a.partitions.into());
                message(a.comm.word(), a.dest, count, a.datatype);
            }
            call => collectives::of(self.abi, thread, function, call, |_, to, bytes| parts.push((to, bytes))),
        }
        self.persistent.keep(request, parts);
    }

    /// Persistent requests have been started.
    fn started(&self, thread: &mut Thread<S::Row>, number: u16, requests: HandlePtr<Request>) {
        let mut starting = std::mem::take(&mut thread.starting);
        for (place, before) in starting.iter().enumerate() {
            // SAFETY: the program gave MPI so many requests.
            let request = unsafe { requests.get(place) }.word();
            if request != *before {
                self.persistent.move_to(*before, request);
            }
            self.persistent.started(request, |to, bytes| thread.count(&self.store, number, to, bytes));
        }
        // Its memory is for the next ones.
        starting.clear();
        thread.starting = starting;
    }

    /// Communication through a window. `MPI_NO_OP` sends nothing; to Open MPI's component it does.
    #[inline(never)]
    fn one_sided(&self, thread: &mut Thread<S::Row>, number: u16, call: &Call<'_>) {
        let (no_op, counts_no_op) = (self.abi.constants.no_op, as_component());
        let mut count = |kind, win: usize, target: c_int, count: i64, datatype: Datatype| {
            if target >= 0 {
                let bytes = thread.size(count, datatype);
                thread.count(&self.store, number, To::peer(kind, win, target), bytes);
            }
        };
        match call {
            Call::Put(a) => {
                count(Kind::Put, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
            }
            Call::Rput(a) => {
                count(Kind::Put, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
            }
            Call::Accumulate(a) => {
                count(Kind::Put, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
            }
            Call::Raccumulate(a) => {
                count(Kind::Put, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
            }
            Call::Get(a) => {
                count(Kind::Get, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
            }
            Call::Rget(a) => {
                count(Kind::Get, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
            }
            Call::Get_accumulate(a) => {
                if a.op != no_op {
                    count(Kind::Put, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
                } else if counts_no_op {
                    // The data at hand has no part in it, and its type may be anything.
                    count(Kind::Put, a.win.word(), a.target_rank, 0, a.result_datatype);
                }
                count(Kind::Get, a.win.word(), a.target_rank, a.result_count, a.result_datatype);
            }
            Call::Rget_accumulate(a) => {
                if a.op != no_op {
                    count(Kind::Put, a.win.word(), a.target_rank, a.origin_count, a.origin_datatype);
                } else if counts_no_op {
                    // The data at hand has no part in it, and its type may be anything.
                    count(Kind::Put, a.win.word(), a.target_rank, 0, a.result_datatype);
                }
                count(Kind::Get, a.win.word(), a.target_rank, a.result_count, a.result_datatype);
            }
            Call::Fetch_and_op(a) => {
                if a.op != no_op || counts_no_op {
                    count(Kind::Put, a.win.word(), a.target_rank, 1, a.datatype);
                }
                count(Kind::Get, a.win.word(), a.target_rank, 1, a.datatype);
            }
            Call::Compare_and_swap(a) => {
                count(Kind::Put, a.win.word(), a.target_rank, 1, a.datatype);
                count(Kind::Get, a.win.word(), a.target_rank, 1, a.datatype);
            }
            _ => {}
        }
    }

    /// What is no message between two processes.
    #[inline(never)]
    fn other(&self, thread: &mut Thread<S::Row>, number: u16, function: FunctionId, call: &Call<'_>) {
        macro_rules! files {
            ($([$($form:ident)*] => $kind:expr;)*) => {
                match call {
                    $($(Call::$form(a) => return {
                        let bytes = thread.size(a.count, a.datatype);
                        thread.count(&self.store, number, To::peer($kind, 0, -1), bytes);
                    },)*)*
                    _ => {}
                }
            };
        }
        match call {
            Call::Start(a) => return self.started(thread, number, a.request),
            Call::Startall(a) => return self.started(thread, number, a.array_of_requests),
            // What handles mean is to be asked for anew.
            Call::Comm_free(_) | Call::Comm_disconnect(_) | Call::Win_free(_) | Call::Type_free(_) => {
                self.freed.fetch_add(1, Ordering::Release);
                return;
            }
            _ => {}
        }
        files! {
            [File_read File_read_all File_read_all_begin File_read_at File_read_at_all File_read_at_all_begin File_read_ordered
             File_read_ordered_begin File_read_shared File_iread File_iread_all File_iread_at File_iread_at_all
             File_iread_shared] => Kind::FileRead;
            [File_write File_write_all File_write_all_begin File_write_at File_write_at_all File_write_at_all_begin
             File_write_ordered File_write_ordered_begin File_write_shared File_iwrite File_iwrite_all File_iwrite_at
             File_iwrite_at_all File_iwrite_shared] => Kind::FileWrite;
        }
        if is_init(function) {
            if let Some(request) = call.request().filter(|request| !request.is_null()) {
                // SAFETY: the call has succeeded and has stored the request.
                self.keep(unsafe { request.read() }.word(), thread, function, call);
            }
            return;
        }
        self.one_sided(thread, number, call);
        collectives::of(self.abi, thread, function, call, |thread, to, bytes| {
            thread.count(&self.store, number, to, bytes);
        });
    }
}

impl<S: Store> Hook for Traffic<S> {
    fn wants(&self, function: FunctionId) -> Wants {
        self.wanted[function.index()]
    }

    fn enter_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>) {
        let (requests, count) = match call {
            Call::Start(a) => (a.request, 1),
            Call::Startall(a) => (a.array_of_requests, usize::try_from(a.count).unwrap_or(0)),
            _ => return self.enter(function, call),
        };
        // SAFETY: `new` makes these, and leaks each.
        let threads: &'static PerThread<_> = unsafe { &*std::ptr::from_ref(&self.threads) };
        // SAFETY: the state is this thread's own, lives as long as the thread, and no hook runs inside a hook.
        let thread = unsafe { &mut (*threads.get(here.slot())).state };
        thread.starting.clear();
        let count = if requests.is_null() { 0 } else { count };
        // SAFETY: the program gives MPI so many requests, which stay its own while they are persistent.
        thread.starting.extend((0..count).map(|place| unsafe { requests.get(place) }.word()));
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        if let Call::Request_free(a) = call
            && !a.request.is_null()
        {
            // SAFETY: the program gives MPI a request to be freed.
            self.persistent.forget(unsafe { a.request.read() }.word());
        }
    }

    /// All that runs per message.
    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, function: FunctionId, call: &mut Call<'_>, code: c_int) {
        if code != self.abi.constants.success {
            return;
        }
        // SAFETY: `new` makes these, and leaks each.
        let threads: &'static PerThread<_> = unsafe { &*std::ptr::from_ref(&self.threads) };
        // SAFETY: the state is this thread's own, lives as long as the thread, and no hook runs inside a hook.
        let lent = unsafe { &mut *threads.get(here.slot()) };
        let (number, thread) = (lent.number, &mut lent.state);
        let freed = self.freed.load(Ordering::Acquire);
        thread.keep_up(u64::from(freed) << 32 | u64::from(self.store.epoch()));
        let (comm, dest, count, datatype) = match call {
            Call::Send(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Isend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Ssend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Bsend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Rsend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Issend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Ibsend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Irsend(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Sendrecv(a) => (a.comm, a.dest, a.sendcount, a.sendtype),
            Call::Sendrecv_replace(a) => (a.comm, a.dest, a.count, a.datatype),
            Call::Isendrecv(a) => (a.comm, a.dest, a.sendcount, a.sendtype),
            Call::Isendrecv_replace(a) => (a.comm, a.dest, a.count, a.datatype),
            call => return self.other(thread, number, function, call),
        };
        if dest >= 0 {
            let bytes = thread.size(count, datatype);
            thread.count(&self.store, number, To::peer(Kind::Message, comm.word(), dest), bytes);
        }
    }
}

/// Whether the function makes a persistent request.
fn is_init(function: FunctionId) -> bool {
    function.about().step == Step::Prepares
}

/// Which functions matter, and at which end.
fn wants(function: FunctionId) -> Wants {
    use FunctionId as F;
    let about = function.about();
    match about.kind {
        Of::Start => Wants::Both,
        Of::Collective(_) | Of::OneSided(_) => Wants::Leave,
        _ if about.sends() => Wants::Leave,
        Of::File { call: FileCall::Read | FileCall::Write, .. } if about.step != Step::Completes => {
            Wants::Leave
        }
        Of::Communicator(Making::Free) | Of::Window(WindowCall::Free) => Wants::Leave,
        _ if function == F::Type_free => Wants::Leave,
        _ if function == F::Request_free => Wants::Enter,
        _ => Wants::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sends_is_wanted_and_what_receives_is_not() {
        use FunctionId as F;
        for function in [F::Send, F::Isend_c, F::Bcast, F::Iallreduce_c, F::Alltoallv_init, F::Put, F::Rput] {
            assert_eq!(wants(function), Wants::Leave, "{}", function.name());
        }
        for function in [F::File_iwrite_at_all, F::File_read_all_begin, F::Neighbor_alltoallw, F::Psend_init]
        {
            assert_eq!(wants(function), Wants::Leave, "{}", function.name());
        }
        for function in [F::Recv, F::Wait, F::Probe, F::Init, F::File_read_all_end, F::File_open, F::Comm_dup]
        {
            assert_eq!(wants(function), Wants::Nothing, "{}", function.name());
        }
        assert_eq!(wants(F::Request_free), Wants::Enter);
        assert_eq!(wants(F::Start), Wants::Both);
        assert!(is_init(F::Bcast_init_c) && is_init(F::Send_init) && !is_init(F::Bcast));
    }
}
