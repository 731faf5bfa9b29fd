//! The events of each step of the matching, in the order in which ob1 raises them.

use mpit_events::Ticks;

use crate::matching::envelope::{CommIndex, EAGER_LIMIT, Envelope};
use crate::matching::events::{
    Arrived, Event, Queued, Request, Searched, SearchedFor, Sink, Transferred, Unexpected,
};
use crate::matching::receive::Receive;

/// Events of a matched message's data.
pub(crate) const OF_TRANSFERS: u16 =
    mask(&[Event::TransferBegin, Event::Transfer, Event::TransferEnd, Event::RequestComplete]);

const fn mask(events: &[Event]) -> u16 {
    let (mut bits, mut index) = (0, 0);
    while index < events.len() {
        bits |= 1 << events[index] as u8;
        index += 1;
    }
    bits
}

/// A receive as events have it: its request, the source and the tag that it was posted with.
pub(crate) type Asked = (u64, i32, i32);

/// A receive is posted, and the unexpected messages are searched for it.
#[inline(always)]
pub(crate) fn post(sink: &mut impl Sink, comm: CommIndex, begin: Ticks, asked: Asked) {
    sink.emit(Event::RequestActivate, comm, begin, false, Request { request: asked.0 });
    search_begins(sink, comm, begin, asked);
}

/// A search of the unexpected messages begins.
#[inline(always)]
pub(crate) fn search_begins(
    sink: &mut impl Sink,
    comm: CommIndex,
    begin: Ticks,
    (request, source, tag): Asked,
) {
    sink.emit(Event::SearchUnexpectedBegin, comm, begin, false, SearchedFor { request, source, tag });
}

/// It ends.
#[inline(always)]
pub(crate) fn search_ends(
    sink: &mut impl Sink,
    comm: CommIndex,
    (begin, end): (Ticks, Ticks),
    (request, source, tag): Asked,
) {
    let searched = SearchedFor { request, source, tag };
    sink.emit_end(Event::SearchUnexpectedEnd, comm, begin, end, false, searched);
}

/// A receive comes into the posted queue.
#[inline(always)]
pub(crate) fn queued(sink: &mut impl Sink, comm: CommIndex, time: Ticks, (request, source, tag): Asked) {
    sink.emit(Event::PostedInsert, comm, time, false, Queued { request, source, tag });
}

/// A receive leaves the posted queue, in which it was `since`.
#[inline(always)]
pub(crate) fn removed(
    sink: &mut impl Sink,
    comm: CommIndex,
    (since, time): (Ticks, Ticks),
    (request, source, tag): Asked,
) {
    sink.emit_end(Event::PostedRemove, comm, since, time, false, Queued { request, source, tag });
}

/// [`removed`], of a receive that the engine keeps.
pub(super) fn receive_removed(sink: &mut impl Sink, receive: &Receive, time: Ticks) {
    let Receive { comm, request, queued, source, tag, .. } = *receive;
    removed(sink, comm, (queued, time), (request, source, tag));
}

/// A message has arrived, and the posted receives are searched for it.
#[inline(always)]
pub(crate) fn arrival(sink: &mut impl Sink, comm: CommIndex, begin: Ticks, envelope: &Envelope) {
    let Envelope { context, source, tag, sequence, .. } = *envelope;
    let arrived = Arrived { context: context as u32, source, tag, sequence };
    sink.emit(Event::MessageArrived, comm, begin, false, arrived);
    sink.emit(Event::SearchPostedBegin, comm, begin, false, Searched { source, tag, sequence });
}

/// That search ends.
#[inline(always)]
pub(crate) fn arrival_searched(
    sink: &mut impl Sink,
    comm: CommIndex,
    (begin, end): (Ticks, Ticks),
    envelope: &Envelope,
) {
    let Envelope { source, tag, sequence, .. } = *envelope;
    sink.emit_end(Event::SearchPostedEnd, comm, begin, end, false, Searched { source, tag, sequence });
}

/// A message comes into the unexpected queue.
#[inline(always)]
pub(crate) fn message_queued(
    sink: &mut impl Sink,
    comm: CommIndex,
    time: Ticks,
    id: u64,
    envelope: &Envelope,
) {
    sink.unexpected_bytes(comm, envelope.bytes as i64);
    sink.emit(Event::UnexInsert, comm, time, false, unexpected(id, envelope));
}

/// A message leaves the unexpected queue, in which it was `since`.
#[inline(always)]
pub(crate) fn message_removed(
    sink: &mut impl Sink,
    comm: CommIndex,
    (since, time): (Ticks, Ticks),
    id: u64,
    envelope: &Envelope,
) {
    sink.unexpected_bytes(comm, -(envelope.bytes as i64));
    sink.emit_end(Event::UnexRemove, comm, since, time, false, unexpected(id, envelope));
}

fn unexpected(id: u64, envelope: &Envelope) -> Unexpected {
    Unexpected { request: id, source: envelope.source, tag: envelope.tag, sequence: envelope.sequence }
}

/// A receive is matched: ob1 transfers an eager message here and now.
#[inline(always)]
pub(crate) fn matched(sink: &mut impl Sink, comm: CommIndex, request: u64, bytes: u64, time: Ticks) {
    if sink.wants_any(OF_TRANSFERS) {
        transfer_begins(sink, comm, request, bytes, time, false);
        if bytes <= EAGER_LIMIT {
            transfer_ends(sink, comm, request, bytes, time, false);
        }
    }
}

/// The data of a message begins to be transferred.
pub(crate) fn transfer_begins(
    sink: &mut impl Sink,
    comm: CommIndex,
    request: u64,
    bytes: u64,
    time: Ticks,
    late: bool,
) {
    if bytes > 0 {
        sink.emit(Event::TransferBegin, comm, time, late, Request { request });
    }
}

/// The data of a message has been transferred, and its request is complete.
pub(crate) fn transfer_ends(
    sink: &mut impl Sink,
    comm: CommIndex,
    request: u64,
    bytes: u64,
    time: Ticks,
    late: bool,
) {
    if bytes > 0 {
        sink.emit(Event::Transfer, comm, time, late, Transferred { request, length: bytes });
        sink.emit(Event::TransferEnd, comm, time, late, Request { request });
    }
    sink.emit(Event::RequestComplete, comm, time, late, Request { request });
}
