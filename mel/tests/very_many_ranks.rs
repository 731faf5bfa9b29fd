//! `mel report` on the profile of a hundred thousand ranks: sums, distributions and the ranks that stand out.

use std::path::Path;
use std::process::Command;

use mel_log::profile::{Profile, sample};

const RANKS: u32 = 100_000;
const SLOW: u32 = 31_415;

fn report(directory: &Path, options: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mel")).arg("report").arg(directory).args(options).output();
    let output = output.expect("the command was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_hundred_thousand_ranks_are_a_page_of_text() {
    let directory = tempfile::tempdir().unwrap();
    sample::write_many(directory.path(), RANKS, SLOW).unwrap();
    let text = report(directory.path(), &[]);
    let seen = words(&text);
    assert!(text.lines().count() < 100, "{text}");
    for wanted in [
        "100000 ranks on 25000 hosts (node0, node1, ...)",
        "shown in sums over all ranks",
        "because rank 31415 is late",
        "in MPI 10.0 ms 31415 610 ms 610 ms 610 ms 610 ms 0",
        "late sender: ranks 0, 1, 2 and 99996 more wait for rank 31415",
        "how many ranks have how much",
        "posted queue receives 180 0 180 180 180 180 0",
    ] {
        assert!(seen.contains(wanted), "{wanted}: {text}");
    }

    let json: Profile = serde_json::from_str(&report(directory.path(), &["--json"])).unwrap();
    assert!(json.ranks.is_empty() && json.reduced.is_some_and(|reduced| reduced.ranks == RANKS));
    let length = std::fs::metadata(directory.path().join("profile.json")).unwrap().len();
    assert!(length < 64 << 10, "profile.json has {length} bytes, however many ranks");

    let csv = report(directory.path(), &["--csv"]);
    let slow: Vec<&str> = csv.lines().filter(|line| line.starts_with("31415,")).collect();
    assert!(
        slow.iter().any(|line| line.starts_with("31415,node7853,rank,others_wait_for_it,s,59999")),
        "{slow:?}"
    );

    let page = directory.path().join("page.html");
    report(directory.path(), &["--html", page.to_str().unwrap()]);
    let length = std::fs::metadata(&page).unwrap().len();
    assert!(length < 10_000_000, "the page has {length} bytes");
}
