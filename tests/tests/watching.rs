//! `mel watch` shows a run while it goes on, in a terminal and in a browser, and the run does not notice what becomes of it.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::browser::Browser;
use mel_tests::terminal::Terminal;
use mel_tests::watching::{Endless, Lines, Page, end, ranks, signal, wait_for, watch};
use mel_tests::{Finished, Mpi};
use serde_json::Value;

const RANKS: u32 = 4;
fn start(mpi: &Mpi) -> Endless {
    Endless::start(mpi, RANKS, "until_file", &[], &[])
}

/// Lines of JSON of a run.
fn lines(directory: &Path) -> Lines {
    Lines::of(&mut watch(directory, &["--json"]))
}

fn all_have(frame: &Value, ended: &str) -> bool {
    ranks(frame).len() == RANKS as usize && ranks(frame).iter().all(|rank| rank["ended"] == ended)
}

/// The line of a rank on the screen, or in a text, by its cells.
fn line_of(text: &str, rank: u32) -> Option<Vec<String>> {
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    text.lines().map(cells).find(|cells| cells.len() > 8 && cells[0] == rank.to_string())
}

#[test]
fn the_terminal_shows_ranks_with_changing_numbers_and_is_restored() {
    for mpi in &Mpi::all()[..] {
        let job = start(mpi);
        let mut terminal = Terminal::start(watch(&job.run(), &[]), 40, 160);
        let runs =
            |text: &str| (0..RANKS).all(|rank| line_of(text, rank).is_some_and(|line| line[2] == "running"));
        terminal.until("each rank", |text| runs(text).then_some(()));
        let busy = |text: &str| line_of(text, 0).filter(|line| line[3] != "-" && line[3] != "0.0");
        let first = terminal.until("a share of time in MPI", busy);
        terminal.until("another one", |text| busy(text).filter(|line| line[3] != first[3]));
        terminal.until("a call site", |text| text.contains("until_file.c:").then_some(()));
        // The second rank, and the third column; the queue is modelled.
        terminal.press("\x1b[B\x1b[C\x1b[C");
        terminal.until("the chosen curve", |text| text.contains("wait now of rank 1: ").then_some(()));
        terminal.press("?");
        terminal.until("help", |text| text.contains("share of the last interval lost waiting").then_some(()));
        terminal.press("?");
        terminal.press("p");
        terminal.until("a pause", |text| text.contains("PAUSED").then_some(()));
        terminal.press("q");
        assert!(terminal.wait().success(), "{}: {}", mpi.name, terminal.text());
        wait_for("the terminal as before", || terminal.is_restored().then_some(()));
        let finished = job.end();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
    }
}

#[test]
fn a_run_is_waited_for_and_its_end_is_shown() {
    let mpi = &Mpi::all()[0];
    let directory = fresh_dir();
    let mut terminal = Terminal::start(watch(&directory.path().join("never"), &[]), 24, 100);
    terminal.until("what is waited for", |text| text.contains("is not there yet").then_some(()));
    // Ctrl-C.
    terminal.press("\x03");
    assert!(terminal.wait().success());

    let job = start(mpi);
    let mut terminal = Terminal::start(watch(&job.run(), &[]), 40, 160);
    terminal.until("a rank", |text| line_of(text, 3).filter(|line| line[2] == "running"));
    let run = job.run();
    let mut lines = lines(&run);
    lines.until("each rank", |frame| all_have(frame, "running"));
    // Dropped with the directory only after all was seen.
    end(job.directory.path());
    let last = lines.until("the end", |frame| frame["stage"] == "ended");
    assert!(all_have(&last, "finalised"), "{last}");
    assert!(lines.child.wait().expect("a child").success(), "the lines end with the run");
    terminal.until("the end", |text| text.contains("the run has ended").then_some(()));
    terminal.until("the end of a rank", |text| line_of(text, 3).filter(|line| line[2] == "ended"));
    signal(terminal.process(), "-TERM");
    terminal.wait();
    assert!(terminal.is_restored(), "{}", terminal.text());
    let finished = job.job.wait();
    finished.expect(finished.code == Some(0), "the run ends as ever");

    // What is shown then is what the report has.
    let once = watch(&run, &["--once"]).output().expect("mel can be started");
    let text = String::from_utf8_lossy(&once.stdout).into_owned();
    assert!(once.status.success() && text.contains("the run has ended"), "{text}");
    let report =
        Command::new(mel()).args(["report", "--json"]).arg(&run).output().expect("mel can be started");
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    for (rank, of_rank) in ranks(&last).iter().enumerate() {
        let calls = report["ranks"][rank]["calls"].as_array().expect("calls");
        let is_apart =
            |call: &&Value| !["MPI_Init", "MPI_Finalize"].contains(&call["function"].as_str().unwrap_or(""));
        let calls = || calls.iter().filter(is_apart);
        let number: u64 = calls().map(|call| call["calls"].as_u64().unwrap_or(0)).sum();
        assert_eq!(of_rank["calls"]["calls"], number, "rank {rank}");
        let seconds: f64 = calls().map(|call| call["total_s"].as_f64().unwrap_or(0.0)).sum();
        let shown = of_rank["calls"]["mpi_s"].as_f64().expect("seconds");
        assert!((shown - seconds).abs() <= 1e-9 * seconds.max(1.0), "rank {rank}: {shown}, {seconds}");
        assert_eq!(of_rank["queues"]["posted_longest"], report["ranks"][rank]["posted"]["max_length"]);
    }
}

#[test]
fn a_snapshot_and_lines_of_json_have_each_rank() {
    let mpi = &Mpi::all()[0];
    let nothing = watch(&fresh_dir().path().join("never"), &["--once"]).output().expect("mel can be started");
    let complaint = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(nothing.status.code() == Some(1) && complaint.contains("is not there yet"), "{complaint}");

    let job = start(mpi);
    let mut lines = lines(&job.run());
    let is_whole = |frame: &Value| {
        let known = |rank: &Value| rank["values"]["mpi_now"].as_f64().is_some_and(|share| share > 0.0);
        all_have(frame, "running") && ranks(frame).iter().all(known)
    };
    let frame = lines.until("each rank in MPI", is_whole);
    assert_eq!(frame["world_size"], RANKS);
    assert!(frame["interval_s"].as_f64().is_some_and(|seconds| seconds > 0.0), "{frame}");
    let over = &frame["over"]["mpi_now"];
    let [min, median, max] = ["min", "median", "max"].map(|name| over[name].as_f64().expect("a share"));
    assert!(min <= median && median <= max, "{over}");
    // All wait for the last rank, sooner or later.
    let late = |frame: &Value| {
        ranks(frame).iter().any(|rank| rank["values"]["waiting"].as_f64().is_some_and(|share| share > 0.0))
    };
    lines.until("time lost waiting", late);
    // No terminal: as with --once.
    let text = watch(&job.run(), &[]).output().expect("mel can be started");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for rank in 0..RANKS {
        assert!(line_of(&text, rank).is_some_and(|line| line[2] == "running"), "{text}");
    }
    assert!(text.contains("MPI now") && text.contains("median") && text.contains("until_file.c:"), "{text}");
    // Nobody reads any more: the command ends.
    lines.hang_up();
    lines.child.wait().expect("a child");
    let finished = job.end();
    finished.expect(finished.code == Some(0), "the run ends as ever");
}

#[test]
fn whatever_becomes_of_the_watcher_the_run_does_not_notice() {
    for mpi in &Mpi::all()[..] {
        let alone = start(mpi);
        alone.pid(RANKS - 1);
        let alone = alone.end();
        let job = start(mpi);
        let mut killed = lines(&job.run());
        let mut stopped = lines(&job.run());
        for lines in [&mut killed, &mut stopped] {
            lines.until("each rank", |frame| all_have(frame, "running"));
        }
        signal(killed.child.id(), "-KILL");
        killed.child.wait().expect("a child");
        signal(stopped.child.id(), "-STOP");
        let finished = job.end();
        signal(stopped.child.id(), "-KILL");
        stopped.child.wait().expect("a child");
        finished.expect(finished.code == alone.code && finished.code == Some(0), mpi.name);
        let last = |finished: &Finished| finished.stdout.lines().last().map(str::to_owned);
        assert_eq!(last(&finished), last(&alone), "{}", mpi.name);
    }
}

#[test]
fn a_rank_that_was_killed_is_shown_as_such() {
    for mpi in &Mpi::all()[..] {
        let job = start(mpi);
        let mut lines = lines(&job.run());
        lines.until("each rank", |frame| all_have(frame, "running"));
        signal(job.pid(2), "-KILL");
        let frame = lines.until("the end of rank 2", |frame| {
            ranks(frame).iter().any(|rank| rank["rank"] == 2 && rank["ended"] == "killed")
        });
        assert!(
            ranks(&frame).iter().all(|rank| rank["rank"] == 2 || rank["ended"] != "finalised"),
            "{frame}"
        );
        let finished = job.end();
        finished.expect(finished.code != Some(0), "the launcher ends the run");
    }
}

/// The whole answer of a page to a request for a path.
fn ask(page: &Page, host: &str, path: &str) -> String {
    page.ask(&format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

#[test]
fn the_page_is_for_who_has_its_address_on_this_machine() {
    let directory = fresh_dir();
    let mut page = Page::of(directory.path(), &[]);
    let host = format!("127.0.0.1:{}", page.port());
    let path = page.path().to_owned();
    let whole = ask(&page, &host, &path);
    assert!(whole.starts_with("HTTP/1.1 200 ") && whole.contains("default-src 'none'"), "{whole}");
    let data = ask(&page, &host, &format!("{path}data"));
    assert!(data.starts_with("HTTP/1.1 200 ") && data.contains("\"stage\":\"waiting\""), "{data}");
    let wrong = format!("{}/", "0".repeat(path.len() - 1));
    for (host, path) in [
        (&*host, ""),
        (&*host, "data"),
        (&*host, &*wrong),
        ("evil.example", &*path),
        (&*format!("evil.example:{}", page.port()), &*path),
    ] {
        let answer = ask(&page, host, path);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host} {path}: {answer}");
        assert!(!answer.contains("<script"), "{answer}");
    }
    // By its other addresses this machine cannot be reached.
    let others = Command::new("hostname").arg("-I").output().map(|output| output.stdout).unwrap_or_default();
    for address in String::from_utf8_lossy(&others).split_whitespace().filter_map(|text| text.parse().ok()) {
        let address: std::net::IpAddr = address;
        assert!(TcpStream::connect((address, page.port())).is_err(), "{address} listens");
    }
    signal(page.child.id(), "-TERM");
    assert!(page.child.wait().expect("a child").success());
    assert!(TcpStream::connect(("127.0.0.1", page.port())).is_err(), "it ends with the command");
}

/// A number of a process, as the kernel counts it.
fn status(pid: u32, what: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("{text}"));
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// Sends a beginning and leaves the connection open.
fn hold(page: &Page, begin: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(page.host()).expect("it listens");
    // It may have been ended already, in favour of others.
    let _ = stream.write_all(begin);
    stream
}

/// Sends bytes without an end, until they are taken no more; how many were.
fn pour(page: &Page, begin: &str) -> usize {
    let (mut stream, mut sent) = (hold(page, begin.as_bytes()), 0);
    let bytes = [b'x'; 1 << 16];
    while sent < 64 << 20 {
        match stream.write(&bytes) {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    sent
}

#[test]
fn no_client_freezes_the_page_or_makes_it_grow() {
    let directory = fresh_dir();
    let mut page = Page::of(directory.path(), &["--allow-set"]);
    let (host, path) = (page.host().to_owned(), page.path().to_owned());
    let is_answered = |page: &Page| {
        let answer = ask(page, &host, &format!("{path}data"));
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"stage\":\"waiting\""), "{answer}");
    };
    is_answered(&page);
    let before = status(page.child.id(), "VmHWM:");
    // Without an end: a line, a header, headers, a body of who has no token, a body of who has it.
    let headers = "a: b\r\n".repeat(200);
    for begin in [
        "GET /",
        "GET / HTTP/1.1\r\na: ",
        &format!("GET / HTTP/1.1\r\n{headers}"),
        &format!("POST /set HTTP/1.1\r\nHost: {host}\r\nContent-Length: 650000000\r\n\r\n"),
        &format!("POST /{path}set HTTP/1.1\r\nHost: {host}\r\nContent-Length: 650000000\r\n\r\n"),
        &format!("POST /{path}set HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ] {
        let sent = pour(&page, begin);
        // What buffers of the kernel take is not the page's.
        assert!(sent < 32 << 20, "{begin:.40}: {sent} bytes were taken");
        is_answered(&page);
    }
    // Who says nothing, half a request, a body that does not come, or does not read the answer.
    let whole = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let posts = format!("POST /{path}set HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n");
    let posts_without = format!("POST /set HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n");
    let mut held = Vec::new();
    for begin in ["", "G", "GET / HTTP/1.1\r\nHost: ", &whole, &posts, &posts_without] {
        held.extend((0..60).map(|_| hold(&page, begin.as_bytes())));
        is_answered(&page);
    }
    let threads = status(page.child.id(), "Threads:");
    assert!(threads < 45, "{threads} threads for {} connections", held.len());
    let grown = status(page.child.id(), "VmHWM:").saturating_sub(before);
    assert!(grown < 32 << 10, "it has grown by {grown} kB");
    // It asks for the token, and for whose page it is, before it waits for a body.
    for (path, more) in [("set", ""), (&*format!("{path}set"), "Origin: http://evil.example\r\n")] {
        let begin = format!("POST /{path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: 100\r\n\r\n");
        let answer = page.ask(&begin);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let ended = |page: &mut Page, name: &str| {
        let _held: Vec<TcpStream> = (0..40).map(|_| hold(page, posts.as_bytes())).collect();
        signal(page.child.id(), name);
        assert!(page.child.wait().expect("a child").success(), "{name}");
    };
    ended(&mut page, "-TERM");
    drop(held);
    let mut page = Page::of(directory.path(), &[]);
    ended(&mut page, "-INT");
}

/// What a browser complains of, but for what it asks the page for.
fn complaints(browser: &mut Browser, page: &Page) -> Vec<String> {
    let own = format!("\"url\":\"{}", page.address);
    browser.complaints().into_iter().filter(|complaint| !complaint.contains(&own)).collect()
}

#[test]
fn the_browser_shows_changing_numbers() {
    let Some(mut browser) = Browser::start(1400, 1000) else { return };
    let job = start(&Mpi::all()[0]);
    let page = Page::of(&job.run(), &[]);
    browser.open_address(&page.address);
    let share = "(() => { const row = document.querySelector('tr[data-rank=\"0\"]'); return row ? row.cells[3].textContent : null; })()";
    let mut share_until = |what: &str, found: &dyn Fn(&str) -> bool| {
        wait_for(what, || browser.value(share).as_str().filter(|text| found(text)).map(str::to_owned))
    };
    let first = share_until("a share of time in MPI", &|text| text != "-");
    share_until("another one", &|text| text != "-" && text != first);
    let states = browser
        .value("[...document.querySelectorAll('tr[data-rank]')].map((row) => row.cells[2].textContent)");
    assert_eq!(states, serde_json::json!(vec!["running"; RANKS as usize]));
    browser.value("document.querySelector('tr[data-rank=\"2\"]').cells[5].click()");
    wait_for("the curve", || {
        let head = browser.value("document.querySelector('#curve h2').textContent");
        head.as_str()
            .filter(|head| head.contains("wait now of rank 2") && head.contains("estimated"))
            .map(drop)
    });
    wait_for("its line", || {
        browser.value("document.querySelector('#curve path') !== null").as_bool().filter(|is| *is)
    });
    super::pages_in_a_browser::picture(&mut browser, "watch.png");
    assert_eq!(complaints(&mut browser, &page), [""; 0]);
    // The directory goes with the job: first the page must have seen the end.
    end(job.directory.path());
    wait_for("the end", || {
        let remarks = browser.value("document.querySelector('#remarks').textContent");
        remarks.as_str().filter(|text| text.contains("the run has ended")).map(drop)
    });
    let finished = job.end();
    finished.expect(finished.code == Some(0), "the run ends as ever");
}

/// A variable of MEL that grows in each step of the program.
const SENT: &str = "mel_messages_sent";

/// A run that samples variables of MEL's, ten times a second.
fn sampling(mpi: &Mpi) -> Endless {
    Endless::start(mpi, RANKS, "until_file", &[], &["--vars", "mel_*", "--every", "100ms"])
}

#[test]
fn variables_are_columns_with_curves_in_the_terminal_and_in_json() {
    for mpi in &Mpi::all()[..] {
        let job = sampling(mpi);
        let mut lines = Lines::of(&mut watch(&job.run(), &["--json", "--vars", SENT]));
        let grows = |rank: &Value| rank["variables"][0]["per_s"].as_f64().is_some_and(|rate| rate > 0.0);
        let frame = lines.until("messages per second of each rank", |frame| {
            all_have(frame, "running") && ranks(frame).iter().all(grows)
        });
        let shown = frame["variables"].as_array().expect("variables");
        assert!(shown.len() == 1 && shown[0]["name"] == SENT, "{}: {frame}", mpi.name);
        assert!(shown[0]["over"]["min"].as_f64().is_some_and(|least| least > 0.0), "{}: {frame}", mpi.name);

        let mut terminal = Terminal::start(watch(&job.run(), &["--vars", SENT]), 40, 160);
        terminal.until("each rank", |text| line_of(text, RANKS - 1));
        // Behind all others.
        terminal.press(&"\x1b[C".repeat(30));
        terminal.until("its column", |text| {
            let head = text.lines().find(|line| line.starts_with("rank "))?;
            head.contains(SENT).then_some(())
        });
        let rate = |text: &str| line_of(text, 1)?.last().filter(|cell| cell.ends_with("/s")).cloned();
        let first = terminal.until("a number per second", |text| rate(text).filter(|rate| rate != "0/s"));
        terminal.until("another one", |text| rate(text).filter(|rate| *rate != first));
        terminal.until("its curve", |text| text.contains(&format!("{SENT} of rank 0: ")).then_some(()));
        terminal.press("?");
        terminal.until("what it means", |text| text.contains("(counter, per second)").then_some(()));
        terminal.press("?");
        terminal.press("q");
        assert!(terminal.wait().success(), "{}: {}", mpi.name, terminal.text());

        let once = |list: &str| {
            let output = watch(&job.run(), &["--once", "--vars", list]).output().expect("mel can be started");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let text = once("mel_*sent");
        assert!(text.lines().any(|line| line.trim_start().starts_with(SENT)), "{}: {text}", mpi.name);
        let text = once("nonsense");
        assert!(text.contains("the run samples no variable nonsense, but mel_"), "{}: {text}", mpi.name);
        let finished = job.end();
        finished.expect(finished.code == Some(0), mpi.name);
    }
}

#[test]
fn the_page_has_a_plot_for_each_variable_with_a_line_for_each_rank() {
    let Some(mut browser) = Browser::start(1400, 1000) else { return };
    let job = sampling(&Mpi::all()[0]);
    let page = Page::of(&job.run(), &["--vars", "mel_*_sent,mel_posted_searches"]);
    browser.open_address(&page.address);
    let plots = "JSON.stringify([...document.querySelectorAll('#variables figure')].map((of) => \
                 [of.querySelector('b').textContent, of.querySelectorAll('path').length]))";
    let wanted = ["mel_posted_searches", SENT, "mel_bytes_sent"].map(|name| format!("[\"{name}\",{RANKS}]"));
    wait_for("a plot of each", || {
        let shown = browser.value(plots).as_str().unwrap_or_default().to_owned();
        wanted.iter().all(|plot| shown.contains(plot)).then_some(())
    });
    let line = format!(
        "(() => {{ const of = [...document.querySelectorAll('#variables figure')].find((of) => of.querySelector('b').textContent === \
         '{SENT}'); return of ? of.querySelector('path').getAttribute('d') : null; }})()"
    );
    let first = browser.value(&line);
    wait_for("the line goes on", || {
        Some(browser.value(&line)).filter(|now| now.is_string() && *now != first)
    });
    let cell = format!(
        "(() => {{ const heads = [...document.querySelectorAll('#ranks thead th')]; const place = heads.findIndex((head) => \
         head.textContent === '{SENT}'); const row = document.querySelector('tr[data-rank=\"2\"]'); return place < 0 || !row ? null : \
         row.cells[place].textContent; }})()"
    );
    wait_for("a number per second in its column", || {
        browser.value(&cell).as_str().filter(|text| text.ends_with("/s") && !text.starts_with('0')).map(drop)
    });
    browser.value(&format!(
        "[...document.querySelectorAll('#ranks [data-sort]')].find((head) => head.textContent === '{SENT}').click()"
    ));
    wait_for("sorted by it", || {
        let sorted = "document.querySelector('#ranks th[aria-sort=\"descending\"]')?.textContent ?? null";
        browser.value(sorted).as_str().filter(|head| *head == SENT).map(drop)
    });
    super::pages_in_a_browser::picture(&mut browser, "watch-variables.png");
    assert_eq!(complaints(&mut browser, &page), [""; 0]);
    let finished = job.end();
    finished.expect(finished.code == Some(0), "the run ends as ever");
}
