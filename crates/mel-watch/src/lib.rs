//! A run that goes on, as its profile tables say it, again and again.
//!
//! - [`reading`]: what the directory of the run says at one instant.
//! - [`quantities`]: the numbers of a rank that are shown, each with its name, its unit, and how it is known.
//! - [`variables`]: performance variables that the run samples, as further columns and curves.
//! - [`frame`]: one reading, and what has changed since the one before.
//! - [`feed`]: reads at intervals, in a thread of its own, and keeps the past for curves.
//! - [`text`]: a frame as plain text.
//! - [`terminal`]: frames in a terminal, with keys.
//! - [`web`]: frames in a browser, on a port that only this machine reaches.
//! - [`setting`]: has ranks set control variables, where the run was started so that they can.
//! - [`gather`]: copies of directories that are on a disk of each node.
//! - [`elsewhere`]: the same of ranks whose directory is on another node's own disk.
//!
//! But for that, it only reads files, and speaks to no process of the run. So what becomes of it is nothing to them.

pub mod elsewhere;
pub mod feed;
pub mod frame;
pub mod gather;
pub mod quantities;
pub mod reading;
pub mod setting;
pub mod terminal;
pub mod text;
pub mod variables;
pub mod web;

#[cfg(test)]
pub(crate) mod sample;
