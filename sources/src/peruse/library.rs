//! PERUSE, as Open MPI exports it where it was built with it: found at run time, never linked to.
//!
//! What this file must not know: what the events mean to us.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpi_abi::next;

/// What a PERUSE event is about (`peruse_comm_spec_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) comm: usize,
    pub(super) buffer: usize,
    /// Elements of `datatype`; for the transfer of a part, bytes.
    pub(super) count: c_int,
    pub(super) datatype: usize,
    /// The other process's rank, or `MPI_ANY_SOURCE` for a receive that has not been matched.
    pub(super) peer: c_int,
    /// The tag; below `MPI_ANY_TAG` for messages of Open MPI's own.
    pub(super) tag: c_int,
    /// Whether it is about a send (0) or a receive (1).
    pub(super) operation: c_int,
}

/// What PERUSE calls. Runs inside ob1, often under its matching lock.
pub(super) type Callback = unsafe extern "C" fn(Handle, isize, *mut Spec, *mut c_void) -> c_int;

/// `peruse_event_h`: never null once registered.
pub(super) type Handle = usize;

/// The functions of PERUSE that are used here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    init: unsafe extern "C" fn() -> c_int,
    query_event: unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int,
    register: unsafe extern "C" fn(c_int, usize, Callback, *mut c_void, *mut Handle) -> c_int,
    activate: unsafe extern "C" fn(Handle) -> c_int,
    deactivate: unsafe extern "C" fn(Handle) -> c_int,
}

impl Library {
    /// The functions, where the MPI of this process has all of them.
    pub(super) fn find() -> Option<Library> {
        let symbol = |name: &CStr| Some(next::symbol(name)).filter(|address| !address.is_null());
        let init = symbol(c"PERUSE_Init")?;
        let query_event = symbol(c"PERUSE_Query_event")?;
        let register = symbol(c"PERUSE_Event_comm_register")?;
        let activate = symbol(c"PERUSE_Event_activate")?;
        let deactivate = symbol(c"PERUSE_Event_deactivate")?;
        // SAFETY: the functions of these names have these types in every Open MPI; the symbols are not
        // null, and the library that they are in is never unloaded.
        unsafe {
            Some(Library {
                init: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(init),
                query_event: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int,
                >(query_event),
                register: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(c_int, usize, Callback, *mut c_void, *mut Handle) -> c_int,
                >(register),
                activate: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Handle) -> c_int>(activate),
                deactivate: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Handle) -> c_int>(
                    deactivate,
                ),
            })
        }
    }

    /// Starts PERUSE; allowed from the end of `MPI_Init*` to the beginning of `MPI_Finalize`.
    pub(super) fn initialise(&self) -> Result<(), c_int> {
        // SAFETY: no arguments.
        checked(unsafe { (self.init)() })
    }

    /// The number of the event with this name, where this PERUSE has it.
    pub(super) fn event(&self, name: &CStr) -> Option<c_int> {
        let mut number = -1;
        // SAFETY: a C string and a valid output.
        checked(unsafe { (self.query_event)(name.as_ptr(), &raw mut number) }).ok().map(|()| number)
    }

    /// Registers for an event on a communicator; the registration is inactive. It cannot be ended: PERUSE
    /// keeps it as long as the communicator lives.
    ///
    /// # Safety
    /// `comm` is a communicator of this MPI, and `callback` may be called with `data` for the life of the
    /// process.
    pub(super) unsafe fn register(
        &self,
        event: c_int,
        comm: usize,
        callback: Callback,
        data: *mut c_void,
    ) -> Result<Handle, c_int> {
        let mut handle = 0;
        // SAFETY: the caller's promise, and a valid output.
        checked(unsafe { (self.register)(event, comm, callback, data, &raw mut handle) })?;
        if handle == 0 { Err(-1) } else { Ok(handle) }
    }

    /// Switches a registration on or off.
    ///
    /// # Safety
    /// The handle comes from [`register`](Library::register), and MPI is not finalised.
    pub(super) unsafe fn set_active(&self, handle: Handle, active: bool) -> Result<(), c_int> {
        let change = if active { self.activate } else { self.deactivate };
        // SAFETY: the caller's promise.
        checked(unsafe { change(handle) })
    }
}

fn checked(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// Bytes of the start of Open MPI's description of a component, up to the end of the component's name
/// (`mca_base_component_t`, version 2.1, of Open MPI 1.8 to 5.0).
const DESCRIPTION: usize = 148;
/// Where the name of the component's type is in it, and how long it may be.
const TYPE_NAME: std::ops::Range<usize> = 40..72;
/// Where the component's own name is.
const COMPONENT_NAME: std::ops::Range<usize> = 84..148;

/// The point-to-point component that Open MPI has selected, for example `ob1`; known from the end of
/// `MPI_Init*` on. `None` where this is no Open MPI, or one that describes its components otherwise.
pub fn selected_pml() -> Option<String> {
    let symbol = next::symbol(c"mca_pml_base_selected_component");
    if symbol.is_null() {
        return None;
    }
    // SAFETY: a static object of the library, which is longer than its description; nobody writes to it
    // after initialisation.
    let description = unsafe { std::slice::from_raw_parts(symbol.cast::<u8>(), DESCRIPTION) };
    component(description)
}

fn component(description: &[u8]) -> Option<String> {
    let text = |range| CStr::from_bytes_until_nul(description.get(range)?).ok()?.to_str().ok();
    (text(TYPE_NAME)? == "pml").then(|| text(COMPONENT_NAME).map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_component_is_read_from_its_description() {
        let mut description = [0u8; DESCRIPTION];
        description[40..43].copy_from_slice(b"pml");
        description[84..87].copy_from_slice(b"ob1");
        assert_eq!(component(&description).as_deref(), Some("ob1"));
        description[40..43].copy_from_slice(b"btl");
        assert_eq!(component(&description), None);
        assert_eq!(component(&description[..20]), None);
    }
}
