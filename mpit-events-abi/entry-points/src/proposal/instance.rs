//! What a callback may ask of the event that it was called for. Signal-safe.

use std::ffi::c_int;

use mpit_events::Error;

use super::answered;
use crate::args::{Buffer, InstanceHandle, Out};
use crate::failure::Failure;
use crate::init::ready;
use crate::instance;

proposed! {
    /// Copies one element to a buffer of `size` bytes: as many bytes as its datatype has, or, where
    /// they do not fit, none.
    fn MPIX_T_event_read(event: InstanceHandle, element_index: c_int, buffer: Buffer, size: c_int) {
        ready()?;
        let event = event.get()?;
        let index = usize::try_from(element_index).map_err(|_| Error::InvalidIndex)?;
        let element = event.element(index).ok_or(Error::InvalidIndex)?;
        fill(buffer, size, element)
    }

    /// Copies the whole event to a buffer of `size` bytes: as many bytes as its extent, or, where they
    /// do not fit, none.
    fn MPIX_T_event_copy(event: InstanceHandle, buffer: Buffer, size: c_int) {
        ready()?;
        fill(buffer, size, event.get()?.payload())
    }

    /// When the event was observed, in ticks of its source.
    fn MPIX_T_event_get_timestamp(event: InstanceHandle, event_timestamp: Out<i64>) {
        answered(instance::body::MPI_T_event_get_timestamp(event, event_timestamp))
    }

    /// The index of the source that the event comes from.
    fn MPIX_T_event_get_source(event: InstanceHandle, source_index: Out<c_int>) {
        answered(instance::body::MPI_T_event_get_source(event, source_index))
    }
}

fn fill(buffer: Buffer, size: c_int, bytes: &[u8]) -> Result<(), Failure> {
    let fits = usize::try_from(size).is_ok_and(|size| size >= bytes.len());
    if fits { buffer.fill(bytes) } else { Err(Failure::Argument) }
}
