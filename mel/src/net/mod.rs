//! A run on its network, as text: [`terminal`]; [`beside`]: two runs.

pub mod beside;
pub mod terminal;
