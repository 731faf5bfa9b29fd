//! What rules say of a run, as text.

use mel_log::profile::text::layout::wrapped;
use mel_rules::advice::{Advice, Advices};

/// What a promise would be.
pub const EXPECTATION: &str =
    "These are expectations from what was seen, and no promises: only runs with and without a setting tell.";

/// All that was said. Nothing is an empty text.
pub fn text(advices: &Advices) -> String {
    let mut text = String::new();
    for (number, advice) in (1..).zip(&advices.said) {
        text += &one(number, advice);
    }
    for (rule, why) in &advices.not_judged {
        text += &wrapped(" - ", &format!("{rule}: not judged, {why}"));
    }
    text
}

fn one(number: usize, advice: &Advice) -> String {
    let mark = format!(" {number}. ");
    let indent = " ".repeat(mark.len());
    let untested = if advice.untested { " (untested)" } else { "" };
    let mut text = wrapped(&mark, &format!("{}{untested}. {}", capital(&advice.rule), advice.text));
    for (place, setting) in advice.tries.iter().enumerate() {
        let words: Vec<String> = setting.iter().map(|(name, value)| format!("{name}={value}")).collect();
        text += &wrapped(&format!("{indent}{} ", if place == 0 { "try" } else { " or" }), &words.join(" "));
    }
    if !advice.source.is_empty() {
        text += &wrapped(&indent, &format!("(from: {})", advice.source));
    }
    text
}

/// The text with a capital letter at its begin.
pub fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
