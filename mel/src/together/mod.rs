//! Several processes of this command, on one node or on many, that do a piece of work together.
//!
//! A launcher starts them: `mpirun -n 8 mel convert --otf2 DIR`. The command is linked with no MPI, so they talk through files in a folder
//! beside what they write, on a file system that all of them see.
//!
//! - [`outbox`]: what a process writes for the others: one file, which only grows, and grows each second as long as its process lives.
//! - [`meeting`]: all come together.
//! - [`plan`]: who does what.
//! - [`group`]: what the processes are to each other, until they part.
//! - [`messages`]: a thread of such a process as one of the [`Processes`](mel_convert::otf2::Processes) that write an archive.
//! - [`life`]: whether a process lives.
//!
//! Whoever waits, waits for a process that lives: one that has ended is known at once on the same node, and elsewhere by its file, which grows
//! no more. Nothing is done by the existence of a file that others have looked for before: on NFS a client may believe for a minute that a
//! file is not there. All files are there, and known, before the work begins.

pub mod group;
pub mod life;
pub mod meeting;
pub mod messages;
pub mod outbox;
pub mod plan;

pub use group::Together;
pub use plan::Plan;
