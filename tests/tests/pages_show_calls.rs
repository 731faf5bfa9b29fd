//! The page shows where the time goes: the verdict on top, the time of each rank, call sites that can be searched and
//! sorted, and wait states.

use std::fs;

use mel_tests::artifacts::fresh_dir;
use mel_tests::browser::Browser;
use serde_json::{Value, json};

use crate::pages_in_a_browser::{OVERLAPS, page_in, picture, texts};

/// The rank that all others wait for.
const SLOW: u32 = 3;

/// The calls of a rank in ten seconds; each takes half as long as the one before.
fn calls_of(rank: u32) -> Vec<Value> {
    let functions = [
        "MPI_Recv",
        "MPI_Allreduce",
        "MPI_Waitall",
        "MPI_Send",
        "MPI_Isend",
        "MPI_Irecv",
        "MPI_Bcast",
        "MPI_Barrier",
        "MPI_Iprobe",
    ];
    let call = |(place, function): (usize, &&str)| {
        let total = if rank == SLOW { 0.01 } else { 2.0 + f64::from(rank * 7919 % 13) / 10.0 }
            / f64::from(1 << place);
        let mut call = json!({"function": function, "site": place, "communicator": 0, "calls": 1000 * (place + 1), "total_s": total,
            "max_s": total / 10.0, "bytes_sent": 8_000_000});
        if place < 3 && rank != SLOW {
            let kind = if *function == "MPI_Allreduce" { "collective" } else { "late_sender" };
            call["waits"] = json!([{"kind": kind, "peer": SLOW, "peer_site": 3, "count": 900, "lost_s": total * 0.7, "max_s": total / 20.0}]);
            call["messages"] = json!({"expected": 750, "unexpected": 250, "search_s": 1e-4});
        }
        call
    };
    functions.iter().enumerate().map(call).collect()
}

/// A profile as a file would have it.
fn profile_of(ranks: u32, verdict: Option<Value>) -> Value {
    let of_ranks: Vec<Value> = (0..ranks)
        .map(|rank| {
            let caused = if rank == SLOW { 3.1 * f64::from(ranks) } else { 0.001 };
            json!({"rank": rank, "host": format!("node{}", rank / 64), "run_s": 10.0, "caused_s": caused, "calls": calls_of(rank)})
        })
        .collect();
    let site = |line: u32| json!({"file": "/src/halo.c", "line": line, "function": format!("exchange_{line}"), "module": "app", "offset": line});
    let sites: Vec<Value> = (40..49).map(site).collect();
    let mut profile = json!({"command": ["./halo"], "mpi": "An MPI", "profiled": ["calls"], "world_size": ranks, "duration_s": 10.5,
        "sites": sites, "communicators": [{"name": "MPI_COMM_WORLD", "size": ranks}], "ranks": of_ranks});
    if let Some(verdict) = verdict {
        profile["verdict"] = verdict;
    }
    profile
}

fn finding(number: u32) -> Value {
    let text = format!("finding {number}: receives at halo.c:40 wait for rank {SLOW}, which sends late");
    json!({"rule": "late_sender", "lost_s": 5.0, "share": 0.3 / f64::from(number), "cause_rank": SLOW, "victims": [0, 1, 2],
        "communicator": "MPI_COMM_WORLD", "site": "halo.c:40 (exchange_40)", "cause_site": "halo.c:43 (exchange_43)", "count": 900,
        "basis": "estimated", "text": text, "advice": "Give that rank less work."})
}

fn open(browser: &mut Browser, profile: &Value) {
    let directory = fresh_dir();
    fs::write(directory.path().join("profile.json"), profile.to_string()).expect("a profile");
    browser.open(&page_in(directory.path()));
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
}

#[test]
#[ignore = "slow"]
fn the_verdict_stands_on_top_with_at_most_five_findings() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    open(&mut browser, &profile_of(4, Some((1..8).map(finding).collect())));
    assert_eq!(browser.value("document.querySelector('main > section').id"), "verdict");
    assert_eq!(browser.value("document.querySelectorAll('#verdict ol li').length"), 5);
    let first = texts(&mut browser, "#verdict li");
    for part in [
        "30",
        "Finding 1",
        "cause rank 3 at halo.c:43",
        "time lost at halo.c:40",
        "Give that rank less work",
        "900 calls",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(texts(&mut browser, "#verdict").contains("2 more findings"));

    open(&mut browser, &profile_of(4, Some(json!([]))));
    let text = texts(&mut browser, "#verdict");
    assert!(text.contains("no rank waits long for another") && text.contains("% of the run"), "{text}");

    open(&mut browser, &profile_of(4, None));
    assert_eq!(browser.value("document.querySelector('#verdict')"), Value::Null);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn each_rank_has_a_bar_of_its_time() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    for (ranks, bars) in [(1, 1), (4, 4), (64, 64), (256, 256)] {
        open(&mut browser, &profile_of(ranks, Some(json!([finding(1)]))));
        assert_eq!(
            browser.value("document.querySelectorAll('#balance .bars g').length"),
            bars,
            "{ranks} ranks"
        );
        picture(&mut browser, &format!("calls-{ranks}.png"));
        browser.value("document.querySelector('#balance').scrollIntoView()");
        picture(&mut browser, &format!("calls-{ranks}-balance.png"));
    }
    open(&mut browser, &profile_of(64, None));
    let tip = browser.value("document.querySelectorAll('#balance .bars g')[0].dataset.tip");
    let tip = tip.as_str().unwrap_or_default();
    assert!(
        tip.contains("rank 0 on node0") && tip.contains("MPI_Recv: 2") && tip.contains("of it waiting 1.4"),
        "{tip}"
    );
    // The rank that others wait for comes first, if that is asked for.
    browser.value(
        "(() => { const s = document.querySelector('#balance-order'); s.value = 'caused'; \
         s.dispatchEvent(new Event('change', {bubbles: true})); })()",
    );
    let first = browser.value("document.querySelectorAll('#balance .bars g')[0].dataset.tip");
    assert!(first.as_str().is_some_and(|tip| tip.starts_with("rank 3 ")), "{first}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn very_many_ranks_are_distributions_and_one_can_be_asked_for() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    open(&mut browser, &profile_of(3000, Some(json!([finding(1)]))));
    assert_eq!(browser.value("document.querySelectorAll('#balance .bars').length"), 0);
    let parts = ["run", "in MPI", "waiting", "others wait for it", "MPI functions: MPI_Recv"];
    let choices = texts(&mut browser, "#balance-choice");
    assert!(parts.iter().all(|part| choices.contains(part)), "{choices}");
    for choice in 0..5 {
        browser.value(&format!(
            "(() => {{ const s = document.querySelector('#balance-choice'); s.value = '{choice}'; \
             s.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
        ));
        assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()), "{choice}");
        assert_eq!(browser.value("document.querySelectorAll('#balance .over svg').length"), 1);
    }
    browser.value(
        "(() => { const s = document.querySelector('#balance-choice'); s.value = '3'; \
         s.dispatchEvent(new Event('change', {bubbles: true})); })()",
    );
    let bars =
        browser.value("[...document.querySelectorAll('#balance .over .bar')].map((bar) => bar.dataset.tip)");
    let bars: Vec<String> = serde_json::from_value(bars).expect("texts");
    assert_eq!(bars.len(), 2, "{bars:?}");
    assert!(bars[0].starts_with("2\u{202f}999 ranks") && bars[1].starts_with("1 rank"), "{bars:?}");
    // The rank that others wait for comes first; a click shows its numbers.
    browser.value("document.querySelector('#balance .ends button').click()");
    let found = texts(&mut browser, "#over-found");
    for part in ["rank 3 on node0", "others wait for it", "9300", "MPI functions: MPI_Recv", "10\u{202f}ms"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let ask = |rank: &str| {
        format!(
            "(() => {{ const s = document.querySelector('#over-rank'); s.value = '{rank}'; \
             s.dispatchEvent(new Event('input', {{bubbles: true}})); \
             return document.querySelector('#over-found').innerText; }})()"
        )
    };
    let of = |browser: &mut Browser, rank| browser.value(&ask(rank)).as_str().unwrap_or_default().to_owned();
    assert!(of(&mut browser, "2999").contains("rank 2999 on node46"));
    assert!(of(&mut browser, "3000").contains("There is no rank 3000: they are 0 to 2999"));
    assert!(of(&mut browser, "x").contains("Give the number of a rank"));
    browser.value("document.querySelector('#balance').scrollIntoView()");
    picture(&mut browser, "calls-3000-balance.png");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn call_sites_are_searched_and_sorted() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    open(&mut browser, &profile_of(4, Some(json!([finding(1)]))));
    let rows = "[...document.querySelectorAll('#sites tbody tr')].map((row) => row.innerText)";
    let of = |browser: &mut Browser| -> Vec<String> {
        serde_json::from_value(browser.value(rows)).expect("texts")
    };
    let all = of(&mut browser);
    assert_eq!(all.len(), 9);
    for part in
        ["MPI_Recv", "halo.c:40 (exchange_40)", "MPI_COMM_WORLD", "4\u{202f}000", "8000\u{202f}B", "3", "750"]
    {
        assert!(all[0].contains(part), "{part}: {}", all[0]);
    }
    let click = |head: &str| {
        format!(
            "[...document.querySelectorAll('#sites th button')].find((b) => b.innerText.startsWith('{head}')).click()"
        )
    };
    browser.value(&click("calls"));
    assert!(of(&mut browser)[0].contains("MPI_Iprobe"));
    browser.value(&click("calls"));
    assert!(of(&mut browser)[0].contains("MPI_Recv"), "the other way round");
    let search = |words: &str| {
        format!(
            "(() => {{ const s = document.querySelector('#sites input'); s.value = '{words}'; \
             s.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        )
    };
    browser.value(&search("wait halo.c:42"));
    let found = of(&mut browser);
    assert!(found.len() == 1 && found[0].contains("MPI_Waitall"), "{found:?}");
    browser.value(&search("nothing like it"));
    assert!(of(&mut browser).is_empty());
    // Who waits for whom, the most lost first.
    let first = texts(&mut browser, "#waits tbody tr");
    for part in ["late sender", "MPI_Recv", "halo.c:40", "halo.c:43", "0, 1, 2"] {
        let parts: Vec<&str> = part.split(", ").collect();
        assert!(parts.iter().all(|part| first.contains(part)), "{part}: {first}");
    }
    browser.value("document.querySelector('#sites').scrollIntoView()");
    picture(&mut browser, "call-sites.png");
    // On paper tables have their heads, which are buttons, and nothing else that wants to be pressed.
    browser.print(true);
    let shown = |browser: &mut Browser, buttons: &str| {
        browser.value(&format!(
            "[...document.querySelectorAll('{buttons}')].filter((button) => button.offsetWidth > 0).length"
        ))
    };
    assert!(shown(&mut browser, "th button").as_u64() > Some(0));
    assert_eq!(shown(&mut browser, "button:not(th button)"), 0);
    browser.print(false);
    assert_eq!(browser.complaints(), [""; 0]);
}
