//! Communication matrices: rows of the profile table, one for each kind of communication with each peer, on each communicator.

mod carried;
mod connections;
pub mod inside;
mod interfaces;
pub(crate) mod net;

use std::sync::{Mutex, OnceLock, PoisonError};

use mel_log::profile::TrafficKind;
use mel_log::settings::counted;
use mel_log::table::{ProfileTable, TrafficKey};
use mpi_intercept::Hook;
use mpit_sources::traffic::{Kind, Store, To, Traffic};
use rustc_hash::FxHashMap;

use crate::consumer::{Consumer, Parts};
use crate::registry::Registry;
use crate::{phases, regions};

pub use carried::Carried;
use connections::Connections;

/// Counts who sends what to whom.
pub type Matrix = Traffic<Rows>;

/// Who counts traffic, the same whoever asks; nothing until [`Rows::begin`].
fn matrix(parts: &Parts) -> Option<&'static Matrix> {
    static ONE: OnceLock<&'static Matrix> = OnceLock::new();
    let make = || Traffic::new(parts.abi, Rows::new(parts.registry));
    parts.config.matrix.then(|| *ONE.get_or_init(make))
}

/// The rows of the matrix, or others where there is none.
fn rows(parts: &Parts) -> &'static Rows {
    let own = || &*Box::leak(Box::new(Rows::new(parts.registry)));
    matrix(parts).map_or_else(own, |matrix| matrix.store())
}

/// The consumer that counts who sends what to whom.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    matrix(parts).map(|matrix| matrix as &dyn Consumer)
}

impl Consumer for Matrix {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn attach(&'static self, table: &ProfileTable) {
        self.store().begin(table.clone());
    }

    fn counted(&self) -> Option<&'static str> {
        Some(counted::MATRIX)
    }
}

/// The rows of this process.
pub struct Rows {
    table: OnceLock<ProfileTable>,
    known: Mutex<FxHashMap<TrafficKey, Option<u32>>>,
    registry: &'static Registry,
}

impl Rows {
    /// Rows of what has communicators and functions of this registry.
    pub(crate) fn new(registry: &'static Registry) -> Rows {
        Rows { table: OnceLock::new(), known: Mutex::default(), registry }
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
        let row = *known.entry(key).or_insert_with(|| table.add_traffic(key));
        let outer = TrafficKey { region: 0, ..key };
        // What finds no space counts without its region.
        row.or_else(|| known.get(&outer).copied().flatten())
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
        let communicator = if to.object == 0 { 0 } else { self.registry.number_of(to.object) };
        // A peer of what has no number would be taken for a rank in MPI_COMM_WORLD.
        if communicator == 0 && to.object != 0 {
            return None;
        }
        let function = to.function.map_or(0, |function| {
            self.registry.define_function(function as u16);
            function as u16
        });
        let (region, peer, root) = (regions::current(), to.peer, to.root);
        self.of(TrafficKey { kind, communicator, peer, root, function, phase, region, thread })
    }

    #[inline(always)]
    fn count(&self, row: u32, bytes: u64) {
        if let Some(table) = self.table.get() {
            table.traffic(row).count(bytes);
        }
    }

    #[inline(always)]
    fn epoch(&self) -> u32 {
        // Phases have eight bits.
        let region = u32::from(regions::current());
        u32::from(phases::current()) << 17 | region << 1 | u32::from(self.table.get().is_some())
    }
}
