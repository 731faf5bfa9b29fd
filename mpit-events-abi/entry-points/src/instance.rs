//! What a callback may ask of the event that it was called for. Signal-safe.

use std::ffi::c_int;

use mpit_events::Error;

use crate::args::{Buffer, InstanceHandle, Out};
use crate::failure::Failure;
use crate::init::ready;

entry_points! {
    /// Copies one element: exactly as many bytes as its datatype has.
    fn MPI_T_event_read = PMPI_T_event_read(event: InstanceHandle, element_index: c_int, buffer: Buffer) {
        ready()?;
        let index = usize::try_from(element_index).map_err(|_| Error::InvalidIndex);
        let element = event.get()?.element(index?).ok_or(Failure::Core(Error::InvalidIndex))?;
        buffer.fill(element)
    }

    /// Copies the whole event: exactly as many bytes as its last element ends at.
    fn MPI_T_event_copy = PMPI_T_event_copy(event: InstanceHandle, buffer: Buffer) {
        ready()?;
        buffer.fill(event.get()?.payload())
    }

    /// When the event was observed, in ticks of its source.
    fn MPI_T_event_get_timestamp = PMPI_T_event_get_timestamp(
        event: InstanceHandle,
        event_timestamp: Out<i64>,
    ) {
        ready()?;
        let timestamp = event.get()?.timestamp();
        event_timestamp.required()?.set(i64::try_from(timestamp).unwrap_or(i64::MAX));
        Ok(())
    }

    /// The index of the source that the event comes from.
    fn MPI_T_event_get_source = PMPI_T_event_get_source(event: InstanceHandle, source_index: Out<c_int>) {
        ready()?;
        let source = event.get()?.source();
        source_index.required()?.set(source.get() as c_int);
        Ok(())
    }
}
