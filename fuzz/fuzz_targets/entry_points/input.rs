//! The input, byte by byte, as numbers, choices and pointers.

use std::cell::RefCell;
use std::ffi::c_int;

thread_local! {
    static INPUT: RefCell<(Vec<u8>, usize)> = const { RefCell::new((Vec::new(), 0)) };
}

pub(crate) fn begin(bytes: &[u8]) {
    INPUT.with(|input| *input.borrow_mut() = (bytes.to_vec(), 0));
}

/// The next byte, if there is one.
pub(crate) fn next() -> Option<u8> {
    INPUT.with(|input| {
        let (bytes, at) = &mut *input.borrow_mut();
        let byte = bytes.get(*at).copied();
        *at += 1;
        byte
    })
}

pub(crate) fn byte() -> u8 {
    next().unwrap_or(0)
}

/// Mostly a small number, sometimes one that nobody expects.
pub(crate) fn int() -> c_int {
    match byte() {
        small @ 0..=223 => c_int::from(small % 28) - 2,
        224..=231 => c_int::MAX - c_int::from(byte()),
        232..=239 => c_int::MIN + c_int::from(byte()),
        240..=247 => 1 << (byte() % 31),
        _ => c_int::from_ne_bytes([byte(), byte(), byte(), byte()]),
    }
}
