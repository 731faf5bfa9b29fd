//! What a callback may ask of the event that it was called for. Signal-safe.

use std::ffi::c_int;

use mpi_abi::LARGEST_ELEMENT;
use mpit_events::Error;

use super::answered;
use crate::args::{Buffer, InstanceHandle, Out};
use crate::compose::{self, Whose};
use crate::failure::Failure;
use crate::init::ready;
use crate::instance;

proposed! {
    /// Copies one element to a buffer of `size` bytes: as many bytes as its datatype has, or, where
    /// they do not fit, none.
    fn MPIX_T_event_read(event: InstanceHandle, element_index: c_int, buffer: Buffer, size: c_int) {
        ready()?;
        let index = usize::try_from(element_index).map_err(|_| Error::InvalidIndex);
        match event.whose(true)? {
            Whose::Ours(event) => fill(buffer, size, event.element(index?).ok_or(Error::InvalidIndex)?),
            Whose::Mpi(..) => {
                index?;
                let read = |room| answered(instance::body::MPI_T_event_read(true, event, element_index, room));
                let (bytes, length) = written(read)?;
                fill(buffer, size, &bytes[..length])
            }
        }
    }

    /// Copies the whole event to a buffer of `size` bytes: as many bytes as its extent, or, where they
    /// do not fit, none.
    fn MPIX_T_event_copy(event: InstanceHandle, buffer: Buffer, size: c_int) {
        ready()?;
        match event.whose(true)? {
            Whose::Ours(event) => fill(buffer, size, event.payload()),
            // Which of its types this is the MPI does not tell: there must be room for the largest.
            Whose::Mpi(..) if !holds(size, compose::largest_event_of_mpi()) => Err(Failure::Argument),
            Whose::Mpi(..) => answered(instance::body::MPI_T_event_copy(true, event, buffer)),
        }
    }

    /// When the event was observed, in ticks of its source.
    fn MPIX_T_event_get_timestamp(event: InstanceHandle, event_timestamp: Out<i64>) {
        answered(instance::body::MPI_T_event_get_timestamp(true, event, event_timestamp))
    }

    /// The index of the source that the event comes from.
    fn MPIX_T_event_get_source(event: InstanceHandle, source_index: Out<c_int>) {
        answered(instance::body::MPI_T_event_get_source(true, event, source_index))
    }
}

fn fill(buffer: Buffer, size: c_int, bytes: &[u8]) -> Result<(), Failure> {
    if holds(size, bytes.len()) { buffer.fill(bytes) } else { Err(Failure::Argument) }
}

/// Whether a buffer of `size` bytes has room for so many.
fn holds(size: c_int, bytes: usize) -> bool {
    usize::try_from(size).is_ok_and(|size| size >= bytes)
}

/// What `read` writes to a buffer, and how many bytes that are: those that are the same whatever was there
/// before.
fn written(read: impl Fn(Buffer) -> Result<(), Failure>) -> Result<([u8; LARGEST_ELEMENT], usize), Failure> {
    let [mut bytes, mut others] = [[0x00; LARGEST_ELEMENT], [0xff; LARGEST_ELEMENT]];
    read(Buffer::from_raw(bytes.as_mut_ptr()))?;
    read(Buffer::from_raw(others.as_mut_ptr()))?;
    let length = bytes.iter().zip(&others).rposition(|(one, other)| one == other).map_or(0, |last| last + 1);
    Ok((bytes, length))
}
