//! `mel stuck`: who waits for whom in a job that hangs, or was killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use code_samples::other_process::{self, Frame};
use comfy_table::{CellAlignment, Table, presets};
use mel_convert::callsites::CallSites;
use mel_log::number::duration;
use mel_log::profile::Ended;
use mel_log::profile::text::layout::wrapped;
use mel_log::regular_file;
use mel_log::run_directory::STUCK;
use mel_log::table::{self, TableRows};
use mel_run::profile as run_profile;
use mel_stuck::{Group, Job, Look, Pulses, SETTLED_S, Stack, State, Stuck};
use mel_verdict::words::ranks;

use super::of_run::complain;
use super::output::to_stdout;

/// Says why a job hangs: which ranks are in which call, and who has not come
///
/// Reads the tables in which each rank counts its calls, once, while the job hangs or after it was killed; nothing is added to the
/// program. A rank of this host that is in no call is stopped for a millisecond, where the system allows that, and where it is in the program is
/// told. Ranks that do the same are one line. Then at most three sentences say what blocks whom: collective
/// operations that never meet, members that have not come to one, ranks that wait for each other in a circle, messages that differ from
/// what a receive asks for in one thing, peers that will not answer any more. What a call waits for is known once it has lasted for a second
/// or two; what the tables do not have is said to be not known.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  mel stuck mel-app-1
      a line for each group of ranks, and what blocks whom (docs/stuck.md)
  mel stuck mel-app-1 --json | jq -r '.findings[] | [.kind, .sentence] | @tsv'
      what blocks whom, for scripts
  watch mel stuck mel-app-1
      again and again, until it moves

Exit code: 0; 1 if it failed; 3 if files of the run are cut off, damaged or missing: the rest is shown")]
pub struct Args {
    /// The run's directory
    #[arg(value_name = "DIR", value_parser = super::of_run::directory)]
    pub directory: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints where the ranks are, and what blocks whom.
///
/// # Errors
/// The directory holds neither tables nor a profile, or they cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (stuck, complaints) = look(&args.directory)
        .with_context(|| format!("cannot say anything about {}", args.directory.display()))?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&stuck)? + "\n",
        false => text(&stuck),
    };
    to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(complain(&complaints))
}

/// Tables, and what is to be said of them.
type Read = (Vec<TableRows>, Vec<String>);

/// What the tables of a directory say. A run that has ended as a whole has none any more: its profile says how.
pub(super) fn look(directory: &Path) -> anyhow::Result<(Stuck, Vec<String>)> {
    let (tables, complaints) = run_profile::tables(directory);
    if tables.is_empty() {
        let profile = run_profile::read(directory)?;
        let ended_well =
            profile.ranks.iter().all(|rank| rank.ended == Ended::Finalised) && profile.is_whole();
        anyhow::ensure!(
            ended_well,
            "its tables are not there any more; `mel report` says how its ranks have ended"
        );
        return Ok((Stuck::ended_well(profile.world_size), complaints));
    }
    let (tables, look, complaints) = settled(directory, (tables, complaints))?;
    let mut sites = CallSites::default();
    let processes: BTreeMap<u32, u32> = tables.iter().map(|rows| (rows.rank, rows.pid)).collect();
    let mut stuck = mel_stuck::of(tables, &look, |path, address| sites.place(path, address));
    for rank in stuck.wants_stacks() {
        let process = processes.get(&rank);
        let table = directory.join(table::file_name(rank));
        if let Some(frames) = process.and_then(|process| frames(*process, &table, &mut sites)) {
            stuck.add_stack(Stack { rank, frames });
        }
    }
    let kept = if stuck.job == Job::Gone { kept(directory) } else { None };
    Ok((kept.map_or(stuck, Stuck::before_the_end), complaints))
}

/// Where a process is in its program, the innermost frame first, without those of the C library and of MEL; none where that may not be
/// looked at.
fn frames(process: u32, table: &Path, sites: &mut CallSites) -> Option<Vec<String>> {
    const NOT_THE_PROGRAMS: [&str; 6] = ["libc.so", "libc-", "libpthread", "ld-linux", "libmel.so", "libmpi"];
    let stack = other_process::stack_of(process, &table.canonicalize().ok()?).ok()?;
    let is_of_program = |frame: &&Frame| {
        let name = frame.path.file_name().unwrap_or_default().to_string_lossy();
        !NOT_THE_PROGRAMS.iter().any(|begin| name.starts_with(begin))
    };
    let mut frames: Vec<String> = Vec::new();
    for frame in stack.iter().filter(is_of_program) {
        let site = sites.place(&frame.path.to_string_lossy(), frame.address);
        // What calls `main` is the compiler's.
        if site.function == "_start" {
            break;
        }
        let is_main = site.function == "main";
        frames.push(site.to_string());
        if is_main {
            break;
        }
    }
    Some(frames).filter(|frames| !frames.is_empty())
}

/// What the watchdog of a run has kept, if it has seen all ranks. It removes that where the job moves again.
fn kept(directory: &Path) -> Option<Stuck> {
    let kept: Stuck = serde_json::from_slice(&regular_file::read(&directory.join(STUCK)).ok()?).ok()?;
    let is_whole = kept.groups.iter().all(|group| group.state != State::OnAnotherNode);
    is_whole.then_some(kept)
}

/// The tables of a job as they are when they are read once more: who has moved meanwhile, what was counted of them may not fit where
/// they were. Where a rank may only test in vain, that is watched for a moment.
fn settled(directory: &Path, mut read: Read) -> anyhow::Result<(Vec<TableRows>, Look, Vec<String>)> {
    let mut pulses = Pulses::default();
    let mut look = pulses.see(&read.0, now()?);
    let is_running = |read: &Read| read.0.iter().any(|rows| rows.is_running);
    for pause_s in [0.0, 1.1 * SETTLED_S] {
        if !is_running(&read) || (pause_s > 0.0 && look.polls.is_empty()) {
            break;
        }
        thread::sleep(Duration::from_secs_f64(pause_s));
        let again = run_profile::tables(directory);
        if again.0.is_empty() {
            // It has ended meanwhile.
            break;
        }
        read = again;
        look = pulses.see(&read.0, now()?);
    }
    Ok((read.0, look, read.1))
}

/// Nanoseconds since 1970.
fn now() -> anyhow::Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos() as u64)
}

/// What a report begins with of a run that hangs, or hung before it was killed; nothing of any other.
pub(super) fn first_words(directory: &Path) -> String {
    let stuck = look(directory).ok().map(|(stuck, _)| stuck).filter(Stuck::is_hang);
    let sentences = stuck.into_iter().flat_map(|stuck| stuck.sentences);
    let text: String = sentences.map(|sentence| wrapped("", &sentence)).collect();
    if text.is_empty() { text } else { text + "\n" }
}

fn text(stuck: &Stuck) -> String {
    let mut text = String::new();
    if stuck.job != Job::EndedWell {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(["ranks", "where", "operation", "for"]);
        for group in &stuck.groups {
            table.add_row(cells(group));
        }
        for column in table.column_iter_mut().filter(|column| column.index == 3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        text.extend(table.lines().map(|line| line.trim_end().to_owned() + "\n"));
        text.push('\n');
    }
    text.extend(stuck.sentences.iter().map(|sentence| wrapped("", sentence)));
    text
}

fn cells(group: &Group) -> [String; 4] {
    let at = group.site.as_ref().map_or(String::new(), |site| format!(" at {site}"));
    let call = group.function.as_ref().map(|function| format!("{function}{at}"));
    let after = call.as_ref().map_or(String::new(), |call| format!(", last in {call}"));
    let place = match group.state {
        State::InCall => call.unwrap_or_default(),
        State::Outside => format!("in no call that is counted{after}"),
        State::Polls => format!("tests in vain{after}"),
        State::Moves => format!("makes calls{after}"),
        State::Finalised => "MPI_Finalize".into(),
        State::Aborted => "called MPI_Abort".into(),
        State::Exited => format!("exited without MPI_Finalize{after}"),
        State::Killed => format!("killed{after}"),
        State::OnAnotherNode => "no table on this node".into(),
        State::Unknown => "left no table".into(),
    };
    let operation = match (&group.communicator, group.operation, group.state) {
        (Some(on), Some(number), _) => format!("{number} on {on}"),
        (Some(on), None, State::InCall) => format!("on {on}"),
        _ => String::new(),
    };
    let seconds = if group.state == State::Unknown { String::new() } else { duration(group.longest_s) };
    [ranks(&group.ranks), place, operation, seconds]
}
