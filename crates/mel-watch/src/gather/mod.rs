//! A run whose directory is on a disk of each node, watched from one place: a process on each node, which the user's own launcher starts,
//! tells what is in the directory there, and the watcher keeps a copy of it.
//!
//! - [`message`]: what is sent from a node to the watcher, as bytes.
//! - [`sender`]: on a node: what has changed in the directory.
//! - [`mirror`]: at the watcher: the files of all nodes in one directory, which the reader of runs reads as any.
//! - [`supervisor`]: starts what tells, follows it, and starts it again; [`word`]: what it is told, as words that no shell changes.
//!
//! Nothing listens: what tells writes to its standard output, and ends with its standard input. It reads files, as the watcher itself does,
//! and the processes of the run do not notice.

pub mod message;
pub mod mirror;
pub mod sender;
pub mod supervisor;
pub mod word;
