//! However a run is killed, and whenever: the report has everything up to then, and says how each rank ended and where it was last seen.
//!
//! The program counts for itself, in a mapped file, what each rank has done. What the report says is the same, or one call more: a call
//! may have been over for MEL and not yet for the program. What the model has seen of the queues is behind by a bounded number of events.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mel_tests::artifacts::{fresh_dir, mel};
use mel_tests::docs::sentence_is_shown;
use mel_tests::{Job, Mpi, Running, compile_special};
use serde_json::Value;

/// Receives by which the numbers of the queues may be behind: 64 events wait to be counted together, and those of the last calls are
/// yet to be raised. Each receive has at least two.
const BEHIND: u64 = 36;

/// The most bytes of a message.
const LARGEST: u64 = 128;

/// Who is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Rank(usize),
    AllRanks,
    LauncherBySigterm,
    LauncherBySigkill,
}

const VICTIMS: [Victim; 5] = [
    Victim::Rank(1),
    Victim::AllRanks,
    Victim::LauncherBySigterm,
    Victim::Rank(0),
    Victim::LauncherBySigkill,
];

/// What a rank has counted of itself, by the numbers of the program `steps`.
#[derive(Clone, Debug)]
struct Counts(Vec<u64>);

const CALLS: [(&str, usize); 6] = [
    ("MPI_Isend", 2),
    ("MPI_Irecv", 3),
    ("MPI_Waitall", 4),
    ("MPI_Send", 5),
    ("MPI_Recv", 6),
    ("MPI_Allreduce", 7),
];

impl Counts {
    /// `None` until the rank has begun.
    fn read(directory: &Path, rank: usize) -> Option<Counts> {
        let bytes = std::fs::read(directory.join(format!("counts-{rank}"))).ok()?;
        let numbers = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")));
        Some(Counts(numbers.collect()))
    }

    fn pid(&self) -> u64 {
        self.0[0]
    }

    fn steps(&self) -> u64 {
        self.0[1]
    }

    /// Receives that were posted.
    fn receives(&self) -> u64 {
        self.0[3] + self.0[6]
    }

    fn bytes_sent(&self) -> u64 {
        self.0[8]
    }

    fn bytes_received(&self) -> u64 {
        self.0[9]
    }
}

/// Numbers that look random, and are the same each time.
struct Points(u64);

impl Iterator for Points {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((self.0 >> 33) % 1500)
    }
}

fn kill(signal: &str, pid: u64) {
    // It may have ended already.
    let _ =
        Command::new("kill").args([signal, &pid.to_string()]).stderr(std::process::Stdio::null()).status();
}

fn runs(pid: u64) -> bool {
    // A process that has ended and that nobody has waited for runs no more.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}

/// Runs the program until rank 0 has made so many steps, kills, and waits until all have ended. What both ranks have done.
fn killed(mpi: &Mpi, options: &[&str], output: &Path, steps: u64, victim: Victim) -> [Counts; 2] {
    let counts = fresh_dir();
    let options =
        options.iter().copied().map(std::ffi::OsStr::new).chain(["-o".as_ref(), output.as_os_str()]);
    let program = compile_special(mpi, "steps");
    let run: Running = Job::new(mpi, 2, program).args([counts.path()]).under_mel(options).start();
    let both = || Some([Counts::read(counts.path(), 0)?, Counts::read(counts.path(), 1)?]);
    let started = std::time::Instant::now();
    let pids = loop {
        if let Some([first, second]) = both()
            && first.steps() >= steps
        {
            break [first.pid(), second.pid()];
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{}: it does not begin", mpi.name);
        std::thread::sleep(Duration::from_micros(300));
    };
    match victim {
        Victim::Rank(rank) => kill("-KILL", pids[rank]),
        Victim::AllRanks => pids.iter().for_each(|pid| kill("-KILL", *pid)),
        Victim::LauncherBySigterm => kill("-TERM", run.launcher().into()),
        Victim::LauncherBySigkill => {
            kill("-KILL", run.launcher().into());
            // Ranks that nobody ends any more.
            pids.iter().for_each(|pid| kill("-KILL", *pid));
        }
    }
    run.wait();
    while pids.iter().any(|pid| runs(*pid)) {
        assert!(started.elapsed() < Duration::from_secs(180), "{}: ranks go on", mpi.name);
        std::thread::sleep(Duration::from_millis(5));
    }
    both().expect("both ranks have counted")
}

/// What `mel` with these arguments prints, and its exit code.
fn mel_prints(arguments: &[&str], directory: &Path) -> (String, String, Option<i32>) {
    let output = Command::new(mel()).args(arguments).arg(directory).output().expect("mel can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// What the profile says of one rank is what the rank has done; `more` calls and bytes may be over that it has not counted, and receives
/// by which the queues may be `behind`.
fn agrees(profile: &Value, rank: usize, done: &Counts, more: u64, behind: u64, what: &str) {
    let of_rank = &profile["ranks"][rank];
    let calls = || of_rank["calls"].as_array().into_iter().flatten();
    let between = |name: &str, number: u64, least: u64, most: u64| {
        assert!(
            (least..=most).contains(&number),
            "{what}: rank {rank}: {name}: {number}, not {least} to {most}"
        );
    };
    for (function, place) in CALLS {
        let of_function = calls().filter(|call| call["function"] == function);
        let counted = of_function.map(|call| call["calls"].as_u64().expect("a count")).sum();
        between(function, counted, done.0[place], done.0[place] + more);
    }
    let bytes = |key: &str| -> u64 {
        let messages = calls().filter(|call| call["function"] != "MPI_Allreduce");
        messages.map(|call| call[key].as_u64().expect("bytes")).sum()
    };
    let sent = bytes("bytes_sent");
    between("bytes sent", sent, done.bytes_sent(), done.bytes_sent() + more * LARGEST);
    let least = done.bytes_received().saturating_sub(behind * LARGEST);
    between("bytes received", bytes("bytes_received"), least, done.bytes_received() + more * LARGEST);
    let receives = done.receives();
    let searches = of_rank["unexpected_search"]["searches"].as_u64().expect("a count");
    between("searches", searches, receives.saturating_sub(behind), receives + more);
    let of_queue = |queue: &str| of_rank[queue]["messages"].as_u64().expect("a count");
    // Each receive is in the posted queue, or its message in the other. Of the other rank's messages some may have come already.
    let queued = of_queue("posted") + of_queue("unexpected");
    between("messages in both queues", queued, receives.saturating_sub(behind), receives + more * 3);
    let by_communicator = of_rank["communicators"].as_array().into_iter().flatten();
    let of_communicators: u64 = by_communicator
        .flat_map(|of| {
            ["posted", "unexpected"].map(|queue| of["queues"][queue]["messages"].as_u64().unwrap_or(0))
        })
        .sum();
    // An event is counted in the whole queues first.
    between("messages in the queues of communicators", of_communicators, queued.saturating_sub(1), queued);
    let queue = &of_rank["posted"];
    let in_bins: u64 = queue["lifetimes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|bin| bin[2].as_u64().expect("a count"))
        .sum();
    assert_eq!(in_bins + queue["left"].as_u64().expect("a count"), of_queue("posted"), "{what}: rank {rank}");
}

/// The profile of a run whose ranks have ended. The threads of a process that is killed end one after the other: for a while after its
/// first one has, another may hold its files, and the report says that it runs.
fn profile_of_the_ended(output: &Path, what: &str) -> Value {
    let started = std::time::Instant::now();
    loop {
        let (json, stderr, code) = mel_prints(&["report", "--json"], output);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{what}");
        let profile: Value = serde_json::from_str(&json).expect("JSON");
        let mut ranks = profile["ranks"].as_array().into_iter().flatten();
        if !ranks.any(|rank| rank["ended"] == "running") || started.elapsed() > Duration::from_secs(60) {
            return profile;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the report says of a run that was killed.
fn report_agrees(output: &Path, done: &[Counts; 2], what: &str) {
    let profile = profile_of_the_ended(output, what);
    assert_eq!(profile["world_size"], 2, "{what}");
    assert_eq!(profile["backend"], "model", "{what}");
    assert!(profile["verdict"].is_array(), "{what}");
    for (rank, done) in done.iter().enumerate() {
        agrees(&profile, rank, done, 1, BEHIND, what);
        let of_rank = &profile["ranks"][rank];
        assert_eq!(of_rank["ended"], "killed", "{what}: rank {rank}");
        let (last, run) = (of_rank["last_seen_s"].as_f64(), of_rank["run_s"].as_f64());
        assert!(last > run && run > Some(0.0), "{what}: rank {rank}: {last:?} {run:?}");
        // How right the model was is there, too: of all receives but those that it has not followed yet.
        let matched = of_rank["truth"]["matched"].as_u64().expect("a number");
        let receives = done.receives();
        assert!(
            (receives.saturating_sub(4 * BEHIND)..=receives + 1).contains(&matched),
            "{what}: {matched} of {receives}"
        );
        let call = &of_rank["last_call"];
        let function = call["function"].as_str().expect("there was a call");
        assert!(CALLS.iter().any(|(known, _)| *known == function), "{what}: {call}");
        assert!(call["entered_s"].as_f64() <= last, "{what}: {call}");
    }
    let (text, ..) = mel_prints(&["report"], output);
    assert!(text.contains("ranks 0, 1 were killed: the numbers end there, last seen "), "{what}: {text}");
    sentence_is_shown("docs/report.md", "were killed", &text);
    let [ends, time] = ["were killed", "time by rank"].map(|words| text.find(words));
    assert!(ends.is_some() && ends < time, "{what}: it does not come first: {text}");
    assert!(!text.contains("not what holds this program back"), "{what}: {text}");
    assert!(text.contains(" last seen in MPI_") || text.contains(" last seen after MPI_"), "{what}: {text}");
}

/// What the logs of a killed run have is what the ranks have done.
fn log_agrees(output: &Path, done: &[Counts; 2], what: &str) {
    let (text, stderr, code) = mel_prints(&["convert", "--text", "--calls"], output);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{what}");
    let mut rank = 0;
    let mut entered = [[0; CALLS.len()]; 2];
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("# rank ").and_then(|rest| rest.split(' ').next()) {
            rank = number.parse().expect("a rank");
            assert!(line.contains("ended early"), "{what}: {line}");
        } else if let Some((_, function)) = line.split_once(" enter ") {
            let function = function.split(' ').next().unwrap_or_default();
            if let Some(place) = CALLS.iter().position(|(known, _)| *known == function) {
                entered[rank][place] += 1;
            }
        }
    }
    for (rank, done) in done.iter().enumerate() {
        for (place, (function, number)) in CALLS.iter().enumerate() {
            let (logged, done) = (entered[rank][place], done.0[*number]);
            assert!(
                (done..=done + 1).contains(&logged),
                "{what}: rank {rank}: {function}: {logged}, not {done}"
            );
        }
    }
}

/// Runs and kills at so many points on each MPI of the distribution; launchers of others may wait for ever for ranks that are gone.
const POINTS: usize = 10;

/// Runs and kills at points that look random on each MPI.
fn at_many_points(options: &[&str], check: impl Fn(&Path, &[Counts; 2], &str)) {
    for mpi in &Mpi::all() {
        for (place, steps) in Points(options.len() as u64 + 1).take(POINTS).enumerate() {
            let victim = VICTIMS[place % VICTIMS.len()];
            let directory = fresh_dir();
            let output = directory.path().join("run");
            let done = killed(mpi, options, &output, steps, victim);
            let what = format!("{} {options:?}: {victim:?} after {steps} steps", mpi.name);
            assert!(done[0].steps() >= steps, "{what}");
            check(&output, &done, &what);
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_killed_run_is_reported_up_to_the_end() {
    at_many_points(&[], report_agrees);
}

#[test]
#[ignore = "slow"]
fn a_killed_trace_is_read_up_to_the_end() {
    at_many_points(&["--trace"], |output, done, what| {
        report_agrees(output, done, what);
        log_agrees(output, done, what);
    });
}

#[test]
fn an_undisturbed_run_has_the_same_numbers() {
    for mpi in &Mpi::all() {
        for options in [&[][..], &["--trace"]] {
            let (directory, counts) = (fresh_dir(), fresh_dir());
            let output = directory.path().join("run");
            let all = options.iter().map(std::ffi::OsStr::new).chain(["-o".as_ref(), output.as_os_str()]);
            let arguments = [counts.path().as_os_str(), "500".as_ref()];
            let run = Job::new(mpi, 2, compile_special(mpi, "steps")).args(arguments).under_mel(all).run();
            run.expect(run.code == Some(0), mpi.name);
            let (json, _, code) = mel_prints(&["report", "--json"], &output);
            assert_eq!(code, Some(0), "{}", mpi.name);
            let profile: Value = serde_json::from_str(&json).expect("JSON");
            for rank in 0..2 {
                let done = Counts::read(counts.path(), rank).expect("it has counted");
                assert_eq!(done.steps(), 500);
                // `MPI_Reduce` in the end of the program receives, too. On a busy machine an envelope may be given up before it comes:
                // its message has no bytes then.
                agrees(&profile, rank, &done, 1, 5, mpi.name);
                assert_eq!(profile["ranks"][rank]["ended"], "finalised");
                assert!(profile["ranks"][rank]["last_seen_s"].is_null());
            }
        }
    }
}
