//! What the library has moved below the calls, by the call in which it did so.

use std::collections::BTreeMap;

use serde::Serialize;

/// What was moved: operations of transports and their bytes, from this rank and to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Operations from this rank.
    pub out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Operations to this rank.
    pub inward: u64,
    /// Their bytes.
    pub bytes_in: u64,
}

/// Operations that belong to no call yet, by thread, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Pending(BTreeMap<u32, Vec<(u64, bool, u64)>>);

/// More that belong to no call are forgotten, the oldest first.
const MOST: usize = 1 << 16;

impl Pending {
    /// An operation of a thread at this tick.
    pub(super) fn add(&mut self, thread: u32, time: u64, is_inward: bool, bytes: u64) {
        let of_thread = self.0.entry(thread).or_default();
        if of_thread.len() >= MOST {
            of_thread.drain(..MOST / 2);
        }
        of_thread.push((time, is_inward, bytes));
    }

    /// What a thread has moved from a tick to another; what was before is forgotten.
    pub(super) fn take(&mut self, thread: u32, (begin, end): (u64, u64)) -> Moved {
        let mut moved = Moved::default();
        let Some(of_thread) = self.0.get_mut(&thread) else { return moved };
        let until = of_thread.partition_point(|(time, ..)| *time <= end);
        for (_, is_inward, bytes) in of_thread.drain(..until).filter(|(time, ..)| *time >= begin) {
            let (count, sum) = if is_inward {
                (&mut moved.inward, &mut moved.bytes_in)
            } else {
                (&mut moved.out, &mut moved.bytes_out)
            };
            *count += 1;
            *sum = sum.saturating_add(bytes);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_what_its_thread_moved_in_it() {
        let mut pending = Pending::default();
        for (thread, time, is_inward, bytes) in
            [(0, 5, false, 1), (0, 10, false, 2), (1, 12, false, 4), (0, 20, true, 8), (0, 21, false, 16)]
        {
            pending.add(thread, time, is_inward, bytes);
        }
        let moved = Moved { out: 1, bytes_out: 2, inward: 1, bytes_in: 8 };
        assert_eq!(pending.take(0, (10, 20)), moved);
        assert_eq!(pending.take(0, (10, 20)), Moved::default());
        assert_eq!(pending.take(0, (21, 30)), Moved { out: 1, bytes_out: 16, ..Moved::default() });
        assert_eq!(pending.take(2, (0, 99)), Moved::default());
        assert_eq!(pending.take(1, (0, 99)).bytes_out, 4);
    }
}
