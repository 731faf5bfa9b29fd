//! `mel watch` has ranks set control variables while the run goes on: from the command line, the terminal and the page.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use mel_tests::Mpi;
use mel_tests::artifacts::fresh_dir;
use mel_tests::browser::Browser;
use mel_tests::docs::sentence_is_shown;
use mel_tests::terminal::Terminal;
use mel_tests::trace::Trace;
use mel_tests::watching::{Endless, Lines, Page, end, ranks, signal, wait_for, watch};

const RANKS: u32 = 4;

/// A variable of the MPI that can be set while it runs, with a value that it has not, and with one that it may not have.
fn of_mpi(mpi: &Mpi) -> (&'static str, &'static str, &'static str) {
    if mpi.name.starts_with("openmpi") {
        ("coll_tuned_bcast_algorithm", "6", "77")
    } else {
        ("MPIR_CVAR_BCAST_MIN_PROCS", "5", "many")
    }
}

fn start(mpi: &Mpi, options: &[&str]) -> Endless {
    Endless::start(mpi, RANKS, "settable", &[of_mpi(mpi).0], options)
}

/// Waits until each rank can be asked.
fn is_settable(job: &Endless) {
    let files = || (0..RANKS).all(|rank| job.run().join(format!("rank-{rank}.answer")).exists());
    wait_for("each rank", || files().then_some(()));
}

/// `mel watch --set`: whether all was set, and what it says.
fn set(directory: &Path, settings: &[&str]) -> (bool, String) {
    let options: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let output = watch(directory, &options).output().expect("mel can be started");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// How many calls each rank has counted.
fn counted(directory: &Path) -> Vec<u64> {
    let frame = Lines::of(&mut watch(directory, &["--json"])).until("a line", |_| true);
    ranks(&frame).iter().map(|rank| rank["calls"]["calls"].as_u64().unwrap_or(0)).collect()
}

/// The calls of these ranks go on, and those of the others do not.
fn only_these_count(directory: &Path, counting: &[usize]) {
    let before = counted(directory);
    let after = wait_for("further calls", || {
        let now = counted(directory);
        counting.iter().all(|rank| now[*rank] > before[*rank] + 20).then_some(now)
    });
    for rank in (0..RANKS as usize).filter(|rank| !counting.contains(rank)) {
        assert_eq!(after[rank], before[rank], "rank {rank} counts: {before:?}, {after:?}");
    }
}

#[test]
fn one_rank_stops_counting_and_goes_on() {
    for mpi in &Mpi::all()[..] {
        let job = start(mpi, &["--settable"]);
        is_settable(&job);
        let (name, value, wrong) = of_mpi(mpi);
        let (well, said) = set(&job.run(), &["mel_recording=off@2"]);
        assert!(well && said.trim() == "rank 2: mel_recording=off: set (read back)", "{}: {said}", mpi.name);
        only_these_count(&job.run(), &[0, 1, 3]);
        let (well, said) = set(&job.run(), &["mel_recording=on"]);
        assert!(well && said.contains("ranks 0, 1, 2, 3: mel_recording=on: set"), "{}: {said}", mpi.name);
        only_these_count(&job.run(), &[0, 1, 2, 3]);

        // Of the MPI's own: read back by the program below.
        let (well, said) = set(&job.run(), &[&format!("{name}={value}@2")]);
        if mpi.name.starts_with("openmpi") {
            assert!(!well && said.contains("accepted, without effect"), "{}: {said}", mpi.name);
            sentence_is_shown("docs/watch.md", "accepted, without effect", &said);
        } else {
            assert!(
                well && said.contains("rank 2: ") && said.contains("set (read back)"),
                "{}: {said}",
                mpi.name
            );
        }
        // What is refused, with what is allowed.
        let refused = [
            ("mel_recording=7@1", "it may be 0 (off) or 1 (on)"),
            ("mel_event_buffer_size=0@1", "it may be from 1 to"),
            ("mel_profile=none@1", "cannot be written"),
            ("mel_sampling_interval=1000@1", "no variables are sampled"),
            ("mel_recordin=1@1", "nearest: mel_recording"),
            ("mel_recording=1@9", "rank 9 cannot be asked"),
            (&format!("{name}={wrong}@1"), if wrong == "77" { "(pipeline)" } else { "not set, it is" }),
        ];
        for (setting, why) in refused {
            let (well, said) = set(&job.run(), &[setting]);
            assert!(!well && said.contains(why), "{}: {setting}: {said}", mpi.name);
            if setting == "mel_recording=7@1" {
                sentence_is_shown("docs/watch.md", "mel_recording=7", &said);
            }
        }
        let run = job.run();
        let finished = job.end();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
        finished.expect(finished.stdout.contains(&format!("rank 2: {value}\n")), "the program reads it");
        finished.expect(!finished.stdout.contains(&format!("rank 1: {value}\n")), "on that rank only");
        let _ = run;
    }
}

/// Each is set on one rank, and what it does is seen there and on no other.
#[test]
#[ignore = "slow"]
fn what_is_set_while_a_trace_grows_takes_effect() {
    for mpi in Mpi::all().iter().filter(|mpi| ["openmpi", "mpich"].contains(&mpi.name)) {
        let options = ["--settable", "--trace", "--vars", "mel_messages_sent", "--every", "1h"];
        let job = Endless::start(mpi, RANKS, "settable", &[of_mpi(mpi).0, "30000"], &options);
        is_settable(&job);
        let settings = [
            "mel_sampling_interval=10000@1",
            "mel_no_calls=MPI_Allreduce@2",
            "mel_event_log_limit=4194304@3",
        ];
        let (well, said) = set(&job.run(), &settings);
        assert!(well && said.matches("set (read back)").count() == 3, "{}: {said}", mpi.name);
        // A hundred intervals of samples, and calls that are not recorded.
        thread::sleep(Duration::from_secs(1));
        let run = job.run();
        let Endless { directory, job } = job;
        end(directory.path());
        let finished = job.wait();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
        finished.expect(finished.stderr.matches("(--limit)").count() == 1, "one log is full");

        let trace = Trace::read(&run);
        let sampled = trace.sampled();
        let world = "mel_messages_sent on MPI_COMM_WORLD";
        let samples = |rank| {
            sampled.get(&(world.to_owned(), rank)).unwrap_or_else(|| panic!("{:?}", sampled.keys())).len()
        };
        let reductions = |rank| {
            let entered = trace.entered_with(rank, "none");
            entered.iter().filter(|(name, _)| *name == "MPI_Allreduce").count()
        };
        let size = |rank| fs::metadata(run.join(format!("rank-{rank}.mlog"))).expect("a log").len();
        for rank in 0..u64::from(RANKS) {
            let what = format!("{}, rank {rank}", mpi.name);
            let frequent = rank == 1;
            assert_eq!(samples(rank) >= 20, frequent, "{what}: {} samples", samples(rank));
            assert_eq!(size(rank) <= (4 << 20) + 4096, rank == 3, "{what}: {} bytes", size(rank));
            if rank == 2 {
                assert!(reductions(rank) > 0 && reductions(rank) < reductions(0) - 50, "{what}");
            } else if rank < 2 {
                assert!(reductions(rank).abs_diff(reductions(0)) <= 1, "{what}");
            }
        }
    }
}

#[test]
fn a_run_that_cannot_be_asked_is_left_alone() {
    let mpi = &Mpi::all()[0];
    let (well, said) = set(&fresh_dir().path().join("never"), &["mel_recording=0"]);
    assert!(!well && said.contains("is not there"), "{said}");
    let job = start(mpi, &[]);
    job.pid(RANKS - 1);
    wait_for("a table", || job.run().join("rank-0.table").exists().then_some(()));
    let (well, said) = set(&job.run(), &["mel_recording=0"]);
    assert!(!well && said.contains("mel run --settable"), "{said}");
    let left = fs::read_dir(job.run()).expect("the directory").filter_map(Result::ok);
    assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().contains("control")));
    let finished = job.end();
    finished.expect(finished.code == Some(0), "the run ends as ever");
}

#[test]
fn a_killed_watcher_and_rubbish_do_not_touch_the_run_and_nothing_is_left() {
    for mpi in &Mpi::all()[..] {
        let job = start(mpi, &["--settable"]);
        is_settable(&job);
        for round in 0..5 {
            let mut killed =
                watch(&job.run(), &["--set", "mel_phase=q"]).stdout(Stdio::null()).spawn().expect("mel");
            thread::sleep(Duration::from_millis(10 * round));
            let _ = killed.kill();
            killed.wait().expect("a child");
            fs::write(job.run().join("rank-1.control"), vec![b'{'; 100_000]).expect("a file can be written");
        }
        wait_for("rubbish to be taken away", || (!job.run().join("rank-1.control").exists()).then_some(()));
        let (well, said) = set(&job.run(), &["mel_phase=after"]);
        assert!(well && said.contains("ranks 0, 1, 2, 3: "), "{}: {said}", mpi.name);
        let run = job.run();
        let Endless { directory, job } = job;
        end(directory.path());
        let finished = job.wait();
        finished.expect(finished.code == Some(0) && finished.stdout.contains("OK"), mpi.name);
        let left =
            fs::read_dir(&run).expect("the directory").filter_map(Result::ok).map(|entry| entry.file_name());
        let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
        assert!(!left.iter().any(|name| name.contains("control") || name.contains("answer")), "{left:?}");
    }
}

#[test]
#[ignore = "slow"]
fn a_rank_that_was_killed_does_not_answer() {
    let mpi = &Mpi::all()[0];
    let job = start(mpi, &["--settable"]);
    is_settable(&job);
    // The others wait for it, and so make no further call.
    signal(job.pid(2), "-STOP");
    let (well, said) = set(&job.run(), &["mel_recording=off@2"]);
    assert!(!well && said.contains("rank 2: ") && said.contains("no answer within"), "{said}");
    signal(job.pid(2), "-CONT");
    // It was taken back, or is set now; the next one is answered.
    let (well, said) = set(&job.run(), &["mel_recording=on@2"]);
    assert!(well, "{said}");
    signal(job.pid(2), "-KILL");
    let (well, said) = set(&job.run(), &["mel_recording=off@2"]);
    assert!(
        !well
            && (said.contains("no answer")
                || said.contains("cannot be asked")
                || said.contains("nothing can be set")),
        "{said}"
    );
    let finished = job.end();
    finished.expect(finished.code != Some(0), "the launcher ends the run");
}

#[test]
fn it_is_set_from_the_terminal() {
    for mpi in &Mpi::all()[..] {
        let job = start(mpi, &["--settable"]);
        is_settable(&job);
        let mut terminal = Terminal::start(watch(&job.run(), &[]), 40, 160);
        terminal.until("a rank", |text| text.contains("running").then_some(()));
        terminal.press(":");
        terminal.until("a prompt", |text| text.contains("set NAME=VALUE").then_some(()));
        terminal.press("mel_recording=off@2\r");
        terminal.until("what came of it", |text| {
            text.contains("set: rank 2: mel_recording=off: set (read back)").then_some(())
        });
        only_these_count(&job.run(), &[0, 1, 3]);
        terminal.press(":mel_recording=9\r");
        terminal.until("a refusal", |text| text.contains("it may be 0 (off) or 1 (on)").then_some(()));
        terminal.press("q");
        assert!(terminal.wait().success(), "{}: {}", mpi.name, terminal.text());
        let finished = job.end();
        finished.expect(finished.code == Some(0), mpi.name);
    }
}

/// The first line of the answer of a page to a setting that is sent.
fn post(page: &Page, path: &str, more: &str, body: &str) -> String {
    let (host, length) = (page.host(), body.len());
    let answer = page.ask(&format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ));
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_page_sets_only_where_that_was_allowed_and_for_who_has_its_address() {
    let job = start(&Mpi::all()[0], &["--settable"]);
    is_settable(&job);
    let closed = Page::of(&job.run(), &[]);
    let answer = post(&closed, &format!("{}set", closed.path()), "", "mel_recording=off@2");
    assert!(answer.contains(" 403 "), "{answer}");
    let page = Page::of(&job.run(), &["--allow-set"]);
    let path = format!("{}set", page.path());
    for (path, more) in
        [("set", ""), (&*format!("{}/set", "0".repeat(48)), ""), (&*path, "Origin: http://evil.example\r\n")]
    {
        let answer = post(&page, path, more, "mel_recording=off@2");
        assert!(answer.contains(" 403 "), "{path} {more}: {answer}");
    }
    let answer = post(&page, &path, "", "mel_recording");
    assert!(answer.contains(" 400 "), "{answer}");
    only_these_count(&job.run(), &[0, 1, 2, 3]);
    if let Some(mut browser) = Browser::start(1400, 1000) {
        browser.open_address(&page.address);
        wait_for("the prompt", || {
            browser
                .value("!document.querySelector('#set').hidden && document.querySelector('#run').textContent !== ''")
                .as_bool()
                .filter(|is| *is)
        });
        let send = |browser: &mut Browser, setting: &str| {
            browser.value(&format!("document.querySelector('#setting').value = '{setting}'"));
            browser.value("document.querySelector('#send').click()");
        };
        let told = |browser: &mut Browser, what: &str| {
            wait_for(what, || {
                let told = browser.value("document.querySelector('#told').textContent");
                told.as_str().filter(|told| told.contains(what)).map(drop)
            });
        };
        send(&mut browser, "mel_recording=off@2");
        told(&mut browser, "rank 2: mel_recording=off: set (read back)");
        only_these_count(&job.run(), &[0, 1, 3]);
        send(&mut browser, "mel_recording=5@2");
        told(&mut browser, "it may be 0 (off) or 1 (on)");
        send(&mut browser, "nonsense");
        told(&mut browser, "give NAME=VALUE");
    }
    let finished = job.end();
    finished.expect(finished.code == Some(0), "the run ends as ever");
}
