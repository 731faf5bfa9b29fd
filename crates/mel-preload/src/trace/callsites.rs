//! From where in the program an MPI function is called: the first return address on the stack that is neither ours nor
//! in the MPI library, whose Fortran layer may call its C functions.
//!
//! Where that is asked for. Without it, it is the address that the wrapper of the function returns to, for which no stack is
//! unwound: each has a number in the log.
//!
//! Must not know what an address means: the conversion finds file and line, by the modules that are defined here.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock};

use mel_log::Definition;

use super::modules::{ByAddress, Loaded, loaded};

/// Frames that are looked at for one outside of this library and of MPI.
const MOST_FRAMES: usize = 32;
/// How often the stack is walked for a call, because a module on it was not known.
const MOST_WALKS: usize = 4;

/// Finds call sites.
#[derive(Debug)]
pub(super) struct CallSites {
    /// The addresses of this library.
    own: Range<u64>,
    /// Those of the modules that were met so far, and of code that is in none; whether it is the MPI library.
    met: RwLock<ByAddress<IsMpi>>,
    /// The numbers of addresses, from 1.
    numbers: Mutex<HashMap<u64, u16>>,
}

/// Numbers of call sites that a thread has used last.
#[derive(Debug)]
pub(super) struct Recent([(u64, u16); RECENT]);

/// How many they are: a power of two.
const RECENT: usize = 128;

impl Default for Recent {
    fn default() -> Self {
        Recent([(0, 0); RECENT])
    }
}

impl Recent {
    /// The number of an address, which `find` knows where it was not used lately.
    #[inline(always)]
    pub(super) fn get(&mut self, address: u64, find: impl FnOnce() -> u16) -> u16 {
        let entry = &mut self.0[(address ^ (address >> 7)) as usize % RECENT];
        if entry.0 != address {
            *entry = (address, find());
        }
        entry.1
    }
}

/// Whether a module is the MPI library, and not one that calls it.
type IsMpi = bool;

/// Who is up the stack.
enum Caller {
    At(u64),
    InUnknownModule(u64),
    Nobody,
}

impl CallSites {
    /// None where this library does not find itself among the loaded ones.
    pub(super) fn new() -> Option<CallSites> {
        let here = CallSites::new as fn() -> Option<CallSites> as usize as u64;
        let own = loaded().into_iter().find(|module| module.addresses.contains(&here))?.addresses;
        Some(CallSites { own, met: RwLock::default(), numbers: Mutex::default() })
    }

    /// The number of an address that a call returns to: it is defined first, with its module, where that is new. 0 where
    /// there are more than can be told apart.
    #[cold]
    #[inline(never)]
    pub(super) fn number(&self, address: u64, define: impl Fn(&Definition)) -> u16 {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = numbers.get(&address) {
            return *number;
        }
        let Ok(number) = u16::try_from(numbers.len() + 1) else { return 0 };
        let known = self.met.read().unwrap_or_else(PoisonError::into_inner).get(address).copied();
        if known.is_none() {
            self.meet(address, &define);
        }
        define(&Definition::Site { number, address });
        numbers.insert(address, number);
        number
    }

    /// Where the call under way returns to; none where only this library and MPI are on the stack. A module that was not
    /// met before is defined first.
    pub(super) fn find(&self, define: impl Fn(&Definition)) -> Option<u64> {
        for _ in 0..MOST_WALKS {
            match self.walk() {
                Caller::At(address) => return Some(address),
                Caller::InUnknownModule(address) => self.meet(address, &define),
                Caller::Nobody => return None,
            }
        }
        None
    }

    fn walk(&self) -> Caller {
        let met = self.met.read().unwrap_or_else(PoisonError::into_inner);
        let (mut caller, mut frames) = (Caller::Nobody, 0);
        let visit = |frame: &backtrace::Frame| {
            frames += 1;
            let address = frame.ip() as u64;
            if !self.own.contains(&address) {
                match met.get(address) {
                    Some(true) => {}
                    Some(false) => caller = Caller::At(address),
                    None => caller = Caller::InUnknownModule(address),
                }
            }
            frames < MOST_FRAMES && matches!(caller, Caller::Nobody)
        };
        // SAFETY: what would have to be kept apart from others is the crate's use of debugging libraries, which only
        // Windows has; the unwinder of ELF systems may run in any number of threads. `visit` does not panic.
        unsafe { backtrace::trace_unsynchronized(visit) };
        caller
    }

    /// Remembers the module that an address is in. Code that is in none, as just-in-time compilers make it, is a module
    /// by itself, which is not defined.
    #[cold]
    fn meet(&self, address: u64, define: impl Fn(&Definition)) {
        let module = loaded().into_iter().find(|module| module.addresses.contains(&address));
        let addresses = module.as_ref().map_or(address..address + 1, |module| module.addresses.clone());
        let is_mpi = module.as_ref().is_some_and(Loaded::is_mpi);
        if let Some(module) = module.filter(|_| !is_mpi) {
            define(&module.definition());
        }
        self.met.write().unwrap_or_else(PoisonError::into_inner).insert(addresses, is_mpi);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::path::Path;

    /// Sites of a library that is nowhere: everything is the program.
    fn of_nothing() -> CallSites {
        CallSites { own: 0..0, met: RwLock::default(), numbers: Mutex::default() }
    }

    #[test]
    fn the_caller_is_in_the_module_that_is_defined_once() {
        let (sites, defined) = (of_nothing(), RefCell::new(Vec::new()));
        let define = |definition: &Definition| defined.borrow_mut().push(definition.clone());
        let first = sites.find(define).expect("somebody calls");
        assert!(sites.find(define).is_some());
        let defined = defined.into_inner();
        let [Definition::Module { start, end, path, .. }] = &defined[..] else { panic!("{defined:?}") };
        assert!((*start..*end).contains(&first));
        assert_eq!(Path::new(path), std::env::current_exe().unwrap());
    }

    #[test]
    fn an_address_has_one_number_and_is_defined_once() {
        let (sites, defined) = (of_nothing(), RefCell::new(Vec::new()));
        let define = |definition: &Definition| defined.borrow_mut().push(definition.clone());
        let here = of_nothing as fn() -> CallSites as usize as u64;
        assert_eq!([here, here + 1, here].map(|address| sites.number(address, define)), [1, 2, 1]);
        let defined = defined.into_inner();
        assert!(matches!(&defined[0], Definition::Module { .. }), "{defined:?}");
        let site = |number, address| Definition::Site { number, address };
        assert_eq!(defined[1..], [site(1, here), site(2, here + 1)]);
        let mut recent = Recent::default();
        assert_eq!(recent.get(here, || 1), 1);
        assert_eq!(recent.get(here, || unreachable!("it was used just now")), 1);
    }

    #[test]
    fn ones_own_frames_and_those_of_mpi_are_passed_over() {
        let sites = CallSites::new().expect("the test is loaded");
        let (here, program) = (sites.own.clone(), of_nothing().find(|_| ()).expect("somebody calls"));
        assert!(here.contains(&program));
        // Below the test is only what started its thread.
        let outside = sites.find(|_| ());
        assert!(outside.is_none_or(|address| !here.contains(&address)), "{outside:?}");
        let mpi = of_nothing();
        mpi.met.write().unwrap().insert(here.clone(), true);
        assert_eq!(mpi.find(|_| ()), outside);
        let named = |path: &str| Loaded { addresses: 0..1, bias: 0, path: path.into() }.is_mpi();
        assert!(named("/lib/libmpi.so.40") && named("/lib/libmpi_mpifh.so.40") && named("libmpich.so.12"));
        assert!(!named("/libmpi.so/app") && !named("libmpire.so") && !named(""));
    }

    #[test]
    fn code_without_a_module_is_met_once() {
        let sites = of_nothing();
        for address in [5, 20, 12] {
            sites.meet(address, |definition| panic!("{definition:?}"));
            let met = sites.met.read().unwrap();
            assert!(met.get(address).is_some() && met.get(address + 1).is_none());
        }
    }
}
