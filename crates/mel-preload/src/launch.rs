//! How the program was started, where that explains why nothing or little is measured.

use std::sync::atomic::{AtomicBool, Ordering};

use mel_log::launcher::{Place, is_first_rank};
use mel_log::settings::STARTED;
use mpi_abi::{Abi, Family, next, pmpi};

use super::config::Config;
use super::warn;

/// Whether the launcher has started several processes, of which this one is alone in its `MPI_COMM_WORLD`: how many.
pub fn alone_among(world_size: i32) -> Option<u64> {
    let started = Place::here()?.size.filter(|size| *size > 1)?;
    // A process that another one has started has its variables, too.
    (world_size == 1 && !pmpi::has_parent()).then_some(started)
}

/// A line about a launcher of another MPI, with the remedy.
pub fn warn_of_launcher(abi: &Abi, started: u64) {
    let name = abi.library.split(',').next().unwrap_or_default();
    let name = name.split_whitespace().filter(|word| *word != "Version:").collect::<Vec<_>>().join(" ");
    let (launcher, plugin) = match abi.family {
        Family::OpenMpi => ("mpirun of Open MPI", "pmix"),
        Family::Mpich | Family::Standard => ("mpiexec of the MPICH", "pmi2"),
    };
    warn(&format!(
        "the launcher has started {started} processes, and each is alone in its MPI_COMM_WORLD: it is not the launcher of {name}; \
         use the {launcher} that the program is linked to, under Slurm srun --mpi={plugin}"
    ));
}

/// At the end of the process that `mel run` has become: a line where MPI was never initialised.
///
/// From the list of functions that the dynamic linker calls at the end, so that nothing need be registered before `main`.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = {
    extern "C" fn at_end() {
        let _ = std::panic::catch_unwind(warn_of_no_mpi);
    }
    at_end
};

fn warn_of_no_mpi() {
    static ONCE: AtomicBool = AtomicBool::new(false);
    let is_started = std::env::var(STARTED.name).is_ok_and(|id| id == std::process::id().to_string());
    if !is_started || mpi_intercept::has_started() || ONCE.swap(true, Ordering::Relaxed) {
        return;
    }
    let has_mpi = !next::libraries().is_empty();
    // A shell, or the like: its children may be the program.
    if (!has_mpi && has_children()) || !is_first_rank() || !Config::from_environment().measures() {
        return;
    }
    let program = std::env::args_os().next().unwrap_or_default();
    let (why, remedy) = if has_mpi {
        ("ended without a call of MPI_Init", "check its arguments and what it printed")
    } else {
        ("has no MPI library, and called no MPI_Init", "give mel run the MPI program itself")
    };
    warn(&format!("{} {why}, so nothing was measured; {remedy}", program.display()));
}

/// Whether this process has waited for a child.
fn has_children() -> bool {
    // SAFETY: of this type all zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a value of this function.
    let result = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    result != 0 || usage.ru_maxrss > 0
}
