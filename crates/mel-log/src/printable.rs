//! Text that a terminal shows as it is.
//!
//! Names of communicators, phases, regions, hosts and files are whatever a program has made of them. In what people read, characters that a
//! terminal obeys, and those that change the order in which others are shown, are written as JSON writes them: `\u001b`. So JSON that is
//! shown stays the same JSON.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Whether a terminal would obey that character, or a reader be led astray by it.
fn is_obeyed(character: char) -> bool {
    let is_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    character.is_control() || is_direction || matches!(character, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_obeyed = |character: char| is_obeyed(character) && !is_kept(character);
    if !text.contains(is_obeyed) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_obeyed(character) {
            true => _ = write!(safe, "\\u{:04x}", u32::from(character)),
            false => safe.push(character),
        }
    }
    safe.into()
}

/// A name in a line: nothing in it ends the line.
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Lines: their ends, and tabulators, stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// A cell of a table that is read by a spreadsheet: as [`name`], and no formula. What begins as one, and is no number, gets an apostrophe.
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let safe = name(text);
    if is_formula { format!("'{safe}").into() } else { safe }
}

/// Passes [`lines`] on. What is no text is passed as text in which that is marked.
#[derive(Debug)]
pub struct Printable<W: Write> {
    out: W,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Printable<W> {
    /// To that.
    pub fn new(out: W) -> Printable<W> {
        Printable { out, begun: Vec::new() }
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        if self.begun.is_empty() && bytes.iter().all(is_plain) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        // A character has at most four bytes: so many of the last ones may be the beginning of one.
        let is_begun = |from: &usize| match std::str::from_utf8(&all[*from..]) {
            Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
            Ok(_) => false,
        };
        let whole = (all.len().saturating_sub(3)..all.len()).find(is_begun).unwrap_or(all.len());
        self.begun = all.split_off(whole);
        self.out.write_all(lines(&String::from_utf8_lossy(&all)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_have_no_character_that_a_terminal_obeys() {
        assert_eq!(name("ä plain name, 100 %"), "ä plain name, 100 %");
        assert_eq!(name("a\x1b[31mb\nc\u{9b}d\u{202e}e\x7f"), "a\\u001b[31mb\\u000ac\\u009bd\\u202ee\\u007f");
        assert_eq!(lines("a\tb\nc\rd"), "a\tb\nc\\u000dd");
    }

    #[test]
    fn cells_are_no_formulas_and_numbers_stay_numbers() {
        for number in ["-1", "+2.5", "-1e-9", "-inf"] {
            assert_eq!(cell(number), number);
        }
        for text in ["=1+1", "@SUM(A1)", "-cmd|' /C calc'!A0", "+x", "-", "--"] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        assert_eq!(cell("\t=1"), "\\u0009=1");
        assert_eq!(cell("\r=1"), "\\u000d=1");
        assert_eq!(cell("a=b"), "a=b");
    }

    proptest! {
        /// In whatever pieces it comes.
        #[test]
        fn what_is_passed_on_does_not_depend_on_the_pieces(
            text in "(\\PC|[\\x00-\\x1f]|\u{9b}|\u{202e}|ä|\u{1f600}){0,40}",
            cuts in proptest::collection::vec(0..200usize, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let mut passed = Vec::new();
            let mut out = Printable::new(&mut passed);
            for piece in cuts.windows(2) {
                out.write_all(&bytes[piece[0]..piece[1]]).unwrap();
            }
            let passed = String::from_utf8(passed).unwrap();
            prop_assert_eq!(&passed, &lines(&text));
            prop_assert!(!passed.contains(|character| is_obeyed(character) && character != '\n' && character != '\t'));
        }
    }
}
