//! What MPI functions are, as far as their parameters do not say it: the hand-written part of the table in `crates/mpi-functions`.
//!
//! Functions that vary another one need no line: `MPI_Isend` and `MPI_Send_init` make a request and have the name of `MPI_Send`.

use anyhow::{Result, bail};

use crate::api::Function;

/// What a function is: expressions in Rust.
pub(crate) struct Meaning {
    pub(crate) kind: String,
    pub(crate) step: &'static str,
    pub(crate) makes: Option<&'static str>,
    pub(crate) frees: Option<&'static str>,
}

/// What gives back an object that was there.
const GIVES_PREDEFINED: [&str; 4] =
    ["Type_match_size", "Type_create_f90_complex", "Type_create_f90_integer", "Type_create_f90_real"];

/// What frees an object: the functions' names, and the object's in `mpi_functions::Object`.
const FREES: [(&str, &str); 11] = [
    ("Comm_free", "Communicator"),
    ("Comm_disconnect", "Communicator"),
    ("Type_free", "Datatype"),
    ("Errhandler_free", "Errhandler"),
    ("File_close", "File"),
    ("Group_free", "Group"),
    ("Info_free", "Info"),
    ("Op_free", "Op"),
    ("Request_free", "Request"),
    ("Session_finalize", "Session"),
    ("Win_free", "Window"),
];

/// Collective operations: the functions' names, and the names in Rust.
const OPERATIONS: [(&str, &str); 22] = [
    ("Barrier", "Barrier"),
    ("Bcast", "Bcast"),
    ("Gather", "Gather"),
    ("Gatherv", "Gatherv"),
    ("Scatter", "Scatter"),
    ("Scatterv", "Scatterv"),
    ("Allgather", "Allgather"),
    ("Allgatherv", "Allgatherv"),
    ("Alltoall", "Alltoall"),
    ("Alltoallv", "Alltoallv"),
    ("Alltoallw", "Alltoallw"),
    ("Reduce", "Reduce"),
    ("Allreduce", "Allreduce"),
    ("Reduce_scatter", "ReduceScatter"),
    ("Reduce_scatter_block", "ReduceScatterBlock"),
    ("Scan", "Scan"),
    ("Exscan", "Exscan"),
    ("Neighbor_allgather", "NeighborAllgather"),
    ("Neighbor_allgatherv", "NeighborAllgatherv"),
    ("Neighbor_alltoall", "NeighborAlltoall"),
    ("Neighbor_alltoallv", "NeighborAlltoallv"),
    ("Neighbor_alltoallw", "NeighborAlltoallw"),
];

/// Functions by what they do: kind, step, names. A name may end in `*`; an exact name goes first, then the longest such.
const KINDS: &[(&str, &str, &str)] = &[
    ("Send(Mode::Standard)", "Blocks", "Send"),
    ("Send(Mode::Buffered)", "Blocks", "Bsend"),
    ("Send(Mode::Synchronous)", "Blocks", "Ssend"),
    ("Send(Mode::Ready)", "Blocks", "Rsend"),
    ("Receive", "Blocks", "Recv Mrecv"),
    ("SendReceive", "Blocks", "Sendrecv Sendrecv_replace"),
    ("Probe", "Blocks", "Probe Mprobe"),
    ("Probe", "Tests", "Iprobe Improbe"),
    ("PartitionedSend", "Prepares", "Psend_init"),
    ("PartitionedReceive", "Prepares", "Precv_init"),
    ("Partition", "Starts", "Pready Pready_list Pready_range"),
    ("Partition", "Tests", "Parrived"),
    ("Start", "Starts", "Start Startall"),
    ("Completion", "Completes", "Wait Waitall Waitany Waitsome"),
    ("Completion", "Tests", "Test Testall Testany Testsome"),
    (
        "Request",
        "Tests",
        "Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some",
    ),
    ("Request", "Returns", "Cancel Request_free Grequest_start Grequest_complete"),
    ("Communicator(Making::Duplicate)", "Blocks", "Comm_dup Comm_dup_with_info"),
    ("Communicator(Making::Duplicate)", "Starts", "Comm_idup Comm_idup_with_info"),
    (
        "Communicator(Making::Child)",
        "Blocks",
        "Comm_create Comm_split Comm_split_type Cart_create Cart_sub Graph_create Dist_graph_create \
         Dist_graph_create_adjacent",
    ),
    ("Communicator(Making::Merge)", "Blocks", "Intercomm_merge"),
    ("Communicator(Making::OfGroup)", "Blocks", "Comm_create_group Intercomm_create"),
    ("Communicator(Making::WithoutParent)", "Blocks", "Comm_create_from_group Intercomm_create_from_groups"),
    (
        "Communicator(Making::Connect)",
        "Blocks",
        "Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_join",
    ),
    ("Communicator(Making::Free)", "Blocks", "Comm_free Comm_disconnect"),
    ("OneSided(Access::Put)", "Starts", "Put Rput"),
    ("OneSided(Access::Get)", "Starts", "Get Rget"),
    ("OneSided(Access::Accumulate)", "Starts", "Accumulate Raccumulate"),
    ("OneSided(Access::Fetch)", "Starts", "Get_accumulate Rget_accumulate Fetch_and_op Compare_and_swap"),
    (
        "Window(WindowCall::Create)",
        "Blocks",
        "Win_create Win_create_dynamic Win_allocate Win_allocate_shared",
    ),
    ("Window(WindowCall::Free)", "Blocks", "Win_free"),
    ("Window(WindowCall::Fence)", "Blocks", "Win_fence"),
    ("Window(WindowCall::Start)", "Blocks", "Win_start"),
    ("Window(WindowCall::Complete)", "Blocks", "Win_complete"),
    ("Window(WindowCall::Post)", "Starts", "Win_post"),
    ("Window(WindowCall::Wait)", "Blocks", "Win_wait"),
    ("Window(WindowCall::Wait)", "Tests", "Win_test"),
    ("Window(WindowCall::Lock)", "Blocks", "Win_lock Win_lock_all"),
    ("Window(WindowCall::Unlock)", "Blocks", "Win_unlock Win_unlock_all"),
    ("Window(WindowCall::Flush)", "Blocks", "Win_flush Win_flush_all"),
    ("Window(WindowCall::FlushLocal)", "Blocks", "Win_flush_local Win_flush_local_all"),
    ("Window(WindowCall::Local)", "Returns", "Win_*"),
    ("File { call: FileCall::Open, together: true }", "Blocks", "File_open"),
    ("File { call: FileCall::Close, together: true }", "Blocks", "File_close"),
    (
        "File { call: FileCall::Read, together: true }",
        "Blocks",
        "File_read_all File_read_at_all File_read_ordered",
    ),
    (
        "File { call: FileCall::Read, together: true }",
        "Starts",
        "File_iread_all File_iread_at_all File_read_all_begin File_read_at_all_begin File_read_ordered_begin",
    ),
    (
        "File { call: FileCall::Read, together: true }",
        "Completes",
        "File_read_all_end File_read_at_all_end File_read_ordered_end",
    ),
    ("File { call: FileCall::Read, together: false }", "Blocks", "File_read File_read_at File_read_shared"),
    (
        "File { call: FileCall::Read, together: false }",
        "Starts",
        "File_iread File_iread_at File_iread_shared",
    ),
    (
        "File { call: FileCall::Write, together: true }",
        "Blocks",
        "File_write_all File_write_at_all File_write_ordered",
    ),
    (
        "File { call: FileCall::Write, together: true }",
        "Starts",
        "File_iwrite_all File_iwrite_at_all File_write_all_begin File_write_at_all_begin \
         File_write_ordered_begin",
    ),
    (
        "File { call: FileCall::Write, together: true }",
        "Completes",
        "File_write_all_end File_write_at_all_end File_write_ordered_end",
    ),
    (
        "File { call: FileCall::Write, together: false }",
        "Blocks",
        "File_write File_write_at File_write_shared",
    ),
    (
        "File { call: FileCall::Write, together: false }",
        "Starts",
        "File_iwrite File_iwrite_at File_iwrite_shared",
    ),
    (
        "File { call: FileCall::Other, together: true }",
        "Blocks",
        "File_set_size File_preallocate File_set_view File_set_info File_set_atomicity File_sync \
         File_seek_shared",
    ),
    ("File { call: FileCall::Other, together: false }", "Blocks", "File_delete File_get_position_shared"),
    (
        "File { call: FileCall::Other, together: false }",
        "Returns",
        "File_seek File_get_* File_set_errhandler File_call_errhandler File_create_errhandler",
    ),
    ("Buffer", "Returns", "Buffer_attach Comm_attach_buffer Session_attach_buffer"),
    (
        "Buffer",
        "Blocks",
        "Buffer_detach Buffer_flush Comm_detach_buffer Comm_flush_buffer Session_detach_buffer \
         Session_flush_buffer",
    ),
    ("Buffer", "Starts", "Buffer_iflush Comm_iflush_buffer Session_iflush_buffer"),
    ("Init", "Blocks", "Init Init_thread"),
    ("Finalize", "Blocks", "Finalize"),
    ("Allocate", "Returns", "Alloc_mem"),
    ("Deallocate", "Returns", "Free_mem"),
    (
        "Object",
        "Returns",
        "Type_* Group_* Info_* Op_* Errhandler_* Keyval_* Attr_* Comm_create_errhandler Comm_set_errhandler \
         Comm_get_errhandler Comm_create_keyval Comm_free_keyval Comm_set_attr Comm_get_attr Comm_delete_attr \
         Comm_set_name Comm_set_info Comm_group Comm_remote_group Session_create_errhandler \
         Session_set_errhandler Session_get_errhandler",
    ),
    (
        "Local",
        "Returns",
        "Comm_rank Comm_size Comm_remote_size Comm_compare Comm_test_inter Comm_get_name Comm_get_info \
         Comm_get_parent Cart_coords Cart_get Cart_map Cart_rank Cart_shift Cartdim_get Graph_get Graph_map \
         Graph_neighbors Graph_neighbors_count Graphdims_get Dist_graph_neighbors Dist_graph_neighbors_count \
         Topo_test Dims_create Get_count Get_elements Get_elements_x Get_address Address Get_processor_name \
         Get_library_version Get_version Get_hw_resource_info Pack Pack_external Pack_external_size Pack_size \
         Unpack Unpack_external Reduce_local Status_* Test_cancelled Initialized Finalized Is_thread_main \
         Query_thread Error_class Error_string Abi_get_*",
    ),
    (
        "Environment",
        "Blocks",
        "Abort Open_port Close_port Lookup_name Publish_name Unpublish_name Session_init Session_finalize",
    ),
    (
        "Environment",
        "Returns",
        "Pcontrol Abi_set_* Add_error_* Remove_error_* Comm_call_errhandler Session_call_errhandler \
         Register_datarep Session_get_*",
    ),
];

/// What a function is. One that nobody has classified is an error.
pub(crate) fn of(function: &Function) -> Result<Meaning> {
    let name = function.plain().unwrap_or(function.short());
    let makes_request = function.gives("Request");
    let classified = match basic(name) {
        Some((kind, "Blocks")) if makes_request => {
            bail!("{name}, {kind}, makes a request: it does not block")
        }
        Some(found) => Some(found),
        None if makes_request => varied(name),
        None => None,
    };
    let Some((kind, step)) = classified else {
        bail!("{}: what is it? Add it to crates/xtask/src/semantics.rs", function.name)
    };
    let makes = match step {
        "Returns" if kind == "Local" || name.contains("_get_") || name.ends_with("_get") => None,
        _ if GIVES_PREDEFINED.contains(&name) => None,
        _ => function.gives_object(),
    };
    let frees = FREES.iter().find(|(free, _)| *free == name).map(|(_, object)| *object);
    Ok(Meaning { kind, step, makes, frees })
}

/// Fails where a line names a function that does not exist.
pub(crate) fn check(functions: &[Function]) -> Result<()> {
    let operations = OPERATIONS.iter().map(|(name, _)| *name);
    let names =
        KINDS.iter().flat_map(|(.., names)| names.split_whitespace()).filter(|name| !name.ends_with('*'));
    let frees = FREES.iter().map(|(name, _)| *name);
    for name in operations.chain(names).chain(frees).chain(GIVES_PREDEFINED) {
        if !functions.iter().any(|function| function.short() == name) {
            bail!("crates/xtask/src/semantics.rs has a line for MPI_{name}, which is no function");
        }
    }
    Ok(())
}

/// By its own name.
fn basic(name: &str) -> Option<(String, &'static str)> {
    if let Some((_, operation)) = OPERATIONS.iter().find(|(function, _)| *function == name) {
        return Some((format!("Collective(Operation::{operation})"), "Blocks"));
    }
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix).then_some(prefix.len()),
        None => (name == pattern).then_some(usize::MAX),
    };
    let of_line = |names: &str| names.split_whitespace().filter_map(fits).max();
    let fitting = KINDS.iter().filter_map(|(kind, step, names)| Some((of_line(names)?, kind, *step)));
    fitting.max_by_key(|(length, ..)| *length).map(|(_, kind, step)| ((*kind).to_owned(), step))
}

/// By the name of the function that it varies.
fn varied(name: &str) -> Option<(String, &'static str)> {
    if let Some(plain) = name.strip_suffix("_init") {
        return basic(plain).map(|(kind, _)| (kind, "Prepares"));
    }
    let mut plain = name.strip_prefix('I')?.to_owned();
    plain.get_mut(..1)?.make_ascii_uppercase();
    basic(&plain).map(|(kind, _)| (kind, "Starts"))
}
