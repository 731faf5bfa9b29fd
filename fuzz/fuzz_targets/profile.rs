//! `profile.json` and `ranks.table`: whatever stands in them, reading ends with a profile or an error, and what is made of a profile takes
//! no more memory than its text.
//!
//! The first byte of the input says which of them it is.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mel_log::profile::columns::Columns;
use mel_log::profile::text::{Options, report, report::lines};
use mel_log::profile::{TrafficKind, columns, file, findings};
use mel_log::ranks::MOST_RANKS;
use mel_traffic::{Choice, Hosts, Matrix, Rows};

fn profile(input: &[u8]) {
    let Ok(profile) = file::parse(input) else { return };
    assert!(profile.world_size <= MOST_RANKS);
    assert!(profile.ranks.iter().all(|rank| rank.rank < MOST_RANKS));
    assert!(profile.ranks.is_sorted_by_key(|rank| rank.rank));
    let _ = (profile.missing_ranks().in_words(), profile.is_whole(), findings::findings(&profile));
    let _ = (lines(&profile), report(&profile, Options::default()));
    let _ = mel_rules::advice::advise(&rules(), &profile);
    // A matrix has as many rows as the run has ranks.
    if profile.world_size <= 1 << 16 && profile.ranks.iter().all(|rank| rank.rank < 1 << 16) {
        let rows = Rows::of(&profile);
        let matrix = Matrix::of(&rows, &Choice::of_kinds(&TrafficKind::ALL));
        assert!(matrix.cells.iter().all(|(from, to, _)| *from.max(to) < matrix.size));
        let hosts = Hosts::of(&profile, rows.size());
        assert_eq!(hosts.of_rank.len(), rows.size() as usize);
    }
}

fn rules() -> Vec<mel_rules::rule::Rule> {
    mel_rules::file::shipped().unwrap_or_default()
}

fn table_of_ranks(input: &[u8]) {
    static DIRECTORY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = DIRECTORY.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = columns::path_in(directory.path());
        (directory, path)
    });
    std::fs::write(path, input).expect("a small file");
    let Ok(columns) = Columns::read(path.parent().expect("a directory")) else { return };
    let bytes = 8 * (columns.columns.len() + 1) * columns.ranks.len();
    assert!(bytes <= input.len());
    let _ = columns.over_ranks();
}

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((b'r', rest)) => table_of_ranks(rest),
        Some((_, rest)) => profile(rest),
        None => {}
    }
});
