//! From text to words: numbers with their units, names, texts in quotes, signs.

use super::ExprError;
use super::value::{Kind, UNITS};

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Number(f64, Kind),
    Name(String),
    Text(String),
    Sign(&'static str),
}

/// Longer ones first: `<=` is not `<`.
const SIGNS: [&str; 17] =
    ["==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "(", ")", ",", "!", "="];

/// The words with their places, in bytes from the beginning.
pub(super) fn words(text: &str) -> Result<Vec<(usize, Word)>, ExprError> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            let (length, word) =
                number(rest).map_err(|(after, message)| ExprError::new(at + after, message))?;
            words.push((at, word));
            at += length;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = name_length(rest);
            words.push((at, Word::Name(rest[..length].to_owned())));
            at += length;
        } else if first == '\'' || first == '"' {
            let Some(length) = rest[1..].find(first) else {
                return Err(ExprError::new(at, format!("the text that begins here has no closing {first}")));
            };
            words.push((at, Word::Text(rest[1..=length].to_owned())));
            at += length + 2;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            if *sign == "=" {
                return Err(ExprError::new(at, "= alone means nothing here: == compares"));
            }
            words.push((at, Word::Sign(sign)));
            at += sign.len();
        } else {
            return Err(ExprError::new(at, format!("{first:?} has no meaning here")));
        }
    }
    Ok(words)
}

fn name_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// A number and its unit, with the length of both; where and why it is none, otherwise.
fn number(text: &str) -> Result<(usize, Word), (usize, String)> {
    let digits = |text: &str| text.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    let mut length = digits(text);
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
    }
    let exponent = text[length..].strip_prefix(['e', 'E']);
    if let Some(exponent) = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest))
        && exponent.starts_with(|c: char| c.is_ascii_digit())
    {
        length = text.len() - exponent.len();
        length += digits(exponent);
    }
    let plain = text[..length].replace('_', "");
    let value: f64 = plain.parse().map_err(|_| (0, format!("{} is no number", &text[..length])))?;
    let blanks = text[length..].len() - text[length..].trim_start_matches(' ').len();
    let after = &text[length + blanks..];
    let unit_length = if after.starts_with('%') { 1 } else { name_length(after) };
    let unit = &after[..unit_length];
    if let Some((name, factor, kind)) = UNITS.iter().find(|(name, ..)| *name == unit) {
        return Ok((length + blanks + name.len(), Word::Number(value * factor, *kind)));
    }
    // What begins with a digit is another number.
    if !unit.starts_with(|c: char| c.is_ascii_alphabetic()) || matches!(unit, "and" | "or") {
        return Ok((length, Word::Number(value, Kind::Number)));
    }
    let known: Vec<&str> = UNITS.iter().map(|(name, ..)| *name).collect();
    Err((length + blanks, format!("there is no unit {unit}; units are {}", known.join(", "))))
}
