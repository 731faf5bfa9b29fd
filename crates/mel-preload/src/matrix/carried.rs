//! What the MPI library moves below the calls, by peer, direction and MPI function: rows of the kinds `carried` and
//! `carried-in`. Observed. The function is the one that the thread is in: a library makes progress for all that is under way in whatever
//! function is called, and that one counts.

use std::cell::Cell;
use std::sync::atomic::{AtomicU16, Ordering};

use mel_log::profile::TrafficKind;
use mel_log::table::TrafficKey;
use mpi_intercept::FunctionId;
use mpit_events::{Core, Error, EventIndex, Instance, Safety};
use mpit_sources::netops::{NetOp, Operation};

use super::Rows;
use crate::phases;

/// Counts the bytes of each operation of a transport under its peer. An operation takes a search in the rows that its thread has
/// used last, and otherwise a short lock: it has just made a system call.
pub struct Carried {
    rows: &'static Rows,
    /// How many threads have counted something.
    threads: AtomicU16,
}

/// How many kinds there are of what the library has moved: from [`TrafficKind::Internal`] on.
const KINDS: usize = TrafficKind::ALL.len() - TrafficKind::Internal as usize;

/// How many rows a thread finds again without a lock; a power of two.
const RECENT: usize = 16;

/// A row that a thread has used.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Recent {
    peer: i32,
    phase: u16,
    /// The MPI function and 1; 0 for none.
    function: u16,
    /// Its place among the [`KINDS`].
    kind: u16,
    /// The row and 1; 0 for none.
    row: u32,
}

/// A place that has none.
const NONE: Recent = Recent { peer: 0, phase: 0, function: 0, kind: 0, row: 0 };

thread_local! {
    // Constant and without destructor: usable at any time in the life of a thread.
    static NUMBER: Cell<Option<u16>> = const { Cell::new(None) };
    static RECENTLY: [Cell<Recent>; RECENT] = const { [const { Cell::new(NONE) }; RECENT] };
}

impl Recent {
    fn place(&self) -> usize {
        let Recent { peer, function, kind, .. } = *self;
        (peer as usize)
            .wrapping_mul(3)
            .wrapping_add(usize::from(function).wrapping_mul(5))
            .wrapping_add(usize::from(kind))
            % RECENT
    }
}

impl Carried {
    /// Counts in these rows, in which others may count too, and nothing before they [begin](Rows::begin).
    pub fn new(rows: &'static Rows) -> &'static Carried {
        Box::leak(Box::new(Carried { rows, threads: AtomicU16::new(0) }))
    }

    /// The same, listening to the event of the transports.
    ///
    /// # Errors
    /// Those of the events core.
    pub fn listen(core: &Core, event: EventIndex, rows: &'static Rows) -> Result<&'static Carried, Error> {
        let carried = Carried::new(rows);
        let handle = core.alloc(event, None)?;
        core.set_callback(handle, Safety::ThreadSafe, move |instance| carried.take(instance))?;
        Ok(carried)
    }

    /// Where it counts.
    pub(crate) fn rows(&self) -> &'static Rows {
        self.rows
    }

    fn take(&self, instance: &Instance<'_>) {
        let Some(NetOp { operation, target, size, .. }) = instance.payload_as() else { return };
        // What is handed over is moved by the others.
        if let Some(operation) = Operation::of(operation).filter(|operation| !operation.is_handed_over()) {
            let kind = if operation.is_inward() { TrafficKind::CarriedIn } else { TrafficKind::Carried };
            self.count(kind, target, size);
        }
    }

    /// Counts bytes of one of the kinds from [`TrafficKind::Internal`] on. The peer is a rank in `MPI_COMM_WORLD`, or negative.
    pub(super) fn count(&self, kind: TrafficKind, peer: i32, bytes: u64) {
        let Some(table) = self.rows.table.get() else { return };
        let of_kind = (kind as usize).saturating_sub(TrafficKind::Internal as usize) % KINDS;
        let within = mpi_intercept::current_function();
        let wanted = Recent {
            peer,
            phase: phases::current(),
            function: within.map_or(0, |function| function as u16 + 1),
            kind: of_kind as u16,
            row: 0,
        };
        let place = wanted.place();
        let known = RECENTLY.with(|all| all[place].get());
        let row = if known.row != 0 && (Recent { row: 0, ..known }) == wanted {
            known.row - 1
        } else {
            let Some(row) = self.find(kind, &wanted, within) else { return };
            RECENTLY.with(|all| all[place].set(Recent { row: row + 1, ..wanted }));
            row
        };
        table.traffic(row).count(bytes);
    }

    #[cold]
    fn find(&self, kind: TrafficKind, wanted: &Recent, within: Option<FunctionId>) -> Option<u32> {
        within.into_iter().for_each(|function| self.rows.registry.define_function(function as u16));
        // A peer that is not known is none.
        let of_peer = TrafficKey::with_peer(kind, 0, wanted.peer);
        let &Recent { phase, function, .. } = wanted;
        self.rows.of(TrafficKey { phase, function, thread: self.thread(), ..of_peer })
    }

    /// The number of the calling thread. Threads beyond the numbers that there are share the last one.
    fn thread(&self) -> u16 {
        NUMBER.get().unwrap_or_else(|| {
            let next = |number: u16| Some(number.saturating_add(1));
            let number =
                self.threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(u16::MAX);
            NUMBER.set(Some(number));
            number
        })
    }
}

#[cfg(test)]
mod tests {
    use mel_log::table::{Identity, ProfileTable};
    use mpit_events::{Clock, Ordering as Order, Source};
    use mpit_sources::netops;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn bytes_are_counted_by_peer_and_direction() {
        let core: &'static Core = Box::leak(Box::default());
        let event = netops::register(core).unwrap();
        let rows: &'static Rows = Box::leak(Box::new(Rows::new(Registry::new(None))));
        Carried::listen(core, event, rows).unwrap();
        let source = core.add_source(Source::new("s", "", Order::Ordered, Clock::best()));
        let raise = |operation: Operation, target, size| {
            let payload = NetOp { operation: operation as i32, target, size, local: 1, remote: 2 };
            let section = core.raise_section(source, Safety::ThreadSafe);
            section.event(event, &core.no_object(), Clock::best().now(), &payload);
        };
        raise(Operation::Send, 1, 5);
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        rows.begin(table.clone());
        for (operation, target, size) in [
            (Operation::Send, 1, 10),
            (Operation::CmaWrite, 1, 20),
            (Operation::CmaRead, 1, 40),
            (Operation::Receive, 2, 80),
            (Operation::Receive, netops::UNKNOWN, 160),
            (Operation::Send, 1, 320),
        ] {
            raise(operation, target, size);
        }
        assert_eq!(table.header().traffic.get(), 4);
        let counted: Vec<(u64, u64)> =
            (0..4).map(|row| (table.traffic(row).messages.get(), table.traffic(row).bytes.get())).collect();
        assert_eq!(counted, [(3, 350), (1, 40), (1, 80), (1, 160)]);
    }
}
