//! Rules: when something is seen, then advise, or set.
//!
//! [`expr`] is a small language of conditions and values over named quantities. A [`rule`] has a condition, and either an advice with
//! settings to try, about the profile of a run ([`of_run`], [`advice`]), or settings for while a program runs ([`of_moment`]). They come
//! from files in TOML ([`file`](mod@file)); some are [`shipped`].
//!
//! Nothing here knows MPI, runs a program or sets anything. Without the feature `files` there are only expressions, for use within a
//! program. `docs/tuning.md` is for those who write rules.

pub mod expr;
pub mod of_moment;
pub mod policy;
pub mod setting;

#[cfg(feature = "files")]
pub mod advice;
#[cfg(feature = "files")]
pub mod file;
#[cfg(feature = "files")]
pub mod mpi;
#[cfg(feature = "files")]
pub mod of_run;
#[cfg(feature = "files")]
pub mod rule;
#[cfg(feature = "files")]
pub mod shipped;
#[cfg(feature = "files")]
pub mod text;

#[cfg(all(test, feature = "files"))]
mod tests;
