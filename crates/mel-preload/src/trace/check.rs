//! What `mel run --check` records of calls beside what a trace has: what their data is made of, which operation reduces it, buffers
//! that two operations use at the same time, and messages that were cut off.
//!
//! MPI is asked about datatypes, as a call begins that uses them, once for each until it is freed. A buffer is looked at where its
//! elements are one piece of memory; buffers of persistent requests, collective operations and windows are not. Two uses of a buffer
//! are recorded when the call returns that completes the first: of an operation that ends unseen nothing is known.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi_abi::questions::{bytes_of, signature};
use mpi_abi::{Abi, Datatype, Handle, HandlePtr, Request, pmpi};
use mpi_functions::signature::Signature;
use mpi_functions::{Kind, Operation, Step};
use mpi_intercept::{Call, FunctionId, InThread};

use super::buffers::is_one_piece;
use super::recorder::Recorder;
use mel_log::format::{NO_OBJECT, OF_THE_PROGRAM};
use mel_log::{Described, Overlap, kind};

/// The most operations under way whose buffers are looked at.
const MOST: usize = 4096;
/// The most uses of one buffer that are recorded.
const MOST_USES: usize = 8;

/// The check of this process.
pub(super) struct Check {
    abi: &'static Abi,
    recorder: &'static Recorder,
    types: Mutex<HashMap<usize, Type>>,
    pending: Mutex<Vec<Pending>>,
}

/// What is known of a datatype.
#[derive(Clone, Copy, Debug)]
struct Type {
    signature: Signature,
    /// The bytes of an element, where elements are one piece of memory.
    in_one_piece: Option<u64>,
}

/// A call, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    function: u16,
    site: u16,
}

/// A use of memory by an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Use {
    bytes: Range<usize>,
    writes: bool,
}

impl Use {
    /// Whether two operations may not use memory in these ways at the same time (MPI-5.0, section 3.7.2).
    fn conflicts(&self, other: &Use) -> bool {
        let overlaps = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        overlaps && (self.writes || other.writes)
    }
}

/// An operation that is not complete.
#[derive(Clone, Debug)]
struct Pending {
    request: usize,
    uses: Vec<Use>,
    place: Place,
    /// Who has used its buffer meanwhile.
    others: Vec<Place>,
}

/// The data of a message: where it is, and of what.
type Data = (*const c_void, i64, Datatype);

/// What a call sends and receives in messages of its own.
#[derive(Clone, Copy, Debug, Default)]
struct Messages {
    sent: Option<Data>,
    received: Option<Data>,
}

/// The requests that a call was given: where they are, and what they were as it began.
#[derive(Debug, Default)]
struct Given {
    array: usize,
    requests: Vec<usize>,
}

thread_local! {
    /// Those of the call under way.
    static GIVEN: RefCell<Given> = const { RefCell::new(Given { array: 0, requests: Vec::new() }) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there is something to look at in calls of a function.
pub(super) fn looks_at(function: FunctionId) -> bool {
    let about = function.about();
    let has_requests = about.kind == Kind::Completion || about.kind == Kind::Request;
    let has_data = about.sends() || about.receives() || about.operation().is_some();
    has_data || makes_request(function) || has_requests || frees_types(function)
}

/// Whether calls of a function make a request.
fn makes_request(function: FunctionId) -> bool {
    matches!(function.about().step, Step::Starts | Step::Prepares) && function.about().kind != Kind::Start
}

fn frees_types(function: FunctionId) -> bool {
    function == FunctionId::Type_free
}

fn frees_requests(function: FunctionId) -> bool {
    function == FunctionId::Request_free
}

impl Check {
    pub(super) fn new(abi: &'static Abi, recorder: &'static Recorder) -> Check {
        Check { abi, recorder, types: Mutex::default(), pending: Mutex::default() }
    }

    /// What a datatype is. As a call begins that uses it.
    fn of(&self, datatype: Datatype) -> Type {
        *lock(&self.types).entry(datatype.word()).or_insert_with(|| Type {
            signature: signature(datatype),
            in_one_piece: Some(bytes_of(datatype)).filter(|_| is_one_piece(datatype)),
        })
    }

    /// A call begins.
    pub(super) fn enter(&self, here: InThread<'_>, function: FunctionId, call: &Call<'_>) {
        if let Call::Type_free(a) = call {
            if !a.datatype.is_null() {
                // SAFETY: the program gives MPI the address of a datatype.
                lock(&self.types).remove(&unsafe { a.datatype.read() }.word());
            }
            return;
        }
        let _ = GIVEN.try_with(|given| {
            let mut given = given.borrow_mut();
            given.array = 0;
            given.requests.clear();
            if let Some((requests, count)) = requests(function, call) {
                given.array = requests.as_ptr().addr();
                // SAFETY: the program gives MPI an array of so many requests.
                given.requests.extend((0..count).map(|place| unsafe { requests.get(place) }.word()));
            }
        });
        let messages = Messages::of(self.abi.constants.proc_null, call);
        // Which of several probed messages is received first, the order of the calls does not say.
        let is_matched = matches!(call, Call::Mrecv(_) | Call::Imrecv(_));
        let described = |data: Option<Data>| match data {
            Some((_, _, datatype)) if !is_matched => self.of(datatype).signature.0,
            _ => 0,
        };
        let (sent, received) = (described(messages.sent), described(messages.received));
        if sent != 0 || received != 0 {
            self.describe(Described { sent, received, reduction: 0 });
        }
        let uses = self.uses(&messages);
        if !uses.is_empty() {
            let place = Place { function: function as u16, site: self.recorder.site_of(here.call_site()) };
            used(&mut lock(&self.pending), &uses, place);
        }
    }

    /// The call under way is a collective operation on elements of this type, where that is one.
    pub(super) fn collective(&self, operation: Operation, call: &Call<'_>, datatype: Option<Datatype>) {
        use Operation::{Alltoallv, Alltoallw, NeighborAlltoallv, NeighborAlltoallw};
        // Each pair of processes may have a type of its own.
        let differs = matches!(operation, Alltoallv | Alltoallw | NeighborAlltoallv | NeighborAlltoallw);
        let datatype = datatype.filter(|_| !differs);
        let sent = datatype.map_or(0, |datatype| self.of(datatype).signature.0);
        let reduction = call.op().map_or(0, |op| match self.abi.constants.reduction(op) {
            Some(place) => place as u16 + 1,
            None => OF_THE_PROGRAM,
        });
        if sent != 0 || reduction != 0 {
            self.describe(Described { sent, received: sent, reduction });
        }
    }

    fn describe(&self, described: Described) {
        self.recorder.at_entry(kind::DESCRIBED, NO_OBJECT, &described.to_payload());
    }

    /// Where the messages of a call are in memory.
    fn uses(&self, messages: &Messages) -> Vec<Use> {
        let of = |data: Option<Data>, writes| {
            let (address, count, datatype) = data?;
            let bytes = self.of(datatype).in_one_piece?.checked_mul(u64::try_from(count).ok()?)?;
            let (begin, bytes) = (address.addr(), usize::try_from(bytes).ok()?);
            Some(Use { bytes: begin..begin.checked_add(bytes)?, writes })
        };
        [of(messages.sent, false), of(messages.received, true)].into_iter().flatten().collect()
    }

    /// The call has returned this.
    pub(super) fn leave(&self, here: InThread<'_>, function: FunctionId, call: &Call<'_>, result: c_int) {
        let constants = &self.abi.constants;
        let about = function.about();
        let given = GIVEN.try_with(|given| given.take()).unwrap_or_default();
        if result != constants.success {
            if pmpi::error_class(result) == Some(constants.err_truncate) {
                self.recorder.at_exit(kind::TRUNCATED, NO_OBJECT, &[]);
            } else if about.receives() || about.kind == Kind::Completion {
                self.recorder.at_exit(kind::FAILED, NO_OBJECT, &[]);
            }
            // Which of them are complete is not known.
            given.requests.iter().for_each(|request| _ = end(&mut lock(&self.pending), *request));
            return;
        }
        if let Some(request) = call.request().filter(|request| makes_request(function) && !request.is_null())
        {
            // SAFETY: the call has succeeded, and made a request.
            let request = unsafe { request.read() };
            // What is complete at once may share its request with others.
            if request != constants.request_null && !self.abi.is_shared_request(request) {
                let place =
                    Place { function: function as u16, site: self.recorder.site_of(here.call_site()) };
                // Of persistent requests and collective operations there are none.
                let uses = self.uses(&Messages::of(constants.proc_null, call));
                let new = Pending { request: request.word(), uses, place, others: Vec::new() };
                begin(&mut lock(&self.pending), new);
            }
            return;
        }
        if let Call::Request_get_status(a) = call {
            // SAFETY: MPI has filled the flag, because the call succeeded.
            if !a.flag.is_null() && unsafe { a.flag.read() } != 0 {
                self.ended(a.request.word(), true);
            }
            return;
        }
        let Some((requests, count)) = requests(function, call) else { return };
        let ends_all = about.step == Step::Completes && !about.waits_for_one();
        // Of a call that has begun unseen nothing is known.
        let is_this = given.array == requests.as_ptr().addr() && given.requests.len() == count;
        for (place, before) in given.requests.iter().enumerate().filter(|_| is_this) {
            // SAFETY: the program's array, of which the call has as many requests.
            let is_over = || unsafe { requests.get(place) } == constants.request_null;
            if about.kind == Kind::Request {
                // Freed, or asked about together with others: what becomes of them is not known.
                self.ended(*before, false);
            } else if ends_all || is_over() {
                self.ended(*before, true);
            }
        }
    }

    /// An operation is complete, or nothing is known of it any more.
    fn ended(&self, request: usize, is_complete: bool) {
        let ended = end(&mut lock(&self.pending), request);
        for (first, second) in ended.into_iter().filter(|_| is_complete) {
            let overlap = Overlap {
                function: first.function,
                site: first.site,
                other: second.function,
                other_site: second.site,
            };
            self.recorder.at_exit(kind::OVERLAP, NO_OBJECT, &overlap.to_payload());
        }
    }
}

/// A call uses memory: the operations under way that use it, too, have it noted.
fn used(pending: &mut [Pending], uses: &[Use], place: Place) {
    for one in pending {
        let conflicts = one.uses.iter().any(|own| uses.iter().any(|other| own.conflicts(other)));
        if conflicts && one.others.len() < MOST_USES {
            one.others.push(place);
        }
    }
}

/// An operation has begun.
fn begin(pending: &mut Vec<Pending>, new: Pending) {
    // One with the same request has ended unseen.
    pending.retain(|one| one.request != new.request);
    if pending.len() < MOST && !new.uses.is_empty() {
        pending.push(new);
    }
}

/// An operation is complete: itself, with each that has used its buffer meanwhile.
fn end(pending: &mut Vec<Pending>, request: usize) -> Vec<(Place, Place)> {
    let Some(place) = pending.iter().position(|one| one.request == request) else { return Vec::new() };
    let Pending { place, others, .. } = pending.swap_remove(place);
    others.into_iter().map(|other| (place, other)).collect()
}

/// The requests that a call completes or frees, as far as it can, and how many.
fn requests(function: FunctionId, call: &Call<'_>) -> Option<(HandlePtr<Request>, usize)> {
    let (requests, count) = match call {
        Call::Waitall(a) => (a.array_of_requests, a.count),
        Call::Waitany(a) => (a.array_of_requests, a.count),
        Call::Waitsome(a) => (a.array_of_requests, a.incount),
        Call::Testall(a) => (a.array_of_requests, a.count),
        Call::Testany(a) => (a.array_of_requests, a.count),
        Call::Testsome(a) => (a.array_of_requests, a.incount),
        Call::Request_get_status_all(a) => (a.array_of_requests, a.count),
        Call::Request_get_status_any(a) => (a.array_of_requests, a.count),
        Call::Request_get_status_some(a) => (a.array_of_requests, a.incount),
        call if function.about().kind == Kind::Completion || frees_requests(function) => (call.request()?, 1),
        _ => return None,
    };
    (!requests.is_null()).then(|| (requests, usize::try_from(count).unwrap_or(0)))
}

impl Messages {
    /// Those of a call. Nothing goes to or comes from `nobody`, which is `MPI_PROC_NULL`; without elements a datatype may be anything.
    fn of(nobody: c_int, call: &Call<'_>) -> Messages {
        let data = |peer: c_int, data: Data| (peer != nobody && data.1 > 0).then_some(data);
        macro_rules! sent {
            ($a:ident) => {
                Messages { sent: data($a.dest, ($a.buf, $a.count, $a.datatype)), received: None }
            };
        }
        macro_rules! both {
            ($a:ident) => {
                Messages {
                    sent: data($a.dest, ($a.sendbuf, $a.sendcount, $a.sendtype)),
                    received: data($a.source, ($a.recvbuf.cast_const(), $a.recvcount, $a.recvtype)),
                }
            };
        }
        macro_rules! replaced {
            ($a:ident) => {{
                let all = ($a.buf.cast_const(), $a.count, $a.datatype);
                Messages { sent: data($a.dest, all), received: data($a.source, all) }
            }};
        }
        macro_rules! received {
            ($a:ident, $source:expr) => {
                Messages { sent: None, received: data($source, ($a.buf.cast_const(), $a.count, $a.datatype)) }
            };
        }
        match call {
            Call::Send(a) => sent!(a),
            Call::Ssend(a) => sent!(a),
            Call::Bsend(a) => sent!(a),
            Call::Rsend(a) => sent!(a),
            Call::Isend(a) => sent!(a),
            Call::Issend(a) => sent!(a),
            Call::Ibsend(a) => sent!(a),
            Call::Irsend(a) => sent!(a),
            Call::Sendrecv(a) => both!(a),
            Call::Isendrecv(a) => both!(a),
            Call::Sendrecv_replace(a) => replaced!(a),
            Call::Isendrecv_replace(a) => replaced!(a),
            Call::Recv(a) => received!(a, a.source),
            Call::Irecv(a) => received!(a, a.source),
            // Whether there is a message the request or the status will tell.
            Call::Mrecv(a) => received!(a, nobody.wrapping_add(1)),
            Call::Imrecv(a) => received!(a, nobody.wrapping_add(1)),
            _ => Messages::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(site: u16) -> Place {
        Place { function: 1, site }
    }

    fn operation(request: usize, bytes: Range<usize>, writes: bool) -> Pending {
        Pending {
            request,
            uses: vec![Use { bytes, writes }],
            place: place(request as u16),
            others: Vec::new(),
        }
    }

    #[test]
    fn who_uses_a_buffer_before_its_operation_is_complete_is_told_when_that_is() {
        let mut pending = Vec::new();
        begin(&mut pending, operation(1, 0..8, true));
        begin(&mut pending, operation(2, 8..16, false));
        used(&mut pending, &[Use { bytes: 4..12, writes: false }], place(7));
        used(&mut pending, &[Use { bytes: 8..9, writes: true }], place(8));
        assert_eq!(end(&mut pending, 1), [(place(1), place(7))]);
        assert_eq!(end(&mut pending, 2), [(place(2), place(8))]);
        assert_eq!(end(&mut pending, 2), []);
    }

    #[test]
    fn a_request_that_comes_again_has_ended_before() {
        let mut pending = Vec::new();
        begin(&mut pending, operation(1, 0..8, true));
        used(&mut pending, &[Use { bytes: 0..8, writes: false }], place(7));
        begin(&mut pending, operation(1, 0..8, true));
        assert_eq!(pending.len(), 1);
        // As another one whose buffer is not looked at.
        used(&mut pending, &[Use { bytes: 0..8, writes: false }], place(7));
        begin(&mut pending, Pending { uses: Vec::new(), ..operation(1, 0..8, true) });
        assert_eq!(end(&mut pending, 1), []);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut pending = Vec::new();
        (0..2 * MOST).for_each(|request| begin(&mut pending, operation(request, 0..8, true)));
        (0..100).for_each(|site| used(&mut pending, &[Use { bytes: 0..8, writes: true }], place(site)));
        assert_eq!((pending.len(), end(&mut pending, 0).len()), (MOST, MOST_USES));
    }
}
