//! Which row of the profile table a call counts in.
//!
//! Cost: one line of a cache in each thread; where that has another context, a lock and a look into a hash table. 256 contexts of a
//! thread are at hand.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mel_log::table::{ContextKey, ProfileTable};
use mpi_intercept::FunctionId;
use rustc_hash::FxHashMap;

use crate::registry::Registry;

/// All contexts of this process.
#[derive(Debug)]
pub(super) struct Contexts {
    pub(super) table: ProfileTable,
    registry: &'static Registry,
    known: Mutex<FxHashMap<ContextKey, u32>>,
    /// Counts up when handles of datatypes may mean something else than before.
    datatypes: AtomicU32,
}

impl Contexts {
    pub(super) fn new(table: ProfileTable, registry: &'static Registry) -> Contexts {
        Contexts { table, registry, known: Mutex::default(), datatypes: AtomicU32::new(0) }
    }

    fn known(&self) -> MutexGuard<'_, FxHashMap<ContextKey, u32>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a context, made if there is none. Also defines the function and the module.
    #[cold]
    #[inline(never)]
    pub(super) fn find(&self, key: ContextKey) -> u32 {
        let mut known = self.known();
        if let Some(&context) = known.get(&key) {
            return context;
        }
        let context = self.table.add_context(key);
        known.insert(key, context);
        if usize::from(key.function) < FunctionId::COUNT {
            self.registry.define_function(key.function);
        }
        if key.site != 0 {
            self.registry.define_module(key.site);
        }
        context
    }

    /// So many variables are attributed from now on, whether there is space for that.
    pub(super) fn begin_attribution(&self, variables: usize) -> bool {
        let _one_at_a_time = self.known();
        self.table.begin_attribution(variables)
    }

    /// Runs this while no context is found or made.
    pub(super) fn while_none_is_made(&self, user: impl FnOnce()) {
        let _none = self.known();
        user();
    }

    /// A datatype was freed: its handle may become another's.
    pub(super) fn forget_datatypes(&self) {
        self.datatypes.fetch_add(1, Ordering::Release);
        self.registry.forget_handles();
    }

    #[inline(always)]
    pub(super) fn epoch(&self) -> u32 {
        self.registry.epoch()
    }

    pub(super) fn epoch_of_datatypes(&self) -> u32 {
        self.datatypes.load(Ordering::Acquire)
    }
}

/// What a call is looked up by: three words, which are compared at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) site: usize,
    /// The communicator's handle; 0 where the call has none.
    pub(super) comm: usize,
    /// The function, the region that the thread is in (0 for none), and the [epoch](Registry::epoch) in which the handle means what it does.
    rest: u64,
}

impl Place {
    #[inline(always)]
    pub(super) fn new(site: usize, comm: usize, function: u16, (region, epoch): (u16, u32)) -> Place {
        Place { site, comm, rest: u64::from(epoch) << 32 | u64::from(region) << 16 | u64::from(function) }
    }

    pub(super) fn function(&self) -> u16 {
        self.rest as u16
    }

    pub(super) fn region(&self) -> u16 {
        (self.rest >> 16) as u16
    }

    #[inline(always)]
    fn is(&self, other: &Place) -> bool {
        (self.site ^ other.site) as u64 | (self.comm ^ other.comm) as u64 | (self.rest ^ other.rest) == 0
    }
}

const ENTRIES: usize = 256;

/// The contexts that a thread has used last.
#[derive(Debug)]
pub(super) struct Cache([(Place, u32); ENTRIES]);

impl Default for Cache {
    fn default() -> Self {
        // A place that no call has.
        let nowhere = Place::new(usize::MAX, 0, u16::MAX, (0, 0));
        Cache([(nowhere, 0); ENTRIES])
    }
}

impl Cache {
    /// The context of a call, which `find` finds where it is not at hand.
    #[inline(always)]
    pub(super) fn get(&mut self, place: Place, find: impl FnOnce() -> u32) -> u32 {
        let mixed = place.site
            ^ (place.site >> 7)
            ^ (place.comm >> 4).wrapping_mul(31)
            ^ (place.rest ^ (place.rest >> 11)) as usize;
        let entry = &mut self.0[mixed % ENTRIES];
        if !entry.0.is(&place) {
            *entry = (place, find());
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::Definition;
    use mel_log::table::Identity;

    #[test]
    fn a_context_is_one_number_however_it_is_found() {
        let (table, registry) = (ProfileTable::in_memory(&Identity::default()).unwrap(), Registry::new(None));
        crate::consumer::Consumer::attach(registry, &table);
        let contexts = Contexts::new(table, registry);
        let key = |site| ContextKey {
            site,
            communicator: 1,
            function: FunctionId::Send as u16,
            ..Default::default()
        };
        let (first, second) = (contexts.find(key(16)), contexts.find(key(32)));
        assert!(first != second && first != 0);
        assert_eq!(contexts.find(key(16)), first);
        let mut cache = Cache::default();
        let place = |site| Place::new(site, 5, 3, (0, 0));
        let mut asked = 0;
        for site in [1, 2, 1, 2, 1 << 40, 1] {
            let found = cache.get(place(site), || {
                asked += 1;
                site as u32
            });
            assert_eq!(found, site as u32);
        }
        assert!((3..=6).contains(&asked));
        for other in [Place::new(1, 5, 3, (0, 1)), Place::new(1, 5, 3, (1, 0)), Place::new(1, 5, 4, (0, 0))] {
            assert_eq!(cache.get(other, || 77), 77, "{other:?} is another place");
        }
        let place = Place::new(1, 2, 599, (7, u32::MAX));
        assert_eq!((place.function(), place.region()), (599, 7));
        let rows = contexts.table.rows();
        let functions = rows.definitions.iter().filter(|d| matches!(d, Definition::Function { .. })).count();
        assert_eq!(functions, 1, "a function is defined once");
    }
}
