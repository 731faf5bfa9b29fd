//! The profile of a run: how long messages waited in the queues of every rank, and how long MPI
//! searched them.
//!
//! - [`schema`], [`calls`], [`verdict`]: the types behind `profile.json`; `docs/profile.md` is their prose.
//! - [`budget`]: where the time of the ranks goes.
//! - [`processors`]: which processors ranks may use, how long they had none, and what the system counted of them.
//! - [`counters`]: what the processor counted of them.
//! - [`why`](mod@why), [`pace`]: why a rank is slow.
//! - [`efficiency`](mod@efficiency): how well the ranks are used.
//! - [`ends`]: how ranks ended, and where they were last seen.
//! - [`histogram`]: distributions as sparse lists of bins.
//! - [`file`](mod@file): reading and writing, whole and per rank.
//! - [`quantities`]: the catalogue: name, unit and meaning of each number, and how it is got.
//! - [`statistics`]: the lines per rank, in the paper's wording.
//! - [`summary`]: the table across ranks.
//! - [`sums`]: calls and waits added up by rank, function and call site.
//! - [`findings`]: facts that users should know, in plain words.
//! - [`reduced`], [`over_ranks`], [`columns`]: of very many ranks: sums, each number over the ranks, and the file of those.
//! - [`text`]: all of it as rank 0 prints it at the end.
//! - [`phases`]: numbers of phases.
//! - [`communicators`]: what was done on each communicator.
//! - [`traffic`]: who has sent what to whom.
//! - [`connections`]: what went over the network; [`planes`]: how it is spread over interfaces.
//! - [`variables`]: performance variables, sampled; [`attribution`]: by call and region.
//! - [`told`]: what plugins have told.
//! - [`actions`]: what policies have set.
//! - [`one_sided`], [`windows`]: types and text of one-sided communication.
//!
//! Nothing here knows how the numbers were measured.

pub mod actions;
pub mod attribution;
pub mod budget;
pub mod calls;
pub mod columns;
pub mod communicators;
pub mod connections;
pub mod counters;
pub mod efficiency;
pub mod ends;
pub mod file;
pub mod findings;
pub mod histogram;
pub mod left_out;
pub mod one_sided;
pub mod over_ranks;
pub mod pace;
pub mod phases;
pub mod planes;
pub mod processors;
pub mod quantities;
pub mod reduced;
pub mod remarks;
pub mod sample;
pub mod schema;
pub mod stacks;
pub mod statistics;
pub mod summary;
pub mod sums;
pub mod text;
pub mod told;
pub mod traffic;
pub mod variables;
pub mod verdict;
pub mod why;
pub mod windows;

pub use actions::ActionProfile;
pub use attribution::{AttributedProfile, ShareProfile};
pub use calls::{CallProfile, CallSite, MessagesFound, NamedCommunicator, WaitKind, WaitProfile};
pub use communicators::{CommunicatorProfile, OTHER_COMMUNICATORS};
pub use connections::{Connection, Port, Protocol, Purpose};
pub use counters::Counters;
pub use efficiency::{Efficiencies, Efficiency};
pub use ends::{Ended, LastCall};
pub use histogram::Histogram;
pub use left_out::LeftOut;
pub use one_sided::{KindProfile, Times, WindowProfile, WindowThread};
pub use over_ranks::OverRanks;
pub use processors::Resources;
pub use reduced::Reduced;
pub use remarks::{Mistake, Remark};
pub use schema::{
    Comparison, NotFollowed, PhaseProfile, Profile, QueueStats, Queues, RankProfile, RegionProfile,
    SearchStats, Truth,
};
pub use stacks::StackProfile;
pub use text::report;
pub use traffic::{Traffic, TrafficKind};
pub use variables::VariableProfile;
pub use verdict::{Basis, Finding, Instance, Pattern};
