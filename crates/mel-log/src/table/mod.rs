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
//! - [`regions`]: how long threads were in its regions.
//! - [`writer`]: the process under study adds rows, and counts in them.
//! - [`lock`]: whether the process runs.
//! - [`reader`]: the rows of a file as plain values; copes with any bytes.
//!
//! Must not know: MPI's functions, and what the numbers mean for a program.

pub mod attributed;
pub mod connections;
pub mod counted;
pub mod durations;
pub mod layout;
pub mod phases;
mod profiled;
pub mod queues;
pub mod reader;
pub mod regions;
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
pub use counted::{Counted, CountedRow, NO_SPACE, PhaseAndRegion};
pub use layout::{
    Column, Context, ContextKey, ContextRow, Header, Hold, HoldKind, HoldRow, Interval, IntervalKind,
    IntervalRow, Section, Thread, ThreadRow, Wait, WaitKey, WaitRow,
};
pub use phases::PhaseRow;
pub use queues::{BriefQueues, Queues, QueuesKey};
pub use reader::{CommunicatorQueuesRow, TableError, TableRows};
pub use regions::{RegionOfThread, TimeInRegion, TimeInRegionRow};
pub use row::Row;
pub use sampled::{Meaning, Sampled, SampledRow};
pub use stacks::{MAX_FRAMES, Stack, StackKey, StackRow};
pub use traffic::{Traffic, TrafficKey, TrafficRow};
pub use writer::{Identity, ProfileTable};

/// The name of the profile table of a rank in the directory of a run.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank}.table")
}

pub mod lock {
    //! Whether a process runs that writes a file: it holds a lock, which ends with it, however it ends.

    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    /// Holds the lock as long as the file is open or mapped; whether nobody else holds it. Where the file system has no locks, its process is taken to
    /// have ended.
    pub fn hold(file: &File) -> bool {
        lock(file, libc::LOCK_EX)
    }

    /// Lets it go.
    pub fn release(file: &File) {
        lock(file, libc::LOCK_UN);
    }

    /// Whether a process holds the lock.
    #[must_use]
    pub fn is_held(file: &File) -> bool {
        // If not, this one has it for a moment, and it ends when the file is closed.
        !lock(file, libc::LOCK_SH) && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
    }

    fn lock(file: &File, how: libc::c_int) -> bool {
        // SAFETY: a system call on an open file, with numbers only.
        unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) == 0 }
    }
}
