//! Which row of the profile table a call counts in.
//!
//! Cost: one line of a cache in each thread; where that has another context, a lock and a look into a hash table. 256 contexts of a
//! thread are at hand.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mel_log::Definition;
use mel_log::table::{ContextKey, ProfileTable};
use mpi_intercept::FunctionId;
use rustc_hash::FxHashMap;

use crate::trace::modules::{self, ByAddress, Loaded};

/// All contexts of this process.
#[derive(Debug)]
pub(super) struct Contexts {
    pub(super) table: ProfileTable,
    known: Mutex<Known>,
    /// Counts up when handles may mean something else than before.
    epoch: AtomicU32,
    /// The same for datatypes.
    datatypes: AtomicU32,
}

#[derive(Debug, Default)]
struct Known {
    contexts: FxHashMap<ContextKey, u32>,
    functions: Vec<bool>,
    /// Modules that are defined, and code that is in none.
    modules: ByAddress<()>,
}

impl Contexts {
    pub(super) fn new(table: ProfileTable) -> Contexts {
        Contexts { table, known: Mutex::default(), epoch: AtomicU32::new(0), datatypes: AtomicU32::new(0) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a context, made if there is none. Also defines the function and the module.
    #[cold]
    #[inline(never)]
    pub(super) fn find(&self, key: ContextKey) -> u32 {
        let mut known = self.known();
        if let Some(&context) = known.contexts.get(&key) {
            return context;
        }
        let context = self.table.add_context(key);
        known.contexts.insert(key, context);
        if usize::from(key.function) < FunctionId::COUNT {
            self.define_in(&mut known, key.function);
        }
        if key.site != 0 && known.modules.get(key.site).is_none() {
            let module = modules::loaded().into_iter().find(|module| module.addresses.contains(&key.site));
            let addresses = module.as_ref().map_or(key.site..key.site + 1, |module| module.addresses.clone());
            if let Some(definition) = module.as_ref().map(Loaded::definition) {
                self.table.define(&definition);
            }
            known.modules.insert(addresses, ());
        }
        context
    }

    fn define_in(&self, known: &mut Known, function: u16) {
        let place = usize::from(function);
        if known.functions.len() <= place {
            known.functions.resize(place + 1, false);
        }
        if !std::mem::replace(&mut known.functions[place], true) {
            let name = FunctionId::from_index(place).map_or("MPI", FunctionId::name).into();
            self.table.define(&Definition::Function { number: function, name });
        }
    }

    /// Defines a function, once.
    pub(super) fn define_function(&self, function: u16) {
        self.define_in(&mut self.known(), function);
    }

    /// Defines something else.
    pub(super) fn define(&self, definition: &Definition) {
        let _one_at_a_time = self.known();
        self.table.define(definition);
    }

    /// A communicator or a window has no number.
    pub(super) fn lose_communicator(&self) {
        let _one_at_a_time = self.known();
        self.table.header().lost_communicators.add(1);
    }

    /// So many variables are attributed from now on, whether there is space for that.
    pub(super) fn begin_attribution(&self, variables: usize) -> bool {
        let _one_at_a_time = self.known();
        self.table.begin_attribution(variables)
    }

    /// Forgets what was counted until `now`, in ticks.
    pub(super) fn clear(&self, now: u64) {
        let _one_at_a_time = self.known();
        self.table.clear(now);
    }

    /// Handles may mean something else from now on.
    pub(super) fn forget_handles(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// A datatype was freed: its handle may become another's.
    pub(super) fn forget_datatypes(&self) {
        self.datatypes.fetch_add(1, Ordering::Release);
        self.forget_handles();
    }

    #[inline(always)]
    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn epoch_of_datatypes(&self) -> u32 {
        self.datatypes.load(Ordering::Acquire)
    }
}

/// What a call is looked up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) site: usize,
    /// The communicator's handle; 0 where the call has none.
    pub(super) comm: usize,
    pub(super) function: u16,
    /// The region that the thread is in; 0 for none.
    pub(super) region: u16,
    /// The [epoch](Contexts::epoch) in which its handle means what it does.
    pub(super) epoch: u32,
}

const ENTRIES: usize = 256;

/// The contexts that a thread has used last.
#[derive(Debug)]
pub(super) struct Cache([(Place, u32); ENTRIES]);

impl Default for Cache {
    fn default() -> Self {
        // A place that no call has.
        let nowhere = Place { site: usize::MAX, comm: 0, function: u16::MAX, region: 0, epoch: 0 };
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
            ^ usize::from(place.function ^ place.region.rotate_left(5));
        let entry = &mut self.0[mixed % ENTRIES];
        if entry.0 != place {
            *entry = (place, find());
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::table::Identity;

    #[test]
    fn a_context_is_one_number_however_it_is_found() {
        let contexts = Contexts::new(ProfileTable::in_memory(&Identity::default()).unwrap());
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
        let place = |site| Place { site, comm: 5, function: 3, region: 0, epoch: 0 };
        let mut asked = 0;
        for site in [1, 2, 1, 2, 1 << 40, 1] {
            let found = cache.get(place(site), || {
                asked += 1;
                site as u32
            });
            assert_eq!(found, site as u32);
        }
        assert!((3..=6).contains(&asked));
        let rows = contexts.table.rows();
        let functions = rows.definitions.iter().filter(|d| matches!(d, Definition::Function { .. })).count();
        assert_eq!(functions, 1, "a function is defined once");
    }
}
