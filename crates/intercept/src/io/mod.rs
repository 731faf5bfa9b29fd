//! System calls by which MPI libraries move data, below the MPI calls: `process_vm_readv` and `process_vm_writev` (another
//! process's memory), `send`, `sendmsg`, `writev`, `recv`, `recvmsg` and `readv` (sockets). Interposed, so that a listener can
//! see what a library moves inside its calls; and `close`, so that it can see what a connection has carried before that is gone.
//!
//! Only calls that come from a module of the MPI library, or of the transports below it, are seen ([`modules`]). What the
//! program itself does with these functions goes on to the next function with registers, stack and `errno` as they came, and
//! so does everything while nobody listens.
//!
//! Cost while nobody listens: a load, a branch that is predicted, and a jump. With a listener, a call of the program itself
//! also searches its return address among the modules' addresses.
//!
//! Threads and signals: no lock and no allocation, so that programs may call these functions in signal handlers and after
//! `fork`. A child that a program forks is not listened to. Other interposers, before and behind ours, keep working: the next
//! function of the name is called.
//!
//! x86-64 only, because the return address is taken where a function begins; elsewhere these functions are not interposed.

#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is interposed"))]
mod modules;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is interposed"))]
pub mod ucx;
#[cfg_attr(not(feature = "verbs"), allow(dead_code, reason = "nothing is interposed"))]
pub mod verbs;
#[cfg(target_arch = "x86_64")]
mod way;

use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

pub use modules::is_transport;

/// Whether calls are seen at all on this processor.
pub const AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// A function that is interposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the functions")]
#[repr(u8)]
pub enum Function {
    ProcessVmReadv,
    ProcessVmWritev,
    Writev,
    Sendmsg,
    Send,
    Readv,
    Recvmsg,
    Recv,
}

/// A call of the MPI library that has moved data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The function that was called.
    pub function: Function,
    /// The other process's number, for the functions that have one; otherwise the descriptor.
    pub whose: i32,
    /// How many bytes have moved; never 0.
    pub bytes: u64,
    /// The address of the first byte in this process.
    pub local: usize,
    /// The address of the first byte in the other process; 0 where the function has none.
    pub remote: usize,
}

/// What is called after each such call, on its thread, possibly inside MPI with locks of the library held: it must not call MPI,
/// wait or panic.
pub type Listener = fn(&Moved);

/// What is called before the MPI library closes a descriptor; otherwise as a [`Listener`].
pub type Closing = fn(i32);

/// Not 0 while somebody listens.
static LISTENS: AtomicU8 = AtomicU8::new(0);
/// The [`Listener`], or null.
static LISTENER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// The [`Closing`], or null.
static CLOSING: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Calls `listener` after each call by which the MPI library moves data, and `closing` before it closes a descriptor, in any thread,
/// until [`ignore`]. Later ones take the place of earlier ones. Returns whether calls can be seen here. Allocates the first time.
pub fn listen(listener: Listener, closing: Closing) -> bool {
    if !AVAILABLE {
        return false;
    }
    end_in_children();
    #[cfg(target_arch = "x86_64")]
    entry::resolve_all();
    modules::refresh();
    LISTENER.store(listener as *mut (), Ordering::Release);
    CLOSING.store(closing as *mut (), Ordering::Release);
    LISTENS.store(1, Ordering::Release);
    true
}

/// Ends what [`listen`] has begun: from now on calls go straight on. A listener that another thread is in returns normally.
/// Callable from anywhere.
pub fn ignore() {
    LISTENS.store(0, Ordering::Release);
}

/// The modules of the process may have changed: finds those of the MPI. To be called outside of signal handlers, where the
/// library has loaded its transports, at the end of `MPI_Init*`.
pub fn refresh() {
    modules::refresh();
}

/// Nothing is observed in the children of a fork.
fn end_in_children() {
    static FORKS: Once = Once::new();
    FORKS.call_once(|| {
        // SAFETY: the function takes nothing, stores two bytes, and lives as long as this library, which is not unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// The memory of another rank is not for a child, which is no rank.
unsafe extern "C" fn in_child() {
    ignore();
    ucx::ignore();
}

/// Notifies the listener. `errno` stays as the call has left it.
fn notify(moved: &Moved) {
    let listener = LISTENER.load(Ordering::Acquire);
    if listener.is_null() || LISTENS.load(Ordering::Relaxed) == 0 {
        return;
    }
    // SAFETY: only `listen` stores here, and only functions of this type.
    let listener = unsafe { std::mem::transmute::<*mut (), Listener>(listener) };
    contained(|| listener(moved));
}

/// Says that a descriptor is about to be closed. `errno` stays as it is.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is interposed"))]
fn closing(descriptor: i32) {
    let closing = CLOSING.load(Ordering::Acquire);
    if closing.is_null() || LISTENS.load(Ordering::Relaxed) == 0 {
        return;
    }
    // SAFETY: only `listen` stores here, and only functions of this type.
    let closing = unsafe { std::mem::transmute::<*mut (), Closing>(closing) };
    contained(|| closing(descriptor));
}

/// Whether the code at this address belongs to the MPI library, or a transport of it.
#[cfg(target_arch = "x86_64")]
extern "C" fn is_of_mpi(address: usize) -> bool {
    modules::is_of_mpi(address)
}

/// Whether somebody listens.
#[inline(always)]
fn is_listened_to() -> bool {
    LISTENS.load(Ordering::Relaxed) != 0
}

fn contained(work: impl FnOnce()) {
    let errno = errno();
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(work)) {
        // A fault of ours: the program goes on without being listened to. The payload's destructor might panic in turn.
        ignore();
        std::mem::forget(payload);
    }
    set_errno(errno);
}

fn errno() -> i32 {
    // SAFETY: the C library's function returns the address of this thread's own variable.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: i32) {
    // SAFETY: the C library's function returns the address of this thread's own variable.
    unsafe { *libc::__errno_location() = value };
}
