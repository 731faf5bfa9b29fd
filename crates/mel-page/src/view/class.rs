//! What an MPI call does, for its colour.

use mpi_functions::{Kind, Step};
use serde::Serialize;

/// The classes that differ by colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Waits for messages, or receives one: also tests and probes.
    Wait,
    /// Sends.
    Send,
    /// Posts a receive.
    Post,
    /// A collective.
    Collective,
    /// Starts, completes or synchronises one-sided communication.
    OneSided,
    /// Anything else of MPI.
    Other,
    /// A search of the posted receive queue.
    SearchPosted,
    /// A search of the unexpected message queue.
    SearchUnexpected,
    /// An epoch of a window.
    Epoch,
    /// A region of the program.
    ProgramRegion,
    /// Another pair of events.
    Region,
}

impl Class {
    /// The class of the MPI function of this name.
    pub fn of_function(name: &str) -> Class {
        let Some(function) = mpi_functions::named(name) else { return Class::Other };
        match function.kind {
            _ if function.step == Step::Prepares => Class::Other,
            Kind::Receive if function.step == Step::Starts => Class::Post,
            Kind::Receive | Kind::Probe | Kind::Completion => Class::Wait,
            Kind::SendReceive if function.step == Step::Blocks => Class::Wait,
            Kind::Send(_) | Kind::SendReceive | Kind::Start => Class::Send,
            Kind::Collective(_) => Class::Collective,
            Kind::OneSided(_) | Kind::Window(_) => Class::OneSided,
            _ => Class::Other,
        }
    }

    /// The class of a pair of events, by the name of the pair.
    pub fn of_region(name: &str) -> Class {
        match name {
            name if name.ends_with("search_posted") => Class::SearchPosted,
            name if name.ends_with("search_unexpected") => Class::SearchUnexpected,
            _ => Class::Region,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_class_of_what_they_do() {
        for (name, class) in [
            ("MPI_Waitall", Class::Wait),
            ("MPI_Recv_c", Class::Wait),
            ("MPI_Sendrecv", Class::Wait),
            ("MPI_Iprobe", Class::Wait),
            ("MPI_Isend", Class::Send),
            ("MPI_Startall", Class::Send),
            ("MPI_Irecv", Class::Post),
            ("MPI_Iallreduce", Class::Collective),
            ("MPI_Barrier", Class::Collective),
            ("MPI_Neighbor_alltoallw", Class::Collective),
            ("MPI_Rget_accumulate", Class::OneSided),
            ("MPI_Win_flush_all", Class::OneSided),
            ("MPI_Get_count", Class::Other),
            ("MPI_Init", Class::Other),
            ("MPI_Reduce_local", Class::Other),
            ("MPI_Test_cancelled", Class::Other),
            ("MPI_Isendrecv", Class::Send),
            ("MPI_Send_init", Class::Other),
            ("MPI_Comm_split", Class::Other),
        ] {
            assert_eq!(Class::of_function(name), class, "{name}");
        }
        assert_eq!(Class::of_region("pml_ob1_search_posted"), Class::SearchPosted);
    }
}
