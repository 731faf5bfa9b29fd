//! One operation: a put, a get, or one of the accumulate family.

use mpit_events::Ticks;

use super::events::Moved;

/// What an operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// `MPI_Put`, `MPI_Rput`
    #[default]
    Put,
    /// `MPI_Get`, `MPI_Rget`
    Get,
    /// `MPI_Accumulate`, `MPI_Raccumulate`
    Accumulate,
    /// `MPI_Get_accumulate`, `MPI_Rget_accumulate`
    GetAccumulate,
    /// `MPI_Fetch_and_op`
    FetchAndOp,
    /// `MPI_Compare_and_swap`
    CompareAndSwap,
}

impl Kind {
    /// All kinds, in order.
    pub const ALL: [Kind; 6] =
        [Kind::Put, Kind::Get, Kind::Accumulate, Kind::GetAccumulate, Kind::FetchAndOp, Kind::CompareAndSwap];

    /// Its name, as profiles and traces have it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Put => "put",
            Kind::Get => "get",
            Kind::Accumulate => "accumulate",
            Kind::GetAccumulate => "get_accumulate",
            Kind::FetchAndOp => "fetch_and_op",
            Kind::CompareAndSwap => "compare_and_swap",
        }
    }

    /// Whether it brings data to the origin. Such an operation is complete when its data is there: whatever it
    /// did to the target came before. Its events are those of a get, all others' those of a put.
    #[inline]
    pub fn brings_data(self) -> bool {
        !matches!(self, Kind::Put | Kind::Accumulate)
    }
}

/// An operation that was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Its number in this process; never that of another one.
    pub id: u64,
    /// When the call that started it was entered. Zero where only callbacks listen that ask for no times.
    pub started: Ticks,
    /// The payload of its events. Where the target's base is not known, the address is the displacement.
    pub moved: Moved,
    /// The thread that started it.
    pub thread: u32,
    /// What it does.
    pub kind: Kind,
    /// Whether the application got a request for it.
    pub has_request: bool,
}
