//! The function that takes the place of a driver's `post_send`.

use std::ffi::c_int;
use std::mem::{MaybeUninit, transmute};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::abi::{Context, DATAGRAMS, PostSend, Qp, SendWr};
use super::{Posted, Verb, is_listened_to, posted};

/// How many functions of drivers can be replaced; there is one for each driver.
const SLOTS: usize = 8;
/// How many requests of one call are told one by one. Those beyond are told together with the last one.
const REQUESTS: usize = 48;

/// The functions that were replaced.
static FORMER: [AtomicPtr<()>; SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS];
/// Those that take their place.
static OURS: [PostSend; SLOTS] = [
    post_send::<0>,
    post_send::<1>,
    post_send::<2>,
    post_send::<3>,
    post_send::<4>,
    post_send::<5>,
    post_send::<6>,
    post_send::<7>,
];

/// Whether posts through this context are seen.
pub(super) fn is_seen(context: &Context) -> bool {
    context.post_send.is_some_and(is_ours)
}

fn is_ours(function: PostSend) -> bool {
    OURS.iter().any(|ours| *ours as usize == function as usize)
}

/// Exchanges the function in a context that nobody uses yet. Where there are more drivers than places, it stays.
pub(super) fn exchange(context: &mut Context) {
    let Some(function) = context.post_send.filter(|function| !is_ours(*function)) else { return };
    let function = function as *mut ();
    for (place, ours) in FORMER.iter().zip(OURS) {
        let null = ptr::null_mut();
        match place.compare_exchange(null, function, Ordering::AcqRel, Ordering::Acquire) {
            Err(other) if other != function => {}
            _ => {
                context.post_send = Some(ours);
                return;
            }
        }
    }
}

unsafe extern "C-unwind" fn post_send<const SLOT: usize>(
    qp: *mut Qp,
    first: *mut SendWr,
    bad: *mut *mut SendWr,
) -> c_int {
    // SAFETY: this function stands in a context only after the one that it has replaced was stored.
    let former = unsafe { transmute::<*mut (), PostSend>(FORMER[SLOT].load(Ordering::Relaxed)) };
    if !is_listened_to() {
        // SAFETY: the arguments of our caller.
        return unsafe { former(qp, first, bad) };
    }
    // SAFETY: as above.
    unsafe { observed(former, qp, first, bad) }
}

/// Posts, and tells what was accepted.
///
/// # Safety
/// The arguments are those of the caller of `ibv_post_send`.
#[cold]
#[inline(never)]
unsafe fn observed(former: PostSend, qp: *mut Qp, first: *mut SendWr, bad: *mut *mut SendWr) -> c_int {
    let mut requests = Requests::new();
    let mut next = first;
    // Before: a request may be used again as soon as it is complete.
    // SAFETY: the caller's queue pair and list, which are valid until they are posted.
    while let Some(request) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        requests.add(next, unsafe { read(&*qp, request) });
        next = request.next;
    }
    // SAFETY: the arguments of our caller.
    let code = unsafe { former(qp, first, bad) };
    let accepted = if code == 0 {
        requests.all()
    } else {
        // SAFETY: where it fails, it says at which request, unless the caller does not want to know.
        let bad = unsafe { bad.as_ref() }.map_or(first, |bad| *bad);
        requests.before(bad)
    };
    if !accepted.is_empty() {
        posted(accepted);
    }
    code
}

/// What a request asks for; `None` for those that move no data.
///
/// # Safety
/// A request that may be posted to this queue pair.
unsafe fn read(qp: &Qp, request: &SendWr) -> Option<Posted> {
    let verb = match request.opcode {
        0 | 1 | 15 => Verb::Write,
        2 | 3 | 9 | 10 => Verb::Send,
        4 => Verb::Read,
        5 | 6 => Verb::Atomic,
        _ => return None,
    };
    let pieces = if request.pieces.is_null() || request.count <= 0 {
        &[]
    } else {
        // SAFETY: as the caller promises, and so many pieces as the request says.
        unsafe { std::slice::from_raw_parts(request.pieces, request.count as usize) }
    };
    let way = if qp.kind == DATAGRAMS { request.remote as usize } else { ptr::from_ref(qp) as usize };
    Some(Posted {
        verb,
        bytes: pieces.iter().map(|piece| u64::from(piece.length)).sum(),
        local: pieces.iter().find(|piece| piece.length != 0).map_or(0, |piece| piece.address),
        remote: if verb == Verb::Send { 0 } else { request.remote },
        way,
    })
}

/// The requests of one call, without an allocation.
struct Requests {
    posted: [MaybeUninit<Posted>; REQUESTS],
    requests: [*mut SendWr; REQUESTS],
    count: usize,
}

impl Requests {
    fn new() -> Requests {
        Requests {
            posted: [MaybeUninit::uninit(); REQUESTS],
            requests: [ptr::null_mut(); REQUESTS],
            count: 0,
        }
    }

    #[inline]
    fn add(&mut self, request: *mut SendWr, what: Option<Posted>) {
        let Some(what) = what else { return };
        if let Some(place) = self.posted.get_mut(self.count) {
            place.write(what);
            self.requests[self.count] = request;
            self.count += 1;
        } else {
            // SAFETY: all places were written.
            let last = unsafe { self.posted[REQUESTS - 1].assume_init_mut() };
            last.bytes += what.bytes;
        }
    }

    fn all(&self) -> &[Posted] {
        self.first(self.count)
    }

    /// Those before a request, which was refused.
    fn before(&self, refused: *mut SendWr) -> &[Posted] {
        let place = self.requests[..self.count].iter().position(|request| *request == refused);
        // Refused beyond those that are told one by one, or one that moves no data: only what is certain.
        self.first(place.unwrap_or(0))
    }

    fn first(&self, count: usize) -> &[Posted] {
        // SAFETY: the first `self.count` places were written, and `count` is not greater.
        unsafe { std::slice::from_raw_parts(self.posted.as_ptr().cast(), count) }
    }
}
