//! The tests of the library as a tool sees it, one file per subject.
//!
//! All are one program, because linking one for each file takes long. A file that is added is named here.

mod applications_tune_themselves;
mod common;
mod every_rule_has_a_test;
mod example_tool_listens;
mod header_compiles;
mod memory_is_sound;
mod native_events_keep_their_place;
mod progress_between_calls;
mod queue_variables;
mod rules_hold;
mod the_papers_mel_listens;

/// A file that is not named would not be compiled, and its tests would be missed by nobody.
#[test]
fn no_file_is_forgotten() {
    let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
        .expect("the tests are there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in Unicode"))
        .filter(|name| name.ends_with(".rs") && name != "main.rs")
        .collect();
    files.sort();
    let named =
        include_str!("main.rs").lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    assert!(named.filter(|&name| name != "common").map(|name| format!("{name}.rs")).eq(files));
}
