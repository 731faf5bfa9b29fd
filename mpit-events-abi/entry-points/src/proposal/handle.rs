//! Registration handles, each with its one callback, and what the proposal keeps with them.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpi_abi::{Abi, Handle};
use mpit_events::{FreeFn, Registration, Safety, UserData};

use super::answered;
use crate::args::{Level, Out};
use crate::callback::{self, EventFunction};
use crate::compose::{self, Whose};
use crate::failure::Failure;
use crate::handle;
use crate::init::ready;

/// `MPI_T_event_dropped_cb_function` of the proposal.
type DroppedFunction = unsafe extern "C" fn(c_int, Registration, c_int, *mut c_void);

/// What is kept with a registration. It is given up when the registration is, after the last callback:
/// so the core may hold its address.
struct Kept {
    user_data: UserData,
    /// The handler of drops, a [`DroppedFunction`], or null.
    dropped: AtomicPtr<c_void>,
}

impl Kept {
    fn new(user_data: *mut c_void) -> Arc<Self> {
        Arc::new(Kept { user_data: UserData(user_data), dropped: AtomicPtr::new(ptr::null_mut()) })
    }
}

/// By the number of the registration. One that ends by a function of the standard stays here, as its
/// number does not come back.
static KEPT: Mutex<BTreeMap<usize, Arc<Kept>>> = Mutex::new(BTreeMap::new());

fn all_kept() -> MutexGuard<'static, BTreeMap<usize, Arc<Kept>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

proposed! {
    /// Makes a registration with its callback, which serves every safety level. Without a callback it
    /// could hear nothing: that is an error.
    fn MPIX_T_event_handle_alloc(
        event_index: c_int,
        object_handle: *mut c_void,
        user_data: *mut c_void,
        event_cb_function: Option<EventFunction>,
        event_registration: Out<Registration>,
    ) {
        ready()?;
        compose::event(event_index, true)?;
        let event_registration = event_registration.required()?;
        let function = event_cb_function.ok_or(Failure::Argument)?;
        let no_info = Abi::current().map_or(0, |abi| abi.constants.info_null.word());
        let mut made = Registration(0);
        let place = Out::from_raw(&raw mut made);
        answered(handle::body::MPI_T_event_handle_alloc(true, event_index, object_handle, no_info, place))?;
        all_kept().insert(made.0, Kept::new(user_data));
        let every = Level::of(Safety::AsyncSignalSafe);
        let function = Some(function);
        answered(callback::body::MPI_T_event_register_callback(true, made, every, no_info, user_data, function))?;
        event_registration.set(made);
        Ok(())
    }

    /// Ends a registration. `free_cb_function`, where it is not null, is called once, with the user
    /// data of the registration, when nobody uses it any more.
    fn MPIX_T_event_handle_free(registration: Registration, free_cb_function: Option<FreeFn>) {
        let function = free_cb_function.map_or(ptr::null_mut(), |function| function as *mut c_void);
        answered(handle::body::MPI_T_event_handle_free(true, registration, function, Some(on_free)))
    }

    /// Installs, replaces or (null) removes the handler that is told how many events were lost.
    fn MPIX_T_event_set_dropped_handler(
        registration: Registration,
        dropped_cb_function: Option<DroppedFunction>,
    ) {
        let core = ready()?;
        let whose = compose::registration(registration, true)?;
        if let Whose::Ours(registration) = whose {
            // A stale registration must not cost anything.
            core.dropped(registration)?;
        }
        let handler = dropped_cb_function.map(|function| {
            let mut all = all_kept();
            let kept = all.entry(registration.0).or_insert_with(|| Kept::new(ptr::null_mut()));
            kept.dropped.store(function as *mut c_void, Ordering::Release);
            (on_dropped as _, UserData(Arc::as_ptr(kept).cast_mut().cast()))
        });
        if let Whose::Mpi(mpi, handle) = whose {
            let handler = handler.map(|(function, kept)| (function, Some(kept)));
            return compose::set_dropped_handler(mpi, handle, handler);
        }
        // SAFETY: `on_dropped` is of this type and takes this data, which lives until `on_free`, or,
        // where that is not what ends the registration, for ever.
        unsafe { core.set_dropped_handler(registration, handler) }?;
        Ok(())
    }
}

/// Called by the core when a registration is used by nobody any more; `function` is the tool's own free
/// callback, or null.
unsafe extern "C" fn on_free(registration: Registration, level: c_int, function: *mut c_void) {
    let kept = all_kept().remove(&registration.0);
    if function.is_null() {
        return;
    }
    // SAFETY: it was made of such a function in `MPIX_T_event_handle_free`.
    let function = unsafe { std::mem::transmute::<*mut c_void, FreeFn>(function) };
    let user_data = kept.map_or(ptr::null_mut(), |kept| kept.user_data.0);
    // SAFETY: the tool has promised a function of this type that takes this data.
    unsafe { function(registration, callback::number_of_level(level), user_data) };
}

/// Called by the core with the number of lost events. Signal-safe.
unsafe extern "C" fn on_dropped(
    count: i64,
    registration: Registration,
    _source: c_int,
    level: c_int,
    kept: *mut c_void,
) {
    // SAFETY: `kept` is what was given with this function, and lives until `on_free`, which comes after
    // the last call of this one.
    let kept = unsafe { &*kept.cast::<Kept>() };
    let function = kept.dropped.load(Ordering::Acquire);
    // SAFETY: made of such a function before this one was installed, and never null since then.
    let function = unsafe { std::mem::transmute::<*mut c_void, DroppedFunction>(function) };
    let count = c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: the tool has promised a function of this type that takes this data.
    unsafe { function(count, registration, callback::number_of_level(level), kept.user_data.0) };
}
