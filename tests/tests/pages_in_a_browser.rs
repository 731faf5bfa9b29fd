//! The page of a run does in a browser what it promises: it complains of nothing, needs no network, nothing
//! overlaps, the timeline zooms, and pointing at a block shows its attributes.
//!
//! With `MEL_PICTURES=DIR` it leaves pictures there, for people to see.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mel_tests::artifacts::{fresh_dir, installed_by, mel, root};
use mel_tests::browser::Browser;
use mel_tests::windows::WindowProgram;
use mel_tests::{Job, Mpi, Program, compile_source, compile_special};
use serde_json::{Value, json};

/// Runs a halo exchange and writes its page.
fn page(directory: &Path, options: &[&str]) -> PathBuf {
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let program = compile_source(&mpi, &root().join("examples/programs/halo2d.c"));
    page_of(directory, Job::new(&mpi, 4, program).args(["--iterations", "40"]), options)
}

/// Runs a job and writes its page and its pictures.
fn page_of(directory: &Path, job: Job<'_>, options: &[&str]) -> PathBuf {
    let run = directory.join("run");
    let with: Vec<&str> = options.iter().copied().chain(["-o", run.to_str().expect("UTF-8")]).collect();
    let job = job.under_mel(with).run();
    job.expect(job.code == Some(0), "the program ends as ever");
    let page = directory.join("page.html");
    let mut report = Command::new(mel());
    report.arg("report").arg(&run).arg("--html").arg(&page).arg("--png").arg(directory.join("pictures"));
    let report = report.output().expect("mel can be started");
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    for picture in String::from_utf8_lossy(&report.stdout).lines() {
        let bytes = fs::read(picture).expect("a picture that was announced");
        assert!(bytes.starts_with(b"\x89PNG\r\n") && bytes.len() > 2000, "{picture}");
    }
    page
}

/// The page of what is in a run's directory.
pub(crate) fn page_in(run: &Path) -> PathBuf {
    let page = run.join("page.html");
    let status = Command::new(mel()).arg("report").arg("--html").arg(&page).arg(run).status();
    assert!(status.expect("mel can be started").success());
    page
}

pub(crate) fn picture(browser: &mut Browser, name: &str) {
    if let Some(directory) = std::env::var_os("MEL_PICTURES") {
        browser.picture(&Path::new(&directory).join(name));
    }
}

/// Texts of one plot that lie over each other, and whatever is wider than the window.
pub(crate) const OVERLAPS: &str = "(() => {
    const over = [];
    for (const svg of document.querySelectorAll('svg')) {
        const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
        texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
            if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1) over.push(`${a} | ${b}`);
        }));
        const box = svg.getBoundingClientRect();
        texts.forEach(([a, p]) => { if (p.left < box.left - 1 || p.right > box.right + 1) over.push(`${a} is cut off`); });
    }
    if (document.documentElement.scrollWidth > innerWidth) over.push('the page is wider than the window');
    return over;
})()";

fn stretch(browser: &mut Browser) -> (f64, f64) {
    let range = browser.value("[document.querySelector('#timeline').dataset.from, document.querySelector('#timeline').dataset.to].map(Number)");
    (range[0].as_f64().expect("a time"), range[1].as_f64().expect("a time"))
}

/// Points at the timeline from its top to its bottom until the tooltip has that text.
fn point_until(browser: &mut Browser, x: f64, wanted: &[&str]) -> String {
    let script = "(() => { const c = document.querySelector('#timeline .scroll canvas'); c.scrollIntoView({block: 'center'}); \
                  const b = c.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()";
    let place: Vec<f64> = serde_json::from_value(browser.value(script)).expect("numbers");
    let mut seen = Vec::new();
    let mut y = 26.0;
    while y < place[3] {
        browser.mouse("mouseMoved", (place[0] + x * place[2], place[1] + y), &json!({}));
        let tip = browser
            .value("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').innerText");
        let tip = tip.as_str().unwrap_or_default().to_owned();
        if wanted.iter().all(|word| tip.contains(word)) {
            return tip;
        }
        seen.push(tip);
        y += 3.0;
    }
    panic!("no tooltip with {wanted:?} in {seen:?}");
}

#[test]
#[ignore = "slow"]
fn a_traced_run_can_be_explored() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let page = page(directory.path(), &["--trace"]);
    let pictures = fs::read_dir(directory.path().join("pictures")).expect("pictures").count();
    assert_eq!(pictures, 5, "lifetimes, searches, timeline, lengths, matrix");
    browser.open(&page);
    let run = texts(&mut browser, "#run");
    assert!(run.contains("events: model, computed beside the MPI library"), "{run}");
    for dark in [true, false] {
        browser.dark(dark);
        let overlaps = browser.value(OVERLAPS);
        assert_eq!(overlaps, Value::Array(Vec::new()));
        browser.value("document.documentElement.scrollTop = 0");
        picture(&mut browser, if dark { "dark-top.png" } else { "light-top.png" });
        browser.value("document.querySelector('#timeline').scrollIntoView()");
        picture(&mut browser, if dark { "dark-timeline.png" } else { "light-timeline.png" });
    }
    // Every quantity, also by powers of ten.
    for section in ["lifetimes", "searches"] {
        for choice in 0..4 {
            for logarithmic in [false, true] {
                browser.value(&format!(
                    "(() => {{ const s = document.querySelector('#{section}-choice'); s.value = '{choice}'; \
                     document.querySelector('#{section}-log').checked = {logarithmic}; \
                     s.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
                ));
                assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()), "{section} {choice}");
            }
        }
    }
    // All that the logs hold is there.
    for (section, wanted) in [("timeline", 3), ("lengths", 1), ("matrix", 1)] {
        let canvases = browser.value(&format!("document.querySelectorAll('#{section} canvas').length"));
        assert_eq!(canvases, wanted, "{section}");
    }
    assert!(browser.value("document.querySelectorAll('#lifetimes svg').length").as_u64() >= Some(3));

    // A search that is pointed out is found, and shows what it searched for.
    let whole = stretch(&mut browser);
    let finding = "[...document.querySelectorAll('#findings li')].find((li) => li.innerText.includes('longest searches'))";
    browser.value(&format!("{finding}.querySelector('[data-moment]').click()"));
    let near = stretch(&mut browser);
    assert!(near.1 - near.0 < (whole.1 - whole.0) / 10.0, "{whole:?} {near:?}");
    let middle = (74.0 + (1280.0 - 48.0 - 74.0) / 2.0) / (1280.0 - 48.0);
    let search = point_until(&mut browser, middle, &["search", "tag", "communicator"]);
    assert!(search.contains("takes") && search.contains("source"), "{search}");
    picture(&mut browser, "hover-search.png");

    // The wheel scrolls the page; with Ctrl it zooms around the mouse.
    browser.mouse("mouseWheel", (700.0, 450.0), &json!({"deltaX": 0, "deltaY": 1}));
    assert_eq!(stretch(&mut browser), near);
    browser.mouse("mouseWheel", (700.0, 450.0), &json!({"deltaX": 0, "deltaY": -400, "modifiers": 2}));
    let nearer = stretch(&mut browser);
    assert!(nearer.1 - nearer.0 < (near.1 - near.0) * 0.8, "{near:?} {nearer:?}");
    browser.value("document.querySelector('[data-zoom=all]').click()");
    assert!(stretch(&mut browser).0 <= whole.0);

    // A call that sends shows to whom.
    browser.value(
        "(() => { const row = modules.dom.data.events.rows.find((row) => row.kind === 'calls' && row.attributes.message && row.attributes.message.sent.includes(true)); \
         const { of, sent } = row.attributes.message, i = of[sent.indexOf(true)]; const at = row.steps.slice(0, i + 1).reduce((a, b) => a + b, 0); \
         const duration = row.durations[i]; modules.time.places[0] = {rank: row.rank, from: at - 5 * duration, to: at + 6 * duration}; \
         document.querySelector('[data-moment=\"0\"]').click(); })()",
    );
    let call = point_until(&mut browser, middle, &["MPI_", "sent to", "tag"]);
    assert!(call.contains("rank"), "{call}");
    picture(&mut browser, "hover-call.png");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The tooltip of the first block on a row of that kind one of whose attributes, `a`, fulfils a condition.
fn tip_where(browser: &mut Browser, kind: &str, condition: &str) -> String {
    let script = format!(
        "(() => {{ for (const row of modules.dom.data.events.rows.filter((row) => row.kind === '{kind}')) {{ \
         const full = modules.timeline.blocksOf(row), several = full.manyOf; \
         for (const [i, all] of full.attributesOf) if (all.some((a) => {condition})) {{ \
         const {{ tip }} = modules.dom; tip.innerHTML = modules.timeline.sliceTip(full, i); tip.hidden = false; return tip.innerText; }} }} return ''; }})()"
    );
    browser.value(&script).as_str().unwrap_or_default().to_owned()
}

pub(crate) fn texts(browser: &mut Browser, selector: &str) -> String {
    browser
        .value(&format!("document.querySelector('{selector}').innerText"))
        .as_str()
        .unwrap_or_default()
        .into()
}

/// axe-core, which looks for what keeps people from using a page.
fn axe() -> Option<String> {
    let prefix = installed_by("scripts/pypi-readers", Some("axe-playwright-python"))?;
    let python = fs::read_dir(prefix.join("lib")).expect("a folder").flatten();
    let mut files = python.map(|folder| folder.path().join("site-packages/axe_playwright_python/axe.min.js"));
    let file = files.find(|file| file.is_file()).expect("the package has axe-core");
    Some(fs::read_to_string(file).expect("a script"))
}

#[test]
#[ignore = "slow"]
fn nothing_keeps_anybody_from_using_the_page() {
    let (Some(axe), Some(mut browser)) = (axe(), Browser::start(1280, 900)) else { return };
    let directory = fresh_dir();
    let all = ["--trace", "--profile", "calls,queues,rma,matrix,net", "--vars", "mel_*", "--every", "20ms"];
    let page = page(directory.path(), &all);
    let found = "axe.run({ resultTypes: ['violations'] }).then((of) => of.violations.flatMap((rule) => \
                 rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`)))";
    for (width, dark) in [(1280, false), (1280, true), (400, false)] {
        browser.size(width, 900);
        browser.dark(dark);
        browser.open(&page);
        browser.value(&format!("{axe}; 0"));
        assert_eq!(browser.value(found), json!([]), "{width} pixels wide, dark: {dark}");
    }
}

#[test]
#[ignore = "slow"]
fn the_contents_stay_and_lead_to_each_section() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    browser.open(&page(directory.path(), &["--trace"]));
    let parts = texts(&mut browser, "#budget .legend");
    assert!(
        parts.contains("computing") && parts.contains('%'),
        "where the time goes is in the head: {parts}"
    );
    let sections = browser.value("document.querySelectorAll('main > section').length");
    assert_eq!(browser.value("document.querySelectorAll('#contents a').length"), sections);
    let seen = browser.value(
        "(async () => {
            const seen = [];
            for (const link of document.querySelectorAll('#contents a')) {
                link.click();
                await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                const bar = document.querySelector('#contents').getBoundingClientRect();
                const head = document.querySelector(link.hash + ' h2').getBoundingClientRect();
                const marked = document.querySelector('#contents [aria-current]');
                const last = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
                if (bar.top !== 0 || head.top < bar.bottom - 1 || (marked !== link && !last)) seen.push([link.hash, bar.top, head.top, marked && marked.hash]);
            }
            return seen;
        })()",
    );
    assert_eq!(seen, json!([]));
}

#[test]
#[ignore = "slow"]
fn variables_are_curves_that_zoom_with_the_timeline() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let job = Job::new(&mpi, 2, compile_special(&mpi, "sampled")).args(["200"]);
    let options = ["--trace", "--vars", "pml_monitoring_messages_count,mel_*", "--every", "5ms"];
    let page = page_of(directory.path(), job, &options);
    browser.open(&page);
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    let seen = "[...document.querySelectorAll('#variables figure')].map((f) => [f.querySelector('figcaption').innerText, \
                f.querySelectorAll('path').length, f.querySelector('path').getAttribute('d').split('L').length, \
                [...f.querySelectorAll('text')].pop().textContent])";
    let whole = browser.value(seen);
    let first = &whole[0];
    assert!(first[0].as_str().is_some_and(|text| text.contains("pml_monitoring_messages_count")), "{whole}");
    assert_eq!(first[1], 2, "a line for each rank: {whole}");
    assert!(first[2].as_u64() >= Some(5), "all samples of the log: {whole}");
    // A quarter of the time has fewer points, and another end.
    browser.value("document.querySelector('#timeline').scrollIntoView(); document.querySelector('[data-zoom=\"0.5\"]').click(); document.querySelector('[data-zoom=\"0.5\"]').click()");
    browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    let part = browser.value(seen);
    assert!(part[0][2].as_u64() < first[2].as_u64() && part[0][3] != first[3], "{whole} {part}");
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    browser.value("document.querySelector('#variables').scrollIntoView()");
    picture(&mut browser, "variables.png");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn regions_of_the_program_have_rows_below_their_calls() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let job = Job::new(&mpi, 4, compile_special(&mpi, "regions_in_time")).patient();
    browser.open(&page_of(directory.path(), job, &["--trace"]));
    let legend = texts(&mut browser, "#timeline .legend");
    assert!(legend.contains("regions of the program"), "{legend}");
    let kinds =
        "modules.dom.data.events.rows.filter((row) => row.rank === 1).map((row) => row.kind).slice(0, 2)";
    assert_eq!(browser.value(kinds), serde_json::json!(["calls", "regions"]));
    // One after the other, the innermost at each time: of each step three of its parts, and itself before and after them.
    let rows = "modules.dom.data.events.rows.filter((row) => row.kind === 'regions').map((row) => { \
                const full = modules.timeline.blocksOf(row), name = (i) => modules.dom.data.events.names[full.names[i]].name; \
                return [full.start.every((start, i) => i === 0 || start >= full.end[i - 1]), \
                        full.start.filter((_, i) => name(i) === 'main/step/assemble').length]; })";
    assert_eq!(browser.value(rows), serde_json::json!([[true, 10], [true, 10], [true, 10], [true, 10]]));
    let tip = "(() => { const row = modules.dom.data.events.rows.find((row) => row.kind === 'regions' && row.rank === 1), full = modules.timeline.blocksOf(row); \
               const at = full.start.findIndex((_, i) => modules.dom.data.events.names[full.names[i]].name === 'main/step/assemble'); \
               return modules.timeline.sliceTip(full, at); })()";
    let tip = browser.value(tip).as_str().unwrap_or_default().to_owned();
    assert!(tip.contains("main/step/assemble") && tip.contains("takes"), "{tip}");
    browser.value("document.querySelector('#timeline').scrollIntoView()");
    picture(&mut browser, "regions.png");
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn windows_have_colours_and_attributes_of_their_own() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let program = WindowProgram::named("lock");
    let job = Job::new(&mpi, program.ranks, program.compile(&mpi));
    let page = page_of(directory.path(), job, &["--trace"]);
    browser.open(&page);
    let legend = texts(&mut browser, "#timeline .legend");
    assert!(legend.contains("one-sided") && legend.contains("epochs of windows"), "{legend}");
    let put = tip_where(&mut browser, "calls", "a.kind === 'operation'");
    assert!(put.contains("MPI_Put") && put.contains("window 0"), "{put}");
    let completes = tip_where(&mut browser, "calls", "a.kind === 'completion'");
    assert!(completes.contains("completes") && completes.contains("took"), "{completes}");
    let epoch = tip_where(&mut browser, "epochs", "a.operations > 0");
    assert!(epoch.contains("epoch") && epoch.contains("operations") && epoch.contains("target"), "{epoch}");
    // What is not there is not because the run was not traced.
    for section in ["#lengths", "#matrix"] {
        let text = texts(&mut browser, section);
        assert!(text.contains("point-to-point") && !text.contains("mel run"), "{section}: {text}");
    }
    browser.value("document.querySelector('#timeline').scrollIntoView()");
    picture(&mut browser, "windows.png");
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn operations_on_windows_have_figures_and_queues_that_were_not_counted_have_none() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let program = WindowProgram::named("lock");
    let job = Job::new(&mpi, program.ranks, program.compile(&mpi));
    let page = page_of(directory.path(), job, &["--trace", "--profile", "rma"]);
    browser.open(&page);
    assert!(browser.value("document.querySelectorAll('#windows svg').length").as_u64() >= Some(2));
    for section in ["#lifetimes", "#searches"] {
        let text = texts(&mut browser, section);
        assert!(text.contains("--profile queues") && !text.contains("Nothing"), "{section}: {text}");
    }
    assert!(!texts(&mut browser, "#findings").is_empty());
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn messages_in_calls_that_are_left_out_are_counted() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let mut counted = Vec::new();
    for options in [&["--trace"][..], &["--trace", "--no-calls", "MPI_Recv,MPI_Wait"]] {
        let directory = fresh_dir();
        let job = Job::new(&mpi, 2, compile_special(&mpi, "phases"));
        browser.open(&page_of(directory.path(), job, options));
        counted.push(
            browser.value(
                "[modules.dom.data.events.messages, (({ sender, receiver, messages, bytes }) => [sender, receiver, messages, bytes])(modules.dom.data.events.matrix.cells)]",
            ),
        );
        let findings = texts(&mut browser, "#findings");
        assert_eq!(findings.contains("in calls that are not recorded"), options.len() > 1, "{findings}");
        assert_eq!(findings.contains("no calls MPI_Recv, MPI_Wait"), options.len() > 1, "{findings}");
    }
    assert_eq!(counted[0], counted[1]);
    // Messages that are not recorded are not reported as none.
    let directory = fresh_dir();
    let job = Job::new(&mpi, 2, compile_special(&mpi, "phases"));
    browser.open(&page_of(directory.path(), job, &["--trace", "--only-comms", "nobody"]));
    for section in ["#lengths", "#matrix"] {
        let text = texts(&mut browser, section);
        assert!(text.contains("The log has no message"), "{section}: {text}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_run_that_was_killed_shows_its_queues_and_how_it_ended() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let run = directory.path().join("run");
    let job = Job::new(&mpi, 2, Program::named("kill_me").compile(&mpi)).args(["100"]);
    let job = job.under_mel(["--trace", "-o", run.to_str().expect("UTF-8")]).run();
    job.expect(job.code != Some(0), "the program is killed");
    browser.open(&page_in(&run));
    let text = texts(&mut browser, "#lifetimes");
    assert!(text.contains("Unexpected queue") && !text.contains("mel run"), "{text}");
    let findings = texts(&mut browser, "#findings");
    assert!(findings.contains("killed"), "{findings}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_receive_shows_how_long_its_message_was_unexpected() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let program = Program::named("unexpected");
    let job = Job::new(&mpi, program.ranks[0], program.compile(&mpi)).args(&program.args[0]);
    let page = page_of(directory.path(), job, &["--trace"]);
    browser.open(&page);
    let receive = tip_where(&mut browser, "calls", "a.kind === 'message' && !a.sent && a.unexpected_ns > 0");
    assert!(receive.contains("received from") && receive.contains("was unexpected for"), "{receive}");
    let search = tip_where(&mut browser, "searches", "true");
    assert!(search.contains("queue length") && search.contains("communicator"), "{search}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_call_shows_the_line_that_it_is_in() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let job = Job::new(&mpi, 2, compile_special(&mpi, "call_sites"));
    let page = page_of(directory.path(), job, &["--trace", "--callsites"]);
    browser.open(&page);
    let barrier = "modules.dom.data.events.names[row.names[i]].name === 'MPI_Barrier'";
    let barrier = tip_where(&mut browser, "calls", barrier);
    let source =
        fs::read_to_string(root().join("tests/programs/special/call_sites.c")).expect("a program of ours");
    let line = 1 + source.lines().position(|line| line.contains("MPI_Barrier(")).expect("it has a barrier");
    assert!(barrier.contains(&format!("called at\tcall_sites.c:{line} (meet)")), "{barrier}");
    assert_eq!(
        browser.value("modules.dom.data.events.sites.length"),
        6,
        "each line once, whichever rank is in it"
    );
    // The same where blocks are drawn together.
    browser.value(
        "(() => { modules.dom.data.events.rows.forEach((row) => row.several = {of: [2], count: [9], busy_ns: [100], longest_ns: [50]}); })()",
    );
    let several = tip_where(&mut browser, "calls", "several.has(i)");
    assert!(several.contains("which is called at\tcall_sites.c:"), "{several}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn where_recording_was_off_is_shaded() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let page = page_of(directory.path(), Job::new(&mpi, 2, compile_special(&mpi, "phases")), &["--trace"]);
    browser.open(&page);
    assert_eq!(browser.value("modules.dom.data.events.pauses.map((row) => row.steps.length)"), json!([1, 1]));
    for section in ["timeline", "lengths"] {
        let legend = texts(&mut browser, &format!("#{section} .legend"));
        assert!(legend.contains("recording off"), "{section}: {legend}");
    }
    // In the middle of it there is nothing else to point at.
    browser.value(
        "(() => { const { rank, steps, durations } = modules.dom.data.events.pauses[0]; \
         modules.time.places[0] = { rank, from: steps[0] - durations[0], to: steps[0] + 2 * durations[0] }; \
         document.querySelector('[data-moment=\"0\"]').click(); })()",
    );
    // At an end of the run the page shows what is beside it instead.
    let pause =
        browser.value("(() => { const { steps, durations } = modules.dom.data.events.pauses[0]; return steps[0] + durations[0] / 2; })()");
    let (from, to) = stretch(&mut browser);
    let part = (pause.as_f64().expect("a time") - from) / (to - from);
    let middle = (74.0 + (1280.0 - 48.0 - 74.0) * part) / (1280.0 - 48.0);
    let tip = point_until(&mut browser, middle, &["recording off", "takes"]);
    assert!(tip.contains("rank"), "{tip}");
    picture(&mut browser, "pause.png");
    // All that came into a queue has left it, though some of it unseen.
    let ends = "modules.dom.data.events.lengths.flatMap((of) => [of.posted.last, of.unexpected.last]).filter((last) => last.length).map((last) => last.at(-1))";
    let ends = browser.value(ends);
    assert!(
        ends.as_array().is_some_and(|ends| !ends.is_empty() && ends.iter().all(|end| end == 0)),
        "{ends}"
    );
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
#[ignore = "slow"]
fn a_profile_alone_says_how_to_get_the_rest() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let page = page(directory.path(), &[]);
    browser.open(&page);
    let text = browser.value("document.querySelector('#timeline').innerText");
    assert!(text.as_str().is_some_and(|text| text.contains("mel run --trace")), "{text}");
    assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A profile as a file would have it, with other numbers on each rank.
fn profile_of(ranks: u32) -> Value {
    let queue = |rank: u32, scale: f64| {
        let longest = scale * (1.0 + f64::from(rank * 7919 % 101));
        json!({"messages": 1000 + rank, "max_length": rank % 17, "populated_s": longest * 3.0, "total_s": longest * 9.0,
            "mean_s": longest / 5.0, "max_s": longest, "lifetimes": [[900, 1100, 500], [1_000_000, 1_010_000, rank + 1]]})
    };
    let search = |rank: u32| {
        let longest = 1e-9 * f64::from(1 + rank * 31 % 977);
        json!({"searches": 100_000 + rank, "total_s": longest * 1e4, "mean_s": longest / 2.0, "max_s": longest,
            "times": [[5, 6, 99_000], [400, 410, 1000]]})
    };
    let ranks: Vec<Value> = (0..ranks)
        .map(|rank| {
            json!({"rank": rank, "host": format!("node{}", rank / 64), "posted": queue(rank, 1e-3),
                "unexpected": queue(rank, 2e-6), "posted_search": search(rank), "unexpected_search": search(rank + 5)})
        })
        .collect();
    json!({"command": ["./big"], "mpi": "An MPI", "world_size": ranks.len(), "duration_s": 12.5, "ranks": ranks})
}

#[test]
#[ignore = "slow"]
fn one_rank_or_thousands_fit_on_the_page() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    for ranks in [1, 64, 512, 5000] {
        let directory = fresh_dir();
        fs::write(directory.path().join("profile.json"), profile_of(ranks).to_string()).expect("a profile");
        browser.open(&page_in(directory.path()));
        assert_eq!(browser.value(OVERLAPS), Value::Array(Vec::new()), "{ranks} ranks");
        picture(&mut browser, &format!("ranks-{ranks}.png"));
        if ranks > 512 {
            // Distributions instead of a bar and a row for each.
            for section in ["lifetimes", "searches"] {
                let plots = browser.value(&format!("document.querySelectorAll('#{section} svg').length"));
                assert_eq!(plots, 3, "{section}");
            }
            assert_eq!(browser.value("document.querySelectorAll('#ranks').length"), 0);
            continue;
        }
        let rows = "document.querySelector('#ranks details').open = true; \
                    new Promise((done) => setTimeout(() => done(document.querySelectorAll('#ranks tbody tr').length), 200))";
        assert_eq!(browser.value(rows), ranks);
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A rank that has no such number is a gap, not missing from the axis.
#[test]
#[ignore = "slow"]
fn ranks_without_a_value_have_their_place() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let directory = fresh_dir();
    let mut profile = profile_of(4);
    for rank in [0, 1, 3] {
        profile["ranks"][rank]["unexpected"] = json!({"messages": 0});
    }
    fs::write(directory.path().join("profile.json"), profile.to_string()).expect("a profile");
    browser.open(&page_in(directory.path()));
    let plot = "[...document.querySelectorAll('#lifetimes svg')].filter((svg) => svg.getAttribute('aria-label').endsWith('of each rank'))[1]";
    let ranks = format!(
        "[...{plot}.querySelectorAll('text')].filter((text) => text.getAttribute('y') === '189').map((text) => text.textContent)"
    );
    assert_eq!(browser.value(&ranks), json!(["0", "1", "2", "3"]));
    assert_eq!(browser.value(&format!("{plot}.querySelectorAll('.bar').length")), 1);
}

#[test]
fn a_page_that_cannot_be_written_is_one_clear_line() {
    let directory = fresh_dir();
    let report = Command::new(mel())
        .args(["report", "--html", "/nowhere/page.html"])
        .arg(directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("mel can be started");
    let error = String::from_utf8_lossy(&report.stderr).into_owned();
    assert!(
        !report.status.success() && error.lines().count() == 1 && error.contains("no event log"),
        "{error}"
    );
}

/// The flame graph of a slow rank has its functions, each as wide as its time, and stays inside of the page.
#[test]
fn sampled_stacks_are_a_flame_graph() {
    let Some(mut browser) = Browser::start(1100, 900) else { return };
    let mpi = Mpi::all().into_iter().next().expect("an MPI");
    let directory = fresh_dir();
    let job = Job::new(&mpi, 2, compile_special(&mpi, "slow_rank")).args(["computes"]);
    browser.open(&page_of(directory.path(), job, &["--sample"]));
    let bars = browser.value(
        "[...document.querySelectorAll('#code .flame')].map((bar) => [bar.textContent, bar.offsetWidth, bar.offsetLeft + bar.offsetWidth <= bar.parentElement.clientWidth + 1])",
    );
    let bars = bars.as_array().expect("bars");
    let of = |name: &str| bars.iter().find(|bar| bar[0].as_str().is_some_and(|text| text.starts_with(name)));
    assert!(of("rank ").is_some() && of("__libc_start").is_some(), "{bars:?}");
    let whole = of("rank ").and_then(|bar| bar[1].as_f64()).expect("a width");
    let longest =
        bars.iter().filter(|bar| bar[0].as_str().is_some_and(|text| matches!(text, "now" | "compute_until")));
    let longest = longest.filter_map(|bar| bar[1].as_f64()).fold(0.0, f64::max);
    assert!(longest > 0.6 * whole, "{bars:?}");
    assert!(bars.iter().all(|bar| bar[2] == true), "{bars:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    picture(&mut browser, "flames.png");
}
