//! `mel events`: which event types there are.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use mel_log::offers::{EventType, Events, Library};

use super::of_program::library_of;
use super::output::to_stdout;
use super::probe;

/// Lists the event types that can be logged, with their elements
///
/// Any of these names can be given to `mel run -e`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel events
      the event types that there are on every MPI
  mel events ./app
      and those that the MPI of this program has itself
  mpirun -n 4 mel run -e pml_ob1_message_arrived ./app
      logs one of them")]
pub struct Args {
    /// A program: the event types of the MPI that it is linked with are listed too
    ///
    /// The program does not run, its MPI does for a moment.
    program: Option<PathBuf>,
}

/// The table of event types, at most `width` columns wide.
pub fn table(rows: &[EventType], width: u16) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(["event type", "bound to", "source", "elements", "description"]);
    for row in rows {
        table.add_row([&row.name, &row.bind, &row.source, &row.elements.join(", "), &row.description]);
    }
    // A name that is broken in two cannot be copied.
    for column in table.column_iter_mut().take(3) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Prints the table, and what raises the events.
///
/// # Errors
/// Those of standard output, and of asking the program's MPI.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let library = args.program.as_deref().map(library_of).transpose()?;
    let words: Vec<&OsStr> =
        ["events".as_ref()].into_iter().chain(library.iter().map(|path| path.as_os_str())).collect();
    let Events { types, alias, backends, is_tsc, mpi, .. } = probe::one(&words)?;
    let clock = if is_tsc { "the processor's time stamp counter" } else { "CLOCK_MONOTONIC" };
    to_stdout(|out| {
        out.write_all(table(&types, 100).as_bytes())?;
        writeln!(out)?;
        if let Some(Library { name, interface, .. }) = &mpi {
            writeln!(out, "MPI: {name} ({interface})")?;
        }
        writeln!(
            out,
            "backend: rma (what MPI guarantees of one-sided communication, from its calls; on every MPI)"
        )?;
        writeln!(
            out,
            "backend: netops (system calls by which the MPI moves data, as observed; also found as {alias})"
        )?;
        for (name, what) in &backends {
            writeln!(out, "backend: {name} ({what})")?;
        }
        if let Some(Library { name, events, why, .. }) = &mpi {
            writeln!(out, "why: {why}")?;
            writeln!(out, "backend: native ({events} event types of {name} itself)")?;
        }
        writeln!(out, "sources: one for each thread that raises events, in the order of time; clock: {clock}")
    })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_everything_and_keeps_its_width() {
        let row = EventType {
            name: "pml_ob1_search_unexpected_begin".into(),
            description: "A message arrived at this process and was not yet matched with any receive".into(),
            elements: ["context id", "source", "tag", "sequence number"].map(str::to_owned).to_vec(),
            bind: "MPI_COMM".into(),
            source: "model".into(),
        };
        let text = table(&[row], 100);
        for word in ["pml_ob1_search_unexpected_begin", "MPI_COMM", "model", "sequence", "matched"] {
            assert!(text.contains(word), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
