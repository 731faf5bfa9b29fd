//! `docs/conformance.md` and the tests agree: every rule has a test that carries its number, and every test
//! that the page names is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the checkout")
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The text of all tests of these functions, but this one.
fn tests() -> String {
    let folders = [
        "mpit-events-abi/tests",
        "mpit-events-abi/entry-points/src",
        "crates/mpit-events",
        "crates/mpi-abi",
        "tests/tests",
    ];
    let all = folders.iter().flat_map(|folder| files(&root().join(folder)));
    let sources =
        all.filter(|path| path.extension().is_some_and(|extension| extension == "rs" || extension == "c"));
    sources.filter(|path| !path.ends_with(file!())).filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// Rows of the page that are about rules: their number and the cells behind it.
fn rows() -> Vec<(u32, String)> {
    let page = fs::read_to_string(root().join("docs/conformance.md")).expect("the page is there");
    let row = |line: &str| {
        let (number, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        Some((number.parse().ok()?, rest.to_owned()))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn every_rule_has_a_test_that_carries_its_number() {
    let page: BTreeSet<u32> = rows().into_iter().map(|(number, _)| number).collect();
    assert_eq!(page, (1..=43).collect(), "the rules of the page");
    let tests = tests().to_lowercase();
    let numbers: BTreeSet<u32> = tests
        .match_indices("rule ")
        .filter_map(|(at, found)| {
            let rest = &tests[at + found.len()..];
            rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
        })
        .collect();
    let missing: Vec<_> = page.difference(&numbers).collect();
    assert!(missing.is_empty(), "no test says that it is of the rules {missing:?}");
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let tests = tests();
    let mut named = 0;
    for (number, row) in rows() {
        let shown = row.trim_end_matches(['|', ' ']).rsplit(" | ").next().expect("a last cell").to_owned();
        for quoted in shown.split('`').skip(1).step_by(2) {
            let name = quoted.rsplit([' ', ':']).next().expect("a name");
            let is_test = name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if is_test {
                let there = [format!("fn {name}("), format!("void {name}(")]
                    .iter()
                    .any(|definition| tests.contains(definition));
                assert!(there, "rule {number}: there is no test {name}");
                named += 1;
            }
        }
    }
    assert!(named >= 60, "only {named} tests are named");
}
