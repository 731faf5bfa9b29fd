//! The queues of each communicator, beside the whole queues.
//!
//! As long as the messages of one communicator alone were in the queues, its numbers are those of the whole queues, and an event costs a
//! comparison. From the second communicator on, an event is counted twice, the second time in the row of its communicator, which is found
//! by the place that the event has it at: no hashing, no lock.

use mel_log::table::layout::STOPPED;
use mel_log::table::{BriefQueues, ProfileTable, Queues};
use rustc_hash::FxHashMap;

/// So many communicators have rows of their own; those beyond share one.
pub(super) const MOST: usize = 500;
/// No row.
const NONE: u32 = u32::MAX;
/// Places from here on share a row: such as those of communicators that are gone.
const MOST_PLACES: u32 = 1 << 20;

/// A communicator in whose queues something was.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its number in the definitions; 0 for those that share a row.
    number: u32,
    /// Its row for what counts, and that for what does not.
    rows: [u32; 2],
}

/// Whose queues have something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Who {
    #[default]
    Nobody,
    /// The communicator at this place.
    Only(u32),
    Several,
}

/// The rows of the communicators. One thread at a time counts.
#[derive(Debug, Default)]
pub(super) struct ByCommunicator {
    who: Who,
    /// By the place of a communicator: its row in use.
    rows: Vec<u32>,
    known: Vec<Known>,
    /// By number: the place among those.
    places: FxHashMap<u32, usize>,
    /// Whether the program has stopped counting.
    stopped: bool,
}

/// Tells each set of the whole queues, of which phase it is, and whether it is in use.
pub(super) type EachSet<'a> = dyn Fn(&mut dyn FnMut(&Queues, u16, bool)) + 'a;

/// What is needed of the surroundings.
pub(super) struct Around<'a> {
    pub(super) table: &'a ProfileTable,
    /// The number of the communicator at a place.
    pub(super) number: &'a dyn Fn(u32) -> u32,
    /// The sets of the whole queues, their phases, and whether they are in use.
    pub(super) whole: &'a EachSet<'a>,
}

impl ByCommunicator {
    /// The row in which an event of the communicator at this place is counted; none where that is the only one so far.
    #[inline(always)]
    pub(super) fn row(
        &mut self,
        place: u32,
        around: impl FnOnce(&mut dyn FnMut(&Around<'_>)),
    ) -> Option<u32> {
        match self.who {
            Who::Only(only) if only == place => None,
            Who::Several if (place as usize) < self.rows.len() && self.rows[place as usize] != NONE => {
                Some(self.rows[place as usize])
            }
            _ => {
                let mut found = None;
                around(&mut |around| found = self.find(place, around));
                found
            }
        }
    }

    /// The same of a communicator that has no row yet.
    #[cold]
    #[inline(never)]
    fn find(&mut self, place: u32, around: &Around<'_>) -> Option<u32> {
        if self.who == Who::Nobody {
            self.who = Who::Only(place);
            self.row_of(place, around)?;
            let row = self.row_in(0, false, around.table)?;
            around.table.communicator_queues(row).set_only(true);
            return None;
        }
        self.split(around);
        self.row_of(place, around)
    }

    /// From now on each communicator is counted in its row, also where there is only one.
    pub(super) fn split(&mut self, around: &Around<'_>) {
        if !matches!(self.who, Who::Only(_)) {
            return;
        }
        self.who = Who::Several;
        let Some(only) = self.known.first().copied() else { return };
        (around.whole)(&mut |queues, phase, in_use| {
            let stopped = phase == STOPPED;
            if let Some(row) = self.row_in(0, stopped, around.table) {
                around.table.communicator_queues(row).take_over(queues, in_use);
            }
        });
        around.table.communicator_queues(only.rows[0]).set_only(false);
        // Since it was found the program may have stopped counting, or gone on.
        if let Some(row) = self.row_in(0, self.stopped, around.table) {
            self.rows.iter_mut().filter(|known| **known != NONE).for_each(|known| *known = row);
        }
    }

    /// The row in use of the communicator at this place.
    fn row_of(&mut self, place: u32, around: &Around<'_>) -> Option<u32> {
        let number = if place < MOST_PLACES { (around.number)(place) } else { 0 };
        let index = self.places.get(&number).copied().unwrap_or_else(|| {
            // Without a number is what comes for a communicator that is gone, an envelope that is late: nothing is full for that.
            let is_full = self.known.len() >= MOST && number != 0;
            if is_full {
                around.table.header().shared_queues.add(1);
            }
            let number = if is_full { 0 } else { number };
            *self.places.entry(number).or_insert_with(|| {
                self.known.push(Known { number, rows: [NONE; 2] });
                self.known.len() - 1
            })
        });
        // What counts has a row in any case: readers look for it there.
        self.row_in(index, false, around.table)?;
        let row = self.row_in(index, self.stopped, around.table)?;
        if place < MOST_PLACES {
            let place = place as usize;
            self.rows.resize(self.rows.len().max(place + 1), NONE);
            self.rows[place] = row;
        }
        Some(row)
    }

    /// A row of a communicator, made if there is none.
    fn row_in(&mut self, index: usize, stopped: bool, table: &ProfileTable) -> Option<u32> {
        let known = self.known.get_mut(index)?;
        let row = &mut known.rows[usize::from(stopped)];
        if *row == NONE {
            *row = table.add_communicator_queues(known.number, if stopped { STOPPED } else { 0 })?;
        }
        Some(*row)
    }

    /// Another communicator is at this place from now on.
    pub(super) fn forget_place(&mut self, place: u32, around: &Around<'_>) {
        if self.who == Who::Only(place) {
            self.split(around);
        }
        if let Some(row) = self.rows.get_mut(place as usize) {
            *row = NONE;
        }
    }

    /// The program stops counting, or goes on, at `now` in ticks.
    pub(super) fn set_stopped(&mut self, stopped: bool, now: u64, table: &ProfileTable) {
        if std::mem::replace(&mut self.stopped, stopped) == stopped || self.who != Who::Several {
            return;
        }
        let mut others = FxHashMap::default();
        for index in 0..self.known.len() {
            let rows = [self.row_in(index, !stopped, table), self.row_in(index, stopped, table)];
            let [Some(before), Some(after)] = rows else { continue };
            table.communicator_queues(before).go_on_in(table.communicator_queues(after), now);
            others.insert(before, after);
        }
        for row in &mut self.rows {
            *row = others.get(row).copied().unwrap_or(*row);
        }
    }

    /// Forgets what was counted until `now`, in ticks.
    pub(super) fn clear(&self, now: u64, table: &ProfileTable) {
        if self.who == Who::Several {
            let rows = self.known.iter().flat_map(|known| known.rows).filter(|row| *row != NONE);
            rows.for_each(|row| BriefQueues::clear(table.communicator_queues(row), now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::table::{Identity, QueuesKey};

    /// Counts as the profiler does; gives how many messages and which longest length each communicator has in the posted queue.
    struct Both {
        table: ProfileTable,
        rows: ByCommunicator,
        sets: Vec<(usize, u16)>,
        current: usize,
        now: u64,
    }

    impl Both {
        fn new() -> Both {
            let table =
                ProfileTable::in_memory(&Identity { ticks_per_second: 1000, ..Identity::default() }).unwrap();
            let set = table.add_queues(QueuesKey::default()).unwrap();
            Both { table, rows: ByCommunicator::default(), sets: vec![(set, 0)], current: 0, now: 0 }
        }

        fn around<R>(
            &mut self,
            number: impl Fn(u32) -> u32,
            f: impl FnOnce(&mut ByCommunicator, &Around<'_>) -> R,
        ) -> R {
            let Both { table, rows, sets, current, .. } = self;
            let whole = |each: &mut dyn FnMut(&Queues, u16, bool)| {
                sets.iter().enumerate().for_each(|(place, (set, phase))| {
                    each(table.queues(*set), *phase, place == *current);
                });
            };
            f(rows, &Around { table, number: &number, whole: &whole })
        }

        fn insert(&mut self, place: u32) {
            self.now += 10;
            let row = self.around(|place| place + 1, |rows, around| rows.row(place, |find| find(around)));
            self.table.queues(self.sets[self.current].0).posted.insert(self.now);
            row.iter().for_each(|row| self.table.communicator_queues(*row).posted.insert(self.now));
        }

        fn remove(&mut self, place: u32, since: u64) {
            self.now += 10;
            let row = self.around(|place| place + 1, |rows, around| rows.row(place, |find| find(around)));
            self.table.queues(self.sets[self.current].0).posted.remove(since, self.now);
            row.iter().for_each(|row| self.table.communicator_queues(*row).posted.remove(since, self.now));
        }

        fn stop(&mut self, stopped: bool) {
            let phase = if stopped { STOPPED } else { 0 };
            let before = self.sets[self.current].0;
            self.current = self.sets.iter().position(|(_, of)| *of == phase).unwrap_or_else(|| {
                self.sets.push((self.table.add_queues(QueuesKey { whose: 0, phase }).unwrap(), phase));
                self.sets.len() - 1
            });
            self.table.queues(before).go_on_in(self.table.queues(self.sets[self.current].0), self.now);
            self.rows.set_stopped(stopped, self.now, &self.table);
        }

        /// Number, messages, the longest length, time populated in ticks.
        fn counted(&self) -> Vec<(u32, u64, u64, u64)> {
            let rows = self.table.rows();
            let of = rows.communicator_queues.iter().map(|row| {
                let posted = &row.queues.posted;
                (
                    row.communicator,
                    posted.messages,
                    posted.max_length,
                    (posted.populated_s * 1000.0).round() as u64,
                )
            });
            of.collect()
        }
    }

    #[test]
    fn what_comes_for_a_communicator_that_is_gone_shares_a_row_and_fills_no_table() {
        let mut both = Both::new();
        for place in [0, MOST_PLACES + 3, MOST_PLACES + 9] {
            both.insert(place);
        }
        let numbers: Vec<u32> = both.rows.known.iter().map(|known| known.number).collect();
        assert_eq!((numbers, both.table.header().shared_queues.get()), (vec![1, 0], 0));
    }

    #[test]
    fn one_communicator_alone_has_what_the_whole_queues_have() {
        let mut both = Both::new();
        both.insert(0);
        both.remove(0, 10);
        assert_eq!(both.counted(), [(1, 1, 1, 10)]);
        assert!(both.table.communicator_queues(0).is_only());
    }

    #[test]
    fn from_the_second_on_each_has_its_own() {
        let mut both = Both::new();
        both.insert(0);
        both.insert(0);
        both.remove(0, 10);
        both.insert(3);
        both.remove(0, 20);
        both.remove(3, 40);
        assert_eq!(both.counted(), [(1, 2, 2, 40), (4, 1, 1, 20)]);
        let whole = &both.table.rows().queues[0].posted;
        assert_eq!((whole.messages, whole.max_length), (3, 2));
    }

    #[test]
    fn what_is_counted_while_stopped_is_left_out() {
        for early in [true, false] {
            let mut both = Both::new();
            both.insert(0);
            if early {
                both.insert(1);
            }
            both.stop(true);
            both.insert(0);
            both.remove(0, 10);
            if !early {
                both.insert(1);
            }
            both.insert(0);
            both.remove(0, 20);
            both.stop(false);
            both.insert(1);
            let counted: Vec<_> = both.counted().iter().map(|row| (row.0, row.1, row.2)).collect();
            assert_eq!(counted, [(1, 1, 1), (2, if early { 2 } else { 1 }, 2)], "{early}");
            let sum: u64 = counted.iter().map(|row| row.1).sum();
            assert_eq!(sum, both.table.rows().queues[0].posted.messages);
        }
    }

    #[test]
    fn a_place_that_is_used_again_is_another_communicator() {
        let mut both = Both::new();
        both.insert(2);
        both.remove(2, 10);
        both.around(|_| 9, |rows, around| rows.forget_place(2, around));
        let row = both.around(|_| 9, |rows, around| rows.row(2, |find| find(around))).unwrap();
        both.table.communicator_queues(row).posted.insert(50);
        assert_eq!(both.counted().iter().map(|row| (row.0, row.1)).collect::<Vec<_>>(), [(3, 1), (9, 1)]);
    }

    #[test]
    fn those_beyond_share_one_row() {
        let mut both = Both::new();
        for place in 0..MOST as u32 + 100 {
            both.insert(place);
        }
        both.insert(u32::MAX);
        let counted = both.counted();
        assert_eq!((counted.len(), counted[MOST].0, counted[MOST].1), (MOST + 1, 0, 101));
        both.stop(true);
        both.insert(7);
        let counts =
            |rows: &[(u32, u64, u64, u64)]| rows.iter().map(|row| (row.0, row.1, row.2)).collect::<Vec<_>>();
        assert_eq!(counts(&both.counted()), counts(&counted), "there is space for all that is stopped, too");
    }
}
