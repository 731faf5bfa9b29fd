//! Each command of `mel` that README, docs, examples and the help itself show is one that `mel` understands.

use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};
use mel_command::cli::Cli;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// All Markdown below these places.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["docs", "examples", "packaging", "benches", "mel"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    pages
}

/// The lines of code in a page, those that go on in the next line joined.
fn code(text: &str) -> Vec<String> {
    let (mut is_code, mut lines) = (false, Vec::new());
    let mut begun = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            // What a command prints is no command.
            is_code = !is_code && !line.contains("text") && !line.contains("json");
            continue;
        }
        if is_code {
            match line.strip_suffix('\\') {
                Some(part) => begun += part,
                None => lines.push(std::mem::take(&mut begun) + line),
            }
        }
    }
    lines
}

/// The words of a line as a shell has them, up to a pipe, a redirection, a comment or another command; `None` where a quotation goes on in the
/// next line.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote, mut is_word) = (Vec::new(), String::new(), None, false);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => word.push(letter),
            (None, '\'' | '"') => (quote, is_word) = (Some(letter), true),
            (None, '#') if !is_word => break,
            (None, '|' | '>' | '<' | ';' | '&' | ')') => break,
            (None, ' ' | '\t') => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, _) => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    quote.is_none().then_some(words)
}

/// The command of `mel` in a line, if there is one: as words, `mel` first.
fn command(line: &str) -> Option<Vec<String>> {
    let words = words(line.trim_start().trim_start_matches("$ "))?;
    let place = words.iter().position(|word| word == "mel")?;
    // `cargo install --path mel` names a folder.
    let is_command = words[0] != "cargo" && words[..place].iter().all(|word| !word.ends_with(':'));
    // A dash stands for options that a sentence speaks of; an ellipsis for what is left out.
    let is_whole = !words[place..].iter().any(|word| word.contains("...") || word.contains('…'));
    (is_command && is_whole && words.len() > place + 1).then(|| words[place..].to_vec())
}

#[test]
fn they_are_understood() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut check = |place: &str, line: &str| {
        let Some(command) = command(line) else { return };
        seen += 1;
        let error = Cli::try_parse_from(&command).err().filter(clap::Error::use_stderr);
        wrong.extend(error.map(|error| {
            let said = error.to_string();
            format!("{place}: {line}\n    {}", said.lines().next().unwrap_or_default())
        }));
    };
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("text");
        let name = page.strip_prefix(root()).expect("below the root").display().to_string();
        code(&text).iter().for_each(|line| check(&name, line));
    }
    for command in Cli::command().get_subcommands_mut() {
        let help = command.render_long_help().to_string();
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        for line in examples.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            // An explanation stands behind many blanks.
            let line = line.trim().split("   ").next().unwrap_or_default();
            check(command.get_name(), line);
        }
    }
    assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 150, "{seen} commands were found");
}

#[test]
fn commands_are_found_in_lines() {
    let of = |line: &str| command(line).map(|words| words.join("|"));
    assert_eq!(
        of("mpirun -n 4 mel run --vars 'mel_*' ./app   # and more").as_deref(),
        Some("mel|run|--vars|mel_*|./app")
    );
    assert_eq!(of("mel report DIR --json | jq .").as_deref(), Some("mel|report|DIR|--json"));
    assert_eq!(of("$ mel events").as_deref(), Some("mel|events"));
    assert_eq!((of("[MEL] a message"), of("ls"), of("mel run ...")), (None, None, None));
}

#[test]
fn lines_of_the_docs_have_at_most_100_columns() {
    let mut long = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            let start = line.trim_start();
            is_code ^= start.starts_with("```");
            // Tables, headings and pictures are lines of their own; links and code are not broken.
            let is_whole = start.starts_with(['|', '#']) || line.contains("](") || line.contains('`');
            if !is_code && !is_whole && line.chars().count() > 100 {
                long.push(format!("{}:{number}", page.display()));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
