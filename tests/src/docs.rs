//! Outputs that the documentation shows: each sentence of them is one that is printed today, whatever its names and figures.

use std::fs;

use crate::artifacts::root;

/// How the first line of a sentence begins; other lines go on with the one before.
const BEGINNINGS: [&str; 8] = ["[MEL] ", "remark: ", "- ", "rank ", "ranks ", "Rank ", "Ranks ", "No rank"];
/// What follows a number in a text.
const UNITS: [&str; 9] = ["s", "ms", "us", "ns", "B", "KiB", "MiB", "GiB", "UTC"];

/// The sentences of an output, or its lines, where it is a table; `[...]` stands for what a page leaves out.
#[must_use]
pub fn sentences(output: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in output.lines().filter(|line| !matches!(line.trim(), "" | "[...]")) {
        let is_of_table = line.starts_with(' ') && !line.starts_with("   ") || line.contains("   ");
        let goes_on = line.starts_with("      ") && all.last().is_some_and(|last| last.starts_with("[MEL]"));
        match all.last_mut() {
            Some(last)
                if goes_on || !is_of_table && !BEGINNINGS.iter().any(|begin| line.starts_with(begin)) =>
            {
                *last += &format!(" {}", line.trim());
            }
            _ => all.push(line.to_owned()),
        }
    }
    all
}

/// The sentences of a page's output that has these words in it.
///
/// # Panics
///
/// If the page has no such output.
#[must_use]
pub fn shown(page: &str, words: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).expect("a page");
    let mut blocks =
        text.split("```text\n").skip(1).map(|rest| rest.split_once("```").expect("an end of the block").0);
    let block = blocks.find(|block| block.contains(words));
    sentences(block.unwrap_or_else(|| panic!("{page} has no output with {words:?}")))
}

/// A text without figures and names: numbers with their units, and lists of them, are `#`, places in sources `@`, functions of MPI `F`.
#[must_use]
pub fn form(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut was_in = false;
    for raw in text.split_whitespace() {
        let word = raw.trim_start_matches('(').trim_end_matches(|c: char| "),;:.".contains(c));
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let is_number =
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || ".-:e".contains(c));
        let last = words.last().map(String::as_str);
        let is_place =
            word.contains('.') && word.rsplit(':').next().is_some_and(|line| line.parse::<u32>().is_ok());
        let form = match word {
            "" | "[MEL]" => continue,
            // The function that the place is in.
            _ if last == Some("@") && raw.starts_with('(') && raw.contains(')') => continue,
            _ if is_place && !is_number => "@",
            _ if word.starts_with("MPI_") && word.chars().any(char::is_lowercase) => "F",
            _ if is_number && last == Some("#") => continue,
            "and" if last == Some("#") => "&",
            _ if is_number => "#",
            _ if last == Some("#") && UNITS.contains(&word) => continue,
            "ranks" | "Ranks" | "Rank" => "rank",
            // A function of the program.
            _ if was_in && last == Some("in") => "@",
            _ => word,
        };
        was_in = last == Some("was") && word == "in";
        // `1, 2 and 3` is a list.
        if form == "#" && last == Some("&") {
            words.pop();
            continue;
        }
        words.push(form.to_lowercase());
    }
    words.join(" ").replace('&', "and")
}

/// The output of a page that has these words in it is like this one: each of its sentences is there, or each line of its table.
///
/// # Panics
///
/// If one is not.
#[track_caller]
pub fn is_shown(page: &str, words: &str, printed: &str) {
    are_printed(page, &shown(page, words), printed);
}

/// The same of the sentences alone that have these words in them.
///
/// # Panics
///
/// If one is not there.
#[track_caller]
pub fn sentence_is_shown(page: &str, words: &str, printed: &str) {
    let mut sentences = shown(page, words);
    sentences.retain(|sentence| sentence.contains(words));
    assert!(!sentences.is_empty(), "{page} has no sentence with {words:?}");
    are_printed(page, &sentences, printed);
}

#[track_caller]
fn are_printed(page: &str, sentences: &[String], printed: &str) {
    let there = format!(" {} ", form(printed));
    for sentence in sentences {
        let wanted = form(sentence);
        assert!(
            there.contains(&format!(" {wanted} ")),
            "{page} shows what is not printed:\n{sentence}\nas\n{wanted}\nand this is printed:\n{printed}\nas\n{there}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_names_are_left_out_of_a_form() {
        let one = "[MEL] 1. Ranks 0 and 3 lost 824 ms (46 % of the run) in MPI_Waitall at a.c:2 (f), waiting";
        let other = "1. rank 2 lost 1.2 s (4.6 % of the run) in MPI_Recv at other.c:345 (main), waiting";
        assert_eq!(form(one), "# rank # lost # % of the run in f at @ waiting");
        assert_eq!(form(one), form(other));
        assert_ne!(form(one), form(&one.replace("waiting", "and waiting")));
        assert_eq!(form("their 51st operation and ranks 0, 1 and 2 are"), "their # operation and rank # are");
        assert_eq!(
            form("Rank 1 was in assemble, most at mesh.c:212, for 18.0 s (the others 3.10 s)."),
            "rank # was in @ most at @ for # the others #"
        );
        assert_eq!(
            form("last seen 5.01 s after MPI_Init (2026-11-23 14:29:13 UTC)"),
            "last seen # after f #"
        );
    }
}
