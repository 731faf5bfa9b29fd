//! What the directory of a run says at one instant.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use mel_convert::callsites::CallSites;
use mel_log::choice::Choice;
use mel_log::profile::file::ProfileError;
use mel_log::profile::sums::{self, Names};
use mel_log::profile::{CallSite, Efficiency, Ended, Profile, RankProfile, TrafficKind, WaitKind, left_out};
use mel_log::ranks::RankRanges;
use mel_log::table::TableRows;
use mel_log::table::layout::STOPPED;
use serde::Serialize;

use mel_page::view::variables::{self as plots, Variable};
use mel_run::profile as run_profile;
use mel_stuck::Pulses;

use super::variables::{self, VariableReading};

/// Nothing has moved for so long, in seconds: then it is told who waits for whom.
const STILL_S: f64 = 10.0;

/// How far the run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// There is nothing yet that could be shown.
    #[default]
    Waiting,
    /// At least one rank runs, or what all have counted is being brought together.
    Running,
    /// No rank runs any more.
    Ended,
}

/// What is known of a run at one instant. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// When it was read: since 1970.
    pub at_unix_s: f64,
    /// How far the run is.
    pub stage: Stage,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The MPI library, as it names itself.
    pub mpi: String,
    /// Where the queue events came from.
    pub backend: String,
    /// When the run began: since 1970; 0 where that is not known.
    pub started_unix_s: f64,
    /// Number of ranks; [`ranks`](Reading::ranks) may have fewer.
    pub world_size: u32,
    /// The ranks of which something is known, ascending.
    pub ranks: Vec<RankReading>,
    /// How well the ranks are used so far.
    pub efficiency: Option<Efficiency>,
    /// What costs most time so far, in a sentence.
    pub finding: Option<String>,
    /// What there is to say, in a sentence each: what is waited for, what is missing.
    pub remarks: Vec<String>,
    /// The curves of the variables that are shown, of all ranks.
    pub plots: Vec<Variable>,
}

impl Reading {
    /// Whether nothing changes any more. A rank that seems to have been killed may be one whose file system has no locks.
    fn is_final(&self) -> bool {
        self.stage == Stage::Ended && self.ranks.iter().all(|rank| !rank.ended.is_open())
    }
}

/// What is known of one rank. Numbers are totals since `MPI_Init`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankReading {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// How it ended, or that it runs.
    pub ended: Ended,
    /// From the exit of `MPI_Init` to now, or to the end of the measurement; observed.
    pub run_s: f64,
    /// Absent where calls are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
    /// Absent where queues are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// Messages sent to other ranks, without those of collective operations; observed. Absent where the matrix is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The call that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_call: Option<InCall>,
    /// The call sites, by the time in their calls.
    pub sites: Vec<Site>,
    /// The performance variables that are shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableReading>,
}

/// The calls of a rank between `MPI_Init` and `MPI_Finalize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Calls {
    /// How many have returned; observed.
    pub calls: u64,
    /// Time in them, of all threads, with the calls that have not returned; observed.
    pub mpi_s: f64,
    /// Time lost in them waiting; estimated.
    pub waiting_s: f64,
    /// The part of it that messages sent late have cost.
    pub late_sender_s: f64,
    /// The part of it that was lost in collective operations.
    pub collective_s: f64,
    /// Bytes sent; observed.
    pub bytes_sent: u64,
}

/// The message queues of a rank: modelled, or observed where the MPI itself reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each is what its name says")]
pub struct Queues {
    pub posted_length: u64,
    pub posted_longest: u64,
    pub unexpected_length: u64,
    pub unexpected_longest: u64,
    pub searches: u64,
    pub search_s: f64,
}

/// A call that has not returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InCall {
    /// The MPI function.
    pub function: String,
    /// `file:line (function)`, where it is known.
    pub site: Option<String>,
    /// How long it has lasted.
    pub since_s: f64,
}

/// One call site of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Site {
    /// The MPI function.
    pub function: String,
    /// `file:line (function)`, where it is known.
    pub site: Option<String>,
    /// Calls that have returned; observed.
    pub calls: u64,
    /// Time in them, with the call that has not returned; observed.
    pub mpi_s: f64,
    /// Time lost in them; estimated.
    pub waiting_s: f64,
}

/// Reads the directory of a run.
#[derive(Debug)]
pub struct Reader {
    directory: PathBuf,
    /// What it is called in sentences.
    shown: PathBuf,
    files: CallSites,
    /// Call sites that were looked up before.
    sites: HashMap<(String, u64), CallSite>,
    pulses: Pulses,
    /// The variables that are shown.
    variables: Choice,
    last: Option<Reading>,
}

impl Reader {
    /// Of this directory, which need not be there yet.
    pub fn new(directory: &Path) -> Reader {
        Reader::of_copies(directory, directory)
    }

    /// Of this directory, in which there are copies of another one.
    pub fn of_copies(directory: &Path, shown: &Path) -> Reader {
        Reader {
            directory: directory.to_owned(),
            shown: shown.to_owned(),
            files: CallSites::default(),
            sites: HashMap::new(),
            pulses: Pulses::default(),
            variables: Choice::default(),
            last: None,
        }
    }

    /// The same, which shows these performance variables only.
    #[must_use]
    pub fn showing(self, variables: Choice) -> Reader {
        Reader { variables, ..self }
    }

    /// What the directory says at this time, which is that of the system, in seconds since 1970. When all ranks have ended by themselves
    /// nothing changes any more, and nothing is read.
    pub fn read(&mut self, now: f64) -> Reading {
        if let Some(last) = self.last.as_ref().filter(|last| last.is_final()) {
            return Reading { at_unix_s: now, ..last.clone() };
        }
        let reading = self.read_again(now);
        if reading.stage != Stage::Waiting {
            self.last = Some(reading.clone());
        }
        reading
    }

    fn read_again(&mut self, now: f64) -> Reading {
        let waiting =
            |remark: String| Reading { at_unix_s: now, remarks: vec![remark], ..Reading::default() };
        let shown = self.shown.display();
        if !self.directory.is_dir() {
            return match &self.last {
                Some(last) => gone(last, now, format!("{shown} is there no more")),
                None => waiting(format!(
                    "{shown} is not there yet: waiting for `mel run -o {shown} ...` to make it"
                )),
            };
        }
        let tables = run_profile::tables(&self.directory);
        let open: HashMap<u32, Open> = tables.0.iter().map(|rows| (rows.rank, Open::of(rows, now))).collect();
        let instant = (now * 1e9) as u64;
        let look = self.pulses.see(&tables.0, instant);
        let stands = self.pulses.still_s(&tables.0, instant).is_some_and(|still_s| still_s >= STILL_S);
        let (files, sites) = (&mut self.files, &mut self.sites);
        let mut resolve = |path: &str, address: u64| {
            let known = sites.entry((path.to_owned(), address));
            known.or_insert_with(|| files.place(path, address)).clone()
        };
        let stuck = (stands && look.moved.is_empty())
            .then(|| mel_stuck::of(tables.0.clone(), &look, &mut resolve).sentences);
        let profile = match run_profile::read_with(&self.directory, tables, resolve) {
            Ok(profile) => profile,
            // Between the removal of the last table and the writing of the profile, or the other way round.
            Err(error) => {
                return match (&self.last, error) {
                    (Some(last), _) => Reading { at_unix_s: now, ..last.clone() },
                    (None, ProfileError::Absent(_)) => waiting(self.nothing_yet()),
                    (None, error) => waiting(error.to_string()),
                };
            }
        };
        if profile.reduced.is_some() {
            return self.of_many(&profile, now);
        }
        let ranks =
            profile.ranks.iter().map(|rank| of_rank(&profile, rank, open.get(&rank.rank), &self.variables));
        let mut plots = plots::variables(&profile);
        plots.retain(|of| self.variables.wants(&[&of.name]));
        let mut reading = Reading { ranks: ranks.collect(), plots, ..of_run(&profile, now) };
        self.keep_vanished(&mut reading);
        if reading.ranks.is_empty() {
            return waiting(profile.incomplete.first().cloned().unwrap_or_else(|| self.nothing_yet()));
        }
        reading.stage = stage(&reading);
        // First what matters most.
        reading.remarks = stuck.unwrap_or_default();
        reading.remarks.extend(remarks(&profile, &reading));
        reading.remarks.extend(variables::missing(&profile, &self.variables, reading.stage));
        reading
    }

    /// A rank that was here, and has left no table and is in no profile yet, is in `MPI_Finalize`, where all is brought together.
    fn keep_vanished(&self, reading: &mut Reading) {
        let Some(last) = &self.last else { return };
        for rank in &last.ranks {
            if reading.ranks.iter().all(|known| known.rank != rank.rank) {
                reading.ranks.push(RankReading { ended: Ended::Finalised, in_call: None, ..rank.clone() });
            }
        }
        reading.ranks.sort_by_key(|rank| rank.rank);
    }

    /// What is missing in a directory from which nothing can be shown.
    fn nothing_yet(&self) -> String {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let has_logs =
            entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".mlog"));
        let shown = self.shown.display();
        if has_logs {
            format!(
                "{shown} has event logs and no profile: watching needs `mel run` with a profile, such as \
                 --profile calls,queues; waiting for one"
            )
        } else {
            format!("{shown} is empty: waiting for the ranks to call MPI_Init")
        }
    }

    /// Of very many ranks that have ended there are sums in the profile, and no ranks: those that were seen last stay.
    fn of_many(&self, profile: &Profile, now: f64) -> Reading {
        let mut reading = Reading { stage: Stage::Ended, ..of_run(profile, now) };
        if let Some(last) = &self.last {
            let ended = |rank: &RankReading| RankReading {
                ended: if rank.ended == Ended::Running { Ended::Finalised } else { rank.ended },
                in_call: None,
                ..rank.clone()
            };
            reading.ranks = last.ranks.iter().map(ended).collect();
        }
        reading.remarks.push(format!(
            "the run has ended; these numbers were seen last: `mel report {}` shows the whole run",
            self.shown.display()
        ));
        reading
    }
}

/// The run was removed while it was watched.
fn gone(last: &Reading, now: f64, remark: String) -> Reading {
    let mut reading = Reading { at_unix_s: now, stage: Stage::Ended, ..last.clone() };
    reading.remarks.push(remark);
    reading
}

/// What the profile says of the run as a whole.
fn of_run(profile: &Profile, now: f64) -> Reading {
    let finding = profile.verdict.as_ref().and_then(|findings| findings.first());
    Reading {
        at_unix_s: now,
        command: profile.command.clone(),
        mpi: profile.mpi.clone(),
        backend: profile.backend.clone(),
        started_unix_s: profile.started_unix_s,
        world_size: profile.world_size,
        efficiency: profile.efficiency.as_ref().map(|all| all.whole.clone()),
        finding: finding.map(|finding| finding.text.clone()),
        ..Reading::default()
    }
}

fn stage(reading: &Reading) -> Stage {
    let is_running = |rank: &RankReading| rank.ended == Ended::Running;
    if reading.ranks.iter().any(is_running) { Stage::Running } else { Stage::Ended }
}

fn remarks(profile: &Profile, reading: &Reading) -> Vec<String> {
    let mut remarks = profile.incomplete.clone();
    remarks.extend(left_out::of(profile).sentence());
    let missing = RankRanges::missing(reading.ranks.iter().map(|rank| rank.rank), profile.world_size);
    if let Some(who) = missing.in_words() {
        let (have, are) = if missing.len() == 1 { ("has", "its") } else { ("have", "their") };
        remarks.push(format!(
            "{who} {have} no table here: not out of MPI_Init yet, or {are} directory is on another node's own disk (--node HOST)"
        ));
    }
    if reading.stage == Stage::Ended {
        remarks.push("the run has ended: the numbers cover the whole run".into());
    }
    remarks
}

/// What a table says of the calls that have not returned. Times are in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// From the exit of `MPI_Init` to now, or to the last thing known.
    run_s: f64,
    /// Time in calls that have not returned, of all threads.
    in_calls_s: f64,
    /// The longest of them.
    longest_s: f64,
}

impl Open {
    fn of(rows: &TableRows, now: f64) -> Open {
        let seconds = |ticks: u64| ticks as f64 / rows.ticks_per_second as f64;
        let runs = rows.is_running && rows.runs_until == 0;
        let until = match (rows.runs_until, runs) {
            (0, true) => rows.last_seen().max(ticks_at(rows, now)),
            (0, false) => rows.last_seen(),
            (until, _) => until,
        };
        let counts =
            |context: u32| rows.contexts.get(context as usize).is_none_or(|row| row.key.phase != STOPPED);
        let in_calls =
            rows.threads.iter().filter(|thread| runs && thread.is_in_call() && counts(thread.context));
        let lasting = in_calls.map(|thread| seconds(until.saturating_sub(thread.entered)));
        let (in_calls_s, longest_s) =
            lasting.fold((0.0, 0.0f64), |(sum, most), one| (sum + one, most.max(one)));
        let run = until.saturating_sub(rows.runs_since).saturating_sub(rows.stopped);
        Open { run_s: seconds(run), in_calls_s, longest_s }
    }
}

/// The clock of a process at this time of the system.
fn ticks_at(rows: &TableRows, now: f64) -> u64 {
    let since = (now - rows.started_realtime_nanos as f64 * 1e-9).max(0.0);
    rows.started.saturating_add((since * rows.ticks_per_second as f64) as u64)
}

fn of_rank(profile: &Profile, rank: &RankProfile, open: Option<&Open>, shown: &Choice) -> RankReading {
    let names = Names::of(profile);
    let open = open.copied();
    let run_s = open.map_or(0.0, |open| open.run_s);
    let of_matrix = profile.counts("matrix").then(|| {
        let sent = rank.traffic.iter().filter(|row| row.kind == TrafficKind::P2p);
        sent.map(|row| row.messages).sum()
    });
    let in_call = rank.last_call.as_ref().filter(|call| rank.ended.is_open() && call.returned_s.is_none());
    let in_call = in_call.map(|call| InCall {
        function: call.function.clone(),
        site: names.name(call.site).map(str::to_owned),
        since_s: open.unwrap_or_default().longest_s,
    });
    RankReading {
        rank: rank.rank,
        host: rank.host.clone(),
        ended: rank.ended,
        run_s: if run_s > 0.0 { run_s } else { sums::run_s(profile, rank) },
        calls: profile.counts("calls").then(|| calls(rank, open.unwrap_or_default())),
        queues: profile.has_queues().then(|| queues(rank)),
        messages: of_matrix,
        sites: sites(rank, &names, in_call.as_ref()),
        in_call,
        variables: variables::of_rank(rank, shown),
    }
}

fn calls(rank: &RankProfile, open: Open) -> Calls {
    let sum = sums::of_rank(rank);
    let lost = |kinds: &[WaitKind]| {
        let waits = sums::calls(rank).flat_map(|call| &call.waits);
        waits.filter(|wait| kinds.contains(&wait.kind)).map(|wait| wait.lost_s).sum()
    };
    Calls {
        calls: sum.calls,
        mpi_s: sum.total_s + open.in_calls_s,
        waiting_s: sum.lost_s,
        late_sender_s: lost(&[WaitKind::LateSender]),
        collective_s: lost(&[WaitKind::Collective, WaitKind::LateMember]),
        bytes_sent: sum.bytes_sent,
    }
}

fn queues(rank: &RankProfile) -> Queues {
    Queues {
        posted_length: rank.posted.left,
        posted_longest: rank.posted.max_length,
        unexpected_length: rank.unexpected.left,
        unexpected_longest: rank.unexpected.max_length,
        searches: rank.posted_search.searches.saturating_add(rank.unexpected_search.searches),
        search_s: rank.posted_search.total_s + rank.unexpected_search.total_s,
    }
}

/// The call sites of a rank: all threads, communicators and phases together, with the call that it is in.
fn sites(rank: &RankProfile, names: &Names, in_call: Option<&InCall>) -> Vec<Site> {
    let mut sites: HashMap<(&str, Option<&str>), Site> = HashMap::new();
    for call in sums::calls(rank) {
        let site = names.name(call.site);
        let entry = sites.entry((&call.function, site)).or_insert_with(|| Site {
            function: call.function.clone(),
            site: site.map(str::to_owned),
            ..Site::default()
        });
        entry.calls = entry.calls.saturating_add(call.calls);
        entry.mpi_s += call.total_s;
        entry.waiting_s += call.waits.iter().map(|wait| wait.lost_s).sum::<f64>();
    }
    if let Some(call) = in_call.filter(|call| !sums::is_apart(&call.function)) {
        let entry = sites.entry((&call.function, call.site.as_deref())).or_insert_with(|| Site {
            function: call.function.clone(),
            site: call.site.clone(),
            ..Site::default()
        });
        entry.mpi_s += call.since_s;
    }
    let mut sites: Vec<Site> = sites.into_values().collect();
    sites.sort_by(|a, b| {
        b.mpi_s.total_cmp(&a.mpi_s).then_with(|| (&a.function, &a.site).cmp(&(&b.function, &b.site)))
    });
    sites
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::Definition;
    use mel_log::table::{ContextKey, Identity, ProfileTable, QueuesKey, file_name};

    const BEGAN: f64 = 1_700_000_000.0;

    /// A rank that has left `MPI_Init` after a second, was half a second in one call, and is in another from the fifth second on.
    fn table(directory: &Path, rank: u32) -> ProfileTable {
        let identity = Identity {
            rank,
            world_size: 2,
            ticks_per_second: 1000,
            started: 1000,
            started_realtime_nanos: BEGAN as u64 * 1_000_000_000,
            runs_since: 2000,
            host: "node".into(),
        };
        let table = ProfileTable::create(&directory.join(file_name(rank)), &identity).unwrap();
        let queues = table.add_queues(QueuesKey::default()).unwrap();
        table.queues(queues).posted.insert(2000);
        table.define(&Definition::Function { number: 7, name: "MPI_Recv".into() });
        table.define(&mel_log::profile::sample::program(&["calls", "queues"]));
        let context = table.add_context(ContextKey { function: 7, ..ContextKey::default() });
        table.add_thread(0);
        table.thread(0).enter(context, 3000);
        table.thread(0).leave(3500);
        table.context(context).count(500);
        table.thread(0).enter(context, 6000);
        table
    }

    #[test]
    fn a_call_that_has_not_returned_is_time_in_mpi() {
        let directory = tempfile::tempdir().unwrap();
        let _tables = [table(directory.path(), 0), table(directory.path(), 1)];
        let mut reader = Reader::new(directory.path());
        let reading = reader.read(BEGAN + 9.0);
        assert_eq!((reading.stage, reading.world_size, reading.remarks.len()), (Stage::Running, 2, 0));
        let rank = &reading.ranks[1];
        assert_eq!((rank.ended, rank.run_s), (Ended::Running, 8.0));
        let calls = rank.calls.unwrap();
        assert_eq!((calls.calls, calls.mpi_s), (1, 4.5));
        assert_eq!((rank.queues.unwrap().posted_length, rank.messages), (1, None));
        let call = rank.in_call.as_ref().unwrap();
        assert_eq!((&*call.function, call.since_s), ("MPI_Recv", 4.0));
        assert_eq!((rank.sites.len(), rank.sites[0].mpi_s), (1, 4.5));
        assert_eq!(reader.read(BEGAN + 10.0).ranks[1].calls.unwrap().mpi_s, 5.5);
    }

    #[test]
    fn a_rank_without_its_process_was_killed_and_its_numbers_end_there() {
        let directory = tempfile::tempdir().unwrap();
        let kept = table(directory.path(), 0);
        drop(table(directory.path(), 1));
        let mut reader = Reader::new(directory.path());
        let reading = reader.read(BEGAN + 9.0);
        assert_eq!(reading.stage, Stage::Running);
        let rank = &reading.ranks[1];
        assert_eq!((rank.ended, rank.run_s, rank.calls.unwrap().mpi_s), (Ended::Killed, 4.0, 0.5));
        drop(kept);
        let reading = reader.read(BEGAN + 10.0);
        assert_eq!(reading.stage, Stage::Ended);
        assert!(reading.remarks[0].contains("has ended"), "{:?}", reading.remarks);
    }

    #[test]
    fn what_is_missing_or_waited_for_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let mut reader = Reader::new(&path);
        let remark = |reading: Reading| {
            assert_eq!(reading.stage, Stage::Waiting);
            reading.remarks[0].clone()
        };
        assert!(remark(reader.read(BEGAN)).contains("is not there yet"));
        std::fs::create_dir(&path).unwrap();
        assert!(remark(reader.read(BEGAN)).contains("waiting for the ranks to call MPI_Init"));
        std::fs::write(path.join("rank-0.mlog"), "").unwrap();
        assert!(remark(reader.read(BEGAN)).contains("event logs and no profile"));
        let _table = table(&path, 1);
        let reading = reader.read(BEGAN + 9.0);
        assert_eq!((reading.stage, reading.ranks.len()), (Stage::Running, 1));
        assert!(reading.remarks[0].starts_with("rank 0 has no table here"), "{:?}", reading.remarks);
    }

    #[test]
    fn ranks_whose_tables_are_gone_have_ended() {
        let directory = tempfile::tempdir().unwrap();
        let tables = [table(directory.path(), 0), table(directory.path(), 1)];
        let mut reader = Reader::new(directory.path());
        reader.read(BEGAN + 9.0);
        std::fs::remove_file(directory.path().join(file_name(1))).unwrap();
        let reading = reader.read(BEGAN + 10.0);
        assert_eq!((reading.ranks.len(), reading.ranks[1].ended), (2, Ended::Finalised));
        assert_eq!(reading.stage, Stage::Running);
        drop(tables);
        std::fs::remove_dir_all(directory.path()).unwrap();
        let reading = reader.read(BEGAN + 11.0);
        assert_eq!((reading.stage, reading.ranks.len()), (Stage::Ended, 2));
        assert!(reading.remarks.last().unwrap().contains("is there no more"), "{:?}", reading.remarks);
    }
}
