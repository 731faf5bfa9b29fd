//! What rules say of a run, as text.

use std::path::Path;

use mel_log::profile::text::layout::wrapped;
use mel_rules::advice::{Advice, Advices};

use super::command::typed;

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

/// A line that points to `mel advise` for the run in this directory, where a rule has something to try; else nothing.
pub fn pointer(advices: &Advices, directory: &Path) -> String {
    let rules = match advices.said.iter().filter(|advice| !advice.tries.is_empty()).count() {
        0 => return String::new(),
        1 => "1 rule has".into(),
        more => format!("{more} rules have"),
    };
    let command = typed(&[], &["mel".into(), "advise".into(), directory.as_os_str().to_owned()]);
    format!("{command}: {rules} something to try\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_counts_rules_with_something_to_try() {
        let advice = |tries: usize| Advice {
            rule: "r".into(),
            source: String::new(),
            untested: false,
            text: "t".into(),
            tries: vec![vec![("a".into(), "1".into())]; tries],
        };
        let pointer = |tries: &[usize]| {
            let said = tries.iter().map(|tries| advice(*tries)).collect();
            pointer(&Advices { said, not_judged: Vec::new() }, Path::new("my run"))
        };
        assert_eq!(pointer(&[]), "");
        assert_eq!(pointer(&[0]), "");
        assert_eq!(pointer(&[3, 0]), "mel advise 'my run': 1 rule has something to try\n");
        assert_eq!(pointer(&[1, 2]), "mel advise 'my run': 2 rules have something to try\n");
    }
}
