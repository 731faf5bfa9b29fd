//! The events of one location, in the order of time.

use std::{cell::RefCell, rc::Rc};

use crate::{
    archive::Locations,
    clock::Ticks,
    error::Error,
    event::Event,
    ffi::RawEventWriter,
    parts::LocationSummary,
    refs::{AttributeRef, LocationRef, RegionRef},
    value::AttributeValue,
};

/// Writes the events of one location; from [`Archive::event_writer`](crate::Archive::event_writer).
///
/// It holds one chunk of events in memory and stays on the thread of its archive. Dropped without
/// [`close`](Self::close), it writes what it can and reports no error.
pub struct EventWriter {
    /// `None` only while it is being closed.
    raw: Option<RawEventWriter>,
    locations: Rc<RefCell<Locations>>,
    location: LocationRef,
    /// Times of the first and of the last event.
    span: Option<(Ticks, Ticks)>,
    failed: bool,
}

impl EventWriter {
    pub(crate) const fn new(
        raw: RawEventWriter,
        locations: Rc<RefCell<Locations>>,
        location: LocationRef,
    ) -> Self {
        Self { raw: Some(raw), locations, location, span: None, failed: false }
    }

    /// The location that is written.
    pub const fn location(&self) -> LocationRef {
        self.location
    }

    /// The time of the last event: the next one may not be older.
    pub fn last_time(&self) -> Option<Ticks> {
        self.span.map(|(_, last)| last)
    }

    /// The location enters a region.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[inline]
    pub fn enter(
        &mut self,
        time: Ticks,
        region: RegionRef,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), Error> {
        self.write_with(time, &Event::Enter { region }, attributes)
    }

    /// The location leaves a region.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[inline]
    pub fn leave(
        &mut self,
        time: Ticks,
        region: RegionRef,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), Error> {
        self.write_with(time, &Event::Leave { region }, attributes)
    }

    /// Writes an event.
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with).
    #[inline]
    pub fn write(&mut self, time: Ticks, event: &Event<'_>) -> Result<(), Error> {
        self.write_with(time, event, &[])
    }

    /// Writes an event with attributes, each of them at most once.
    ///
    /// # Errors
    /// - [`Error::TimeBackwards`], [`Error::AttributeType`], [`Error::AttributeTwice`],
    ///   [`Error::MetricSize`]: the event was left out, the location goes on.
    /// - [`Error::Library`]: the buffer could not be written (the disk is full, for example). From
    ///   now on the location takes no events: [`Error::LocationFailed`].
    // Inlined, here and below: the kind of event is mostly known where it is written, so that the match is resolved there.
    #[inline]
    pub fn write_with(
        &mut self,
        time: Ticks,
        event: &Event<'_>,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), Error> {
        let location = self.location;
        let Some(raw) = self.raw.as_mut().filter(|_| !self.failed) else {
            return Err(Error::LocationFailed(location));
        };
        if let Some((_, previous)) = self.span
            && time < previous
        {
            return Err(Error::TimeBackwards { location, previous, time });
        }
        check_attributes(attributes)?;
        if let Event::Metric { values, .. } = event
            && !(1..=MOST_NUMBERS).contains(&values.len())
        {
            return Err(Error::MetricSize(values.len()));
        }
        let written = raw.write(time, event, attributes);
        match &written {
            Ok(()) => self.span = Some((self.span.map_or(time, |(first, _)| first), time)),
            Err(_) => self.failed = true,
        }
        written
    }

    /// Writes what is left in memory and closes the location. It cannot be opened again.
    ///
    /// # Errors
    /// Where the events cannot be written; [`Error::LocationFailed`] where that was so before.
    pub fn close(mut self) -> Result<(), Error> {
        self.close_once()
    }

    fn close_once(&mut self) -> Result<(), Error> {
        let Some(raw) = self.raw.take() else { return Ok(()) };
        let counted = raw.count();
        let closed = raw.close();
        let (first, last) = self.span.unwrap_or_default();
        let events = *counted.as_ref().unwrap_or(&0);
        self.locations.borrow_mut().closed(LocationSummary { location: self.location, events, first, last });
        if self.failed { Err(Error::LocationFailed(self.location)) } else { counted.and(closed) }
    }
}

/// The format counts the numbers of a metric in one byte.
const MOST_NUMBERS: usize = u8::MAX as usize;

#[inline]
fn check_attributes(attributes: &[(AttributeRef, AttributeValue)]) -> Result<(), Error> {
    for (position, &(attribute, value)) in attributes.iter().enumerate() {
        let value = value.value_type();
        if value != attribute.value_type {
            return Err(Error::AttributeType { attribute, value });
        }
        // Lists are short, so looking through them beats any set.
        if attributes[..position].iter().any(|(earlier, _)| earlier.raw == attribute.raw) {
            return Err(Error::AttributeTwice(attribute));
        }
    }
    Ok(())
}

impl Drop for EventWriter {
    fn drop(&mut self) {
        let _ = self.close_once();
    }
}
