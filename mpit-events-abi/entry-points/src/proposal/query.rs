//! What event types and sources there are.

use std::ffi::{c_int, c_void};

use super::answered;
use crate::args::{InOut, Name, Out, OutArray, Text};
use crate::enumeration::EnumHandle;
use crate::hints::OutInfo;
use crate::init::ready;
use crate::{query, source};

proposed! {
    /// The number of event types; it may grow, it never shrinks.
    fn MPIX_T_event_get_num(num_events: Out<c_int>) {
        answered(query::body::MPI_T_event_get_num(num_events))
    }

    /// The description of an event type. Outputs that are null are not given.
    fn MPIX_T_event_get_info(
        event_index: c_int,
        name: Text,
        name_len: InOut<c_int>,
        verbosity: Out<c_int>,
        array_of_datatypes: *mut c_void,
        array_of_displacements: OutArray<isize>,
        num_elements: InOut<c_int>,
        enumtype: Out<EnumHandle>,
        extent: Out<isize>,
        description: Text,
        description_len: InOut<c_int>,
        bind: Out<c_int>,
    ) {
        let core = ready()?;
        answered(query::body::MPI_T_event_get_info(
            true,
            event_index,
            name,
            name_len,
            verbosity,
            array_of_datatypes,
            array_of_displacements,
            num_elements,
            enumtype,
            OutInfo::UNWANTED,
            description,
            description_len,
            bind,
        ))?;
        extent.set(query::extent(core, event_index)?);
        Ok(())
    }

    /// The index of the event type of this name.
    fn MPIX_T_event_get_index(name: Name, event_index: Out<c_int>) {
        answered(query::body::MPI_T_event_get_index(true, name, event_index))
    }

    /// The number of sources; it may grow, it never shrinks.
    fn MPIX_T_source_get_num(num_sources: Out<c_int>) {
        answered(source::body::MPI_T_source_get_num(num_sources))
    }

    /// The description of a source. Outputs that are null are not given.
    fn MPIX_T_source_get_info(
        source_index: c_int,
        description: Text,
        description_len: InOut<c_int>,
        ordering: Out<c_int>,
        ticks_per_second: Out<i64>,
    ) {
        answered(source::body::MPI_T_source_get_info(
            true,
            source_index,
            Text::UNWANTED,
            InOut::from_raw(std::ptr::null_mut()),
            description,
            description_len,
            ordering,
            ticks_per_second,
            Out::from_raw(std::ptr::null_mut()),
            OutInfo::UNWANTED,
        ))
    }

    /// The time now, as an event of this source would have it.
    fn MPIX_T_source_get_timestamp(source_index: c_int, timestamp: Out<i64>) {
        answered(source::body::MPI_T_source_get_timestamp(true, source_index, timestamp))
    }
}
