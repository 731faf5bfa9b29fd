//! What a watcher of the run asks this process to set while it runs (`mel run --settable`).
//!
//! A thread looks now and then whether there is a request ([`mel_log::control`]) and takes it. Variables are set before the program's
//! next MPI call, where the program may call MPI ([`mpi_intercept::attend`]). The thread writes the answer. Where the user did not ask for it
//! there is neither.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use mel_log::control::{self, Answer, Outcome, Request, Verdict};
use mel_log::profile::Ended;
use mpi_intercept::own_thread::OwnThread;
use mpi_intercept::{FunctionId, Hook, Wants};

use crate::consumer::{Consumer, Parts};
use crate::state::Run;
use crate::{settings, warn};

/// How long the end of the thread is waited for: the file system may hang.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes requests and answers them. Lives as long as the process.
#[derive(Debug)]
pub(crate) struct Requests {
    directory: PathBuf,
    rank: u32,
    /// The process that it belongs to.
    pid: u32,
    /// Between two looks.
    every: Duration,
    /// Whether there is something to do before the next call.
    attends: AtomicBool,
    asked: Mutex<Option<Request>>,
    state: Mutex<State>,
    changed: Condvar,
    thread: OnceLock<OwnThread>,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    answer: Option<Answer>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often this many processes look: the directory may be on a file system that all of them share.
fn pause(ranks: u32) -> Duration {
    Duration::from_millis(match ranks {
        0..=64 => 200,
        65..=1024 => 1000,
        _ => 5000,
    })
}

impl Requests {
    /// Begins to take requests for this rank, of so many, in the directory of the run; `None` where that cannot be, which is told.
    fn begin(directory: PathBuf, rank: u32, ranks: u32) -> Option<&'static Requests> {
        // What was left for a run that went before is not for this one.
        control::remove(&directory, rank);
        if let Err(error) = Answer::default().leave(&directory, rank) {
            warn(&format!("nothing can be set while the run goes on: {}: {error}", directory.display()));
            return None;
        }
        let requests: &'static Requests = Box::leak(Box::new(Requests {
            directory,
            rank,
            pid: std::process::id(),
            every: pause(ranks),
            attends: AtomicBool::new(false),
            asked: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            thread: OnceLock::new(),
        }));
        match OwnThread::start("mel-control", move || requests.run()) {
            Ok(thread) => _ = requests.thread.set(thread),
            Err(error) => {
                control::remove(&requests.directory, rank);
                warn(&format!("nothing can be set while the run goes on: {error}"));
                return None;
            }
        }
        Some(requests)
    }

    /// What the thread does.
    fn run(&self) {
        let (mut last, mut told) = (0, false);
        loop {
            let mut state = lock(&self.state);
            if !state.stopped && state.answer.is_none() {
                state =
                    self.changed.wait_timeout(state, self.every).unwrap_or_else(PoisonError::into_inner).0;
            }
            let (answer, stopped) = (state.answer.take(), state.stopped);
            drop(state);
            if let Some(answer) = answer {
                // Who asked will say that nothing came.
                let _ = answer.leave(&self.directory, self.rank);
            }
            if stopped {
                return;
            }
            // One at a time. The call that was to do it may have met us here.
            if self.attends.load(Ordering::Acquire) {
                mpi_intercept::attend();
                continue;
            }
            match Request::take(&self.directory, self.rank) {
                // Where it could not be removed it is there again.
                Ok(Some(request)) if request.id != last => {
                    last = request.id;
                    *lock(&self.asked) = Some(request);
                    self.attends.store(true, Ordering::Release);
                    mpi_intercept::attend();
                }
                Ok(_) => {}
                Err(why) if !told => {
                    told = true;
                    let file = control::request_file(&self.directory, self.rank);
                    warn(&format!("{} is not followed: {why}", file.display()));
                }
                Err(_) => {}
            }
        }
    }

    /// Does what was asked for, if anything was. Where the program may call MPI.
    #[cold]
    fn attend(&self) {
        if !self.attends.load(Ordering::Acquire) || self.pid != std::process::id() {
            return;
        }
        // Of several threads one does it.
        let Some(request) = self.asked.try_lock().ok().and_then(|mut asked| asked.take()) else { return };
        let outcomes = request.settings().map(|(text, setting)| match setting {
            Ok(setting) => settings::set(&setting),
            Err(how) => Outcome { setting: text.to_owned(), verdict: Verdict::Refused, text: how.to_owned() },
        });
        let answer = Answer { id: request.id, outcomes: outcomes.collect() };
        lock(&self.state).answer = Some(answer);
        self.attends.store(false, Ordering::Release);
        self.changed.notify_all();
    }

    /// The program ends: nothing is taken any more, and nothing is left. MPI is not called.
    fn finish(&self) {
        if self.pid != std::process::id() {
            return;
        }
        lock(&self.state).stopped = true;
        self.changed.notify_all();
        if let Some(thread) = self.thread.get() {
            thread.ends_within(PATIENCE);
        }
        control::remove(&self.directory, self.rank);
    }
}

/// The consumer of what a watcher asks, where the user allows it.
#[derive(Default)]
struct Settable(OnceLock<&'static Requests>);

/// The consumer of what a watcher asks.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    parts.config.settable.then(|| Box::leak(Box::<Settable>::default()) as &dyn Consumer)
}

impl Consumer for Settable {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn start(&'static self, run: Option<&'static Run>) {
        if let Some(Run { directory: Some(directory), rank, size, .. }) = run
            && let Some(requests) = Requests::begin(directory.clone(), *rank as u32, *size as u32)
        {
            let _ = self.0.set(requests);
        }
    }

    fn finish(&self, ended: Ended) {
        let Some(requests) = self.0.get() else { return };
        if ended == Ended::Finalised {
            requests.attend();
        }
        requests.finish();
    }
}

impl Hook for Settable {
    fn wants(&self, _: FunctionId) -> Wants {
        Wants::Nothing
    }

    fn attend(&self) {
        if let Some(requests) = self.0.get() {
            requests.attend();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_request_is_answered_when_the_program_calls_and_nothing_is_left_at_the_end() {
        crate::controls::add();
        let room = tempfile::tempdir().unwrap();
        let requests = Requests::begin(room.path().into(), 5, 8).unwrap();
        let wait = |what: &str, is: &dyn Fn() -> bool| {
            for _ in 0..30_000 {
                if is() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            panic!("{what}");
        };
        requests.attend();
        let set = ["mel_recording=7", "mel_envelope_ring_size=1", "mel_recording=off", "nonsense"];
        Request { id: 9, set: set.map(str::to_owned).to_vec() }.leave(room.path(), 5).unwrap();
        wait("it is taken", &|| requests.attends.load(Ordering::Acquire));
        assert_eq!(Answer::read(room.path(), 5).unwrap().id, 0, "no call was made yet");
        requests.attend();
        wait("it is answered", &|| Answer::read(room.path(), 5).is_ok_and(|answer| answer.id == 9));
        let outcomes = Answer::read(room.path(), 5).unwrap().outcomes;
        let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
        // There is no run here in which anything could be recorded.
        assert_eq!(verdicts, [Verdict::Refused, Verdict::ReadOnly, Verdict::Refused, Verdict::Refused]);
        assert!(outcomes[0].text.contains("0 (off) or 1 (on)"), "{outcomes:?}");
        assert!(outcomes[2].text.contains("nothing is measured now"), "{outcomes:?}");
        // A watcher that has gone mad.
        fs::write(control::request_file(room.path(), 5), "{\"id\":").unwrap();
        wait("rubbish is taken away", &|| !control::request_file(room.path(), 5).exists());
        requests.attend();
        requests.finish();
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
    }
}
