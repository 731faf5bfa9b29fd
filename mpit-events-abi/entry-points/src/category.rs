//! Events in categories. The categories are MPI's own, and none of them has our events yet.

use std::ffi::c_int;

use mpit_events::Error;

use crate::args::Out;
use crate::failure::Failure;
use crate::forward::forward;
use crate::init::ready;

entry_points! {
    /// The number of events in a category: none.
    fn MPI_T_category_get_num_events = PMPI_T_category_get_num_events(
        cat_index: c_int,
        num_events: Out<c_int>,
    ) {
        ready()?;
        known(cat_index)?;
        num_events.required()?.set(0);
        Ok(())
    }

    /// The events in a category: none, so nothing is written.
    fn MPI_T_category_get_events = PMPI_T_category_get_events(
        cat_index: c_int,
        _len: c_int,
        _indices: *mut c_int,
    ) {
        ready()?;
        known(cat_index)
    }
}

/// Whether MPI has a category of this index.
fn known(cat_index: c_int) -> Result<(), Failure> {
    let mut number: c_int = 0;
    let code = forward!(c"MPI_T_category_get_num", true, (&raw mut number => *mut c_int));
    let exists = code == Some(0) && (0..number).contains(&cat_index);
    if exists { Ok(()) } else { Err(Error::InvalidIndex.into()) }
}
