//! The C functions of the MPI_T events interface: `MPI_T_event_*` and `MPI_T_source_*` as MPI-4.1 and
//! 5.0 have them, each with its `PMPI_T_*` name, over the events core; and those of performance
//! and control variables.
//!
//! A library that contains this crate exports them. Every function validates its arguments, calls the
//! core and maps the error to the number that the MPI of this process has for it; there is no logic
//! here. The rules that they follow are numbered in `docs/conformance.md`.
//!
//! | file | functions |
//! |---|---|
//! | `init` | `MPI_T_init_thread`, `MPI_T_finalize` |
//! | `query` | `event_get_num`, `event_get_info`, `event_get_index` |
//! | `enumeration` | `enum_get_info`, `enum_get_item` |
//! | `handle` | `event_handle_*`, `event_set_dropped_handler` |
//! | `callback` | `event_register_callback`, `event_callback_*` |
//! | `instance` | `event_read`, `event_copy`, `event_get_timestamp`, `event_get_source` |
//! | `source` | `source_*` |
//! | `category` | `category_*` |
//! | `variables` | `pvar_*` |
//! | `controls` | `cvar_*` |
//! | `hints`, `object` | none: the hints that tools give, and the object that a registration is for |
//! | `compose` | none: whose an event, a source and a handle is, where the MPI has some of its own |
//! | `proposal` | all `MPIX_T_*`: the interface as it was first proposed |
//!
//! What this crate must not know: who raises events. Functions that MPI has too (initialisation,
//! enumerations, categories) are passed on to it, as is everything about events of its own.

#[macro_use]
mod entry;
mod args;
mod callback;
mod category;
mod compose;
mod controls;
mod enumeration;
mod failure;
mod forward;
mod handle;
mod hints;
mod init;
mod instance;
mod object;
mod proposal;
mod query;
mod source;
mod variables;

pub use init::is_initialized;
pub use variables::reading;
