//! Variables: this library's, and those of an MPI library. That is initialised in this process, as one process alone, and asked before
//! `MPI_Init` and after it.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use mel_log::offers::{Line, Variable};
use mpi_abi::tool_vars::{self, CLASSES, SCOPES, ToolVar, VarKind};
use mpit_sources::vars::control::Domain;
use mpit_sources::vars::own::Own;
use mpit_sources::vars::{Bind, Element};

use super::{Answers, library};

/// How long a child may take for one thing.
const SECONDS_EACH: u32 = 20;

/// Our own variables, which are there under `mel run`.
pub(super) fn ours() -> impl Iterator<Item = Variable> {
    performance().chain(controls())
}

/// Those that change what MEL does.
fn controls() -> impl Iterator<Item = Variable> {
    Own::all().map(|(_, own)| Variable {
        kind: "control".into(),
        name: own.name.into_owned(),
        of: "MEL".into(),
        class: String::new(),
        scope: SCOPES[own.scope as usize].into(),
        datatype: match own.domain {
            Domain::Choice(_) => "int",
            Domain::Number { .. } => "unsigned_long",
            Domain::Text(_) => "char",
        }
        .into(),
        bound_to: "nothing".into(),
        readonly: !own.scope.is_writable(),
        value: String::new(),
        allowed: own.domain.allowed(),
        note: "while a program runs".into(),
        is_until_init: false,
        description: own.description.into_owned(),
    })
}

fn performance() -> impl Iterator<Item = Variable> {
    mpit_sources::vars::descriptions().map(|description| Variable {
        kind: "performance".into(),
        name: description.name.into_owned(),
        of: "MEL".into(),
        class: CLASSES[description.class as usize].into(),
        scope: String::new(),
        datatype: match description.element {
            Element::Char => "char",
            Element::UnsignedLong => "unsigned_long",
        }
        .into(),
        bound_to: match description.bind {
            Bind::Nothing => "nothing",
            Bind::Comm => "communicator",
        }
        .into(),
        readonly: description.readonly,
        value: String::new(),
        allowed: String::new(),
        note: "while a program runs".into(),
        is_until_init: false,
        description: description.description.into_owned(),
    })
}

/// Why a control variable of ours cannot have a value before the program starts; `None` where it can, or where it is none of ours.
pub(super) fn why_not(name: &str, value: &str) -> Option<String> {
    let own = Own::of_name(name)?;
    if !own.scope.is_writable() {
        return Some("it cannot be set; the option of `mel run` that it shows can".into());
    }
    own.domain.parse(value).is_none().then(|| format!("it may be {}", own.domain.allowed()))
}

fn described(variable: &ToolVar) -> Variable {
    let control = variable.kind == VarKind::Control;
    let class = |wanted| if control == wanted { variable.class.to_owned() } else { String::new() };
    Variable {
        kind: if control { "control" } else { "performance" }.into(),
        name: variable.name.clone(),
        of: "MPI".into(),
        class: class(false),
        scope: class(true),
        datatype: variable.datatype.trim_start_matches("MPI_").to_lowercase(),
        bound_to: variable.bind.into(),
        readonly: variable.readonly,
        value: String::new(),
        allowed: String::new(),
        note: String::new(),
        is_until_init: false,
        description: variable.description.clone(),
    }
}

/// Reads all variables that an MPI library has before it is initialised, and all that it has then. Before, there are those of
/// components that Open MPI closes where it is one process, with the values that the environment gives.
///
/// # Errors
/// The library is none that is known here, or MPI does not start.
pub(super) fn of_library(path: &Path, answers: &Answers) -> Result<(), String> {
    let before = |name: &str| {
        answers.give(&Line::Mpi(name.into()))?;
        // In this process it would change what there is afterwards.
        in_children(1, |_| tell_all(answers))
    };
    library::with_library(path, before, || {
        answers.give(&Line::Initialised)?;
        tell_all(answers)?;
        answers.give(&Line::End)
    })
}

/// Tells all variables that there are now.
fn tell_all(answers: &Answers) -> Result<(), String> {
    tool_vars::initialise().map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for kind in [VarKind::Control, VarKind::Performance] {
        // An MPI without such functions has no variables.
        let number = tool_vars::number(kind).unwrap_or(0);
        all.extend((0..number).map(|index| (kind, index)));
    }
    in_children(all.len(), |place| {
        let (kind, index) = all[place];
        // Some numbers are those of variables that are gone.
        let Ok(variable) = tool_vars::describe(kind, index) else { return Ok(()) };
        answers.give(&Line::Variable(Box::new(described(&variable))))?;
        let items = variable.items();
        if !items.is_empty() {
            answers.give(&Line::Items(items))?;
        }
        let value = match variable.read() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(format!("bound to a {}", variable.bind)),
            Err(error) => Err(error.to_string()),
        };
        answers.give(&Line::Value(value))
    })
}

/// Calls `visit` with each of so many places, in order, in a child process. Where that crashes, or does not come to an end, another child
/// goes on with the next place: a new start of the MPI would take a second each time.
///
/// # Errors
/// No process can be started.
fn in_children(places: usize, visit: impl Fn(usize) -> Result<(), String>) -> Result<(), String> {
    let mut from = 0;
    while from < places {
        let (mut done, mut tell) = io::pipe().map_err(|error| error.to_string())?;
        // SAFETY: the child has this thread alone, and this process has no other one that prints. It visits, and ends without running
        // anything that this process has for its own end.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error().to_string()),
            0 => {
                for place in from..places {
                    // SAFETY: sets the time after which the system ends this process, and how it takes a signal.
                    unsafe {
                        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
                        libc::alarm(SECONDS_EACH);
                    }
                    if visit(place).is_err() || tell.write_all(&[1]).is_err() {
                        break;
                    }
                }
                // SAFETY: ends the process at once.
                unsafe { libc::_exit(0) }
            }
            child => {
                drop(tell);
                let mut visited = Vec::new();
                done.read_to_end(&mut visited).map_err(|error| error.to_string())?;
                // SAFETY: a child of this process; how it has ended is not asked.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                from += visited.len() + 1;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_refused_with_those_that_can() {
        assert_eq!(why_not("mel_recording", "off"), None);
        assert_eq!(why_not("mel_recording", "2").unwrap(), "it may be 0 (off) or 1 (on)");
        assert!(why_not("mel_sampling_interval", "10").unwrap().contains("from 1000 to 86400000000, or 0"));
        assert!(why_not("mel_profile", "calls").unwrap().contains("cannot be set"));
        assert_eq!(why_not("of_some_mpi", "1"), None);
    }

    #[test]
    fn what_crashes_is_left_out_and_the_others_are_visited() {
        let (mut seen, note) = io::pipe().unwrap();
        in_children(6, |place| {
            if place == 2 || place == 5 {
                std::process::abort();
            }
            (&note).write_all(&[place as u8]).map_err(|error| error.to_string())
        })
        .unwrap();
        drop(note);
        let mut places = Vec::new();
        seen.read_to_end(&mut places).unwrap();
        assert_eq!(places, [0, 1, 3, 4]);
    }
}
