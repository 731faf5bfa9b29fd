//! Runs whose files are damaged: whatever a word of them says, each command ends, in bounded memory, with its output or an error.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use mel_log::profile::sample;
use mel_log::table::{ContextKey, Identity, ProfileTable, QueuesKey, Section, TrafficKey, WaitKey, layout};
use mel_log::{
    Collective, Definition, HeaderInfo, LogFile, Members, Message, Sample, State, StreamKind, kind,
};

/// A command may have so many bytes of addresses: its code, threads' stacks and mapped files among them.
const MOST_ADDRESSES: u64 = 2 << 30;
/// A command that has not ended by then hangs: a thousand times as long as it takes.
const PATIENCE: Duration = Duration::from_secs(120);

const RANKS: u32 = 4;

/// The logs of a run: messages in a ring, a sum now and then, samples.
fn logs(directory: &Path) {
    for rank in 0..RANKS {
        let info = HeaderInfo {
            rank,
            world_size: RANKS,
            pid: 1000 + rank,
            ticks_per_second: 1_000_000_000,
            origin_ticks: 1000,
            origin_realtime_nanos: 1_700_000_000_000_000_000,
            host: format!("node{}", rank / 2),
        };
        let log = LogFile::create(&directory.join(mel_log::file_name(rank)), &info).unwrap();
        for (number, name) in ["MPI_Send", "MPI_Recv", "MPI_Allreduce"].into_iter().enumerate() {
            log.define(&Definition::Function { number: number as u16, name: name.into() }).unwrap();
        }
        log.define(&Definition::Communicator {
            index: 0,
            context: 1,
            name: "MPI_COMM_WORLD".into(),
            members: Members::from_ranks(0..RANKS as i32),
            remote: None,
        })
        .unwrap();
        log.define(&Definition::Variable {
            number: 3,
            name: "length".into(),
            description: String::new(),
            class: "level".into(),
            object: "MPI_COMM_WORLD".into(),
            of_mpi: false,
            unit: "entries".into(),
            is_whole: true,
        })
        .unwrap();
        let mut samples = log.stream(StreamKind::Samples, 0, None);
        let mut calls = log.stream(StreamKind::Calls, 0, None);
        for step in 0..40u64 {
            let at = 10_000 + step * 1000;
            let [next, last] = [(rank + 1) % RANKS, (rank + RANKS - 1) % RANKS].map(|peer| peer as i32);
            calls.enter(at, 0, 0);
            let message = |peer| Message { peer, tag: 7, bytes: 100, request: 0 }.to_payload();
            calls.append(at + 10, kind::MPI_SEND, 0, &message(next));
            calls.leave(50);
            calls.enter(at + 100, 1, 0);
            calls.append(at + 200, kind::MPI_RECV, 0, &message(last));
            calls.leave(150);
            calls.enter(at + 400, 2, 0);
            calls.append(
                at + 410,
                kind::COLLECTIVE,
                0,
                &Collective { root: -1, sent: 8, received: 8 }.to_payload(),
            );
            calls.leave(100);
            let sample = Sample { variable: 3, element: None, value: step as f64 };
            samples.append(at, kind::SAMPLE, 0, &sample.to_payload());
        }
        drop((samples, calls));
        if rank % 2 == 0 {
            log.finish(State::Finalised, 60_000);
        }
    }
}

/// The tables of ranks of which some were killed and others called `MPI_Abort`.
fn tables(directory: &Path) {
    for rank in 0..RANKS {
        let identity = Identity {
            rank,
            world_size: RANKS,
            ticks_per_second: 1_000_000_000,
            started: 1000,
            started_realtime_nanos: 1_700_000_000_000_000_000,
            runs_since: 2000,
            host: format!("node{}", rank / 2),
        };
        let path = directory.join(mel_log::table::file_name(rank));
        let table = ProfileTable::create(&path, &identity).unwrap();
        table.define(&mel_log::profile::sample::program(&["calls", "queues", "matrix"]));
        table.define(&Definition::Function { number: 7, name: "MPI_Recv".into() });
        table.define(&Definition::Communicator {
            index: 1,
            context: 1,
            name: "MPI_COMM_WORLD".into(),
            members: Members::from_ranks(0..RANKS as i32),
            remote: None,
        });
        let queues = table.add_queues(QueuesKey::default()).unwrap();
        table.queues(queues).posted.insert(3000);
        table.queues(queues).posted.remove(3000, 3500);
        let key = ContextKey { function: 7, communicator: 1, ..ContextKey::default() };
        let context = table.add_context(key);
        table.add_thread(0);
        let peer = ((rank + 1) % RANKS) as i32;
        for step in 0..20u64 {
            let at = 10_000 + step * 10_000;
            table.thread(0).enter(context, at);
            table.thread(0).leave(at + 5000);
            table.context(context).count(5000);
            let key = WaitKey { context, peer, ..WaitKey::default() };
            table.add_wait(key);
            table.add_waited(key, at, at + 4000);
            table.add_collective(context, step as u32, 0, (at, at + 4000));
            table.add_traffic(TrafficKey::collective(1, 7, 0));
        }
        if rank % 2 == 0 {
            table.finish(mel_log::profile::Ended::Aborted, 300_000);
        }
    }
}

/// The numbers that stand for a damaged word.
const WRONG: [u64; 4] = [u64::MAX, 1 << 31, 0x8000_0000_8000_0000, 0x0010_0000_0010_0000];

/// Overwrites words of a file.
fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    fs::File::options().write(true).open(path).unwrap().write_all_at(bytes, at as u64).unwrap();
}

/// Where a log has words of which much depends: 4 bytes each.
fn words_of_log() -> impl Iterator<Item = usize> {
    let header = (8..96).step_by(4);
    let chunk = |number: usize| 4096 + (number << 20);
    let chunks = (0..3).flat_map(move |number| (0..24).step_by(4).map(move |field| chunk(number) + field));
    let records = (0..3).flat_map(move |number| (64..192).step_by(4).map(move |field| chunk(number) + field));
    header.chain(chunks).chain(records)
}

/// The same of a table: 8 bytes each.
fn words_of_table() -> impl Iterator<Item = usize> {
    let header = (8..24 * 8).chain(56 * 8..64 * 8).step_by(8);
    let tail = std::mem::offset_of!(layout::Header, connections)..size_of::<layout::Header>();
    let sections = [
        Section::Threads.begin(),
        Section::Queues.begin() + 90_368 - 64,
        Section::Contexts.begin() + 256,
        Section::Waits.begin(),
        Section::Waited.begin(),
        Section::Collectives.begin(),
        Section::Traffic.begin(),
    ];
    let rows = sections.into_iter().flat_map(|at| (at..at + 64).step_by(8));
    header.chain(tail.step_by(8)).chain(rows)
}

struct Damaged<'a> {
    directory: &'a Path,
    scratch: &'a Path,
}

impl Damaged<'_> {
    /// All commands that read runs, by what they are called with.
    fn commands(&self) -> Vec<Vec<String>> {
        let run = self.directory.to_str().unwrap();
        let out = |name: &str| self.scratch.join(name).to_str().unwrap().to_owned();
        let fabric = out("net.toml");
        let network = "[[host]]\nname = \"node[0-9]\"\n[[switch]]\nname = \"leaf\"\n[[link]]\nfrom = \"node[0-9]\"\nto = \"leaf\"\n";
        fs::write(&fabric, network).unwrap();
        let lines = [
            format!("report {run}"),
            format!("report --lines {run}"),
            format!("report --json {run}"),
            format!("report --csv {run}"),
            format!("report --html {} {run}", out("page.html")),
            format!("report --png {} {run}", out("figures")),
            format!("report --matrix {run}"),
            format!("report --matrix --by host --csv {run}"),
            format!("analyze {run}"),
            format!("analyze --json {run}"),
            format!("convert --text -o {} {run}", out("events.txt")),
            format!("convert --otf2 -o {} {run}", out("trace")),
            format!("convert --perfetto {} {run}", out("trace.pftrace")),
            format!("convert --parquet {} {run}", out("tables")),
            format!("convert --cubex {} {run}", out("app.cubex")),
            format!("watch --once {run}"),
            format!("diff {run} {run}"),
            format!("place --topology core:8 {run}"),
            format!("net {run} --fabric {fabric}"),
            format!("advise {run}"),
            format!("collect {run} -o {}", out("collected")),
        ];
        lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }

    /// Runs a command, which must end within its bounds.
    fn check(&self, arguments: &[String], what: &str) {
        for left in ["trace", "figures", "collected"] {
            let _ = fs::remove_dir_all(self.scratch.join(left));
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_mel"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec, `setrlimit` alone is called, which is safe there.
        unsafe {
            command.pre_exec(|| {
                let limit = libc::rlimit { rlim_cur: MOST_ADDRESSES, rlim_max: MOST_ADDRESSES };
                match libc::setrlimit(libc::RLIMIT_AS, &limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        let child = command.spawn().unwrap();
        let Output { status, stderr, .. } = ended(child);
        let err = String::from_utf8_lossy(&stderr);
        let shown = format!("{what}: mel {}: {status}\n{err}", arguments.join(" "));
        assert!(status.signal().is_none(), "{shown}");
        assert!(!err.contains("panicked") && !err.contains("memory allocation"), "{shown}");
        assert!(matches!(status.code(), Some(0 | 1 | 3)), "{shown}");
        assert!(status.code() != Some(1) || err.starts_with("[MEL] "), "{shown}");
        assert!(err.len() < 20_000, "{shown}");
    }
}

/// The output of a command, when it has ended; one that hangs is killed.
fn ended(child: std::process::Child) -> Output {
    let (begin, id) = (Instant::now(), child.id() as libc::pid_t);
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE.saturating_sub(begin.elapsed())).is_err() {
            // SAFETY: a system call with numbers only; the child was not waited for, so that its number is its own.
            unsafe { libc::kill(id, libc::SIGKILL) };
        }
    });
    let output = child.wait_with_output().unwrap();
    let _ = done.send(());
    watcher.join().unwrap();
    output
}

/// Takes each command through files of which one word at a time is damaged: for each word the next few commands, so that all have many.
fn each_word(make: impl Fn(&Path), words: &[(PathBuf, usize, usize)], commands_each: usize) {
    let (run, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make(run.path());
    let damaged = Damaged { directory: run.path(), scratch: scratch.path() };
    let commands = damaged.commands();
    for command in &commands {
        damaged.check(command, "whole");
    }
    let mut next = commands.iter().cycle();
    for (place, (name, at, length)) in words.iter().enumerate() {
        let path = run.path().join(name);
        let before = fs::read(&path).unwrap();
        let wrong = WRONG[place % WRONG.len()].to_le_bytes();
        overwrite(&path, *at, &wrong[..*length]);
        for _ in 0..commands_each {
            let what = format!("{} at {at} is {wrong:x?}", name.display());
            damaged.check(next.next().unwrap(), &what);
        }
        overwrite(&path, *at, &before[*at..(at + length).min(before.len())]);
    }
}

#[test]
fn a_damaged_word_of_a_log_costs_no_command_its_bounds() {
    // Of a rank whose log has an end, and of one that was killed.
    let words: Vec<_> = words_of_log()
        .enumerate()
        .map(|(place, at)| (mel_log::file_name(1 + place as u32 % 2).into(), at, 4))
        .collect();
    each_word(logs, &words, 2);
}

#[test]
fn a_damaged_word_of_a_table_costs_no_command_its_bounds() {
    let words: Vec<_> = words_of_table()
        .enumerate()
        .map(|(place, at)| (mel_log::table::file_name(1 + place as u32 % 2).into(), at, 8))
        .collect();
    each_word(tables, &words, 2);
}

#[test]
fn a_damaged_table_of_ranks_costs_no_command_its_bounds() {
    let words: Vec<_> = (8..120).step_by(8).map(|at| ("ranks.table".into(), at, 8)).collect();
    each_word(|directory| sample::write_many(directory, 500, 17).unwrap(), &words, 4);
}

#[test]
fn a_damaged_number_of_a_profile_costs_no_command_its_bounds() {
    let (run, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let profile = sample::traffic(6);
    let path = run.path().join("profile.json");
    let text = serde_json::to_string(&profile).unwrap();
    fs::write(&path, &text).unwrap();
    let damaged = Damaged { directory: run.path(), scratch: scratch.path() };
    let commands = damaged.commands();
    commands.iter().for_each(|command| damaged.check(command, "whole"));
    // The most ranks that a run is believed to have, and more.
    for size in ["4194304", "4194305", "4294967295"] {
        fs::write(&path, text.replacen("\"world_size\":6", &format!("\"world_size\":{size}"), 1)).unwrap();
        commands.iter().for_each(|command| damaged.check(command, &format!("{size} ranks")));
    }
    let mut next = commands.iter().cycle();
    let bytes = text.as_bytes();
    let begins = (1..bytes.len()).filter(|at| bytes[*at].is_ascii_digit() && b":[,".contains(&bytes[at - 1]));
    let begins: Vec<usize> = begins.collect();
    for (place, begin) in begins.iter().step_by(begins.len() / 60).chain(&begins[..8]).enumerate() {
        let length = text[*begin..].find([',', '}', ']']).unwrap();
        let wrong = ["4294967295", "4194304", "18446744073709551615", "1e308"][place % 4];
        fs::write(&path, [&text[..*begin], wrong, &text[begin + length..]].concat()).unwrap();
        for _ in 0..2 {
            damaged.check(next.next().unwrap(), &format!("profile.json at {begin} is {wrong}"));
        }
    }
}

#[test]
fn a_hundred_thousand_ranks_of_which_few_left_files_are_told_as_ranges() {
    let other = tempfile::tempdir().unwrap();
    let identity = Identity { rank: 7, world_size: 100_000, ticks_per_second: 1, ..Identity::default() };
    for rank in [0, 7, 99_999] {
        let identity = Identity { rank, ..identity.clone() };
        drop(ProfileTable::create(&other.path().join(mel_log::table::file_name(rank)), &identity).unwrap());
    }
    let scratch = tempfile::tempdir().unwrap();
    let damaged = Damaged { directory: other.path(), scratch: scratch.path() };
    damaged.commands().iter().for_each(|command| damaged.check(command, "100 000 ranks"));
    let report = Command::new(env!("CARGO_BIN_EXE_mel")).arg("report").arg(other.path()).output().unwrap();
    let text = String::from_utf8(report.stdout).unwrap();
    assert!(text.contains("ranks 1 to 6, 8 to 99998 left no profile"), "{text}");
}

#[test]
fn files_that_contradict_each_other_are_told_in_one_line() {
    let run = tempfile::tempdir().unwrap();
    for (rank, world_size) in [(0, 4), (1, 9), (2, 4), (3, 4)] {
        let identity = Identity { rank, world_size, ticks_per_second: 1, ..Identity::default() };
        let path = run.path().join(mel_log::table::file_name(rank));
        drop(ProfileTable::create(&path, &identity).unwrap());
    }
    let report =
        Command::new(env!("CARGO_BIN_EXE_mel")).args(["report", "--json"]).arg(run.path()).output().unwrap();
    let err = String::from_utf8(report.stderr).unwrap();
    assert_eq!(
        err,
        "[MEL] the profile table of rank 1 says that the run has another number of ranks than the 4 of the others\n"
    );
    assert_eq!(report.status.code(), Some(3));
}
