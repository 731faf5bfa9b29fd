//! The functions of UCX that are interposed.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::super::way::{Behind, find_next, interpose};
use super::super::{errno, set_errno};
use super::abi::{self, EndpointParams, PackedSize, Packing, RequestParam, WorkerAttributes};
use super::{Act, Handed, LISTENS, tell};

/// The library.
const LIBRARY: Behind = Behind { file: c"libucp.so.0", version: None };

thread_local! {
    // Constant and without destructors: usable at any time in the life of a thread.
    /// The thread is in a function of UCX, which may be made of another one of them.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
    /// How many bytes the data of a type of the MPI library's own has, as it has told UCX last.
    static PACKED: Cell<u64> = const { Cell::new(0) };
}

/// Whether UCX has taken a call, by what it returns.
trait Outcome {
    fn is_taken(&self) -> bool;
}

/// `ucs_status_t`: errors are negative.
impl Outcome for c_int {
    fn is_taken(&self) -> bool {
        *self >= 0
    }
}

/// `ucs_status_ptr_t`: a request, null where there is no more to do, or an error, of which there are up to 100.
impl Outcome for *mut c_void {
    fn is_taken(&self) -> bool {
        (*self as isize) >= 0 || (*self as isize) < -100
    }
}

/// `UCS_ERR_UNSUPPORTED`, as a status and as a pointer.
unsafe extern "C" fn unsupported() -> isize {
    -22
}

/// Finds the function behind ours of this number, from its caller's address. `errno` stays as it is.
extern "C" fn resolve(number: usize, caller: usize) {
    let before = errno();
    let found = LIBRARY.find(NAMES[number], 0, caller);
    let found = if found.is_null() { unsupported as *mut c_void } else { found };
    NEXT[number].store(found, Ordering::Release);
    set_errno(before);
}
find_next!(resolve, NEXT);

/// Functions of UCX by their numbers, and what goes on where somebody listens.
macro_rules! functions {
    ($($number:literal $name:ident -> $observed:ident;)*) => {
        const NAMES: [&CStr; [$($number),*].len()] = [$(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero byte"),
            }
        ),*];
        /// The function behind each of ours; at first what finds it.
        static NEXT: [AtomicPtr<c_void>; NAMES.len()] =
            [$(AtomicPtr::new(find_next::<$number> as *mut c_void)),*];
        interpose! { LISTENS, NEXT: $($number $name -> $observed;)* }
    };
}

/// The function of UCX that stands behind ours of this number, with its type.
macro_rules! next {
    ($number:literal as $type:ty) => {
        // SAFETY: the library's function of this name has this type.
        unsafe { transmute::<*mut c_void, $type>(NEXT[$number].load(Ordering::Acquire)) }
    };
}

// What moves data: the arguments, the first of which is the endpoint, and of them what is moved, from where to where.
macro_rules! observed {
    ($($number:literal $name:ident($($argument:ident: $type:ty),*) -> $returns:ty {
        $act:ident, $bytes:expr, $local:expr, $remote:expr
    })*) => {$(
        unsafe extern "C-unwind" fn $name(endpoint: usize, $($argument: $type),*) -> $returns {
            let next = next!($number as unsafe extern "C-unwind" fn(usize, $($type),*) -> $returns);
            if IS_WITHIN.replace(true) {
                // SAFETY: the arguments of our caller.
                return unsafe { next(endpoint, $($argument),*) };
            }
            PACKED.set(0);
            // SAFETY: the arguments of our caller.
            let outcome = unsafe { next(endpoint, $($argument),*) };
            IS_WITHIN.set(false);
            if outcome.is_taken() {
                #[allow(unused_unsafe, reason = "some are plain numbers")]
                // SAFETY: the arguments that UCX has taken; the caller keeps what they point to until we return.
                let bytes = unsafe { $bytes };
                let (local, remote) = ($local as u64, $remote);
                tell(|hears| (hears.handed)(&Handed { act: Act::$act, endpoint, bytes, local, remote }));
            }
            outcome
        }
    )*};
}

functions! {
    0 ucp_tag_send_nb -> tag_send_nb;
    1 ucp_tag_send_nbr -> tag_send_nbr;
    2 ucp_tag_send_nbx -> tag_send_nbx;
    3 ucp_tag_send_sync_nb -> tag_send_sync_nb;
    4 ucp_tag_send_sync_nbx -> tag_send_sync_nbx;
    5 ucp_am_send_nb -> am_send_nb;
    6 ucp_am_send_nbx -> am_send_nbx;
    7 ucp_stream_send_nb -> stream_send_nb;
    8 ucp_stream_send_nbx -> stream_send_nbx;
    9 ucp_put -> put;
    10 ucp_put_nb -> put_nb;
    11 ucp_put_nbi -> put_nbi;
    12 ucp_put_nbx -> put_nbx;
    13 ucp_get -> get;
    14 ucp_get_nb -> get_nb;
    15 ucp_get_nbi -> get_nbi;
    16 ucp_get_nbx -> get_nbx;
    17 ucp_atomic_post -> atomic_post;
    18 ucp_atomic_fetch_nb -> atomic_fetch_nb;
    19 ucp_atomic_op_nbx -> atomic_op_nbx;
    20 ucp_ep_create -> ep_create;
    21 ucp_worker_get_address -> worker_get_address;
    22 ucp_worker_query -> worker_query;
    23 ucp_dt_create_generic -> dt_create_generic;
}

type Buffer = *const c_void;
type Other = *mut c_void;
type Param = *const RequestParam;

observed! {
    0 tag_send_nb(buffer: Buffer, count: usize, datatype: u64, tag: u64, callback: Other) -> Other {
        Message, abi::bytes(buffer, count, datatype, PACKED.get()), buffer, 0
    }
    1 tag_send_nbr(buffer: Buffer, count: usize, datatype: u64, tag: u64, request: Other) -> c_int {
        Message, abi::bytes(buffer, count, datatype, PACKED.get()), buffer, 0
    }
    2 tag_send_nbx(buffer: Buffer, count: usize, tag: u64, param: Param) -> Other {
        Message, abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()), buffer, 0
    }
    3 tag_send_sync_nb(buffer: Buffer, count: usize, datatype: u64, tag: u64, callback: Other) -> Other {
        Message, abi::bytes(buffer, count, datatype, PACKED.get()), buffer, 0
    }
    4 tag_send_sync_nbx(buffer: Buffer, count: usize, tag: u64, param: Param) -> Other {
        Message, abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()), buffer, 0
    }
    5 am_send_nb(id: u16, buffer: Buffer, count: usize, datatype: u64, callback: Other, flags: c_uint) -> Other {
        Message, abi::bytes(buffer, count, datatype, PACKED.get()), buffer, 0
    }
    6 am_send_nbx(id: c_uint, header: Buffer, length: usize, buffer: Buffer, count: usize, param: Param) -> Other {
        Message,
        abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()).saturating_add(length as u64),
        buffer,
        0
    }
    7 stream_send_nb(buffer: Buffer, count: usize, datatype: u64, callback: Other, flags: c_uint) -> Other {
        Message, abi::bytes(buffer, count, datatype, PACKED.get()), buffer, 0
    }
    8 stream_send_nbx(buffer: Buffer, count: usize, param: Param) -> Other {
        Message, abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()), buffer, 0
    }
    9 put(buffer: Buffer, length: usize, remote: u64, key: Other) -> c_int {
        Put, length as u64, buffer, remote
    }
    10 put_nb(buffer: Buffer, length: usize, remote: u64, key: Other, callback: Other) -> Other {
        Put, length as u64, buffer, remote
    }
    11 put_nbi(buffer: Buffer, length: usize, remote: u64, key: Other) -> c_int {
        Put, length as u64, buffer, remote
    }
    12 put_nbx(buffer: Buffer, count: usize, remote: u64, key: Other, param: Param) -> Other {
        Put, abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()), buffer, remote
    }
    13 get(buffer: Buffer, length: usize, remote: u64, key: Other) -> c_int {
        Get, length as u64, buffer, remote
    }
    14 get_nb(buffer: Buffer, length: usize, remote: u64, key: Other, callback: Other) -> Other {
        Get, length as u64, buffer, remote
    }
    15 get_nbi(buffer: Buffer, length: usize, remote: u64, key: Other) -> c_int {
        Get, length as u64, buffer, remote
    }
    16 get_nbx(buffer: Buffer, count: usize, remote: u64, key: Other, param: Param) -> Other {
        Get, abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()), buffer, remote
    }
    17 atomic_post(operation: c_int, value: u64, size: usize, remote: u64, key: Other) -> c_int {
        Atomic, size as u64, 0, remote
    }
    18 atomic_fetch_nb(
        operation: c_int, value: u64, result: Other, size: usize, remote: u64, key: Other, callback: Other
    ) -> Other {
        Atomic, size as u64, result, remote
    }
    19 atomic_op_nbx(operation: c_int, buffer: Buffer, count: usize, remote: u64, key: Other, param: Param) -> Other {
        Atomic, abi::bytes(buffer, count, RequestParam::datatype(param), PACKED.get()), buffer, remote
    }
}

unsafe extern "C-unwind" fn ep_create(
    worker: Other,
    params: *const EndpointParams,
    endpoint: *mut usize,
) -> c_int {
    let next = next!(20 as unsafe extern "C-unwind" fn(Other, *const EndpointParams, *mut usize) -> c_int);
    // SAFETY: the arguments of our caller.
    let status = unsafe { next(worker, params, endpoint) };
    if status == 0 {
        // SAFETY: UCX has read the parameters, and written the endpoint.
        let (leads_to, endpoint) = unsafe { (EndpointParams::worker(params), *endpoint) };
        if let Some(leads_to) = leads_to {
            tell(|hears| (hears.leads)(endpoint, leads_to));
        }
    }
    status
}

unsafe extern "C-unwind" fn worker_get_address(
    worker: Other,
    address: *mut *const u8,
    length: *mut usize,
) -> c_int {
    let next = next!(21 as unsafe extern "C-unwind" fn(Other, *mut *const u8, *mut usize) -> c_int);
    // SAFETY: the arguments of our caller.
    let status = unsafe { next(worker, address, length) };
    if status == 0 {
        // SAFETY: UCX has written the address of its worker, and how many bytes the address has.
        if let Some(worker) = unsafe { abi::begin_of(*address, *length) } {
            tell(|hears| (hears.worker)(worker));
        }
    }
    status
}

unsafe extern "C-unwind" fn worker_query(worker: Other, attributes: *mut WorkerAttributes) -> c_int {
    let next = next!(22 as unsafe extern "C-unwind" fn(Other, *mut WorkerAttributes) -> c_int);
    // SAFETY: the arguments of our caller.
    let status = unsafe { next(worker, attributes) };
    if status == 0 {
        // SAFETY: UCX has filled them in.
        if let Some(worker) = unsafe { WorkerAttributes::worker(attributes) } {
            tell(|hears| (hears.worker)(worker));
        }
    }
    status
}

/// How the MPI library says what the data of its types has when it is packed; 0 where it has made none.
static PACKED_SIZE: AtomicUsize = AtomicUsize::new(0);

/// In place of that function: UCX asks when it begins to send.
unsafe extern "C-unwind" fn packed_size(state: *mut c_void) -> usize {
    // SAFETY: what stands in for it was given to UCX after a function of this type was stored.
    let own = unsafe { transmute::<usize, PackedSize>(PACKED_SIZE.load(Ordering::Acquire)) };
    // SAFETY: the argument of our caller.
    let size = unsafe { own(state) };
    PACKED.set(size as u64);
    size
}

/// Types of the MPI library's own say what their data has when it is packed, so that this is known of messages that have such a type. A
/// second way of saying it stays as it is, and its messages have no bytes.
unsafe extern "C-unwind" fn dt_create_generic(
    packing: *const Packing,
    context: Other,
    made: *mut u64,
) -> c_int {
    let next = next!(23 as unsafe extern "C-unwind" fn(*const Packing, Other, *mut u64) -> c_int);
    // SAFETY: null, or the table of our caller, which UCX copies.
    let ours = unsafe { packing.as_ref() }.and_then(|packing| {
        let own = packing.packed_size? as usize;
        let known = PACKED_SIZE.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire);
        let mut copy = *packing;
        copy.packed_size = Some(packed_size);
        known.map_or_else(|known| known == own, |_| true).then_some(copy)
    });
    let packing = ours.as_ref().map_or(packing, ptr::from_ref);
    // SAFETY: the arguments of our caller, or a copy of the table, which UCX copies.
    unsafe { next(packing, context, made) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_and_errors_are_not() {
        let pointer = |value: isize| value as *mut c_void;
        assert!([0, 0x1000, -101].iter().all(|&value| pointer(value).is_taken()));
        assert!([-1, -22, -100].iter().all(|&value| !pointer(value).is_taken()));
        assert!(1.is_taken() && 0.is_taken() && !(-22).is_taken());
    }

    #[test]
    fn without_the_library_nothing_is_supported() {
        resolve(2, 0);
        let found = next!(2 as unsafe extern "C" fn() -> isize);
        // SAFETY: what is found without the library takes nothing.
        assert_eq!(unsafe { found() }, -22);
        assert_eq!((NAMES[2], NAMES.len()), (c"ucp_tag_send_nbx", 24));
    }
}
