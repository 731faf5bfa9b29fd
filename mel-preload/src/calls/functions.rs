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

/// Whether a function does not wait for anything: it starts something, looks, or answers from memory.
pub(super) fn returns_at_once(function: FunctionId) -> bool {
    let name = function.name().strip_prefix("MPI_").unwrap_or_default();
    let starts = name.starts_with('I') && !["In", "Is_", "Intercomm"].iter().any(|no| name.starts_with(no));
    starts || name.starts_with("Test") || matches!(name, "Comm_rank" | "Comm_size" | "Get_count" | "Start")
}

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
    fn what_may_wait_does_not_return_at_once() {
        for function in [FunctionId::Isend, FunctionId::Irecv_c, FunctionId::Testall, FunctionId::Iprobe] {
            assert!(returns_at_once(function), "{}", function.name());
        }
        let waits = [FunctionId::Recv, FunctionId::Wait, FunctionId::Barrier, FunctionId::Comm_free];
        for function in waits.into_iter().chain([FunctionId::Init, FunctionId::Intercomm_create]) {
            assert!(!returns_at_once(function), "{}", function.name());
        }
    }

    #[test]
    fn forms_that_have_a_request_do_not_wait_for_others() {
        let collective = |function| kind(function) == Kind::Collective;
        assert!(collective(FunctionId::Allreduce) && collective(FunctionId::Alltoallv_c));
        assert!(collective(FunctionId::Comm_split) && collective(FunctionId::Reduce_scatter_block));
        assert!(!collective(FunctionId::Iallreduce) && !collective(FunctionId::Bcast_init));
        assert!(MAKING.iter().all(|name| FunctionId::all().any(|f| f.name() == format!("MPI_{name}"))));
    }
}
