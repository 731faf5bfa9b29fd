//! Raw bindings to libotf2, the library whose files Vampir, Score-P and `otf2-print` read.
//!
//! `cargo xtask otf2-bindings` generates them from the headers of libotf2, 3.0 or newer. They are
//! reached through one table of functions, [`api`]:
//!
//! - **static**: where `libotf2.a` is installed it becomes part of the binary;
//! - **dynamic**: elsewhere the shared library is opened at the first call of [`api`]. The binary
//!   never *needs* it, so a program into which it is preloaded starts without it, too.
//!
//! `OTF2_SYS_LINK=static|dynamic` in the environment of the build forces one of the two. A static
//! library that is to end up in a shared object must be position independent (Debian's is).
//!
//! This crate knows the functions' signatures and nothing else; the rules by which they may be
//! called are upheld by the crate `otf2-writer`.
//!
//! ```
//! let otf2 = otf2_sys::api()?;
//! // SAFETY: the function takes any code and returns a string that lives as long as the library.
//! let name = unsafe { std::ffi::CStr::from_ptr(otf2.OTF2_Error_GetName(otf2_sys::OTF2_SUCCESS)) };
//! assert_eq!(name, c"SUCCESS");
//! # Ok::<(), otf2_sys::LoadError>(())
//! ```

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]
mod bindings {
    include!("bindings.rs");
    #[cfg(otf2_static)]
    include!(concat!(env!("OUT_DIR"), "/static_table.rs"));
}
mod load;

pub use bindings::*;
pub use load::{LoadError, api, is_static};

/// The version of the headers that the bindings were generated from.
pub const VERSION: &str = match OTF2_VERSION.to_str() {
    Ok(version) => version,
    Err(_) => "unknown",
};

// The "no such definition" values, which the headers spell as casts that bindgen cannot evaluate.

/// No string.
pub const OTF2_UNDEFINED_STRING: OTF2_StringRef = OTF2_StringRef::MAX;
/// No system tree node: the parent of a root.
pub const OTF2_UNDEFINED_SYSTEM_TREE_NODE: OTF2_SystemTreeNodeRef = OTF2_SystemTreeNodeRef::MAX;
/// No location group: the creator of a process that nobody created.
pub const OTF2_UNDEFINED_LOCATION_GROUP: OTF2_LocationGroupRef = OTF2_LocationGroupRef::MAX;
/// No location.
pub const OTF2_UNDEFINED_LOCATION: OTF2_LocationRef = OTF2_LocationRef::MAX;
/// No communicator: the parent of `MPI_COMM_WORLD`.
pub const OTF2_UNDEFINED_COMM: OTF2_CommRef = OTF2_CommRef::MAX;
/// No time.
pub const OTF2_UNDEFINED_TIMESTAMP: OTF2_TimeStamp = OTF2_TimeStamp::MAX;
/// No number: all processes of a window, where a lock names its target.
pub const OTF2_UNDEFINED_UINT32: u32 = u32::MAX;
