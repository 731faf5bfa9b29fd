//! Records that hold several things, taken apart: readers see calls entered and left, pairs of events,
//! and completions as if each had been written by itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::format::{Call, Completion, NO_OBJECT, Pair, kind};
use super::reader::{Record, Stored};

/// The records of a stream, in the order in which things happened.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    stored: Stored<'a>,
    /// The type that ends each event type.
    pairs: &'a BTreeMap<u16, u16>,
    /// What comes before the next stored record.
    ready: VecDeque<Record<'a>>,
    /// The call that is under way, and when it was left.
    open: Option<(Call, u64)>,
}

impl<'a> Records<'a> {
    pub(super) fn new(stored: Stored<'a>, pairs: &'a BTreeMap<u16, u16>) -> Self {
        Records { stored, pairs, ready: VecDeque::new(), open: None }
    }

    /// Ends the call that is under way.
    fn leave(&mut self) {
        let Some((call, left)) = self.open.take() else { return };
        let record = |kind, payload: &[u8]| Record {
            time: left,
            kind,
            object: NO_OBJECT,
            payload: Cow::Owned(payload.to_vec()),
        };
        if call.request != 0 {
            let posted = Completion { request: call.request }.to_payload();
            self.ready.push_back(record(kind::MPI_IRECV_REQUEST, &posted));
        }
        self.ready.push_back(record(kind::LEAVE, &call.function.to_le_bytes()));
    }

    fn take_apart(&mut self, record: Record<'a>) {
        if self.open.is_some_and(|(_, left)| record.kind == kind::CALL || record.time > left) {
            self.leave();
        }
        if record.kind == kind::CALL {
            let call = Call::from_payload(&record.payload);
            let function = call.function.to_le_bytes().to_vec();
            // A call that was never left, because its process ended in it, stays entered.
            self.open = (call.duration != 0).then(|| (call, record.time.saturating_add(call.duration)));
            self.ready.push_back(Record { kind: kind::ENTER, payload: Cow::Owned(function), ..record });
        } else if record.kind == kind::MPI_ISEND_COMPLETE {
            for (place, request) in record.payload.chunks_exact(4).enumerate() {
                if place == 0 || request != [0; 4] {
                    let payload = Cow::Owned(request.to_vec());
                    self.ready.push_back(Record { payload, ..record });
                }
            }
        } else if record.kind >= kind::PAIR {
            let begin = record.kind - kind::PAIR;
            let elements = record.payload.get(..Pair::ELEMENTS).unwrap_or_default().to_vec();
            let end = record.time.saturating_add(u64::from(Pair::duration(&record.payload)));
            let event = |number: u16, time| Record {
                time,
                kind: kind::EVENT.saturating_add(number).min(kind::PAIR - 1),
                object: record.object,
                payload: Cow::Owned(elements.clone()),
            };
            self.ready.push_back(event(begin, record.time));
            if let Some(&ends) = self.pairs.get(&begin) {
                self.ready.push_back(event(ends, end));
            }
        } else {
            self.ready.push_back(record);
        }
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
