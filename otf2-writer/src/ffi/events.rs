//! The handle of one location's events.

use std::{
    ptr::{self, NonNull},
    rc::Rc,
};

use otf2_sys::{OTF2_AttributeList, OTF2_EvtWriter, OTF2_MetricValue};

use super::{
    archive::RawArchive,
    errors::{check, handle, strictly},
};
use crate::{
    clock::Ticks,
    error::Error,
    event::{Event, MetricValue},
    refs::{AttributeRef, LocationRef},
    value::{AttributeValue, Type},
};

/// An event writer with a list for the attributes of the next event, open until it is closed or
/// dropped.
pub(crate) struct RawEventWriter {
    archive: Rc<RawArchive>,
    handle: NonNull<OTF2_EvtWriter>,
    attributes: NonNull<OTF2_AttributeList>,
    open: bool,
}

impl RawEventWriter {
    /// Opens the events of `location`, which must have no open event writer.
    pub(crate) fn open(archive: &Rc<RawArchive>, location: LocationRef) -> Result<Self, Error> {
        const OPEN: &str = "opening a location";
        let api = archive.api;
        // SAFETY: a plain allocation.
        let attributes = handle(api, OPEN, || unsafe { api.OTF2_AttributeList_New() })?;
        // SAFETY: the archive is open.
        let writer = handle(api, OPEN, || unsafe {
            api.OTF2_Archive_GetEvtWriter(archive.handle.as_ptr(), location.0)
        });
        match writer {
            Ok(handle) => Ok(Self { archive: Rc::clone(archive), handle, attributes, open: true }),
            Err(error) => {
                // SAFETY: the list was made above and is not used afterwards.
                unsafe { api.OTF2_AttributeList_Delete(attributes.as_ptr()) };
                Err(error)
            }
        }
    }

    /// Writes one event. The order of time, the attributes and the size of a metric are right: the
    /// caller has checked them, so that what fails here is the writing.
    #[inline]
    pub(crate) fn write(
        &mut self,
        Ticks(time): Ticks,
        event: &Event<'_>,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), Error> {
        const WRITE: &str = "writing an event";
        let (api, writer) = (self.archive.api, self.handle.as_ptr());
        // Without a list libotf2 need not check whether it is empty.
        let list = if attributes.is_empty() { ptr::null_mut() } else { self.attributes.as_ptr() };
        for (attribute, value) in attributes {
            // SAFETY: the list is ours, and the value is of the type that is said.
            let code = unsafe {
                api.OTF2_AttributeList_AddAttribute(
                    list,
                    attribute.raw,
                    value.value_type() as u8,
                    value.to_raw(),
                )
            };
            check(api, WRITE, code).inspect_err(|_| self.forget_attributes())?;
        }
        // SAFETY: writer and list are open and ours, or the list is null, which is one without attributes; the arrays of the metric have the length that
        // is given. The list is emptied by the write.
        let code = unsafe {
            match *event {
                Event::Enter { region } => api.OTF2_EvtWriter_Enter(writer, list, time, region.0),
                Event::Leave { region } => api.OTF2_EvtWriter_Leave(writer, list, time, region.0),
                Event::MeasurementOnOff { on } => {
                    let mode =
                        if on { otf2_sys::OTF2_MEASUREMENT_ON } else { otf2_sys::OTF2_MEASUREMENT_OFF };
                    api.OTF2_EvtWriter_MeasurementOnOff(writer, list, time, mode as u8)
                }
                Event::MpiSend { receiver, comm, tag, bytes } => {
                    api.OTF2_EvtWriter_MpiSend(writer, list, time, receiver, comm.0, tag, bytes)
                }
                Event::MpiIsend { receiver, comm, tag, bytes, request } => {
                    api.OTF2_EvtWriter_MpiIsend(writer, list, time, receiver, comm.0, tag, bytes, request)
                }
                Event::MpiIsendComplete { request } => {
                    api.OTF2_EvtWriter_MpiIsendComplete(writer, list, time, request)
                }
                Event::MpiIrecvRequest { request } => {
                    api.OTF2_EvtWriter_MpiIrecvRequest(writer, list, time, request)
                }
                Event::MpiIrecv { sender, comm, tag, bytes, request } => {
                    api.OTF2_EvtWriter_MpiIrecv(writer, list, time, sender, comm.0, tag, bytes, request)
                }
                Event::MpiRecv { sender, comm, tag, bytes } => {
                    api.OTF2_EvtWriter_MpiRecv(writer, list, time, sender, comm.0, tag, bytes)
                }
                Event::MpiRequestTest { request } => {
                    api.OTF2_EvtWriter_MpiRequestTest(writer, list, time, request)
                }
                Event::MpiRequestCancelled { request } => {
                    api.OTF2_EvtWriter_MpiRequestCancelled(writer, list, time, request)
                }
                Event::MpiCollectiveBegin => api.OTF2_EvtWriter_MpiCollectiveBegin(writer, list, time),
                Event::MpiCollectiveEnd { op, comm, root, sent_bytes, received_bytes } => api
                    .OTF2_EvtWriter_MpiCollectiveEnd(
                        writer,
                        list,
                        time,
                        op as u8,
                        comm.0,
                        root.to_raw(),
                        sent_bytes,
                        received_bytes,
                    ),
                Event::NonBlockingCollectiveRequest { request } => {
                    api.OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, list, time, request)
                }
                Event::NonBlockingCollectiveComplete {
                    op,
                    comm,
                    root,
                    sent_bytes,
                    received_bytes,
                    request,
                } => api.OTF2_EvtWriter_NonBlockingCollectiveComplete(
                    writer,
                    list,
                    time,
                    op as u8,
                    comm.0,
                    root.to_raw(),
                    sent_bytes,
                    received_bytes,
                    request,
                ),
                Event::CommCreate { comm } => api.OTF2_EvtWriter_CommCreate(writer, list, time, comm.0),
                Event::CommDestroy { comm } => api.OTF2_EvtWriter_CommDestroy(writer, list, time, comm.0),
                Event::RmaWinCreate { window } => {
                    api.OTF2_EvtWriter_RmaWinCreate(writer, list, time, window.0)
                }
                Event::RmaWinDestroy { window } => {
                    api.OTF2_EvtWriter_RmaWinDestroy(writer, list, time, window.0)
                }
                Event::RmaCollectiveBegin => api.OTF2_EvtWriter_RmaCollectiveBegin(writer, list, time),
                Event::RmaCollectiveEnd { op, level, window, root, sent_bytes, received_bytes } => api
                    .OTF2_EvtWriter_RmaCollectiveEnd(
                        writer,
                        list,
                        time,
                        op as u8,
                        level.to_raw(),
                        window.0,
                        root.to_raw(),
                        sent_bytes,
                        received_bytes,
                    ),
                Event::RmaGroupSync { level, window, group } => {
                    api.OTF2_EvtWriter_RmaGroupSync(writer, list, time, level.to_raw(), window.0, group.0)
                }
                Event::RmaRequestLock { window, target, lock, kind } => api.OTF2_EvtWriter_RmaRequestLock(
                    writer,
                    list,
                    time,
                    window.0,
                    target.to_raw(),
                    lock,
                    kind as u8,
                ),
                Event::RmaAcquireLock { window, target, lock, kind } => api.OTF2_EvtWriter_RmaAcquireLock(
                    writer,
                    list,
                    time,
                    window.0,
                    target.to_raw(),
                    lock,
                    kind as u8,
                ),
                Event::RmaReleaseLock { window, target, lock } => {
                    api.OTF2_EvtWriter_RmaReleaseLock(writer, list, time, window.0, target.to_raw(), lock)
                }
                Event::RmaPut { window, target, bytes, matching } => {
                    api.OTF2_EvtWriter_RmaPut(writer, list, time, window.0, target, bytes, matching)
                }
                Event::RmaGet { window, target, bytes, matching } => {
                    api.OTF2_EvtWriter_RmaGet(writer, list, time, window.0, target, bytes, matching)
                }
                Event::RmaAtomic { window, target, op, sent_bytes, received_bytes, matching } => api
                    .OTF2_EvtWriter_RmaAtomic(
                        writer,
                        list,
                        time,
                        window.0,
                        target,
                        op as u8,
                        sent_bytes,
                        received_bytes,
                        matching,
                    ),
                Event::RmaOpCompleteBlocking { window, matching } => {
                    api.OTF2_EvtWriter_RmaOpCompleteBlocking(writer, list, time, window.0, matching)
                }
                Event::RmaOpCompleteNonBlocking { window, matching } => {
                    api.OTF2_EvtWriter_RmaOpCompleteNonBlocking(writer, list, time, window.0, matching)
                }
                // Most have one value, and need no array of 255.
                Event::Metric { metric, values: [value] } => {
                    let (kind, value) = raw_number(*value);
                    api.OTF2_EvtWriter_Metric(
                        writer,
                        list,
                        time,
                        metric.0,
                        1,
                        &raw const kind,
                        &raw const value,
                    )
                }
                Event::Metric { metric, values } => {
                    let numbers = MetricNumbers::new(values);
                    api.OTF2_EvtWriter_Metric(
                        writer,
                        list,
                        time,
                        metric.0,
                        numbers.count,
                        numbers.types.as_ptr(),
                        numbers.values.as_ptr(),
                    )
                }
            }
        };
        check(api, WRITE, code).inspect_err(|_| self.forget_attributes())
    }

    /// Events written so far.
    pub(crate) fn count(&self) -> Result<u64, Error> {
        let (api, mut events) = (self.archive.api, 0);
        // SAFETY: the writer is open, the place for the result ours.
        strictly(api, "counting events", || unsafe {
            api.OTF2_EvtWriter_GetNumberOfEvents(self.handle.as_ptr(), &raw mut events)
        })?;
        Ok(events)
    }

    /// Writes what is left in the buffer and closes the file.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.close_once()
    }

    fn close_once(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        let api = self.archive.api;
        // SAFETY: the list is ours and not used afterwards: `open` is false now, and both callers
        // own the writer.
        unsafe { api.OTF2_AttributeList_Delete(self.attributes.as_ptr()) };
        // SAFETY: the writer is this archive's, which is still open, and not used afterwards.
        strictly(api, "writing the events of a location", || unsafe {
            api.OTF2_Archive_CloseEvtWriter(self.archive.handle.as_ptr(), self.handle.as_ptr())
        })
    }

    /// After a failed write, so that the next event does not carry the attributes of this one.
    fn forget_attributes(&self) {
        let api = self.archive.api;
        // SAFETY: the list is ours.
        unsafe { api.OTF2_AttributeList_RemoveAllAttributes(self.attributes.as_ptr()) };
    }
}

impl Drop for RawEventWriter {
    fn drop(&mut self) {
        // An error cannot be returned from here; `close` returns it.
        let _ = self.close_once();
    }
}

/// The type and the value of a number of a metric.
#[inline]
fn raw_number(value: MetricValue) -> (u8, OTF2_MetricValue) {
    match value {
        MetricValue::I64(value) => (Type::I64 as u8, OTF2_MetricValue { signed_int: value }),
        MetricValue::U64(value) => (Type::U64 as u8, OTF2_MetricValue { unsigned_int: value }),
        MetricValue::F64(value) => (Type::F64 as u8, OTF2_MetricValue { floating_point: value }),
    }
}

/// The values of a metric event, in libotf2's two arrays.
struct MetricNumbers {
    count: u8,
    types: [u8; u8::MAX as usize],
    values: [OTF2_MetricValue; u8::MAX as usize],
}

impl MetricNumbers {
    /// Of more than 255 values, the first 255.
    #[inline(never)]
    fn new(values: &[MetricValue]) -> Self {
        let count = u8::try_from(values.len()).unwrap_or(u8::MAX);
        let mut numbers = Self {
            count,
            types: [Type::U64 as u8; u8::MAX as usize],
            values: [OTF2_MetricValue { unsigned_int: 0 }; u8::MAX as usize],
        };
        for ((kind, slot), value) in numbers.types.iter_mut().zip(&mut numbers.values).zip(values) {
            (*kind, *slot) = raw_number(*value);
        }
        numbers
    }
}
