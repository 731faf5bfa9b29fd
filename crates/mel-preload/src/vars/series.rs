//! A variable on one object, and a sample of it. What was read goes into the profile table, and into the event log where there is one, one
//! sample after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mel_log::profile::variables::counts;
use mel_log::table::layout::MAX_SAMPLED;
use mel_log::table::{Meaning, ProfileTable};
use mel_log::{Definition, Sample as Logged};
use mpit_events::BindKind;
use mpit_events_entry_points::reading::{Bound, Described, Number};
use mpit_vars::Class;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::trace::SampleLog;

/// Up to so many elements of an array are kept each by itself, beside their sum.
const ELEMENTS: usize = 16;

/// Elements on objects that the program makes have at most so many rows: the others are for sums, and for the whole world.
const ROWS_OF_ELEMENTS: usize = MAX_SAMPLED / 2;

/// A variable on one object.
#[derive(Debug)]
pub(super) struct Series {
    /// The number of its definition, and that.
    pub(super) number: u32,
    pub(super) definition: Definition,
    pub(super) any_thread: bool,
    pub(super) is_ours: bool,
    /// The kind of object that it is bound to, and the object's handle.
    pub(super) object: (BindKind, usize),
    pub(super) meaning: Meaning,
    /// How many elements are kept beside the sum.
    pub(super) elements: usize,
    /// Whether the object is the whole world, or nothing.
    pub(super) is_whole: bool,
    /// Held for one read, and to end it.
    bound: Mutex<Bound>,
}

/// What was read once: the only value or the sum of the elements, then elements.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) series: Arc<Series>,
    /// When, in ticks.
    pub(super) at: u64,
    pub(super) values: SmallVec<[f64; 2]>,
}

impl Series {
    /// A variable that was bound to an object, which `is_whole` if it is the whole world, or nothing.
    pub(super) fn new(
        (number, definition): (u32, Definition),
        variable: &Described,
        object: (BindKind, usize),
        is_whole: bool,
        bound: Bound,
    ) -> Series {
        let (count, counts) = (bound.count(), counts(class_name(variable.class)));
        Series {
            number,
            definition,
            any_thread: bound.is_for_any_thread(),
            is_ours: variable.is_ours,
            object,
            // A sum begins again nowhere that is known.
            meaning: Meaning { counts, wraps_at: bound.element().wraps_at().filter(|_| count == 1) },
            elements: if (2..=ELEMENTS).contains(&count) { count } else { 0 },
            is_whole,
            bound: Mutex::new(bound),
        }
    }

    /// Waits for a read of this variable that is under way, and no longer.
    pub(super) fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same without waiting.
    pub(super) fn try_bound(&self) -> Option<MutexGuard<'_, Bound>> {
        self.bound.try_lock().ok()
    }

    /// A sample at this time, if there is a value. `scratch` is for its elements.
    pub(super) fn sample(
        self: &Arc<Series>,
        bound: &mut Bound,
        at: u64,
        scratch: &mut Vec<f64>,
    ) -> Option<Sample> {
        if !bound.read(scratch) || scratch.is_empty() {
            return None;
        }
        let mut values: SmallVec<[f64; 2]> = SmallVec::new();
        values.push(scratch.iter().sum());
        values.extend(scratch.iter().copied().take(self.elements));
        // Some MPIs have values that are no numbers until there is one.
        values.iter().all(|value| value.is_finite()).then(|| Sample { series: self.clone(), at, values })
    }
}

/// The unit of a variable's values; empty where that is not known.
pub(super) fn unit_of(variable: &Described) -> &'static str {
    match (variable.class, variable.element) {
        // MPI-5.0, section 15.3.7: as `MPI_Wtime` has it.
        (Class::Timer, Some(Number::Double)) => "s",
        (Class::Timer, _) if variable.is_ours => "ns",
        _ if !variable.is_ours => "",
        _ if variable.name.contains("bytes") || variable.name.ends_with("_size") => "bytes",
        _ if variable.name.contains("queue_length") => "entries",
        _ => "",
    }
}

/// The name of a class in the profile.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::State => "state",
        Class::Level => "level",
        Class::Size => "size",
        Class::Percentage => "percentage",
        Class::HighWatermark => "highwatermark",
        Class::LowWatermark => "lowwatermark",
        Class::Counter => "counter",
        Class::Aggregate => "aggregate",
        Class::Timer => "timer",
        Class::Generic => "generic",
    }
}

/// Keeps samples. One thread at a time.
pub(super) struct Keeper {
    table: ProfileTable,
    log: Option<&'static SampleLog>,
    /// The rows of a variable by its number: of the only value or the sum, then of elements. None where there is no space.
    rows: FxHashMap<u32, Vec<Option<u32>>>,
    /// How many rows have elements on objects that the program makes.
    of_elements: usize,
}

impl Keeper {
    /// Keeps them in this table, and in this log.
    pub(super) fn new(table: ProfileTable, log: Option<&'static SampleLog>) -> Keeper {
        Keeper { table, log, rows: FxHashMap::default(), of_elements: 0 }
    }

    /// Keeps a sample.
    pub(super) fn keep(&mut self, sample: &Sample) {
        let (table, series) = (&self.table, &sample.series);
        let rows = self.rows.entry(series.number).or_insert_with(|| {
            let mut elements = series.elements;
            if !series.is_whole {
                // All of them, or none.
                if self.of_elements + elements > ROWS_OF_ELEMENTS {
                    elements = 0;
                }
                self.of_elements += elements;
            }
            let elements = (0..elements as u32).map(Some);
            std::iter::once(None)
                .chain(elements)
                .map(|element| table.add_sampled(series.number, element))
                .collect()
        });
        for (row, value) in rows.iter().zip(&sample.values) {
            if let Some(row) = row {
                table.sampled(*row).take(sample.at, *value, series.meaning);
            }
        }
        if let Some(log) = self.log {
            for (place, value) in (0u32..).zip(&sample.values) {
                let (variable, element) = (series.number, place.checked_sub(1));
                log.take(sample.at, Logged { variable, element, value: *value });
            }
            // So that there is always room for the next.
            log.write();
        }
    }

    /// So many samples were lost.
    pub(super) fn lost(&self, samples: u64) {
        self.table.header().lost_samples.set(samples);
    }

    /// So many more variables on objects are not read at all.
    pub(super) fn left_out(&self, more: u64) {
        self.table.header().lost_sampled.add(more);
    }
}
