//! What is special about an MPI function, for the profile of calls.

use mpi_functions::{Kind as Of, Mode, Object, Step, WindowCall};
use mpi_intercept::FunctionId;

/// What kind of call a function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its calls are not counted: it starts or ends MPI, or does not return.
    NotCounted,
    /// Nothing is special.
    Plain,
    /// It looks whether something is complete, or has come.
    Tests,
    /// It receives a message, or completes requests, and sends nothing.
    Waits,
    /// It has to do with this process alone.
    Local,
    /// A send that may wait for its receiver.
    BlockingSend,
    /// It waits for a message.
    Probe,
    /// All processes of a communicator take part, and some may wait for others.
    Collective,
    /// It starts such an operation, which a request completes.
    StartsCollective,
    /// It synchronises a window, and others may wait for it.
    Synchronises,
    /// It makes a handle unknown that was known.
    Frees,
}

/// Whether a function does not wait for anything: it starts something, looks, or answers from memory.
pub(crate) fn returns_at_once(function: FunctionId) -> bool {
    let about = function.about();
    match about.kind {
        Of::Local => {
            matches!(function, FunctionId::Comm_rank | FunctionId::Comm_size | FunctionId::Get_count)
        }
        Of::Send(_) | Of::Receive | Of::SendReceive | Of::Collective(_) | Of::Start => {
            about.step == Step::Starts
        }
        _ => about.step == Step::Tests,
    }
}

impl Kind {
    /// Whether who makes such calls between two tests polls no more for what was tested.
    pub(crate) fn ends_polling(self) -> bool {
        !matches!(self, Kind::Tests | Kind::Local | Kind::Frees | Kind::NotCounted)
    }
}

/// The kind of each function.
pub(crate) fn kinds() -> [Kind; FunctionId::COUNT] {
    let mut kinds = [Kind::Plain; FunctionId::COUNT];
    for function in FunctionId::all() {
        kinds[function.index()] = kind(function);
    }
    kinds
}

fn kind(function: FunctionId) -> Kind {
    use FunctionId as F;
    let about = function.about();
    match function {
        F::Session_init | F::Session_finalize | F::Abort | F::Pcontrol => return Kind::NotCounted,
        F::Type_free => return Kind::Frees,
        _ => {}
    }
    match (about.kind, about.step) {
        (Of::Init | Of::Finalize, _) => Kind::NotCounted,
        (Of::Send(mode), Step::Blocks) if mode != Mode::Buffered => Kind::BlockingSend,
        (Of::Probe, Step::Blocks) => Kind::Probe,
        (Of::Receive, Step::Blocks) | (Of::Completion, Step::Completes) => Kind::Waits,
        (Of::Completion | Of::Probe | Of::Request | Of::Window(_), Step::Tests) => Kind::Tests,
        (Of::Collective(_), Step::Starts) => Kind::StartsCollective,
        // They wait for each other where all do something with a file.
        (Of::File { together: true, .. }, Step::Blocks) => Kind::Collective,
        (Of::Window(call), Step::Blocks | Step::Starts) if is_waited_for(call) => Kind::Synchronises,
        _ if about.makes == Some(Object::Window) || about.is_met_by_all() => Kind::Collective,
        _ if about.is_local() => Kind::Local,
        _ => Kind::Plain,
    }
}

/// Whether another process's call on the window may wait for this one.
fn is_waited_for(call: WindowCall) -> bool {
    matches!(call, WindowCall::Post | WindowCall::Complete | WindowCall::Lock | WindowCall::Unlock)
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
    fn tests_return_at_once() {
        for function in FunctionId::all().filter(|function| kind(*function) == Kind::Tests) {
            assert!(returns_at_once(function), "{}", function.name());
        }
        assert_eq!(kind(FunctionId::Testsome), Kind::Tests);
        assert_eq!((kind(FunctionId::Wait), kind(FunctionId::Recv)), (Kind::Waits, Kind::Waits));
        assert_eq!(kind(FunctionId::Sendrecv), Kind::Plain, "it sends");
    }

    #[test]
    fn forms_that_have_a_request_do_not_wait_for_others() {
        let collective = |function| kind(function) == Kind::Collective;
        assert!(collective(FunctionId::Allreduce) && collective(FunctionId::Alltoallv_c));
        assert!(collective(FunctionId::Comm_split) && collective(FunctionId::Reduce_scatter_block));
        assert!(!collective(FunctionId::Iallreduce) && !collective(FunctionId::Bcast_init));
        assert_eq!(kind(FunctionId::Iallreduce), Kind::StartsCollective);
        assert!(collective(FunctionId::File_write_at_all) && !collective(FunctionId::File_write_at));
        assert!(!collective(FunctionId::Reduce_local) && !collective(FunctionId::Comm_create_group));
    }
}
