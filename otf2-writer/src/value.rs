//! The values of attributes and properties, and their types.

use serde::{Deserialize, Serialize};

use crate::refs::{CommRef, GroupRef, LocationGroupRef, LocationRef, MetricRef, RegionRef, StringRef};

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident($rust:ty) = $constant:ident, $field:ident, $value:ident => $raw:expr;)*) => {
        /// The type of a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Type {
            $($(#[$doc])* $name = otf2_sys::$constant as u8,)*
        }

        /// The value of an attribute or of a property.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum AttributeValue {
            $($(#[$doc])* $name($rust),)*
        }

        impl AttributeValue {
            /// The type of this value.
            #[inline]
            pub const fn value_type(self) -> Type {
                match self {
                    $(Self::$name(_) => Type::$name,)*
                }
            }

            /// The value as libotf2 takes it.
            #[inline]
            pub(crate) const fn to_raw(self) -> otf2_sys::OTF2_AttributeValue {
                match self {
                    $(Self::$name($value) => otf2_sys::OTF2_AttributeValue { $field: $raw },)*
                }
            }
        }
    };
}

values! {
    /// An unsigned 8-bit integer.
    U8(u8) = OTF2_TYPE_UINT8, uint8, value => value;
    /// An unsigned 16-bit integer.
    U16(u16) = OTF2_TYPE_UINT16, uint16, value => value;
    /// An unsigned 32-bit integer.
    U32(u32) = OTF2_TYPE_UINT32, uint32, value => value;
    /// An unsigned 64-bit integer.
    U64(u64) = OTF2_TYPE_UINT64, uint64, value => value;
    /// A signed 8-bit integer.
    I8(i8) = OTF2_TYPE_INT8, int8, value => value;
    /// A signed 16-bit integer.
    I16(i16) = OTF2_TYPE_INT16, int16, value => value;
    /// A signed 32-bit integer.
    I32(i32) = OTF2_TYPE_INT32, int32, value => value;
    /// A signed 64-bit integer.
    I64(i64) = OTF2_TYPE_INT64, int64, value => value;
    /// A 32-bit floating point number.
    F32(f32) = OTF2_TYPE_FLOAT, float32, value => value;
    /// A 64-bit floating point number.
    F64(f64) = OTF2_TYPE_DOUBLE, float64, value => value;
    /// A string.
    String(StringRef) = OTF2_TYPE_STRING, stringRef, value => value.0;
    /// A location.
    Location(LocationRef) = OTF2_TYPE_LOCATION, locationRef, value => value.0;
    /// A location group.
    LocationGroup(LocationGroupRef) = OTF2_TYPE_LOCATION_GROUP, locationGroupRef, value => value.0;
    /// A region.
    Region(RegionRef) = OTF2_TYPE_REGION, regionRef, value => value.0;
    /// A group.
    Group(GroupRef) = OTF2_TYPE_GROUP, groupRef, value => value.0;
    /// A metric.
    Metric(MetricRef) = OTF2_TYPE_METRIC, metricRef, value => value.0;
    /// A communicator.
    Comm(CommRef) = OTF2_TYPE_COMM, commRef, value => value.0;
}
