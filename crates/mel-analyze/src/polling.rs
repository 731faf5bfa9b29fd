//! Polling is waiting: calls of a thread that ask, one after the other, none of which finds anything, until one does.

use rustc_hash::FxHashMap;

use crate::model::Call;
use mpi_functions::{Function, Kind, Step};

/// What threads ask for in vain.
#[derive(Debug, Default)]
pub struct Polling {
    by_thread: FxHashMap<u32, Asking>,
}

/// Calls that ask, one after the other.
#[derive(Clone, Copy, Debug)]
struct Asking {
    first: Call,
    /// The first one that asked for a message, or for the status of a request, and not to complete a request.
    probe: Option<(Call, Kind)>,
}

impl Polling {
    /// The thread does not ask any more for what it has asked for.
    pub fn forget(&mut self, thread: u32) {
        self.by_thread.remove(&thread);
    }

    /// A thread has made a call, which has completed something or not. Gives it as the wait that it is the end of: from the first call on
    /// that asked, where it is what was asked for. Other calls end the asking, but for those that only start something or need nobody.
    pub fn call(&mut self, thread: u32, call: Call, about: Option<&Function>, completes: bool) -> Call {
        let (kind, step) = about.map_or((Kind::Environment, Step::Returns), |about| (about.kind, about.step));
        let before = self.by_thread.get(&thread).copied();
        let probes = matches!((kind, step), (Kind::Probe, _) | (Kind::Request, Step::Tests));
        let tests = (kind, step) == (Kind::Completion, Step::Tests);
        if completes || !(probes || tests || matches!(step, Step::Starts | Step::Returns)) {
            self.by_thread.remove(&thread);
        } else if probes || tests {
            let asking = self.by_thread.entry(thread).or_insert(Asking { first: call, probe: None });
            asking.probe = asking.probe.or(probes.then_some((call, kind)));
        }
        let Some(Asking { first, probe }) = before else { return call };
        let probed = |wanted: Kind| probe.filter(|(_, kind)| *kind == wanted).map(|(first, _)| first);
        let first = match (kind, step) {
            (Kind::Completion, Step::Tests) => Some(first),
            (Kind::Completion, _) => probed(Kind::Request),
            (Kind::Receive, Step::Blocks) => probed(Kind::Probe),
            _ => None,
        };
        first.filter(|first| first.end <= call.begin).map_or(call, |first| Call { end: call.end, ..first })
    }
}

#[cfg(test)]
mod tests {
    use mpi_functions::named;

    use super::*;
    use crate::testing::call;

    /// From when on the last of these calls waits, of which each takes 5 of 10; those with a star complete something.
    fn waits_since(calls: &[&str]) -> u64 {
        let (mut polling, mut since) = (Polling::default(), 0);
        for (time, name) in (0..).step_by(10).zip(calls) {
            let function = named(name.trim_end_matches('*'));
            assert!(function.is_some(), "{name}");
            since = polling.call(0, call(0, (time, time + 5)), function, name.ends_with('*')).begin;
        }
        since
    }

    #[test]
    fn who_asks_waits_from_the_first_time_on() {
        assert_eq!(waits_since(&["MPI_Irecv", "MPI_Test", "MPI_Test", "MPI_Test*"]), 10);
        assert_eq!(waits_since(&["MPI_Iprobe", "MPI_Iprobe", "MPI_Recv*"]), 0);
        assert_eq!(waits_since(&["MPI_Improbe", "MPI_Improbe", "MPI_Mrecv*"]), 0);
        assert_eq!(waits_since(&["MPI_Probe", "MPI_Recv*"]), 0);
        assert_eq!(waits_since(&["MPI_Request_get_status", "MPI_Request_get_status", "MPI_Wait*"]), 0);
        // Other things are asked for, and started, in between.
        assert_eq!(waits_since(&["MPI_Iprobe", "MPI_Test", "MPI_Ibarrier", "MPI_Iprobe", "MPI_Test*"]), 0);
    }

    #[test]
    fn who_works_between_its_tests_does_not_wait_from_the_first_one_on() {
        let (mut polling, test, receive) = (Polling::default(), named("MPI_Iprobe"), named("MPI_Recv"));
        polling.call(0, call(0, (0, 5)), test, false);
        polling.call(1, call(0, (0, 5)), test, false);
        polling.forget(0);
        assert_eq!(polling.call(0, call(0, (50, 55)), receive, true).begin, 50);
        assert_eq!(polling.call(1, call(0, (50, 55)), receive, true).begin, 0, "another thread");
    }

    #[test]
    fn what_was_not_asked_for_waits_by_itself() {
        assert_eq!(waits_since(&["MPI_Test", "MPI_Test", "MPI_Recv*"]), 20, "a request was tested");
        assert_eq!(
            waits_since(&["MPI_Test", "MPI_Test", "MPI_Wait*"]),
            20,
            "between two tests it may have worked"
        );
        assert_eq!(waits_since(&["MPI_Iprobe", "MPI_Wait*"]), 10);
        assert_eq!(waits_since(&["MPI_Test", "MPI_Barrier", "MPI_Test*"]), 20);
        assert_eq!(waits_since(&["MPI_Test", "MPI_Test*", "MPI_Test*"]), 20, "it has found something before");
        assert_eq!(waits_since(&["MPI_Iprobe", "MPI_Recv*", "MPI_Recv*"]), 20);
    }
}
