//! What a control variable is, and which values it may have.

use std::borrow::Cow;

use crate::{Error, Verbosity};

/// When a control variable may be set, and what its value must be the same on (`MPI_T_SCOPE_*`), in the order of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MPI's own")]
pub enum Scope {
    Constant,
    ReadOnly,
    Local,
    Group,
    GroupEq,
    All,
    AllEq,
}

impl Scope {
    /// Whether it can be set at all.
    #[must_use]
    pub fn is_writable(self) -> bool {
        !matches!(self, Scope::Constant | Scope::ReadOnly)
    }
}

/// The values that a control variable may have, and so its data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// `MPI_INT` with an enumeration: numbers and their names.
    Choice(&'static [(i32, &'static str)]),
    /// `MPI_UNSIGNED_LONG`, from the least to the most.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// Whether zero is allowed, too.
        or_zero: bool,
    },
    /// `MPI_CHAR`: a text with so many bytes at most, its NUL among them.
    Text(usize),
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// One of an enumeration.
    Choice(i32),
    /// A number.
    Number(u64),
    /// A text without NUL.
    Text(String),
}

impl Domain {
    /// Whether the variable may have this value.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]
    pub fn check(&self, contents: &Contents) -> Result<(), Error> {
        let is_in = match (self, contents) {
            (Domain::Choice(items), Contents::Choice(wanted)) => items.iter().any(|(item, _)| item == wanted),
            (Domain::Number { least, most, or_zero }, Contents::Number(number)) => {
                (*least..=*most).contains(number) || *or_zero && *number == 0
            }
            (Domain::Text(room), Contents::Text(text)) => text.len() < *room && !text.contains('\0'),
            _ => false,
        };
        if is_in { Ok(()) } else { Err(Error::OutOfRange) }
    }

    /// The value that a user has written: the number or the name of an item, a number, a text. `None` where it is none of those that
    /// are [allowed](Domain::allowed).
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<Contents> {
        let contents = match self {
            Domain::Choice(items) => {
                let named = items.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
                let switch = match text.to_ascii_lowercase().as_str() {
                    "true" | "yes" => Some("on"),
                    "false" | "no" => Some("off"),
                    _ => None,
                };
                let switched = switch.and_then(|word| items.iter().find(|(_, name)| *name == word));
                Contents::Choice(match named.or(switched) {
                    Some((item, _)) => *item,
                    None => text.parse().ok()?,
                })
            }
            Domain::Number { .. } => Contents::Number(text.parse().ok()?),
            Domain::Text(_) => Contents::Text(text.to_owned()),
        };
        self.check(&contents).is_ok().then_some(contents)
    }

    /// The values that are allowed, in words: `0 (off) or 1 (on)`, `from 1 to 9, or 0`.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self {
            Domain::Choice(items) => {
                let items: Vec<String> =
                    items.iter().map(|(item, name)| format!("{item} ({name})")).collect();
                match items.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                }
            }
            Domain::Number { least, most: u64::MAX, or_zero: false } => format!("{least} or more"),
            Domain::Number { least, most: u64::MAX, or_zero: true } => format!("{least} or more, or 0"),
            Domain::Number { least, most, or_zero: false } => format!("from {least} to {most}"),
            Domain::Number { least, most, or_zero: true } => format!("from {least} to {most}, or 0"),
            Domain::Text(room) => format!("a text of at most {} bytes", room.saturating_sub(1)),
        }
    }

    /// The number of elements of a handle.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Domain::Text(room) => *room,
            _ => 1,
        }
    }
}

impl std::fmt::Display for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Contents::Choice(item) => item.fmt(f),
            Contents::Number(number) => number.fmt(f),
            Contents::Text(text) => text.fmt(f),
        }
    }
}

/// A control variable as `MPI_T_cvar_get_info` describes it. None is bound to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name, which is unique among ours.
    pub name: Cow<'static, str>,
    /// What it does, with its unit.
    pub description: Cow<'static, str>,
    /// For whom it is.
    pub verbosity: Verbosity,
    /// When it may be set.
    pub scope: Scope,
    /// The values that it may have.
    pub domain: Domain,
}

/// A control variable: what reads and sets it. Called with no lock held, by any thread that uses the interface.
pub trait Control: Send + Sync {
    /// The value now. It is one of the variable's [`Domain`].
    fn read(&self) -> Contents;

    /// Sets it to a value of its domain. Not called for those whose scope forbids it.
    ///
    /// # Errors
    /// [`Error::SetNotNow`] where it cannot be set now, [`Error::OutOfRange`] where it may not have this value after all.
    fn write(&self, contents: &Contents) -> Result<(), Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: Domain = Domain::Choice(&[(0, "off"), (1, "on")]);
    const NUMBER: Domain = Domain::Number { least: 10, most: 20, or_zero: true };

    #[test]
    fn a_value_may_be_written_as_number_or_as_name() {
        for text in ["1", "on", "ON", "true", "yes"] {
            assert_eq!(SWITCH.parse(text), Some(Contents::Choice(1)), "{text}");
        }
        assert_eq!(SWITCH.parse("off"), Some(Contents::Choice(0)));
        for text in ["2", "-1", "", "maybe", "0 "] {
            assert_eq!(SWITCH.parse(text), None, "{text}");
        }
        assert_eq!(SWITCH.allowed(), "0 (off) or 1 (on)");
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        for (text, number) in [("10", 10), ("20", 20), ("0", 0)] {
            assert_eq!(NUMBER.parse(text), Some(Contents::Number(number)));
        }
        for text in ["9", "21", "-1", "18446744073709551616", "ten"] {
            assert_eq!(NUMBER.parse(text), None, "{text}");
        }
        assert_eq!(NUMBER.allowed(), "from 10 to 20, or 0");
    }

    #[test]
    fn a_text_has_room_for_its_end() {
        assert_eq!(Domain::Text(4).parse("abc"), Some(Contents::Text("abc".into())));
        assert_eq!(Domain::Text(4).parse("abcd"), None);
        assert_eq!(Domain::Text(4).parse("a\0"), None);
    }
}
