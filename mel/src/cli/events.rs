//! `mel events`: which event types there are.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use mpit_events::{BindKind, Clock, Core, EventType};
use mpit_sources::matching::Ob1Events;
use mpit_sources::netops;
use mpit_sources::rma::RmaEvents;
use mpit_sources::{Backend, Selection, choose};

use super::of_mpi::{self, Offer};
use super::output::to_stdout;
use mel_log::definitions::bind_name;

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

/// An event type as the table shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its unique name.
    pub name: String,
    /// What it means, in a sentence.
    pub description: String,
    /// Names of the elements of its payload.
    pub elements: Vec<String>,
    /// The kind of MPI object that it is bound to, for example `MPI_COMM`; empty for none.
    pub bind: String,
    /// Where its events come from, for example `model`.
    pub source: String,
}

/// The table of event types, at most `width` columns wide.
pub fn table(rows: &[Row], width: u16) -> String {
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

/// The queue events, those of windows and that of the transports, which this library offers on every MPI, and who raises them.
///
/// # Errors
/// The events core cannot hold them.
pub(super) fn offered(source: &str) -> Result<Vec<Row>, mpit_events::Error> {
    let core = Core::new();
    Ob1Events::register(&core, "")?;
    RmaEvents::register(&core)?;
    netops::register(&core)?;
    let source = |event_type: &EventType| match event_type.bind {
        BindKind::Win => "rma",
        BindKind::None => "netops",
        _ => source,
    };
    Ok(core.event_types().map(|(_, event_type)| row(event_type, source(event_type))).collect())
}

/// What a backend is, in a few words.
fn describe(backend: Backend) -> &'static str {
    match backend {
        Backend::Model => "a model of the matching in ob1; on every MPI, whatever that offers itself",
        Backend::Peruse => "Open MPI's ob1 itself reports what its queues do",
    }
}

fn row(event_type: &EventType, source: &str) -> Row {
    Row {
        name: event_type.name.clone(),
        description: event_type.description.clone(),
        elements: event_type.elements.iter().map(|element| element.name.to_string()).collect(),
        bind: bind_name(event_type.bind).to_owned(),
        source: source.to_owned(),
    }
}

/// Prints the table, and what raises the events.
///
/// # Errors
/// Those of standard output, and of asking the program's MPI.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let of_mpi = args.program.as_deref().map(of_mpi::ask).transpose()?;
    let wish = Selection::from_environment().map_err(|line| anyhow!("{line}"))?;
    let peruse = of_mpi.as_ref().map_or(mpit_sources::Offer::Absent, |offer| offer.peruse.clone());
    let backends = choose(&wish, &peruse);
    let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
    let mut rows =
        offered(&names.join(", ")).map_err(|error| anyhow!("cannot list the event types: {error:?}"))?;
    let clock = match Clock::best() {
        Clock::Tsc => "the processor's time stamp counter",
        Clock::Monotonic => "CLOCK_MONOTONIC",
    };
    if let Some(offer) = &of_mpi {
        rows.extend(offer.types.iter().map(|event_type| row(event_type, "native")));
    }
    to_stdout(|out| {
        out.write_all(table(&rows, 100).as_bytes())?;
        writeln!(out)?;
        if let Some(Offer { library, interface, .. }) = &of_mpi {
            writeln!(out, "MPI: {library} ({interface})")?;
        }
        writeln!(
            out,
            "backend: rma (what MPI guarantees of one-sided communication, from its calls; on every MPI)"
        )?;
        writeln!(
            out,
            "backend: netops (system calls by which the MPI moves data, as observed; also found as {})",
            netops::ALIAS
        )?;
        for &backend in &backends {
            writeln!(out, "backend: {backend} ({})", describe(backend))?;
        }
        if let Some(Offer { library, types, peruse, .. }) = &of_mpi {
            writeln!(out, "why: {peruse}")?;
            let types = types.len();
            writeln!(out, "backend: native ({types} event types of {library} itself)")?;
        }
        writeln!(out, "sources: one for each thread that raises events, in the order of time; clock: {clock}")
    })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_are_offered() {
        let rows = offered("model").unwrap();
        let (queues, others) = rows.split_at(16);
        let (windows, transports) = others.split_at(13);
        assert!(queues.iter().all(|row| row.name.starts_with("pml_ob1_") && row.bind == "MPI_COMM"));
        assert!(windows.iter().all(|row| row.name.starts_with("osc_rdma_") && row.bind == "MPI_WIN"));
        assert_eq!((windows.len(), windows[0].source.as_str()), (13, "rma"));
        assert_eq!((transports.len(), transports[0].name.as_str()), (1, "btl_netop"));
        assert_eq!((transports[0].bind.as_str(), transports[0].source.as_str()), ("", "netops"));
        let arrived = rows.iter().find(|row| row.name == "pml_ob1_message_arrived").unwrap();
        assert_eq!(arrived.elements, ["context id", "source", "tag", "sequence number"]);
    }

    #[test]
    fn the_table_has_everything_and_keeps_its_width() {
        let row = Row {
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
