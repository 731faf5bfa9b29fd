//! The start: resolving the next functions, detecting the ABI, running the startup functions.

use std::{
    ffi::c_void,
    ptr,
    sync::{
        Once,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
};

use mpi_abi::{Abi, next};

use crate::{
    depth::{Depth, untracked},
    dispatch::{self, IDLE, Running, SHARED, UNRESOLVED},
    floats, hook, standard_error, wrapper,
};

/// How many startup functions there may be.
const MAX: usize = 4;
static STARTUPS: [AtomicPtr<c_void>; MAX] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX];
static STARTUP_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Names a function to run once, when MPI is first initialised, before any hook sees a call. It may
/// [`crate::register`] hooks; its own MPI calls are not seen. MPI itself is not initialised yet.
///
/// Only stores an address, so a constructor of the final library may call it. At most four can be named; a fifth is
/// ignored, and the result is `false`.
pub fn on_startup(startup: fn(&'static Abi)) -> bool {
    standard_error::remember();
    let index = STARTUP_COUNT.fetch_add(1, Ordering::SeqCst);
    match STARTUPS.get(index) {
        Some(slot) => {
            slot.store(startup as *mut c_void, Ordering::SeqCst);
            true
        }
        None => false,
    }
}

static START: Once = Once::new();

/// Whether the program has initialised MPI, or its tools interface, so that [`start`] has been called.
pub fn has_started() -> bool {
    START.is_completed()
}

/// Starts measurement if that has not happened: detects the ABI and runs the startup functions.
///
/// The wrappers of `MPI_Init`, `MPI_Init_thread` and `MPI_Session_init` call it; entry points that
/// are defined elsewhere (`MPI_T_init_thread`) may. `None` when the MPI is of no known ABI, or when
/// another copy of this crate in the process was first: then no hook of this copy ever runs.
pub fn start() -> Option<&'static Abi> {
    // Inside a startup function, or inside MPI: nothing to wait for.
    if Depth::at_top() {
        resolve();
        START.call_once(|| floats::without_traps(|| untracked(first_start)));
    }
    Abi::current()
}

fn first_start() {
    if another_copy_is_first() {
        return;
    }
    let startups = STARTUPS.iter().map(|slot| slot.load(Ordering::SeqCst));
    let startups: Vec<_> = startups.filter(|startup| !startup.is_null()).collect();
    let abi = match Abi::detect() {
        Ok(abi) => abi,
        Err(unknown) => {
            if !startups.is_empty() || hook::count() > 0 {
                standard_error::say(&format!("{unknown}; nothing is measured, the application continues"));
            }
            return;
        }
    };
    dispatch::report_our_panics();
    for startup in startups {
        // SAFETY: only `on_startup` stores here, and only functions of this type.
        let startup = unsafe { std::mem::transmute::<*mut c_void, fn(&'static Abi)>(startup) };
        if !dispatch::guarded(&Depth::enter(), Running::Startup, || startup(abi)) {
            return;
        }
    }
    dispatch::started();
}

/// Finds all next functions. From then on [`Shared::state`](dispatch::Shared) is not [`UNRESOLVED`].
#[cold]
#[inline(never)]
pub(crate) fn resolve() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        wrapper::resolve_all();
        let _ = SHARED.state.compare_exchange(UNRESOLVED, IDLE, Ordering::SeqCst, Ordering::SeqCst);
    });
}

/// A function was called that the MPI in use does not have: ends the process as the dynamic linker ends one that lacks a symbol, with its
/// message and status 127. Without us it would have; but the symbol is defined here.
#[cold]
pub(crate) fn end_process(function: &str) -> ! {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = program.to_string_lossy();
    let line = format!("{program}: symbol lookup error: {program}: undefined symbol: {function}\n");
    standard_error::write(&line);
    // SAFETY: ends the process at once, without running anything of the application.
    unsafe { libc::_exit(127) }
}

/// By this symbol two libraries that contain this crate find each other.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static mpi_intercept_marker: u8 = 0;

/// Whether another library in this process contains this crate too and precedes us: then its
/// wrappers are in front of ours, its hooks see the calls, and ours would see them a second time.
fn another_copy_is_first() -> bool {
    let first = next::symbol(c"mpi_intercept_marker");
    let ours = next::base_of(first_start as *const () as usize);
    !first.is_null() && next::base_of(first as usize) != ours
}
