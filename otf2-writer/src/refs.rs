//! Typed references to definitions: a region cannot be taken for a communicator.

use serde::{Deserialize, Serialize};

use crate::value::Type;

macro_rules! reference {
    ($($(#[$doc:meta])* $name:ident($raw:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub(crate) $raw);

        impl $name {
            /// The reference with this number, for processes that write one archive together and
            /// agreed on the numbers: only one of them holds the definitions.
            pub const fn from_raw(raw: $raw) -> Self {
                Self(raw)
            }

            /// The number by which the archive knows the definition.
            pub const fn raw(self) -> $raw {
                self.0
            }
        }
    )*};
}

reference! {
    /// A string; see [`Definitions::string`](crate::Definitions::string).
    StringRef(u32);
    /// A machine, a node or another part of the system.
    SystemTreeNodeRef(u32);
    /// A process (or an accelerator's context): the owner of locations.
    LocationGroupRef(u32);
    /// A stream of events: a thread, for example.
    LocationRef(u64);
    /// A region of code: a function, or a step within one.
    RegionRef(u32);
    /// A group of locations, ranks or regions.
    GroupRef(u32);
    /// A communicator, intra or inter.
    CommRef(u32);
    /// A window for one-sided communication.
    RmaWinRef(u32);
    /// One number of a metric.
    MetricMemberRef(u32);
    /// A kind of markers.
    MarkerRef(u32);
    /// A metric class: numbers that are recorded together.
    MetricRef(u32);
}

/// An attribute of events, together with the type that its values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeRef {
    pub(crate) raw: u32,
    pub(crate) value_type: Type,
}

impl AttributeRef {
    /// The reference with this number; see [`StringRef::from_raw`] for when to use it.
    pub const fn from_raw(raw: u32, value_type: Type) -> Self {
        Self { raw, value_type }
    }

    /// The number by which the archive knows the definition.
    pub const fn raw(self) -> u32 {
        self.raw
    }

    /// The type that values of this attribute have.
    pub const fn value_type(self) -> Type {
        self.value_type
    }
}
