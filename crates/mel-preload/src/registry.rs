//! What rows of the profile table name: numbers of communicators and windows, and the definitions of these, of functions, modules and all
//! else. One for all who count.
//!
//! - `communicators`: what is known of each communicator.

mod communicators;

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use mel_log::Definition;
use mel_log::table::ProfileTable;
use mpi_abi::{Abi, Handle as _, questions};
use mpi_functions::Object;
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_sources::calls::{Communicator, Ob1Model, Observer};

use crate::consumer::{Consumer, Parts};
use crate::described;
use crate::trace::modules::{self, ByAddress, Loaded};
use communicators::{Communicators, First};

pub(crate) use communicators::Known;

/// Numbers and definitions of this process. Lives as long as the process.
pub struct Registry {
    /// Who knows of communicators; none where nothing is counted on these.
    followed: Option<(&'static Abi, Ob1Model)>,
    table: OnceLock<ProfileTable>,
    communicators: Communicators,
    defined: Mutex<Defined>,
    /// Counts up when handles may mean something else than before.
    epoch: AtomicU32,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Defined {
    functions: Vec<bool>,
    /// Modules that are defined, and code that is in none.
    modules: ByAddress<()>,
}

impl Registry {
    /// Nothing has a number until [`attach`](Consumer::attach); communicators and windows have none where they are not `followed`.
    pub fn new(followed: Option<(&'static Abi, Ob1Model)>) -> &'static Registry {
        Box::leak(Box::new(Registry {
            followed,
            table: OnceLock::new(),
            communicators: Communicators::default(),
            defined: Mutex::default(),
            epoch: AtomicU32::new(0),
        }))
    }

    /// Whether communicators and windows have numbers.
    pub(crate) fn follows(&self) -> bool {
        self.followed.is_some()
    }

    fn defined(&self) -> MutexGuard<'_, Defined> {
        self.defined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a definition into the table, if there is one. Takes a short lock.
    pub fn define(&self, definition: &Definition) {
        if let Some(table) = self.table.get() {
            let _one_at_a_time = self.defined();
            table.define(definition);
        }
    }

    /// The table has the name of the function of this number from now on. Takes a short lock.
    pub fn define_function(&self, function: u16) {
        let Some(table) = self.table.get() else { return };
        let (mut defined, place) = (self.defined(), usize::from(function));
        let functions = &mut defined.functions;
        functions.resize(functions.len().max(place + 1), false);
        if !std::mem::replace(&mut functions[place], true) {
            let name = FunctionId::from_index(place).map_or("MPI", FunctionId::name).into();
            table.define(&Definition::Function { number: function, name });
        }
    }

    /// The table has the module that this code is in from now on. Takes a short lock.
    pub(crate) fn define_module(&self, site: u64) {
        let Some(table) = self.table.get() else { return };
        let mut defined = self.defined();
        if defined.modules.get(site).is_none() {
            let module = modules::loaded().into_iter().find(|module| module.addresses.contains(&site));
            let addresses = module.as_ref().map_or(site..site + 1, |module| module.addresses.clone());
            if let Some(definition) = module.as_ref().map(Loaded::definition) {
                table.define(&definition);
            }
            defined.modules.insert(addresses, ());
        }
    }

    /// The number of a communicator, of a window, or of a file's communicator in the table, by the value of its handle; 0 where it has none.
    pub fn number_of(&self, handle: usize) -> u32 {
        self.known(handle).map_or(0, |known| known.number)
    }

    /// The number of the communicator at this place of the model; 0 where it has none.
    pub fn number_at(&self, place: u32) -> u32 {
        match self.communicators.number(place) {
            Some(number) => number,
            None => self.used(self.communicators.arrive_at(place)).map_or(0, |known| known.number),
        }
    }

    /// What is known of the communicator or window with this handle, on which the program makes a call.
    pub(crate) fn known(&self, handle: usize) -> Option<Known> {
        self.communicators.get(handle).or_else(|| self.used(self.communicators.call_on(handle)))
    }

    /// Something counts on a communicator for the first time: the table has its definition from now on.
    #[cold]
    #[inline(never)]
    fn used(&self, first: Option<First>) -> Option<Known> {
        let First { known, definition, is_lost, made_in } = first?;
        let table = self.table.get()?;
        let site = table.context(made_in.into()).key().site;
        let _one_at_a_time = self.defined();
        if is_lost {
            table.header().lost_communicators.add(1);
        }
        definition.iter().for_each(|definition| table.define(definition));
        if site != 0 && known.number != 0 {
            table.define(&Definition::CommunicatorMade { index: known.number as u16, site });
        }
        Some(known)
    }

    /// Handles may mean something else from now on, or what is found by them counts elsewhere.
    pub(crate) fn forget_handles(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Counts up with [`forget_handles`](Registry::forget_handles).
    #[inline(always)]
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// A window was made: from now on calls on it have a communicator of their own.
    #[cold]
    fn made_window(&self, call: &Call<'_>) {
        let (comm, window) = match call {
            Call::Win_create(a) => (a.comm, a.win),
            Call::Win_allocate(a) => (a.comm, a.win),
            Call::Win_allocate_shared(a) => (a.comm, a.win),
            Call::Win_create_dynamic(a) => (a.comm, a.win),
            _ => return,
        };
        // SAFETY: MPI has filled the window, because the call succeeded.
        let window = unsafe { window.read() }.word();
        self.known(comm.word());
        let Some(first) = self.communicators.add_window(window, comm.word()) else { return };
        self.forget_handles();
        self.used(Some(first));
    }

    /// A file was opened: what all do with it counts on its communicator from now on.
    #[cold]
    fn opened_file(&self, call: &Call<'_>) {
        if let Call::File_open(a) = call {
            self.known(a.comm.word());
            // SAFETY: MPI has filled the file, because the call succeeded.
            self.communicators.add_file(unsafe { a.fh.read() }.word(), a.comm.word());
            self.forget_handles();
        }
    }

    /// A communicator has another name. One that is not known may be none at all.
    #[cold]
    fn named(&self, call: &Call<'_>) {
        if let Call::Comm_set_name(a) = call
            && self.known(a.comm.word()).is_some()
        {
            let name = questions::comm_get_name(a.comm).unwrap_or_default();
            if let Some(number) =
                self.communicators.rename(a.comm.word(), &name).filter(|number| *number != 0)
            {
                self.define(&Definition::CommunicatorName { index: number as u16, name });
            }
        }
    }
}

impl Hook for Registry {
    fn wants(&self, function: FunctionId) -> Wants {
        let names = matches!(function, FunctionId::Comm_set_name | FunctionId::File_open)
            || function.about().makes == Some(Object::Window);
        if names && self.follows() { Wants::Leave } else { Wants::Nothing }
    }

    fn leave(&self, _: FunctionId, call: &mut Call<'_>, code: c_int) {
        let success = self.followed.is_some_and(|(abi, _)| code == abi.constants.success);
        if success && self.table.get().is_some() {
            self.named(call);
            self.made_window(call);
            self.opened_file(call);
        }
    }
}

impl Observer for Registry {
    fn communicator_created(&self, communicator: &Communicator) {
        if let Some((_, model)) = self.followed {
            self.communicators.add(communicator, described::groups(model, communicator));
            self.forget_handles();
        }
    }

    fn communicator_freed(&self, communicator: &Communicator) {
        self.communicators.remove(communicator);
        self.forget_handles();
    }
}

/// The consumer that all others count with.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    Some(parts.registry)
}

impl Consumer for Registry {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        if self.follows() { vec![self] } else { Vec::new() }
    }

    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        if self.follows() { vec![self] } else { Vec::new() }
    }

    fn attach(&'static self, table: &ProfileTable) {
        let _ = self.table.set(table.clone());
    }

    fn enter_phase(&self, _: u16, _: u64) {
        // What is found by handles counts in the phase that it was found in.
        self.forget_handles();
    }
}

#[cfg(test)]
mod tests {
    use mel_log::table::Identity;

    use super::*;

    #[test]
    fn a_name_is_defined_once_and_without_communicators_nothing_has_a_number() {
        let registry = Registry::new(None);
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        registry.define_function(FunctionId::Send as u16);
        registry.attach(&table);
        for function in [FunctionId::Recv, FunctionId::Send, FunctionId::Recv] {
            registry.define_function(function as u16);
        }
        let defined = table.rows().definitions;
        let name = |definition: &Definition| match definition {
            Definition::Function { name, .. } => name.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(defined.iter().map(name).collect::<Vec<_>>(), ["MPI_Recv", "MPI_Send"]);
        assert_eq!((registry.number_of(5), registry.number_at(0)), (0, 0));
        assert!(registry.hooks().is_empty() && registry.observers().is_empty());
        assert!(FunctionId::all().all(|function| registry.wants(function) == Wants::Nothing));
    }
}
