//! A call of a function that the MPI in use does not have.
//!
//! Without us the dynamic linker would have ended the program, because the symbol is defined
//! nowhere. It is defined here, so we do the same when it is called.

/// Ends the process as the dynamic linker ends one that lacks a symbol: its message, status 127.
#[cold]
pub(crate) fn end_process(function: &str) -> ! {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = program.to_string_lossy();
    let line = format!("{program}: symbol lookup error: {program}: undefined symbol: {function}\n");
    crate::standard_error::write(&line);
    // SAFETY: ends the process at once, without running anything of the application.
    unsafe { libc::_exit(127) }
}
