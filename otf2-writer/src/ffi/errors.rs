//! libotf2's errors: taken from its callback, never printed, given back as [`Error`].

use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::Once,
};

use otf2_sys::{OTF2_ERROR_INVALID, OTF2_ErrorCode, OTF2_SUCCESS, Otf2};

use crate::error::Error;

/// Where an error arose. libotf2 reports an error at each level of its call stack, the deepest
/// first, and the deepest one names the file and the reason.
struct Origin {
    code: OTF2_ErrorCode,
    detail: String,
}

thread_local! {
    static ORIGIN: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

/// Keeps libotf2 from writing to standard error, from now on and in this process.
///
/// There is one callback per libotf2. Where that is linked into this binary, nobody else uses it;
/// where it is shared with the application, the application's own messages end here, too.
pub(super) fn silence(api: &Otf2) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the callback is valid for the rest of the process and needs no data.
        unsafe { api.OTF2_Error_RegisterCallback(Some(on_error), ptr::null_mut()) };
    });
}

unsafe extern "C" {
    /// C's own; a `va_list` parameter is passed on as the pointer that it is in the ABI.
    fn vsnprintf(
        text: *mut c_char,
        bytes: usize,
        format: *const c_char,
        arguments: otf2_sys::va_list,
    ) -> c_int;
}

unsafe extern "C" fn on_error(
    _user_data: *mut c_void,
    _file: *const c_char,
    _line: u64,
    _function: *const c_char,
    code: OTF2_ErrorCode,
    format: *const c_char,
    arguments: otf2_sys::va_list,
) -> OTF2_ErrorCode {
    // Warnings and the like are negative; they are no reason to fail.
    if code <= OTF2_SUCCESS {
        return code;
    }
    // After the thread's data is gone, or within itself, the message is left out.
    let _ = ORIGIN.try_with(|origin| {
        let Ok(mut origin) = origin.try_borrow_mut() else { return };
        if origin.is_none() {
            let mut text = [0_u8; 1024];
            if !format.is_null() {
                // SAFETY: libotf2 passes a format with the arguments that belong to it; the length
                // is that of the buffer, and the result is terminated within it.
                unsafe { vsnprintf(text.as_mut_ptr().cast(), text.len(), format, arguments) };
            }
            let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
            *origin = Some(Origin { code, detail: one_line(&text.to_string_lossy()) });
        }
    });
    code
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Turns the code of a call on the hot path into a result: success costs one comparison.
#[inline]
pub(super) fn check(api: &Otf2, doing: &'static str, code: OTF2_ErrorCode) -> Result<(), Error> {
    if code == OTF2_SUCCESS { Ok(()) } else { Err(take(api, doing, code)) }
}

/// Calls libotf2 and also takes for an error what it reported but did not return: closing goes on
/// after a failed write, and forgets it.
pub(super) fn strictly(
    api: &Otf2,
    doing: &'static str,
    call: impl FnOnce() -> OTF2_ErrorCode,
) -> Result<(), Error> {
    forget();
    let code = call();
    let reported = ORIGIN.with_borrow(Option::is_some);
    if code == OTF2_SUCCESS && !reported { Ok(()) } else { Err(take(api, doing, code)) }
}

/// Calls a function of libotf2 that returns a handle.
pub(super) fn handle<T>(
    api: &Otf2,
    doing: &'static str,
    call: impl FnOnce() -> *mut T,
) -> Result<ptr::NonNull<T>, Error> {
    forget();
    ptr::NonNull::new(call()).ok_or_else(|| take(api, doing, OTF2_ERROR_INVALID))
}

fn forget() {
    ORIGIN.with_borrow_mut(|origin| *origin = None);
}

#[cold]
fn take(api: &Otf2, doing: &'static str, code: OTF2_ErrorCode) -> Error {
    let origin = ORIGIN.with_borrow_mut(Option::take);
    let Origin { code, detail } = origin.unwrap_or(Origin { code, detail: String::new() });
    // SAFETY: the function takes any code and returns a string of static storage.
    let description = unsafe { static_text(api.OTF2_Error_GetDescription(code)) };
    Error::Library { doing, code, description, detail }
}

/// # Safety
/// `text` is null, or a terminated string that lives through the call.
unsafe fn static_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::from("unknown");
    }
    // SAFETY: not null, so by the caller's promise a terminated string that lives through the call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
