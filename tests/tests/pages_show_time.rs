//! The timeline of the page: messages are arrows, what is selected is counted, the strip above moves it, and searches are not
//! shown larger than they are.

use std::fs;

use mel_tests::artifacts::{fresh_dir, mel, root};
use mel_tests::browser::Browser;
use mel_tests::{Job, Mpi, compile_source};
use serde_json::{Value, json};

use crate::pages_in_a_browser::{OVERLAPS, page_in, picture, texts};

/// A browser with the page of a traced halo exchange whose profile has a finding with its worst instance.
fn traced(width: u32) -> Option<Browser> {
    let mut browser = Browser::start(width, 900)?;
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let program = compile_source(&mpi, &root().join("examples/programs/halo2d.c"));
    let directory = fresh_dir();
    let run = directory.path().join("run");
    let job = Job::new(&mpi, 4, program).args(["--iterations", "20"]);
    let job = job.under_mel(["--trace", "-o", run.to_str().expect("UTF-8")]).run();
    job.expect(job.code == Some(0), "the program ends as ever");
    let mut profile = profile(&run);
    profile["verdict"] = json!([{"rule": "late_sender", "lost_s": 0.01, "share": 0.1, "cause_rank": 1, "victims": [0], "count": 3,
        "basis": "exact", "text": "rank 1 sends late", "advice": "", "worst": [{"rank": 2, "begin_s": 0.004, "lost_s": 0.0005}]}]);
    fs::write(run.join("profile.json"), profile.to_string()).expect("a profile");
    browser.open(&page_in(&run));
    Some(browser)
}

fn profile(run: &std::path::Path) -> Value {
    let report = std::process::Command::new(mel())
        .args(["report", "--json"])
        .arg(run)
        .output()
        .expect("mel can be started");
    serde_json::from_slice(&report.stdout).expect("JSON")
}

/// From the left and from the top of a canvas in the window.
fn canvas(browser: &mut Browser, selector: &str) -> (f64, f64, f64, f64) {
    let script = format!(
        "(() => {{ const c = document.querySelector('{selector}'); c.scrollIntoView({{block: 'center'}}); \
         const b = c.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()"
    );
    let [x, y, width, height]: [f64; 4] = serde_json::from_value(browser.value(&script)).expect("numbers");
    (x, y, width, height)
}

fn drag(browser: &mut Browser, from: (f64, f64), to: (f64, f64)) {
    let held = json!({"button": "left", "buttons": 1, "clickCount": 1});
    browser.mouse("mouseMoved", from, &json!({}));
    browser.mouse("mousePressed", from, &held);
    browser.mouse("mouseMoved", (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1)), &held);
    browser.mouse("mouseMoved", to, &held);
    browser.mouse("mouseReleased", to, &held);
    browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

fn seen(browser: &mut Browser) -> (f64, f64) {
    let range = browser.value(
        "[document.querySelector('#timeline').dataset.from, document.querySelector('#timeline').dataset.to].map(Number)",
    );
    (range[0].as_f64().expect("a time"), range[1].as_f64().expect("a time"))
}

#[test]
#[ignore = "slow"]
fn each_message_is_an_arrow() {
    let Some(mut browser) = traced(1280) else { return };
    assert_eq!(browser.value("modules.dom.data.events.arrows.every"), 1);
    assert_eq!(
        browser.value("modules.dom.data.events.arrows.from.length === modules.dom.data.events.messages"),
        true
    );
    // No message comes before it was sent, and each comes from where the matrix says.
    assert_eq!(
        browser.value("modules.dom.data.events.arrows.durations.every((duration) => duration > 0)"),
        true
    );
    let pairs = "(() => { const a = modules.dom.data.events.arrows, size = modules.dom.data.events.matrix.size, all = {}; \
                 a.from.forEach((from, i) => { const key = from * size + a.to[i]; all[key] = (all[key] || 0) + 1; }); \
                 return modules.dom.rowsOfTable(modules.dom.data.events.matrix.cells).every((c) => (all[c.sender * size + c.receiver] || 0) === c.messages); })()";
    assert_eq!(browser.value(pairs), true);
    browser.value(
        "(() => { const { first_look_ns: begin, to_ns: end } = modules.dom.data.events, at = (share) => begin + share * (end - begin); \
         modules.time.goTo({ rank: 0, from: at(0.4), to: at(0.5) }); })()",
    );
    browser.value("document.querySelector('#timeline').scrollIntoView()");
    picture(&mut browser, "arrows.png");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn what_is_selected_is_counted() {
    let Some(mut browser) = traced(1280) else { return };
    let (x, y, width, height) = canvas(&mut browser, "#timeline .scroll canvas");
    let before = seen(&mut browser);
    drag(&mut browser, (x + 0.1 * width, y + 50.0), (x + width - 1.0, y + 52.0));
    assert_eq!(seen(&mut browser), before, "to select moves nothing");
    let text = texts(&mut browser, "#timeline .selection");
    for part in ["Selected", "all ranks", "MPI_Waitall", "rank 3", "sent", "received"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    picture(&mut browser, "selection.png");
    // A box selects its ranks.
    drag(&mut browser, (x + 0.2 * width, y + 30.0), (x + 0.6 * width, y + 30.0 + height / 3.0));
    let text = texts(&mut browser, "#timeline .selection b");
    assert!(text.contains("ranks 0 to 1"), "{text}");
    browser.value("document.querySelector('#timeline [data-into]').click()");
    let nearer = seen(&mut browser);
    assert!(nearer.0 > before.0 && nearer.1 < before.1, "{before:?} {nearer:?}");
    // The sums are those of the blocks.
    let sums = "(() => { const rows = modules.dom.data.events.rows.map((row) => Object.assign(modules.time.unpack(row), {manyOf: new Map(), longest: 1e15})); \
                const { names } = modules.selection.selectedSums(rows, 0, modules.dom.data.events.to_ns + 1); \
                return [names.reduce((sum, name) => sum + name.number, 0), modules.dom.data.events.rows.reduce((sum, row) => sum + row.steps.length, 0)]; })()";
    let sums = browser.value(sums);
    assert_eq!(sums[0], sums[1]);
    browser.value("document.querySelector('#timeline [data-clear]').click()");
    assert_eq!(browser.value("document.querySelector('#timeline .selection').hidden"), true);
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn the_strip_shows_and_moves_what_is_seen() {
    let Some(mut browser) = traced(1280) else { return };
    let whole = seen(&mut browser);
    let (x, y, width, height) = canvas(&mut browser, "#timeline .strip");
    let at = |share: f64| x + 74.0 + share * (width - 74.0);
    drag(&mut browser, (at(0.25), y + height / 2.0), (at(0.5), y + height / 2.0));
    let part = seen(&mut browser);
    let share = |time: f64| (time - whole.0) / (whole.1 - whole.0);
    assert!((share(part.0) - 0.25).abs() < 0.01 && (share(part.1) - 0.5).abs() < 0.01, "{whole:?} {part:?}");
    drag(&mut browser, (at(0.4), y + height / 2.0), (at(0.6), y + height / 2.0));
    let moved = seen(&mut browser);
    assert!(
        (share(moved.0) - 0.45).abs() < 0.01 && (share(moved.1) - 0.7).abs() < 0.01,
        "{whole:?} {moved:?}"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn the_worst_instance_leads_into_the_timeline() {
    let Some(mut browser) = traced(1280) else { return };
    let worst = browser.value(
        "(() => { const link = document.querySelector('#verdict .worst [data-moment]'); link.click(); \
         return modules.time.places[link.dataset.moment].marked[0]; })()",
    );
    let (from, to) = seen(&mut browser);
    assert!(worst.as_f64().is_some_and(|begin| from <= begin && begin <= to), "{worst} {from} {to}");
    picture(&mut browser, "worst.png");
    // So do those that the trace has itself.
    let worst = browser.value(
        "(() => { const link = document.querySelector('#waits [data-moment]'); link.click(); const { marked, rank } = modules.time.places[link.dataset.moment]; \
         return modules.dom.data.exact.some((f) => f.worst.some((w) => w.rank === rank && w.begin_s * 1e9 === marked[0])) ? marked[0] : null; })()",
    );
    let (from, to) = seen(&mut browser);
    assert!(worst.as_f64().is_some_and(|begin| from <= begin && begin <= to), "{worst} {from} {to}");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The share of the ranks in MPI, and the part of a lane that is coloured, are what the blocks say.
#[test]
#[ignore = "slow"]
fn colours_are_as_large_as_the_time_that_they_stand_for() {
    let Some(mut browser) = traced(1280) else { return };
    // One call in half of the time, one search in a ten-thousandth of it, on one of two ranks.
    let shares = "(() => { const row = (kind, start, end) => ({ kind, start: [start], end: [end], longest: end - start, names: [0], manyOf: new Map(), classes: [0] }); \
                  return [modules.shares.sharesOver([row('calls', 0, 500), row('calls', 2000, 2001)], 0, 1000, 4)[0], \
                  modules.shares.sharesOver([row('searches', 333.3, 333.4)], 0, 1000, 1)[0]].map((part) => [...part]); })()";
    let shares: Vec<Vec<f64>> = serde_json::from_value(browser.value(shares)).expect("numbers");
    assert_eq!(shares[0], [0.5, 0.5, 0.0, 0.0]);
    assert!((shares[1][0] - 1e-4).abs() < 1e-9, "{shares:?}");
    // A row of short searches, as it is drawn: a hundredth of what it has room for.
    let drawn = "(() => { const canvas = document.createElement('canvas'); canvas.width = 1000; canvas.height = 20; const pen = canvas.getContext('2d'); \
                 const start = [], end = []; for (let i = 0; i < 5000; i++) { start.push(i * 100); end.push(i * 100 + 1); } \
                 const place = modules.shares.CLASS_NAMES.indexOf('search_posted'); \
                 const row = { kind: 'searches', start, end, longest: 1, names: start.map(() => 0), manyOf: new Map(), classes: [place] }; \
                 const view = { stretch: { from: 0, to: 500000 }, width: 1000, x: (time) => modules.lanes.LABELS + time / 500000 * (1000 - modules.lanes.LABELS) }; \
                 modules.timeline.drawBlocks(pen, row, 0, 20, view); const { data } = pen.getImageData(modules.lanes.LABELS, 0, 1000 - modules.lanes.LABELS, 20); let alpha = 0; \
                 for (let i = 3; i < data.length; i += 4) alpha += data[i] / 255; return alpha / (20 * (1000 - modules.lanes.LABELS)); })()";
    let share = browser.value(drawn).as_f64().expect("a number");
    assert!((share - 0.01).abs() < 0.003, "{share}");
    let legend = texts(&mut browser, "#timeline .legend");
    assert!(legend.contains('%'), "{legend}");
    assert_eq!(browser.complaints(), [""; 0]);
}
