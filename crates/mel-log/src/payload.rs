//! Payloads of records are declared once: their fields in the order of their bytes, little endian, one behind the other.

/// A field of a payload.
pub(crate) trait Field: Copy {
    /// Bytes that it takes.
    const BYTES: usize;

    /// Stores it in as many bytes.
    fn store(self, bytes: &mut [u8]);

    /// Reads it from a payload, from which place on; bytes that are not there count as zero.
    fn load(payload: &[u8], at: usize) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Field for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline(always)]
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn load(payload: &[u8], at: usize) -> Self {
                <$number>::from_le_bytes(array_at(payload, at))
            }
        })*
    };
}

numbers!(u16, u32, u64, i32);

impl Field for bool {
    const BYTES: usize = u32::BYTES;

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        u32::from(self).store(bytes);
    }

    #[inline(always)]
    fn load(payload: &[u8], at: usize) -> bool {
        u32::load(payload, at) != 0
    }
}

/// One more than the number; 0 for none.
impl Field for Option<u32> {
    const BYTES: usize = u32::BYTES;

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        self.map_or(0, |number| number.wrapping_add(1)).store(bytes);
    }

    #[inline(always)]
    fn load(payload: &[u8], at: usize) -> Option<u32> {
        u32::load(payload, at).checked_sub(1)
    }
}

/// What is no number counts as zero.
impl Field for f64 {
    const BYTES: usize = u64::BYTES;

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        self.to_bits().store(bytes);
    }

    #[inline(always)]
    fn load(payload: &[u8], at: usize) -> f64 {
        Some(f64::from_bits(u64::load(payload, at))).filter(|value| value.is_finite()).unwrap_or(0.0)
    }
}

/// As many bytes as there are from a place on, and zeros.
#[inline(always)]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    if let Some(rest) = bytes.get(offset..) {
        let length = rest.len().min(N);
        array[..length].copy_from_slice(&rest[..length]);
    }
    array
}

/// Declares the payload of a record: a structure, and its bytes in both directions.
macro_rules! payload {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$about:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Default)]
        pub struct $name { $($(#[$about])* pub $field: $type,)* }

        impl $name {
            /// Bytes of the payload.
            pub const BYTES: usize = 0 $(+ <$type as $crate::payload::Field>::BYTES)*;

            /// The payload in the log's byte order.
            #[inline(always)]
            pub fn to_payload(self) -> [u8; $name::BYTES] {
                let mut payload = [0; $name::BYTES];
                let mut at = 0;
                $({
                    let end = at + <$type as $crate::payload::Field>::BYTES;
                    $crate::payload::Field::store(self.$field, &mut payload[at..end]);
                    at = end;
                })*
                debug_assert_eq!(at, payload.len());
                payload
            }

            /// Reads a payload; bytes that are not there count as zero.
            #[inline]
            pub fn from_payload(payload: &[u8]) -> $name {
                let mut at = 0;
                $(
                    let $field = <$type as $crate::payload::Field>::load(payload, at);
                    at += <$type as $crate::payload::Field>::BYTES;
                )*
                debug_assert_eq!(at, $name::BYTES);
                $name { $($field,)* }
            }
        }

        const _: () = assert!($name::BYTES <= $crate::format::PAYLOAD_BYTES, "it fits in one record");
    };
}

pub(crate) use payload;
