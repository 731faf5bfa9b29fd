//! Calls and searches on rows, a bounded number of slices in each.
//!
//! A row that has room shows every call. One that has not draws neighbours together: whatever lies
//! within its resolution becomes one slice, with the number of calls in it and the time that they took.
//! Long calls stay what they are. The resolution doubles until the row fits.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::class::Class;
use super::moved::Moved;
use super::table::{self, Table};

/// What a slice may be: an MPI function, or a pair of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Name {
    /// Its name.
    pub name: String,
    /// What it does.
    pub class: Class,
    /// Names of the elements of a search; none for others.
    pub elements: Vec<String>,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// MPI calls of a thread.
    Calls,
    /// The innermost region of the program that a thread is in.
    Regions,
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
    /// What is known of it, if it is one.
    pub attributes: Box<[Attribute]>,
}

/// What is known of a call, a search or an epoch. Communicators are places among
/// [those of all logs](super::events::Events::communicators); none where they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Attribute {
    /// A message of a call.
    Message {
        /// Whether the call sends it; else it receives it.
        sent: bool,
        /// The other rank, in the communicator.
        peer: i32,
        /// Its tag.
        tag: i32,
        /// Its size.
        bytes: u64,
        /// Its communicator.
        communicator: Option<u32>,
        /// Nanoseconds in the unexpected queue; 0 if it was not there.
        unexpected_ns: u64,
    },
    /// What a collective call moves.
    Collective {
        /// The root; negative without one.
        root: i32,
        /// What this rank sends.
        sent_bytes: u64,
        /// What this rank receives.
        received_bytes: u64,
        /// The communicator.
        communicator: Option<u32>,
    },
    /// An operation on a window.
    Operation {
        /// Its name among [`OPERATIONS`](mel_convert::one_sided::OPERATIONS).
        operation: &'static str,
        /// The rank whose memory it is, in the group of the window.
        target: i32,
        /// Number of the window.
        window: u16,
        /// What it reads or writes there.
        bytes: u64,
    },
    /// Operations on windows that a call completes.
    Completion {
        /// How many.
        operations: u64,
        /// What the longest of them took, in nanoseconds.
        longest_ns: u64,
    },
    /// What the library moves in a call below the calls.
    Below(Moved),
    /// How much a call has in all, where not all is listed.
    All {
        /// Messages.
        messages: usize,
        /// Operations on windows.
        operations: usize,
    },
    /// A search of a queue.
    Search {
        /// The values of the [elements](Name::elements) of its name.
        elements: Box<[i64]>,
        /// The communicator.
        communicator: Option<u32>,
    },
    /// An epoch of a window.
    Epoch {
        /// The rank that is locked, in the group of the window; -1 for all.
        target: i32,
        /// Number of the window.
        window: u16,
        /// Operations that are started in it.
        operations: u64,
        /// Their bytes.
        bytes: u64,
    },
}

impl Attribute {
    /// The place of its communicator.
    fn communicator(&mut self) -> Option<&mut Option<u32>> {
        match self {
            Attribute::Message { communicator, .. }
            | Attribute::Collective { communicator, .. }
            | Attribute::Search { communicator, .. } => Some(communicator),
            _ => None,
        }
    }
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

/// Where drawing together begins, in nanoseconds.
const FINEST: u64 = 64;

impl Row {
    /// A row for at most `most` slices.
    pub fn new(rank: u32, thread: u32, kind: RowKind, most: usize) -> Row {
        Row { rank, thread, kind, resolution: 0, slices: Vec::new(), most: most.max(16) }
    }

    /// Adds a call or search that began after those that were added before; of a call with its place among the call sites.
    pub fn push(&mut self, (start, end): (u64, u64), name: u16, site: u32, attributes: &[Attribute]) {
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
    pub fn finish(&mut self, names: &[u16], communicators: &[u32], sites: &[u32]) {
        self.slices.sort_by_key(|slice| slice.start);
        for slice in &mut self.slices {
            slice.name = names.get(usize::from(slice.name)).copied().unwrap_or(0);
            let place = slice.site.checked_sub(1).and_then(|place| sites.get(place as usize));
            slice.site = place.map_or(0, |place| place + 1);
            for known in slice.attributes.iter_mut().filter_map(Attribute::communicator) {
                *known = known.and_then(|number| communicators.get(number as usize)).copied();
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

/// Slices that several calls share.
#[derive(Serialize)]
struct Several {
    of: usize,
    count: u32,
    busy_ns: u64,
    longest_ns: u64,
}

/// Columns: a page with a hundred thousand slices stays small. `steps` has the nanoseconds from the beginning of one
/// slice to that of the next, `durations` what each takes, `names` what it is, `sites` its [call site](Slice::site); `several` is a
/// table of the slices with more than one call, `attributes` a table for each kind of [`Attribute`].
/// Their column `of` has the places of slices.
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
        let several = self.slices.iter().enumerate().filter(|(_, slice)| slice.count > 1);
        let several = several.map(|(of, slice)| Several {
            of,
            count: slice.count,
            busy_ns: slice.busy,
            longest_ns: slice.longest,
        });
        let attributes = self.slices.iter().enumerate();
        let attributes = attributes.flat_map(|(of, slice)| slice.attributes.iter().map(move |one| (of, one)));
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
        row.serialize_field("several", &Table(several.collect()))?;
        row.serialize_field("attributes", &table::tables::<_, S::Error>(attributes)?)?;
        row.serialize_field("sites", &sites.unwrap_or_default())?;
        row.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(root: i32) -> Attribute {
        Attribute::Collective { root, sent_bytes: 8, received_bytes: 0, communicator: Some(1) }
    }

    #[test]
    fn communicators_have_the_numbers_of_all_logs() {
        let mut row = Row::new(0, 0, RowKind::Calls, 100);
        row.push((0, 1), 0, 0, &[root(0)]);
        row.finish(&[0], &[5, 4], &[]);
        let [Attribute::Collective { communicator, .. }] = *row.slices()[0].attributes else { panic!() };
        assert_eq!(communicator, Some(4));
    }

    #[test]
    fn a_row_with_room_keeps_everything() {
        let mut row = Row::new(0, 0, RowKind::Calls, 100);
        for i in 0..100 {
            row.push((i * 10, i * 10 + 5), 1, 0, &[root(i as i32)]);
        }
        assert_eq!((row.slices().len(), row.resolution), (100, 0));
        assert_eq!(*row.slices()[7].attributes, [root(7)]);
    }

    #[test]
    fn a_full_row_keeps_long_calls_and_counts_short_ones() {
        let mut row = Row::new(0, 0, RowKind::Calls, 100);
        let mut busy = 0;
        for i in 0..100_000u64 {
            let duration = if i == 50_000 { 900_000 } else { 5 };
            let start = i * 10 + if i > 50_000 { 900_000 } else { 0 };
            row.push(
                (start, start + duration),
                u16::from(duration > 5),
                1 + u32::from(duration > 5),
                &[root(1)],
            );
            busy += duration;
        }
        row.finish(&[3, 4], &[0, 1], &[7, 8]);
        assert!(row.slices().len() <= 100 && row.resolution > 0);
        assert_eq!(row.slices().iter().map(|s| u64::from(s.count)).sum::<u64>(), 100_000);
        assert_eq!(row.slices().iter().map(|s| s.busy).sum::<u64>(), busy);
        let long = row.slices().iter().find(|slice| slice.name == 4).unwrap();
        assert_eq!((long.count, long.longest, long.site, &*long.attributes), (1, 900_000, 9, &[root(1)][..]));
        assert!(row.slices().iter().all(|slice| slice.name == 4 || slice.site == 8));
        assert!(row.slices().is_sorted_by_key(|slice| slice.start));
    }
}
