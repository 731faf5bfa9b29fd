//! The length of a queue over time, a bounded number of steps.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// From `start` to `end` the queue was at most `most` long, and from then on `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Nanoseconds.
    pub start: u64,
    /// Nanoseconds.
    pub end: u64,
    /// Entries.
    pub most: u32,
    /// Entries.
    pub last: u32,
}

/// The length of one queue of a rank.
#[derive(Clone, Debug)]
pub struct Lengths {
    steps: Vec<Step>,
    resolution: u64,
    room: usize,
}

/// Where changes are first drawn together, in nanoseconds.
const FINEST: u64 = 64;

impl Lengths {
    /// An empty queue, with room for so many steps.
    pub fn new(room: usize) -> Lengths {
        Lengths { steps: Vec::new(), resolution: 0, room: room.max(16) }
    }

    /// From that time on the queue has so many entries.
    pub fn set(&mut self, time: u64, length: u64) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        // Sources of several threads may report a little out of order.
        let time = time.max(self.steps.last().map_or(0, |step| step.end));
        let step = Step { start: time, end: time, most: length, last: length };
        match self.steps.last_mut() {
            Some(last) if joins(last, &step, self.resolution) => last.add(&step),
            _ => self.steps.push(step),
        }
        while self.steps.len() > self.room {
            self.resolution = (2 * self.resolution).max(FINEST);
            let resolution = self.resolution;
            self.steps.dedup_by(|next, last| {
                let joins = joins(last, next, resolution);
                if joins {
                    last.add(next);
                }
                joins
            });
        }
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

fn joins(last: &Step, next: &Step, resolution: u64) -> bool {
    next.end - last.start <= resolution
}

impl Step {
    fn add(&mut self, next: &Step) {
        (self.end, self.last) = (next.end, next.last);
        self.most = self.most.max(next.most);
    }
}

/// Columns: from the start of one step to that of the next, how long it takes, its most, its last.
impl Serialize for Lengths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = 0;
        let starts: Vec<u64> =
            self.steps.iter().map(|step| step.start - std::mem::replace(&mut before, step.start)).collect();
        let mut all = serializer.serialize_struct("Lengths", 4)?;
        all.serialize_field("steps", &starts)?;
        all.serialize_field("durations", &self.steps.iter().map(|s| s.end - s.start).collect::<Vec<_>>())?;
        all.serialize_field("most", &self.steps.iter().map(|s| s.most).collect::<Vec<_>>())?;
        all.serialize_field("last", &self.steps.iter().map(|s| s.last).collect::<Vec<_>>())?;
        all.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_kept_and_the_end_is_true() {
        let mut lengths = Lengths::new(50);
        for burst in 0..1000u64 {
            for i in 0..20 {
                lengths.set(burst * 1_000_000 + i, if i < 10 { i + 1 } else { 19 - i });
            }
        }
        assert!(lengths.steps().len() <= 50);
        assert!(lengths.steps().iter().all(|step| step.most == 10 && step.last == 0));
        let mut few = Lengths::new(50);
        few.set(5, 1);
        few.set(9, 0);
        few.set(10, 0);
        assert_eq!(few.steps()[0], Step { start: 5, end: 5, most: 1, last: 1 });
        assert_eq!(few.steps()[1].last, 0);
    }
}
