//! What is special about an MPI function, for the profile of calls.

use mpi_intercept::FunctionId;
use mpit_sources::calls::COLLECTIVES;

/// What kind of call a function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its calls are not counted: it starts or ends MPI, or does not return.
    NotCounted,
    /// Nothing is special.
    Plain,
    /// A send that may wait for its receiver.
    BlockingSend,
    /// It waits for a message.
    Probe,
    /// All processes of a communicator take part, and some may wait for others.
    Collective,
    /// The same, and they make a window.
    MakesWindow,
    /// It makes a handle unknown that was known.
    Frees,
    /// It ends the communicator or window that it is called on.
    EndsHandle,
    /// A communicator gets a name.
    Names,
}

/// Operations of all processes of a communicator, or of a window, beside those that are called collective everywhere: names without
/// their prefix.
const MAKING: [&str; 17] = [
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_create",
    "Comm_split",
    "Comm_split_type",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "Win_fence",
    "File_open",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
];

/// The kind of each function.
pub(super) fn kinds() -> [Kind; FunctionId::COUNT] {
    let mut kinds = [Kind::Plain; FunctionId::COUNT];
    for function in FunctionId::all() {
        kinds[function.index()] = kind(function);
    }
    kinds
}

fn kind(function: FunctionId) -> Kind {
    use FunctionId as F;
    let name = function.name();
    let name = name.strip_prefix("MPI_").unwrap_or(name);
    let name = name.strip_suffix("_c").unwrap_or(name);
    match function {
        F::Init | F::Init_thread | F::Session_init | F::Finalize | F::Abort | F::Pcontrol => Kind::NotCounted,
        F::Send | F::Send_c | F::Ssend | F::Ssend_c | F::Rsend | F::Rsend_c => Kind::BlockingSend,
        F::Probe | F::Mprobe => Kind::Probe,
        F::Win_create | F::Win_create_c | F::Win_allocate | F::Win_allocate_c | F::Win_allocate_shared => {
            Kind::MakesWindow
        }
        F::Win_allocate_shared_c | F::Win_create_dynamic => Kind::MakesWindow,
        F::Type_free => Kind::Frees,
        F::Comm_free | F::Comm_disconnect | F::Win_free => Kind::EndsHandle,
        F::Comm_set_name => Kind::Names,
        _ if MAKING.contains(&name) || COLLECTIVES.contains(&name.to_lowercase().as_str()) => {
            Kind::Collective
        }
        _ => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_have_a_request_do_not_wait_for_others() {
        let collective = |function| kind(function) == Kind::Collective;
        assert!(collective(FunctionId::Allreduce) && collective(FunctionId::Alltoallv_c));
        assert!(collective(FunctionId::Comm_split) && collective(FunctionId::Reduce_scatter_block));
        assert!(!collective(FunctionId::Iallreduce) && !collective(FunctionId::Bcast_init));
        assert!(MAKING.iter().all(|name| FunctionId::all().any(|f| f.name() == format!("MPI_{name}"))));
    }
}
