//! The arguments of C functions as types, so that what may be null is looked at in one place.
//!
//! None of these can be made in Rust: values of them come from C callers, who promise in MPI's words
//! what is said at each type. A null pointer is always allowed and means "not wanted" or an error.

use std::ffi::{CStr, c_char, c_int};

use mpit_events::{Instance, Safety};

use crate::compose::{self, Whose};
use crate::failure::{Failure, numbers};

/// An output: null, or the address of a writable `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// An argument of a C function that is also passed on as it is.
    pub(crate) fn from_raw(address: *mut T) -> Self {
        Out(address)
    }

    /// The address, to be passed on.
    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Writes the value, where it is wanted.
    pub(crate) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so the caller of the C function has promised a writable `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// The same output, which must be wanted.
    pub(crate) fn required(self) -> Result<Self, Failure> {
        if self.0.is_null() { Err(Failure::Argument) } else { Ok(self) }
    }
}

/// An argument that is read and then written: null, or the address of an initialised `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct InOut<T>(*mut T);

impl<T: Copy> InOut<T> {
    /// An argument of a C function that is also passed on as it is.
    pub(crate) fn from_raw(address: *mut T) -> Self {
        InOut(address)
    }

    pub(crate) fn get(self) -> Option<T> {
        // SAFETY: where it is not null, the caller has promised an initialised `T`.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    pub(crate) fn set(self, value: T) {
        Out(self.0).set(value);
    }
}

/// An output array: null, or at least as many writable elements as the caller says elsewhere.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct OutArray<T>(*mut T);

impl<T: Copy> OutArray<T> {
    /// The same array, which must be there if it is to have any elements.
    pub(crate) fn required_for(self, length: c_int) -> Result<Self, Failure> {
        if self.0.is_null() && length > 0 { Err(Failure::Argument) } else { Ok(self) }
    }

    /// Writes values to the beginning.
    ///
    /// # Safety
    /// The array has room for as many as the iterator gives.
    pub(crate) unsafe fn fill(self, values: impl Iterator<Item = T>) {
        if self.0.is_null() {
            return;
        }
        for (index, value) in values.enumerate() {
            // SAFETY: within the array, as the caller of this function promises.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }
}

/// Memory to copy bytes to: null, or writable and large enough for what is documented.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Buffer(*mut u8);

impl Buffer {
    /// Memory of our own, with room for what is to be copied to it.
    pub(crate) fn from_raw(address: *mut u8) -> Self {
        Buffer(address)
    }

    /// The same memory, which must be there, for somebody else to write to.
    pub(crate) fn required(self) -> Result<*mut std::ffi::c_void, Failure> {
        if self.0.is_null() { Err(Failure::Argument) } else { Ok(self.0.cast()) }
    }

    /// Copies exactly these bytes.
    pub(crate) fn fill(self, bytes: &[u8]) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err(Failure::Argument);
        }
        // SAFETY: not null, so the caller has promised room for the element or the event; `bytes`
        // is memory of ours, or of the event, which a caller cannot know.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, bytes.len()) };
        Ok(())
    }
}

/// A name: null, or a C string.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Name(*const c_char);

impl Name {
    /// The bytes of the string.
    pub(crate) fn get(&self) -> Result<&[u8], Failure> {
        if self.0.is_null() {
            return Err(Failure::Argument);
        }
        // SAFETY: not null, so the caller has promised a C string that lives during the call.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }
}

/// A string to be returned: null, or as many writable bytes as its length argument says.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*mut c_char);

impl Text {
    /// A string that nobody wants.
    pub(crate) const UNWANTED: Text = Text(std::ptr::null_mut());

    /// An argument of a C function that is also passed on as it is.
    pub(crate) fn from_raw(address: *mut c_char) -> Self {
        Text(address)
    }

    /// Returns a string as MPI returns strings (MPI-5.0, section 15.3.3): cut to the room there is,
    /// with a NUL at its end; `length` then is the number of bytes written with the NUL, or, where
    /// there is no room at all, the number needed.
    pub(crate) fn set(self, length: InOut<c_int>, text: &str) {
        let Some(room) = length.get() else { return };
        let needed = text.len() + 1;
        let room = usize::try_from(room).unwrap_or(0);
        if room == 0 || self.0.is_null() {
            return length.set(c_int::try_from(needed).unwrap_or(c_int::MAX));
        }
        let written = needed.min(room);
        // SAFETY: the caller has promised `room` writable bytes, and `written` is no more; the text
        // has at least `written - 1` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.0, written - 1);
            self.0.add(written - 1).write(0);
        }
        length.set(c_int::try_from(written).unwrap_or(c_int::MAX));
    }
}

/// `MPI_T_event_instance`: null, or what a running callback was given.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct InstanceHandle(*const Instance<'static>);

impl InstanceHandle {
    /// Whose instance it is. Signal-safe.
    pub(crate) fn whose(self, profiling: bool) -> Result<Whose<usize, &'static Instance<'static>>, Failure> {
        compose::instance(self.0, profiling)
    }
}

/// `MPI_T_cb_safety`, by MPI's numbers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Level(c_int);

impl Level {
    /// MPI's number for a level.
    pub(crate) fn of(level: Safety) -> Self {
        Level(numbers().cb_safety[level as usize])
    }

    /// MPI's number, where there is such a level.
    pub(crate) fn number(self) -> Result<c_int, Failure> {
        self.get().map(|_| self.0)
    }

    /// The level, where there is one of this number.
    pub(crate) fn get(self) -> Result<Safety, Failure> {
        let index = numbers().cb_safety.iter().position(|&number| number == self.0);
        index.and_then(Safety::from_index).ok_or(Failure::Core(mpit_events::Error::InvalidHandle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(room: c_int, buffer: Option<&mut [u8]>) -> c_int {
        let mut length = room;
        let text = Text(buffer.map_or(std::ptr::null_mut(), |buffer| buffer.as_mut_ptr().cast()));
        text.set(InOut(&raw mut length), "event");
        length
    }

    #[test]
    fn a_string_that_fits_is_returned_whole() {
        let mut buffer = [b'#'; 8];
        assert_eq!(returned(8, Some(&mut buffer)), 6);
        assert_eq!(&buffer, b"event\0##");
    }

    #[test]
    fn a_string_is_cut_to_its_room() {
        let mut buffer = [b'#'; 8];
        assert_eq!(returned(3, Some(&mut buffer)), 3);
        assert_eq!(&buffer, b"ev\0#####");
        let mut buffer = [b'#'; 2];
        assert_eq!(returned(1, Some(&mut buffer)), 1);
        assert_eq!(&buffer, b"\0#");
    }

    #[test]
    fn without_room_the_length_is_told() {
        let mut buffer = [b'#'; 2];
        assert_eq!(returned(0, Some(&mut buffer)), 6);
        assert_eq!(returned(-3, Some(&mut buffer)), 6);
        assert_eq!(returned(8, None), 6);
        assert_eq!(&buffer, b"##");
    }

    #[test]
    fn without_a_length_nothing_is_written() {
        let mut buffer = [b'#'; 2];
        Text(buffer.as_mut_ptr().cast()).set(InOut(std::ptr::null_mut()), "event");
        assert_eq!(&buffer, b"##");
    }
}
