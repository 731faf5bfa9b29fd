//! Which MPI is this?
//!
//! Decided once, from what the dynamic linker knows and from `MPI_Get_library_version`, which MPI
//! allows before `MPI_Init`. The library says itself whether it is one of the standard ABI
//! (`MPI_Abi_get_version`, or its name), an object that only Open MPI has decides for Open MPI, and the
//! version string for MPICH and its relatives. All of these are asked of the library that the program's calls
//! reach: another MPI may be mapped too, because something else in the process is linked with it.

use std::{ffi::c_int, sync::OnceLock};

use crate::{
    Constants, Request, StatusLayout, ToolConstants,
    constants::{self},
    handles, next, pmpi,
};

/// A group of MPI libraries with one binary interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Open MPI and what is built from it.
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, Cray MPI, ParaStation MPI.
    Mpich,
    /// A library of the standard ABI of MPI-5 (`libmpi_abi`), whoever made it.
    Standard,
}

impl Family {
    /// Whose binary interface it is, in words: `the ABI of MPICH`.
    #[must_use]
    pub const fn abi_name(self) -> &'static str {
        match self {
            Self::OpenMpi => "the ABI of Open MPI",
            Self::Mpich => "the ABI of MPICH",
            Self::Standard => "the standard ABI of MPI-5",
        }
    }
}

/// Everything that depends on the MPI of this process.
#[derive(Debug)]
pub struct Abi {
    /// Whose binary interface it is.
    pub family: Family,
    /// The values of MPI's constants.
    pub constants: Constants,
    /// Layout of `MPI_Status`.
    pub status: StatusLayout,
    /// Bytes of a handle in an array of handles: 4 or 8.
    pub handle_width: usize,
    /// What the library calls itself: the first line of its version string.
    pub library: String,
    /// The MPI standard that it follows: version and subversion.
    pub standard: (c_int, c_int),
    /// It is MPICH or one of its relatives, whichever binary interface it has.
    mpich: bool,
    /// Requests that stand for "already complete" and are given out more than once.
    shared_request: SharedRequest,
}

/// How to recognise a shared request.
#[derive(Debug)]
enum SharedRequest {
    /// It is this one handle.
    Handle(Request),
    /// It is a request predefined by MPICH, by the upper six bits of the handle.
    MpichBuiltin,
    /// The same behind the standard ABI: MPICH shows its own handle as the request's integer.
    MpichBuiltinBehind,
    /// Not known: none is taken for shared.
    Unknown,
}

/// There is no usable MPI, or one whose ABI this tool does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(String);

static ABI: OnceLock<Result<Abi, Unknown>> = OnceLock::new();

impl Abi {
    /// Finds out which MPI this process uses; later calls return the same answer.
    ///
    /// Call it when the MPI library is loaded, at the first MPI call. Not for signal handlers.
    ///
    /// # Errors
    /// [`Unknown`], whose text is one line that says what was found instead.
    pub fn detect() -> Result<&'static Self, Unknown> {
        ABI.get_or_init(|| {
            let abi = find()?;
            handles::set_width(if abi.handle_width == 4 { 4 } else { 8 });
            Ok(abi)
        })
        .as_ref()
        .map_err(Clone::clone)
    }

    /// The ABI, where [`Abi::detect`] has found one. One atomic load; fit for hot paths.
    #[inline]
    #[must_use]
    pub fn current() -> Option<&'static Self> {
        match ABI.get() {
            Some(Ok(abi)) => Some(abi),
            _ => None,
        }
    }

    /// Whether the status of `MPI_Isendrecv` and `MPI_Isendrecv_replace` is filled by what was received, as MPI-5.0
    /// (section 3.11) says. MPICH, until version 5 at least, does not fill it.
    #[must_use]
    pub fn isendrecv_fills_status(&self) -> bool {
        !self.mpich
    }

    /// Whether the library is MPICH or one of its relatives, whichever binary interface it has.
    #[inline]
    #[must_use]
    pub fn is_mpich(&self) -> bool {
        self.mpich
    }

    /// `MPI_T_PVAR_ALL_HANDLES`, as a machine word. For the time of a call that may take the dynamic linker's lock.
    #[must_use]
    pub fn all_pvar_handles(&self) -> usize {
        match self.family {
            Family::OpenMpi => usize::MAX,
            Family::Standard => 1,
            Family::Mpich => {
                let constant = next::symbol(c"MPI_T_PVAR_ALL_HANDLES").cast::<usize>();
                if constant.is_null() {
                    return usize::MAX;
                }
                // SAFETY: in this family it is an object: a pointer that nobody changes.
                unsafe { constant.read() }
            }
        }
    }

    /// Whether `request` is one that MPI gives out many times, for operations complete at once:
    /// it identifies no operation, so nothing may be remembered under it. `MPI_REQUEST_NULL` is
    /// not one of them.
    ///
    /// Best knowledge, not proof: a transport of Open MPI may have such a request of its own that
    /// nobody can name (UCX has). A handle seen again before its completion is one too.
    #[inline]
    #[must_use]
    pub fn is_shared_request(&self, request: Request) -> bool {
        match self.shared_request {
            SharedRequest::Handle(shared) => request == shared,
            SharedRequest::MpichBuiltin => request.0 >> 26 == MPICH_BUILTIN_REQUEST,
            SharedRequest::MpichBuiltinBehind => pmpi::request_toint(request)
                .is_some_and(|inner| inner as u32 as usize >> 26 == MPICH_BUILTIN_REQUEST),
            SharedRequest::Unknown => false,
        }
    }
}

/// The upper six bits of a predefined MPICH request: two for "predefined", four for "request".
const MPICH_BUILTIN_REQUEST: usize = 0x6c00_0000 >> 26;

/// Words in the version strings of libraries with MPICH's binary interface.
const MPICH_WORDS: [&str; 5] = ["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPI", "ParaStation"];

fn has_the_abi_of_mpich(version: &str) -> bool {
    MPICH_WORDS.iter().any(|word| version.contains(word))
}

/// The first number of Open MPI's version, from how it calls itself.
fn open_mpi_major(library: &str) -> Option<u32> {
    let (_, version) = library.split_once("Open MPI v")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn find() -> Result<Abi, Unknown> {
    let init = next::unseen(c"MPI_Init");
    if init.is_null() {
        return Err(Unknown("no MPI library is loaded in this process".into()));
    }
    let file = next::file_of(init as usize).unwrap_or_default();
    let file = file.rsplit('/').next().unwrap_or_default().to_owned();
    let library = pmpi::library_version_of_any_mpi().unwrap_or_default();
    let library = library.lines().next().unwrap_or_default().trim().to_owned();
    let mpich = has_the_abi_of_mpich(&library);

    let standard_abi = file.starts_with("libmpi_abi") || pmpi::abi_version_beside(init as usize).is_some();
    let is_open_mpi = !next::in_same_object(init as usize, c"ompi_mpi_comm_world").is_null();

    let (family, constants, status, handle_width, shared_request) = if standard_abi {
        let behind = if mpich { SharedRequest::MpichBuiltinBehind } else { SharedRequest::Unknown };
        (Family::Standard, constants::STANDARD, StatusLayout::STANDARD, 8, behind)
    } else if let Some(constants) = is_open_mpi.then(constants::open_mpi).flatten() {
        let empty = next::symbol(c"ompi_request_empty") as usize;
        let shared = match empty {
            0 => SharedRequest::Unknown,
            word => SharedRequest::Handle(Request(word)),
        };
        (Family::OpenMpi, constants, StatusLayout::OPEN_MPI, 8, shared)
    } else if mpich {
        let shared = SharedRequest::MpichBuiltin;
        (Family::Mpich, constants::MPICH, StatusLayout::MPICH, 4, shared)
    } else {
        let name = if library.is_empty() { "which does not say its name" } else { &library };
        return Err(Unknown(format!(
            "the MPI in {file} ({name}) is neither Open MPI nor of MPICH's or the standard ABI"
        )));
    };
    let standard = pmpi::get_version().unwrap_or((0, 0));
    let mut constants = constants;
    if family == Family::OpenMpi && open_mpi_major(&library) >= Some(6) {
        constants.tool = ToolConstants::OPEN_MPI_6;
    }
    Ok(Abi { family, constants, status, handle_width, library, standard, mpich, shared_request })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_mpi_says_its_version() {
        let of = |library| open_mpi_major(library);
        assert_eq!(of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), Some(4));
        assert_eq!(of("Open MPI v6.1.0a1, package: Open MPI, repo rev: v6"), Some(6));
        assert_eq!(of("Open MPI v10.0.0"), Some(10));
        assert_eq!((of("MPICH Version:\t4.0.2"), of("Open MPI v")), (None, None));
    }

    #[test]
    fn relatives_of_mpich_are_known_by_how_they_call_themselves() {
        let relatives = [
            "MPICH Version:\t4.0.2",
            "Intel(R) MPI Library 2021.8 for Linux* OS",
            "MVAPICH2 Version      :\t2.3.7",
            "MVAPICH Version      :\t3.0",
            "MPI VERSION    : CRAY MPICH version 8.1.16.5 (ANL base 3.4a2)",
            "ParaStation MPI 5.6.0-1",
        ];
        for version in relatives {
            assert!(has_the_abi_of_mpich(version), "{version}");
        }
        for other in ["Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Strange MPI 0.1", ""] {
            assert!(!has_the_abi_of_mpich(other), "{other}");
        }
    }
}
