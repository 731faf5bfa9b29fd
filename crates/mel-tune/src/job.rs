//! A run of a whole job: its time, how it ended, what it has printed. Nothing of it is left behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// How long a launcher has to end its processes when it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How long processes of a job may be there after their launcher.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// Starts jobs one after the other, and ends them when this process is told to end.
#[derive(Debug)]
pub struct Jobs {
    ends: Arc<AtomicBool>,
}

/// How a job went.
#[derive(Debug)]
pub enum Outcome {
    /// It ended well, after so many seconds.
    Ran(f64),
    /// It did not, and why.
    Failed(String),
    /// This process was told to end.
    Interrupted,
}

/// A command that judges the results of a job by its output.
#[derive(Clone, Debug)]
pub struct Check(pub String);

impl Jobs {
    /// From here on signals that end a command end the job that runs, first.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> anyhow::Result<Jobs> {
        let ends = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&ends)).context("cannot hear signals")?;
        }
        // What a launcher leaves behind becomes a child of this process, and is found.
        // SAFETY: the call takes no pointers.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        Ok(Jobs { ends })
    }

    /// Runs a job, with some environment variables more, for at most so long.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(
        &self,
        command: &[OsString],
        environment: &[(String, String)],
        limit: Duration,
        check: Option<&Check>,
    ) -> anyhow::Result<Outcome> {
        if self.ends.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        let (name, arguments) = command.split_first().context("there is no command")?;
        let mut output = tempfile::tempfile().context("cannot make a file for the output")?;
        let mut command = Command::new(name);
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        // A group of its own: what is typed at the terminal comes to this process alone, which ends the job in order.
        command.process_group(0);
        let parent = std::process::id();
        // SAFETY: between fork and exec only system calls are made that may be made there.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                // Its parent may have died before that.
                if libc::getppid() as u32 == parent { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
            });
        }
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", name.display()))?;
        let (ended, seconds) = self.wait(child, started, limit)?;
        clear();
        Ok(match ended {
            Waited::Itself(status) if status.success() => {
                match check.map(|check| passes(check, &output)).transpose()? {
                    Some(false) => Outcome::Failed("its results do not pass the check".into()),
                    _ => Outcome::Ran(seconds),
                }
            }
            Waited::Itself(status) => {
                Outcome::Failed(format!("{}{}", words(status), last_lines(&mut output)))
            }
            Waited::TooLate => Outcome::Failed(format!("it did not end within {:.0} s", limit.as_secs_f64())),
            Waited::Interrupted => Outcome::Interrupted,
        })
    }

    /// Waits for the launcher, ends it when it is time, and measures.
    fn wait(&self, mut child: Child, started: Instant, limit: Duration) -> anyhow::Result<(Waited, f64)> {
        let launcher = child.id() as libc::pid_t;
        let (tell, told) = mpsc::channel();
        let waiter = thread::spawn(move || {
            let status = child.wait();
            let _ = tell.send((status, started.elapsed()));
        });
        let ended = loop {
            match told.recv_timeout(Duration::from_millis(50)) {
                Ok((status, time)) => break Ok((Waited::Itself(status?), time.as_secs_f64())),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    break Err(anyhow::anyhow!("the job cannot be waited for"));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            let ended = match (self.ends.load(Ordering::Relaxed), started.elapsed() > limit) {
                (true, _) => Waited::Interrupted,
                (false, true) => Waited::TooLate,
                (false, false) => continue,
            };
            // The launcher ends its processes, on other nodes, too.
            signal(launcher, libc::SIGTERM);
            if told.recv_timeout(GRACE).is_err() {
                signal(-launcher, libc::SIGKILL);
            }
            break Ok((ended, started.elapsed().as_secs_f64()));
        };
        let _ = waiter.join();
        signal(-launcher, libc::SIGKILL);
        ended
    }
}

/// What the waiting for a launcher has come to.
enum Waited {
    Itself(ExitStatus),
    TooLate,
    Interrupted,
}

fn signal(process: libc::pid_t, signal: libc::c_int) {
    // SAFETY: the call takes no pointers. The process is a child that was not waited for, or the group of one.
    unsafe { libc::kill(process, signal) };
}

/// Ends what a launcher has left: all children of this process, which has no others, and theirs.
fn clear() {
    let begin = Instant::now();
    loop {
        // SAFETY: null is allowed for the status.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
        let left = children();
        if left.is_empty() || begin.elapsed() > GRACE {
            return;
        }
        if begin.elapsed() > STRAGGLERS {
            left.into_iter().for_each(|process| signal(process, libc::SIGKILL));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn children() -> Vec<libc::pid_t> {
    let me = std::process::id();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|process| parent(*process) == Some(me)).collect()
}

fn parent(process: libc::pid_t) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything; state and parent come after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it failed".into(),
    }
}

/// The end of the output, for a message.
fn last_lines(output: &mut File) -> String {
    const MOST: u64 = 2000;
    let length = output.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    let read = output
        .seek(SeekFrom::Start(length.saturating_sub(MOST)))
        .and_then(|_| output.take(MOST).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match read {
        Ok(_) if !lines.is_empty() => {
            let first = lines.len().saturating_sub(6);
            format!("; its last lines:\n    {}", lines[first..].join("\n    "))
        }
        _ => String::new(),
    }
}

/// Whether the output of a job passes: it is the standard input of the check, which ends with exit code 0.
fn passes(check: &Check, output: &File) -> anyhow::Result<bool> {
    let mut input = output.try_clone()?;
    input.seek(SeekFrom::Start(0))?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(&check.0).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().context("cannot run the check")?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    // All in one test: children of this process are ended, whoever has started them.
    #[test]
    fn jobs_are_measured_ended_and_leave_nothing() {
        let jobs = Jobs { ends: Arc::default() };
        let run = |script: &str, limit: u64, check: Option<&str>| {
            let command: Vec<OsString> = ["sh", "-c", script].map(OsString::from).into();
            let check = check.map(|check| Check(check.into()));
            jobs.run(
                &command,
                &[("SOME".into(), "thing".into())],
                Duration::from_millis(limit),
                check.as_ref(),
            )
            .unwrap()
        };
        assert!(matches!(run("sleep 0.1", 9000, None), Outcome::Ran(seconds) if seconds >= 0.1));
        assert!(matches!(run("echo $SOME", 9000, Some("grep -q thing")), Outcome::Ran(_)));
        assert!(matches!(run("echo $SOME", 9000, Some("grep -q other")), Outcome::Failed(_)));
        match run("echo why >&2; exit 3", 9000, None) {
            Outcome::Failed(why) => assert!(why.contains("exit code 3") && why.ends_with("why"), "{why}"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(run("sleep 60", 100, None), Outcome::Failed(why) if why.contains("did not end")));
        // It leaves a process that has left its group.
        assert!(matches!(run("setsid sleep 60 & exit 0", 9000, None), Outcome::Ran(_)));
        assert_eq!(children(), [0; 0]);
        jobs.ends.store(true, Ordering::Relaxed);
        assert!(matches!(run("true", 9000, None), Outcome::Interrupted));
    }
}
