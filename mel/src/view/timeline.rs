//! Calls and searches on rows, a bounded number of slices in each.
//!
//! A row that has room shows every call. One that has not draws neighbours together: whatever lies
//! within its resolution becomes one slice, with the number of calls in it and the time that they took.
//! Long calls stay what they are. The resolution doubles until the row fits.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::class::Class;

/// What a slice may be: an MPI function, or a pair of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Name {
    /// Its name.
    pub name: String,
    /// What it does.
    pub class: Class,
    /// Names of the attributes of its slices; for calls none: theirs are messages.
    pub elements: Vec<String>,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// MPI calls of a thread.
    Calls,
    /// Searches of the queues.
    Searches,
    /// Epochs of windows.
    Epochs,
    /// Times in which recording was off.
    Pauses,
}

/// One call, one search, or several that are too short to be seen apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// When it begins and ends, in nanoseconds.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Index of its [`Name`]; of several, that of the longest.
    pub name: u16,
    /// How many there are in it.
    pub count: u32,
    /// The sum of their durations, in nanoseconds.
    pub busy: u64,
    /// The duration of the longest, in nanoseconds.
    pub longest: u64,
    /// From where it was called, or the longest of several: its place among the call sites, counted from 1; 0 if not known.
    pub site: u32,
    /// Its attributes, if it is one. For a search its elements and its communicator, for an epoch its elements. For a call
    /// groups of [`GROUP`] numbers, and the number of its messages and operations if it has more than are listed:
    ///
    /// - a message: 1 if it was sent, else 0; peer, tag, bytes, communicator, nanoseconds in the unexpected queue or 0
    /// - a collective operation: 2, root, bytes received, bytes sent, communicator, 0
    /// - an operation on a window: 3 and its place among the kinds; target, window, bytes, -1, 0
    /// - what the library has moved in it below the calls: 10, operations to others, their bytes, bytes from others, -1, operations
    ///   from others
    /// - what it completed: 9, number of operations, nanoseconds that the longest took, 0, -1, 0
    pub attributes: Box<[i64]>,
}

/// A row of the timeline.
#[derive(Clone, Debug)]
pub struct Row {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The application's thread.
    pub thread: u32,
    /// What it shows.
    pub kind: RowKind,
    /// Slices within so many nanoseconds are drawn together; 0 where each has been kept.
    pub resolution: u64,
    slices: Vec<Slice>,
    most: usize,
}

/// Numbers of each message and operation among the attributes of a call.
pub const GROUP: usize = 6;
/// Where the communicator is among them.
const COMMUNICATOR: usize = 4;

/// Where drawing together begins, in nanoseconds.
const FINEST: u64 = 64;

impl Row {
    /// A row for at most `most` slices.
    pub fn new(rank: u32, thread: u32, kind: RowKind, most: usize) -> Row {
        Row { rank, thread, kind, resolution: 0, slices: Vec::new(), most: most.max(16) }
    }

    /// Adds a call or search that began after those that were added before; of a call with its place among the call sites.
    pub fn push(&mut self, (start, end): (u64, u64), name: u16, site: u32, attributes: &[i64]) {
        let busy = end.saturating_sub(start);
        let same_place = self.resolution > 0
            && self.slices.last().is_some_and(|last| together(last, start, end, self.resolution));
        if let Some(last) = self.slices.last_mut().filter(|_| same_place) {
            let attributes = Box::default();
            let one = Slice { start, end, name, count: 1, busy, longest: busy, site, attributes };
            return last.add(&one);
        }
        let attributes = attributes.into();
        self.slices.push(Slice { start, end, name, count: 1, busy, longest: busy, site, attributes });
        while self.slices.len() > self.most {
            self.resolution = (2 * self.resolution).max(FINEST);
            self.draw_together();
        }
    }

    fn draw_together(&mut self) {
        let resolution = self.resolution;
        self.slices.sort_by_key(|slice| slice.start);
        self.slices.dedup_by(|next, last| {
            let together = together(last, next.start, next.end, resolution);
            if together {
                last.add(next);
            }
            together
        });
    }

    /// The slices in the order of their beginnings.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Puts the slices in order, and gives their names, communicators and call sites other numbers.
    pub fn finish(&mut self, names: &[u16], communicators: &[i64], sites: &[u32]) {
        self.slices.sort_by_key(|slice| slice.start);
        for slice in &mut self.slices {
            slice.name = names.get(usize::from(slice.name)).copied().unwrap_or(0);
            let place = slice.site.checked_sub(1).and_then(|place| sites.get(place as usize));
            slice.site = place.map_or(0, |place| place + 1);
            let renumber = |number: &mut i64| {
                let known = usize::try_from(*number).ok().and_then(|number| communicators.get(number));
                *number = known.copied().unwrap_or(-1);
            };
            match self.kind {
                // What follows the last message is the number of all.
                RowKind::Calls => {
                    slice.attributes.iter_mut().skip(COMMUNICATOR).step_by(GROUP).for_each(renumber);
                }
                RowKind::Searches => slice.attributes.last_mut().into_iter().for_each(renumber),
                RowKind::Epochs | RowKind::Pauses => {}
            }
        }
    }
}

fn together(last: &Slice, start: u64, end: u64, resolution: u64) -> bool {
    start >= last.start && end.max(last.end) - last.start <= resolution
}

impl Slice {
    fn add(&mut self, other: &Slice) {
        self.end = self.end.max(other.end);
        self.count = self.count.saturating_add(other.count);
        self.busy = self.busy.saturating_add(other.busy);
        if other.longest > self.longest {
            (self.longest, self.name, self.site) = (other.longest, other.name, other.site);
        }
        self.attributes = Box::default();
    }
}

/// Columns of numbers: a page with a hundred thousand slices stays small.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let column = |of: fn(&Slice) -> u64| self.slices.iter().map(of).collect::<Vec<u64>>();
        let mut before = 0;
        // From the beginning of one slice to that of the next.
        let steps: Vec<u64> = self
            .slices
            .iter()
            .map(|slice| slice.start - std::mem::replace(&mut before, slice.start))
            .collect();
        let several: Vec<(usize, u32, u64, u64)> = (self.slices.iter().enumerate())
            .filter(|(_, slice)| slice.count > 1)
            .map(|(i, slice)| (i, slice.count, slice.busy, slice.longest))
            .collect();
        let attributes: Vec<(usize, &[i64])> = (self.slices.iter().enumerate())
            .filter(|(_, slice)| !slice.attributes.is_empty())
            .map(|(i, slice)| (i, &*slice.attributes))
            .collect();
        // Only of calls, and only where it was recorded.
        let sites = self.slices.iter().any(|slice| slice.site > 0).then(|| column(|slice| slice.site.into()));
        let mut row = serializer.serialize_struct("Row", 10)?;
        row.serialize_field("rank", &self.rank)?;
        row.serialize_field("thread", &self.thread)?;
        row.serialize_field("kind", &self.kind)?;
        row.serialize_field("resolution_ns", &self.resolution)?;
        row.serialize_field("steps", &steps)?;
        row.serialize_field("durations", &column(|slice| slice.end - slice.start))?;
        row.serialize_field("names", &column(|slice| slice.name.into()))?;
        row.serialize_field("several", &several)?;
        row.serialize_field("attributes", &attributes)?;
        row.serialize_field("sites", &sites.unwrap_or_default())?;
        row.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_with_room_keeps_everything() {
        let mut row = Row::new(0, 0, RowKind::Calls, 100);
        for i in 0..100 {
            row.push((i * 10, i * 10 + 5), 1, 0, &[i as i64]);
        }
        assert_eq!((row.slices().len(), row.resolution), (100, 0));
        assert_eq!(&*row.slices()[7].attributes, [7]);
    }

    #[test]
    fn a_full_row_keeps_long_calls_and_counts_short_ones() {
        let mut row = Row::new(0, 0, RowKind::Calls, 100);
        let mut busy = 0;
        for i in 0..100_000u64 {
            let duration = if i == 50_000 { 900_000 } else { 5 };
            let start = i * 10 + if i > 50_000 { 900_000 } else { 0 };
            row.push((start, start + duration), u16::from(duration > 5), 1 + u32::from(duration > 5), &[1]);
            busy += duration;
        }
        row.finish(&[3, 4], &[], &[7, 8]);
        assert!(row.slices().len() <= 100 && row.resolution > 0);
        assert_eq!(row.slices().iter().map(|s| u64::from(s.count)).sum::<u64>(), 100_000);
        assert_eq!(row.slices().iter().map(|s| s.busy).sum::<u64>(), busy);
        let long = row.slices().iter().find(|slice| slice.name == 4).unwrap();
        assert_eq!((long.count, long.longest, long.site, &*long.attributes), (1, 900_000, 9, &[1][..]));
        assert!(row.slices().iter().all(|slice| slice.name == 4 || slice.site == 8));
        assert!(row.slices().is_sorted_by_key(|slice| slice.start));
    }
}
