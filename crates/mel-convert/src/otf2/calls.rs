//! MPI calls and messages of one thread on their location.

use mpi_functions::Step;
use otf2_writer::{AttributeValue, CollectiveRoot, CommRef, Event, RegionRef};
use rustc_hash::FxHashMap;

use super::communicators::{Communicators, Target};
use super::requests::{Operation, Requested, Requests, Side};
use super::roles;
use super::track::Track;
use super::windows::{Span, Windows};
use super::{Conversion, ConvertError};
use crate::content::RequestStep;
use crate::facts::{Fact, MessageFact};
use crate::nested::{self, Nested};
use mel_log::format::{NO_ROOT, ROOT_IN_THIS_GROUP, ROOT_ITSELF};
use mel_log::{Collective, Message, RankLog};

/// The region of a function that the log does not define.
const UNKNOWN: &str = "MPI (unknown function)";

/// What the facts of a thread refer to, and where epochs go.
pub(super) struct References<'a> {
    pub(super) communicators: &'a Communicators,
    pub(super) windows: &'a Windows,
    pub(super) epochs: &'a mut Vec<Span>,
    pub(super) requests: &'a mut Requests,
}

/// A thread that calls MPI.
pub(super) struct Thread {
    pub(super) number: u32,
    pub(super) track: Track,
    /// Only what occurs is defined.
    regions: FxHashMap<u16, RegionRef>,
    /// The regions of the program that it is in.
    nested: Nested<RegionRef>,
    /// The function that was entered last, and the end of its collective operation.
    function: u16,
    collective: Option<Event<'static>>,
    /// The collective operation of the call under way that has, or will have, a request.
    requested: Option<Requested>,
}

impl Thread {
    pub(super) fn new(number: u32, track: Track) -> Self {
        let (regions, nested) = (FxHashMap::default(), Nested::default());
        Thread { number, track, regions, nested, function: 0, collective: None, requested: None }
    }
}

impl Conversion<'_> {
    /// Writes one fact of a thread's calls.
    pub(super) fn convert_call(
        &mut self,
        thread: &mut Thread,
        references: References<'_>,
        (position, log): (usize, &RankLog),
        (ticks, fact): (u64, &Fact<'_>),
    ) -> Result<(), ConvertError> {
        let References { communicators, windows, epochs, requests } = references;
        let time = self.timeline.nanos(position, ticks);
        let Thread { track, regions, function, collective, requested, .. } = thread;
        let mut region = |number: u16| {
            *regions.entry(number).or_insert_with(|| {
                let name = log.definitions.functions.get(&number).map_or(UNKNOWN, String::as_str);
                self.tables.function(self.archive.definitions_mut(), name)
            })
        };
        match fact {
            Fact::Enter(entry) => {
                *function = entry.function;
                (*collective, *requested) = (None, None);
                track.summary().calls += 1;
                let region = region(entry.function);
                let site = self.sites.of(log, entry.returns_to).map(|site| {
                    let definitions = self.archive.definitions_mut();
                    let attribute = self.tables.call_site(definitions);
                    (attribute, AttributeValue::String(definitions.string(&site)))
                });
                track.enter(time, region, site.as_slice())
            }
            Fact::Leave(number) => {
                if let Some(end) = collective.take() {
                    track.event(time, &end, &[])?;
                }
                track.leave(time, region(*number))
            }
            Fact::Collective(object, moved) => {
                let name = log.definitions.functions.get(function).map_or("", String::as_str);
                match operation(name, communicators.of(*object), moved) {
                    Some((operation, Step::Blocks)) => {
                        *collective = Some(operation.end());
                        track.summary().collectives += 1;
                        track.event(time, &Event::MpiCollectiveBegin, &[])?;
                    }
                    Some((operation, step)) => {
                        *requested = Some(Requested { operation, persistent: step == Step::Prepares });
                    }
                    None if roles::has_no_operation(name) => {}
                    None => track.summary().unknown_messages += 1,
                }
                Ok(())
            }
            Fact::Window(window, fact) => {
                self.convert_window((position, *window), (time, fact), windows, track, epochs)
            }
            Fact::Request(step, request) => {
                let of_call = requested.take_if(|_| *step == RequestStep::CollectiveStarted);
                match request_event(*step, *request, of_call, requests) {
                    Some(event) => write_request(track, time, &event),
                    None => Ok(()),
                }
            }
            Fact::Message(message) => {
                let side = if message.sent { Side::Sent } else { Side::Received };
                if requests.is_one_sided(side) {
                    track.summary().one_sided += 1;
                    return Ok(());
                }
                let target = communicators.target(message.object, message.message.peer);
                let Some(target) = target else {
                    track.summary().unknown_messages += 1;
                    return Ok(());
                };
                let Some(event) = requests.whole(message_event(message, target)) else { return Ok(()) };
                track.summary().messages += 1;
                let waited = message.unexpected.map(|(since, until)| {
                    let nanos = |ticks| self.timeline.nanos(position, ticks);
                    let attribute = self.tables.unexpected_for(self.archive.definitions_mut());
                    (attribute, AttributeValue::U64(nanos(until).saturating_sub(nanos(since))))
                });
                track.event(time, &event, waited.as_slice())
            }
            Fact::Region(path) => self.turn_to(thread, path, time),
            Fact::Phase(_)
            | Fact::Recording(_)
            | Fact::LengthAfterPause { .. }
            | Fact::Event(_)
            | Fact::Worked
            | Fact::Noted(_)
            | Fact::Sample(_)
            | Fact::Nothing => Ok(()),
        }
    }
}

impl Conversion<'_> {
    /// The thread is in the region of the program of this path from then on; in none where that is empty.
    pub(super) fn turn_to(&mut self, thread: &mut Thread, path: &str, time: u64) -> Result<(), ConvertError> {
        let Thread { track, nested, .. } = thread;
        while let Some(region) = nested.leave(path) {
            track.leave(time, region)?;
        }
        while let Some(entered) = nested.entered(path) {
            let region = self.tables.program_region(self.archive.definitions_mut(), nested::name(entered));
            nested.enter(entered, region);
            track.enter(time, region, &[])?;
        }
        Ok(())
    }
}

/// The event of something about a request; none where the trace does not show what it belongs to. `of_call` is the
/// collective operation of the call under way.
fn request_event(
    step: RequestStep,
    number: u32,
    of_call: Option<Requested>,
    requests: &mut Requests,
) -> Option<Event<'static>> {
    let request = u64::from(number);
    let event = match step {
        RequestStep::CollectiveStarted => {
            let begins = requests.begin_collective(number, of_call);
            return begins.then_some(Event::NonBlockingCollectiveRequest { request });
        }
        RequestStep::CollectiveComplete => {
            return requests.end_collective(number).map(|operation| operation.complete(request));
        }
        RequestStep::ReceivePosted if requests.is_one_sided(Side::Posted) => return None,
        RequestStep::ReceivePosted => Event::MpiIrecvRequest { request },
        RequestStep::SendComplete => Event::MpiIsendComplete { request },
        RequestStep::Cancelled => Event::MpiRequestCancelled { request },
        RequestStep::Tested => Event::MpiRequestTest { request },
    };
    requests.whole(event)
}

/// Writes and counts it.
fn write_request(track: &mut Track, time: u64, event: &Event<'static>) -> Result<(), ConvertError> {
    match event {
        Event::NonBlockingCollectiveRequest { .. } => {}
        Event::NonBlockingCollectiveComplete { .. } => track.summary().collectives += 1,
        _ => track.summary().messages += 1,
    }
    track.event(time, event, &[])
}

/// A collective operation and how its function goes about it; none if that or the communicator is not known.
fn operation(name: &str, comm: Option<CommRef>, moved: &Collective) -> Option<(Operation, Step)> {
    let Collective { root, sent, received } = *moved;
    let root = match root {
        NO_ROOT => CollectiveRoot::None,
        ROOT_ITSELF => CollectiveRoot::Myself,
        ROOT_IN_THIS_GROUP => CollectiveRoot::ThisGroup,
        rank => CollectiveRoot::Rank(u32::try_from(rank).ok()?),
    };
    let ((op, step), comm) = (roles::operation_of(name)?, comm?);
    Some((Operation { op, comm, root, sent, received }, step))
}

/// The event of a message.
fn message_event(fact: &MessageFact, target: Target) -> Event<'static> {
    let Target { comm, peer } = target;
    let Message { tag, bytes, request, .. } = fact.message;
    let (tag, request) = (tag as u32, u64::from(request));
    match (fact.sent, fact.has_request) {
        (true, false) => Event::MpiSend { receiver: peer, comm, tag, bytes },
        (true, true) => Event::MpiIsend { receiver: peer, comm, tag, bytes, request },
        (false, true) => Event::MpiIrecv { sender: peer, comm, tag, bytes, request },
        (false, false) => Event::MpiRecv { sender: peer, comm, tag, bytes },
    }
}
