//! The C functions by which a program names its phases. `include/mel.h` finds them at run time; `include/mel.f90` does, too.

use std::ffi::{CStr, c_char};

use super::{Asked, ask};

/// The most bytes of a name that are kept.
const MOST: usize = 255;

/// A name as it is kept: without blanks around it, as Fortran pads texts, and not too long.
pub(crate) fn name_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let end = (0..=text.len().min(MOST)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

/// The phase of this name begins, or goes on: what the program does from now on is counted in it. An empty name, or a null pointer, is that of
/// no phase. Where MPI may be called; before `MPI_Init*`, too.
///
/// # Safety
/// `name` is null, or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mel_phase(name: *const c_char) {
    let name = if name.is_null() {
        String::new()
    } else {
        // SAFETY: the caller promises a text that ends with a zero byte.
        name_of(unsafe { CStr::from_ptr(name) }.to_bytes())
    };
    mpi_intercept::asked(|| ask(Asked::Phase(&name)));
}

/// Nothing is counted until [`mel_start`]. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_stop() {
    mpi_intercept::asked(|| ask(Asked::Stop));
}

/// What the program does is counted again after [`mel_stop`]. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_start() {
    mpi_intercept::asked(|| ask(Asked::Start));
}

/// What was counted until now is set to zero, in all phases. Where MPI may be called.
#[unsafe(no_mangle)]
pub extern "C" fn mel_reset() {
    mpi_intercept::asked(|| ask(Asked::Reset));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_blanks_around_them_and_an_end() {
        assert_eq!(name_of(b"solve   "), "solve");
        assert_eq!(name_of(b""), "");
        assert_eq!(name_of(b"a\xffb"), "a\u{fffd}b");
        let long = "\u{e4}".repeat(300);
        assert_eq!(name_of(long.as_bytes()).len(), 254);
    }
}
