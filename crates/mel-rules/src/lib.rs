//! Rules: when something is seen, then advise, or set.
//!
//! [`expr`] is a small language of conditions and values over named quantities. A [`rule`] has a condition, and either an advice with
//! settings to try, about the profile of a run ([`of_run`], [`advice`]), or settings for while a program runs ([`policy`]). They come
//! from files in TOML ([`file`](mod@file)); some [come with MEL](file::shipped).
//!
//! Nothing here knows MPI, runs a program or sets anything. `docs/tuning.md` is for those who write rules.

pub mod expr;
pub mod policy;

pub mod advice;
pub mod file;
pub mod of_run;
pub mod rule;
pub mod text;

#[cfg(test)]
mod tests;
