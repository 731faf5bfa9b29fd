//! MEL's own control variables, as tools set them by `MPI_T_cvar_write`, and users by `mel run --set` and `mel watch --set`.
//!
//! What each is called and may be, [`mpit_vars::own`] has; here is what they do. A variable is set where the program may call MPI:
//! what was before is counted as it was before.

use std::sync::{Arc, Mutex, PoisonError};

use mel_log::Definition;
use mel_log::choice::Choice;
use mpi_abi::pmpi;
use mpit_sources::{peruse, transport};
use mpit_vars::Error;
use mpit_vars::control::{Contents, Control};
use mpit_vars::controls::controls;
use mpit_vars::own::Own;

use crate::asked::{self, Asked};
use crate::settings::is_in_hook;
use crate::state::{Run, Session};
use crate::{phases, trace, vars};

/// The lists of functions that are recorded, as they were set.
static CALLS: Mutex<Option<[String; 2]>> = Mutex::new(None);

/// Adds them to the variables of this process.
pub(crate) fn add() {
    for (own, description) in Own::all() {
        // They are there once only.
        let _ = controls().add(description, Arc::new(Variable(own)));
    }
}

struct Variable(Own);

impl Control for Variable {
    fn read(&self) -> Contents {
        let session = Session::get();
        let run = session.and_then(|session| session.run.get());
        let text = |text: String| Contents::Text(text);
        let list = |place: usize| {
            let set = CALLS.lock().unwrap_or_else(PoisonError::into_inner).clone();
            set.map_or_else(|| given(|session| &session.config.calls, place), |set| set[place].clone())
        };
        match self.0 {
            Own::Recording => {
                let records = run.and_then(|run| run.recorder).is_none_or(|recorder| recorder.is_recording());
                Contents::Choice((records && phases::all().now().1).into())
            }
            Own::Phase => text(phases::all().now().0.to_owned()),
            Own::SamplingInterval => Contents::Number(vars::sampler().map_or(0, |sampler| sampler.every())),
            Own::EventLogLimit => Contents::Number(
                run.and_then(|run| run.recorder).map_or(u64::MAX, |recorder| recorder.log().limit()),
            ),
            Own::EventBufferSize => Contents::Number(peruse::event_buffer_size() as u64),
            Own::EnvelopeRingSize => Contents::Number(transport::ring::CAPACITY),
            Own::OnlyCalls => text(list(0)),
            Own::NoCalls => text(list(1)),
            Own::OnlyComms => text(given(|session| &session.config.comms, 0)),
            Own::NoComms => text(given(|session| &session.config.comms, 1)),
            Own::Profile => text(profile()),
        }
    }

    fn write(&self, contents: &Contents) -> Result<(), Error> {
        let mut result = Err(Error::SetNotNow);
        if is_in_hook() {
            result = self.set(contents);
        } else {
            mpi_intercept::asked(|| result = self.set(contents));
        }
        result
    }
}

impl Variable {
    fn set(&self, contents: &Contents) -> Result<(), Error> {
        let (session, run) = asked::measured().ok_or(Error::SetNotNow)?;
        match (self.0, contents) {
            (Own::Recording, Contents::Choice(on)) => record(session, run, *on != 0),
            (Own::Phase, Contents::Text(name)) => asked::ask(Asked::Phase(name.trim())),
            (Own::SamplingInterval, Contents::Number(micros)) => {
                vars::sampler().ok_or(Error::SetNotNow)?.set_every(*micros);
            }
            (Own::EventLogLimit, Contents::Number(bytes)) => {
                let log = run.recorder.ok_or(Error::SetNotNow)?.log();
                if log.is_full() {
                    return Err(Error::SetNotNow);
                }
                log.set_limit(*bytes);
            }
            (Own::EventBufferSize, Contents::Number(events)) => {
                peruse::set_event_buffer_size(usize::try_from(*events).unwrap_or(usize::MAX));
            }
            (Own::OnlyCalls, Contents::Text(list)) => choose(session, run, 0, list)?,
            (Own::NoCalls, Contents::Text(list)) => choose(session, run, 1, list)?,
            _ => return Err(Error::SetNever),
        }
        Ok(())
    }
}

/// Counting and recording go on, or stop.
fn record(session: &'static Session, run: &'static Run, on: bool) {
    asked::ask(if on { Asked::Start } else { Asked::Stop });
    if let Some(recorder) = run.recorder {
        let latest = session.queue_events.model().catch_up();
        recorder.set_recording(on, latest);
    }
}

/// Other functions are recorded from now on.
fn choose(session: &Session, run: &Run, place: usize, list: &str) -> Result<(), Error> {
    let threads = session.abi.constants.thread;
    let several = pmpi::query_thread().unwrap_or(threads.multiple) == threads.multiple;
    let (Some(tracer), Some(recorder)) = (trace::log::tracer().filter(|_| !several), run.recorder) else {
        return Err(Error::SetNotNow);
    };
    let mut known = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lists =
        known.clone().unwrap_or_else(|| [0, 1].map(|place| given(|session| &session.config.calls, place)));
    lists[place] = list.to_owned();
    let choice = Choice::new(&lists[0], &lists[1]).map_err(|_| Error::OutOfRange)?;
    tracer.choose(&choice);
    let ((only_calls, no_calls), (only_comms, no_comms)) = (choice.given(), session.config.comms.given());
    // Who reads the log is to know that something is not there, also where it is recorded later.
    if !choice.is_all() {
        recorder.define(&Definition::Filter { only_calls, no_calls, only_comms, no_comms });
    }
    *known = Some(lists);
    Ok(())
}

/// A list of names as the user has given it: of what is wanted, or of what is not.
fn given(of: impl Fn(&Session) -> &Choice, place: usize) -> String {
    let Some(session) = Session::get() else { return String::new() };
    let (only, without) = of(session).given();
    cut([only, without][place].join(","))
}

/// What is counted.
fn profile() -> String {
    let Some(session) = Session::get() else { return String::new() };
    session.config.counted().collect::<Vec<_>>().join(",")
}

/// As much as a variable has room for.
fn cut(mut text: String) -> String {
    let end = (0..=text.len().min(1023)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    text
}
