//! The page shows the network: each end of a link in its own colour, filters, phases, and who loads an end.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::browser::Browser;
use serde_json::{Value, json};

use crate::pages_in_a_browser::{OVERLAPS, picture};

const HOSTS: u32 = 1000;
const LEAVES: u32 = 50;
const SPINES: u32 = 25;

/// Two planes of switches over the same hosts.
fn fabric() -> String {
    let mut text = String::new();
    for (plane, interface) in [("a", "eth0"), ("b", "eth1")] {
        writeln!(text, "[[plane]]\nname = \"{plane}\"\ninterfaces = [\"{interface}\"]").unwrap();
    }
    writeln!(text, "[[host]]\nname = \"node[1-{HOSTS}]\"").unwrap();
    for plane in ["a", "b"] {
        writeln!(text, "[[switch]]\nname = \"leaf-{plane}[1-{LEAVES}],spine-{plane}[1-{SPINES}]\"").unwrap();
        writeln!(text, "[[link]]\nfrom = \"leaf-{plane}[1-{LEAVES}]\"\nto = \"spine-{plane}[1-{SPINES}]\"\nplane = \"{plane}\"").unwrap();
        for leaf in 0..LEAVES {
            let each = HOSTS / LEAVES;
            let (first, last) = (leaf * each + 1, (leaf + 1) * each);
            writeln!(text, "[[link]]\nfrom = \"node[{first}-{last}]\"\nto = \"leaf-{plane}{}\"\ncapacity = \"100 Gbit/s\"\nplane = \"{plane}\"", leaf + 1).unwrap();
        }
    }
    text
}

/// A rank on each host; in the phase solve to several others, `step` further and all of them to the one that `gathers`, before it to the next.
fn profile(step: u32, gathers: bool) -> Value {
    let ranks: Vec<Value> = (0..HOSTS)
        .map(|rank| {
            let row = |phase: u32, step: u32, bytes: u64| {
                json!({"kind": "p2p", "phase": phase, "peer": (rank + step) % HOSTS, "messages": 1, "bytes": bytes})
            };
            let mut traffic = vec![row(0, 1, 1000), row(1, step, 500_000), row(1, 400, u64::from(rank) * 1000)];
            if rank != 0 && gathers {
                traffic.push(json!({"kind": "p2p", "phase": 1, "peer": 0, "messages": 1, "bytes": 20_000}));
            }
            json!({"rank": rank, "host": format!("node{}", rank + 1), "run_s": 1.0, "traffic": traffic})
        })
        .collect();
    json!({"command": ["./halo"], "mpi": "An MPI", "profiled": ["matrix"], "world_size": HOSTS, "duration_s": 1.0,
        "phases": ["", "solve"], "ranks": ranks})
}

/// How many link ends are shown.
fn shown(browser: &mut Browser) -> u32 {
    let told = browser.value("document.querySelector('#net-told').textContent.replace(/\\u202f/g, '')");
    let told = told.as_str().unwrap_or_default().to_owned();
    told.split(' ').next().and_then(|word| word.parse::<u32>().ok()).expect("a number")
}

/// Sets a field of the section; gives how many link ends are shown then.
fn set(browser: &mut Browser, field: &str, value: &str) -> u32 {
    browser.value(&format!(
        "(() => {{ const f = document.querySelector('#net-{field}'); f.value = '{value}'; f.dispatchEvent(new Event('input')); }})()"
    ));
    shown(browser)
}

/// What the mouse tells over the first link end that it comes across, row by row.
fn told(browser: &mut Browser) -> String {
    let told = browser.value(
        "(() => {
            const canvas = document.querySelector('canvas.network'), box = canvas.getBoundingClientRect(), tip = document.querySelector('#tip');
            for (let y = 0; y < box.height; y += 10) {
                for (let x = 60; x < box.width - 120; x += 10) {
                    canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + x, clientY: box.top + y }));
                    if (!tip.hidden) return tip.textContent;
                }
            }
            return '';
        })()",
    );
    told.as_str().unwrap_or_default().to_owned()
}

#[test]
#[ignore = "slow"]
fn a_network_of_1000_hosts_is_shown_and_each_end_says_who_loads_it() {
    let Some(mut browser) = Browser::start(1440, 1000) else { return };
    let directory = fresh_dir();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("profile.json"), profile(20, true).to_string()).expect("a profile");
    fs::write(path("network.toml"), fabric()).expect("a network");
    let status = Command::new(mel())
        .arg("net")
        .arg(directory.path())
        .arg("--fabric")
        .arg(path("network.toml"))
        .arg("--html")
        .arg(path("page.html"))
        .status();
    assert!(status.expect("mel can be started").success());
    browser.open(&path("page.html"));
    browser.value("document.querySelector('#network').scrollIntoView()");
    picture(&mut browser, "network.png");
    let all = shown(&mut browser);
    assert!(all > 4 * HOSTS, "{all}");
    let of_plane = set(&mut browser, "plane", "1");
    assert_eq!(of_plane * 2, all);
    let between_switches = set(&mut browser, "level", "1");
    assert_eq!(of_plane - between_switches, 2 * HOSTS);
    picture(&mut browser, "network-switches.png");
    set(&mut browser, "level", "0");
    assert_eq!(set(&mut browser, "least", "100"), 1);
    // What is left is the link of the host that all send to; the mouse over its middle tells the ranks.
    let told = told(&mut browser);
    assert!(
        told.contains("\u{2192} node1") && told.contains("phase solve") && told.contains("rank "),
        "{told}"
    );
    set(&mut browser, "level", "");
    set(&mut browser, "plane", "");
    set(&mut browser, "least", "0");
    assert!(set(&mut browser, "phase", "0") < all);
    assert!(set(&mut browser, "hosts", "node100") < all);
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
#[ignore = "slow"]
fn two_runs_are_beside_each_other_with_one_scale_and_their_difference() {
    let Some(mut browser) = Browser::start(1440, 1000) else { return };
    let directory = fresh_dir();
    let path = |name: &str| directory.path().join(name);
    // In the second run nobody gathers, and messages stay within a leaf.
    for (name, step, gathers) in [("a", 20, true), ("b", 1, false)] {
        fs::create_dir(path(name)).expect("a directory");
        fs::write(path(name).join("profile.json"), profile(step, gathers).to_string()).expect("a profile");
    }
    fs::write(path("network.toml"), fabric()).expect("a network");
    let mut command = Command::new(mel());
    command.current_dir(directory.path()).args(["net", "a", "--beside", "b", "--fabric", "network.toml"]);
    let status = command.args(["--html", "page.html", "--png", "both.png"]).status();
    assert!(status.expect("mel can be started").success());
    assert!(fs::metadata(path("both.png")).expect("a picture").len() > 10_000);
    browser.open(&path("page.html"));
    browser.value("document.querySelector('#network').scrollIntoView()");
    picture(&mut browser, "network-two-runs.png");
    let height = |browser: &mut Browser| {
        browser.value("document.querySelector('canvas.network').clientHeight").as_f64().unwrap_or_default()
    };
    let (both, twice) = (shown(&mut browser), height(&mut browser));
    let (a, b) = (set(&mut browser, "run", "a"), set(&mut browser, "run", "b"));
    assert!(a > b && b > 0 && both == a + b, "{both} = {a} + {b}");
    assert!((height(&mut browser) * 2.0 - twice).abs() < 1.0);
    let change = set(&mut browser, "run", "change");
    assert!(change > 0 && change <= a, "{change}");
    picture(&mut browser, "network-change.png");
    // What has changed most is the link of the host that all sent to.
    set(&mut browser, "plane", "1");
    set(&mut browser, "level", "0");
    assert_eq!(set(&mut browser, "least", "100"), 1);
    let told = told(&mut browser);
    assert!(told.contains("\u{2192} node1") && told.contains("change\u{2212}"), "{told}");
    set(&mut browser, "least", "0");
    // In the phase that both have alike nothing changes.
    assert_eq!(set(&mut browser, "phase", "0"), 0);
    assert!(set(&mut browser, "run", "beside") > 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
