//! Variables that were sampled, as counters.

use super::proto::{CounterDescriptor, TrackEvent, Type};
use super::{Track, Writer};
use mel_log::{Sample, title_of_element};

/// Whole numbers up to here are exact as doubles, too.
const EXACT: f64 = (1u64 << 53) as f64;

impl Writer<'_> {
    pub(super) fn add_sample(&mut self, ticks: u64, sample: &Sample) {
        let Sample { variable, element, value } = *sample;
        if !self.titles.contains_key(&variable) {
            return;
        }
        let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
        let track_uuid = Some(self.track(Track::Sampled(variable, element)));
        self.summary.samples += 1;
        let counter = TrackEvent {
            track_uuid,
            counter_value: is_whole.then_some(value as i64),
            double_counter_value: (!is_whole).then_some(value),
            ..TrackEvent::default()
        };
        self.event(ticks, Type::Counter, counter);
    }

    /// The name of a variable's track.
    pub(super) fn sampled_name(&self, variable: u32, element: Option<u32>) -> String {
        title_of_element(self.titles.get(&variable).map_or("?", String::as_str), element)
    }

    /// What the values of a variable count.
    pub(super) fn sampled_unit(&self, variable: u32) -> CounterDescriptor {
        let unit =
            self.log.definitions.variables.get(&variable).map_or("", |variable| variable.unit.as_str());
        match unit {
            "ns" => CounterDescriptor { unit: Some(1), unit_name: None },
            "" => CounterDescriptor { unit: Some(2), unit_name: None },
            "bytes" => CounterDescriptor { unit: Some(3), unit_name: None },
            other => CounterDescriptor { unit: None, unit_name: Some(other.to_owned()) },
        }
    }
}
