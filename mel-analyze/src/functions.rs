//! What MPI functions are to the rules, by their names.

use std::fmt;

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `MPI_Send`, `MPI_Isend`, and persistent sends.
    Standard,
    /// `MPI_Bsend`, `MPI_Ibsend`.
    Buffered,
    /// `MPI_Ssend`, `MPI_Issend`.
    Synchronous,
    /// `MPI_Rsend`, `MPI_Irsend`.
    Ready,
}

/// Who waits for whom in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `MPI_Barrier`: all for all, and nothing else.
    Barrier,
    /// All for all: `MPI_Allreduce`, `MPI_Alltoall` and the like.
    AllToAll,
    /// All for the root.
    FromRoot,
    /// The root for all.
    ToRoot,
    /// Each for those of lower ranks.
    Scan,
}

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A blocking send.
    Send(Mode),
    /// A nonblocking send.
    Isend(Mode),
    /// `MPI_Recv`, `MPI_Mrecv`.
    Recv,
    /// `MPI_Sendrecv` and its forms.
    Sendrecv,
    /// Waits for a message without taking it.
    Probe,
    /// Waits for requests.
    Wait,
    /// A collective operation, blocking or not.
    Collective(Collective),
    /// `MPI_Win_start`, `MPI_Win_complete`, `MPI_Win_post`, `MPI_Win_wait`: the groups of a window.
    Group(Group),
    /// `MPI_Init`, `MPI_Init_thread`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// Any other.
    Other,
}

/// A call that synchronises a group of processes on a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Begins to access.
    Start,
    /// Ends to access.
    Complete,
    /// Begins to be accessed.
    Post,
    /// Ends to be accessed.
    Wait,
}

/// An MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

impl Function {
    /// The function of this name.
    pub fn of(name: &str) -> Function {
        Function { name: name.to_owned(), kind: kind_of(name) }
    }
}

impl fmt::Display for Mode {
    /// As in the names of rules.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Standard => "standard",
            Mode::Buffered => "buffered",
            Mode::Synchronous => "synchronous",
            Mode::Ready => "ready",
        })
    }
}

fn kind_of(name: &str) -> Kind {
    let Some(name) = name.strip_prefix("MPI_") else { return Kind::Other };
    let name = name.strip_suffix("_c").unwrap_or(name);
    match name {
        "Send" => return Kind::Send(Mode::Standard),
        "Bsend" => return Kind::Send(Mode::Buffered),
        "Ssend" => return Kind::Send(Mode::Synchronous),
        "Rsend" => return Kind::Send(Mode::Ready),
        "Isend" | "Start" | "Startall" | "Isendrecv" | "Isendrecv_replace" => {
            return Kind::Isend(Mode::Standard);
        }
        "Ibsend" => return Kind::Isend(Mode::Buffered),
        "Issend" => return Kind::Isend(Mode::Synchronous),
        "Irsend" => return Kind::Isend(Mode::Ready),
        "Recv" | "Mrecv" => return Kind::Recv,
        "Sendrecv" | "Sendrecv_replace" => return Kind::Sendrecv,
        "Probe" | "Mprobe" => return Kind::Probe,
        "Wait" | "Waitall" | "Waitany" | "Waitsome" => return Kind::Wait,
        "Win_start" => return Kind::Group(Group::Start),
        "Win_complete" => return Kind::Group(Group::Complete),
        "Win_post" => return Kind::Group(Group::Post),
        "Win_wait" => return Kind::Group(Group::Wait),
        "Init" | "Init_thread" => return Kind::Init,
        "Finalize" => return Kind::Finalize,
        _ => {}
    }
    let plain = name.strip_suffix("_init").unwrap_or(name);
    let plain = plain.strip_prefix('I').unwrap_or(plain).to_lowercase();
    Kind::Collective(match plain.as_str() {
        "barrier" => Collective::Barrier,
        "allreduce"
        | "alltoall"
        | "alltoallv"
        | "alltoallw"
        | "allgather"
        | "allgatherv"
        | "reduce_scatter"
        | "reduce_scatter_block" => Collective::AllToAll,
        "bcast" | "scatter" | "scatterv" => Collective::FromRoot,
        "reduce" | "gather" | "gatherv" => Collective::ToRoot,
        "scan" | "exscan" => Collective::Scan,
        _ => return Kind::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_in_all_its_forms() {
        for (name, kind) in [
            ("MPI_Send_c", Kind::Send(Mode::Standard)),
            ("MPI_Irsend", Kind::Isend(Mode::Ready)),
            ("MPI_Startall", Kind::Isend(Mode::Standard)),
            ("MPI_Iallreduce", Kind::Collective(Collective::AllToAll)),
            ("MPI_Bcast_init", Kind::Collective(Collective::FromRoot)),
            ("MPI_Exscan", Kind::Collective(Collective::Scan)),
            ("MPI_Init_thread", Kind::Init),
            ("MPI_Neighbor_alltoall", Kind::Other),
            ("MPI_Irecv", Kind::Other),
            ("main", Kind::Other),
        ] {
            assert_eq!(Function::of(name).kind, kind, "{name}");
        }
    }
}
