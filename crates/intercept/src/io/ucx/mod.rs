//! UCX: what MPI libraries that are built on it hand over to it, the messages that they make of collective operations among them.
//!
//! Such a library calls `ucp_tag_send_nbx` and its kin in another library, so that ours come first. Seen are messages (by tag, active, of
//! streams), puts, gets and atomic operations, with the endpoint that they go to; from [`watch`] on also the addresses of the process's
//! own workers and of the worker that each endpoint leads to, by which the peers are found. What UCX does below is not seen here: how
//! often it splits a message, and what it sends for itself.
//!
//! Only calls from a module of the MPI library, or of a transport below it, are seen; a program that uses UCX itself stays unseen.
//!
//! Cost of a call while nobody listens: a load, a branch that is predicted, and a jump. Threads and signals: as in [`super`].

mod abi;
#[cfg(target_arch = "x86_64")]
mod entry;

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use super::contained;

/// What is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// A message.
    Message,
    /// Data for the memory of the other end.
    Put,
    /// Data from the memory of the other end.
    Get,
    /// An atomic operation on the memory of the other end.
    Atomic,
}

/// A call that UCX has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// What it asks for.
    pub act: Act,
    /// The endpoint.
    pub endpoint: usize,
    /// Bytes of data; of a message with an active header, the header's too.
    pub bytes: u64,
    /// The address of the data in this process, or of its description; 0 where there is none.
    pub local: u64,
    /// The address at the other end; 0 for a message.
    pub remote: u64,
}

/// What identifies a worker, in the whole job: how its address begins, which is a number that UCX makes for it.
pub type Worker = u64;

/// Hears of all this. Called inside the library, with locks of it held: it must not call MPI or UCX, or wait. Threads call it at the same
/// time.
#[derive(Clone, Copy)]
pub struct Listener {
    /// The process has this worker.
    pub worker: fn(Worker),
    /// An endpoint leads to this worker from now on, whatever it led to before.
    pub leads: fn(usize, Worker),
    /// UCX has taken something.
    pub handed: fn(&Handed),
}

/// Not 0 while somebody listens.
static LISTENS: AtomicU8 = AtomicU8::new(0);
/// Who hears of it, or null.
static LISTENER: AtomicPtr<Listener> = AtomicPtr::new(ptr::null_mut());

/// Tells `listener` from now on what the MPI library hands over to UCX. To be called before `MPI_Init*` goes on to the library, which makes
/// its workers there. The first listener stays.
pub fn watch(listener: &'static Listener) {
    let listener = ptr::from_ref(listener).cast_mut();
    let former = LISTENER.compare_exchange(ptr::null_mut(), listener, Ordering::AcqRel, Ordering::Relaxed);
    if former.is_ok() && super::AVAILABLE {
        super::end_in_children();
        super::refresh();
        LISTENS.store(1, Ordering::Release);
    }
}

/// Ends it: from now on calls go straight on. Callable from anywhere.
pub fn ignore() {
    LISTENS.store(0, Ordering::Release);
}

/// Tells the listener, if there is one.
fn tell(what: impl FnOnce(&Listener)) {
    // SAFETY: only `watch` stores here, what lives for ever and is not written to.
    let listener = unsafe { LISTENER.load(Ordering::Acquire).as_ref() };
    if let Some(listener) = listener.filter(|_| LISTENS.load(Ordering::Relaxed) != 0) {
        contained(|| what(listener));
    }
}
