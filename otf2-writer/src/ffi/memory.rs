//! The memory of libotf2's buffers: one chunk each.
//!
//! Left alone, libotf2 keeps up to 128 MiB of each location in memory before it writes any of it.
//! With these callbacks a buffer that is full is written at once, into the file, and used again.
//! That also closes a gap: after a flush libotf2 cannot stand a failed allocation, and there is none.

use std::{ffi::c_void, mem::MaybeUninit};

use otf2_sys::{OTF2_FileType, OTF2_LocationRef, OTF2_MemoryCallbacks};

pub(super) static CALLBACKS: OTF2_MemoryCallbacks =
    OTF2_MemoryCallbacks { otf2_allocate: Some(allocate), otf2_free_all: Some(free_all) };

/// The memory of one buffer; libotf2 keeps the pointer to it beside the buffer.
struct Chunk {
    memory: Vec<MaybeUninit<u8>>,
    in_use: bool,
}

impl Chunk {
    fn new(bytes: usize) -> Option<Box<Self>> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes).ok()?;
        Some(Box::new(Self { memory, in_use: false }))
    }

    /// The memory, or null while it is in use: that makes libotf2 write the buffer.
    fn hand_out(&mut self) -> *mut c_void {
        if std::mem::replace(&mut self.in_use, true) {
            return std::ptr::null_mut();
        }
        self.memory.as_mut_ptr().cast()
    }
}

/// All chunks of a buffer have the same size, `bytes`.
unsafe extern "C" fn allocate(
    _user_data: *mut c_void,
    _file_type: OTF2_FileType,
    _location: OTF2_LocationRef,
    per_buffer: *mut *mut c_void,
    bytes: u64,
) -> *mut c_void {
    // SAFETY: libotf2 passes the address of one pointer, which is null before the first call and is
    // changed by these two functions only, on the thread of the archive.
    let chunk = unsafe { &mut *per_buffer.cast::<*mut Chunk>() };
    if chunk.is_null() {
        let new = usize::try_from(bytes).ok().and_then(Chunk::new);
        let Some(new) = new else { return std::ptr::null_mut() };
        *chunk = Box::into_raw(new);
    }
    // SAFETY: a pointer that is not null is from `Box::into_raw` above.
    unsafe { (**chunk).hand_out() }
}

unsafe extern "C" fn free_all(
    _user_data: *mut c_void,
    _file_type: OTF2_FileType,
    _location: OTF2_LocationRef,
    per_buffer: *mut *mut c_void,
    last: bool,
) {
    // SAFETY: libotf2 passes the address of one pointer, which is null before the first call and is
    // changed by these two functions only, on the thread of the archive.
    let chunk = unsafe { &mut *per_buffer.cast::<*mut Chunk>() };
    if chunk.is_null() {
        return;
    }
    if last {
        // SAFETY: the pointer is from `Box::into_raw`, and forgotten here.
        drop(unsafe { Box::from_raw(std::mem::replace(chunk, std::ptr::null_mut())) });
    } else {
        // SAFETY: the pointer is from `Box::into_raw`; libotf2 no longer uses the memory.
        unsafe { (**chunk).in_use = false };
    }
}
