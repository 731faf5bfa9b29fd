//! Elements of a payload, by their MPI datatypes.

use std::fmt;

use mel_log::Element;
use mel_log::number::general;

/// The value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of a signed integer type.
    Signed(i64),
    /// Of an unsigned integer type.
    Unsigned(u64),
    /// Of a floating-point type.
    Real(f64),
    /// `MPI_CHAR`.
    Character(u8),
}

/// The numeric kinds of MPI datatypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Signed, of so many bytes.
    Signed(usize),
    /// Unsigned, of so many bytes.
    Unsigned(usize),
    /// Floating-point, of so many bytes.
    Real(usize),
    /// A character.
    Character,
}

impl Kind {
    /// The kind of a datatype that an element may have (MPI-5.0, section 15.3.5), by its name; also
    /// those of fixed width.
    pub fn of(datatype: &str) -> Option<Kind> {
        Some(match datatype {
            "MPI_INT" | "MPI_INT32_T" => Kind::Signed(4),
            "MPI_UNSIGNED" | "MPI_UINT32_T" => Kind::Unsigned(4),
            "MPI_LONG" | "MPI_LONG_LONG" | "MPI_COUNT" | "MPI_AINT" | "MPI_OFFSET" | "MPI_INT64_T" => {
                Kind::Signed(8)
            }
            "MPI_UNSIGNED_LONG" | "MPI_UNSIGNED_LONG_LONG" | "MPI_UINT64_T" => Kind::Unsigned(8),
            "MPI_SHORT" | "MPI_INT16_T" => Kind::Signed(2),
            "MPI_UNSIGNED_SHORT" | "MPI_UINT16_T" => Kind::Unsigned(2),
            "MPI_INT8_T" | "MPI_SIGNED_CHAR" => Kind::Signed(1),
            "MPI_UINT8_T" | "MPI_UNSIGNED_CHAR" | "MPI_BYTE" => Kind::Unsigned(1),
            "MPI_FLOAT" => Kind::Real(4),
            "MPI_DOUBLE" => Kind::Real(8),
            "MPI_CHAR" => Kind::Character,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Kind::Signed(bytes) | Kind::Unsigned(bytes) | Kind::Real(bytes) => bytes,
            Kind::Character => 1,
        }
    }
}

/// The value of an element in a payload; none if its datatype is not known or if the payload ends
/// before it does.
pub fn read(element: &Element, payload: &[u8]) -> Option<Value> {
    read_at(Kind::of(&element.datatype)?, element.displacement, payload)
}

/// The value of that kind at a displacement in a payload; none if the payload ends before it does.
pub fn read_at(kind: Kind, displacement: u32, payload: &[u8]) -> Option<Value> {
    let start = displacement as usize;
    let bytes = payload.get(start..start.checked_add(kind.bytes())?)?;
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let unsigned = u64::from_le_bytes(word);
    Some(match kind {
        Kind::Unsigned(_) => Value::Unsigned(unsigned),
        Kind::Signed(width) => {
            let unused = 64 - 8 * width as u32;
            Value::Signed(((unsigned << unused) as i64) >> unused)
        }
        Kind::Real(4) => Value::Real(f64::from(f32::from_bits(unsigned as u32))),
        Kind::Real(_) => Value::Real(f64::from_bits(unsigned)),
        Kind::Character => Value::Character(bytes[0]),
    })
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Signed(value) => value.fmt(f),
            Value::Unsigned(value) => value.fmt(f),
            Value::Real(value) => f.write_str(&general(*value)),
            Value::Character(c) => c.escape_ascii().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(datatype: &str, displacement: u32, payload: &[u8]) -> Option<String> {
        let element = Element { name: String::new(), datatype: datatype.into(), displacement };
        read(&element, payload).map(|value| value.to_string())
    }

    #[test]
    fn values_are_read_by_their_datatypes() {
        let payload =
            [&(-2i32).to_le_bytes()[..], &u64::MAX.to_le_bytes(), &0.5f64.to_le_bytes(), b"x\n"].concat();
        assert_eq!(text("MPI_INT", 0, &payload).unwrap(), "-2");
        assert_eq!(text("MPI_UNSIGNED", 0, &payload).unwrap(), "4294967294");
        assert_eq!(text("MPI_UNSIGNED_LONG_LONG", 4, &payload).unwrap(), "18446744073709551615");
        assert_eq!(text("MPI_COUNT", 4, &payload).unwrap(), "-1");
        assert_eq!(text("MPI_INT16_T", 4, &payload).unwrap(), "-1");
        assert_eq!(text("MPI_DOUBLE", 12, &payload).unwrap(), "0.5");
        assert_eq!(text("MPI_CHAR", 20, &payload).unwrap(), "x");
        assert_eq!(text("MPI_CHAR", 21, &payload).unwrap(), "\\n");
    }

    #[test]
    fn what_cannot_be_read_is_none() {
        assert_eq!(text("MPI_INT", 1, &[0; 4]), None);
        assert_eq!(text("MPI_INT", u32::MAX, &[0; 4]), None);
        assert_eq!(text("MPI_LATER", 0, &[0; 4]), None);
    }
}
