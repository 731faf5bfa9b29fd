extern crate std;

use std::vec::Vec;

use super::*;

fn of(name: &str) -> &'static Function {
    named(name).unwrap_or_else(|| panic!("{name} is no function"))
}

#[test]
fn each_function_is_found_by_its_name() {
    for function in &FUNCTIONS {
        assert!(core::ptr::eq(of(function.name), function), "{}", function.name);
    }
    for none in ["", "MPI_", "main", "MPI_Wtime", "MPI_Send_", "PMPI_Send", "MPI_zzz", "Send"] {
        assert_eq!(named(none), None, "{none}");
    }
}

#[test]
fn a_form_with_large_counts_differs_in_nothing_else() {
    let mut large = 0;
    for function in &FUNCTIONS {
        let plain = function.plain();
        assert!(core::ptr::eq(plain.plain(), plain), "{}", function.name);
        assert_eq!((plain.kind, plain.step, plain.makes), (function.kind, function.step, function.makes));
        if !core::ptr::eq(plain, function) {
            assert_eq!(function.name.strip_suffix("_c"), Some(plain.name));
            large += 1;
        }
    }
    assert!(large > 100);
    assert_eq!(of("MPI_Bcast_init_c").plain().name, "MPI_Bcast_init");
}

#[test]
fn forms_of_an_operation_are_the_same_operation() {
    for (name, operation, step) in [
        ("MPI_Bcast_c", Operation::Bcast, Step::Blocks),
        ("MPI_Ibcast", Operation::Bcast, Step::Starts),
        ("MPI_Bcast_init_c", Operation::Bcast, Step::Prepares),
        ("MPI_Ireduce_scatter_block", Operation::ReduceScatterBlock, Step::Starts),
        ("MPI_Ineighbor_alltoallw_c", Operation::NeighborAlltoallw, Step::Starts),
        ("MPI_Barrier_init", Operation::Barrier, Step::Prepares),
    ] {
        assert_eq!((of(name).operation(), of(name).step), (Some(operation), step), "{name}");
    }
    let forms = |wanted| FUNCTIONS.iter().filter(|of| of.operation() == Some(wanted)).count();
    // Blocking, nonblocking and persistent, each with large counts but for the barrier.
    assert_eq!(
        (forms(Operation::Barrier), forms(Operation::Scan), forms(Operation::NeighborAllgather)),
        (3, 6, 6)
    );
    assert_eq!(FUNCTIONS.iter().filter(|of| of.operation().is_some()).count(), 21 * 6 + 3);
}

#[test]
fn what_is_local_is_no_collective() {
    for name in ["MPI_Reduce_local", "MPI_Reduce_local_c", "MPI_Comm_rank", "MPI_Type_commit", "MPI_Pack_c"] {
        let function = of(name);
        assert!(function.is_local(), "{name}");
        assert_eq!(
            (function.operation(), function.members(), function.waits()),
            (None, None, None),
            "{name}"
        );
    }
    for name in ["MPI_Cancel", "MPI_Isend", "MPI_Iprobe", "MPI_Win_fence", "MPI_File_open"] {
        assert!(!of(name).is_local(), "{name}");
    }
}

#[test]
fn messages_have_a_mode_and_a_way() {
    for (name, kind, step) in [
        ("MPI_Send_c", Kind::Send(Mode::Standard), Step::Blocks),
        ("MPI_Irsend", Kind::Send(Mode::Ready), Step::Starts),
        ("MPI_Issend_c", Kind::Send(Mode::Synchronous), Step::Starts),
        ("MPI_Bsend_init", Kind::Send(Mode::Buffered), Step::Prepares),
        ("MPI_Imrecv", Kind::Receive, Step::Starts),
        ("MPI_Isendrecv_replace_c", Kind::SendReceive, Step::Starts),
        ("MPI_Improbe", Kind::Probe, Step::Tests),
        ("MPI_Startall", Kind::Start, Step::Starts),
        ("MPI_Testsome", Kind::Completion, Step::Tests),
        ("MPI_Waitany", Kind::Completion, Step::Completes),
    ] {
        assert_eq!((of(name).kind, of(name).step), (kind, step), "{name}");
    }
}

#[test]
fn who_can_wait_for_whom() {
    for (name, waits) in [
        ("MPI_Allreduce", Some(Waits::All)),
        ("MPI_Scatterv_c", Some(Waits::ForRoot)),
        ("MPI_Ireduce", Some(Waits::RootForAll)),
        ("MPI_Exscan", Some(Waits::ForLower)),
        ("MPI_Neighbor_alltoall", Some(Waits::Neighbours)),
        ("MPI_Comm_dup", Some(Waits::All)),
        ("MPI_Win_create_c", Some(Waits::All)),
        ("MPI_File_open", Some(Waits::All)),
        ("MPI_Comm_free", None),
        ("MPI_Recv", None),
    ] {
        assert_eq!(of(name).waits(), waits, "{name}");
    }
    let met: Vec<_> =
        ["MPI_Bcast_c", "MPI_Win_fence", "MPI_Cart_sub", "MPI_Ibarrier", "MPI_Comm_create_group"]
            .into_iter()
            .filter(|name| of(name).is_met_by_all())
            .collect();
    assert_eq!(met, ["MPI_Bcast_c", "MPI_Win_fence", "MPI_Cart_sub"]);
}

#[test]
fn objects_are_made_by_those_that_give_them_back() {
    for (name, object) in [
        ("MPI_Comm_dup", Some(Object::Communicator)),
        ("MPI_Comm_idup", Some(Object::Communicator)),
        ("MPI_Dist_graph_create", Some(Object::Communicator)),
        ("MPI_Win_allocate_shared_c", Some(Object::Window)),
        ("MPI_File_open", Some(Object::File)),
        ("MPI_Type_vector_c", Some(Object::Datatype)),
        ("MPI_Session_init", Some(Object::Session)),
        ("MPI_Comm_get_parent", None),
        ("MPI_File_get_view", None),
        ("MPI_Comm_free", None),
        ("MPI_Isend", None),
    ] {
        assert_eq!(of(name).makes, object, "{name}");
    }
}
