//! The page shows who sends to whom: what is chosen is added up, hosts are joined, a rectangle zooms, a cell tells its sizes.

use std::fs;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::browser::Browser;
use mel_tests::{Job, Mpi, compile_special};
use serde_json::{Value, json};

use crate::pages_in_a_browser::{OVERLAPS, page_in, picture};

/// What is written there, with blanks that are as wide as any.
fn texts(browser: &mut Browser, selector: &str) -> String {
    crate::pages_in_a_browser::texts(browser, selector).replace('\u{202f}', " ")
}

/// Each rank sends to the next in no phase, on a communicator of its own to the one eight further in a phase; all add something up in that
/// phase, and write to a file.
fn profile_of(ranks: u32) -> Value {
    let of_rank = |rank: u32| {
        let to = |step: u32| (rank + step) % ranks;
        json!({
            "rank": rank,
            "host": format!("node{}", rank / 16),
            "traffic": [
                {"kind": "p2p", "communicator": 0, "peer": to(1), "messages": 10, "bytes": 1000, "sizes": [[7, 10]]},
                {"kind": "p2p", "communicator": 1, "phase": 1, "peer": to(8), "messages": 5, "bytes": 20480, "sizes": [[4, 2], [14, 3]]},
                {"kind": "p2p", "communicator": 0, "peer": rank, "messages": 2, "bytes": 2},
                {"kind": "collective", "communicator": 0, "phase": 1, "operation": "MPI_Allreduce", "messages": 4, "bytes": 32, "sizes": [[4, 4]]},
                {"kind": "carried", "peer": to(1), "messages": 1, "bytes": 1200},
                {"kind": "file-write", "messages": 3, "bytes": 300},
            ],
        })
    };
    let communicator = |name: &str| json!({"name": name, "size": ranks, "members": [[0, ranks, 1]]});
    json!({
        "command": ["./halo"], "mpi": "An MPI", "world_size": ranks, "duration_s": 1.5, "profiled": ["matrix"], "phases": ["", "solve"],
        "communicators": [communicator("MPI_COMM_WORLD"), communicator("grid")], "ranks": (0..ranks).map(of_rank).collect::<Vec<_>>(),
    })
}

/// A browser with the page of such a profile, and the size of the page.
fn shown(ranks: u32) -> Option<(Browser, u64)> {
    let mut browser = Browser::start(1280, 1000)?;
    let directory = fresh_dir();
    fs::write(directory.path().join("profile.json"), profile_of(ranks).to_string()).expect("a profile");
    let page = page_in(directory.path());
    browser.open(&page);
    browser.value("document.querySelector('#traffic').scrollIntoView()");
    Some((browser, fs::metadata(page).expect("a page").len()))
}

/// Chooses, and gives messages, bytes and pairs.
fn choose(browser: &mut Browser, choices: &[(&str, &str)]) -> [u64; 3] {
    for (name, text) in choices {
        let chosen = browser.value(&format!(
            "(() => {{ const s = document.querySelector('#traffic [name={name}]'), o = [...s.options].find((o) => o.text.startsWith('{text}')); \
             if (!o) return false; s.value = o.value; s.dispatchEvent(new Event('change', {{bubbles: true}})); return true; }})()"
        ));
        assert_eq!(chosen, true, "{name} has {text}");
    }
    let numbers = browser.value(
        "['messages', 'bytes', 'pairs'].map((n) => Number(document.querySelector('#traffic').dataset[n]))",
    );
    serde_json::from_value(numbers).expect("numbers")
}

/// The rows and columns that are seen: from, to, from, to.
fn seen(browser: &mut Browser) -> Vec<u32> {
    let view = browser.value("document.querySelector('#traffic canvas').dataset.view.split(' ').map(Number)");
    serde_json::from_value(view).expect("numbers")
}

/// A place of the window, from that of the middle of a cell.
fn place(browser: &mut Browser, row: f64, column: f64) -> (f64, f64) {
    // Of the square in the canvas: its edges are where the page draws its first and last colours.
    let script = format!(
        "(() => {{ const c = document.querySelector('#traffic canvas'), b = c.getBoundingClientRect(), s = document.querySelector('#traffic').square; \
         return [b.left + s.x({column} + 0.5), b.top + s.y({row} + 0.5)]; }})()"
    );
    serde_json::from_value(browser.value(&script)).expect("a place")
}

fn tip_at(browser: &mut Browser, row: f64, column: f64) -> String {
    let at = place(browser, row, column);
    browser.mouse("mouseMoved", at, &json!({}));
    texts(browser, "#tip")
}

#[test]
#[ignore = "slow"]
fn what_is_chosen_is_added_up() {
    let Some((mut browser, _)) = shown(64) else { return };
    let all = 64 * 63;
    assert_eq!(choose(&mut browser, &[]), [64 * 15 + 4 * all, 64 * 21480 + 32 * all, all]);
    picture(&mut browser, "traffic.png");
    let p2p = ("kind", "point-to-point");
    assert_eq!(choose(&mut browser, &[p2p]), [960, 64 * 21480, 128]);
    assert_eq!(choose(&mut browser, &[("communicator", "grid")]), [320, 64 * 20480, 64]);
    assert_eq!(choose(&mut browser, &[("phase", "(no phase)")]), [0, 0, 0]);
    assert!(texts(&mut browser, "#traffic .said").contains("No rank has sent anything"));
    assert_eq!(choose(&mut browser, &[("communicator", "all")]), [640, 64_000, 64]);
    assert!(texts(&mut browser, "#traffic .said").contains("128 messages, 128 B from ranks to themselves"));
    assert_eq!(choose(&mut browser, &[("kind", "collective"), ("phase", "solve")]), [4 * all, 32 * all, all]);
    assert!(texts(&mut browser, "#traffic .basis").contains("estimated"));
    let carried = choose(&mut browser, &[("kind", "as carried: sent"), ("phase", "all")]);
    assert_eq!(carried, [64, 64 * 1200, 64]);
    let basis = texts(&mut browser, "#traffic .basis");
    assert!(basis.contains("Rows send, columns receive") && basis.contains("as carried"), "{basis}");
    choose(&mut browser, &[("kind", "files")]);
    assert!(texts(&mut browser, "#traffic .said").contains("written: 18.75 KiB in 192 calls"));
    picture(&mut browser, "traffic-files.png");
    // Each number, of ranks and of hosts: at the edges are the sums.
    choose(&mut browser, &[p2p, ("order", "hosts")]);
    for number in ["bytes", "messages", "mean"] {
        choose(&mut browser, &[("number", number)]);
        assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()), "{number}");
    }
    assert_eq!(choose(&mut browser, &[("number", "messages")]), [960, 64 * 21480, 8]);
    picture(&mut browser, "traffic-hosts.png");
    let tip = tip_at(&mut browser, 0.0, 1.0);
    // One rank sends to the next host in the ring, eight do on the grid.
    assert!(tip.contains("from node0 to node1") && tip.contains("50"), "{tip}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_rectangle_zooms_and_a_cell_tells_its_sizes() {
    let Some((mut browser, _)) = shown(64) else { return };
    choose(&mut browser, &[("kind", "point-to-point")]);
    let tip = tip_at(&mut browser, 3.0, 11.0);
    for part in
        ["from rank 3 (node0) to rank 11 (node0)", "5", "20 KiB", "8\u{2013}15", "8192 B \u{2013} < 16 KiB"]
    {
        assert!(tip.contains(part), "{part}: {tip}");
    }
    picture(&mut browser, "traffic-cell.png");
    // Below the other way round there is nothing: the direction is kept.
    assert!(tip_at(&mut browser, 11.0, 3.0).contains("messages\t0"));
    let [from, to] = [(9.6, 15.6), (20.4, 30.4)].map(|(row, column)| place(&mut browser, row, column));
    let held = json!({"button": "left", "buttons": 1, "clickCount": 1});
    for (kind, at) in [("mousePressed", from), ("mouseMoved", to), ("mouseReleased", to)] {
        browser.mouse(kind, at, &held);
    }
    assert_eq!(seen(&mut browser), [10, 21, 16, 31]);
    assert!(tip_at(&mut browser, 12.0, 20.0).contains("from rank 12 (node0) to rank 20 (node1)"));
    picture(&mut browser, "traffic-zoomed.png");
    for (key, view) in [("+", [13, 18, 20, 27]), ("ArrowDown", [14, 19, 20, 27]), ("0", [0, 64, 0, 64])] {
        browser.value(&format!(
            "document.querySelector('#traffic canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))"
        ));
        assert_eq!(seen(&mut browser), view, "{key}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_thousand_ranks_fit_on_the_page() {
    let Some((mut browser, size)) = shown(1024) else { return };
    assert!(size < 600_000, "{size} bytes");
    let all = 1024 * 1023;
    assert_eq!(choose(&mut browser, &[]), [1024 * 15 + 4 * all, 1024 * 21480 + 32 * all, all]);
    assert!(browser.value("document.querySelectorAll('#traffic *').length").as_u64() < Some(400));
    for dark in [true, false] {
        browser.dark(dark);
        // Colours are drawn anew.
        let drawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(modules.dom.color('paper'))))) ";
        assert_eq!(browser.value(drawn), if dark { "#14171b" } else { "#ffffff" });
        picture(&mut browser, if dark { "traffic-1024-dark.png" } else { "traffic-1024.png" });
    }
    assert_eq!(choose(&mut browser, &[("order", "hosts")])[2], 64 * 64);
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_run_is_shown_as_it_is_reported() {
    let Some(mut browser) = Browser::start(1280, 1000) else { return };
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let directory = fresh_dir();
    let run = directory.path().join("run");
    let job = Job::new(&mpi, 4, compile_special(&mpi, "traffic")).args([directory.path().join("file")]);
    let job = job.under_mel(["--profile", "matrix", "-o", run.to_str().expect("UTF-8")]).run();
    job.expect(job.code == Some(0), "the program ends as ever");
    browser.open(&page_in(&run));
    for (kind, named) in [
        ("p2p", "point-to-point"),
        ("put", "one-sided, put"),
        ("get", "one-sided, get"),
        ("collective", "collective"),
    ] {
        let mut report = Command::new(mel());
        report.args(["report", "--matrix", "--csv", "--kind", kind]).arg(&run);
        let report = report.output().expect("mel can be started");
        let mut sums = [0, 0];
        for line in String::from_utf8_lossy(&report.stdout).lines().skip(1) {
            let fields: Vec<u64> =
                line.rsplit(',').take(4).map(|field| field.parse().expect("a number")).collect();
            if fields[2] != fields[3] {
                sums = [sums[0] + fields[1], sums[1] + fields[0]];
            }
        }
        assert!(sums[0] > 0, "{kind}");
        assert_eq!(choose(&mut browser, &[("kind", named)])[..2], sums, "{kind}");
    }
    assert_eq!(choose(&mut browser, &[("kind", "point-to-point"), ("communicator", "halves")]), [16, 256, 4]);
    picture(&mut browser, "traffic-4.png");
    assert_eq!(browser.value("document.querySelectorAll('#matrix').length"), 0, "there is no trace");
    assert_eq!(browser.complaints(), [""; 0]);
}
