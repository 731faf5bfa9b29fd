//! What messages are made of: the basic elements of a datatype, in their order, as one number that both ends of a message, or all members
//! of a collective operation, can compare (MPI-5.0, section 3.3.1: the types of both ends have to match).
//!
//! A type of many elements is told from others by the shortest sequence that it repeats. Bytes, packed data and single characters match
//! what they are used for; they have no signature.

/// A basic element, with its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Basic(u8);

/// The bits of a [`Basic`] that have its size.
const SIZE: u8 = 0x3f;
const INTEGER: u8 = 0x00;
const FLOATING: u8 = 0x40;
const COMPLEX: u8 = 0x80;
const LOGICAL: u8 = 0xc0;

/// The names of predefined types of one element, by what that is.
#[rustfmt::skip]
const SINGLE: [(u8, &[&str]); 4] = [
    (INTEGER, &[
        "MPI_SHORT", "MPI_UNSIGNED_SHORT", "MPI_INT", "MPI_UNSIGNED", "MPI_LONG", "MPI_UNSIGNED_LONG", "MPI_LONG_LONG",
        "MPI_LONG_LONG_INT", "MPI_UNSIGNED_LONG_LONG", "MPI_WCHAR", "MPI_INT16_T", "MPI_UINT16_T", "MPI_INT32_T", "MPI_UINT32_T",
        "MPI_INT64_T", "MPI_UINT64_T", "MPI_AINT", "MPI_COUNT", "MPI_OFFSET", "MPI_INTEGER", "MPI_INTEGER2", "MPI_INTEGER4",
        "MPI_INTEGER8", "MPI_INTEGER16",
    ]),
    (FLOATING, &[
        "MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE", "MPI_REAL", "MPI_DOUBLE_PRECISION", "MPI_REAL2", "MPI_REAL4", "MPI_REAL8",
        "MPI_REAL16",
    ]),
    (COMPLEX, &[
        "MPI_C_COMPLEX", "MPI_C_FLOAT_COMPLEX", "MPI_C_DOUBLE_COMPLEX", "MPI_C_LONG_DOUBLE_COMPLEX", "MPI_CXX_FLOAT_COMPLEX",
        "MPI_CXX_DOUBLE_COMPLEX", "MPI_CXX_LONG_DOUBLE_COMPLEX", "MPI_COMPLEX", "MPI_DOUBLE_COMPLEX", "MPI_COMPLEX4", "MPI_COMPLEX8",
        "MPI_COMPLEX16", "MPI_COMPLEX32",
    ]),
    (LOGICAL, &["MPI_C_BOOL", "MPI_CXX_BOOL", "MPI_LOGICAL"]),
];

/// The same of two elements: what the first and the second are. The second of two unlike ones is an `int`.
const PAIRS: [(&str, u8, u8); 9] = [
    ("MPI_FLOAT_INT", FLOATING, INTEGER),
    ("MPI_DOUBLE_INT", FLOATING, INTEGER),
    ("MPI_LONG_DOUBLE_INT", FLOATING, INTEGER),
    ("MPI_SHORT_INT", INTEGER, INTEGER),
    ("MPI_LONG_INT", INTEGER, INTEGER),
    ("MPI_2INT", INTEGER, INTEGER),
    ("MPI_2INTEGER", INTEGER, INTEGER),
    ("MPI_2REAL", FLOATING, FLOATING),
    ("MPI_2DOUBLE_PRECISION", FLOATING, FLOATING),
];
/// The bytes of an `int`.
const OF_INT: u64 = 4;

impl Basic {
    fn new(kind: u8, bytes: u64) -> Option<Basic> {
        let bytes = u8::try_from(bytes).ok().filter(|bytes| (1..=SIZE).contains(bytes))?;
        Some(Basic(kind | bytes))
    }

    /// The elements of the predefined type of this name and size in bytes; the second of a pair only. `None` where it matches any.
    #[must_use]
    pub fn named(name: &str, bytes: u64) -> Option<(Basic, Option<Basic>)> {
        if let Some((kind, _)) = SINGLE.iter().find(|(_, names)| names.contains(&name)) {
            return Some((Basic::new(*kind, bytes)?, None));
        }
        let (_, first, second) = PAIRS.iter().find(|(pair, ..)| *pair == name)?;
        let of_second = if name.ends_with("_INT") { OF_INT } else { bytes / 2 };
        let of_first = bytes.checked_sub(of_second)?;
        Some((Basic::new(*first, of_first)?, Some(Basic::new(*second, of_second)?)))
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(self) -> u8 {
        self.0 & SIZE
    }

    /// What it is, in the plural.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 & !SIZE {
            INTEGER => "integers",
            FLOATING => "floating-point numbers",
            COMPLEX => "complex numbers",
            _ => "logical values",
        }
    }
}

/// The shortest sequence of elements that a type repeats, as a number: what its first element is, how long it is in bytes, and a hash of
/// it. 0 where it is not known, or matches any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature(pub u32);

impl Signature {
    /// That of a type which repeats these elements.
    #[must_use]
    pub fn of(elements: &[Basic]) -> Signature {
        let elements = repeated(elements);
        let Some(first) = elements.first() else { return Signature::default() };
        let bytes: u32 = elements.iter().map(|element| u32::from(element.bytes())).sum();
        // FNV-1a; of what is longer than can be told, the length is that of none.
        let hash = elements
            .iter()
            .fold(0x811c_9dc5_u32, |hash, element| (hash ^ u32::from(element.0)).wrapping_mul(0x0100_0193));
        let bytes = if bytes < 256 { bytes } else { 0 };
        Signature(u32::from(first.0) << 24 | bytes << 16 | (hash ^ hash >> 16) & 0xffff)
    }

    /// What its first element is.
    #[must_use]
    pub fn first(self) -> Option<Basic> {
        Some(Basic((self.0 >> 24) as u8)).filter(|basic| basic.bytes() > 0)
    }

    /// Whether a message of the one may be received as the other: `false` only where it is known that it may not.
    #[must_use]
    pub fn may_match(self, other: Signature) -> bool {
        let (Some(first), Some(of_other)) = (self.first(), other.first()) else { return true };
        let length = |signature: Signature| (signature.0 >> 16) & 0xff;
        let are_as_long = length(self) == length(other) && length(self) != 0;
        first == of_other && (!are_as_long || self == other)
    }
}

/// The shortest sequence of which these are repetitions.
#[must_use]
pub fn repeated(elements: &[Basic]) -> &[Basic] {
    let repeats = |length: &usize| {
        elements.len().is_multiple_of(*length)
            && elements.iter().zip(elements.iter().skip(*length)).all(|(one, next)| one == next)
    };
    let length = (1..=elements.len()).find(repeats).unwrap_or(0);
    &elements[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[(&str, u64)]) -> Signature {
        let elements = names.iter().flat_map(|(name, bytes)| {
            let (first, second) = Basic::named(name, *bytes).expect("it is known");
            [Some(first), second].into_iter().flatten()
        });
        let mut all = [Basic(0); 16];
        let mut count = 0;
        for element in elements {
            all[count] = element;
            count += 1;
        }
        Signature::of(&all[..count])
    }

    #[test]
    fn the_same_elements_match_whatever_they_are_called() {
        let (int, double) = (("MPI_INT", 4), ("MPI_DOUBLE", 8));
        assert!(of(&[int]).may_match(of(&[("MPI_INT32_T", 4)])));
        assert!(of(&[int]).may_match(of(&[int, int, int])));
        assert!(of(&[int, double]).may_match(of(&[int, double, int, double])));
        assert!(of(&[("MPI_DOUBLE_INT", 12)]).may_match(of(&[double, int])));
        assert!(of(&[("MPI_2INT", 8)]).may_match(of(&[int])));
        // The message may be shorter than what is received as.
        assert!(of(&[int]).may_match(of(&[int, double])));
        assert!(Signature::default().may_match(of(&[int])) && of(&[int]).may_match(Signature::default()));
    }

    #[test]
    fn other_elements_do_not() {
        let (int, double) = (("MPI_INT", 4), ("MPI_DOUBLE", 8));
        for (one, other) in [
            (of(&[int]), of(&[("MPI_FLOAT", 4)])),
            (of(&[int]), of(&[("MPI_LONG", 8)])),
            (of(&[int]), of(&[double, int])),
            (of(&[int, double]), of(&[int, ("MPI_LONG", 8)])),
            (of(&[("MPI_COMPLEX", 8)]), of(&[double])),
        ] {
            assert!(!one.may_match(other) && !other.may_match(one), "{one:x?} {other:x?}");
        }
    }

    #[test]
    fn bytes_and_characters_match_any() {
        for name in ["MPI_BYTE", "MPI_PACKED", "MPI_CHAR", "MPI_CHARACTER", "MPI_UINT8_T", "none"] {
            assert_eq!(Basic::named(name, 1), None, "{name}");
        }
        assert_eq!(Basic::named("MPI_INT", 0), None);
        assert_eq!(Basic::named("MPI_FLOAT_INT", 3), None);
    }

    #[test]
    fn elements_have_names() {
        let long_double_int = Basic::named("MPI_LONG_DOUBLE_INT", 20).expect("it is known");
        let (first, second) = (long_double_int.0, long_double_int.1.expect("it is a pair"));
        assert_eq!((first.bytes(), first.name()), (16, "floating-point numbers"));
        assert_eq!((second.bytes(), second.name()), (4, "integers"));
        assert_eq!(of(&[("MPI_C_BOOL", 1)]).first().map(Basic::name), Some("logical values"));
        assert_eq!(of(&[("MPI_C_DOUBLE_COMPLEX", 16)]).first().map(Basic::name), Some("complex numbers"));
    }
}
