//! The table in `docs/environment.md`.

use super::*;

/// Text as it stands in a cell of a table in Markdown.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '|' | '<' | '>') {
            cell.push('\\');
        }
        cell.push(c);
    }
    cell
}

/// What a value may be.
fn value(setting: &Setting) -> String {
    let quoted = |words: &[Word]| {
        let names: Vec<String> = words.iter().map(|word| format!("`{}`", word.name)).collect();
        names.join(", ")
    };
    let plain = match setting.kind {
        Kind::On => "`1`",
        Kind::Off => "`0`",
        Kind::OneOf(words) => return quoted(words),
        Kind::SomeOf([words @ .., none]) => {
            return format!("{} with commas; or `{}`", quoted(words), none.name);
        }
        Kind::SomeOf([]) | Kind::Text => "text",
        Kind::Events => "names",
        Kind::Patterns => "names with `*` and `?`, with commas",
        Kind::PatternsOrAll => "names with `*` and `?`, with commas; or `all`",
        Kind::Time => "a time: `500ms`, `2s`; or `0`",
        Kind::Share => "a share, at most `50%`; or `none`",
        Kind::Size => "a size: `500M`, `2G`",
        Kind::SizeOrNever => "a size: `500M`, `2G`; or `0`",
        Kind::Ranks => "a number",
        Kind::RankList => "ranks: `0,4-7`",
        Kind::Assignments => "`NAME=VALUE;NAME=VALUE`",
        Kind::Plugins => "`NAME,ARGS:NAME,ARGS`",
        Kind::Policies => {
            "a line for each part: `policy NAME`, `when CONDITION`, `set NAME=EXPRESSION`, \
                           `otherwise NAME=EXPRESSION`"
        }
        Kind::Directories => "directories with colons",
        Kind::Path => "a path",
        Kind::Sources => "`auto`; or some of `peruse`, `model`, `native`",
    };
    plain.into()
}

fn row(setting: &Setting) -> String {
    let mut meaning = cell(setting.short);
    if !setting.long.is_empty() {
        meaning += &format!(". {}", cell(setting.long).trim_end_matches('.'));
    }
    if !setting.more.is_empty() {
        meaning += &format!(" ([more]({}))", setting.more);
    }
    let quoted = match setting.default.value {
        "" => String::new(),
        value => format!("`{value}`"),
    };
    let option = match (&setting.option, setting.reach) {
        (Some(Flag { long, short: Some(letter), .. }), _) => format!("`-{letter}`, `--{long}`"),
        (Some(Flag { long, .. }), _) => format!("`--{long}`"),
        (None, Reach::ByRun) => "set by `mel run` itself".into(),
        (None, _) => String::new(),
    };
    let default = format!("{quoted}{}", setting.default.words);
    let cells = [format!("`{setting}`"), value(setting), meaning, default, option];
    format!("| {} |\n", cells.join(" | "))
}

fn table() -> String {
    let head = "| variable | value | meaning | default | option of `mel run` |\n|---|---|---|---|---|\n";
    ALL.iter().fold(head.to_owned(), |table, setting| table + &row(setting))
}

#[test]
fn the_documentation_has_the_settings() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- made of crates/mel-settings -->\n", "<!-- end -->\n");
    let (before, rest) = text.split_once(begin).expect("the documentation says where the table begins");
    let (there, after) = rest.split_once(end).expect("and where it ends");
    if std::env::var_os("MEL_WRITE_DOCS").is_some() {
        return std::fs::write(path, format!("{before}{begin}{}{end}{after}", table())).unwrap();
    }
    assert!(there == table(), "MEL_WRITE_DOCS=1 cargo test -p mel-settings the_documentation writes it anew");
}

#[test]
fn no_sign_of_a_text_is_taken_for_markup() {
    assert_eq!(cell("'MPI_*send*' or a|b"), "'MPI_\\*send\\*' or a\\|b");
}
