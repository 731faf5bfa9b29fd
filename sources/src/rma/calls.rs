//! What each intercepted MPI call means for windows: the one table of calls.
//!
//! An operation is recorded at the exit of the call that starts it, with the time of its entry: then it has succeeded.
//! A call that synchronises takes at its entry the operations that it completes, so that operations of other threads that
//! begin during it are left for the next call. It reports their completion at its exit.

use std::ffi::{c_int, c_void};

use mpi_abi::{Datatype, Handle, HandlePtr, Request, Win};
use mpi_intercept::{Call, FunctionId, Hook, InThread, Wants};
use mpit_events::Ticks;

use super::events::Moved;
use super::frame::{Awaited, Frame};
use super::operation::{Kind, Operation};
use super::synchronisation::Call as Synchronises;
use super::tracker::Tracker;
use super::window::{self, Base, Window};

/// The operation that a call has started, from its arguments. `$data`: count and datatype, where they have other names.
macro_rules! started_by {
    ($a:ident, $kind:ident) => {
        started_by!($a, $kind, ($a.target_count, $a.target_datatype))
    };
    ($a:ident, $kind:ident, $data:expr) => {{
        let (count, datatype) = $data;
        let (win, target, displacement) = ($a.win, $a.target_rank, $a.target_disp);
        Started { kind: Kind::$kind, win, target, displacement, count, datatype }
    }};
}

/// The tracker as a hook of the interception.
pub(super) struct Calls(pub(super) &'static Tracker);

impl Hook for Calls {
    #[rustfmt::skip]
    fn wants(&self, function: FunctionId) -> Wants {
        use FunctionId as F;
        if !self.0.follows() {
            return Wants::Nothing;
        }
        match function {
            F::Win_create | F::Win_create_c | F::Win_allocate | F::Win_allocate_c | F::Win_allocate_shared
            | F::Win_allocate_shared_c | F::Win_create_dynamic => Wants::Leave,
            F::Win_free => Wants::Both,
            F::Put | F::Put_c | F::Rput | F::Rput_c | F::Get | F::Get_c | F::Rget | F::Rget_c
            | F::Accumulate | F::Accumulate_c | F::Raccumulate | F::Raccumulate_c
            | F::Get_accumulate | F::Get_accumulate_c | F::Rget_accumulate | F::Rget_accumulate_c
            | F::Fetch_and_op | F::Compare_and_swap if self.0.wants_operations() => {
                if self.0.times.are_wanted() { Wants::Both } else { Wants::Leave }
            }
            F::Type_free if self.0.wants_operations() => Wants::Enter,
            F::Win_fence | F::Win_start | F::Win_complete | F::Win_post | F::Win_wait | F::Win_test
            | F::Win_lock | F::Win_lock_all | F::Win_unlock | F::Win_unlock_all | F::Win_flush | F::Win_flush_all
            | F::Win_flush_local | F::Win_flush_local_all if self.0.is_heard() => Wants::Both,
            F::Wait | F::Test | F::Waitall | F::Testall | F::Waitany | F::Testany | F::Waitsome | F::Testsome
            | F::Request_free if self.0.awaits() => Wants::Both,
            _ => Wants::Nothing,
        }
    }

    #[inline]
    fn enter_in_thread(&self, here: InThread<'_>, _: FunctionId, call: &mut Call<'_>) {
        // SAFETY: the frame belongs to this thread, lives as long as that, and is used by one hook call at a time: the
        // interception never runs hooks inside hooks.
        let frame = unsafe { &mut *self.0.frame(here.slot()) };
        enter(self.0, frame, call);
    }

    #[inline]
    fn leave_in_thread(&self, here: InThread<'_>, _: FunctionId, call: &mut Call<'_>, code: c_int) {
        // SAFETY: the frame belongs to this thread, lives as long as that, and is used by one hook call at a time: the
        // interception never runs hooks inside hooks.
        let frame = unsafe { &mut *self.0.frame(here.slot()) };
        let success = code == self.0.success;
        // The most frequent calls take the shortest path.
        let what = match call {
            Call::Put(a) => started_by!(a, Put),
            Call::Get(a) => started_by!(a, Get),
            call => return leave(self.0, frame, call, success),
        };
        if success {
            started(self.0, frame, what, None);
        }
    }
}

/// The window and the meaning of a call that synchronises. `None` for any other call, and where the target is
/// `MPI_PROC_NULL`, which is negative. `exclusive`: the constant of that type of lock.
#[inline]
fn synchronises(call: &Call<'_>, exclusive: c_int) -> Option<(Win, Synchronises)> {
    Some(match call {
        Call::Win_fence(a) => (a.win, Synchronises::Fence),
        Call::Win_start(a) => (a.win, Synchronises::Start),
        Call::Win_complete(a) => (a.win, Synchronises::Complete),
        Call::Win_post(a) => (a.win, Synchronises::Post),
        Call::Win_wait(a) => (a.win, Synchronises::Wait),
        Call::Win_test(a) => (a.win, Synchronises::Wait),
        Call::Win_lock(a) if a.rank >= 0 => (a.win, Synchronises::Lock(a.rank, a.lock_type == exclusive)),
        Call::Win_lock_all(a) => (a.win, Synchronises::LockAll),
        Call::Win_unlock(a) if a.rank >= 0 => (a.win, Synchronises::Unlock(a.rank)),
        Call::Win_unlock_all(a) => (a.win, Synchronises::UnlockAll),
        Call::Win_flush(a) if a.rank >= 0 => (a.win, Synchronises::Flush(a.rank)),
        Call::Win_flush_all(a) => (a.win, Synchronises::FlushAll),
        Call::Win_flush_local(a) if a.rank >= 0 => (a.win, Synchronises::FlushLocal(a.rank)),
        Call::Win_flush_local_all(a) => (a.win, Synchronises::FlushLocalAll),
        _ => return None,
    })
}

fn enter(tracker: &Tracker, frame: &mut Frame, call: &mut Call<'_>) {
    match call {
        Call::Put(_)
        | Call::Rput(_)
        | Call::Get(_)
        | Call::Rget(_)
        | Call::Accumulate(_)
        | Call::Raccumulate(_)
        | Call::Get_accumulate(_)
        | Call::Rget_accumulate(_)
        | Call::Fetch_and_op(_)
        | Call::Compare_and_swap(_) => frame.begun = tracker.now(),
        Call::Win_free(a) => {
            // SAFETY: the application's in-out argument: one handle.
            let handle = unsafe { a.win.read() }.word();
            // Out of the table before MPI can give the handle to another window.
            frame.freed = tracker.windows.remove(handle);
            if let Some(window) = frame.freed.clone() {
                tracker.begin(frame, &window, Synchronises::Free);
            }
        }
        Call::Type_free(_) => tracker.windows.forget(),
        Call::Wait(a) => await_requests(tracker, frame, a.request, 1),
        Call::Test(a) => await_requests(tracker, frame, a.request, 1),
        Call::Waitall(a) => await_requests(tracker, frame, a.array_of_requests, a.count),
        Call::Testall(a) => await_requests(tracker, frame, a.array_of_requests, a.count),
        Call::Waitany(a) => await_requests(tracker, frame, a.array_of_requests, a.count),
        Call::Testany(a) => await_requests(tracker, frame, a.array_of_requests, a.count),
        Call::Waitsome(a) => await_requests(tracker, frame, a.array_of_requests, a.incount),
        Call::Testsome(a) => await_requests(tracker, frame, a.array_of_requests, a.incount),
        Call::Request_free(a) => await_requests(tracker, frame, a.request, 1),
        _ => {
            if let Some((win, call)) = synchronises(call, tracker.abi.constants.lock_exclusive)
                && let Some(window) = frame.take(tracker, win.word())
            {
                tracker.begin(frame, &window, call);
                frame.keep(window);
            }
        }
    }
}

#[inline(never)]
fn leave(tracker: &Tracker, frame: &mut Frame, call: &mut Call<'_>, success: bool) {
    macro_rules! operation {
        ($a:ident, $kind:ident, $request:expr) => {
            operation!(started_by!($a, $kind), $request)
        };
        // Of one element.
        ($a:ident, $kind:ident) => {
            operation!(started_by!($a, $kind, (1, $a.datatype)), None)
        };
        ($what:expr, $request:expr) => {
            if success {
                started_otherwise(tracker, frame, $what, $request);
            }
        };
    }
    match call {
        Call::Rput(a) => operation!(a, Put, Some(a.request)),
        Call::Rget(a) => operation!(a, Get, Some(a.request)),
        Call::Accumulate(a) => operation!(a, Accumulate, None),
        Call::Raccumulate(a) => operation!(a, Accumulate, Some(a.request)),
        Call::Get_accumulate(a) => operation!(a, GetAccumulate, None),
        Call::Rget_accumulate(a) => operation!(a, GetAccumulate, Some(a.request)),
        Call::Fetch_and_op(a) => operation!(a, FetchAndOp),
        Call::Compare_and_swap(a) => operation!(a, CompareAndSwap),
        Call::Win_create(a) if success => created(tracker, a.win, a.comm, Some((a.base, a.disp_unit))),
        Call::Win_allocate(a) if success => {
            created(tracker, a.win, a.comm, Some((given(a.baseptr), a.disp_unit)))
        }
        Call::Win_allocate_shared(a) if success => {
            created(tracker, a.win, a.comm, Some((given(a.baseptr), a.disp_unit)));
        }
        Call::Win_create_dynamic(a) if success => created(tracker, a.win, a.comm, None),
        Call::Win_free(_) => {
            let Some(window) = frame.freed.take() else { return };
            if success {
                tracker.freed(frame, &window);
            } else {
                put_back(tracker, frame, &window);
                tracker.windows.insert(window);
            }
        }
        Call::Wait(a) => requests_completed(tracker, frame, a.request, |_| success),
        Call::Waitall(a) => requests_completed(tracker, frame, a.array_of_requests, |_| success),
        Call::Test(a) => {
            // SAFETY: MPI has filled the flag where it succeeded.
            let done = |_| success && unsafe { a.flag.read() } != 0;
            requests_completed(tracker, frame, a.request, done);
        }
        Call::Testall(a) => {
            // SAFETY: MPI has filled the flag where it succeeded.
            let done = |_| success && unsafe { a.flag.read() } != 0;
            requests_completed(tracker, frame, a.array_of_requests, done);
        }
        Call::Waitany(a) => {
            // SAFETY: MPI has filled the index where it succeeded.
            let done = |place| success && is_at(unsafe { a.index.read() }, place);
            requests_completed(tracker, frame, a.array_of_requests, done);
        }
        Call::Testany(a) => {
            let index = a.index;
            // SAFETY: MPI has filled the flag and, where that is set, the index.
            let done = |place| success && unsafe { a.flag.read() != 0 && is_at(index.read(), place) };
            requests_completed(tracker, frame, a.array_of_requests, done);
        }
        Call::Waitsome(a) => {
            some_completed(tracker, frame, success, a.array_of_requests, a.outcount, a.array_of_indices);
        }
        Call::Testsome(a) => {
            some_completed(tracker, frame, success, a.array_of_requests, a.outcount, a.array_of_indices);
        }
        Call::Request_free(_) => {
            // What completes the window completes it now.
            for Awaited { window, operation, .. } in frame.awaited.drain(..) {
                tracker.put_back(&window, &operation);
            }
        }
        _ => synchronised(tracker, frame, call, success),
    }
}

/// A call that synchronises has returned.
fn synchronised(tracker: &Tracker, frame: &mut Frame, call: &Call<'_>, success: bool) {
    let exclusive = tracker.abi.constants.lock_exclusive;
    let Some((win, what)) = synchronises(call, exclusive) else { return };
    let Some(window) = frame.take(tracker, win.word()) else { return };
    if success {
        passed(tracker, frame, call, what, &window);
    } else {
        put_back(tracker, frame, &window);
    }
    frame.keep(window);
}

/// The call has failed: the operations that it should have completed are pending again.
#[cold]
fn put_back(tracker: &Tracker, frame: &mut Frame, window: &Window) {
    frame.completing.drain(..).for_each(|operation| tracker.put_back(window, &operation));
}

/// A call that synchronises has succeeded.
fn passed(tracker: &Tracker, frame: &mut Frame, call: &Call<'_>, what: Synchronises, window: &Window) {
    let mut opens = true;
    match call {
        Call::Win_fence(a) => {
            let constants = &tracker.abi.constants;
            opens = a.assert & constants.mode_nosucceed == 0;
            if a.assert & constants.mode_noprecede != 0 {
                window.forget_fence_epoch();
            }
        }
        // SAFETY: MPI has filled the flag, because the call succeeded.
        Call::Win_test(a) if unsafe { a.flag.read() } == 0 => return,
        Call::Win_start(a) => {
            let targets = window.group.map_or_else(Vec::new, |of| window::ranks_in(of, a.group));
            window.accessed.with(|accessed| *accessed = targets);
        }
        Call::Win_post(a) if tracker.is_observed() => {
            let origins = window.group.map_or_else(Vec::new, |of| window::ranks_in(of, a.group));
            window.exposed.with(|exposed| *exposed = origins);
        }
        _ => {}
    }
    tracker.end(frame, window, what, opens);
}

/// An operation as the application has started it.
struct Started {
    kind: Kind,
    win: Win,
    target: c_int,
    displacement: isize,
    count: i64,
    datatype: Datatype,
}

/// An operation of one of the less frequent calls.
#[inline(never)]
fn started_otherwise(
    tracker: &Tracker,
    frame: &mut Frame,
    what: Started,
    request: Option<HandlePtr<Request>>,
) {
    started(tracker, frame, what, request);
}

#[inline(always)]
fn started(tracker: &Tracker, frame: &mut Frame, what: Started, request: Option<HandlePtr<Request>>) {
    let Started { kind, win, target, displacement, count, datatype } = what;
    // To MPI_PROC_NULL nothing is done.
    if target < 0 {
        return;
    }
    let id = frame.next_operation();
    let (begun, thread) = (frame.begun, frame.thread);
    // Most often entries are not timed: one store less.
    if begun != Ticks(0) {
        frame.begun = Ticks(0);
    }
    let Some(on) = frame.operation(tracker, win.word(), (count, datatype)) else { return };
    let request = request.filter(|_| kind.brings_data());
    let (address, size) = (on.window.address(target, displacement), on.bytes);
    let has_request = request.is_some();
    let moved = Moved::new(target, address, size);
    let operation = || Operation { id, started: begun, moved, thread, kind, has_request };
    let Some(request) = request else { return tracker.started(on, operation) };
    let window = on.window.clone();
    tracker.started(on, operation);
    // SAFETY: MPI has filled the request, because the call succeeded.
    let handle = unsafe { request.read() }.word();
    tracker.await_request(handle, window, operation());
}

fn created(tracker: &Tracker, win: HandlePtr<Win>, comm: mpi_abi::Comm, base: Option<(*mut c_void, i64)>) {
    // SAFETY: MPI has filled the new handle, because the call succeeded.
    let win = unsafe { win.read() };
    let base = base.map(|(address, unit)| Base { address: address as u64, unit: unit as u64 });
    tracker.created(win, comm, base);
}

/// The memory that MPI has allocated for a window.
fn given(baseptr: *mut c_void) -> *mut c_void {
    if baseptr.is_null() {
        return baseptr;
    }
    // SAFETY: the application's argument is the address of a pointer, which MPI has filled; the application may
    // have put it anywhere.
    unsafe { baseptr.cast::<*mut c_void>().read_unaligned() }
}

/// A call that may complete these requests was entered: it takes the operations among them until it returns.
fn await_requests(tracker: &Tracker, frame: &mut Frame, requests: HandlePtr<Request>, count: c_int) {
    frame.awaited.clear();
    if requests.is_null() || tracker.requests.is_empty() {
        return;
    }
    for place in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the application's array of `count` handles.
        let handle = unsafe { requests.get(place) }.word();
        if let Some((window, operation)) = tracker.requests.take(handle) {
            frame.awaited.push(Awaited { place, handle, window, operation });
        }
    }
}

/// The call has returned. `done`: whether the request at an index of its array is complete.
fn requests_completed(
    tracker: &Tracker,
    frame: &mut Frame,
    requests: HandlePtr<Request>,
    done: impl Fn(usize) -> bool,
) {
    let mut awaited = std::mem::take(&mut frame.awaited);
    for Awaited { place, handle, window, operation } in awaited.drain(..) {
        // A call that fails, because of another request, may have freed this one.
        // SAFETY: the application's array, where the handle was at the entry.
        if done(place) || unsafe { requests.get(place) }.word() != handle {
            tracker.request_completed(frame, &window, &operation);
        } else {
            tracker.await_request(handle, window, operation);
        }
    }
    frame.awaited = awaited;
}

fn some_completed(
    tracker: &Tracker,
    frame: &mut Frame,
    success: bool,
    requests: HandlePtr<Request>,
    outcount: *const c_int,
    indices: *const c_int,
) {
    if frame.awaited.is_empty() {
        return;
    }
    // SAFETY: MPI has filled the count where it succeeded.
    let count = if success { usize::try_from(unsafe { outcount.read() }).unwrap_or(0) } else { 0 };
    // SAFETY: MPI has filled so many elements of the application's array. A negative count (`MPI_UNDEFINED`) is none.
    let done = |place| (0..count).any(|i| is_at(unsafe { indices.add(i).read() }, place));
    requests_completed(tracker, frame, requests, done);
}

fn is_at(index: c_int, place: usize) -> bool {
    usize::try_from(index) == Ok(place)
}
