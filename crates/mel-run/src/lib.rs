//! What is in the directory of a run, for all who show it.
//!
//! - [`profile`]: the profile of the run, from what its ranks have left.
//! - [`own_folder`](mod@own_folder): temporary folders of this user alone.

mod own_folder;
pub mod profile;

pub use own_folder::own_folder;
