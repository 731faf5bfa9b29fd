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
/// `name` is the name of the MPI function. Searched, in this order: the next `MPI_X`, the next
/// `PMPI_X`, and both again in an MPI library that the program opened privately (as an extension
/// module of an interpreter does), where the global order of linking does not reach.
#[must_use]
pub fn next(name: &CStr) -> *mut c_void {
    let profiling = profiling_name(name);
    first(&[name, &profiling])
}

/// As [`next`], for a program that has found `found` itself: the library that holds it is the private one, if that has
/// not been decided.
#[must_use]
pub fn next_for(name: &CStr, found: *mut c_void) -> *mut c_void {
    let _ = private_library(|| Library::of(found as usize).filter(|library| library.init() != 0));
    next(name)
}

/// The symbol that an interposed subroutine of Fortran continues with, by its exact name, or null where
/// there is none.
///
/// Searched behind our own object, then in a Fortran library of MPI that the program opened
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
        let library = library.get_or_init(|| any_library_with(marker));
        // SAFETY: an open handle and a valid C string.
        library.as_ref().map_or(ptr::null_mut(), |library| unsafe { libc::dlsym(library.0, name.as_ptr()) })
    });
    // The linker also searches the libraries that this one needs, ours among them if it is linked.
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
/// Searched in the global scope first: predefined objects of Open MPI may have been copied into
/// the executable, and the address there is the one that counts.
#[must_use]
pub fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: dlsym with a valid C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { in_private_library(name) } else { found }
}

/// A function by its exact name from the very object that holds the function or datum at `address`, or null: for
/// what one MPI library has and another one, mapped too, must not answer for.
#[must_use]
pub fn in_same_object(address: usize, name: &CStr) -> *mut c_void {
    let found = match Library::of(address) {
        // SAFETY: an open handle and a valid C string.
        Some(library) => unsafe { libc::dlsym(library.0, name.as_ptr()) },
        None => ptr::null_mut(),
    };
    // The linker searches the dependencies of the object too.
    if base_of(found as usize) == base_of(address) { found } else { ptr::null_mut() }
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
    // The bytes of a C string hold no NUL; an empty name is never found.
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

/// The symbol of this name in the loaded object that holds an address, or in what that is linked with, whatever stands before it in the
/// order of the process; null where there is none.
pub fn symbol_at(address: usize, name: &CStr) -> *mut c_void {
    Library::of(address).map_or(ptr::null_mut(), |library| library.symbol(name) as *mut c_void)
}

/// A handle of a loaded object, which keeps it loaded.
struct Library(*mut c_void);
// SAFETY: the handle is only passed to dlsym and dlclose, which any thread may call.
unsafe impl Send for Library {}
// SAFETY: dlsym may be called with the same handle by several threads at once.
unsafe impl Sync for Library {}

impl Library {
    /// The object of this file name, if it is loaded. Loads nothing and runs no code of it.
    fn loaded(name: &CStr) -> Option<Self> {
        // SAFETY: a valid C string.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Self(handle))
    }

    /// The object that holds an address.
    fn of(address: usize) -> Option<Self> {
        Self::loaded(&CString::new(file_of(address)?).ok()?)
    }

    /// `PMPI_Init` of the MPI library that this is, or is linked with; 0 where there is none.
    fn init(&self) -> usize {
        self.symbol(c"PMPI_Init")
    }

    /// The symbol of this name in it, or in what it is linked with; 0 where there is none.
    fn symbol(&self, name: &CStr) -> usize {
        // SAFETY: an open handle and a valid C string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) as usize }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: opened by `loaded`, and used by nobody any more.
        unsafe { libc::dlclose(self.0) };
    }
}

/// The MPI library that the program has opened privately, if it has. Which one that is, is decided at the first
/// need, and kept for the life of the process.
fn private_library(likely: impl FnOnce() -> Option<Library>) -> Option<&'static Library> {
    static PRIVATE: OnceLock<Library> = OnceLock::new();
    if let Some(known) = PRIVATE.get() {
        return Some(known);
    }
    let find = || {
        // SAFETY: dlsym with a valid C string.
        let reachable = unsafe { libc::dlsym(libc::RTLD_NEXT, c"PMPI_Init".as_ptr()) };
        // What the MPI lacks that is there for all to see, another one must not have.
        if reachable.is_null() { likely().or_else(|| any_library_with(c"PMPI_Init")) } else { None }
    };
    // None may be loaded yet: then the next call searches again.
    find().map(|found| PRIVATE.get_or_init(|| found))
}

fn in_private_library(name: &CStr) -> *mut c_void {
    match private_library(library_of_the_caller) {
        // SAFETY: an open handle and a valid C string.
        Some(library) => unsafe { libc::dlsym(library.0, name.as_ptr()) },
        None => ptr::null_mut(),
    }
}

/// The MPI library that the code is linked with which has called us: where several are open, each extension module
/// means its own.
fn library_of_the_caller() -> Option<Library> {
    let mut callers = [ptr::null_mut(); 64];
    // SAFETY: the array has as many elements as the length passed.
    let depth = unsafe { libc::backtrace(callers.as_mut_ptr(), callers.len() as c_int) };
    let mut last = base_of(library_of_the_caller as *const () as usize);
    callers.iter().take(usize::try_from(depth).unwrap_or(0)).find_map(|&caller| {
        let base = base_of(caller as usize);
        if base == last {
            return None;
        }
        last = base;
        Library::of(caller as usize).and_then(|object| Library::of(object.init()))
    })
}

/// The files of the MPI libraries that are loaded, whether the program's calls reach them or not. For the time of
/// initialisation: it asks the dynamic linker about each object of the process.
#[must_use]
pub fn libraries() -> Vec<String> {
    let mut files = objects();
    files.retain(|name| library_with(c"PMPI_Init", name).is_some());
    files.iter().map(|name| name.to_string_lossy().into_owned()).collect()
}

/// The first object of the process that defines `marker` itself.
fn any_library_with(marker: &CStr) -> Option<Library> {
    objects().iter().find_map(|name| library_with(marker, name))
}

/// The loaded object of this file name, if it defines `marker` itself.
fn library_with(marker: &CStr, name: &CStr) -> Option<Library> {
    let library = Library::loaded(name)?;
    // The linker searches the dependencies too: keep only the object that holds the function.
    let own = file_of(library.symbol(marker)).is_some_and(|file| file.as_bytes() == name.to_bytes());
    own.then_some(library)
}

/// The file names of all objects of the process that have one.
fn objects() -> Vec<CString> {
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
    names.retain(|name| !name.is_empty());
    names
}

const _: () = assert!(size_of::<c_char>() == 1 && size_of::<usize>() == 8, "64-bit systems only");
