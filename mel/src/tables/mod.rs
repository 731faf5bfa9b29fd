//! A profile as the command prints it.
//!
//! - [`terminal`]: table, distributions and findings, in 80 columns.
//! - [`mod@csv`]: the numbers of each rank, for spreadsheets.

pub mod csv;
pub mod terminal;

pub use csv::csv;
