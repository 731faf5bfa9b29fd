//! MPI_T performance and control variables of our own beside those of the MPI (MPI-5.0, sections 15.3.6 and 15.3.7).
//!
//! Tools see one list of variables: the MPI's first, with the numbers that the MPI gives them, and ours behind. A session
//! holds the MPI's own session beside our handles; a handle of the MPI goes to the tool as it is.
//!
//! | file | its question |
//! |---|---|
//! | [`variable`](Variable) | what is a variable, and what does a handle of it do? |
//! | [`numbers`](Numbers) | which number has a variable? |
//! | [`sessions`](Variables) | whose session and whose handle is this? |
//! | [`handle`](Handle) | may it be started, read, written now? |
//! | [`counted`](Counted) | what was counted while a handle was started? |
//! | [`store`] | where counts of messages come from |
//! | [`monitoring`] | the fifteen variables of Open MPI's monitoring component |
//! | [`prof`] | the text of its files |
//! | [`direct`] | numbers of ours for the whole process, without a handle |
//! | [`queues`], [`gauge`] | the variables of our own: queues, waits, messages sent |
//! | [`control`] | what is a control variable, and which values may it have? |
//! | [`controls`] | which number has a control variable, and whose handle is this? |
//! | [`own`] | the control variables of MEL |
//!
//! What this crate must not know: MPI. The MPI's sessions and handles are numbers here, and objects are opaque tokens;
//! who calls the MPI's functions is told what to call them with. No lock is held while a value is read or written.

pub mod control;
pub mod controls;
mod counted;
pub mod direct;
pub mod gauge;
mod handle;
pub mod monitoring;
mod numbers;
pub mod own;
pub mod prof;
pub mod queues;
mod sessions;
pub mod store;
mod variable;

pub use counted::{Counted, Tally};
pub use handle::Handle;
pub use numbers::{Numbered, Numbers, Owner};
pub use sessions::{All, Variables, Whose, variables};
pub use variable::{Bind, Class, Contents, Description, Element, Error, Value, Variable, Verbosity};
