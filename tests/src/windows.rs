//! The programs about windows: what their head comments promise of the `osc_rdma_*` events.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::artifacts::root;
use crate::events::Event;
use crate::program::compile_with_header;
use crate::{Finished, Mpi};

/// All events of windows, as one list for `mel run -e`.
pub const WINDOW_EVENTS: &str = "osc_rdma_lock_acquired,osc_rdma_lock_released,osc_rdma_put_started,\
    osc_rdma_put_complete,osc_rdma_get_started,osc_rdma_get_complete,osc_rdma_flush_started,\
    osc_rdma_flush_complete,osc_rdma_pscw_expose_start,osc_rdma_pscw_expose_complete,\
    osc_rdma_pscw_access_start,osc_rdma_pscw_access_complete,osc_rdma_fence";

/// A program of `programs/windows/`.
#[derive(Clone, Debug)]
pub struct WindowProgram {
    source: PathBuf,
    /// Number of ranks to run with.
    pub ranks: u32,
    /// The lines of each rank's list of events.
    pub events: BTreeMap<u32, Vec<String>>,
}

impl WindowProgram {
    /// The program `programs/windows/NAME.c`.
    ///
    /// # Panics
    ///
    /// If it does not exist or its head comment is not understood.
    pub fn named(name: &str) -> WindowProgram {
        let source = root().join("tests/programs/windows").join(format!("{name}.c"));
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let mut program = WindowProgram { source, ranks: 2, events: BTreeMap::new() };
        let mut list = None;
        for line in text.lines().take_while(|line| !line.contains("*/")) {
            let line = line.trim_start_matches(['/', ' ', '*']).trim_end();
            if let Some(ranks) = line.strip_prefix("ranks: ") {
                program.ranks = ranks.parse().expect("a number of ranks");
            } else if let Some(rank) = line.strip_prefix("window events on rank ") {
                let rank = rank.trim_end_matches(':').parse().expect("a rank");
                program.events.insert(rank, Vec::new());
                list = Some(rank);
            } else if let Some(events) = list.and_then(|rank| program.events.get_mut(&rank)) {
                events.push(line.to_owned());
            }
        }
        program
    }

    /// The names of all these programs, sorted.
    ///
    /// # Panics
    ///
    /// If the folder cannot be read.
    pub fn names() -> Vec<String> {
        let entries = fs::read_dir(root().join("tests/programs/windows")).expect("the folder can be read");
        let paths = entries.map(|entry| entry.expect("the folder can be read").path());
        let programs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "c"));
        let mut names: Vec<String> =
            programs.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        names.sort();
        names
    }

    /// The executable for `mpi`.
    ///
    /// # Panics
    ///
    /// If the program does not compile.
    pub fn compile(&self, mpi: &Mpi) -> PathBuf {
        compile_with_header(mpi, &self.source, &self.source.with_file_name("windows.h"))
    }
}

/// The addresses of the windows' memory, as the program has printed them: by the window's name and the rank.
pub fn bases(finished: &Finished) -> BTreeMap<(String, i64), i64> {
    let lines = finished.stdout.lines().filter_map(|line| line.strip_prefix("base "));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (window, rank) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
            Some(((window, rank), words.next()?.parse::<u64>().ok()? as i64))
        })
        .collect()
}

/// An event as a head comment has it, for comparison with one of its lines: an address becomes what the line says
/// where it is that, and stays a number where it is not.
fn shown(event: &Event, promised: &str, bases: &BTreeMap<(String, i64), i64>) -> String {
    let mut text = event.name.trim_start_matches("osc_rdma_").to_owned();
    let target = event.elements.iter().find(|(key, _)| key == "target").map_or(-1, |(_, target)| *target);
    for (key, value) in &event.elements {
        let wanted = promised.split_whitespace().find_map(|word| word.strip_prefix("address="));
        let meant = wanted.and_then(|wanted| {
            let (window, offset) = wanted.split_once('+')?;
            let base = bases.get(&(window.to_owned(), target))?;
            Some((wanted, base + offset.parse::<i64>().ok()?))
        });
        match meant {
            Some((wanted, address)) if key == "address" && *value == address => {
                text += &format!(" address={wanted}");
            }
            _ => text += &format!(" {key}={value}"),
        }
    }
    text
}

/// Compares one rank's events with what its program promises; the error shows both, side by side.
///
/// # Errors
///
/// If an event is missing, superfluous, out of order, or an element has another value.
pub fn compare(
    promised: &[String],
    events: &[Event],
    bases: &BTreeMap<(String, i64), i64>,
) -> Result<(), String> {
    let mut table = String::from("  expected | seen\n");
    let mut same = promised.len() == events.len();
    for line in 0..promised.len().max(events.len()) {
        let left = promised.get(line).map_or("", String::as_str);
        let right = events.get(line).map_or_else(String::new, |event| shown(event, left, bases));
        let sign = if left == right { ' ' } else { '!' };
        same &= left == right;
        table.push_str(&format!("{sign} {left} | {right}\n"));
    }
    if same { Ok(()) } else { Err(table) }
}
