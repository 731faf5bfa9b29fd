//! Communication matrices: rows of the profile table, one for each kind of communication with each peer, on each communicator.

mod carried;
mod connections;
pub mod inside;
mod interfaces;

use std::sync::{Mutex, OnceLock, PoisonError};

use mel_log::Definition;
use mel_log::profile::TrafficKind;
use mel_log::table::{ProfileTable, TrafficKey};
use mpi_abi::Abi;
use mpi_intercept::FunctionId;
use mpit_sources::traffic::{Kind, Store, To, Traffic};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::CallProfiler;
use crate::phases;

pub use carried::Carried;
pub use connections::Connections;

/// Counts who sends what to whom.
pub type Matrix = Traffic<Rows>;

/// Makes a matrix, which counts nothing until [`Rows::begin`].
pub fn new(abi: &'static Abi, calls: &'static CallProfiler) -> &'static Matrix {
    Traffic::new(abi, Rows::new(Some(calls)))
}

/// The rows of this process.
#[derive(Default)]
pub struct Rows {
    table: OnceLock<ProfileTable>,
    known: Mutex<FxHashMap<TrafficKey, Option<u32>>>,
    /// The functions that the table has the names of, where nobody else defines them.
    named: Mutex<FxHashSet<u16>>,
    /// Knows the numbers of communicators and windows, where anything is counted that has one.
    calls: Option<&'static CallProfiler>,
}

impl Rows {
    /// Rows of what has communicators and functions that this profiler, if there is one, has numbers for.
    pub(crate) fn new(calls: Option<&'static CallProfiler>) -> Rows {
        Rows { calls, ..Rows::default() }
    }

    /// The table has the name of this function. Takes a short lock.
    fn define_function(&self, function: FunctionId) {
        match (self.calls, self.table.get()) {
            (Some(calls), _) => calls.define_function(function),
            (None, Some(table)) => {
                let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
                if named.insert(function as u16) {
                    let name = function.name().into();
                    phases::define_alone(table, &Definition::Function { number: function as u16, name });
                }
            }
            (None, None) => {}
        }
    }

    /// Counts in this table from now on.
    pub fn begin(&self, table: ProfileTable) {
        let _ = self.table.set(table);
    }

    /// The row of a key, made if there is none.
    pub(crate) fn of(&self, key: TrafficKey) -> Option<u32> {
        let table = self.table.get()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing else adds rows: one thread at a time does.
        *known.entry(key).or_insert_with(|| table.add_traffic(key))
    }
}

impl Store for Rows {
    type Row = u32;

    #[cold]
    fn row(&self, to: To, thread: u16) -> Option<u32> {
        let phase = phases::current();
        if phase == phases::STOPPED {
            return None;
        }
        let kind = match to.kind {
            Kind::Message => TrafficKind::P2p,
            Kind::Put => TrafficKind::Put,
            Kind::Get => TrafficKind::Get,
            Kind::Collective => TrafficKind::Collective,
            Kind::FileRead => TrafficKind::FileRead,
            Kind::FileWrite => TrafficKind::FileWrite,
        };
        let calls = self.calls?;
        let communicator = if to.object == 0 { 0 } else { calls.number_of(to.object) };
        // A peer of what has no number would be taken for a rank in MPI_COMM_WORLD.
        if communicator == 0 && to.object != 0 {
            return None;
        }
        let function = to.function.map_or(0, |function| {
            calls.define_function(function);
            function as u16
        });
        self.of(TrafficKey { kind, communicator, peer: to.peer, root: to.root, function, phase, thread })
    }

    #[inline(always)]
    fn count(&self, row: u32, bytes: u64) {
        if let Some(table) = self.table.get() {
            table.traffic(row).count(bytes);
        }
    }

    #[inline(always)]
    fn epoch(&self) -> u32 {
        u32::from(phases::current()) << 1 | u32::from(self.table.get().is_some())
    }
}
