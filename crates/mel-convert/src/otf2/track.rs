//! One location while it is written: its times ascend, its regions are nested.

use otf2_writer::{AttributeRef, AttributeValue, Event, EventWriter, LocationRef, RegionRef, Ticks};

use super::{ConvertError, Summary};

/// A location that is being written.
pub(super) struct Track {
    location: LocationRef,
    writer: EventWriter,
    summary: Summary,
    open: Vec<RegionRef>,
    last: u64,
}

impl Track {
    pub(super) fn new(location: LocationRef, writer: EventWriter) -> Self {
        Track { location, writer, summary: Summary::default(), open: Vec::new(), last: 0 }
    }

    pub(super) fn location(&self) -> LocationRef {
        self.location
    }

    /// The time of the last event.
    pub(super) fn last(&self) -> Ticks {
        Ticks(self.last)
    }

    /// What was written to this location so far.
    pub(super) fn summary(&mut self) -> &mut Summary {
        &mut self.summary
    }

    /// The time, or that of the event before if it is later.
    fn forward(&mut self, time: u64) -> Ticks {
        if time < self.last {
            self.summary.moved += 1;
        }
        self.last = self.last.max(time);
        Ticks(self.last)
    }

    pub(super) fn enter(
        &mut self,
        time: u64,
        region: RegionRef,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), ConvertError> {
        let time = self.forward(time);
        self.open.push(region);
        Ok(self.writer.enter(time, region, attributes)?)
    }

    /// Leaves a region, and before it those that were entered in it and not left. One that was not
    /// entered is not left either.
    pub(super) fn leave(&mut self, time: u64, region: RegionRef) -> Result<(), ConvertError> {
        let Some(position) = self.open.iter().rposition(|open| *open == region) else {
            self.summary.unbegun += 1;
            return Ok(());
        };
        let time = self.forward(time);
        self.summary.unfinished += (self.open.len() - position - 1) as u64;
        while self.open.len() > position {
            if let Some(inner) = self.open.pop() {
                self.writer.leave(time, inner, &[])?;
            }
        }
        Ok(())
    }

    pub(super) fn event(
        &mut self,
        time: u64,
        event: &Event<'_>,
        attributes: &[(AttributeRef, AttributeValue)],
    ) -> Result<(), ConvertError> {
        let time = self.forward(time);
        Ok(self.writer.write_with(time, event, attributes)?)
    }

    /// Ends what is still open, at the time of the last event. Gives what was written.
    pub(super) fn close(mut self) -> Result<Summary, ConvertError> {
        self.summary.unfinished += self.open.len() as u64;
        while let Some(region) = self.open.pop() {
            self.writer.leave(Ticks(self.last), region, &[])?;
        }
        self.writer.close()?;
        Ok(self.summary)
    }
}
