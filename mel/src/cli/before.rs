//! What is judged before the program starts, so that no hour of a machine is spent on what a slip of the pen spoils: the directory of an
//! earlier run, and names that nothing has.
//!
//! Each rank judges for itself. Otherwise those that a launcher does not end (srun, Hydra) would wait in `MPI_Init` for the one that did
//! not start.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mel_log::access;
use mel_log::choice::Choice;
use mel_log::launcher::{Job, is_first_rank};
use mel_log::names::{meant_events, parse_list, unknown_events};
use mel_log::offers::Events;
use mel_log::run_directory::{earlier, in_the_way, is_older, of_pattern};
use mel_log::settings;
use mpi_functions::FUNCTIONS;

use super::{known_variables, of_program, probe};

/// Why a run cannot go into its directory; `None` where it can.
pub fn of_directory(output: Option<&Path>, force: bool) -> Option<String> {
    let is_set = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let given = output.map(Path::to_owned).or_else(|| is_set(settings::OUTPUT.name).map(Into::into))?;
    let directory = of_pattern(&given, Job::here().as_ref());
    if let Some(objection) = access::objection_to_directory(&directory) {
        return Some(format!("{objection} (nothing was started)"));
    }
    if force || is_set(settings::FORCE.name).is_some_and(|value| value != "0") {
        return None;
    }
    // What cannot be read is the library's to say, which tries to write.
    let files = earlier(&directory).ok().filter(|files| !files.is_empty())?;
    // Others may come when the first has begun already. They wait for it in `MPI_Init`, unless the launcher is not that of the MPI: then
    // what they find is not of an earlier run.
    let is_earlier = is_first_rank() || launched().is_none_or(|launched| is_older(&files, launched));
    is_earlier.then(|| format!("{} (nothing was started)", in_the_way(&directory)))
}

/// Within this time a launcher starts all ranks.
const ALL_STARTED: Duration = Duration::from_secs(10);

/// When the process was started that has started this one: a launcher's daemon, which is there before all ranks of its node. Some daemons
/// are there for many runs.
fn launched() -> Option<SystemTime> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", std::os::unix::process::parent_id())).ok()?;
    // The name in parentheses may hold anything; the start is the 22nd field, in ticks since the machine was started.
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: the function takes no pointers.
    let per_second =
        u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|rate| *rate > 0)?;
    let started = Duration::from_secs_f64(ticks as f64 / per_second as f64);
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of this function.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) } != 0 {
        return None;
    }
    let now = Duration::new(now.tv_sec.try_into().ok()?, now.tv_nsec.try_into().ok()?);
    SystemTime::now().checked_sub(now.checked_sub(started)?.min(ALL_STARTED))
}

/// A line about each name of an event or MPI function that nothing has.
pub fn of_names(args: &super::run::Args, program: Option<&Path>) -> Vec<String> {
    // What the command line has, else the environment.
    let value = |setting: &settings::Setting| {
        let given = args.given.of(setting).map(OsString::from).or_else(|| env::var_os(setting.name));
        given.and_then(|value| value.into_string().ok()).unwrap_or_default()
    };
    let mut lines = of_events(&value(&settings::EVENTS), program);
    let functions: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
    for (only, without, names) in [
        (&settings::ONLY_CALLS, &settings::NO_CALLS, Some(&functions)),
        // Communicators have their names later.
        (&settings::ONLY_COMMS, &settings::NO_COMMS, None),
    ] {
        match Choice::new(&value(only), &value(without)) {
            Ok(choice) => {
                lines.extend(names.into_iter().flat_map(|names| choice.complaints("MPI function", names)))
            }
            Err(line) => lines.push(line),
        }
    }
    lines.extend(of_variables(&value(&settings::VARS)));
    lines.extend(of_variables(&value(&settings::ATTRIBUTE)));
    lines
}

/// An MPI has variables of its own, which are known when it runs: it is an error only where the name could be one of MEL's alone.
fn of_variables(list: &str) -> Vec<String> {
    if matches!(list, "all" | "none") {
        return Vec::new();
    }
    let could_be_ours = |pattern: &&str| {
        let pattern = pattern.trim().to_ascii_lowercase();
        ["mel_", "pml_monitoring_", "osc_monitoring_", "coll_monitoring_"]
            .iter()
            .any(|prefix| pattern.starts_with(prefix))
    };
    let suspects: Vec<&str> = list.split(',').filter(could_be_ours).collect();
    let ours = if suspects.is_empty() { Vec::new() } else { known_variables::ours("performance") };
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    match Choice::new(&suspects.join(","), "").and_then(|choice| Choice::new(list, "").map(|_| choice)) {
        Ok(choice) => choice.complaints("performance variable", &ours),
        Err(line) => vec![line],
    }
}

/// An MPI may have events of its own, which are known when it is initialised: then it is an error only where the name is like one of ours.
fn of_events(list: &str, program: Option<&Path>) -> Vec<String> {
    let named: Vec<&str> = parse_list(list).collect();
    if named.is_empty() {
        return Vec::new();
    }
    // Without the library, the program does not start anyway.
    let Ok(offered) = probe::one::<Events>(&["events".as_ref()]) else { return Vec::new() };
    let prefixes = offered.all_backends.iter().map(|backend| format!("{backend}_")).chain([String::new()]);
    let known: Vec<String> = prefixes
        .flat_map(|prefix| offered.types.iter().map(move |of| format!("{prefix}{}", of.name)))
        .chain([offered.alias])
        .collect();
    let ours: Vec<&str> = offered.types.iter().map(|of| of.name.as_str()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let names: Vec<&str> = named.into_iter().filter(|word| meant_events(word, &known).is_empty()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let others = program.is_none_or(of_program::may_have_events);
    let unknown = unknown_events(names, &ours).into_iter();
    unknown.filter(|(_, is_like_ours)| *is_like_ours || !others).map(|(line, _)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_was_launched_a_while_ago() {
        let launched = launched().unwrap();
        assert!(launched <= SystemTime::now());
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_older(&[file.path().to_owned()], launched));
    }

    #[test]
    fn misspelt_variables_of_ours_are_named_and_those_of_an_mpi_are_not() {
        assert_eq!(of_variables("all"), [""; 0]);
        assert_eq!(of_variables("pml_monitoring_messages_count, unexpected_recvq_length,coll_*"), [""; 0]);
        let lines = of_variables("pml_monitoring_mesages_count,mel_no_such");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("nearest: pml_monitoring_messages_count"), "{lines:?}");
        assert_eq!(of_variables("[").len(), 1);
    }

    #[test]
    fn misspelt_events_are_named_and_those_of_an_mpi_are_not() {
        let lines = |list: &str| of_events(list, None);
        assert_eq!(lines("pml_ob1_message_arrived, osc_rdma_fence, btl_netop, event_netop_rdma"), [""; 0]);
        assert_eq!(
            lines("pml_ob1_message_arived"),
            ["there is no event type pml_ob1_message_arived; nearest: pml_ob1_message_arrived"]
        );
        assert_eq!(lines("some_event_of_the_mpi"), [""; 0], "the MPI may have it");
        assert_eq!(lines("all"), [""; 0]);
        assert_eq!(lines("ompi_pml_ob1_unex_insert,pml_ob1_*,rdma_fence,*search*"), [""; 0]);
    }
}
