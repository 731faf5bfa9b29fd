//! `mel vars`: which control and performance variables there are, and their values.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use anyhow::bail;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use mel_log::offers::Variable;

use self::asked::CRASHES;
use super::output::to_stdout;
use super::probe;
use crate::doctor::mpis;

pub mod asked;

/// Lists control and performance variables, with their values
///
/// The variables of an MPI (MPI_T_cvar_*, MPI_T_pvar_*), before MPI_Init and after it, and those that every MPI has under `mel run`. The MPI is
/// started for a moment, as one process; no program runs. A variable at which the MPI crashes is left out, and said.
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

/// Prints the variables.
///
/// # Errors
/// There is no such MPI, or it cannot be asked.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let library = mpis::one(args.mpi.as_deref())?;
    let (mpi, all) = asked::read(&library)?;
    let mut all: Vec<Variable> = all.into_iter().map(|found| found.shown).collect();
    all.extend(probe::several(&["variables".as_ref()])?);
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
    let count = |is: fn(&&Variable) -> bool| all.iter().filter(is).count();
    let (crashed, until_init) = (count(|of| of.note == CRASHES), count(|of| of.is_until_init));
    to_stdout(|out| {
        writeln!(out, "{mpi}, {}: {} of {total} variables\n", library.display(), all.len())?;
        writeln!(out, "{}", table(&all, args.describe, Table::new().width()))?;
        if until_init > 0 {
            let why = "the MPI has closed what they belong to, as it does in a process alone";
            writeln!(out, "\n{until_init} with the value before MPI_Init: {why}")?;
        }
        if crashed > 0 {
            writeln!(out, "\n{crashed} left out: the MPI crashes when they are read")?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn is_wanted(args: &Args, variable: &Variable) -> bool {
    let of_kind =
        !(args.control && variable.kind != "control" || args.performance && variable.kind != "performance");
    let name = variable.name.to_lowercase();
    of_kind && args.words.iter().all(|word| name.contains(&word.to_lowercase()))
}

/// A row for each variable, no wider than `columns`, as long as names have room: these are never broken or shortened.
fn table(all: &[Variable], describe: bool, columns: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    columns.map(|columns| table.set_width(columns));
    table.set_header(["variable", "value [whose, kind, class or scope, type, bound to]"]);
    for variable in all {
        let class = if variable.class.is_empty() { &variable.scope } else { &variable.class };
        let whose = format!("{} {}", variable.of, variable.kind);
        let bound_to = if variable.bound_to == "nothing" { "" } else { &variable.bound_to };
        // Before `MPI_Init` an MPI does not give the names of all types.
        let what = [&whose, class, &variable.datatype, bound_to];
        let what: Vec<&str> = what.into_iter().filter(|word| !word.is_empty()).collect();
        let value = if variable.note.is_empty() { &variable.value } else { &format!("({})", variable.note) };
        let mut about = format!("{value} [{}]", what.join(", ")).trim_start().to_owned();
        if describe {
            let lines = [("may be ", &variable.allowed), ("", &variable.description)];
            let lines = lines.iter().filter(|(_, text)| !text.is_empty());
            about.extend(lines.map(|(begin, text)| format!("\n{begin}{text}")));
        }
        table.add_row([variable.name.clone(), about]);
    }
    // A name that is broken in two cannot be copied.
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command as Subcommand};
    use clap::Parser;

    fn ours() -> Vec<Variable> {
        probe::several(&["variables".as_ref()]).unwrap()
    }

    fn wanted(line: &str) -> Vec<String> {
        let Subcommand::Vars(args) = Cli::try_parse_from(line.split(' ')).unwrap().command else {
            panic!("{line}")
        };
        ours()
            .into_iter()
            .filter(|variable| is_wanted(&args, variable))
            .map(|variable| variable.name)
            .collect()
    }

    #[test]
    fn variables_are_chosen_by_words_of_their_names_and_by_kind() {
        assert_eq!(wanted("mel vars unexpected Bytes high"), ["mel_unexpected_queue_bytes_high"]);
        assert_eq!(wanted("mel vars --control recording"), ["mel_recording"]);
        assert_eq!(
            wanted("mel vars --performance").len(),
            ours().iter().filter(|of| of.kind == "performance").count()
        );
    }

    #[test]
    fn the_list_fits_the_terminal_and_names_stay_whole() {
        let long = Variable { value: "a value, ".repeat(100), name: "n".repeat(54), ..ours().remove(0) };
        let all: Vec<Variable> =
            ours().into_iter().chain([Variable { note: String::new(), ..long }]).collect();
        for (describe, columns) in [(false, 80), (true, 80), (false, 200)] {
            let text = table(&all, describe, Some(columns));
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{text}");
            for variable in &all {
                let begins = |line: &str| line.split_whitespace().next() == Some(&variable.name);
                assert!(text.lines().any(begins), "{}: {text}", variable.name);
            }
        }
        let piped = table(&all, false, None);
        assert!(piped.lines().count() == all.len() + 1 && piped.lines().all(|line| !line.ends_with(' ')));
    }
}
