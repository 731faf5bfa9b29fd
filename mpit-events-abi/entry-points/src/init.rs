//! Initialisation of the tool information interface: MPI's own, counted.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpi_abi::{Abi, Family, pmpi};
use mpit_events::{Core, core};

use crate::args::Out;
use crate::entry::guarded;
use crate::failure::Failure;
use crate::forward::forward;
use crate::{compose, controls, handle, variables};

/// How often `MPI_T_init_thread` was called more than `MPI_T_finalize`.
static INITIALIZED: AtomicUsize = AtomicUsize::new(0);

/// The core, once the interface is initialised. Signal-safe.
pub(crate) fn ready() -> Result<&'static Core, Failure> {
    if INITIALIZED.load(Ordering::Acquire) == 0 { Err(Failure::NotInitialized) } else { Ok(core()) }
}

/// Whether any tool uses the interface now: it was initialised and not yet ended as often. Thread-safe and
/// signal-safe.
pub fn is_initialized() -> bool {
    INITIALIZED.load(Ordering::Acquire) != 0
}

thread_local! {
    /// Whether this thread is inside one of the functions below. Another tool behind us may come
    /// back to the other name: that is the same call, not a second one.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `call` and tells it whether it is the outermost one of this thread.
fn once<R>(call: impl FnOnce(bool) -> R) -> R {
    struct Leave(bool);
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let outer = Leave(INSIDE.replace(true));
    call(!outer.0)
}

fn init(required: c_int, provided: *mut c_int, profiling: bool) -> Result<(), Failure> {
    // The event types are there as soon as the interface is.
    mpi_intercept::start();
    once(|outermost| {
        let code = forward!(c"MPI_T_init_thread", profiling, (required => c_int, provided => *mut c_int));
        match code {
            Some(0) => {}
            Some(code) => return Err(Failure::Mpi(code)),
            // An MPI without the interface: ours does for the events.
            None => Out::from_raw(provided).set(required),
        }
        if outermost {
            INITIALIZED.fetch_add(1, Ordering::AcqRel);
            // Before anything of ours is asked for: what the MPI has now keeps the MPI's numbers.
            compose::refresh();
        }
        Ok(())
    })
}

fn finalize(profiling: bool) -> Result<(), Failure> {
    once(|outermost| {
        let mut last = false;
        if outermost {
            let less = |count: usize| count.checked_sub(1);
            let before = INITIALIZED.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
            match before {
                Err(_) => return Err(Failure::NotInitialized),
                Ok(1) => {
                    last = true;
                    handle::end_all();
                    variables::end_all();
                    controls::end_all();
                    if !crashes_now() {
                        compose::end_registrations();
                    }
                }
                Ok(_) => {}
            }
        }
        if crashes_now() || (last && compose::stays_open()) {
            return Ok(());
        }
        match forward!(c"MPI_T_finalize", profiling, ()) {
            Some(0) | None => Ok(()),
            Some(code) => Err(Failure::Mpi(code)),
        }
    })
}

/// Whether MPI is better not told: Open MPI (4.1 at least) crashes when the interface, opened before
/// `MPI_Init`, ends after `MPI_Finalize`. The process is about to end, and with it what stays open.
fn crashes_now() -> bool {
    let open_mpi = Abi::current().is_some_and(|abi| abi.family == Family::OpenMpi);
    open_mpi && pmpi::finalized() == Ok(true)
}

/// Initialises the tool information interface, which may be done many times and before `MPI_Init`.
#[unsafe(no_mangle)]
extern "C" fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    guarded(|| init(required, provided, false))
}

/// `MPI_T_init_thread` by the name that tools call behind their own wrappers.
#[unsafe(no_mangle)]
extern "C" fn PMPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    guarded(|| init(required, provided, true))
}

/// Ends one initialisation. The last one ends all registrations that were not freed.
#[unsafe(no_mangle)]
extern "C" fn MPI_T_finalize() -> c_int {
    guarded(|| finalize(false))
}

/// `MPI_T_finalize` by the name that tools call behind their own wrappers.
#[unsafe(no_mangle)]
extern "C" fn PMPI_T_finalize() -> c_int {
    guarded(|| finalize(true))
}
