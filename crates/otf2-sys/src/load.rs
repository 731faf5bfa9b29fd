//! The one table of functions of the process, filled when it is first asked for.

use std::sync::OnceLock;

use crate::bindings::Otf2;

/// libotf2 cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No shared library could be opened.
    #[error(
        "libotf2 was not found ({reason}). Remedy: install it (Debian, Ubuntu: apt install \
         libotf2-trace-dev) or add its directory to LD_LIBRARY_PATH"
    )]
    Absent {
        /// What the dynamic loader said of the last name tried.
        reason: String,
    },
    /// A shared library was opened but lacks a function.
    #[error(
        "the libotf2 found does not fit ({reason}). Remedy: install OTF2 {} or a later 3.x",
        crate::VERSION
    )]
    Unfit {
        /// What the dynamic loader said.
        reason: String,
    },
}

/// The functions of libotf2, linked or, at the first call, opened.
///
/// May be called from any thread; opening takes the loader's lock, so not from a signal handler.
///
/// # Errors
/// Where libotf2 is not linked in and no fitting shared library is installed: each call repeats the
/// answer of the first.
pub fn api() -> Result<&'static Otf2, LoadError> {
    static API: OnceLock<Result<Otf2, LoadError>> = OnceLock::new();
    API.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// Whether libotf2 is part of this binary, rather than opened at run time.
pub const fn is_static() -> bool {
    cfg!(otf2_static)
}

#[cfg(otf2_static)]
fn load() -> Result<Otf2, LoadError> {
    Ok(Otf2::from_static())
}

#[cfg(not(otf2_static))]
fn load() -> Result<Otf2, LoadError> {
    open_first(env!("OTF2_SYS_LIBRARIES").split(':'))
}

/// Opens the first of `names` that the loader finds.
#[cfg_attr(otf2_static, allow(dead_code, reason = "only its tests use it"))]
fn open_first<'a>(names: impl Iterator<Item = &'a str>) -> Result<Otf2, LoadError> {
    let mut reason = String::from("no name to search for");
    for name in names {
        // SAFETY: opening runs the library's initialisers; libotf2 has none of its own.
        match unsafe { libloading::Library::new(name) } {
            Ok(library) => {
                // SAFETY: the table has the types of the header of this interface version, which
                // the library's name carries.
                return unsafe { Otf2::from_library(library) }
                    .map_err(|error| LoadError::Unfit { reason: describe(&error) });
            }
            Err(error) => reason = describe(&error),
        }
    }
    Err(LoadError::Absent { reason })
}

/// The loader's own words, which libloading keeps as the source of its error.
fn describe(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_names_the_package() {
        let error = open_first(["libotf2-that-nobody-has.so.0"].into_iter()).err().unwrap();
        let text = error.to_string();
        assert!(matches!(error, LoadError::Absent { .. }), "{text}");
        assert!(text.contains("libotf2-that-nobody-has.so.0"), "{text}");
        assert!(text.contains("libotf2-trace-dev"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn a_library_without_the_functions_is_unfit() {
        let error = open_first(["libc.so.6"].into_iter()).err().unwrap();
        assert!(matches!(error, LoadError::Unfit { .. }), "{error}");
    }

    #[test]
    fn the_table_is_filled_once() {
        let first = api().unwrap();
        assert!(std::ptr::eq(first, api().unwrap()));
    }
}
