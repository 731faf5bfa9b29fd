//! The profile of a run: how long messages waited in the queues of every rank, and how long MPI
//! searched them.
//!
//! - [`schema`]: the types behind `profile.json`; `docs/profile.md` is their prose.
//! - [`histogram`]: distributions as sparse lists of bins.
//! - [`file`](mod@file): reading and writing, whole and per rank.
//! - [`statistics`]: the lines per rank, in the paper's wording.
//! - [`summary`]: the table across ranks.
//! - [`terminal`]: what `mel report` prints, in 80 columns.
//! - [`mod@csv`]: the numbers of each rank, for spreadsheets.
//! - [`findings`]: what stands out, in plain words.
//! - [`windows`]: all of this for one-sided communication.
//!
//! Nothing here knows how the numbers were measured.

pub mod csv;
pub mod file;
pub mod findings;
pub mod histogram;
pub mod number;
pub mod report;
pub mod schema;
pub mod statistics;
pub mod summary;
pub mod terminal;
pub mod windows;

pub use csv::csv;
pub use histogram::Histogram;
pub use report::report;
pub use schema::{
    CommunicatorProfile, Comparison, Ended, NotFollowed, Profile, QueueStats, Queues, RankProfile,
    SearchStats, Truth,
};
