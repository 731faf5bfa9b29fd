//! Jobs that go on until they are told to end, and `mel watch` beside them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::artifacts::{fresh_dir, mel};
use crate::{Finished, Job, Mpi, Running, compile_special};

/// No test waits longer for something.
pub const LIMIT: Duration = Duration::from_secs(120);

/// A job that goes on until it is told to end.
#[derive(Debug)]
pub struct Endless {
    /// Where the run is, and what the program leaves.
    pub directory: TempDir,
    /// The job.
    pub job: Running,
}

impl Endless {
    /// A program of `programs/special/`, whose arguments are a directory, a file that ends it, and these, under `mel run` with these
    /// options.
    pub fn start(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str], options: &[&str]) -> Endless {
        let directory = fresh_dir();
        let run = directory.path().join("run");
        let options: Vec<&OsStr> =
            options.iter().map(OsStr::new).chain(["-o".as_ref(), run.as_os_str()]).collect();
        let all = [directory.path().as_os_str().to_owned(), directory.path().join("end").into()];
        let all = all.into_iter().chain(arguments.iter().map(OsString::from));
        let job = Job::new(mpi, ranks, compile_special(mpi, program)).args(all).patient();
        let job = job.time_limit(2 * LIMIT).under_mel(options).start();
        Endless { directory, job }
    }

    /// The directory of the run.
    pub fn run(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    /// The process of a rank, once it has told.
    pub fn pid(&self, rank: u32) -> String {
        pid(self.directory.path(), rank)
    }

    /// Tells it to end, waits for that, and removes the directory.
    pub fn end(self) -> Finished {
        end(self.directory.path());
        self.job.wait()
    }
}

/// The process of a rank that tells so in this directory, once it has.
pub fn pid(directory: &Path, rank: u32) -> String {
    let path = directory.join(format!("pid-{rank}"));
    wait_for("a rank", || fs::read_to_string(&path).ok()).trim().to_owned()
}

/// Tells a job to end that looks into this directory.
///
/// # Panics
/// If that cannot be written.
pub fn end(directory: &Path) {
    fs::write(directory.join("end"), "").expect("a file can be written");
}

/// What is looked for, as soon as it is there.
///
/// # Panics
/// If it is not there in [`LIMIT`].
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} is not there");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal, such as `-KILL`, to a process.
///
/// # Panics
/// If there is no such process.
pub fn signal(pid: impl ToString, signal: &str) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.expect("kill can be started").success(), "{signal}");
}

/// `mel watch` of a run's directory, five times a second, with these options.
pub fn watch(directory: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(mel());
    command.arg("watch").arg(directory).args(["--every", "200ms"]).args(options);
    command
}

/// Lines of JSON of a watcher, as they come; it ends with this.
#[derive(Debug)]
pub struct Lines {
    /// The watcher.
    pub child: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Lines {
    /// Starts a watcher that writes JSON.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn of(command: &mut Command) -> Lines {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("mel can be started");
        let lines = child.stdout.take().map(BufReader::new);
        Lines { child, lines }
    }

    /// The first line from here on that has what is looked for.
    ///
    /// # Panics
    /// If there is none in [`LIMIT`], or the watcher ends.
    pub fn until(&mut self, what: &str, found: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        let mut last = String::new();
        loop {
            let mut line = String::new();
            self.lines.as_mut().expect("they are read").read_line(&mut line).expect("text");
            assert!(!line.is_empty() && Instant::now() < deadline, "{what} is not there: {last}");
            let frame: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if found(&frame) {
                return frame;
            }
            last = line;
        }
    }

    /// Reads no more.
    pub fn hang_up(&mut self) {
        self.lines = None;
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A page that a watcher serves; it ends with this.
#[derive(Debug)]
pub struct Page {
    /// The watcher.
    pub child: Child,
    /// Where the page is.
    pub address: String,
}

impl Page {
    /// Starts `mel watch --web`, with these options.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn of(directory: &Path, options: &[&str]) -> Page {
        let options: Vec<&str> = ["--web"].iter().chain(options).copied().collect();
        let mut child =
            watch(directory, &options).stdout(Stdio::piped()).spawn().expect("mel can be started");
        let mut address = String::new();
        let out = child.stdout.take().expect("it was asked for");
        BufReader::new(out).read_line(&mut address).expect("text");
        Page { child, address: address.trim_end().to_owned() }
    }

    /// Host and port, on this machine.
    ///
    /// # Panics
    /// If the address is another one.
    pub fn host(&self) -> &str {
        let rest = self.address.strip_prefix("http://").filter(|rest| rest.starts_with("127.0.0.1:"));
        rest.and_then(|rest| rest.split('/').next()).expect("an address of this machine")
    }

    /// The port.
    ///
    /// # Panics
    /// If the address has none.
    pub fn port(&self) -> u16 {
        self.host().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    /// What comes behind that, with the token in it.
    ///
    /// # Panics
    /// If there is nothing.
    pub fn path(&self) -> &str {
        self.address.splitn(4, '/').nth(3).expect("a path")
    }

    /// The whole answer to a request.
    ///
    /// # Panics
    /// If there is none.
    pub fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it hears");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The ranks of a line of a watcher.
pub fn ranks(frame: &Value) -> &[Value] {
    frame["ranks"].as_array().map_or(&[], Vec::as_slice)
}
