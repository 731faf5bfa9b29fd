//! What was read goes into the profile table, and into the event log where there is one, one sample after the other.

use mel_log::Sample as Logged;
use mel_log::table::ProfileTable;
use rustc_hash::FxHashMap;

use super::series::Sample;
use crate::trace::SampleLog;

/// Keeps samples. One thread at a time.
pub(super) struct Keeper {
    table: ProfileTable,
    log: Option<&'static SampleLog>,
    /// The rows of a variable by its number: of the only value or the sum, then of elements. None where there is no space.
    rows: FxHashMap<u32, Vec<Option<u32>>>,
}

impl Keeper {
    /// Keeps them in this table, and in this log.
    pub(super) fn new(table: ProfileTable, log: Option<&'static SampleLog>) -> Keeper {
        Keeper { table, log, rows: FxHashMap::default() }
    }

    /// Keeps a sample.
    pub(super) fn keep(&mut self, sample: &Sample) {
        let (table, series) = (&self.table, &sample.series);
        let rows = self.rows.entry(series.number).or_insert_with(|| {
            let elements = (0..series.elements as u32).map(Some);
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
