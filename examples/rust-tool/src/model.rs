//! The source of the events: the ob1 model, which follows the application's MPI calls.
//!
//! The wrappers of the MPI functions are in this program, because `mpi-intercept` is linked into it;
//! the next function of each name is MPI's.

use std::ffi::c_int;
use std::sync::OnceLock;

use mpi_abi::Abi;
use mpit_sources::calls::{Ob1Model, Path};

static MODEL: OnceLock<Ob1Model> = OnceLock::new();

unsafe extern "C" {
    fn PMPI_Initialized(flag: *mut c_int) -> c_int;
}

/// The linker leaves a library out that nothing is taken from, and the functions that rsmpi calls are
/// found in this program: this one is MPI's alone.
#[used]
static MPI_IS_NEEDED: unsafe extern "C" fn(*mut c_int) -> c_int = PMPI_Initialized;

/// Adds the event types and begins to see MPI calls; before MPI is initialised. `None` where the MPI
/// is not known or the core is full of event types: the application then runs without events.
pub fn prepare() -> Option<Ob1Model> {
    fn startup(abi: &'static Abi) {
        let Ok(model) = Ob1Model::new(abi, mpit_events::core(), "") else { return };
        if mpi_intercept::register(model.hook()).is_ok() {
            let _ = MODEL.set(model);
        }
    }
    mpi_intercept::on_startup(startup);
    mpi_intercept::start();
    MODEL.get().copied()
}

/// Begins to follow, all processes together, as the first thing after MPI was initialised. The model
/// is to [`finish`](Ob1Model::finish) before MPI is finalised.
pub fn start(model: Ob1Model) -> Option<Ob1Model> {
    model.set_observers(Vec::new());
    match model.start(Path::Best, false) {
        Ok(None) => Some(model),
        Ok(Some(line)) => {
            eprintln!("self-tuning: {line}");
            Some(model)
        }
        Err(error) => {
            eprintln!("self-tuning: {error}: no events are raised");
            mpi_intercept::stop();
            None
        }
    }
}
