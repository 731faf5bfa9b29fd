//! What an event carries: one `#[repr(C)]` struct per event, from which everything else follows.

use bytemuck::Pod;

/// The datatype of an element, named as its MPI datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// `MPI_CHAR`
    Char,
    /// `MPI_INT`
    Int,
    /// `MPI_UNSIGNED`
    Unsigned,
    /// `MPI_UNSIGNED_LONG`
    UnsignedLong,
    /// `MPI_UNSIGNED_LONG_LONG`
    UnsignedLongLong,
    /// `MPI_COUNT`
    Count,
    /// `MPI_DOUBLE`
    Double,
}

impl ElementType {
    /// Size of one element of this type in bytes.
    pub const fn size(self) -> usize {
        match self {
            ElementType::Char => 1,
            ElementType::Int | ElementType::Unsigned => 4,
            ElementType::UnsignedLong
            | ElementType::UnsignedLongLong
            | ElementType::Count
            | ElementType::Double => 8,
        }
    }

    /// The name of the MPI datatype, for example `MPI_INT`.
    pub const fn mpi_name(self) -> &'static str {
        match self {
            ElementType::Char => "MPI_CHAR",
            ElementType::Int => "MPI_INT",
            ElementType::Unsigned => "MPI_UNSIGNED",
            ElementType::UnsignedLong => "MPI_UNSIGNED_LONG",
            ElementType::UnsignedLongLong => "MPI_UNSIGNED_LONG_LONG",
            ElementType::Count => "MPI_COUNT",
            ElementType::Double => "MPI_DOUBLE",
        }
    }
}

/// A Rust type that is an element of a payload, and its MPI datatype.
pub trait ElementValue: Pod {
    /// The MPI datatype of this Rust type.
    const TYPE: ElementType;
}

macro_rules! element_values {
    ($($rust:ty => $mpi:ident),* $(,)?) => {
        $(impl ElementValue for $rust { const TYPE: ElementType = ElementType::$mpi; })*
    };
}
element_values!(i32 => Int, u32 => Unsigned, u64 => UnsignedLongLong, f64 => Double, i64 => Count);

/// One element of an event's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The element's name: the item of the event's enumeration.
    pub name: std::borrow::Cow<'static, str>,
    /// Its datatype.
    pub datatype: ElementType,
    /// Its offset from the start of the payload, in bytes.
    pub displacement: usize,
}

/// The payload of an event type. Implemented by [`event_payload!`](crate::event_payload), never by hand.
pub trait Payload: Pod {
    /// Name, datatype and displacement of each element, in order.
    fn elements() -> Vec<Element>;
}

/// Nothing: for events without elements.
impl Payload for () {
    fn elements() -> Vec<Element> {
        Vec::new()
    }
}

/// Defines the payload struct of an event: the one definition of its layout.
///
/// Each field is written `"name of the element" field: type`, with a type that implements
/// [`ElementValue`]. The struct is packed to four bytes, so that it has no padding of its own: its size
/// is the extent of the event, and [`Payload::elements`] gives the displacements. A field whose element
/// has no name, `"" field: type`, is no element: it aligns the next one, and is 0.
#[macro_export]
macro_rules! event_payload {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($label:literal $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C, packed(4))]
        $vis struct $name {
            $(#[doc = $label] pub $field: $ty),*
        }
        // SAFETY: every field is `Pod` (required by `ElementValue`), the struct is `repr(C)`, and
        // the assertion below shows that it has no padding.
        unsafe impl $crate::bytemuck::Zeroable for $name {}
        // SAFETY: every field is `Pod`, the struct is `repr(C)`, and the assertion below shows that it has no
        // padding; `Copy` and `'static` hold because the fields are plain numbers.
        unsafe impl $crate::bytemuck::Pod for $name {}
        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())*, "a payload has no padding");
        impl $crate::Payload for $name {
            fn elements() -> Vec<$crate::Element> {
                let mut elements = vec![$($crate::Element {
                    name: $label.into(),
                    datatype: <$ty as $crate::ElementValue>::TYPE,
                    displacement: core::mem::offset_of!($name, $field),
                }),*];
                elements.retain(|element: &$crate::Element| !element.name.is_empty());
                elements
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    event_payload! {
        /// Narrow before wide, to see that nothing is padded.
        struct Mixed { "a" a: i32, "b" b: u64, "c" c: u32 }
    }

    #[test]
    fn displacements_ascend_without_gaps() {
        let elements = Mixed::elements();
        let layout: Vec<_> = elements.iter().map(|e| (e.name.as_ref(), e.datatype, e.displacement)).collect();
        assert_eq!(
            layout,
            [
                ("a", ElementType::Int, 0),
                ("b", ElementType::UnsignedLongLong, 4),
                ("c", ElementType::Unsigned, 12)
            ]
        );
        assert_eq!(size_of::<Mixed>(), 16);
        let value = Mixed { a: 1, b: 2, c: 3 };
        assert_eq!(bytemuck::bytes_of(&value)[4], 2);
        assert_eq!({ value.a } + 1, 2);
        assert_eq!({ value.c }, 3);
    }
}
