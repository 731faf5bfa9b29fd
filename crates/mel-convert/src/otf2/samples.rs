//! Samples of variables on a location of their own: a metric for each variable on each object, and for each of its elements. Ranks share
//! the metrics of one name; whose a value is, the location says.

use std::collections::BTreeMap;

use otf2_writer::{Event, MetricRef, MetricValue};
use rustc_hash::FxHashMap;

use super::track::Track;
use super::{Conversion, ConvertError, Summary};
use mel_log::{RankLog, Sample, title_of_element};

/// The samples of a rank.
pub(super) struct Samples {
    track: Track,
    /// What each variable is called.
    titles: BTreeMap<u32, String>,
    /// Only what occurs is defined: the metric, and whether its values are whole numbers.
    metrics: FxHashMap<Element, Option<(MetricRef, bool)>>,
}

/// The number of a variable, and which of its elements.
type Element = (u32, Option<u32>);

impl Samples {
    pub(super) fn new(track: Track, log: &RankLog) -> Self {
        Samples { track, titles: log.definitions.variable_titles(), metrics: FxHashMap::default() }
    }

    pub(super) fn track(&self) -> &Track {
        &self.track
    }

    pub(super) fn close(self) -> Result<Summary, ConvertError> {
        self.track.close()
    }
}

impl Conversion<'_> {
    /// Writes one sample, taken at this time in ticks. That of a variable that the log does not define is left out, and counted.
    pub(super) fn convert_sample(
        &mut self,
        samples: &mut Samples,
        (position, log): (usize, &RankLog),
        (ticks, sample): (u64, Sample),
    ) -> Result<(), ConvertError> {
        let Sample { variable: number, element, value } = sample;
        let Samples { track, titles, metrics } = samples;
        let metric = *metrics.entry((number, element)).or_insert_with(|| {
            let (variable, title) = (log.definitions.variables.get(&number)?, titles.get(&number)?);
            let title = title_of_element(title, element);
            Some((self.tables.sampled(self.archive.definitions_mut(), &title, variable), variable.is_whole))
        });
        let Some((metric, is_whole)) = metric else {
            *track
                .summary()
                .left_out
                .entry("(sample of a variable that is not defined)".into())
                .or_default() += 1;
            return Ok(());
        };
        track.summary().samples += 1;
        // A conversion from below zero, or from beyond the greatest number, ends there.
        let value = if is_whole { MetricValue::U64(value as u64) } else { MetricValue::F64(value) };
        let time = self.timeline.nanos(position, ticks);
        track.event(time, &Event::Metric { metric, values: &[value] }, &[])
    }
}
