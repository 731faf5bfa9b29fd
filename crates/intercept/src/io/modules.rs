//! Which addresses are code of the MPI library and of the transports below it.
//!
//! The modules of the process are read from the dynamic linker into a table that only grows, and is searched without a lock.
//! An address that is in none of them belongs to a module that was loaded since (or to code that was made at run time): then
//! the linker is asked again, if this thread is in an MPI call; otherwise the next call from an MPI call does that.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::depth::Depth;

/// How many modules are known at most; what is loaded later is taken for the program's.
const MAX: usize = 1024;

/// The code of a module.
struct Range {
    start: AtomicUsize,
    /// Its end; 0 where the module is gone.
    end: AtomicUsize,
    is_transport: AtomicBool,
}

static RANGES: [Range; MAX] = [const {
    Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0), is_transport: AtomicBool::new(false) }
}; MAX];
/// How many of them are in use.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The one that an address was found in last.
static LAST: AtomicUsize = AtomicUsize::new(0);
/// How many modules the dynamic linker had loaded in all when it was asked last.
static LOADED: AtomicU64 = AtomicU64::new(u64::MAX);
/// An address was found in no module.
static IS_STALE: AtomicBool = AtomicBool::new(false);
/// One at a time asks the dynamic linker.
static ASKING: AtomicBool = AtomicBool::new(false);

/// What the file names of the MPI libraries' modules begin with that move data between processes: Open MPI, MPICH and what is
/// made of it, UCX, libfabric and its providers, PSM. Not those by which processes reach their launcher.
const TRANSPORTS: [&str; 21] = [
    "libmpi.",
    "libmpi_",
    "libmpich",
    "libpmpi.",
    "libmpifort",
    "libopen-pal",
    "libmca_common_",
    "mca_btl_",
    "mca_mtl_",
    "mca_pml_",
    "mca_osc_",
    "mca_coll_",
    "mca_smsc_",
    "libucp",
    "libuct",
    "libucs",
    "libucx",
    "libfabric",
    "libpsm",
    "libefa",
    "libportals",
];

/// Whether a module of this path moves data between the processes of MPI.
pub fn is_transport(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    // Providers of libfabric: libtcp-fi.so.
    let is_provider = name.windows(6).any(|part| part == b"-fi.so");
    is_provider || TRANSPORTS.iter().any(|begin| name.starts_with(begin.as_bytes()))
}

/// Whether the code at this address belongs to such a module.
pub(super) fn is_of_mpi(address: usize) -> bool {
    let in_mpi = !Depth::at_top();
    if in_mpi && IS_STALE.load(Ordering::Relaxed) {
        refresh();
    }
    match find(address) {
        Some(is_transport) => is_transport,
        None if in_mpi => {
            refresh();
            find(address).unwrap_or(false)
        }
        None => {
            IS_STALE.store(true, Ordering::Relaxed);
            false
        }
    }
}

/// The same, with the modules that are loaded now. Takes the dynamic linker's lock for a moment.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is interposed"))]
#[cfg_attr(not(feature = "verbs"), allow(dead_code, reason = "verbs alone ask"))]
pub(super) fn is_of_mpi_now(address: usize) -> bool {
    refresh();
    find(address).unwrap_or(false)
}

/// Whether the module with this address is a transport; `None` where there is no such module.
fn find(address: usize) -> Option<bool> {
    let holds = |range: &Range| {
        address < range.end.load(Ordering::Acquire) && range.start.load(Ordering::Relaxed) <= address
    };
    let count = COUNT.load(Ordering::Acquire).min(MAX);
    let last = LAST.load(Ordering::Relaxed).min(MAX - 1);
    let found = if last < count && holds(&RANGES[last]) {
        last
    } else {
        let found = RANGES[..count].iter().position(holds)?;
        LAST.store(found, Ordering::Relaxed);
        found
    };
    Some(RANGES[found].is_transport.load(Ordering::Relaxed))
}

/// Asks the dynamic linker for the modules that it has loaded since it was asked last. Takes its lock for a moment.
pub(super) fn refresh() {
    if ASKING.swap(true, Ordering::Acquire) {
        return;
    }
    IS_STALE.store(false, Ordering::Relaxed);
    // SAFETY: the callback is of the type that is asked for, and uses its argument not at all.
    unsafe { libc::dl_iterate_phdr(Some(note), ptr::null_mut()) };
    ASKING.store(false, Ordering::Release);
}

/// Notes a module. Ends the iteration where nothing was loaded since the last one.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, size: usize, _: *mut c_void) -> c_int {
    // SAFETY: the entry of the dynamic linker is valid during the call.
    let info = unsafe { &*info };
    if size >= size_of::<libc::dl_phdr_info>() {
        // The program itself comes first, and is always the same.
        let is_first =
            COUNT.load(Ordering::Relaxed) != 0 && info.dlpi_addr as usize == FIRST.load(Ordering::Relaxed);
        if is_first && LOADED.load(Ordering::Relaxed) == info.dlpi_adds {
            return 1;
        }
        if COUNT.load(Ordering::Relaxed) == 0 {
            FIRST.store(info.dlpi_addr as usize, Ordering::Relaxed);
        }
        LOADED.store(info.dlpi_adds, Ordering::Relaxed);
    }
    let headers = if info.dlpi_phdr.is_null() {
        &[]
    } else {
        // SAFETY: the linker's table of so many headers.
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
    };
    let code =
        headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    let bounds = code.map(|header| {
        let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        (start, start.wrapping_add(header.p_memsz as usize))
    });
    let Some((start, end)) = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return 0 };
    let is_transport = !info.dlpi_name.is_null() && {
        // SAFETY: a non-null name is a C string.
        is_transport(unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes())
    };
    add(start, end, is_transport);
    0
}

/// The load address of the module that comes first.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Adds a module; what it overlaps is gone. One thread at a time does that.
fn add(start: usize, end: usize, is_transport: bool) {
    let count = COUNT.load(Ordering::Relaxed).min(MAX);
    for range in &RANGES[..count] {
        let (known_start, known_end) =
            (range.start.load(Ordering::Relaxed), range.end.load(Ordering::Relaxed));
        let known = range.is_transport.load(Ordering::Relaxed);
        if (known_start, known_end, known) == (start, end, is_transport) {
            return;
        }
        if known_start < end && start < known_end {
            range.end.store(0, Ordering::Relaxed);
        }
    }
    let Some(range) = RANGES.get(count) else { return };
    range.start.store(start, Ordering::Relaxed);
    range.is_transport.store(is_transport, Ordering::Relaxed);
    range.end.store(end, Ordering::Release);
    COUNT.store(count + 1, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_are_known_by_the_names_of_their_files() {
        let yes = [
            "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_tcp.so",
            "/lib/x86_64-linux-gnu/libmpi.so.40",
            "libmpich.so.12",
            "/opt/lib/libmpi_abi.so.0",
            "/usr/lib/x86_64-linux-gnu/ucx/libuct_cma.so.0",
            "/usr/lib/libfabric/libtcp-fi.so",
        ];
        let no = [
            "",
            "./app",
            "/home/mpi/libmpi/app",
            "libc.so.6",
            "libmel.so",
            "libopen-rte.so.40",
            "libpmix.so.2",
        ];
        yes.iter().for_each(|path| assert!(is_transport(path.as_bytes()), "{path}"));
        no.iter().for_each(|path| assert!(!is_transport(path.as_bytes()), "{path}"));
    }

    #[test]
    fn code_of_the_program_is_found_and_is_no_transport() {
        refresh();
        let here = code_of_the_program_is_found_and_is_no_transport as *const () as usize;
        assert_eq!(find(here), Some(false));
        assert_eq!(find(16), None);
        let known = COUNT.load(Ordering::Relaxed);
        refresh();
        assert_eq!(COUNT.load(Ordering::Relaxed), known);
        // A module in the place of one that is gone.
        add(1 << 60, (1 << 60) + 10, true);
        add((1 << 60) + 5, (1 << 60) + 20, false);
        assert_eq!((find(1 << 60), find((1 << 60) + 5)), (None, Some(false)));
    }
}
