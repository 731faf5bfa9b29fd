//! `mel events`: which event types there are.

use std::process::ExitCode;

use comfy_table::{ContentArrangement, Table, presets};

use super::output::to_stdout;

/// Lists the event types that can be logged, with their elements
///
/// Any of these names can be given to `mel run -e`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel events
      all event types
  mpirun -n 4 mel run -e pml_ob1_message_arrived ./app
      logs one of them")]
pub struct Args {}

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
    /// Where its events come from, for example `shadow`.
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
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The event types that this library offers.
fn offered() -> Vec<Row> {
    Vec::new()
}

/// Prints the table.
///
/// # Errors
/// Those of standard output.
pub fn run(_: &Args) -> anyhow::Result<ExitCode> {
    let text = table(&offered(), 100);
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_everything_and_keeps_its_width() {
        let row = Row {
            name: "pml_ob1_message_arrived".into(),
            description: "A message arrived at this process and was not yet matched with any receive".into(),
            elements: ["context id", "source", "tag", "sequence number"].map(str::to_owned).to_vec(),
            bind: "MPI_COMM".into(),
            source: "shadow".into(),
        };
        let text = table(&[row], 100);
        for word in ["pml_ob1_message_arrived", "MPI_COMM", "shadow", "sequence", "matched"] {
            assert!(text.contains(word), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
