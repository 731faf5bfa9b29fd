//! What is in the directory of a run, for all who show it.
//!
//! - [`profile`]: the profile of the run, from what its ranks have left.
//! - [`own_folder`]: temporary folders of this user alone.

pub mod profile;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{Builder, TempDir};

/// A new folder in that one, with a name that nobody can guess behind the prefix, in which nobody else can look; it goes when it is dropped.
///
/// # Errors
/// Those of the file system.
pub fn own_folder(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
}
