//! What an MPI library says of its variables: it is started in a process of its own, as one process alone, and asked before `MPI_Init` and
//! after it.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{anyhow, bail};
use mel_log::launcher::Place;
use mel_log::settings;
use mpi_abi::tool_vars::{self, ToolVar, VarKind};
use serde::{Deserialize, Serialize};

use super::super::known_variables::{Known, Variables};
use super::super::of_mpi;
use super::Shown;
use crate::doctor::{command, probe};
use crate::progress_bar::Waiting;

/// How long one start of the MPI may take.
const SECONDS: u32 = 60;
/// How long a child may take for one thing.
const SECONDS_EACH: u32 = 20;
/// What is noted of a variable at which the MPI crashes.
pub(super) const CRASHES: &str = "left out: the MPI crashes when it is read";

/// What a process that reads says, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    /// The MPI.
    Mpi(String),
    /// A variable; it is read next.
    Variable(Box<Shown>),
    /// The values that it may have.
    Items(Vec<(i32, String)>),
    /// Its value, or why there is none.
    Value(Result<String, String>),
    /// MPI is initialised: variables from here on are those that it has then.
    Initialised,
    /// That was the last one.
    End,
}

fn shown(variable: &ToolVar) -> Shown {
    let control = variable.kind == VarKind::Control;
    let class = |wanted| if control == wanted { variable.class.to_owned() } else { String::new() };
    Shown {
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

/// Reads all variables that an MPI library has before it is initialised, and all that it has then, and prints them: in a process of its
/// own. Before, there are those of components that Open MPI closes where it is one process, with the values that the environment gives.
///
/// # Errors
/// The library is none that is known here, or MPI does not start.
pub fn probe(library: &Path) -> anyhow::Result<()> {
    let before = |name: &str| {
        print(&Line::Mpi(name.into()))?;
        // In this process it would change what there is afterwards.
        in_children(1, |_| {
            tool_vars::initialise()?;
            print_all()
        })
    };
    of_mpi::with_library(library, before, || {
        print(&Line::Initialised)?;
        tool_vars::initialise()?;
        print_all()?;
        print(&Line::End)
    })
}

/// Prints all variables that there are now.
fn print_all() -> anyhow::Result<()> {
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
        print(&Line::Variable(Box::new(shown(&variable))))?;
        let items = variable.items();
        if !items.is_empty() {
            print(&Line::Items(items))?;
        }
        let value = match variable.read() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(format!("bound to a {}", variable.bind)),
            Err(error) => Err(error.to_string()),
        };
        print(&Line::Value(value))
    })
}

/// Calls `visit` with each of so many places, in order, in a child process. Where that crashes, or does not come to an end, another child
/// goes on with the next place: a new start of the MPI would take a second each time.
///
/// # Errors
/// No process can be started.
fn in_children(places: usize, visit: impl Fn(usize) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut from = 0;
    while from < places {
        let (mut done, mut tell) = io::pipe()?;
        // SAFETY: the child has this thread alone, and this process has no other one that prints. It visits, and ends without running
        // anything that this process has for its own end.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error().into()),
            0 => {
                for place in from..places {
                    // SAFETY: sets the time after which the system ends this process, and how it takes a signal.
                    unsafe {
                        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
                        libc::alarm(SECONDS_EACH);
                    }
                    if visit(place).and_then(|()| Ok(tell.write_all(&[1])?)).is_err() {
                        break;
                    }
                }
                // SAFETY: ends the process at once.
                unsafe { libc::_exit(0) }
            }
            child => {
                drop(tell);
                let mut visited = Vec::new();
                done.read_to_end(&mut visited)?;
                // SAFETY: a child of this process; how it has ended is not asked.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                from += visited.len() + 1;
            }
        }
    }
    Ok(())
}

fn print(line: &Line) -> anyhow::Result<()> {
    probe::print(&serde_json::to_string(line)?)
}

/// A variable, with the numbers and names of the values that it may have.
pub(super) struct Found {
    pub(super) shown: Shown,
    items: Vec<(i32, String)>,
}

/// A command that knows nothing of a launcher or of MEL: an MPI that is started in it is one process alone.
fn alone(command: &Path) -> Command {
    const LAUNCHERS: [&str; 15] = [
        "OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "HYDRA_", "HYDI_", "MPIEXEC_", "MPIR_", "SLURM_",
        "PALS_", "ALPS_", "FLUX_", "JSM_", "MV2_COMM",
    ];
    let mut alone = Command::new(command);
    if Place::here().is_none() {
        return alone;
    }
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let mut known = LAUNCHERS.iter().chain(&settings::PREFIXES);
        let is_known = known.any(|prefix| text.starts_with(prefix)) || text == "LD_PRELOAD";
        if is_known && !text.starts_with("OMPI_ALLOW_RUN_AS_ROOT") {
            alone.env_remove(&name);
        }
    }
    alone
}

/// What is known of the control variables of an MPI library, by their names.
///
/// # Errors
/// It cannot be asked.
pub fn known_controls(library: &Path) -> anyhow::Result<Variables> {
    let (_, all) = read(library)?;
    let controls = all.into_iter().filter(|found| found.shown.kind == "control");
    let known = |Found { shown, items }: Found| {
        let is_algorithm = shown.name.starts_with("MPIR_CVAR_") && shown.name.ends_with("_ALGORITHM");
        let is_named =
            is_algorithm && items.is_empty() && shown.datatype == "int" && shown.description.contains(" - ");
        let named_in = if is_named { shown.description } else { String::new() };
        (shown.name, Known { datatype: shown.datatype, items, named_in })
    };
    Ok(controls.map(known).collect())
}

/// The variables of an MPI library, with its name: as they are once it is initialised, and those that it has only before.
pub(super) fn read(library: &Path) -> anyhow::Result<(String, Vec<Found>)> {
    let command = env::current_exe()?;
    let waiting = Waiting::new("asking the MPI for its variables");
    let arguments = ["probe".as_ref(), "variables".as_ref(), library.as_os_str()];
    let Some(ended) = command::output_of(alone(&command).args(arguments), SECONDS) else {
        bail!("mel cannot be started")
    };
    drop(waiting);
    // A library may complain at its end; what it has said before is as true.
    all_of(probe::answers(&ended.out)).ok_or_else(|| {
        anyhow!(
            "{} cannot be asked for its variables: {}",
            library.display(),
            ended.last_words().trim_start_matches("mel: ")
        )
    })
}

/// The name of the MPI and its variables in what a process that reads has said; `None` where it has not come to the end.
fn all_of<'a>(answers: impl Iterator<Item = &'a str>) -> Option<(String, Vec<Found>)> {
    let (mut name, mut before, mut now) = (String::new(), Vec::new(), Vec::<Found>::new());
    for line in answers.filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Mpi(of) => name = of,
            Line::Variable(mut shown) => {
                CRASHES.clone_into(&mut shown.note);
                now.push(Found { shown: *shown, items: Vec::new() });
            }
            Line::Items(items) => {
                let Some(variable) = now.last_mut() else { continue };
                let named: Vec<String> =
                    items.iter().map(|(item, name)| format!("{item} ({name})")).collect();
                (variable.shown.allowed, variable.items) = (named.join(", "), items);
            }
            Line::Value(value) => {
                let Some(Found { shown, .. }) = now.last_mut() else { continue };
                (shown.value, shown.note) = match value {
                    Ok(value) => (value, String::new()),
                    Err(why) => (String::new(), why),
                };
            }
            Line::Initialised => before = std::mem::take(&mut now),
            Line::End => {
                for mut variable in before {
                    let is_same = |found: &&mut Found| {
                        let key = |of: &Found| {
                            (of.shown.kind.clone(), of.shown.name.clone(), of.shown.class.clone())
                        };
                        key(found) == key(&variable)
                    };
                    match now.iter_mut().find(is_same) {
                        None => {
                            variable.shown.is_until_init = true;
                            now.push(variable);
                        }
                        // What its component was closed for, its value was read before.
                        Some(found) if found.shown.note == CRASHES && variable.shown.note.is_empty() => {
                            variable.shown.is_until_init = true;
                            *found = variable;
                        }
                        Some(_) => {}
                    }
                }
                return Some((name, now));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::ours;
    use super::*;

    #[test]
    fn a_line_reads_as_it_was_written() {
        let variable = ours().next().unwrap();
        let text = serde_json::to_string(&Line::Variable(Box::new(variable.clone()))).unwrap();
        match serde_json::from_str(&text).unwrap() {
            Line::Variable(read) => assert_eq!(*read, variable),
            other => panic!("{other:?}"),
        }
    }

    fn found(name: &str, value: Option<&str>) -> Vec<String> {
        let variable = Shown { name: name.into(), note: String::new(), ..ours().next().unwrap() };
        let mut lines = vec![Line::Variable(Box::new(variable))];
        lines.extend(value.map(|value| Line::Value(Ok(value.into()))));
        lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect()
    }

    #[test]
    fn variables_are_those_before_and_after_the_initialisation() {
        let line = |line: &Line| vec![serde_json::to_string(line).unwrap()];
        let said = [
            line(&Line::Mpi("An MPI".into())),
            found("closed", Some("1")),
            found("both", Some("2")),
            found("crashes_later", Some("3")),
            found("crashes", None),
            line(&Line::Initialised),
            found("both", Some("4")),
            found("crashes_later", None),
            found("crashes", None),
            found("new", Some("5")),
            line(&Line::End),
        ]
        .concat();
        let (name, all) = all_of(said.iter().map(String::as_str)).unwrap();
        assert_eq!(name, "An MPI");
        let mut all: Vec<_> = all
            .iter()
            .map(|Found { shown, .. }| {
                (&*shown.name, &*shown.value, shown.is_until_init, shown.note == CRASHES)
            })
            .collect();
        all.sort_unstable();
        let wanted = [
            ("both", "4", false, false),
            ("closed", "1", true, false),
            ("crashes", "", false, true),
            ("crashes_later", "3", true, false),
            ("new", "5", false, false),
        ];
        assert_eq!(all, wanted);
        assert!(
            all_of(said[..said.len() - 1].iter().map(String::as_str)).is_none(),
            "it has not come to its end"
        );
    }

    #[test]
    fn what_crashes_is_left_out_and_the_others_are_visited() {
        let (mut seen, note) = io::pipe().unwrap();
        in_children(6, |place| {
            if place == 2 || place == 5 {
                std::process::abort();
            }
            Ok((&note).write_all(&[place as u8])?)
        })
        .unwrap();
        drop(note);
        let mut places = Vec::new();
        seen.read_to_end(&mut places).unwrap();
        assert_eq!(places, [0, 1, 3, 4]);
    }
}
