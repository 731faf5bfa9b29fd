//! Where `libmel.so` is.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use crate::bundle;

/// The name of the library that is preloaded.
pub const NAME: &str = "libmel.so";
/// The environment variable that overrides the search.
pub const VARIABLE: &str = mel_log::settings::LIBRARY.name;

/// Where the library may be as seen from the command: beside it, or installed below the same prefix.
const PLACES: [&str; 5] = ["", "../lib", "../lib64", "../lib/mel", "../lib64/mel"];

/// Where the library is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// [`VARIABLE`] names it.
    Given,
    /// It was built or installed with the command.
    Installed,
    /// It is a part of the command, and was unpacked.
    Bundled,
}

/// Finds the library: where [`VARIABLE`] says, else beside the command, else in `../lib`, `../lib64` or `mel` in one of these as seen from
/// it; else, if it is a part of the command, it is unpacked.
///
/// # Errors
/// It is in none of these places, cannot be unpacked, or its path cannot be preloaded.
pub fn find() -> anyhow::Result<(PathBuf, Origin)> {
    let (given, command) = (env::var_os(VARIABLE).filter(|given| !given.is_empty()), env::current_exe()?);
    let origin = if given.is_some() { Origin::Given } else { Origin::Installed };
    let installed = installed(given, &command);
    match (installed, bundle::here()) {
        (Err(_), Some(bundle)) if origin == Origin::Installed => {
            let folder = bundle.unpack(&bundle::folders(|name| env::var_os(name)))?;
            Ok((folder.join(NAME), Origin::Bundled))
        }
        (installed, _) => Ok((installed?, origin)),
    }
}

/// The library where `given` (the value of [`VARIABLE`]) says, or where it was installed.
fn installed(given: Option<OsString>, command: &Path) -> anyhow::Result<PathBuf> {
    let path = match given.filter(|given| !given.is_empty()) {
        Some(given) => {
            let path = PathBuf::from(given);
            path.canonicalize().map_err(|error| {
                anyhow!("{VARIABLE} names {}: {error}; set it to the path of {NAME}", path.display())
            })?
        }
        None => beside(command)?,
    };
    if has_separator(&path) {
        bail!(
            "{} cannot be preloaded because of the blank or colon in its path; move it, or set {VARIABLE}",
            path.display()
        );
    }
    Ok(path)
}

/// Whether a path would be several in `LD_PRELOAD`.
pub fn has_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|b| matches!(b, b' ' | b':' | b'\t' | b'\n'))
}

fn beside(command: &Path) -> anyhow::Result<PathBuf> {
    let folder = command.parent().unwrap_or(Path::new("."));
    let prefix = folder.parent().unwrap_or(Path::new("/usr/local"));
    let found = PLACES.iter().find_map(|place| folder.join(place).join(NAME).canonicalize().ok());
    found.ok_or_else(|| {
        anyhow!(
            "cannot find {NAME} beside {} or in {}/lib: cargo install installs the command alone; run `make install \
             PREFIX={}` where MEL's source is, or `cargo install --path mel --features bundled`, or set {VARIABLE} to the \
             library's path",
            command.display(),
            prefix.display(),
            prefix.display(),
        )
    })
}

/// How the names of libraries begin that must be in front of all others, as they replace the allocator and more: the runtimes of
/// sanitizers of GCC, and of Clang.
const FIRST: [&str; 8] = [
    "libasan.",
    "libhwasan.",
    "liblsan.",
    "libtsan.",
    "libclang_rt.asan",
    "libclang_rt.hwasan",
    "libclang_rt.lsan",
    "libclang_rt.tsan",
];

/// Whether a library that is preloaded must be in front of all others.
fn must_be_first(library: &OsStr) -> bool {
    let name = Path::new(library).file_name().and_then(OsStr::to_str).unwrap_or_default();
    FIRST.iter().any(|first| name.starts_with(first))
}

/// The value of `LD_PRELOAD` with the library there once: behind what must be first, and in front of all else. A tool that wraps MPI's
/// functions and goes on with `PMPI_*` is behind it, so that both see the calls.
pub fn preload(library: &Path, before: Option<&OsStr>) -> OsString {
    let pieces = before.unwrap_or_default().as_encoded_bytes().split(|b| matches!(b, b' ' | b':'));
    // SAFETY: pieces of a valid string, cut at ASCII characters.
    let pieces = pieces.map(|piece| unsafe { OsStr::from_encoded_bytes_unchecked(piece) });
    let others = pieces.filter(|other| !other.is_empty() && *other != library.as_os_str());
    let (mut all, behind): (Vec<&OsStr>, Vec<&OsStr>) = others.partition(|other| must_be_first(other));
    all.push(library.as_os_str());
    all.extend(behind);
    all.join(OsStr::new(":"))
}

/// The variable with options of AddressSanitizer.
pub const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// Its value with which a program whose AddressSanitizer is a shared library starts, although another library is preloaded. That the
/// runtime is behind it hurts neither. Not the runtime itself is preloaded: each program that this one starts would get it, too, and
/// be checked for leaks. `None` where the user has decided.
pub fn asan_options(before: Option<&OsStr>) -> Option<OsString> {
    const ORDER: &str = "verify_asan_link_order";
    let mut value = before.unwrap_or_default().to_owned();
    if value.as_encoded_bytes().windows(ORDER.len()).any(|piece| piece == ORDER.as_bytes()) {
        return None;
    }
    if !value.is_empty() {
        value.push(":");
    }
    value.push(ORDER);
    value.push("=0");
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_beside_the_command_and_in_lib() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for folder in ["bin", "lib"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        let command = root.join("bin/mel");
        let error = installed(None, &command).unwrap_err().to_string();
        assert!(error.contains("set MEL_LIBRARY"), "{error}");
        std::fs::write(root.join("lib/libmel.so"), "").unwrap();
        assert_eq!(installed(None, &command).unwrap(), root.join("lib/libmel.so"));
        std::fs::create_dir(root.join("lib64")).unwrap();
        std::fs::rename(root.join("lib/libmel.so"), root.join("lib64/libmel.so")).unwrap();
        assert_eq!(installed(None, &command).unwrap(), root.join("lib64/libmel.so"));
        std::fs::rename(root.join("lib64/libmel.so"), root.join("lib/libmel.so")).unwrap();
        std::fs::write(root.join("bin/libmel.so"), "").unwrap();
        assert_eq!(installed(None, &command).unwrap(), root.join("bin/libmel.so"));
        let given = root.join("lib/libmel.so").into_os_string();
        assert_eq!(installed(Some(given.clone()), &command).unwrap(), given);
        let error = installed(Some("/nonexistent/libmel.so".into()), &command).unwrap_err().to_string();
        assert!(error.starts_with("MEL_LIBRARY names /nonexistent/libmel.so: "), "{error}");
        std::fs::create_dir(root.join("a b")).unwrap();
        std::fs::write(root.join("a b/libmel.so"), "").unwrap();
        let error = installed(None, &root.join("a b/mel")).unwrap_err().to_string();
        assert!(error.contains("cannot be preloaded"), "{error}");
    }

    #[test]
    fn other_preloaded_libraries_stay() {
        let library = Path::new("/x/libmel.so");
        assert_eq!(preload(library, None), "/x/libmel.so");
        assert_eq!(preload(library, Some("".as_ref())), "/x/libmel.so");
        assert_eq!(preload(library, Some("a.so:b.so c.so".as_ref())), "/x/libmel.so:a.so:b.so:c.so");
        assert_eq!(preload(library, Some("a.so:/x/libmel.so".as_ref())), "/x/libmel.so:a.so");
    }

    #[test]
    fn what_must_be_first_stays_first() {
        let with = |before: &str| preload(Path::new("/x/libmel.so"), Some(before.as_ref()));
        assert_eq!(with("/usr/lib/libasan.so.8"), "/usr/lib/libasan.so.8:/x/libmel.so");
        assert_eq!(with("libtsan.so.2:a.so"), "libtsan.so.2:/x/libmel.so:a.so");
        assert_eq!(
            with("/l/libclang_rt.asan-x86_64.so a.so:/x/libmel.so"),
            "/l/libclang_rt.asan-x86_64.so:/x/libmel.so:a.so"
        );
        assert_eq!(with("libasanas.so:/libasan.d/b.so"), "/x/libmel.so:libasanas.so:/libasan.d/b.so");
    }

    #[test]
    fn options_of_the_user_stay() {
        let with = |before: &str| asan_options(Some(before.as_ref()));
        assert_eq!(asan_options(None).unwrap(), "verify_asan_link_order=0");
        assert_eq!(with("detect_leaks=0").unwrap(), "detect_leaks=0:verify_asan_link_order=0");
        assert_eq!(with("verify_asan_link_order=1"), None);
    }
}
