//! The profile of a run: how long messages waited in the queues of every rank, and how long MPI
//! searched them.
//!
//! - [`schema`], [`calls`], [`verdict`]: the types behind `profile.json`; `docs/profile.md` is their prose.
//! - [`histogram`]: distributions as sparse lists of bins.
//! - [`file`](mod@file): reading and writing, whole and per rank.
//! - [`statistics`]: the lines per rank, in the paper's wording.
//! - [`summary`]: the table across ranks.
//! - [`findings`]: what stands out, in plain words.
//! - [`mod@report`]: all three, as rank 0 prints them at the end.
//! - [`one_sided`], [`windows`]: types and text of one-sided communication.
//!
//! Nothing here knows how the numbers were measured.

pub mod calls;
pub mod file;
pub mod findings;
pub mod histogram;
pub mod one_sided;
pub mod report;
pub mod schema;
pub mod statistics;
pub mod summary;
pub mod verdict;
pub mod windows;

pub use calls::{CallProfile, CallSite, MessagesFound, NamedCommunicator, WaitKind, WaitProfile};
pub use histogram::Histogram;
pub use one_sided::{KindProfile, Times, WindowProfile, WindowThread};
pub use report::report;
pub use schema::{
    CommunicatorProfile, Comparison, Ended, NotFollowed, Profile, QueueStats, Queues, RankProfile,
    SearchStats, Truth,
};
pub use verdict::{Basis, Finding, Instance};
