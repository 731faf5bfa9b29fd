//! From libotf2's table of collective callbacks to what [`Processes`] do along a tree.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    rc::Rc,
    slice,
};

use otf2_sys::{
    OTF2_CALLBACK_ERROR, OTF2_CALLBACK_SUCCESS, OTF2_CallbackCode, OTF2_CollectiveCallbacks,
    OTF2_CollectiveContext, OTF2_Type,
};

use ranks::{CommunicationError, Processes, tree};

type Context = OTF2_CollectiveContext;

/// The processes of an archive, at an address that stays the same. libotf2 keeps a pointer of one
/// word, so there is a box around the pointer.
pub(super) struct PinnedProcesses(NonNull<Rc<dyn Processes>>);

impl PinnedProcesses {
    pub(super) fn new(processes: Rc<dyn Processes>) -> Self {
        Self(NonNull::from(Box::leak(Box::new(processes))))
    }

    /// The user data for [`CALLBACKS`], valid as long as `self` is.
    pub(super) fn as_user_data(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }
}

impl Drop for PinnedProcesses {
    fn drop(&mut self) {
        // SAFETY: the pointer is from `Box::leak` and not used afterwards.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The user data of each callback is the `Rc<dyn Processes>` of the archive. What only the substrate SION asks for is not
/// there.
pub(super) static CALLBACKS: OTF2_CollectiveCallbacks = OTF2_CollectiveCallbacks {
    otf2_release: None,
    otf2_get_size: Some(get_size),
    otf2_get_rank: Some(get_rank),
    otf2_create_local_comm: None,
    otf2_free_local_comm: None,
    otf2_barrier: Some(barrier),
    otf2_bcast: Some(bcast),
    otf2_gather: Some(gather),
    otf2_gatherv: Some(gatherv),
    otf2_scatter: Some(scatter),
    otf2_scatterv: Some(scatterv),
};

/// Runs an operation with the archive's processes; neither an error nor a panic goes further.
///
/// # Safety
/// `data` is the user data registered with [`CALLBACKS`], and still valid.
unsafe fn run(
    data: *mut c_void,
    operation: impl FnOnce(&dyn Processes) -> Result<(), CommunicationError>,
) -> OTF2_CallbackCode {
    // SAFETY: the caller promises that `data` is the `Rc<dyn Processes>` of the archive, and still valid.
    let processes: &dyn Processes = unsafe { &**data.cast::<Rc<dyn Processes>>() };
    match catch_unwind(AssertUnwindSafe(|| operation(processes))) {
        Ok(Ok(())) => OTF2_CALLBACK_SUCCESS,
        Ok(Err(_)) | Err(_) => OTF2_CALLBACK_ERROR,
    }
}

/// Bytes of `elements` elements of this type.
fn bytes(elements: u32, element: OTF2_Type) -> Result<usize, CommunicationError> {
    use otf2_sys::*;
    let size = match element.into() {
        OTF2_TYPE_UINT8 | OTF2_TYPE_INT8 => 1,
        OTF2_TYPE_UINT16 | OTF2_TYPE_INT16 => 2,
        OTF2_TYPE_UINT32 | OTF2_TYPE_INT32 | OTF2_TYPE_FLOAT => 4,
        OTF2_TYPE_UINT64 | OTF2_TYPE_INT64 | OTF2_TYPE_DOUBLE => 8,
        _ => return Err(CommunicationError::default()),
    };
    (elements as usize).checked_mul(size).ok_or_else(CommunicationError::default)
}

/// # Safety
/// `data` is null only if `length` is 0; else these bytes may be read.
unsafe fn input<'a>(data: *const c_void, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller promises that these bytes may be read.
    unsafe { slice::from_raw_parts(data.cast(), length) }
}

/// Writes bytes to where libotf2 has room for so many.
///
/// # Safety
/// `data` is null only if `length` is 0; else these bytes may be written, by nobody else meanwhile.
unsafe fn output(data: *mut c_void, length: usize, bytes: &[u8]) -> Result<(), CommunicationError> {
    if bytes.len() != length {
        return Err(CommunicationError::default());
    }
    if length > 0 {
        // SAFETY: the caller promises that these bytes may be written, by nobody else meanwhile.
        unsafe { slice::from_raw_parts_mut(data.cast(), length) }.copy_from_slice(bytes);
    }
    Ok(())
}

/// libotf2 has one root.
fn is_rank_0(root: u32) -> Result<(), CommunicationError> {
    if root == 0 { Ok(()) } else { Err(CommunicationError::default()) }
}

unsafe extern "C" fn get_size(data: *mut c_void, _: *mut Context, size: *mut u32) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data and a place for the result.
    unsafe {
        run(data, |processes| {
            *size = processes.size();
            Ok(())
        })
    }
}

unsafe extern "C" fn get_rank(data: *mut c_void, _: *mut Context, rank: *mut u32) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data and a place for the result.
    unsafe {
        run(data, |processes| {
            *rank = processes.rank();
            Ok(())
        })
    }
}

unsafe extern "C" fn barrier(data: *mut c_void, _: *mut Context) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data.
    unsafe { run(data, |processes| tree::all_reduce(processes, (), |(), ()| ())) }
}

unsafe extern "C" fn bcast(
    user: *mut c_void,
    _: *mut Context,
    data: *mut c_void,
    elements: u32,
    element: OTF2_Type,
    root: u32,
) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data, and `elements` elements.
    unsafe {
        run(user, |processes| {
            is_rank_0(root)?;
            let length = bytes(elements, element)?;
            let own = if processes.rank() == 0 { input(data, length).to_vec() } else { Vec::new() };
            output(data, length, &tree::broadcast(processes, own)?)
        })
    }
}

unsafe extern "C" fn gather(
    user: *mut c_void,
    _: *mut Context,
    send: *const c_void,
    receive: *mut c_void,
    elements: u32,
    element: OTF2_Type,
    root: u32,
) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data, `elements` elements to send and, at the root,
    // place for as many from each rank.
    unsafe {
        run(user, |processes| {
            is_rank_0(root)?;
            let each = bytes(elements, element)?;
            let all = tree::gather(processes, input(send, each).to_vec())?;
            if processes.rank() == 0 {
                output(receive, each * processes.size() as usize, &all)
            } else {
                Ok(())
            }
        })
    }
}

unsafe extern "C" fn gatherv(
    user: *mut c_void,
    _: *mut Context,
    send: *const c_void,
    send_elements: u32,
    receive: *mut c_void,
    receive_elements: *const u32,
    element: OTF2_Type,
    root: u32,
) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data, `send_elements` elements to send and, at the
    // root, the numbers for each rank and place for their sum.
    unsafe {
        run(user, |processes| {
            is_rank_0(root)?;
            let all = tree::gather(processes, input(send, bytes(send_elements, element)?).to_vec())?;
            if processes.rank() != 0 {
                return Ok(());
            }
            let parts = slice::from_raw_parts(receive_elements, processes.size() as usize);
            let parts = parts.iter().map(|&elements| bytes(elements, element));
            output(receive, parts.sum::<Result<usize, _>>()?, &all)
        })
    }
}

unsafe extern "C" fn scatter(
    _: *mut c_void,
    _: *mut Context,
    _: *const c_void,
    _: *mut c_void,
    _: u32,
    _: OTF2_Type,
    _: u32,
) -> OTF2_CallbackCode {
    OTF2_CALLBACK_ERROR
}

unsafe extern "C" fn scatterv(
    _: *mut c_void,
    _: *mut Context,
    _: *const c_void,
    _: *const u32,
    _: *mut c_void,
    _: u32,
    _: OTF2_Type,
    _: u32,
) -> OTF2_CallbackCode {
    OTF2_CALLBACK_ERROR
}
