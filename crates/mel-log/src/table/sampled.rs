//! Rows of sampled variables: statistics, and a curve of a fixed number of points that halves its resolution when it is full.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::layout::Section;
use super::reader::TableRows;
use super::row::{Column, Row, row};
use super::writer::ProfileTable;
use crate::Definition;
use crate::profile::VariableProfile;

/// The most points of a curve.
pub const POINTS: usize = 128;

row! {
    /// A variable's value on one object, or one of its elements, over time: 2176 bytes. Values are the bits of doubles.
    #[repr(C, align(64))]
    pub struct Sampled =>
    /// How often a row was sampled, as plain values. Times are ticks.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    SampledTimes;
    /// The number of its definition.
    key variable: AtomicU32;
    /// The element plus one; 0 for the only one, or the sum of all.
    key element: AtomicU32;
    /// Samples.
    kept samples;
    /// When the first was taken.
    kept first_at;
    /// When the last was taken.
    kept last_at;
    /// The first value: a double, as those that follow.
    key first;
    /// The last value.
    key last;
    /// By how much it has grown, over the ends of its range too.
    key grown;
    /// How many values, or rates in ticks of what counts up, the next four numbers are of.
    kept count;
    /// The least of them.
    key least;
    /// The greatest.
    key greatest;
    /// Their mean.
    key mean;
    /// The sum of the squares of what they are off their mean.
    key squares;
    /// Points of the curve.
    key points;
    /// One in how many samples is one. When the curve is full, every second point goes, and this doubles.
    key stride;
    /// Not used.
    unused unused;
    /// When the points were.
    key curve_at: [Column; POINTS];
    /// Their values: doubles.
    key curve: [Column; POINTS];
    /// Not used.
    unused unused_too;
}

/// What the values of a row mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Meaning {
    /// They count up: what is told of them are differences, and rates in ticks.
    pub counts: bool,
    /// Where they begin again at zero, if they do.
    pub wraps_at: Option<f64>,
}

fn float(column: &Column) -> f64 {
    f64::from_bits(column.get())
}

fn store(column: &Column, value: f64) {
    column.set(value.to_bits());
}

impl Sampled {
    /// Takes a sample: this value at this time, in ticks. One thread at a time.
    pub fn take(&self, at: u64, value: f64, meaning: Meaning) {
        let before = self.samples.get();
        if before == 0 {
            self.first_at.set(at);
            store(&self.first, value);
        } else if meaning.counts {
            let mut grown = value - float(&self.last);
            if grown < 0.0 {
                grown += meaning.wraps_at.unwrap_or(f64::NAN);
            }
            let passed = at.saturating_sub(self.last_at.get());
            // One that was set back without wrapping has no rate for once.
            if grown >= 0.0 {
                store(&self.grown, float(&self.grown) + grown);
                if passed > 0 {
                    self.count(grown / passed as f64);
                }
            }
        }
        if !meaning.counts {
            self.count(value);
        }
        self.last_at.set(at);
        store(&self.last, value);
        self.add_point(before, at, value);
        self.samples.set(before + 1);
    }

    fn count(&self, value: f64) {
        let count = self.count.get() + 1;
        if count == 1 || value < float(&self.least) {
            store(&self.least, value);
        }
        if count == 1 || value > float(&self.greatest) {
            store(&self.greatest, value);
        }
        let off = value - float(&self.mean);
        let mean = float(&self.mean) + off / count as f64;
        store(&self.mean, mean);
        store(&self.squares, float(&self.squares) + off * (value - mean));
        self.count.set(count);
    }

    fn add_point(&self, number: u64, at: u64, value: f64) {
        let mut stride = self.stride.get().max(1);
        let mut points = (self.points.get() as usize).min(POINTS);
        if points == POINTS && number.is_multiple_of(stride) {
            for kept in 1..POINTS / 2 {
                self.curve_at[kept].set(self.curve_at[2 * kept].get());
                self.curve[kept].set(self.curve[2 * kept].get());
            }
            points = POINTS / 2;
            stride *= 2;
            self.points.set(points as u64);
        }
        self.stride.set(stride);
        if number.is_multiple_of(stride) {
            self.curve_at[points].set(at);
            store(&self.curve[points], value);
            self.points.set(points as u64 + 1);
        }
    }
}

impl ProfileTable {
    /// Adds a row for an element of a variable, or for its only one, or the sum of all (`None`). Its number; `None` where there is no space,
    /// which is counted. One thread at a time.
    #[cold]
    pub fn add_sampled(&self, variable: u32, element: Option<u32>) -> Option<u32> {
        self.add_row(Section::Sampled, |row: &Sampled| {
            row.variable.store(variable, Relaxed);
            row.element.store(element.map_or(0, |element| element + 1), Relaxed);
        })
    }
}

/// A row as plain values. Times are ticks.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the column of that name")]
pub struct SampledRow {
    pub variable: u32,
    pub element: Option<u32>,
    pub samples: u64,
    pub first_at: u64,
    pub last_at: u64,
    pub first: f64,
    pub last: f64,
    pub grown: f64,
    pub count: u64,
    pub least: f64,
    pub greatest: f64,
    pub mean: f64,
    pub squares: f64,
    /// Times ascend; the last point is that of the last sample.
    pub curve: Vec<(u64, f64)>,
}

impl SampledRow {
    /// From a row.
    pub(super) fn of(row: &Sampled) -> SampledRow {
        // What makes no sense, in a file that was damaged, is nothing.
        let value = |column: &Column| Some(float(column)).filter(|value| value.is_finite()).unwrap_or(0.0);
        let SampledTimes { samples, first_at, last_at, count } = row.plain(());
        let points = row.curve_at.iter().zip(&row.curve).map(|(at, of)| (at.get(), value(of)));
        let mut curve: Vec<(u64, f64)> = points.take(row.points.get() as usize).collect();
        if samples > 0 {
            curve.push((last_at, value(&row.last)));
        }
        curve.sort_by_key(|(at, _)| *at);
        // Of one time the last is right: that of the last sample.
        curve.reverse();
        curve.dedup_by_key(|(at, _)| *at);
        curve.reverse();
        SampledRow {
            variable: row.variable.load(Relaxed),
            element: row.element.load(Relaxed).checked_sub(1),
            samples,
            first_at,
            last_at,
            first: value(&row.first),
            last: value(&row.last),
            grown: value(&row.grown),
            count,
            least: value(&row.least),
            greatest: value(&row.greatest),
            mean: value(&row.mean),
            squares: value(&row.squares),
            curve,
        }
    }
}

impl TableRows {
    /// The variables as a rank's profile has them, in the order in which they were taken up. Times are seconds since `MPI_Init*`.
    pub fn variable_profiles(&self) -> Vec<VariableProfile> {
        let rate = self.ticks_per_second.max(1) as f64;
        let seconds = |at: u64| at.saturating_sub(self.started) as f64 / rate;
        let mut all = Vec::new();
        // A later definition of a number replaces an earlier one.
        let mut definitions: std::collections::BTreeMap<u32, VariableProfile> = Default::default();
        for definition in &self.definitions {
            if let Definition::Variable { number, name, description, class, object, of_mpi, .. } = definition
            {
                let variable = VariableProfile {
                    name: name.clone(),
                    description: description.clone(),
                    class: class.clone(),
                    object: object.clone(),
                    of_mpi: *of_mpi,
                    ..VariableProfile::default()
                };
                definitions.insert(*number, variable);
            }
        }
        for row in &self.sampled {
            let Some(variable) = definitions.get_mut(&row.variable) else { continue };
            let scale = if variable.counts() { rate } else { 1.0 };
            let variance = if row.count > 1 { row.squares.max(0.0) / (row.count - 1) as f64 } else { 0.0 };
            all.push(VariableProfile {
                element: row.element,
                samples: row.samples,
                first_s: seconds(row.first_at),
                last_s: seconds(row.last_at),
                first: row.first,
                last: row.last,
                grown: variable.counts().then_some(row.grown),
                min: row.least * scale,
                mean: row.mean * scale,
                max: row.greatest * scale,
                deviation: variance.sqrt() * scale,
                curve: row.curve.iter().map(|(at, value)| (seconds(*at), *value)).collect(),
                ..variable.clone()
            });
        }
        let has_rows = |number: &u32| self.sampled.iter().any(|row| row.variable == *number);
        all.extend(
            definitions.into_iter().filter(|(number, _)| !has_rows(number)).map(|(_, variable)| variable),
        );
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::Identity;
    use super::super::layout::MAX_SAMPLED;
    use super::*;

    fn table() -> ProfileTable {
        let identity =
            Identity { ticks_per_second: 1000, started: 100, runs_since: 100, ..Identity::default() };
        ProfileTable::in_memory(&identity).unwrap()
    }

    fn define(table: &ProfileTable, number: u32, class: &str) {
        table.define(&Definition::Variable {
            number,
            name: format!("variable_{number}"),
            description: String::new(),
            class: class.into(),
            object: "MPI_COMM_WORLD".into(),
            of_mpi: false,
            unit: String::new(),
            is_whole: true,
        });
    }

    #[test]
    fn of_values_there_are_least_greatest_mean_and_deviation() {
        let table = table();
        define(&table, 0, "level");
        let row = table.sampled(table.add_sampled(0, None).unwrap());
        for (at, value) in [(100, 2.0), (200, 4.0), (300, 4.0), (400, 6.0)] {
            row.take(at, value, Meaning::default());
        }
        let all = table.rows().variable_profiles();
        let [variable] = &all[..] else { panic!("{all:?}") };
        assert_eq!((variable.samples, variable.first, variable.last), (4, 2.0, 6.0));
        assert_eq!((variable.min, variable.mean, variable.max), (2.0, 4.0, 6.0));
        assert!((variable.deviation - (8.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((variable.first_s, variable.last_s, variable.grown), (0.0, 0.3, None));
        assert_eq!(variable.curve, [(0.0, 2.0), (0.1, 4.0), (0.2, 4.0), (0.3, 6.0)]);
    }

    #[test]
    fn of_counts_there_are_differences_and_rates_over_the_end_of_their_range_too() {
        let table = table();
        define(&table, 0, "counter");
        let row = table.sampled(table.add_sampled(0, None).unwrap());
        let meaning = Meaning { counts: true, wraps_at: Some(256.0) };
        for (at, value) in [(100, 200.0), (600, 250.0), (1100, 44.0)] {
            row.take(at, value, meaning);
        }
        let variable = &table.rows().variable_profiles()[0];
        assert_eq!((variable.grown, variable.min, variable.max), (Some(100.0), 100.0, 100.0));
        row.take(1600, 4.0, Meaning { counts: true, wraps_at: None });
        assert_eq!(table.rows().variable_profiles()[0].grown, Some(100.0), "set back: no difference");
    }

    #[test]
    fn a_curve_has_a_fixed_number_of_points_from_the_first_sample_to_the_last() {
        let table = table();
        define(&table, 0, "size");
        let row = table.sampled(table.add_sampled(0, None).unwrap());
        for number in 0..10_000u64 {
            row.take(100 + number, number as f64, Meaning::default());
            let curve = &table.rows().sampled[0].curve;
            if number % 97 == 0 {
                assert!(
                    curve.len() <= POINTS + 1 && curve.len() as u64 >= (number + 1).min(POINTS as u64 / 2)
                );
                assert_eq!((curve[0], *curve.last().unwrap()), ((100, 0.0), (100 + number, number as f64)));
                assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
            }
        }
        assert_eq!(table.rows().sampled[0].samples, 10_000);
    }

    #[test]
    fn what_finds_no_space_is_counted_and_an_image_has_all_rows() {
        let table = table();
        define(&table, 0, "size");
        define(&table, 1, "generic");
        for element in 0..MAX_SAMPLED as u32 {
            assert_eq!(table.add_sampled(0, Some(element)), Some(element));
        }
        assert_eq!(table.add_sampled(0, None), None);
        table.sampled(3).take(200, 1.0, Meaning::default());
        table.header().lost_samples.add(2);
        let rows = TableRows::of_image(&table.image(10)).unwrap();
        assert_eq!((rows.sampled.len(), rows.lost_sampled, rows.lost_samples), (MAX_SAMPLED, 1, 2));
        assert_eq!((rows.sampled[3].element, rows.sampled[3].last), (Some(3), 1.0));
        assert_eq!(rows, table.rows());
        let listed = rows.variable_profiles();
        assert_eq!(listed.last().map(|last| (&*last.name, last.samples)), Some(("variable_1", 0)));
    }
}
