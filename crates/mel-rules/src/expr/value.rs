//! What an expression can be: a number, a text, a switch, a list of numbers; and what a number is a number of.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number: bytes, seconds, a share from 0 to 1, or a plain one.
    Number(f64),
    /// A text.
    Text(String),
    /// True or false.
    Switch(bool),
    /// Several numbers, such as the elements of an array variable.
    List(Vec<f64>),
}

/// What kind of value an expression has: known before it is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of whatever.
    Number,
    /// A number of bytes.
    Bytes,
    /// A number of seconds.
    Seconds,
    /// A part of a whole, from 0 to 1.
    Share,
    /// A text.
    Text,
    /// True or false.
    Switch,
    /// Several numbers.
    List,
}

impl Kind {
    /// In words, as errors say it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Bytes => "bytes",
            Kind::Seconds => "a time",
            Kind::Share => "a share",
            Kind::Text => "a text",
            Kind::Switch => "true or false",
            Kind::List => "a list",
        }
    }

    /// Whether it is one number.
    pub const fn is_number(self) -> bool {
        matches!(self, Kind::Number | Kind::Bytes | Kind::Seconds | Kind::Share)
    }

    /// Whether two numbers can be compared and added: where one is plain, or both are of the same.
    pub(super) fn fits(self, other: Kind) -> bool {
        self == other
            || (self.is_number() && other.is_number() && (self == Kind::Number || other == Kind::Number))
    }
}

/// Units that a number may have after it: the factor, and what it becomes.
pub(super) const UNITS: [(&str, f64, Kind); 15] = [
    ("%", 0.01, Kind::Share),
    ("B", 1.0, Kind::Bytes),
    ("kB", 1e3, Kind::Bytes),
    ("MB", 1e6, Kind::Bytes),
    ("GB", 1e9, Kind::Bytes),
    ("KiB", 1024.0, Kind::Bytes),
    ("MiB", 1_048_576.0, Kind::Bytes),
    ("GiB", 1_073_741_824.0, Kind::Bytes),
    ("ns", 1e-9, Kind::Seconds),
    ("us", 1e-6, Kind::Seconds),
    ("ms", 1e-3, Kind::Seconds),
    ("s", 1.0, Kind::Seconds),
    ("min", 60.0, Kind::Seconds),
    ("h", 3600.0, Kind::Seconds),
    ("d", 86400.0, Kind::Seconds),
];
