//! Types that are bound to an object: one registration with the MPI for each communicator or window that
//! somebody listens on, from when it is made until it is about to be freed.
//!
//! A registration must not outlive its object: an MPI compares the handle by value, and may give the value to
//! another object (MPI-5.0, section 15.3.8). So it ends at the entry of the call that frees.

use std::sync::{Arc, MutexGuard, PoisonError};

use mpi_abi::Handle as _;
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_events::{BindKind, Token};
use rustc_hash::FxHashMap;

use super::{Heard, NativeEvents};
use crate::calls::{Communicator, Observer};
use crate::rma;

/// The registrations on each object.
pub(super) type Objects = FxHashMap<(BindKind, Token), Vec<Arc<Heard>>>;

impl NativeEvents {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the MPI has types that are bound to this kind of object.
    pub fn has_bound(&self, kind: BindKind) -> bool {
        self.types().any(|native| native.bind == kind)
    }

    /// An object is there: registers for the types that somebody listens to on it.
    fn object_made(&self, kind: BindKind, token: Token) {
        let mut heard = Vec::new();
        for native in self.types().filter(|native| native.bind == kind) {
            let object = self.core.bind(kind, token);
            if !object.is_active(native.event) {
                continue;
            }
            let mut handle = token.0;
            let one = Arc::new(Heard::new(native, object));
            // SAFETY: it stays where it is, also when its registration has ended (`forget`); the MPI reads the handle, of whichever width,
            // during the call.
            if unsafe { self.register(&one, (&raw mut handle).cast()) } {
                heard.push(one);
            }
        }
        if !heard.is_empty() {
            self.objects().entry((kind, token)).or_default().extend(heard);
        }
    }

    /// An object ends.
    pub(super) fn object_ends(&self, kind: BindKind, token: Token) {
        let heard = self.objects().remove(&(kind, token));
        heard.into_iter().flatten().for_each(|heard| self.forget(heard));
    }

    /// Ends the registrations on all objects.
    pub(super) fn forget_objects(&self) {
        let all = std::mem::take(&mut *self.objects());
        all.into_values().flatten().for_each(|heard| self.forget(heard));
    }

    fn forget(&self, heard: Arc<Heard>) {
        self.unregister(&heard);
        // A thread, of the MPI's too, may be in its callback, and the MPI may refuse to end it: some bytes stay.
        std::mem::forget(heard);
    }

    /// The one of this registration.
    pub(super) fn on_object(&self, registration: usize) -> Option<Arc<Heard>> {
        // In a callback, which may be one of a signal handler: whoever has the lock is not waited for.
        let objects = self.bound.try_lock().ok()?;
        objects.values().flatten().find(|heard| heard.is(registration)).cloned()
    }
}

impl Observer for NativeEvents {
    fn communicator_created(&self, communicator: &Communicator) {
        self.object_made(BindKind::Comm, communicator.token);
    }
}

impl rma::Observer for NativeEvents {
    fn window_created(&self, created: &rma::Created<'_>) {
        self.object_made(BindKind::Win, created.token);
    }
}

/// Before objects are freed; and now and then, where sources are to be [polled](NativeEvents::poll).
impl Hook for NativeEvents {
    fn wants(&self, function: FunctionId) -> Wants {
        use FunctionId as F;
        match function {
            F::Comm_free | F::Comm_disconnect | F::Win_free => Wants::Enter,
            F::Init | F::Init_thread | F::Session_init | F::Finalize | F::Abort => Wants::Nothing,
            _ if self.is_polled() => Wants::Enter,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        let (kind, handle) = match call {
            // SAFETY: the program's in-out argument, whose handle MPI is about to read.
            Call::Comm_free(a) => (BindKind::Comm, unsafe { a.comm.read() }.word()),
            // SAFETY: as above.
            Call::Comm_disconnect(a) => (BindKind::Comm, unsafe { a.comm.read() }.word()),
            // SAFETY: as above.
            Call::Win_free(a) => (BindKind::Win, unsafe { a.win.read() }.word()),
            _ => return self.poll_now_and_then(),
        };
        self.object_ends(kind, Token(handle as u64));
    }
}
