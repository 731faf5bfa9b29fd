//! Records that hold several things, taken apart: readers see calls entered and left, pairs of events,
//! and completions as if each had been written by itself.

use std::collections::VecDeque;
use std::iter::Peekable;

use super::definitions::Definitions;
use super::format::{Call, Entry, Pair, kind, u64_at};
use super::reader::{Payload, Record, Stored};

/// The records of a stream, in the order in which things happened.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    stored: Peekable<Stored<'a>>,
    /// What the pairs are.
    definitions: &'a Definitions,
    /// What comes before the next stored record.
    ready: VecDeque<Record>,
    /// The record of the call that is under way, with the time at which it was left.
    open: Option<Record>,
}

impl<'a> Records<'a> {
    pub(super) fn new(stored: Stored<'a>, definitions: &'a Definitions) -> Self {
        Records { stored: stored.peekable(), definitions, ready: VecDeque::new(), open: None }
    }

    /// Ends the call that is under way.
    fn leave(&mut self) {
        let Some(call) = self.open.take() else { return };
        let Call { function, request, completed, .. } = Call::from_payload(&call.payload);
        let mut end = |kind, place, length| {
            let payload = part(&call.payload, place, length);
            self.ready.push_back(Record { time: call.time, kind, object: call.object, payload });
        };
        if request != 0 {
            let tests = self.definitions.testing.contains(&function);
            end(if tests { kind::REQUEST_TESTED } else { kind::MPI_IRECV_REQUEST }, Call::REQUEST, 4);
        }
        if completed != 0 {
            end(kind::MPI_ISEND_COMPLETE, Call::COMPLETED, 4);
        }
        end(kind::LEAVE, 0, 2);
    }

    /// The payload of the entry of a record, with the caller that the next one has.
    fn entry(&mut self, record: &Record) -> Payload {
        let of_this = |next: &Record| next.kind == kind::CALLSITE && next.time == record.time;
        match self.stored.next_if(of_this) {
            Some(site) => {
                let entry = Entry::from_payload(&part(&record.payload, 0, 4));
                Payload::from_slice(&Entry { returns_to: u64_at(&site.payload, 0), ..entry }.to_payload())
            }
            None => part(&record.payload, 0, 4),
        }
    }

    fn take_apart(&mut self, record: Record) {
        if self.open.as_ref().is_some_and(|call| record.kind == kind::CALL || record.time > call.time) {
            self.leave();
        }
        if record.kind == kind::CALL {
            let payload = self.entry(&record);
            self.ready.push_back(Record { kind: kind::ENTER, payload, ..record });
            // A call that was never left, because its process ended in it, stays entered.
            let duration = Call::from_payload(&record.payload).duration;
            let time = record.time.saturating_add(duration);
            self.open = (duration != 0).then_some(Record { time, ..record });
        } else if matches!(record.kind, kind::MPI_ISEND_COMPLETE | kind::REQUEST_TESTED) {
            for place in (0..record.payload.len()).step_by(4) {
                let payload = part(&record.payload, place, 4);
                if place == 0 || *payload != [0; 4] {
                    self.ready.push_back(Record { payload, ..record });
                }
            }
        } else if record.kind == kind::ENTER {
            let payload = self.entry(&record);
            self.ready.push_back(Record { payload, ..record });
        } else if record.kind == kind::CALLSITE {
            // Of a call that is not there: the file is damaged.
        } else if record.kind >= kind::PAIR {
            self.take_pair_apart(&record);
        } else {
            self.ready.push_back(record);
        }
    }
}

impl<'a> Records<'a> {
    /// Two events, or three: of an unknown pair the first is known.
    fn take_pair_apart(&mut self, record: &Record) {
        let begin = record.kind & (kind::EVENT - 1);
        let event = |number: u16, time, payload| {
            let kind = kind::EVENT + number.min(kind::EVENT - 1);
            Record { time, kind, object: record.object, payload }
        };
        let elements = || part(&record.payload, 0, Pair::ELEMENTS);
        self.ready.push_back(event(begin, record.time, elements()));
        let Some(ending) = self.definitions.pairs.get(&begin) else { return };
        let end = record.time.saturating_add(u64::from(Pair::duration(&record.payload)));
        let queued = match record.kind - begin {
            kind::PAIR_INSERTING => ending.inserts,
            kind::PAIR_REMOVING => ending.removes,
            _ => None,
        };
        let whole = event(ending.end, end, elements());
        let Some(queued) = queued else { return self.ready.push_back(whole) };
        let first = self.definitions.event_types.get(&begin);
        let last_element = first.and_then(|first| first.elements.last()).map_or(0, |last| last.displacement);
        if last_element as usize >= Pair::REQUEST {
            self.ready.extend([whole, event(queued, end, elements())]);
        } else {
            let request = Pair::request(&record.payload).to_le_bytes();
            let elements = record.payload.get(..Pair::REQUEST).unwrap_or_default();
            let payload = Payload::from_iter(request.iter().chain(elements).copied());
            self.ready.extend([event(queued, end, payload), whole]);
        }
    }
}

/// Some bytes of a payload, as far as they are there.
fn part(payload: &[u8], from: usize, length: usize) -> Payload {
    Payload::from_slice(payload.get(from..from + length).unwrap_or_default())
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.ready.is_empty() {
            match self.stored.next() {
                Some(record) => self.take_apart(record),
                None if self.open.is_some() => self.leave(),
                None => return None,
            }
        }
        self.ready.pop_front()
    }
}
