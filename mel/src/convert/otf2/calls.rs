//! MPI calls and messages of one thread on their location.

use otf2_writer::{Event, LocationRef};
use rustc_hash::FxHashMap;

use super::communicators::{Communicators, Target};
use super::track::Track;
use super::windows::{self, Span, Windows};
use super::{Conversion, ConvertError};
use crate::convert::merge::Merged;
use crate::log::format::u16_at;
use crate::log::{Completion, Message, RankLog, Record, kind};

/// The region of a function that the log does not define.
const UNKNOWN: &str = "MPI (unknown function)";

/// What the records of a thread refer to, and where epochs go.
pub(super) struct Known<'a> {
    pub(super) communicators: &'a Communicators,
    pub(super) windows: &'a mut Windows,
    pub(super) epochs: &'a mut Vec<Span>,
}

impl Conversion<'_> {
    /// Writes the calls of one thread, from all of its streams.
    pub(super) fn convert_calls(
        &mut self,
        position: usize,
        log: &RankLog,
        streams: &[u32],
        location: LocationRef,
        known: Known<'_>,
    ) -> Result<(), ConvertError> {
        let Known { communicators, windows, epochs } = known;
        // Only what occurs is defined.
        let mut regions = FxHashMap::default();
        let mut track = Track::new(self.archive.event_writer(location)?);
        for (count, (_, record)) in Merged::new(log, streams.iter().copied()).enumerate() {
            super::tell(self.tick, count);
            let time = self.timeline.nanos(position, record.time);
            let mut region = || {
                let number = u16_at(&record.payload, 0);
                *regions.entry(number).or_insert_with(|| {
                    let name = log.definitions.functions.get(&number).map_or(UNKNOWN, String::as_str);
                    self.tables.function(self.archive.definitions_mut(), name)
                })
            };
            match record.kind {
                kind::ENTER => {
                    track.summary().calls += 1;
                    track.enter(time, region(), &[])?;
                }
                kind::LEAVE => track.leave(time, region())?,
                _ if windows::is_about_a_window(&record) => {
                    self.convert_window_record(position, &record, windows, &mut track, epochs)?;
                }
                _ => match message(&record, communicators.target(position, &record)) {
                    Some(event) => {
                        track.summary().messages += 1;
                        track.event(time, &event)?;
                    }
                    None if is_message(record.kind) => track.summary().unknown_messages += 1,
                    None => {}
                },
            }
        }
        self.summary.add(track.close()?);
        Ok(())
    }
}

fn is_message(kind: u16) -> bool {
    matches!(kind, kind::MPI_SEND | kind::MPI_ISEND | kind::MPI_IRECV | kind::MPI_RECV)
}

/// The event of a message record; none if its communicator or peer is not known, or if it is no
/// message record.
fn message(record: &Record<'_>, target: Option<Target>) -> Option<Event<'static>> {
    let request = u64::from(Completion::from_payload(&record.payload).request);
    match record.kind {
        kind::MPI_ISEND_COMPLETE => return Some(Event::MpiIsendComplete { request }),
        kind::MPI_IRECV_REQUEST => return Some(Event::MpiIrecvRequest { request }),
        kind::REQUEST_CANCELLED => return Some(Event::MpiRequestCancelled { request }),
        kind if !is_message(kind) => return None,
        _ => {}
    }
    let Target { comm, peer } = target?;
    let Message { tag, bytes, request, .. } = Message::from_payload(&record.payload);
    let (tag, request) = (tag as u32, u64::from(request));
    Some(match record.kind {
        kind::MPI_SEND => Event::MpiSend { receiver: peer, comm, tag, bytes },
        kind::MPI_ISEND => Event::MpiIsend { receiver: peer, comm, tag, bytes, request },
        kind::MPI_IRECV => Event::MpiIrecv { sender: peer, comm, tag, bytes, request },
        _ => Event::MpiRecv { sender: peer, comm, tag, bytes },
    })
}
