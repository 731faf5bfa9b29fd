//! Finding functions behind our own: the *next* `MPI_X` in the order of linking.
//!
//! Must be called from the shared object that interposes: `RTLD_NEXT` means "behind the object of
//! the caller". May take the dynamic linker's lock: not for signal handlers, not for hot paths.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    ptr,
    sync::OnceLock,
};

/// The function that an interposed `MPI_X` continues with, or null where there is none.
///
/// `name` is the name of the MPI function. Looked for, in this order: the next `MPI_X`, the next
/// `PMPI_X`, and both again in an MPI library that the program opened privately (as an extension
/// module of an interpreter does), where the global order of linking does not reach.
#[must_use]
pub fn next(name: &CStr) -> *mut c_void {
    let profiling = profiling_name(name);
    first(&[name, &profiling])
}

/// The symbol that an interposed subroutine of Fortran continues with, by its exact name, or null where
/// there is none.
///
/// Looked for behind our own object, then in a Fortran library of MPI that the program opened
/// privately.
#[must_use]
pub fn next_fortran(name: &CStr) -> *mut c_void {
    static PRIVATE: [OnceLock<Option<Library>>; 2] = [const { OnceLock::new() }; 2];
    // SAFETY: dlsym with a valid C string.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !found.is_null() {
        return found;
    }
    // One library for `mpif.h`, one for `mpi_f08`, or the same for both. Each is known by a name that
    // nobody interposes.
    let markers = [c"pmpi_init_", c"pmpi_init_f08_"];
    let mut found = PRIVATE.iter().zip(markers).map(|(library, marker)| {
        let library = library.get_or_init(|| find_private_library(marker));
        // SAFETY: an open handle and a valid C string.
        library.as_ref().map_or(ptr::null_mut(), |library| unsafe { libc::dlsym(library.0, name.as_ptr()) })
    });
    // Looking in a library means to look in those that it needs too, ours among them if it is linked.
    let ours = base_of(next_fortran as *const () as usize);
    found.find(|address| !address.is_null() && base_of(*address as usize) != ours).unwrap_or(ptr::null_mut())
}

/// The function to call MPI with unseen by other tools, or null: `PMPI_X` before `MPI_X`.
#[must_use]
pub fn unseen(name: &CStr) -> *mut c_void {
    let profiling = profiling_name(name);
    first(&[&profiling, name])
}

/// An object or function of the MPI library by its exact name, or null.
///
/// Looked up in the global scope first: predefined objects of Open MPI may have been copied into
/// the executable, and the address there is the one that counts.
#[must_use]
pub fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: dlsym with a valid C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { in_private_library(name) } else { found }
}

/// What the dynamic linker knows of the object that holds `address`. The address is a number here:
/// nothing reads what it points to.
fn object_of(address: usize) -> Option<libc::Dl_info> {
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    let address = ptr::without_provenance::<c_void>(address);
    // SAFETY: `info` is writable; dladdr accepts any address and compares it with load addresses.
    let found = unsafe { libc::dladdr(address, &mut info) } != 0;
    found.then_some(info)
}

/// The file name of the object that holds the function or datum at `address`.
#[must_use]
pub fn file_of(address: usize) -> Option<String> {
    let name = object_of(address)?.dli_fname;
    if name.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a C string that lives as long as the object is loaded, which it is: the
    // caller has an address in it.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The load address of the object that holds the function or datum at `address`.
#[must_use]
pub fn base_of(address: usize) -> Option<usize> {
    object_of(address).map(|info| info.dli_fbase as usize)
}

fn profiling_name(name: &CStr) -> CString {
    let mut bytes = Vec::with_capacity(name.count_bytes() + 1);
    bytes.push(b'P');
    bytes.extend_from_slice(name.to_bytes());
    // The bytes of a C string hold no NUL; an empty name is looked up in vain.
    CString::new(bytes).unwrap_or_default()
}

fn first(names: &[&CStr]) -> *mut c_void {
    let behind = |name: &&CStr| {
        // SAFETY: dlsym with a valid C string.
        unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
    };
    let private = |name: &&CStr| in_private_library(name);
    names
        .iter()
        .map(behind)
        .chain(names.iter().map(private))
        .find(|address| !address.is_null())
        .unwrap_or(ptr::null_mut())
}

/// A handle of the dynamic linker; it stays open for the life of the process.
struct Library(*mut c_void);
// SAFETY: the handle is only passed to dlsym, which any thread may call.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

fn in_private_library(name: &CStr) -> *mut c_void {
    static PRIVATE: OnceLock<Option<Library>> = OnceLock::new();
    match PRIVATE.get_or_init(|| find_private_library(c"PMPI_Init")) {
        // SAFETY: an open handle and a valid C string.
        Some(library) => unsafe { libc::dlsym(library.0, name.as_ptr()) },
        None => ptr::null_mut(),
    }
}

/// Opens again, without loading, the first object of the process that defines `marker` itself.
fn find_private_library(marker: &CStr) -> Option<Library> {
    unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: `into` is the vector given to dl_iterate_phdr below, used by this thread only;
        // the entry of the dynamic linker is valid during the call.
        let (names, name) = unsafe { (&mut *into.cast::<Vec<CString>>(), (*info).dlpi_name) };
        if !name.is_null() {
            // SAFETY: a non-null name is a C string.
            names.push(unsafe { CStr::from_ptr(name) }.to_owned());
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback matches the type and gets the vector it expects.
    unsafe { libc::dl_iterate_phdr(Some(collect), ptr::from_mut(&mut names).cast()) };
    names.iter().filter(|name| !name.is_empty()).find_map(|name| {
        // SAFETY: a valid C string; NOLOAD runs no code of the library.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return None;
        }
        // SAFETY: an open handle and a valid C string.
        let init = unsafe { libc::dlsym(handle, marker.as_ptr()) };
        // dlsym looks in the dependencies too: keep only the object that holds the function.
        let own =
            !init.is_null() && file_of(init as usize).is_some_and(|file| file.as_bytes() == name.to_bytes());
        if own {
            return Some(Library(handle));
        }
        // SAFETY: the handle was opened above and is used no more.
        unsafe { libc::dlclose(handle) };
        None
    })
}

const _: () = assert!(size_of::<c_char>() == 1 && size_of::<usize>() == 8, "64-bit systems only");
