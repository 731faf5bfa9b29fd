//! The phases of the program in a table: how long each was, and what is counted in it.

use super::connections::Connection;
use super::counted::{Counted, CountedRow};
use super::layout::{Context, MAX_PHASES, STOPPED, Section, Wait};
use super::queues::{Queues, QueuesKey, WHOSE};
use super::reader::TableRows;
use super::stacks::Stack;
use super::traffic::Traffic;
use super::writer::ProfileTable;
use crate::Definition;
use crate::profile::{self, PhaseProfile};

impl ProfileTable {
    /// The process is in this phase from `at` on, in ticks; in [`STOPPED`] nothing counts. One thread at a time.
    #[cold]
    pub fn enter_phase(&self, phase: u16, at: u64) {
        let header = self.header();
        let before = usize::from(header.phase.get() as u16).min(MAX_PHASES);
        header.phase_ticks[before].add(at.saturating_sub(header.phase_since.get()));
        header.phase_since.set(at);
        header.phase.set(phase.into());
    }

    /// What was counted until `at` is forgotten, but for the queues: calls, waits and the time of each phase. Rows stay. One thread at a
    /// time; of a call that another thread counts meanwhile, some numbers may stay.
    #[cold]
    pub fn clear(&self, at: u64) {
        let header = self.header();
        self.enter_phase(header.phase.get() as u16, at);
        let stopped = &header.phase_ticks[usize::from(STOPPED)];
        for ticks in &header.phase_ticks[..MAX_PHASES] {
            stopped.add(ticks.get());
            ticks.set(0);
        }
        self.clear_rows::<Context>(Section::Contexts);
        self.clear_rows::<Wait>(Section::Waits);
        self.clear_rows::<Traffic>(Section::Traffic);
        self.clear_rows::<Connection>(Section::Connections);
        self.clear_rows::<Stack>(Section::Stacks);
        self.clear_rows::<Counted>(Section::Counted);
        self.clear_regions(at);
        self.clear_attributed();
        header.waited.set(0);
        header.collectives.set(0);
    }
}

/// A phase of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseRow {
    /// Its number, which contexts have in their keys.
    pub number: u16,
    /// Its name; empty for what belongs to no phase.
    pub name: String,
    /// How long the process was in it, in ticks.
    pub ticks: u64,
    /// The queues of the application's messages; absent where the phase has none of its own.
    pub queues: Option<profile::Queues>,
}

/// What the sections of a table say of phases.
pub(super) struct Sections<'a> {
    /// The time in each phase before the one that the process is in, which is its number, and since when.
    pub(super) ticks: &'a [u64],
    pub(super) now: (u16, u64),
    pub(super) queues: &'a [Box<Queues>],
    pub(super) definitions: &'a [Definition],
}

impl TableRows {
    /// Takes phases and queues from their sections, and leaves out what is not to be counted. `until` is when the process was in its phase
    /// at least.
    pub(super) fn set_phases(&mut self, of: &Sections<'_>, until: u64) {
        let time = |phase: u16| {
            let open = if of.now.0 == phase { until.saturating_sub(of.now.1) } else { 0 };
            of.ticks.get(usize::from(phase)).copied().unwrap_or(0).saturating_add(open)
        };
        self.stopped = time(STOPPED);
        self.queues = sums(of.queues, self.ticks_per_second);
        for definition in of.definitions {
            let Definition::Phase { number, name } = definition else { continue };
            if self.phases.is_empty() {
                self.phases.push(PhaseRow::default());
            }
            if self.phases.iter().all(|known| known.number != *number) && *number < STOPPED {
                self.phases.push(PhaseRow { number: *number, name: name.clone(), ..PhaseRow::default() });
            }
        }
        // Most programs name no phase: then all that is counted is that of one set, which is summed up already.
        let is_of = |set: &Queues| set.key().whose == 0 && set.key().phase != STOPPED;
        let is_only = of.queues.iter().filter(|set| is_of(set)).count() == 1;
        for phase in &mut self.phases {
            phase.ticks = time(phase.number);
            let key = QueuesKey { whose: 0, phase: phase.number };
            let queues = of.queues.iter().find(|set| set.key() == key);
            phase.queues = queues.map(|set| match self.queues.first().filter(|_| is_only) {
                Some(all) => all.clone(),
                None => set.stats(self.ticks_per_second),
            });
        }
        self.leave_out_stopped();
    }

    fn leave_out_stopped(&mut self) {
        let stopped: Vec<bool> = self.contexts.iter().map(|row| row.key.phase == STOPPED).collect();
        if !stopped.contains(&true) {
            return;
        }
        let counts = |context: u32| !stopped.get(context as usize).copied().unwrap_or(false);
        for row in self.contexts.iter_mut().filter(|row| row.key.phase == STOPPED) {
            // Others know it by its number.
            *row = super::ContextRow { key: row.key, bins: vec![0; row.bins.len()], ..Default::default() };
        }
        self.waits.retain(|row| counts(row.key.context));
        self.waited.retain(|interval| counts(interval.key.context));
        self.collectives.retain(|interval| counts(interval.key.context));
    }

    /// What the processor counted in these phases; none where it counted nothing, or nothing there.
    pub(super) fn counters(&self, counts: impl Fn(u16) -> bool) -> Option<profile::Counters> {
        let of_phases = self.counted.iter().filter(|row| row.key.phase != STOPPED && counts(row.key.phase));
        let mut all = CountedRow::default();
        of_phases.for_each(|row| all.join(row));
        all.profile(self.ticks_per_second)
    }

    /// The phases as a rank's profile has them, with their names.
    pub fn phase_profiles(&self) -> Vec<PhaseProfile> {
        let seconds = |ticks: u64| ticks as f64 / self.ticks_per_second.max(1) as f64;
        let of_phase = |phase: &PhaseRow| PhaseProfile {
            phase: phase.number.into(),
            name: phase.name.clone(),
            run_s: seconds(phase.ticks),
            computing_s: None,
            counters: self.counters(|of| of == phase.number),
            queues: phase.queues.clone(),
        };
        self.phases.iter().map(of_phase).collect()
    }
}

/// The queues by whose they are, all phases together.
pub fn sums(sets: &[Box<Queues>], ticks_per_second: u64) -> Vec<profile::Queues> {
    let counting = || sets.iter().filter(|set| set.key().phase != STOPPED);
    let known = sets.iter().map(|set| usize::from(set.key().whose) + 1).max().unwrap_or(0).min(WHOSE);
    let of = |whose: usize| {
        let mut sets = counting().filter(|set| usize::from(set.key().whose) == whose);
        let (first, second) = (sets.next(), sets.next());
        match (first, second) {
            (None, _) => profile::Queues::default(),
            (Some(only), None) => only.stats(ticks_per_second),
            (Some(first), Some(second)) => {
                let sum = Box::<Queues>::default();
                [first, second].into_iter().chain(sets).for_each(|set| sum.join(set));
                sum.stats(ticks_per_second)
            }
        }
    };
    (0..known).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{ContextKey, Identity, IntervalKind, WaitKey};
    use super::*;

    fn table() -> ProfileTable {
        let identity = Identity { ticks_per_second: 1000, runs_since: 100, ..Identity::default() };
        ProfileTable::in_memory(&identity).unwrap()
    }

    fn define(table: &ProfileTable, number: u16, name: &str) {
        table.define(&Definition::Phase { number, name: name.into() });
    }

    #[test]
    fn each_phase_has_its_time_and_what_was_stopped_has_none() {
        let table = table();
        define(&table, 1, "solve");
        define(&table, 2, "write");
        for (phase, at) in [(1, 200), (2, 500), (STOPPED, 700), (1, 1000)] {
            table.enter_phase(phase, at);
        }
        table.finish(crate::profile::Ended::Finalised, 1100);
        let rows = table.rows();
        let ticks: Vec<_> = rows.phases.iter().map(|phase| (&*phase.name, phase.ticks)).collect();
        assert_eq!(ticks, [("", 100), ("solve", 400), ("write", 200)]);
        assert_eq!(rows.stopped, 300);
        table.clear(1100);
        let rows = table.rows();
        assert!(rows.phases.iter().all(|phase| phase.ticks == 0));
        assert_eq!(rows.stopped, 1000);
    }

    #[test]
    fn what_was_counted_while_stopped_is_left_out() {
        let table = table();
        let add = |phase| {
            let context = table.add_context(ContextKey { site: 16, phase, ..ContextKey::default() });
            table.context(context).count(10);
            let key = WaitKey { context, peer: 1, peer_context: 0, kind: IntervalKind::LateSender };
            table.wait(table.add_wait(key).unwrap()).count(5, 8);
            table.add_waited(key, 20, 25);
            table.add_collective(context, 0, 0, (30, 40));
            context
        };
        let (counts, stopped) = (add(1), add(STOPPED));
        let rows = table.rows();
        assert_eq!((counts, stopped, rows.contexts.len()), (1, 2, 3));
        assert_eq!((rows.contexts[1].calls, rows.contexts[2].calls), (1, 0));
        assert!(rows.waits.iter().all(|row| row.key.context == counts) && rows.waits.len() == 1);
        assert_eq!((rows.waited.len(), rows.collectives.len()), (1, 1));
        assert_eq!(TableRows::of_image(&table.image(100)).unwrap().waits, rows.waits);
        table.clear(50);
        let rows = table.rows();
        assert!(rows.contexts.iter().all(|row| row.calls == 0 && row.bins.iter().all(|count| *count == 0)));
        assert!(rows.waits.iter().all(|row| row.count == 0) && rows.waited.is_empty());
        table.context(counts).count(7);
        assert_eq!(table.rows().contexts[1].calls, 1);
    }

    #[test]
    fn totals_are_the_sums_over_phases() {
        let table = table();
        define(&table, 1, "solve");
        let add = |whose, phase| table.add_queues(QueuesKey { whose, phase }).unwrap();
        let sets = [add(0, 0), add(1, 0), add(0, 1), add(0, STOPPED)];
        let queues = |place: usize| table.queues(sets[place]);
        queues(0).posted.insert(10);
        queues(0).go_on_in(queues(2), 20);
        queues(2).posted.insert(30);
        queues(2).posted.remove(10, 40);
        queues(2).go_on_in(queues(3), 50);
        queues(3).posted.remove(30, 60);
        let rows = table.rows();
        let of = |queues: &profile::Queues| (queues.posted.messages, queues.posted.max_length);
        assert_eq!(rows.queues.iter().map(of).collect::<Vec<_>>(), [(2, 2), (0, 0)]);
        let by_phase: Vec<_> = rows.phases.iter().map(|phase| phase.queues.as_ref().map(of)).collect();
        assert_eq!(by_phase, [Some((1, 1)), Some((1, 2))]);
    }
}
