//! From libotf2's table of collective callbacks to the trait [`Collectives`].

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    slice,
};

use otf2_sys::{
    OTF2_CALLBACK_ERROR, OTF2_CALLBACK_SUCCESS, OTF2_CallbackCode, OTF2_CollectiveCallbacks,
    OTF2_CollectiveContext, OTF2_Type,
};

use crate::collectives::{CollectiveError, Collectives};

type Context = OTF2_CollectiveContext;

/// The collectives of an archive, at an address that stays the same. libotf2 keeps a pointer of one
/// word, so there is a box around the box.
pub(super) struct PinnedCollectives(NonNull<Box<dyn Collectives>>);

impl PinnedCollectives {
    pub(super) fn new(collectives: Box<dyn Collectives>) -> Self {
        Self(NonNull::from(Box::leak(Box::new(collectives))))
    }

    pub(super) fn get(&self) -> &dyn Collectives {
        // SAFETY: the box lives until `drop`, and nobody has a mutable reference to it.
        unsafe { &**self.0.as_ptr() }
    }

    /// The user data for [`CALLBACKS`], valid as long as `self` is.
    pub(super) fn as_user_data(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }
}

impl Drop for PinnedCollectives {
    fn drop(&mut self) {
        // SAFETY: the pointer is from `Box::leak` and not used afterwards.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The user data of each callback is the `Box<dyn Collectives>` of the archive.
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

/// Runs an operation on the archive's collectives; neither an error nor a panic goes further.
///
/// # Safety
/// `data` is the user data registered with [`CALLBACKS`], and still valid.
unsafe fn run(
    data: *mut c_void,
    operation: impl FnOnce(&dyn Collectives) -> Result<(), CollectiveError>,
) -> OTF2_CallbackCode {
    // SAFETY: the caller promises that `data` is the `Box<dyn Collectives>` of the archive, and still valid.
    let collectives: &dyn Collectives = unsafe { &**data.cast::<Box<dyn Collectives>>() };
    match catch_unwind(AssertUnwindSafe(|| operation(collectives))) {
        Ok(Ok(())) => OTF2_CALLBACK_SUCCESS,
        Ok(Err(CollectiveError)) | Err(_) => OTF2_CALLBACK_ERROR,
    }
}

/// Bytes of `elements` elements of this type.
fn bytes(elements: u32, element: OTF2_Type) -> Result<usize, CollectiveError> {
    use otf2_sys::*;
    let size = match element.into() {
        OTF2_TYPE_UINT8 | OTF2_TYPE_INT8 => 1,
        OTF2_TYPE_UINT16 | OTF2_TYPE_INT16 => 2,
        OTF2_TYPE_UINT32 | OTF2_TYPE_INT32 | OTF2_TYPE_FLOAT => 4,
        OTF2_TYPE_UINT64 | OTF2_TYPE_INT64 | OTF2_TYPE_DOUBLE => 8,
        _ => return Err(CollectiveError),
    };
    (elements as usize).checked_mul(size).ok_or(CollectiveError)
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

/// # Safety
/// `data` is null only if `length` is 0; else these bytes may be written, by nobody else meanwhile.
unsafe fn output<'a>(data: *mut c_void, length: usize) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: the caller promises that these bytes may be written, by nobody else meanwhile.
    unsafe { slice::from_raw_parts_mut(data.cast(), length) }
}

/// Bytes per rank, at the root; elsewhere libotf2 gives no such list.
///
/// # Safety
/// At the root, `elements` has one element for each rank.
unsafe fn parts(
    collectives: &dyn Collectives,
    elements: *const u32,
    element: OTF2_Type,
    root: u32,
) -> Result<Vec<usize>, CollectiveError> {
    if collectives.rank() != root {
        return Ok(Vec::new());
    }
    // SAFETY: this is the root, where the caller promises one element for each rank.
    let elements = unsafe { slice::from_raw_parts(elements, collectives.size() as usize) };
    elements.iter().map(|&elements| bytes(elements, element)).collect()
}

/// Bytes at the root where each rank has `each` of them, 0 elsewhere.
fn at_root(collectives: &dyn Collectives, each: usize, root: u32) -> Result<usize, CollectiveError> {
    if collectives.rank() != root {
        return Ok(0);
    }
    each.checked_mul(collectives.size() as usize).ok_or(CollectiveError)
}

unsafe extern "C" fn get_size(data: *mut c_void, _: *mut Context, size: *mut u32) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data and a place for the result.
    unsafe {
        run(data, |collectives| {
            *size = collectives.size();
            Ok(())
        })
    }
}

unsafe extern "C" fn get_rank(data: *mut c_void, _: *mut Context, rank: *mut u32) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data and a place for the result.
    unsafe {
        run(data, |collectives| {
            *rank = collectives.rank();
            Ok(())
        })
    }
}

unsafe extern "C" fn barrier(data: *mut c_void, _: *mut Context) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data.
    unsafe { run(data, |collectives| collectives.barrier()) }
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
    unsafe { run(user, |collectives| collectives.bcast(output(data, bytes(elements, element)?), root)) }
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
        run(user, |collectives| {
            let each = bytes(elements, element)?;
            let all = at_root(collectives, each, root)?;
            collectives.gather(input(send, each), output(receive, all), root)
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
        run(user, |collectives| {
            let parts = parts(collectives, receive_elements, element, root)?;
            let receive = output(receive, parts.iter().sum());
            collectives.gatherv(input(send, bytes(send_elements, element)?), receive, &parts, root)
        })
    }
}

unsafe extern "C" fn scatter(
    user: *mut c_void,
    _: *mut Context,
    send: *const c_void,
    receive: *mut c_void,
    elements: u32,
    element: OTF2_Type,
    root: u32,
) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data, place for `elements` elements and, at the root,
    // as many to send to each rank.
    unsafe {
        run(user, |collectives| {
            let each = bytes(elements, element)?;
            let all = at_root(collectives, each, root)?;
            collectives.scatter(input(send, all), output(receive, each), root)
        })
    }
}

unsafe extern "C" fn scatterv(
    user: *mut c_void,
    _: *mut Context,
    send: *const c_void,
    send_elements: *const u32,
    receive: *mut c_void,
    receive_elements: u32,
    element: OTF2_Type,
    root: u32,
) -> OTF2_CallbackCode {
    // SAFETY: libotf2 passes the registered data, place for `receive_elements` elements and, at the
    // root, the numbers for each rank and as many elements as their sum.
    unsafe {
        run(user, |collectives| {
            let parts = parts(collectives, send_elements, element, root)?;
            let send = input(send, parts.iter().sum());
            let receive = output(receive, bytes(receive_elements, element)?);
            collectives.scatterv(send, &parts, receive, root)
        })
    }
}
