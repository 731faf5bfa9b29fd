//! What a consumer is to the session: whatever makes something of calls, messages, events or variables in this process.
//!
//! The session asks and tells all consumers in the order of their list, `consumers`; it knows none of them. Nothing here is called on
//! the way of a message: what runs there is the hook, the observers, and listeners of the events core, which the interception, the
//! sources and the core call themselves.

use mel_log::profile::Ended;
use mel_log::table::ProfileTable;
use mpi_abi::Abi;
use mpi_intercept::{FunctionId, Hook, Wants};
use mpit_events::{Core, EventIndex, Ticks};
use mpit_sources::calls::{Calls, Observer};
use mpit_sources::netops::NetOps;
use mpit_sources::vars::QueueCounts;
use mpit_sources::{QueueEvents, rma};

use crate::config::Config;
use crate::registry::Registry;
use crate::state::Run;

/// What consumers are made of.
#[derive(Clone, Copy)]
pub struct Parts {
    /// The MPI that runs here.
    pub abi: &'static Abi,
    /// The events core.
    pub core: &'static Core,
    /// What the user asked for.
    pub config: &'static Config,
    /// The events of the queues, and the model.
    pub queue_events: &'static QueueEvents,
    /// The event of the transports below the calls, where the core has room for it.
    pub netops: Option<NetOps>,
    /// The queues as performance variables have them.
    pub variables: Option<&'static QueueCounts>,
    /// Numbers and definitions.
    pub registry: &'static Registry,
}

/// A consumer. It is made at the entry of `MPI_Init*`, where the user wants it, and lives as long as the process.
pub trait Consumer: Sync {
    /// Its hooks, registered when it is made.
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        Vec::new()
    }

    /// It and the model are the two hooks of most calls: they are to go straight to both. Called when all hooks are registered.
    fn straighten(&'static self, _model: &'static Calls) {}

    /// Who is to hear of communicators and messages. Asked after [`begin`](Consumer::begin).
    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        Vec::new()
    }

    /// Who is to hear of windows. Asked after [`begin`](Consumer::begin).
    fn window_observers(&'static self) -> Vec<&'static dyn rma::Observer> {
        Vec::new()
    }

    /// Whether it listens to events of this type, so that their source is to raise them. Asked after [`begin`](Consumer::begin).
    fn hears(&self, _event: EventIndex) -> bool {
        false
    }

    /// Several threads may call MPI at the same time.
    fn set_threads(&self) {}

    /// From now on it may do without locks.
    ///
    /// # Safety
    /// The program's threads do not call MPI at the same time.
    unsafe fn leave_to_one_thread(&self) {}

    /// It counts in this table from now on. At the exit of `MPI_Init*`, where there is a table; before anything is followed.
    fn attach(&'static self, _table: &ProfileTable) {}

    /// The run is known, and [tables are attached](Consumer::attach). Nothing is followed yet. Where the program may call MPI.
    fn begin(&'static self, _run: &'static Run) {}

    /// All is followed from now on; without a run MPI is initialised, and nothing is measured. Where the program may call MPI.
    fn start(&'static self, _run: Option<&'static Run>) {}

    /// A phase was named for the first time.
    fn phase_named(&self, _number: u16, _name: &str) {}

    /// The phase that the process is in ends. In the thread that has asked for another.
    fn phase_ends(&self) {}

    /// The process is in this phase from `now` on, in ticks. One thread at a time.
    fn enter_phase(&self, _phase: u16, _now: u64) {}

    /// Runs this, which sets what it has counted in the table to zero, while it counts nothing there.
    fn while_still(&self, user: &mut dyn FnMut()) {
        user();
    }

    /// What was counted until `now`, in ticks, was set to zero in the table; what it has elsewhere goes, too. One thread at a time.
    fn clear(&self, _now: u64) {}

    /// The run ends in this way; sources still run. MPI may be called in [`Ended::Finalised`] only, which comes also where nothing was
    /// measured.
    fn finish(&self, _ended: Ended) {}

    /// All sources have ended in this way, since `at`; the table has not.
    fn settle(&self, _run: &Run, _ended: Ended, _at: Ticks) {}

    /// This is the child of a fork, of which nothing is measured.
    fn forked(&self) {}

    /// What it counts, as the profile calls it.
    fn counted(&self) -> Option<&'static str> {
        None
    }
}

/// Runs this while none of these counts.
pub(crate) fn while_still(consumers: &[&'static dyn Consumer], user: &mut dyn FnMut()) {
    match consumers {
        [first, rest @ ..] => first.while_still(&mut || while_still(rest, user)),
        [] => user(),
    }
}

/// For who does something now and then where the program may call MPI: entries of all calls while that is so. In `MPI_Finalize` and
/// `MPI_Abort` the end is told otherwise.
pub(crate) fn wants_entries(function: FunctionId) -> Wants {
    use FunctionId as F;
    match function {
        F::Init | F::Init_thread | F::Session_init | F::Finalize | F::Abort => Wants::Nothing,
        _ => Wants::Enter,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Notes when it is still.
    struct Noting(u32, &'static Mutex<Vec<u32>>);

    impl Consumer for Noting {
        fn while_still(&self, user: &mut dyn FnMut()) {
            self.1.lock().unwrap().push(self.0);
            user();
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn the_table_is_set_to_zero_once_while_all_are_still() {
        let seen: &'static Mutex<Vec<u32>> = Box::leak(Box::default());
        let all = [1, 2].map(|number| Box::leak(Box::new(Noting(number, seen))) as &dyn Consumer);
        while_still(&all, &mut || seen.lock().unwrap().push(0));
        assert_eq!(*seen.lock().unwrap(), [1, 2, 0, 2, 1]);
    }
}
