//! The tables of all ranks as one: call sites and communicators have numbers that hold for the run, times are nanoseconds of one clock.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mel_log::names::of_communicator;
use mel_log::profile::phases::place_of;
use mel_log::profile::{
    CallProfile, CallSite, Connection, Ended, Histogram, LastCall, MessagesFound, NamedCommunicator, Profile,
    StackProfile, Traffic, WaitKind, WaitProfile,
};
use mel_log::table::layout::{STOPPED, bounds};
use mel_log::table::{ContextRow, StackRow, TableRows};
use mel_log::{Definition, Members};

use super::communicators;
use super::findings::Rule;
use super::losses::Losses;
use super::{attribution, connections, regions, traffic};

#[cfg(test)]
thread_local! {
    /// How many times contexts and peers were looked up.
    pub(crate) static LOOKED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

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

/// The clock of a rank beside the one of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// An instant in ticks and in nanoseconds of the clock of all ranks.
    instant: (u64, u64),
    /// Ticks per second. Each process has measured the rate of the one clock of its node for itself, a millionth more or less, which
    /// is milliseconds over the time since the machine was started: so all use what one has measured.
    rate: u64,
}

impl Clock {
    /// A time in nanoseconds of the clock of all ranks.
    fn nanos(self, ticks: u64) -> u64 {
        let (at, nanos) = self.instant;
        let since = i128::from(ticks) - i128::from(at);
        let since = since * 1_000_000_000 / i128::from(self.rate);
        (i128::from(nanos) + since).clamp(0, i128::from(u64::MAX)) as u64
    }

    /// In ticks of the rank: a time of the clock of all ranks.
    pub(crate) fn ticks(self, nanos: u64) -> u64 {
        let (at, then) = self.instant;
        let since = i128::from(nanos) - i128::from(then);
        (i128::from(at) + since * i128::from(self.rate) / 1_000_000_000).clamp(0, i128::from(u64::MAX)) as u64
    }
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
    /// Where it was outside of MPI.
    pub stacks: Vec<StackProfile>,
    /// Its clock.
    pub(crate) clock: Clock,
    /// When it entered `MPI_Finalize` or ended otherwise; where that is not known, when it or any other rank was last seen.
    until: u64,
    /// The contexts of calls that it is in, and that count as if they had returned.
    open: Vec<u32>,
    /// The place in [`Run::communicators`] of each communicator of the table, by its number.
    pub communicators: HashMap<u32, u32>,
    /// World ranks of the members, by the number of the communicator; of the remote group, for an intercommunicator.
    members: BTreeMap<u32, Members>,
}

impl Rank {
    /// A time in nanoseconds of the clock of all ranks.
    pub fn nanos(&self, ticks: u64) -> u64 {
        self.clock.nanos(ticks)
    }

    /// A duration in seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.rows.ticks_per_second as f64
    }

    /// From the exit of `MPI_Init*` to the entry of `MPI_Finalize`, or to the last thing known, but for the time that does not count, in
    /// seconds.
    pub fn run_s(&self) -> f64 {
        self.seconds(self.until.saturating_sub(self.rows.runs_since).saturating_sub(self.rows.stopped))
    }

    /// When it ended, as far as that is known, in nanoseconds of the clock of all ranks.
    pub fn ends(&self) -> u64 {
        self.nanos(self.until)
    }

    /// When it ended, as far as that is known, in its ticks.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }

    /// The rank did not come to an end that it has written down, and was there when any rank was seen last, in nanoseconds of the clock of
    /// all: calls that it is in count up to then.
    fn last_until(&mut self, seen: u64) {
        // Of one that runs it is known when it is looked at, and not here.
        if self.rows.runs_until > 0 || self.rows.is_running {
            return;
        }
        self.until = self.until.max(self.clock.ticks(seen));
        for thread in self.rows.threads.iter().filter(|thread| thread.is_in_call()) {
            if let Some(row) = self.rows.contexts.get_mut(thread.context as usize) {
                row.count(self.until.saturating_sub(thread.entered));
                self.open.push(thread.context);
            }
        }
    }

    /// How many calls of a context have returned.
    pub fn returned(&self, context: u32) -> u64 {
        let calls = self.rows.contexts.get(context as usize).map_or(0, |row| row.calls);
        calls.saturating_sub(self.open.iter().filter(|open| **open == context).count() as u64)
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
        #[cfg(test)]
        LOOKED.set(LOOKED.get() + 1);
        let number = self.contexts.get(context as usize)?.number;
        u32::try_from(self.members.get(&number)?.get(u32::try_from(rank).ok()?)?).ok()
    }

    /// World ranks of the members of a communicator, by its place in [`Run::communicators`], as this rank knows them; of the remote
    /// group, for an intercommunicator.
    pub fn members(&self, communicator: u32) -> Option<&Members> {
        let (number, _) = self.communicators.iter().find(|(_, place)| **place == communicator)?;
        self.members.get(number)
    }

    /// The size of the communicator of a context.
    pub fn size(&self, context: u32) -> Option<usize> {
        let number = self.contexts.get(context as usize)?.number;
        self.members.get(&number).map(Members::len)
    }

    /// A context by its number.
    pub fn context(&self, number: u32) -> Option<&Context> {
        #[cfg(test)]
        LOOKED.set(LOOKED.get() + 1);
        self.contexts.get(number as usize)
    }
}

/// What one table defines: names of its own numbers.
#[derive(Default)]
struct Defined {
    /// Modules by their first address: the end, what is added to addresses of the file, and the path.
    modules: BTreeMap<u64, (u64, u64, Rc<str>)>,
    functions: HashMap<u16, Rc<str>>,
    /// Places of communicators in [`Run::communicators`].
    numbers: HashMap<u32, u32>,
    members: BTreeMap<u32, Members>,
}

impl Defined {
    /// The module that an address lies in, and the address as its file counts.
    fn place(&self, address: u64) -> (Rc<str>, u64) {
        let module = self.modules.range(..=address).next_back().filter(|(_, module)| address < module.0);
        module.map_or_else(
            || ("".into(), address),
            |(_, (_, bias, path))| (Rc::clone(path), address.wrapping_sub(*bias)),
        )
    }
}

/// A run that is put together, and the places of what several ranks name.
struct Joined<R> {
    run: Run,
    resolve: R,
    sites: HashMap<(Rc<str>, u64), u32>,
    /// What is compiled twice, such as a template, has two addresses and is one place.
    same: HashMap<CallSite, u32>,
    communicators: HashMap<u64, u32>,
    /// By the place of a communicator: the line that made it, and the first of its ranks in `MPI_COMM_WORLD`.
    made: BTreeMap<u32, (String, i32)>,
    has_traffic: bool,
}

impl<R: FnMut(&str, u64) -> CallSite> Joined<R> {
    /// Takes what a table defines.
    fn definitions(&mut self, definitions: &[Definition]) -> Defined {
        let mut defined = Defined::default();
        for definition in definitions {
            match definition {
                Definition::Module { start, end, bias, path } => {
                    defined.modules.insert(*start, (*end, *bias, path.as_str().into()));
                }
                Definition::Function { number, name } => {
                    defined.functions.insert(*number, name.as_str().into());
                }
                Definition::Communicator { index, context, name, members, remote } => {
                    let place = self.communicator(*context, name, members, remote.as_ref());
                    defined.numbers.insert((*index).into(), place);
                    defined.members.insert((*index).into(), remote.as_ref().unwrap_or(members).clone());
                }
                Definition::CommunicatorMade { index, site } => {
                    let number = u32::from(*index);
                    let module = defined.modules.range(..=*site).next_back();
                    if let Some(place) = defined.numbers.get(&number)
                        && let Some((_, (_, bias, path))) = module.filter(|(_, module)| *site < module.0)
                    {
                        let line = (self.resolve)(path, site.wrapping_sub(*bias)).to_string();
                        // Without the function, where there is a line: `app.c:7 (main)`, or `main, app+0x668`.
                        let line = line.split(" (").next().unwrap_or_default().to_owned();
                        let first = defined.members.get(&number).and_then(|members| members.get(0));
                        self.made.entry(*place).or_insert((line, first.unwrap_or(0)));
                    }
                }
                Definition::CommunicatorName { index, name } if !name.is_empty() => {
                    if let Some(place) = defined.numbers.get(&u32::from(*index)) {
                        self.run.communicators[*place as usize].name.clone_from(name);
                    }
                }
                _ => {}
            }
        }
        defined
    }

    /// The place of a communicator. Its members are known where traffic was counted.
    fn communicator(&mut self, context: u64, name: &str, members: &Members, remote: Option<&Members>) -> u32 {
        let known = &mut self.run.communicators;
        *self.communicators.entry(context).or_insert_with(|| {
            let (name, size) = (name.to_owned(), members.len() as u32);
            let mut communicator = NamedCommunicator { context, name, size, ..NamedCommunicator::default() };
            if self.has_traffic {
                (communicator.members, communicator.remote) = (members.clone(), remote.cloned());
            }
            known.push(communicator);
            known.len() as u32 - 1
        })
    }

    /// Communicators without a name of the program's are called by the line that made them, and so are their windows.
    fn name_by_lines(&mut self) {
        let known = &mut self.run.communicators;
        let mut lines: HashMap<&str, usize> = HashMap::new();
        for (line, _) in self.made.values() {
            *lines.entry(line).or_default() += 1;
        }
        for (place, (line, first)) in &self.made {
            let unnamed = of_communicator(known[*place as usize].context);
            if known[*place as usize].name != unnamed {
                continue;
            }
            let among = match lines.get(line.as_str()) {
                Some(1) => String::new(),
                _ => format!(", from rank {first}"),
            };
            let name = format!("communicator made at {line}{among}");
            let of_windows = format!(" of {unnamed}");
            for window in known.iter_mut() {
                if let Some(window_of) = window.name.strip_suffix(&of_windows) {
                    window.name = format!("{window_of} of {name}");
                }
            }
            known[*place as usize].name = name;
        }
    }

    /// The context of a row.
    fn context(&mut self, row: &ContextRow, defined: &Defined, phases: &HashMap<u16, u32>) -> Context {
        let key = &row.key;
        let place = defined.place(key.site);
        Context {
            function: defined.functions.get(&key.function).cloned().unwrap_or_default(),
            thread: key.thread.into(),
            site: (key.site != 0).then(|| self.site(place)),
            communicator: defined.numbers.get(&key.communicator).copied(),
            phase: phases.get(&key.phase).copied().unwrap_or(0),
            number: key.communicator,
        }
    }

    /// A stack with its call sites; none of one that does not count.
    fn stack(
        &mut self,
        row: &StackRow,
        defined: &Defined,
        phases: &HashMap<u16, u32>,
    ) -> Option<StackProfile> {
        if row.samples == 0 || row.key.phase == STOPPED {
            return None;
        }
        let addresses = row.key.frames.iter().take_while(|address| **address != 0);
        let frames = addresses.map(|address| self.site(defined.place(*address))).collect();
        let phase = phases.get(&row.key.phase).copied().unwrap_or(0);
        Some(StackProfile { phase, samples: row.samples, frames })
    }

    /// The place of a call site in a module.
    fn site(&mut self, place: (Rc<str>, u64)) -> u32 {
        let known = &mut self.run.sites;
        *self.sites.entry(place).or_insert_with_key(|(path, offset)| {
            let site = (self.resolve)(path, *offset);
            let line = CallSite { offset: 0, ..site.clone() };
            let key = if site.line == 0 { site.clone() } else { line };
            *self.same.entry(key).or_insert_with(|| {
                known.push(site);
                known.len() as u32 - 1
            })
        })
    }
}

/// All ranks of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// Call sites.
    pub sites: Vec<CallSite>,
    /// Communicators.
    pub communicators: Vec<NamedCommunicator>,
    /// The names of the phases; the first, without a name, is for what belongs to none. Empty where there are none.
    pub phases: Vec<String>,
    /// By rank, ascending; some may be missing.
    pub ranks: Vec<Rank>,
    /// Whether times of different ranks can be compared: they are on one node, or their clocks were compared.
    pub has_one_clock: bool,
    places: HashMap<u32, usize>,
}

impl Run {
    /// The run whose ranks have left these tables.
    pub fn of(mut tables: Vec<TableRows>, resolve: impl FnMut(&str, u64) -> CallSite) -> Run {
        tables.sort_by_key(|table| table.rank);
        tables.dedup_by_key(|table| table.rank);
        let rate = tables.first().map_or(1, |first| first.ticks_per_second);
        let hosts: HashMap<u32, String> =
            tables.iter().map(|table| (table.rank, table.host.clone())).collect();
        let origin = tables.iter().map(|table| table.started).min().unwrap_or(0);
        let mut joined = Joined {
            run: Run::default(),
            resolve,
            sites: HashMap::new(),
            same: HashMap::new(),
            communicators: HashMap::new(),
            made: BTreeMap::new(),
            has_traffic: tables.iter().any(|table| !table.traffic.is_empty()),
        };
        for rows in tables {
            let defined = joined.definitions(&rows.definitions);
            let mut phases: HashMap<u16, u32> = HashMap::new();
            for phase in &rows.phases {
                phases.insert(phase.number, place_of(&mut joined.run.phases, &phase.name));
            }
            let context = |row: &ContextRow| joined.context(row, &defined, &phases);
            let contexts = rows.contexts.iter().map(context).collect();
            let names = traffic::Names {
                functions: &defined.functions,
                communicators: &defined.numbers,
                phases: &phases,
                regions: &regions::paths(&rows.definitions),
                members: &defined.members,
            };
            let traffic = traffic::of(&rows.traffic, &names);
            let connections = connections::of(&rows.connections, &phases, &hosts);
            let stacks = rows.stacks.iter().filter_map(|row| joined.stack(row, &defined, &phases)).collect();
            let (instant, rate) = match rows.clock {
                Some((ticks, nanos, _)) => ((ticks, nanos), rows.ticks_per_second),
                None => ((origin, 1_000_000_000), rate),
            };
            let run = &mut joined.run;
            run.places.insert(rows.rank, run.ranks.len());
            run.ranks.push(Rank {
                rank: rows.rank,
                contexts,
                until: rows.measured_until(),
                rows,
                traffic,
                connections,
                stacks,
                clock: Clock { instant, rate },
                open: Vec::new(),
                communicators: defined.numbers,
                members: defined.members,
            });
        }
        joined.name_by_lines();
        let mut run = joined.run;
        let is_one_node = hosts.values().all(|host| Some(host) == hosts.values().next());
        run.has_one_clock = is_one_node || run.ranks.iter().all(|rank| rank.rows.clock.is_some());
        let seen = run.ranks.iter().map(Rank::ends).max().filter(|_| run.has_one_clock).unwrap_or(0);
        run.ranks.iter_mut().for_each(|rank| rank.last_until(seen));
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
            }
            if of_rank.ended != Ended::Finalised {
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
            of_rank.stacks.clone_from(&rank.stacks);
            of_rank.stack_step = rank.rows.stack_step;
            for stack in &mut of_rank.stacks {
                stack.phase = phases.get(stack.phase as usize).copied().unwrap_or(0);
            }
            of_rank.stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
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
                bytes_given: row.given,
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
        Rule::WaitWithoutProgress => WaitKind::WithoutProgress,
        Rule::LateMember => WaitKind::LateMember,
        Rule::WaitAtFence | Rule::LatePost | Rule::EarlyWait | Rule::LockContention => WaitKind::Window,
        Rule::Polling => WaitKind::Polling,
        _ => WaitKind::Collective,
    }
}

/// A wait without anything in it yet.
pub(crate) fn wait(rule: Rule, peer: u32, peer_site: Option<u32>) -> WaitProfile {
    WaitProfile { kind: kind(rule), peer: Some(peer), peer_site, ..WaitProfile::default() }
}
