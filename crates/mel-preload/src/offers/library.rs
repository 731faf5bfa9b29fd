//! The event types of an MPI library itself, found by asking that library.
//!
//! Some MPIs have them from `MPI_Init` on only. So the library is opened in this process, which becomes an
//! MPI program of one process for a moment: only where the library has the events interface, or PERUSE, at
//! all.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use mel_log::offers::{Inside, Library};
use mpi_abi::{Abi, Family, ToolEvents, next};
use mpit_events::{Core, EventType};
use mpit_sources::Offer;
use mpit_sources::native::{Moment, NativeEvents};
use mpit_sources::peruse::Peruse;

use crate::trace::modules;

/// What an MPI library offers.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) library: Library,
    /// Its own event types.
    pub(super) types: Vec<EventType>,
    /// Whether ob1 itself can report on its queues.
    pub(super) peruse: Offer,
}

/// Asks an MPI library. Once in a process.
///
/// # Errors
/// It is no MPI that is known here, or MPI does not start.
pub(super) fn ask(path: &Path) -> Result<Asked, String> {
    let abi = open(path)?;
    let (mut types, mut peruse) = (Vec::new(), Offer::Absent);
    if ToolEvents::get(true).is_some() || Peruse::is_there() {
        let core: &'static Core = Box::leak(Box::default());
        initialise()?;
        peruse = Offer::find();
        types = NativeEvents::find(abi, core, Moment::BeforeInit).map_or_else(Vec::new, |native| {
            native.events().filter_map(|event| core.event_type(event).cloned()).collect()
        });
        finalise();
    }
    let (version, subversion) = abi.standard;
    let library = Library {
        name: short(&abi.library),
        interface: format!("MPI-{version}.{subversion}, {}", abi.family.abi_name()),
        open_mpi: abi.family == Family::OpenMpi,
        events: types.len(),
        peruse: peruse == Offer::Usable,
        why: peruse.to_string(),
        inside: inside(abi, path, peruse == Offer::Usable),
    };
    Ok(Asked { library, types, peruse })
}

/// Who tells of messages inside this library, which is open.
fn inside(abi: &Abi, path: &Path, peruse: bool) -> Inside {
    let component = || {
        let near = path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
        !next::symbol(c"mca_pml_monitoring_add_procs").is_null()
            || near.is_some_and(|folder| has_file(&folder.join("openmpi"), "mca_pml_monitoring.so", 2))
    };
    match abi.family {
        Family::OpenMpi if component() => Inside::Component,
        Family::OpenMpi if peruse => Inside::Peruse,
        Family::OpenMpi => Inside::Nobody,
        _ if modules::address_of("libucp").is_some() => Inside::Ucx,
        _ => Inside::Nobody,
    }
}

/// Whether there is a file of this name in a folder, or so deep below it.
fn has_file(folder: &Path, name: &str, depth: usize) -> bool {
    folder.join(name).exists()
        || depth > 0
            && std::fs::read_dir(folder).is_ok_and(|entries| {
                let folders =
                    entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                folders.into_iter().any(|entry| has_file(&entry.path(), name, depth - 1))
            })
}

/// Has something done with an MPI library: first before it is initialised, with its name, then afterwards. Once in a process.
///
/// # Errors
/// As [`ask`]; those of what is done.
pub(super) fn with_library(
    path: &Path,
    before: impl FnOnce(&str) -> Result<(), String>,
    after: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    before(&short(&open(path)?.library))?;
    initialise()?;
    let result = after();
    finalise();
    result
}

/// Opens an MPI library.
fn open(path: &Path) -> Result<&'static Abi, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a C string. The library's constructors run, as they would in the program; it stays open.
    let opened = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    if opened.is_null() {
        return Err(format!("cannot open {}: {}", path.display(), why_not_opened()));
    }
    Abi::detect().map_err(|unknown| unknown.to_string())
}

/// The name and version in what a library says of itself.
fn short(library: &str) -> String {
    let words: Vec<&str> = library.split(',').next().unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

/// Why the dynamic linker has not opened a library, in its own words.
fn why_not_opened() -> String {
    // SAFETY: takes no arguments; the string lives until the linker is called again by this thread.
    let said = unsafe { libc::dlerror() };
    if said.is_null() {
        return "the dynamic linker does not say why".into();
    }
    // SAFETY: a C string, see above.
    unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
}

fn initialise() -> Result<(), String> {
    let address = next::unseen(c"MPI_Init");
    if address.is_null() {
        return Err("the MPI library has no MPI_Init".into());
    }
    type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
    // SAFETY: the function of this name has this signature in every MPI.
    let init = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Init>(address) };
    // SAFETY: MPI allows null for both; nobody has initialised it in this process.
    match unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(format!("MPI does not start: error code {code}")),
    }
}

fn finalise() {
    let address = next::unseen(c"MPI_Finalize");
    if !address.is_null() {
        // SAFETY: the function of this name has this signature in every MPI.
        let finalize =
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn() -> c_int>(address) };
        // SAFETY: MPI was initialised by this thread.
        unsafe { finalize() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_named_in_a_few_words() {
        assert_eq!(short("MPICH Version:\t4.0.2"), "MPICH Version: 4.0.2");
        assert_eq!(short("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
        assert_eq!(short(""), "");
    }
}
