//! Most of a profile table's mapping has no space behind it.

use std::fs;

use super::super::table::{ContextKey, Identity, ProfileTable};

#[test]
fn what_has_no_space_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("table");
    let identity = Identity { ticks_per_second: 1000, ..Identity::default() };
    let table = ProfileTable::create(&path, &identity).unwrap();
    for site in 1..2000 {
        assert_ne!(table.add_context(ContextKey { site, ..ContextKey::default() }), 0);
    }
    let length = fs::metadata(&path).unwrap().len();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (mut readable, mut other) = (0, 0);
    for line in maps.lines().filter(|line| line.ends_with(path.to_str().unwrap())) {
        // `7f2c4e5000-7f2c4f0000 rw-s 00005000 00:2a 4711   /tmp/table`
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (begin, end) = words[0].split_once('-').unwrap();
        let bytes = address(end) - address(begin);
        if words[1].starts_with('r') {
            readable += bytes;
            assert!(address(words[2]) + bytes <= length.next_multiple_of(1 << 16), "{line}");
        } else {
            other += bytes;
        }
    }
    assert!(readable > 2000 * 256 && other > 100 << 20, "{readable} {other}");
}
