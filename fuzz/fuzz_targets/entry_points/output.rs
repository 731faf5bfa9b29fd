//! Buffers for outputs, each with guard bytes behind it; one in four is a null pointer.

use std::ffi::{c_char, c_int};

use crate::input::{byte, int};

const FILL: u8 = 0xa5;
const CAPACITY: usize = 256;

/// A buffer for an output.
pub(crate) struct Output {
    bytes: [u8; CAPACITY + 64],
    size: usize,
    wanted: bool,
}

impl Output {
    /// For a value of this type.
    pub(crate) fn of<T>() -> Self {
        Output::sized(1, size_of::<T>())
    }

    /// For so many elements: at most as many as fit the capacity, none for a negative number.
    pub(crate) fn sized(length: c_int, width: usize) -> Self {
        let size = usize::try_from(length).unwrap_or(0).saturating_mul(width).min(CAPACITY);
        Output { bytes: [FILL; CAPACITY + 64], size, wanted: byte() % 4 != 0 }
    }

    /// The address, or null.
    pub(crate) fn place<T>(&mut self) -> *mut T {
        if self.wanted { self.bytes.as_mut_ptr().cast() } else { std::ptr::null_mut() }
    }

    /// The value, where there is one.
    pub(crate) fn value(&self) -> Option<usize> {
        let bytes = self.bytes[..size_of::<usize>()].try_into().expect("as many bytes");
        self.wanted.then(|| usize::from_ne_bytes(bytes))
    }

    /// Nothing was written behind the buffer; if the call has failed, nothing at all.
    pub(crate) fn check(&self, code: c_int) {
        let from = if code == 0 { self.size } else { 0 };
        assert!(self.bytes[from..].iter().all(|&byte| byte == FILL), "written out of bounds, code {code}");
    }
}

/// A string output with its length, of which each may be null.
pub(crate) struct Text {
    length: c_int,
    has_length: bool,
    text: Output,
}

impl Text {
    pub(crate) fn new() -> Self {
        let (length, has_length) = (int(), byte() % 4 != 0);
        Text { length, has_length, text: Output::sized(if has_length { length } else { 0 }, 1) }
    }

    pub(crate) fn text(&mut self) -> *mut c_char {
        self.text.place()
    }

    pub(crate) fn length(&mut self) -> *mut c_int {
        if self.has_length { &raw mut self.length } else { std::ptr::null_mut() }
    }

    pub(crate) fn check(&self, code: c_int) {
        self.text.check(code);
    }
}
