//! The profile table: what a process counts, in a file that is mapped from the first call on, so that a kill loses nothing and
//! others may read it while it is written. `docs/profile-table.md` is the layout in prose.
//!
//! - [`row`]: rows, each declared once.
//! - [`layout`]: the header, the sections, and the rows of most.
//! - [`queues`], [`durations`]: the message queues, and distributions that are cheap to count.
//! - [`traffic`]: who has sent what to whom.
//! - [`windows`]: one-sided communication.
//! - [`connections`]: what went over the network, by interface and peer.
//! - [`sampled`]: performance variables over time.
//! - [`attributed`]: what performance variables did in each context.
//! - [`phases`]: the phases of the program.
//! - [`writer`]: the process under study adds rows, and counts in them.
//! - `lock`: whether the process runs.
//! - [`reader`]: the rows of a file as plain values; copes with any bytes.
//!
//! Must not know: MPI's functions, and what the numbers mean for a program.

mod actions;
pub mod attributed;
pub mod connections;
pub mod durations;
pub mod layout;
pub mod lock;
pub mod phases;
mod profiled;
pub mod queues;
pub mod reader;
pub mod row;
pub mod sampled;
pub mod stacks;
pub mod traffic;
pub mod windows;
pub mod writer;

pub use attributed::{
    Arithmetic, Attributed, AttributedContextRow, AttributedRow, AttributedVariable, AttributedVariableRow,
};
pub use connections::{Connection, ConnectionCounts, ConnectionKey, ConnectionRow};
pub use layout::{
    Column, Context, ContextKey, ContextRow, Header, Hold, HoldKind, HoldRow, Interval, IntervalKind,
    IntervalRow, Section, Thread, ThreadRow, Wait, WaitKey, WaitRow,
};
pub use phases::PhaseRow;
pub use queues::{BriefQueues, Queues, QueuesKey};
pub use reader::{CommunicatorQueuesRow, TableError, TableRows};
pub use row::Row;
pub use sampled::{Meaning, Sampled, SampledRow};
pub use stacks::{MAX_FRAMES, Stack, StackKey, StackRow};
pub use traffic::{Traffic, TrafficKey, TrafficRow};
pub use writer::{Identity, ProfileTable};

/// The name of the profile table of a rank in the directory of a run.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank}.table")
}
