//! The tables of all ranks as one: call sites and communicators have numbers that hold for the run, times are nanoseconds of one clock.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mel_log::profile::phases::place_of;
use mel_log::profile::{
    CallProfile, CallSite, Connection, Histogram, LastCall, MessagesFound, NamedCommunicator, Profile,
    Traffic, WaitKind, WaitProfile,
};
use mel_log::table::layout::bounds;
use mel_log::table::{ContextRow, TableRows};
use mel_log::{Definition, Members};

use super::communicators;
use super::findings::Rule;
use super::losses::Losses;
use super::{attribution, connections, traffic};

/// A context as it is known in the run.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The MPI function.
    pub function: Rc<str>,
    /// The thread.
    pub thread: u32,
    /// The place of its call site in [`Run::sites`].
    pub site: Option<u32>,
    /// The place of its communicator in [`Run::communicators`].
    pub communicator: Option<u32>,
    /// The place of its phase in [`Run::phases`].
    pub phase: u32,
    /// The communicator's number in the table.
    number: u32,
}

/// One rank's table.
#[derive(Debug)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its contexts, by their numbers.
    pub contexts: Vec<Context>,
    /// Its rows.
    pub rows: TableRows,
    /// What it has sent to whom.
    pub traffic: Vec<Traffic>,
    /// Its connections.
    pub connections: Vec<Connection>,
    /// An instant in ticks and in nanoseconds of the clock of all ranks.
    instant: (u64, u64),
    /// Ticks per second. Each process has measured the rate of the one clock of its node for itself, a millionth more or less, which
    /// is milliseconds over the time since the machine was started: so all use what one has measured.
    rate: u64,
    /// The place in [`Run::communicators`] of each communicator of the table, by its number.
    pub communicators: HashMap<u32, u32>,
    /// World ranks of the members, by the number of the communicator; of the remote group, for an intercommunicator.
    members: BTreeMap<u32, Members>,
}

impl Rank {
    /// A time in nanoseconds of the clock of all ranks.
    pub fn nanos(&self, ticks: u64) -> u64 {
        let (at, nanos) = self.instant;
        let since = i128::from(ticks) - i128::from(at);
        let since = since * 1_000_000_000 / i128::from(self.rate);
        (i128::from(nanos) + since).clamp(0, i128::from(u64::MAX)) as u64
    }

    /// A duration in seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.rows.ticks_per_second as f64
    }

    /// From the exit of `MPI_Init*` to the entry of `MPI_Finalize`, or to the last thing known, but for the time that does not count, in
    /// seconds.
    pub fn run_s(&self) -> f64 {
        let until = if self.rows.runs_until > 0 { self.rows.runs_until } else { self.rows.last_seen() };
        self.seconds(until.saturating_sub(self.rows.runs_since).saturating_sub(self.rows.stopped))
    }

    /// A time in seconds since `MPI_Init*` was called.
    fn since_start_s(&self, ticks: u64) -> f64 {
        self.seconds(ticks.saturating_sub(self.rows.started))
    }

    /// The call that it is in, or has made last: of the thread that is in a call, where there is one, that was there last.
    fn last_call(&self) -> Option<LastCall> {
        let threads = self.rows.threads.iter().enumerate().filter(|(_, thread)| thread.last() > 0);
        let (number, thread) = threads.max_by_key(|(_, thread)| (thread.is_in_call(), thread.last()))?;
        let context = self.context(thread.context)?;
        Some(LastCall {
            thread: number as u32,
            function: context.function.to_string(),
            site: context.site,
            communicator: context.communicator,
            entered_s: self.since_start_s(thread.entered),
            returned_s: (!thread.is_in_call()).then(|| self.since_start_s(thread.left)),
        })
    }

    /// The world rank of a rank in the communicator of a context.
    pub fn peer(&self, context: u32, rank: i32) -> Option<u32> {
        let number = self.contexts.get(context as usize)?.number;
        u32::try_from(self.members.get(&number)?.get(u32::try_from(rank).ok()?)?).ok()
    }

    /// The size of the communicator of a context.
    pub fn size(&self, context: u32) -> Option<usize> {
        let number = self.contexts.get(context as usize)?.number;
        self.members.get(&number).map(Members::len)
    }

    /// A context by its number.
    pub fn context(&self, number: u32) -> Option<&Context> {
        self.contexts.get(number as usize)
    }
}

/// All ranks of a run.
#[derive(Debug)]
pub struct Run {
    /// Call sites.
    pub sites: Vec<CallSite>,
    /// Communicators.
    pub communicators: Vec<NamedCommunicator>,
    /// The names of the phases; the first, without a name, is for what belongs to none. Empty where there are none.
    pub phases: Vec<String>,
    /// By rank, ascending; some may be missing.
    pub ranks: Vec<Rank>,
    places: HashMap<u32, usize>,
}

impl Run {
    /// The run whose ranks have left these tables.
    pub fn of(mut tables: Vec<TableRows>, mut resolve: impl FnMut(&str, u64) -> CallSite) -> Run {
        tables.sort_by_key(|table| table.rank);
        tables.dedup_by_key(|table| table.rank);
        let mut run = Run {
            sites: Vec::new(),
            communicators: Vec::new(),
            phases: Vec::new(),
            ranks: Vec::new(),
            places: HashMap::new(),
        };
        let mut sites: HashMap<(Rc<str>, u64), u32> = HashMap::new();
        // What is compiled twice, such as a template, has two addresses and is one place.
        let mut same: HashMap<CallSite, u32> = HashMap::new();
        let mut communicators: HashMap<u64, u32> = HashMap::new();
        let rate = tables.first().map_or(1, |first| first.ticks_per_second);
        let has_traffic = tables.iter().any(|table| !table.traffic.is_empty());
        let hosts: HashMap<u32, String> =
            tables.iter().map(|table| (table.rank, table.host.clone())).collect();
        let origin = tables.iter().map(|table| table.started).min().unwrap_or(0);
        for rows in tables {
            let mut modules: BTreeMap<u64, (u64, u64, Rc<str>)> = BTreeMap::new();
            let mut functions: HashMap<u16, Rc<str>> = HashMap::new();
            let mut numbers: HashMap<u32, u32> = HashMap::new();
            let mut members: BTreeMap<u32, Members> = BTreeMap::new();
            for definition in &rows.definitions {
                match definition {
                    Definition::Module { start, end, bias, path } => {
                        modules.insert(*start, (*end, *bias, path.as_str().into()));
                    }
                    Definition::Function { number, name } => {
                        functions.insert(*number, name.as_str().into());
                    }
                    Definition::Communicator { index, context, name, members: of, remote } => {
                        let place = *communicators.entry(*context).or_insert_with(|| {
                            let (context, size) = (*context, of.len() as u32);
                            run.communicators.push(NamedCommunicator {
                                context,
                                name: name.clone(),
                                size,
                                ..if has_traffic {
                                    NamedCommunicator {
                                        members: of.clone(),
                                        remote: remote.clone(),
                                        ..NamedCommunicator::default()
                                    }
                                } else {
                                    NamedCommunicator::default()
                                }
                            });
                            run.communicators.len() as u32 - 1
                        });
                        numbers.insert((*index).into(), place);
                        members.insert((*index).into(), remote.clone().unwrap_or_else(|| of.clone()));
                    }
                    Definition::CommunicatorName { index, name } if !name.is_empty() => {
                        if let Some(place) = numbers.get(&u32::from(*index)) {
                            run.communicators[*place as usize].name.clone_from(name);
                        }
                    }
                    _ => {}
                }
            }
            let mut phases: HashMap<u16, u32> = HashMap::new();
            for phase in &rows.phases {
                phases.insert(phase.number, place_of(&mut run.phases, &phase.name));
            }
            let mut contexts = Vec::new();
            for ContextRow { key, .. } in &rows.contexts {
                let module = modules.range(..=key.site).next_back().filter(|(_, module)| key.site < module.0);
                let place = module.map_or_else(
                    || ("".into(), key.site),
                    |(_, (_, bias, path))| (Rc::clone(path), key.site.wrapping_sub(*bias)),
                );
                let site = (key.site != 0).then(|| {
                    *sites.entry(place).or_insert_with_key(|(path, offset)| {
                        let site = resolve(path, *offset);
                        let line = CallSite { offset: 0, ..site.clone() };
                        let key = if site.line == 0 { site.clone() } else { line };
                        *same.entry(key).or_insert_with(|| {
                            run.sites.push(site);
                            run.sites.len() as u32 - 1
                        })
                    })
                });
                contexts.push(Context {
                    function: functions.get(&key.function).cloned().unwrap_or_default(),
                    thread: key.thread.into(),
                    site,
                    communicator: numbers.get(&key.communicator).copied(),
                    phase: phases.get(&key.phase).copied().unwrap_or(0),
                    number: key.communicator,
                });
            }
            let names = traffic::Names {
                functions: &functions,
                communicators: &numbers,
                phases: &phases,
                members: &members,
            };
            let traffic = traffic::of(&rows.traffic, &names);
            let connections = connections::of(&rows.connections, &phases, &hosts);
            run.places.insert(rows.rank, run.ranks.len());
            let (instant, rate) = match rows.clock {
                Some((ticks, nanos, _)) => ((ticks, nanos), rows.ticks_per_second),
                None => ((origin, 1_000_000_000), rate),
            };
            run.ranks.push(Rank {
                rank: rows.rank,
                contexts,
                rows,
                traffic,
                connections,
                instant,
                rate,
                communicators: numbers,
                members,
            });
        }
        run
    }

    /// The table of a rank.
    pub fn rank(&self, rank: u32) -> Option<&Rank> {
        self.ranks.get(*self.places.get(&rank)?)
    }

    /// The time of all ranks between `MPI_Init` and `MPI_Finalize`, in seconds.
    pub fn all_s(&self) -> f64 {
        self.ranks.iter().map(Rank::run_s).sum()
    }

    /// A call site as text.
    pub fn site(&self, place: Option<u32>) -> Option<String> {
        self.sites.get(place? as usize).map(ToString::to_string)
    }

    /// Stores in a profile what the tables say, and what was lost.
    pub fn fill(&self, profile: &mut Profile, losses: &Losses) {
        profile.sites.clone_from(&self.sites);
        profile.communicators.clone_from(&self.communicators);
        let phases: Vec<u32> = self.phases.iter().map(|name| place_of(&mut profile.phases, name)).collect();
        for of_rank in &mut profile.ranks {
            let Some(rank) = self.rank(of_rank.rank) else { continue };
            of_rank.run_s = rank.run_s();
            of_rank.init_s = rank.seconds(rank.rows.runs_since.saturating_sub(rank.rows.started));
            of_rank.caused_s = losses.caused(rank.rank);
            if of_rank.ended.is_open() {
                of_rank.last_seen_s = Some(rank.since_start_s(rank.rows.last_seen()));
                of_rank.last_call = rank.last_call();
            }
            let mut calls = self.calls(rank);
            for call in &mut calls {
                call.phase = phases.get(call.phase as usize).copied().unwrap_or(0);
            }
            for (context, wait) in losses.waits(rank.rank) {
                if let Some(call) = calls.get_mut(context as usize) {
                    call.waits.push(wait);
                }
            }
            calls.retain(|call| call.calls > 0 || !call.waits.is_empty() || !call.messages.is_empty());
            calls.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
            of_rank.communicators = communicators::of(&self.communicators, rank, &calls);
            of_rank.calls = calls;
            of_rank.traffic.clone_from(&rank.traffic);
            for row in &mut of_rank.traffic {
                row.phase = phases.get(row.phase as usize).copied().unwrap_or(0);
            }
            let observes = profile.backend == "peruse";
            of_rank.attributed = attribution::of(rank, &phases, observes);
            of_rank.left_out = rank.rows.left_out;
            of_rank.lost_regions = rank.rows.lost_regions;
            of_rank.mismatched_regions = rank.rows.mismatched_regions;
            of_rank.connections.clone_from(&rank.connections);
            for row in &mut of_rank.connections {
                row.phase = phases.get(row.phase as usize).copied().unwrap_or(0);
            }
        }
    }

    /// The calls of a rank by context, without what they have waited for.
    pub(crate) fn calls(&self, rank: &Rank) -> Vec<CallProfile> {
        let nanos = |ticks: u64| (rank.seconds(ticks) * 1e9) as u64;
        let rows = rank.rows.contexts.iter().zip(&rank.contexts);
        rows.map(|(row, context)| {
            let filled = row.bins.iter().enumerate().filter(|(_, count)| **count > 0);
            let bin = |(number, &count): (usize, &u32)| {
                let (low, high) = bounds(number);
                (nanos(low), nanos(high.saturating_add(1)), u64::from(count))
            };
            let receives = row.received > 0 || row.unexpected > 0;
            let function = mpi_functions::named(&context.function);
            let is_receive = function.is_some_and(mpi_functions::Function::receives);
            let expected = if receives && is_receive { row.calls.saturating_sub(row.unexpected) } else { 0 };
            CallProfile {
                thread: context.thread,
                function: context.function.to_string(),
                site: context.site,
                communicator: context.communicator,
                phase: context.phase,
                calls: row.calls,
                total_s: rank.seconds(row.ticks),
                max_s: rank.seconds(row.longest),
                bytes_sent: row.sent,
                bytes_received: row.received,
                times: Histogram(filled.map(bin).collect()),
                messages: MessagesFound {
                    expected,
                    unexpected: row.unexpected,
                    unexpected_bytes: row.unexpected_bytes,
                    search_s: rank.seconds(row.search_ticks),
                    longest_search_s: rank.seconds(row.longest_search),
                },
                waits: Vec::new(),
            }
        })
        .collect()
    }
}

/// The kind of wait that a rule is about, in `profile.json`.
pub(crate) fn kind(rule: Rule) -> WaitKind {
    match rule {
        Rule::LateSender => WaitKind::LateSender,
        Rule::LateReceiver => WaitKind::LateReceiver,
        Rule::WaitAtFence => WaitKind::Window,
        _ => WaitKind::Collective,
    }
}

/// A wait without anything in it yet.
pub(crate) fn wait(rule: Rule, peer: u32, peer_site: Option<u32>) -> WaitProfile {
    WaitProfile { kind: kind(rule), peer: Some(peer), peer_site, ..WaitProfile::default() }
}
