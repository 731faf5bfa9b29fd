//! Metrics: numbers that are recorded over time, such as the length of a queue. Attributes: named, typed values that events may carry.

use serde::{Deserialize, Serialize};

use super::{Definitions, next_number};
use crate::{
    refs::{AttributeRef, MetricMemberRef, MetricRef, StringRef},
    value::Type,
};

/// One number that is recorded over time.
///
/// A value counts `value × base ^ exponent` units: bytes in KiB are base binary, exponent 10.
#[derive(Clone, Copy, Debug)]
pub struct MetricMember<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it means, in a sentence.
    pub description: &'a str,
    /// Where it comes from.
    pub origin: MetricOrigin,
    /// What a value says about which time.
    pub mode: MetricMode,
    /// The type of the values: `I64`, `U64` or `F64`.
    pub value_type: Type,
    /// The base of the scale.
    pub base: MetricBase,
    /// The exponent of the scale.
    pub exponent: i64,
    /// The unit, such as "messages" or "s".
    pub unit: &'a str,
}

/// Where a metric comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum MetricOrigin {
    /// Anywhere else.
    Other = otf2_sys::OTF2_METRIC_TYPE_OTHER as u8,
    /// A hardware counter, by PAPI.
    Papi = otf2_sys::OTF2_METRIC_TYPE_PAPI as u8,
    /// `getrusage`.
    Rusage = otf2_sys::OTF2_METRIC_TYPE_RUSAGE as u8,
    /// The user.
    User = otf2_sys::OTF2_METRIC_TYPE_USER as u8,
}

/// What a value says about which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum MetricMode {
    /// The sum since the start of the measurement.
    AccumulatedStart = otf2_sys::OTF2_METRIC_ACCUMULATED_START as u8,
    /// A sum, valid at this time only.
    AccumulatedPoint = otf2_sys::OTF2_METRIC_ACCUMULATED_POINT as u8,
    /// The sum since the value before.
    AccumulatedLast = otf2_sys::OTF2_METRIC_ACCUMULATED_LAST as u8,
    /// The sum until the next value.
    AccumulatedNext = otf2_sys::OTF2_METRIC_ACCUMULATED_NEXT as u8,
    /// The value at this time.
    AbsolutePoint = otf2_sys::OTF2_METRIC_ABSOLUTE_POINT as u8,
    /// The value from the one before to now.
    AbsoluteLast = otf2_sys::OTF2_METRIC_ABSOLUTE_LAST as u8,
    /// The value from now to the next one: the length of a queue, recorded when it changes.
    AbsoluteNext = otf2_sys::OTF2_METRIC_ABSOLUTE_NEXT as u8,
    /// The change at this time.
    RelativePoint = otf2_sys::OTF2_METRIC_RELATIVE_POINT as u8,
    /// The change since the value before.
    RelativeLast = otf2_sys::OTF2_METRIC_RELATIVE_LAST as u8,
    /// The change until the next value.
    RelativeNext = otf2_sys::OTF2_METRIC_RELATIVE_NEXT as u8,
}

/// The base of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum MetricBase {
    /// Powers of 2.
    Binary = otf2_sys::OTF2_BASE_BINARY as u8,
    /// Powers of 10.
    Decimal = otf2_sys::OTF2_BASE_DECIMAL as u8,
}

/// Numbers that are recorded together, by one event.
#[derive(Clone, Copy, Debug)]
pub struct MetricClass<'a> {
    /// The numbers, in the order of the event's values; 1 to 255.
    pub members: &'a [MetricMemberRef],
    /// How the events relate to the regions of the location.
    pub occurrence: MetricOccurrence,
    /// What records them.
    pub recorder: RecorderKind,
}

/// How metric events relate to the regions of their location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum MetricOccurrence {
    /// One at each enter and each leave.
    SynchronousStrict = otf2_sys::OTF2_METRIC_SYNCHRONOUS_STRICT as u8,
    /// Only at an enter or a leave.
    Synchronous = otf2_sys::OTF2_METRIC_SYNCHRONOUS as u8,
    /// At any time.
    Asynchronous = otf2_sys::OTF2_METRIC_ASYNCHRONOUS as u8,
}

/// What records a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum RecorderKind {
    /// Not known.
    Unknown = otf2_sys::OTF2_RECORDER_KIND_UNKNOWN as u8,
    /// Something without a location of its own.
    Abstract = otf2_sys::OTF2_RECORDER_KIND_ABSTRACT as u8,
    /// A thread.
    Cpu = otf2_sys::OTF2_RECORDER_KIND_CPU as u8,
    /// An accelerator.
    Gpu = otf2_sys::OTF2_RECORDER_KIND_GPU as u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct MetricMemberRecord {
    pub(crate) name: StringRef,
    pub(crate) description: StringRef,
    pub(crate) origin: MetricOrigin,
    pub(crate) mode: MetricMode,
    pub(crate) value_type: Type,
    pub(crate) base: MetricBase,
    pub(crate) exponent: i64,
    pub(crate) unit: StringRef,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct MetricClassRecord {
    pub(crate) members: Vec<MetricMemberRef>,
    pub(crate) occurrence: MetricOccurrence,
    pub(crate) recorder: RecorderKind,
}

impl Definitions {
    /// Defines one number of metrics.
    pub fn metric_member(&mut self, member: MetricMember<'_>) -> MetricMemberRef {
        let reference = MetricMemberRef(next_number(&self.shared.metric_members));
        let record = MetricMemberRecord {
            name: self.string(member.name),
            description: self.string(member.description),
            origin: member.origin,
            mode: member.mode,
            value_type: member.value_type,
            base: member.base,
            exponent: member.exponent,
            unit: self.string(member.unit),
        };
        self.shared.metric_members.push(record);
        reference
    }

    /// Defines numbers that are recorded together.
    pub fn metric_class(&mut self, class: MetricClass<'_>) -> MetricRef {
        let reference = MetricRef(next_number(&self.shared.metric_classes));
        let MetricClass { members, occurrence, recorder } = class;
        let members = members.to_vec();
        self.shared.metric_classes.push(MetricClassRecord { members, occurrence, recorder });
        reference
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct AttributeRecord {
    pub(crate) name: StringRef,
    pub(crate) description: StringRef,
    pub(crate) value_type: Type,
}

impl Definitions {
    /// Defines an attribute of events.
    pub fn attribute(&mut self, name: &str, description: &str, value_type: Type) -> AttributeRef {
        let reference = AttributeRef::from_raw(next_number(&self.shared.attributes), value_type);
        let (name, description) = (self.string(name), self.string(description));
        self.shared.attributes.push(AttributeRecord { name, description, value_type });
        reference
    }
}
