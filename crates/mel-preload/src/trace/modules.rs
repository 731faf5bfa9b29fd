//! The modules of this process: the program and its shared libraries, and where their code lies.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use mel_log::Definition;

/// What is known of ranges of addresses that do not overlap. Finding one takes as long as it takes to look at a few, however many there are:
/// code that a just-in-time compiler makes may have a range for each call.
#[derive(Debug)]
pub(crate) struct ByAddress<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for ByAddress<T> {
    fn default() -> Self {
        ByAddress(BTreeMap::new())
    }
}

impl<T> ByAddress<T> {
    /// What is known of the range that has this address.
    #[inline]
    pub(crate) fn get(&self, address: u64) -> Option<&T> {
        let (_, (end, value)) = self.0.range(..=address).next_back()?;
        (address < *end).then_some(value)
    }

    /// Adds a range; those that it overlaps are forgotten: what was there before has been unloaded.
    pub(crate) fn insert(&mut self, addresses: Range<u64>, value: T) {
        while let Some((&start, _)) =
            self.0.range(..addresses.end).next_back().filter(|(_, (end, _))| *end > addresses.start)
        {
            self.0.remove(&start);
        }
        self.0.insert(addresses.start, (addresses.end, value));
    }
}

/// How the files of MPI libraries begin, those of their layers for Fortran and C++ among them.
const MPI_LIBRARIES: [&str; 5] = ["libmpi.", "libmpi_", "libmpich", "libmpicxx", "libmpifort"];

/// A module of this process: the program, or a shared library.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) addresses: Range<u64>,
    /// What is added to the addresses in its file.
    pub(super) bias: u64,
    /// Its file; empty for the program.
    pub(super) path: PathBuf,
}

impl Loaded {
    pub(super) fn is_mpi(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().as_bytes();
        MPI_LIBRARIES.iter().any(|start| name.starts_with(start.as_bytes()))
    }

    pub(crate) fn definition(&self) -> Definition {
        let is_program = self.path.as_os_str().is_empty();
        let path =
            if is_program { std::fs::read_link("/proc/self/exe") } else { std::path::absolute(&self.path) };
        let path = path.unwrap_or_else(|_| self.path.clone()).to_string_lossy().into_owned();
        Definition::Module { start: self.addresses.start, end: self.addresses.end, bias: self.bias, path }
    }
}

/// An address in the first module whose file name begins so.
pub(crate) fn address_of(begin: &str) -> Option<usize> {
    let is_so = |module: &Loaded| {
        module.path.file_name().is_some_and(|name| name.as_bytes().starts_with(begin.as_bytes()))
    };
    loaded().into_iter().find(is_so).map(|module| module.addresses.start as usize)
}

/// All modules of this process.
pub(crate) fn loaded() -> Vec<Loaded> {
    let mut modules: Vec<Loaded> = Vec::new();
    // SAFETY: `collect` gets the vector, which outlives the call and which nobody else uses meanwhile.
    unsafe { libc::dl_iterate_phdr(Some(collect), std::ptr::from_mut(&mut modules).cast()) };
    modules
}

/// Adds a module to the vector that `modules` points to.
///
/// # Safety
/// To be called by `dl_iterate_phdr` only, with a `Vec<Loaded>` of the caller.
unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, modules: *mut c_void) -> c_int {
    // SAFETY: the system gives a description that is whole while this runs, and the caller its vector.
    let (info, modules) = unsafe { (&*info, &mut *modules.cast::<Vec<Loaded>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: there are that many program headers at this address.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let bias = info.dlpi_addr;
    let segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let ranges = segments.map(|segment| {
        let start = bias.wrapping_add(segment.p_vaddr);
        start..start.saturating_add(segment.p_memsz)
    });
    let Some(addresses) = ranges.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end)) else {
        return 0;
    };
    let name = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: a string that ends with a zero byte, which stays while this runs.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    modules.push(Loaded { addresses, bias, path });
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_takes_the_place_of_those_that_it_overlaps() {
        let mut ranges = ByAddress::default();
        for (addresses, value) in [(10..20, 1), (20..30, 2), (40..41, 3), (15..25, 4), (5..6, 5)] {
            ranges.insert(addresses, value);
        }
        let found = [4, 5, 6, 14, 15, 24, 25, 29, 40, 41].map(|address| ranges.get(address).copied());
        assert_eq!(found, [None, Some(5), None, None, Some(4), Some(4), None, None, Some(3), None]);
    }
}
