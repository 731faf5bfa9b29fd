//! Rows of attribution: what performance variables did in each context. A context has one row of its own, and one for each variable.

use super::layout::{ATTRIBUTED_BYTES, MAX_ATTRIBUTED};
use super::row::{Column, Row, row};
use super::writer::ProfileTable;

/// The MPI function of contexts that stand for what is outside of MPI calls: no function has this number.
pub const OUTSIDE: u16 = u16::MAX;

/// How the values of a variable are put together: by its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// It counts up (`COUNTER`, `AGGREGATE`, `TIMER`): differences are added up.
    #[default]
    Difference,
    /// It goes up and down (`LEVEL`, `PERCENTAGE`): values have a mean, a least and a greatest one.
    Level,
    /// It is the most or the least so far (`HIGHWATERMARK`, `LOWWATERMARK`): how often, and by how much, it has changed.
    Watermark,
    /// It says how something is (`STATE`, `SIZE`): the last value counts.
    State,
}

impl Arithmetic {
    /// That of a class, by its name in lower case; none of what is only listed.
    pub fn of_class(class: &str) -> Option<Arithmetic> {
        Some(match class {
            "counter" | "aggregate" | "timer" => Arithmetic::Difference,
            "level" | "percentage" => Arithmetic::Level,
            "highwatermark" | "lowwatermark" => Arithmetic::Watermark,
            "state" | "size" => Arithmetic::State,
            _ => return None,
        })
    }
}

/// By how much something that counts up has grown from one value to the next. Where its range ends at `wraps_at` (0: nowhere), it may have
/// begun again at zero. What was set back has not grown.
#[inline(always)]
pub fn growth(before: u64, value: u64, wraps_at: u64) -> u64 {
    if value >= before {
        value - before
    } else if before - value > wraps_at / 2 && wraps_at != 0 {
        value.wrapping_add(wraps_at.wrapping_sub(before))
    } else {
        0
    }
}

row! {
    /// A variable that is attributed: 64 bytes.
    #[repr(C, align(64))]
    pub struct AttributedVariable =>
    /// A variable's row as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    AttributedVariableRow;
    /// The first value.
    kept first;
    /// The last value that was read.
    kept last;
    /// By how much it has grown between these, if it counts up and is read by a function.
    sum grown;
    /// How often it was read; 0 of what is no more than a load.
    kept reads;
    /// The time that took.
    kept ticks;
    /// One in how many calls is read now.
    kept every;
    /// The most that this was.
    kept most_every;
    /// Not used.
    unused unused;
}

impl AttributedVariable {
    /// The last value, which is `value` from now on. One thread at a time.
    #[inline(always)]
    pub fn replace(&self, value: u64) -> u64 {
        let before = self.last.get();
        self.last.set(value);
        before
    }

    /// The same of something that only grows, with other threads at the same time: never less than it was.
    #[inline(always)]
    pub fn advance(&self, value: u64) -> u64 {
        self.last.fetch_max(value)
    }
}

row! {
    /// How often a context was there: 64 bytes, which only its thread writes.
    #[repr(C, align(64))]
    pub struct AttributedContext =>
    /// How often a context was there, as plain values.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    AttributedTimes;
    /// Calls, or stretches between calls.
    sum times;
    /// Those of them in which variables were read that are read in some calls only.
    sum read;
    /// Not used.
    unused unused: [Column; 6];
}

row! {
    /// What a variable did in a context: 64 bytes, which only the context's thread writes. Values are whole numbers: of what has fractions, and of
    /// times, of the parts that the definition gives, so that differences add up exactly.
    #[repr(C, align(64))]
    pub struct Attributed =>
    /// What a variable did in a context, as plain values; all zero where nothing happened.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    AttributedRow;
    /// Of differences, of the values of a level, or of a watermark's changes: as the variable's arithmetic is.
    sum sum;
    /// Differences, each times the calls that it stands for.
    sum weighted;
    /// How many differences were not zero, how many values were taken, or how many changes there were.
    sum count;
    /// The least of the differences that are not zero, or of the values.
    least least;
    /// The greatest of these.
    max greatest;
    /// The last value of what has no differences.
    last value;
    /// Not used.
    unused unused: [Column; 2];
}

impl Attributed {
    /// It has grown by this, which is not zero, in one of `weight` calls.
    #[inline(always)]
    pub fn grew(&self, by: u64, weight: u64) {
        self.sum.add(by);
        self.weighted.add(by.wrapping_mul(weight));
        self.count.add(1);
        self.least.raise(!by);
        self.greatest.raise(by);
    }

    /// It was `before`, and is `value` now; not for what has differences.
    #[inline]
    pub fn was_read(&self, arithmetic: Arithmetic, before: u64, value: u64) {
        match arithmetic {
            Arithmetic::Level => {
                self.sum.add(value);
                self.count.add(1);
            }
            _ if before != value => {
                self.sum.add(value.wrapping_sub(before));
                self.count.add(1);
            }
            _ => {}
        }
        self.least.raise(!value);
        self.greatest.raise(value);
        self.value.set(value);
    }
}

/// The rows of one context.
#[derive(Clone, Copy, Debug)]
pub struct OfContext<'a> {
    /// How often it was there.
    pub context: &'a AttributedContext,
    /// By variable.
    pub variables: &'a [Attributed],
}

impl ProfileTable {
    /// So many variables are attributed from now on, by all contexts that there are and that will be; whether there is space for that.
    /// Once, before anybody counts.
    #[cold]
    pub fn begin_attribution(&self, variables: usize) -> bool {
        let header = self.header();
        if variables == 0 || variables > MAX_ATTRIBUTED || header.attributed.get() != 0 {
            return false;
        }
        let contexts = header.contexts.get();
        if !self.reserve_attributed_variables() || !self.reserve_attributed(contexts, variables) {
            return false;
        }
        header.attributed.set(variables as u64);
        header.attributed_contexts.set(contexts);
        true
    }

    /// There are so many contexts now. One thread at a time.
    pub(super) fn attribute_contexts(&self, contexts: u64) {
        let variables = self.header().attributed.get() as usize;
        if variables > 0 && self.reserve_attributed(contexts, variables) {
            std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
            self.header().attributed_contexts.raise(contexts);
        }
    }

    /// Forgets what was attributed: all variables begin anew at their last values.
    pub(super) fn clear_attributed(&self) {
        let header = self.header();
        for place in 0..header.attributed.get() as usize {
            let variable = self.attributed_variable(place);
            variable.first.set(variable.last.get());
            variable.clear();
        }
        if header.attributed.get() > 0 {
            for context in 0..header.attributed_contexts.get() as u32 {
                let rows = self.attributed(context);
                rows.variables.iter().for_each(Row::clear);
                rows.context.clear();
            }
        }
    }
}

/// Bytes of the rows of so many contexts; `None` where there is no space for them.
pub(super) fn bytes_of(contexts: u64, variables: usize) -> Option<usize> {
    let bytes = (contexts as usize).checked_mul((variables + 1) * size_of::<Attributed>())?;
    (bytes <= ATTRIBUTED_BYTES).then_some(bytes)
}

/// The rows of a context, as plain values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributedContextRow {
    /// Calls, or stretches between calls.
    pub times: u64,
    /// Those in which variables were read that are read in some calls only.
    pub read: u64,
    /// By variable.
    pub variables: Vec<AttributedRow>,
}

impl AttributedContextRow {
    /// From the bytes of the rows of a context.
    pub(super) fn of_bytes(rows: &[u8]) -> AttributedContextRow {
        let mut rows = rows.chunks_exact(size_of::<Attributed>());
        let AttributedTimes { times, read } =
            AttributedContext::of_bytes(rows.next().unwrap_or_default()).plain(());
        let variables = rows.map(|row| Attributed::of_bytes(row).plain(())).collect();
        AttributedContextRow { times, read, variables }
    }
}

const _: () = {
    assert!(size_of::<AttributedVariable>() == 64);
    assert!(size_of::<AttributedContext>() == 64 && size_of::<Attributed>() == 64);
};

#[cfg(test)]
mod tests {
    use super::super::{ContextKey, Identity, TableRows};
    use super::*;

    #[test]
    fn what_counts_up_has_grown_over_the_end_of_its_range_too() {
        assert_eq!(growth(3, 10, 0), 7);
        assert_eq!(growth(250, 4, 256), 10);
        assert_eq!(growth(250, 4, 0), 0, "set back");
        assert_eq!(growth(100, 90, 256), 0, "set back, not wrapped");
        assert_eq!(growth(u32::MAX as u64, 1, 1 << 32), 2);
    }

    #[test]
    fn each_class_has_its_arithmetic() {
        let of = Arithmetic::of_class;
        assert_eq!(of("timer"), Some(Arithmetic::Difference));
        assert_eq!(of("percentage"), Some(Arithmetic::Level));
        assert_eq!(of("lowwatermark"), Some(Arithmetic::Watermark));
        assert_eq!(of("size"), Some(Arithmetic::State));
        assert_eq!(of("generic"), None);

        let row = Attributed::default();
        [4, 2, 9].into_iter().for_each(|by| row.grew(by, 3));
        assert_eq!((row.sum.get(), row.weighted.get(), row.count.get()), (15, 45, 3));
        assert_eq!((!row.least.get(), row.greatest.get()), (2, 9));

        let row = Attributed::default();
        for (before, value) in [(0, 5), (5, 5), (5, 2)] {
            row.was_read(Arithmetic::Level, before, value);
        }
        assert_eq!((row.sum.get(), row.count.get(), row.value.get()), (12, 3, 2));
        assert_eq!((!row.least.get(), row.greatest.get()), (2, 5));

        let row = Attributed::default();
        for (before, value) in [(1, 5), (5, 5), (5, 8)] {
            row.was_read(Arithmetic::Watermark, before, value);
        }
        assert_eq!((row.sum.get(), row.count.get(), row.value.get()), (7, 2, 8));

        let row = Attributed::default();
        row.was_read(Arithmetic::State, 7, 3);
        assert_eq!((row.value.get(), row.count.get()), (3, 1));
    }

    #[test]
    fn contexts_have_rows_as_they_come_and_an_image_has_them_all() {
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        assert_eq!(table.rows().attributed_variables, []);
        let before = table.add_context(ContextKey { site: 1, ..ContextKey::default() });
        assert!(table.begin_attribution(2) && !table.begin_attribution(2));
        let after =
            table.add_context(ContextKey { site: 2, function: OUTSIDE, region: 7, ..Default::default() });
        for context in [before, after, 99] {
            let rows = table.attributed(context);
            assert_eq!(rows.variables.len(), 2);
            rows.context.times.add(1);
            rows.variables[1].grew(u64::from(context), 1);
        }
        table.attributed_variable(1).first.set(3);
        table.attributed_variable(1).replace(10);
        let rows = TableRows::of_image(&table.image(10)).unwrap();
        assert_eq!(rows, table.rows());
        assert_eq!(rows.attributed_variables.len(), 2);
        assert_eq!((rows.attributed_variables[1].first, rows.attributed_variables[1].last), (3, 10));
        let sums: Vec<u64> = rows.attributed.iter().map(|of| of.variables[1].sum).collect();
        assert_eq!(sums, [99, 1, 2], "what has no row of its own counts in the first");
        assert_eq!(rows.contexts[2].key.region, 7);
        table.clear(0);
        let rows = table.rows();
        assert!(
            rows.attributed.iter().all(|of| of.times == 0 && of.variables[1] == AttributedRow::default())
        );
        assert_eq!(rows.attributed_variables[1].first, 10);
    }

    #[test]
    fn what_finds_no_space_counts_in_the_first_row() {
        let table = ProfileTable::in_memory(&Identity::default()).unwrap();
        assert!(table.begin_attribution(MAX_ATTRIBUTED));
        for site in 0..10_000 {
            let context = table.add_context(ContextKey { site, ..ContextKey::default() });
            table.attributed(context).variables[127].grew(1, 1);
        }
        let rows = table.rows();
        assert_eq!(rows.contexts.len(), 10_001);
        assert_eq!(rows.attributed.iter().map(|of| of.variables[127].sum).sum::<u64>(), 10_000);
        assert!(rows.attributed.len() < 10_000 && rows.attributed[0].variables[127].sum > 0);
    }
}
