//! A profile as the command prints it.
//!
//! - [`terminal`]: verdict, tables and distributions, in 100 columns.
//! - [`mod@matrix`]: who sends what to whom.
//! - [`mod@csv`]: all numbers, one per line, for spreadsheets and pandas.

#[cfg(test)]
mod catalogue;
pub mod csv;
pub mod matrix;
pub mod terminal;

pub use csv::{csv, csv_of_many};
