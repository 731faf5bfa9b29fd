//! `mel vars`: which control and performance variables there are, and their values.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::bail;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use mel_log::launcher::Place;
use mpi_abi::tool_vars::{self, CLASSES, SCOPES, ToolVar, VarKind};
use mpit_sources::vars::control::Domain;
use mpit_sources::vars::own::Own;
use mpit_sources::vars::{Bind, Element};
use serde::{Deserialize, Serialize};

use super::known_variables::{Known, Variables};
use super::of_mpi;
use super::output::to_stdout;
use crate::doctor::{command, mpis, probe};

/// How long one start of the MPI may take.
const SECONDS: u32 = 60;
/// How often the MPI is started anew after a variable at which it has crashed.
const MOST_CRASHES: usize = 50;

/// Lists control and performance variables, with their values
///
/// The variables of an MPI (MPI_T_cvar_*, MPI_T_pvar_*), and those that every MPI has under `mel run`. The MPI is started for a
/// moment, as one process; no program runs. A variable at which the MPI crashes is left out, and said.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel vars
      all variables of the MPI whose compiler is mpicc
  mel vars eager --mpi mpicc.openmpi
      those of Open MPI with `eager` in their names, with their values
  mel vars --performance --describe
      performance variables, each with what it means
  mel vars bcast --mpi ./app --csv
      of the MPI that ./app is linked with, as comma-separated values
  OMPI_MCA_btl_vader_eager_limit=8192 mel vars vader_eager_limit
      the value that a run with this environment has
  mpirun -n 4 mel run --set btl_vader_eager_limit=8192 ./app
      sets one for a run")]
pub struct Args {
    /// Only variables whose names contain all of these words
    words: Vec<String>,
    /// Whose: a program, an MPI library, or a compiler of MPI programs. Default: mpicc
    #[arg(long, value_name = "WHAT")]
    mpi: Option<OsString>,
    /// Only control variables
    #[arg(long, conflicts_with = "performance")]
    control: bool,
    /// Only performance variables
    #[arg(long)]
    performance: bool,
    /// With what each of them means
    #[arg(short, long)]
    describe: bool,
    /// As comma-separated values, with what each means
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A variable as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shown {
    /// `control` or `performance`
    kind: String,
    name: String,
    /// Whose it is: `MPI` or `MEL`.
    of: String,
    /// Of a performance variable.
    class: String,
    /// Of a control variable.
    scope: String,
    datatype: String,
    bound_to: String,
    readonly: bool,
    /// Empty where it was not read.
    value: String,
    /// The values that it may have, where that is known.
    #[serde(default)]
    allowed: String,
    /// Why there is no value.
    #[serde(default)]
    note: String,
    description: String,
}

/// What a process that reads says, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    /// The MPI.
    Mpi(String),
    /// A variable, by its place among all numbers; it is read next.
    Variable(usize, Box<Shown>),
    /// The values that it may have.
    Items(usize, Vec<(i32, String)>),
    /// Its value, or why there is none.
    Value(usize, Result<String, String>),
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
        description: variable.description.clone(),
    }
}

/// Our own variables, which are there under `mel run`.
fn ours() -> impl Iterator<Item = Shown> {
    performance().chain(controls())
}

/// Those that change what MEL does.
fn controls() -> impl Iterator<Item = Shown> {
    Own::all().map(|(_, own)| Shown {
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
        description: own.description.into_owned(),
    })
}

fn performance() -> impl Iterator<Item = Shown> {
    mpit_sources::vars::descriptions().map(|description| Shown {
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
        description: description.description.into_owned(),
    })
}

/// Reads all variables of an MPI library, but for the first `from`, and prints them: in a process of its own.
///
/// # Errors
/// The library is none that is known here, or MPI does not start.
pub fn probe(library: &Path, from: usize) -> anyhow::Result<()> {
    of_mpi::with_library(library, |name| {
        print(&Line::Mpi(name.into()))?;
        tool_vars::initialise()?;
        let kinds = [VarKind::Control, VarKind::Performance];
        let mut all = Vec::new();
        for kind in kinds {
            // An MPI without such functions has no variables.
            let number = tool_vars::number(kind).unwrap_or(0);
            all.extend((0..number).map(|index| (kind, index)));
        }
        for (place, (kind, index)) in all.into_iter().enumerate().skip(from) {
            let Ok(variable) = tool_vars::describe(kind, index) else { continue };
            print(&Line::Variable(place, Box::new(shown(&variable))))?;
            let items = variable.items();
            if !items.is_empty() {
                print(&Line::Items(place, items))?;
            }
            let value = match variable.read() {
                Ok(Some(value)) => Ok(value),
                Ok(None) => Err(format!("bound to a {}", variable.bind)),
                Err(error) => Err(error.to_string()),
            };
            print(&Line::Value(place, value))?;
        }
        print(&Line::End)
    })?
}

fn print(line: &Line) -> anyhow::Result<()> {
    probe::print(&serde_json::to_string(line)?)
}

/// A variable, with the numbers and names of the values that it may have.
struct Found {
    shown: Shown,
    items: Vec<(i32, String)>,
}

/// A command that knows nothing of a launcher or of MEL: an MPI that is started in it is one process alone.
fn alone(command: &Path) -> Command {
    const LAUNCHERS: [&str; 17] = [
        "OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "HYDRA_", "HYDI_", "MPIEXEC_", "MPIR_", "SLURM_",
        "PALS_", "ALPS_", "FLUX_", "JSM_", "MV2_COMM", "MEL_", "MPIT_",
    ];
    let mut alone = Command::new(command);
    if Place::here().is_none() {
        return alone;
    }
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let is_launchers = LAUNCHERS.iter().any(|prefix| text.starts_with(prefix)) || text == "LD_PRELOAD";
        if is_launchers && !text.starts_with("OMPI_ALLOW_RUN_AS_ROOT") {
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

/// The variables of an MPI library by their places, with its name.
fn read(library: &Path) -> anyhow::Result<(String, Vec<Found>)> {
    let command = env::current_exe()?;
    let (mut name, mut found, mut from) = (String::new(), BTreeMap::<usize, Found>::new(), 0);
    for _ in 0..MOST_CRASHES {
        let from_text = from.to_string();
        let arguments = ["probe".as_ref(), "variables".as_ref(), library.as_os_str(), from_text.as_ref()];
        let Some(ended) = command::output_of(alone(&command).args(arguments), SECONDS) else {
            bail!("mel cannot be started")
        };
        let (mut is_over, mut begun) = (false, None);
        for line in probe::answers(&ended.out).filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Mpi(of) => name = of,
                Line::Variable(place, variable) => {
                    found.insert(place, Found { shown: *variable, items: Vec::new() });
                    begun = Some(place);
                }
                Line::Items(place, items) => {
                    let Some(variable) = found.get_mut(&place) else { continue };
                    let named: Vec<String> =
                        items.iter().map(|(item, name)| format!("{item} ({name})")).collect();
                    (variable.shown.allowed, variable.items) = (named.join(", "), items);
                }
                Line::Value(place, value) => {
                    begun = None;
                    let Some(variable) = found.get_mut(&place).map(|found| &mut found.shown) else {
                        continue;
                    };
                    match value {
                        Ok(value) => variable.value = value,
                        Err(why) => variable.note = why,
                    }
                }
                Line::End => is_over = true,
            }
        }
        match begun.and_then(|place| Some((place, found.get_mut(&place)?))) {
            Some((place, variable)) => {
                variable.shown.note = "left out: the MPI crashes when it is read".into();
                from = place + 1;
            }
            // A library may complain at its end; what it has said before is as true.
            None if is_over => return Ok((name, found.into_values().collect())),
            None => bail!(
                "{} cannot be asked for its variables: {}",
                library.display(),
                ended.last_words().trim_start_matches("mel: ")
            ),
        }
    }
    bail!("{} crashes at more than {MOST_CRASHES} of its variables", library.display())
}

/// Prints the variables.
///
/// # Errors
/// There is no such MPI, or it cannot be asked.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let library = mpis::one(args.mpi.as_deref())?;
    let (mpi, all) = read(&library)?;
    let mut all: Vec<Shown> = all.into_iter().map(|found| found.shown).collect();
    all.extend(ours());
    let total = all.len();
    all.retain(|variable| is_wanted(args, variable));
    all.sort_by(|a, b| (&a.of, &a.kind, &a.name).cmp(&(&b.of, &b.kind, &b.name)));
    if args.json {
        to_stdout(|out| {
            serde_json::to_writer_pretty(&mut *out, &all).map_err(io::Error::from)?;
            writeln!(out)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.csv {
        to_stdout(|out| {
            let mut out = mel_log::csv::Writer::new(out);
            for variable in &all {
                out.serialize(variable)?;
            }
            out.flush()
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        bail!(
            "none of the {total} variables of {mpi} and of MEL has all of these words in its name: {}",
            args.words.join(" ")
        );
    }
    let crashed = all.iter().filter(|variable| variable.note.starts_with("left out")).count();
    to_stdout(|out| {
        writeln!(out, "{mpi}, {}: {} of {total} variables\n", library.display(), all.len())?;
        writeln!(out, "{}", table(&all, args.describe))?;
        if crashed > 0 {
            writeln!(out, "\n{crashed} left out: the MPI crashes when they are read")?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn is_wanted(args: &Args, variable: &Shown) -> bool {
    let of_kind =
        !(args.control && variable.kind != "control" || args.performance && variable.kind != "performance");
    let name = variable.name.to_lowercase();
    of_kind && args.words.iter().all(|word| name.contains(&word.to_lowercase()))
}

fn table(all: &[Shown], describe: bool) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    let mut header = vec!["variable", "of", "kind", "class, scope", "type", "bound to", "value"];
    if describe {
        header.extend(["may be", "description"]);
    }
    table.set_header(header);
    for variable in all {
        let class = if variable.class.is_empty() { &variable.scope } else { &variable.class };
        let value =
            if variable.note.is_empty() { variable.value.clone() } else { format!("({})", variable.note) };
        let mut row = vec![
            variable.name.clone(),
            variable.of.clone(),
            variable.kind.clone(),
            class.clone(),
            variable.datatype.clone(),
            variable.bound_to.clone(),
            value,
        ];
        if describe {
            row.extend([variable.allowed.clone(), variable.description.clone()]);
        }
        table.add_row(row);
    }
    // A name that is broken in two cannot be copied.
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command as Subcommand};
    use clap::Parser;

    fn wanted(line: &str) -> Vec<String> {
        let Subcommand::Vars(args) = Cli::try_parse_from(line.split(' ')).unwrap().command else {
            panic!("{line}")
        };
        ours().filter(|variable| is_wanted(&args, variable)).map(|variable| variable.name).collect()
    }

    #[test]
    fn variables_are_chosen_by_words_of_their_names_and_by_kind() {
        assert_eq!(wanted("mel vars unexpected Bytes high"), ["mel_unexpected_queue_bytes_high"]);
        assert_eq!(wanted("mel vars --control recording"), ["mel_recording"]);
        assert_eq!(wanted("mel vars --performance").len(), performance().count());
    }

    #[test]
    fn a_line_reads_as_it_was_written() {
        let variable = ours().next().unwrap();
        let text = serde_json::to_string(&Line::Variable(3, Box::new(variable.clone()))).unwrap();
        match serde_json::from_str(&text).unwrap() {
            Line::Variable(3, read) => assert_eq!(*read, variable),
            other => panic!("{other:?}"),
        }
    }
}
