//! What an MPI library says of its variables: it is started in a process of its own, as one process alone, and asked before `MPI_Init` and
//! after it.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{anyhow, bail};
use mel_log::launcher::Place;
use mel_log::offers::{Line, Variable};
use mel_log::settings::{self, without_mark};

use super::super::known_variables::{Known, Variables};
use super::super::probe;
use crate::doctor::command;
use crate::progress_bar::Waiting;

/// How long one start of the MPI may take.
const SECONDS: u32 = 60;
/// What is noted of a variable at which the MPI crashes.
pub(super) const CRASHES: &str = "left out: the MPI crashes when it is read";

/// A variable, with the numbers and names of the values that it may have.
pub(super) struct Found {
    pub(super) shown: Variable,
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
            without_mark(ended.last_words())
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
    use super::*;

    fn of_mel() -> Variable {
        let mut all: Vec<Variable> = probe::several(&["variables".as_ref()]).unwrap();
        all.remove(0)
    }

    #[test]
    fn a_line_reads_as_it_was_written() {
        let variable = of_mel();
        let text = serde_json::to_string(&Line::Variable(Box::new(variable.clone()))).unwrap();
        match serde_json::from_str(&text).unwrap() {
            Line::Variable(read) => assert_eq!(*read, variable),
            other => panic!("{other:?}"),
        }
    }

    fn found(name: &str, value: Option<&str>) -> Vec<String> {
        let variable = Variable { name: name.into(), note: String::new(), ..of_mel() };
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
}
