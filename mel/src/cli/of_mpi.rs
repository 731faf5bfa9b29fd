//! The event types of an MPI library itself, found by asking that library.
//!
//! Some MPIs have them from `MPI_Init` on only. So the library is opened in this process, which becomes an
//! MPI program of one process for a moment: only where the library has the events interface, or PERUSE, at
//! all.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, bail};
use mpi_abi::{Abi, Family, ToolEvents, next};
use mpit_events::{Core, EventType};
use mpit_sources::native::NativeEvents;
use mpit_sources::peruse::Peruse;

use super::elf;

/// What an MPI library offers.
#[derive(Debug)]
pub struct Offer {
    /// What the library calls itself, in a few words.
    pub library: String,
    /// Whose binary interface it has.
    pub family: Family,
    /// Which MPI standard it follows, and whose binary interface it has, in a few words.
    pub interface: String,
    /// Its own event types.
    pub types: Vec<EventType>,
    /// Whether ob1 itself can report on its queues.
    pub peruse: mpit_sources::Offer,
}

/// Asks the MPI that a program is linked with. Once in a process.
///
/// # Errors
/// The program is not linked with an MPI that is known here, or MPI does not start.
pub fn ask(program: &Path) -> anyhow::Result<Offer> {
    ask_library(&library_of(program)?)
}

/// Asks an MPI library. Once in a process.
///
/// # Errors
/// It is no MPI that is known here, or MPI does not start.
pub fn ask_library(path: &Path) -> anyhow::Result<Offer> {
    let abi = open(path)?;
    let library = short(&abi.library);
    let (version, subversion) = abi.standard;
    let family = abi.family;
    let interface = format!("MPI-{version}.{subversion}, {}", family.abi_name());
    if ToolEvents::get(true).is_none() && !Peruse::is_there() {
        return Ok(Offer {
            library,
            family,
            interface,
            types: Vec::new(),
            peruse: mpit_sources::Offer::Absent,
        });
    }
    let core: &'static Core = Box::leak(Box::default());
    initialise()?;
    let peruse = mpit_sources::Offer::find();
    let types = NativeEvents::find(abi, core).map_or_else(Vec::new, |native| {
        native.events().filter_map(|event| core.event_type(event).cloned()).collect()
    });
    finalise();
    Ok(Offer { library, family, interface, types, peruse })
}

/// Has something done with an MPI library: first before it is initialised, with its name, then afterwards. Once in a process.
///
/// # Errors
/// As [`ask_library`]; those of what is done.
pub fn with_library(
    path: &Path,
    before: impl FnOnce(&str) -> anyhow::Result<()>,
    after: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    before(&short(&open(path)?.library))?;
    initialise()?;
    let result = after();
    finalise();
    result
}

/// Opens an MPI library.
fn open(path: &Path) -> anyhow::Result<&'static Abi> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a C string. The library's constructors run, as they would in the program; it stays open.
    let opened = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    if opened.is_null() {
        bail!("cannot open {}: {}", path.display(), why_not_opened());
    }
    Abi::detect().map_err(|unknown| anyhow!("{unknown}"))
}

/// Whether the MPI of a program may have event types of its own; yes where its library is not known. No MPI runs for that.
pub fn may_have_events(program: &Path) -> bool {
    library_of(program).map_or(true, |library| elf::exports(&library, b"MPI_T_event_get_num").unwrap_or(true))
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

/// The file of the MPI library, as the dynamic linker finds it for a program.
///
/// # Errors
/// The program is not linked with an MPI library, or the linker does not find it.
pub fn library_of(program: &Path) -> anyhow::Result<PathBuf> {
    let listed = Command::new("ldd").arg(program).output().context("cannot run ldd")?;
    let text = String::from_utf8_lossy(&listed.stdout);
    if let Some(missing) = missing_among(&text) {
        bail!(
            "{} needs {missing}, which the dynamic linker does not find; load the module of its MPI, or add the library's \
             folder to LD_LIBRARY_PATH",
            program.display()
        );
    }
    mpi_among(&text).ok_or_else(|| {
        anyhow!("{} is not linked with an MPI library; name a program that is", program.display())
    })
}

/// Whether a file of this name is an MPI library: not one of its other languages, such as libmpi_cxx and libmpifort.
pub fn is_mpi_library(name: &str) -> bool {
    ["libmpi.so", "libmpich.so", "libmpi_abi.so"].iter().any(|known| name.starts_with(known))
}

/// The MPI library in a list of libraries as `ldd` prints it, one `name => path (address)` in a line.
fn mpi_among(listed: &str) -> Option<PathBuf> {
    mpi_in(listed).find(|(_, path)| path.starts_with('/')).map(|(_, path)| path.into())
}

/// The MPI library in such a list that the linker has not found.
fn missing_among(listed: &str) -> Option<&str> {
    mpi_in(listed).find(|(_, path)| *path == "not found").map(|(name, _)| name)
}

/// The names and paths of MPI libraries in such a list.
fn mpi_in(listed: &str) -> impl Iterator<Item = (&str, &str)> {
    let named = listed.lines().filter_map(|line| line.trim().split_once(" => "));
    named
        .filter(|(name, _)| is_mpi_library(name))
        .map(|(name, path)| (name, path.split(" (").next().unwrap_or(path)))
}

fn initialise() -> anyhow::Result<()> {
    let address = next::unseen(c"MPI_Init");
    if address.is_null() {
        bail!("the MPI library has no MPI_Init");
    }
    type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
    // SAFETY: the function of this name has this signature in every MPI.
    let init = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Init>(address) };
    // SAFETY: MPI allows null for both; nobody has initialised it in this process.
    match unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) } {
        0 => Ok(()),
        code => bail!("MPI does not start: error code {code}"),
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
    fn the_mpi_library_is_found_among_others() {
        let of_mpich = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpifort.so.12 => /opt/lib/libmpifort.so.12 (0x1)\n\
                        \tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x00007f0c)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n";
        assert_eq!(mpi_among(of_mpich), Some("/opt/lib/libmpi.so.12".into()));
        assert_eq!(
            mpi_among("\tlibmpich.so.12 => /lib/libmpich.so.12 (0x1)"),
            Some("/lib/libmpich.so.12".into())
        );
        assert_eq!(mpi_among("\tlibmpi.so.40 => not found"), None);
        assert_eq!(missing_among("\tlibmpi.so.40 => not found"), Some("libmpi.so.40"));
        assert_eq!(missing_among(of_mpich), None);
        assert_eq!(mpi_among("\tlibc.so.6 => /lib/libc.so.6 (0x2)"), None);
        assert_eq!(mpi_among("\tstatically linked"), None);
    }

    #[test]
    fn a_library_is_named_in_a_few_words() {
        assert_eq!(short("MPICH Version:\t4.0.2"), "MPICH Version: 4.0.2");
        assert_eq!(short("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
        assert_eq!(short(""), "");
    }

    #[test]
    fn a_program_without_mpi_is_refused() {
        let error = ask("/bin/true".as_ref()).unwrap_err().to_string();
        assert!(error.starts_with("/bin/true is not linked with an MPI library"), "{error}");
    }
}
