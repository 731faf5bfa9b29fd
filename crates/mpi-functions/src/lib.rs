//! What MPI functions are.
//!
//! One [`Function`] for each function that is interposed: its [`Kind`] says what it does, its [`Step`] how it goes about it, and from both
//! follow who takes part and who can wait for whom. Nobody else takes a function's name apart.
//!
//! Inside the measured process a function has a number, that of `mpi_intercept::FunctionId`: [`FUNCTIONS`] is indexed by it. The numbers
//! change when MPI grows, so files hold names: readers ask [`named`], or [`Kind::of`].
//!
//! `cargo xtask wrappers` makes the table from the description of MPI; `crates/xtask/src/semantics.rs` has what that description does not say of
//! single functions. What follows from a kind stands here.
//!
//! What this crate must not know: MPI itself, events, files.

#![no_std]

mod kind;
mod operation;
pub mod signature;

// One line for each function.
#[rustfmt::skip]
mod generated;

pub use generated::{COUNT, FUNCTIONS};
pub use kind::{Access, FileCall, Kind, Making, Mode, Object, Step, WindowCall};
pub use operation::{Direction, Operation, Waits};

/// The longest message, in bytes, that MPIs store for certain where its receive is not posted: the sender of a longer one may have to wait
/// for its receiver (MPI-5.0, section 3.4), and does with the smallest limits that are in use.
pub const STORED: u64 = 4096;

/// The operations that MPI has for reductions. Files have their places here plus one.
pub const REDUCTIONS: [&str; 14] = [
    "MPI_SUM",
    "MPI_PROD",
    "MPI_MIN",
    "MPI_MAX",
    "MPI_LAND",
    "MPI_LOR",
    "MPI_LXOR",
    "MPI_BAND",
    "MPI_BOR",
    "MPI_BXOR",
    "MPI_MINLOC",
    "MPI_MAXLOC",
    "MPI_REPLACE",
    "MPI_NO_OP",
];

/// An MPI function.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, such as `MPI_Bcast_c`.
    pub name: &'static str,
    /// What it does.
    pub kind: Kind,
    /// How it goes about it.
    pub step: Step,
    /// The object that it makes, if it makes one.
    pub makes: Option<Object>,
    /// The object that it frees, if it frees one.
    pub frees: Option<Object>,
    /// The number of the function that does the same with counts of type `int`; its own, if it has no large counts.
    plain: u16,
}

/// Whose processes call a function together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Members {
    /// Those of the communicator that it is given.
    Communicator,
    /// Those of the window that it is given.
    Window,
    /// Those that have opened the file that it is given.
    File,
    /// Those of a group that it is given: some of a communicator, or of a session.
    Group,
}

/// The function of this name, such as `MPI_Send`.
#[must_use]
pub fn named(name: &str) -> Option<&'static Function> {
    let number = |place: usize| usize::from(generated::BY_NAME[place]);
    let (mut low, mut high) = (0, COUNT);
    while low < high {
        let middle = low.midpoint(high);
        let function = &FUNCTIONS[number(middle)];
        match function.name.cmp(name) {
            core::cmp::Ordering::Equal => return Some(function),
            core::cmp::Ordering::Less => low = middle + 1,
            core::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

impl Function {
    /// The function that does the same with counts of type `int`: `MPI_Send` of `MPI_Send_c`, and itself of any other.
    #[must_use]
    pub fn plain(&self) -> &'static Function {
        &FUNCTIONS[usize::from(self.plain)]
    }

    /// The collective operation that it completes, starts or prepares.
    #[must_use]
    pub const fn operation(&self) -> Option<Operation> {
        match self.kind {
            Kind::Collective(operation) => Some(operation),
            _ => None,
        }
    }

    /// Whose processes call it together; `None` where a process calls it by itself.
    #[must_use]
    pub const fn members(&self) -> Option<Members> {
        match self.kind {
            Kind::Collective(_) => Some(Members::Communicator),
            Kind::Communicator(Making::OfGroup | Making::WithoutParent) => Some(Members::Group),
            Kind::Communicator(_) | Kind::Window(WindowCall::Create) => Some(Members::Communicator),
            Kind::Window(WindowCall::Free | WindowCall::Fence) => Some(Members::Window),
            Kind::File { call: FileCall::Open, .. } => Some(Members::Communicator),
            Kind::File { together: true, .. } => Some(Members::File),
            _ => None,
        }
    }

    /// Who can wait for whom in it, or in what it starts; `None` where nobody waits for those that call the same. Between groups it is
    /// for members of the other group only.
    #[must_use]
    pub const fn waits(&self) -> Option<Waits> {
        match self.kind {
            Kind::Collective(operation) => Some(operation.waits()),
            // Libraries free a communicator without a message.
            Kind::Communicator(Making::Free) => None,
            _ if self.members().is_some() => Some(Waits::All),
            _ => None,
        }
    }

    /// Whether it ends as soon as one of the requests that it is given is complete, of those that wait for some.
    #[must_use]
    pub fn waits_for_one(&self) -> bool {
        self.step == Step::Completes && ["MPI_Waitany", "MPI_Waitsome"].contains(&self.name)
    }

    /// Whether all processes of a communicator, or of a window, are in it at the same time, so that calls of it can be counted: the first
    /// one of each process belongs together, and so on.
    #[must_use]
    pub const fn is_met_by_all(&self) -> bool {
        match self.kind {
            Kind::Collective(_)
            | Kind::Communicator(Making::Duplicate | Making::Child)
            | Kind::Window(WindowCall::Create | WindowCall::Fence)
            | Kind::File { call: FileCall::Open, .. } => matches!(self.step, Step::Blocks),
            _ => false,
        }
    }

    /// Whether its messages leave this process, when it is called or when its request is started. One-sided operations and collective
    /// ones are no messages.
    #[must_use]
    pub const fn sends(&self) -> bool {
        matches!(self.kind, Kind::Send(_) | Kind::SendReceive | Kind::PartitionedSend)
    }

    /// Whether it receives a message, now or when its request is complete.
    #[must_use]
    pub const fn receives(&self) -> bool {
        matches!(self.kind, Kind::Receive | Kind::SendReceive | Kind::PartitionedReceive)
    }

    /// Whether it has to do with this process alone, and with none of its requests: it asks, computes, or makes, changes and frees objects
    /// that other processes know nothing of.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(self.kind, Kind::Local | Kind::Object)
    }
}

impl Kind {
    /// The kind of the function of this name; [`Kind::Environment`] where there is none.
    #[must_use]
    pub fn of(name: &str) -> Kind {
        named(name).map_or(Kind::Environment, |function| function.kind)
    }
}

#[cfg(test)]
mod tests;
