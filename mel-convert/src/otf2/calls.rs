//! MPI calls and messages of one thread on their location.

use otf2_writer::{AttributeValue, CollectiveRoot, CommRef, Event, RegionRef};
use rustc_hash::FxHashMap;

use super::communicators::{Communicators, Target};
use super::requests::{Operation, Requested, Requests};
use super::roles::{self, Way};
use super::track::Track;
use super::windows::{self, Span, Windows};
use super::{Conversion, ConvertError};
use crate::queues::Queues;
use mel_log::format::{NO_ROOT, ROOT_IN_THIS_GROUP, ROOT_ITSELF, u16_at};
use mel_log::{Collective, Completion, Entry, Message, RankLog, Record, kind};

/// The region of a function that the log does not define.
const UNKNOWN: &str = "MPI (unknown function)";

/// What the records of a thread refer to, and where epochs go.
pub(super) struct Known<'a> {
    pub(super) communicators: &'a Communicators,
    pub(super) queues: &'a mut Queues,
    pub(super) windows: &'a mut Windows,
    pub(super) epochs: &'a mut Vec<Span>,
    pub(super) requests: &'a mut Requests,
}

/// A thread that calls MPI.
pub(super) struct Thread {
    pub(super) number: u32,
    pub(super) track: Track,
    /// Only what occurs is defined.
    regions: FxHashMap<u16, RegionRef>,
    /// The function that was entered last, and the end of its collective operation.
    function: u16,
    collective: Option<Event<'static>>,
    /// The collective operation of the call under way that has, or will have, a request.
    requested: Option<Requested>,
}

impl Thread {
    pub(super) fn new(number: u32, track: Track) -> Self {
        let (regions, collective, requested) = (FxHashMap::default(), None, None);
        Thread { number, track, regions, function: 0, collective, requested }
    }
}

impl Conversion<'_> {
    /// Writes one record of a thread's calls.
    pub(super) fn convert_call(
        &mut self,
        thread: &mut Thread,
        known: Known<'_>,
        (position, log): (usize, &RankLog),
        record: &Record<'_>,
    ) -> Result<(), ConvertError> {
        let Known { communicators, queues, windows, epochs, requests } = known;
        let time = self.timeline.nanos(position, record.time);
        let Thread { number, track, regions, function, collective, requested } = thread;
        let mut region = || {
            let number = u16_at(&record.payload, 0);
            *regions.entry(number).or_insert_with(|| {
                let name = log.definitions.functions.get(&number).map_or(UNKNOWN, String::as_str);
                self.tables.function(self.archive.definitions_mut(), name)
            })
        };
        match record.kind {
            kind::ENTER => {
                queues.begin_call(*number);
                let entry = Entry::from_payload(&record.payload);
                *function = entry.function;
                (*collective, *requested) = (None, None);
                track.summary().calls += 1;
                let region = region();
                let site = self.sites.of(log, entry.returns_to).map(|site| {
                    let definitions = self.archive.definitions_mut();
                    let attribute = self.tables.call_site(definitions);
                    (attribute, AttributeValue::String(definitions.string(&site)))
                });
                track.enter(time, region, site.as_slice())?;
            }
            kind::LEAVE => {
                if let Some(end) = collective.take() {
                    track.event(time, &end, &[])?;
                }
                track.leave(time, region())?;
            }
            kind::COLLECTIVE => {
                let name = log.definitions.functions.get(function).map_or("", String::as_str);
                match operation(name, communicators.of(position, record), record) {
                    Some((operation, Way::Blocking)) => {
                        *collective = Some(operation.end());
                        track.summary().collectives += 1;
                        track.event(time, &Event::MpiCollectiveBegin, &[])?;
                    }
                    Some((operation, way)) => {
                        *requested = Some(Requested { operation, persistent: way == Way::Persistent });
                    }
                    None => track.summary().unknown_messages += 1,
                }
            }
            kind::COLLECTIVE_REQUEST => {
                let request = Completion::from_payload(&record.payload).request;
                if requests.begin_collective(request, requested.take()) {
                    track.event(
                        time,
                        &Event::NonBlockingCollectiveRequest { request: request.into() },
                        &[],
                    )?;
                }
            }
            kind::COLLECTIVE_COMPLETE => {
                let request = Completion::from_payload(&record.payload).request;
                if let Some(operation) = requests.end_collective(request) {
                    track.summary().collectives += 1;
                    track.event(time, &operation.complete(request.into()), &[])?;
                }
            }
            _ if windows::is_about_a_window(record) => {
                self.convert_window_record(position, record, windows, track, epochs)?;
            }
            kind if requests.is_one_sided(kind) => track.summary().one_sided += u64::from(is_message(kind)),
            _ => match message(record, communicators.target(position, record)) {
                Some(event) => {
                    let Some(event) = requests.whole(event) else { return Ok(()) };
                    track.summary().messages += 1;
                    let waited = match event {
                        Event::MpiIrecv { request, .. } => queues.received(*number, Some(request as u32)),
                        Event::MpiRecv { .. } => queues.received(*number, None),
                        _ => None,
                    };
                    let attribute = waited.map(|(since, until)| {
                        let attribute = self.tables.unexpected_for(self.archive.definitions_mut());
                        (attribute, AttributeValue::U64(until.saturating_sub(since)))
                    });
                    track.event(time, &event, attribute.as_slice())?;
                }
                None if is_message(record.kind) => track.summary().unknown_messages += 1,
                None => {}
            },
        }
        Ok(())
    }
}

/// A collective operation and how its function goes about it; none if that or the communicator is not known.
fn operation(name: &str, comm: Option<CommRef>, record: &Record<'_>) -> Option<(Operation, Way)> {
    let Collective { root, sent, received } = Collective::from_payload(&record.payload);
    let root = match root {
        NO_ROOT => CollectiveRoot::None,
        ROOT_ITSELF => CollectiveRoot::Myself,
        ROOT_IN_THIS_GROUP => CollectiveRoot::ThisGroup,
        rank => CollectiveRoot::Rank(u32::try_from(rank).ok()?),
    };
    let ((op, way), comm) = (roles::operation_of(name)?, comm?);
    Some((Operation { op, comm, root, sent, received }, way))
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
        kind::REQUEST_TESTED => return Some(Event::MpiRequestTest { request }),
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
