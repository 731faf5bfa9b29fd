//! What a callback may ask of the event that it was called for. Signal-safe where the MPI's own functions
//! are, for its events; always for ours.

use std::ffi::c_int;

use mpi_abi::ToolEvents;
use mpit_events::Error;

use crate::args::{Buffer, InstanceHandle, Out};
use crate::compose::{self, Whose, answer};
use crate::failure::Failure;
use crate::init::ready;

entry_points! {
    /// Copies one element: exactly as many bytes as its datatype has.
    fn MPI_T_event_read = PMPI_T_event_read[profiling](
        event: InstanceHandle,
        element_index: c_int,
        buffer: Buffer,
    ) {
        ready()?;
        let index = usize::try_from(element_index).map_err(|_| Error::InvalidIndex);
        match event.whose(profiling)? {
            Whose::Ours(event) => buffer.fill(event.element(index?).ok_or(Error::InvalidIndex)?),
            Whose::Mpi(mpi, event) => {
                let (_, buffer) = (index?, buffer.required()?);
                readable(mpi, event)?;
                // SAFETY: an instance of the MPI's; the caller has promised room for the element.
                answer(unsafe { (mpi.event_read)(event, element_index, buffer) })
            }
        }
    }

    /// Copies the whole event: exactly as many bytes as its last element ends at.
    fn MPI_T_event_copy = PMPI_T_event_copy[profiling](event: InstanceHandle, buffer: Buffer) {
        ready()?;
        match event.whose(profiling)? {
            Whose::Ours(event) => buffer.fill(event.payload()),
            Whose::Mpi(mpi, event) => {
                let buffer = buffer.required()?;
                readable(mpi, event)?;
                // SAFETY: an instance of the MPI's; the caller has promised room for the event.
                answer(unsafe { (mpi.event_copy)(event, buffer) })
            }
        }
    }

    /// When the event was observed, in ticks of its source.
    fn MPI_T_event_get_timestamp = PMPI_T_event_get_timestamp[profiling](
        event: InstanceHandle,
        event_timestamp: Out<i64>,
    ) {
        ready()?;
        match event.whose(profiling)? {
            Whose::Ours(event) => {
                let ticks = i64::try_from(event.timestamp()).unwrap_or(i64::MAX);
                event_timestamp.required()?.set(ticks);
                Ok(())
            }
            Whose::Mpi(mpi, event) => {
                let ticks = event_timestamp.required()?.as_ptr();
                // SAFETY: an instance of the MPI's; the output is one of the caller's.
                answer(unsafe { (mpi.event_get_timestamp)(event, ticks) })
            }
        }
    }

    /// The index of the source that the event comes from.
    fn MPI_T_event_get_source = PMPI_T_event_get_source[profiling](
        event: InstanceHandle,
        source_index: Out<c_int>,
    ) {
        ready()?;
        let number = match event.whose(profiling)? {
            Whose::Ours(event) => compose::number_of_source(event.source()),
            Whose::Mpi(mpi, event) => {
                let mut index = 0;
                // SAFETY: an instance of the MPI's, and a valid output.
                answer(unsafe { (mpi.event_get_source)(event, &raw mut index) })?;
                compose::number_of_mpi_source(index)
            }
        };
        source_index.required()?.set(number);
        Ok(())
    }
}

/// Some events of some MPIs cannot be read.
fn readable(mpi: &ToolEvents, event: usize) -> Result<(), Failure> {
    // SAFETY: an instance of the MPI's, whose callback is running: tools may use no other.
    if unsafe { mpi.has_data(event) } { Ok(()) } else { Err(Error::NotSupported.into()) }
}
