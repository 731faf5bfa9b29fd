//! `libmpit_events.so`: the MPI_T events interface for any MPI, linked or preloaded before it.
//!
//! The library is put together from rooms that each do one thing: the C functions
//! (`mpit-events-entry-points`), the events core, the wrappers of MPI's functions and the ob1 model as
//! the source of events. Here is only the life of the twin ([`session`]), from `MPI_Init*` to
//! `MPI_Finalize`. It must not know who listens, and it tells nobody anything on its own.

#[cfg(not(target_os = "linux"))]
compile_error!("libmpit_events.so interposes MPI as ELF does: it needs Linux");

mod session;

// The C functions are exported because the crate is linked; nothing here calls them.
use mpit_events_entry_points as _;

/// The only thing that happens when the library is loaded: the interception learns what to call at
/// the first `MPI_Init*` or `MPI_T_init_thread`.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        mpi_intercept::on_startup(session::prepare);
    }
    on_load
};
