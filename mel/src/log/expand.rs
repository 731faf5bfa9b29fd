//! Records that hold several things, taken apart: readers see calls entered and left, pairs of events,
//! and completions as if each had been written by itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::format::{Call, Pair, kind};
use super::reader::{Record, Stored};

/// The records of a stream, in the order in which things happened.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    stored: Stored<'a>,
    /// The type that ends each event type.
    pairs: &'a BTreeMap<u16, u16>,
    /// What comes before the next stored record.
    ready: VecDeque<Record<'a>>,
    /// The record of the call that is under way, with the time at which it was left.
    open: Option<Record<'a>>,
}

impl<'a> Records<'a> {
    pub(super) fn new(stored: Stored<'a>, pairs: &'a BTreeMap<u16, u16>) -> Self {
        Records { stored, pairs, ready: VecDeque::new(), open: None }
    }

    /// Ends the call that is under way.
    fn leave(&mut self) {
        let Some(call) = self.open.take() else { return };
        if Call::from_payload(&call.payload).request != 0 {
            let payload = part(&call.payload, Call::REQUEST, 4);
            self.ready.push_back(Record { kind: kind::MPI_IRECV_REQUEST, payload, ..call });
        }
        let payload = part(&call.payload, 0, 2);
        self.ready.push_back(Record { kind: kind::LEAVE, payload, ..call });
    }

    fn take_apart(&mut self, record: Record<'a>) {
        if self.open.as_ref().is_some_and(|call| record.kind == kind::CALL || record.time > call.time) {
            self.leave();
        }
        if record.kind == kind::CALL {
            let payload = part(&record.payload, 0, 2);
            self.ready.push_back(Record { kind: kind::ENTER, payload, ..record });
            // A call that was never left, because its process ended in it, stays entered.
            let duration = Call::from_payload(&record.payload).duration;
            let time = record.time.saturating_add(duration);
            self.open = (duration != 0).then_some(Record { time, ..record });
        } else if record.kind == kind::MPI_ISEND_COMPLETE {
            for place in (0..record.payload.len()).step_by(4) {
                let payload = part(&record.payload, place, 4);
                if place == 0 || *payload != [0; 4] {
                    self.ready.push_back(Record { payload, ..record });
                }
            }
        } else if record.kind >= kind::PAIR {
            let begin = record.kind - kind::PAIR;
            let event = |number: u16, time| Record {
                time,
                kind: kind::EVENT.saturating_add(number).min(kind::PAIR - 1),
                object: record.object,
                payload: part(&record.payload, 0, Pair::ELEMENTS),
            };
            self.ready.push_back(event(begin, record.time));
            if let Some(&ends) = self.pairs.get(&begin) {
                let end = record.time.saturating_add(u64::from(Pair::duration(&record.payload)));
                self.ready.push_back(event(ends, end));
            }
        } else {
            self.ready.push_back(record);
        }
    }
}

/// Some bytes of a payload, as far as they are there, without copying what is in the file.
fn part<'a>(payload: &Cow<'a, [u8]>, from: usize, length: usize) -> Cow<'a, [u8]> {
    match payload {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(from..from + length).unwrap_or_default()),
        Cow::Owned(bytes) => Cow::Owned(bytes.get(from..from + length).unwrap_or_default().to_vec()),
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
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
