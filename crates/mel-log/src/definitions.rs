//! What the numbers in the records mean: JSON lines inside the log.

use std::collections::{BTreeMap, BTreeSet};

use mpi_functions::{Function, Kind, Step};
use serde::{Deserialize, Serialize};

use super::format::Entry;
use super::profile::{Port, Resources};
use super::ranks::MOST_RANKS;

/// One definition: one line. A later line about the same number replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "define", rename_all = "snake_case")]
pub enum Definition {
    /// A source of events.
    Source {
        /// Its index among the sources.
        index: u32,
        /// Its unique name.
        name: String,
        /// What it is, in a sentence.
        description: String,
        /// `ordered` or `unordered`.
        ordering: String,
        /// Ticks of its clock in a second.
        ticks_per_second: u64,
    },
    /// An event type; its instances are records of kind `0x1000 + number`.
    EventType {
        /// Its index among the event types.
        number: u16,
        /// Its unique name.
        name: String,
        /// What it means, in a sentence.
        description: String,
        /// The kind of MPI object that it is bound to, for example `MPI_COMM`; empty for none.
        bind: String,
        /// The elements of its payload.
        elements: Vec<Element>,
    },
    /// Two event types of which the second ends what the first begins.
    Pair {
        /// The number of the first.
        begin: u16,
        /// The number of the second.
        end: u16,
        /// The number of the type of what was queued at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inserts: Option<u16>,
        /// The number of the type of what left a queue at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        removes: Option<u16>,
    },
    /// A stream of records.
    Stream {
        /// Its number in the headers of its chunks.
        number: u32,
        /// What it holds.
        kind: StreamKind,
        /// The application's thread: 0 for the one that initialised MPI.
        thread: u32,
        /// The source whose events it holds; none for calls.
        source: Option<u32>,
    },
    /// A communicator.
    Communicator {
        /// The `object` of the records about it.
        index: u16,
        /// Its identity, the same in all of its processes.
        context: u64,
        /// Its name.
        name: String,
        /// World rank of each of its ranks.
        members: Members,
        /// World rank of each rank of the remote group; none for an intracommunicator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<Members>,
    },
    /// What runs.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// The MPI library, as it names itself.
        mpi: String,
        /// Where the queue events come from.
        #[serde(default)]
        backend: String,
        /// Where those come from that are counted for comparison; empty for nowhere.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        second: String,
        /// The version of MEL that measures.
        #[serde(default)]
        mel_version: String,
        /// What is counted, as `profile.json` has it.
        #[serde(default)]
        profiled: Vec<String>,
        /// What has started the processes, in a few words; empty where that is not known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        launcher: String,
    },
    /// What an interface of the host has counted itself; known when the measurement ends.
    Port(Port),
    /// The processors that the thread that called `MPI_Init*` may use.
    Processors {
        /// Their numbers.
        allowed: Members,
        /// How many its control group may use at a time; none where there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quota: Option<f64>,
        /// How many the host has; 0 where that is not known.
        #[serde(default)]
        online: u32,
    },
    /// What the operating system has counted of the process until now: at the begin of the measurement, and at its end.
    Resources {
        /// All of it.
        counted: Resources,
    },
    /// What that thread has got of them until now, in nanoseconds: at the begin of the measurement, and at its end.
    Scheduled {
        /// It was on a processor.
        used_nanos: u64,
        /// It could have run and had none.
        waited_nanos: u64,
    },
    /// A communicator that was defined before has another name now.
    CommunicatorName {
        /// The number of the communicator.
        index: u16,
        /// Its name.
        name: String,
    },
    /// A window.
    Window {
        /// The `object` of the records about it: the `n`-th window of this process.
        index: u16,
        /// World rank of each of its ranks.
        members: Members,
    },
    /// An MPI function.
    Function {
        /// Its number in the records.
        number: u16,
        /// Its name, for example `MPI_Send`.
        name: String,
    },
    /// The program, or a shared library, that has called MPI.
    Module {
        /// Its first address in the process.
        start: u64,
        /// The first address behind it.
        end: u64,
        /// What was added to the addresses in its file.
        bias: u64,
        /// Its file.
        path: String,
    },
    /// A phase of the program.
    Phase {
        /// Its number, from 1.
        number: u16,
        /// Its name.
        name: String,
    },
    /// A performance variable on one object, of which there are samples; or one that is only listed.
    Variable {
        /// Its number in the records.
        number: u32,
        /// Its name.
        name: String,
        /// What it means.
        #[serde(default)]
        description: String,
        /// Its class in lower case, for example `counter`.
        class: String,
        /// The communicator or window that it is read for; empty where it is bound to nothing.
        #[serde(default)]
        object: String,
        /// Whether it is one of the MPI's own.
        #[serde(default)]
        of_mpi: bool,
        /// The unit of its values; empty where that is not known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        unit: String,
        /// Whether its values are whole numbers of zero and more.
        #[serde(default)]
        is_whole: bool,
    },
    /// A place that calls MPI.
    Site {
        /// Its number in the records, from 1.
        number: u16,
        /// The address that its calls return to.
        address: u64,
    },
    /// What the user wanted to see, as patterns of names.
    Filter {
        /// Only these MPI functions, if any.
        only_calls: Vec<String>,
        /// Not these.
        no_calls: Vec<String>,
        /// Only these communicators, if any.
        only_comms: Vec<String>,
        /// Not these.
        no_comms: Vec<String>,
    },
    /// Recording was switched off for a while, once or more.
    Phases {},
    /// One reading of this process's clock beside the job's reference clock. With one reading the
    /// two differ by a constant, with two or more they drift apart linearly.
    ClockReading {
        /// Ticks of this process's clock.
        local_ticks: u64,
        /// The same instant in nanoseconds of the reference clock.
        reference_nanos: i64,
        /// How far that may be from the truth, in nanoseconds.
        #[serde(default)]
        error_nanos: u64,
    },
    /// A region of the program.
    Region {
        /// Its number, from 1.
        number: u16,
        /// Its name, behind those of the regions that it is in: `a/b/c`.
        path: String,
    },
    /// A performance variable that is attributed; or one that is only listed.
    Attributed {
        /// Its place among those that are attributed; none where it is only listed.
        place: Option<u16>,
        /// Its name.
        name: String,
        /// What it means.
        #[serde(default)]
        description: String,
        /// Its class in lower case, for example `counter`.
        class: String,
        /// The communicator that it is read for; empty where it is bound to nothing, or all communicators are taken together.
        #[serde(default)]
        object: String,
        /// Whether it is one of the MPI's own.
        #[serde(default)]
        of_mpi: bool,
        /// Its values in the table are in so many parts of what it counts in.
        #[serde(default)]
        parts: f64,
    },
    /// From where the program made a communicator: the return address of the call.
    CommunicatorMade {
        /// The number of the communicator.
        index: u16,
        /// The address in the process.
        site: u64,
    },
    /// This process idles by design, as the user says: that it waits is no loss.
    Idle {},
    /// What a plugin has told of this process.
    Told {
        /// The plugin.
        plugin: String,
        /// What it is about.
        name: String,
        /// The line.
        value: String,
    },
    /// A policy has set a control variable, or has tried to.
    Action {
        /// When, in ticks.
        at: u64,
        /// The policy.
        policy: String,
        /// What came of it: the name, the value, and how it reads back.
        outcome: String,
    },
}

/// What a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamKind {
    /// MPI calls and messages of one thread.
    Calls,
    /// Events of one source.
    Events,
    /// Samples of variables.
    Samples,
}

/// One element of the payload of an event type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Name of its MPI datatype, for example `MPI_INT`.
    pub datatype: String,
    /// Its offset from the start of the payload, in bytes.
    pub displacement: u32,
}

/// World ranks of the members of a group, in the order of their ranks in it, as runs: a row of a
/// process grid takes a few bytes, however long it is. There are never more than [`MOST_RANKS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(i32, u32, i32)>", into = "Vec<(i32, u32, i32)>")]
pub struct Members(Vec<(i32, u32, i32)>);

impl TryFrom<Vec<(i32, u32, i32)>> for Members {
    type Error = String;

    fn try_from(runs: Vec<(i32, u32, i32)>) -> Result<Members, String> {
        match runs.iter().map(|run| u64::from(run.1)).sum::<u64>() {
            all if all > u64::from(MOST_RANKS) => Err(format!("a group of {all} ranks")),
            _ => Ok(Members(runs)),
        }
    }
}

impl From<Members> for Vec<(i32, u32, i32)> {
    fn from(members: Members) -> Vec<(i32, u32, i32)> {
        members.0
    }
}

impl Members {
    /// The members in the order of their ranks.
    pub fn from_ranks(ranks: impl IntoIterator<Item = i32>) -> Members {
        let mut runs: Vec<(i32, u32, i32)> = Vec::new();
        for rank in ranks {
            match runs.last_mut() {
                Some((first, count @ 1, stride)) => {
                    *stride = rank.wrapping_sub(*first);
                    *count = 2;
                }
                Some((first, count, stride)) if member(*first, *count, *stride) == rank => *count += 1,
                _ => runs.push((rank, 1, 1)),
            }
        }
        Members(runs)
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.iter().map(|run| run.1 as usize).sum()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// World rank of the member of that rank.
    pub fn get(&self, rank: u32) -> Option<i32> {
        let mut rank = rank;
        for &(first, count, stride) in &self.0 {
            if rank < count {
                return Some(member(first, rank, stride));
            }
            rank -= count;
        }
        None
    }

    /// The world ranks in order.
    pub fn ranks(&self) -> impl Iterator<Item = i32> + '_ {
        self.0.iter().flat_map(|&(first, count, stride)| (0..count).map(move |i| member(first, i, stride)))
    }
}

fn member(first: i32, position: u32, stride: i32) -> i32 {
    first.wrapping_add((position as i32).wrapping_mul(stride))
}

/// An event type as a log defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Its unique name.
    pub name: String,
    /// What it means, in a sentence.
    pub description: String,
    /// The kind of MPI object that it is bound to; empty for none.
    pub bind: String,
    /// The elements of its payload.
    pub elements: Vec<Element>,
}

/// A source as a log defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its unique name.
    pub name: String,
    /// What it is, in a sentence.
    pub description: String,
    /// `ordered` or `unordered`.
    pub ordering: String,
    /// Ticks of its clock in a second.
    pub ticks_per_second: u64,
}

/// A stream as a log defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What it holds.
    pub kind: StreamKind,
    /// The application's thread.
    pub thread: u32,
    /// The source whose events it holds; none for calls.
    pub source: Option<u32>,
}

/// A communicator as a log defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Its identity, the same in all of its processes.
    pub context: u64,
    /// Its name.
    pub name: String,
    /// World rank of each of its ranks.
    pub members: Members,
    /// World rank of each rank of the remote group.
    pub remote: Option<Members>,
}

/// A module as a log defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The first address behind it.
    pub end: u64,
    /// What was added to the addresses in its file.
    pub bias: u64,
    /// Its file.
    pub path: String,
}

/// A performance variable on one object as a log defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledVariable {
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// Its class in lower case, for example `counter`.
    pub class: String,
    /// The communicator, window or interface that it was read for; empty where it is bound to nothing.
    pub object: String,
    /// The unit of its values; empty where that is not known.
    pub unit: String,
    /// Whether its values are whole numbers of zero and more.
    pub is_whole: bool,
}

/// What may follow the event type that begins a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The type that ends the pair.
    pub end: u16,
    /// The type of what was queued then.
    pub inserts: Option<u16>,
    /// The type of what left a queue then.
    pub removes: Option<u16>,
}

/// All definitions of a log, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the map of the definition of that name")]
pub struct Definitions {
    pub sources: BTreeMap<u32, Source>,
    pub event_types: BTreeMap<u16, EventType>,
    pub streams: BTreeMap<u32, Stream>,
    pub communicators: BTreeMap<u16, Communicator>,
    /// The members of each window.
    pub windows: BTreeMap<u16, Members>,
    pub functions: BTreeMap<u16, String>,
    /// By their first addresses.
    pub modules: BTreeMap<u64, Module>,
    /// The addresses that calls return to, by the numbers of their sites.
    pub sites: BTreeMap<u16, u64>,
    /// By the event type that begins a pair: the others.
    pub pairs: BTreeMap<u16, Ending>,
    /// The functions that test requests.
    pub testing: BTreeSet<u16>,
    /// What was left out, in words; empty where that is nothing.
    pub filtered: String,
    /// Performance variables that were sampled, by number.
    pub variables: BTreeMap<u32, SampledVariable>,
    /// Whether recording was switched off for a while.
    pub phases: bool,
    /// Phases that the program has named, by number.
    pub phase_names: BTreeMap<u16, String>,
    /// Regions of the program, by number: `a/b/c`.
    pub regions: BTreeMap<u16, String>,
    /// Whether the process idles by design, as the user says.
    pub idle: bool,
    /// Pairs of local ticks and nanoseconds of the reference clock, in the order of the log.
    pub clock_readings: Vec<(u64, i64)>,
    /// How far the readings of the reference clock may be from the truth, in nanoseconds.
    pub clock_error_nanos: u64,
    /// Whole lines that this version does not understand.
    pub not_understood: usize,
}

impl Definitions {
    /// Reads JSON lines. A last line without its line feed is torn and left out; a line that is not
    /// understood is counted.
    pub fn parse(text: &[u8]) -> Definitions {
        let mut definitions = Definitions::default();
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        for line in text[..whole].split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(definition) => definitions.add(definition),
                Err(_) => definitions.not_understood += 1,
            }
        }
        definitions
    }

    /// The address that the call of an entry returns to; 0 where it is not known.
    pub fn returns_to(&self, entry: Entry) -> u64 {
        match entry {
            Entry { returns_to: 0, site: 0, .. } => 0,
            Entry { returns_to: 0, site, .. } => self.sites.get(&site).copied().unwrap_or(0),
            Entry { returns_to, .. } => returns_to,
        }
    }

    /// The module that an address of the process is in.
    pub fn module_of(&self, address: u64) -> Option<&Module> {
        let (_, module) = self.modules.range(..=address).next_back()?;
        (address < module.end).then_some(module)
    }

    /// Adds one definition, replacing one of the same number.
    pub fn add(&mut self, definition: Definition) {
        match definition {
            Definition::Source { index, name, description, ordering, ticks_per_second } => {
                self.sources.insert(index, Source { name, description, ordering, ticks_per_second });
            }
            Definition::EventType { number, name, description, bind, elements } => {
                self.event_types.insert(number, EventType { name, description, bind, elements });
            }
            Definition::Stream { number, kind, thread, source } => {
                self.streams.insert(number, Stream { kind, thread, source });
            }
            Definition::Communicator { index, context, name, members, remote } => {
                self.communicators.insert(index, Communicator { context, name, members, remote });
            }
            Definition::Pair { begin, end, inserts, removes } => {
                self.pairs.insert(begin, Ending { end, inserts, removes });
            }
            Definition::Program { .. }
            | Definition::Port(_)
            | Definition::Processors { .. }
            | Definition::Scheduled { .. }
            | Definition::Resources { .. }
            | Definition::Attributed { .. }
            | Definition::CommunicatorMade { .. }
            | Definition::Told { .. }
            | Definition::Action { .. } => {}
            Definition::Variable { number, name, description, class, object, unit, is_whole, of_mpi: _ } => {
                let variable = SampledVariable { name, description, class, object, unit, is_whole };
                self.variables.insert(number, variable);
            }
            Definition::CommunicatorName { index, name } => {
                if let Some(communicator) = self.communicators.get_mut(&index) {
                    communicator.name = name;
                }
            }
            Definition::Window { index, members } => {
                self.windows.insert(index, members);
            }
            Definition::Filter { only_calls, no_calls, only_comms, no_comms } => {
                let lists = [
                    ("only calls", only_calls),
                    ("no calls", no_calls),
                    ("only communicators", only_comms),
                    ("no communicators", no_comms),
                ];
                let given = lists.iter().filter(|(_, list)| !list.is_empty());
                let given: Vec<String> =
                    given.map(|(what, list)| format!("{what} {}", list.join(", "))).collect();
                self.filtered = given.join("; ");
            }
            Definition::Module { start, end, bias, path } => {
                self.modules.insert(start, Module { end, bias, path });
            }
            Definition::Site { number, address } => {
                self.sites.insert(number, address);
            }
            Definition::Phases {} => self.phases = true,
            Definition::Phase { number, name } => {
                self.phase_names.insert(number, name);
            }
            Definition::Region { number, path } => {
                self.regions.insert(number, path);
            }
            Definition::Idle {} => self.idle = true,
            Definition::Function { number, name } => {
                let tests = |of: &Function| {
                    of.step == Step::Tests && matches!(of.kind, Kind::Completion | Kind::Request)
                };
                if mpi_functions::named(&name).is_some_and(tests) {
                    self.testing.insert(number);
                }
                self.functions.insert(number, name);
            }
            Definition::ClockReading { local_ticks, reference_nanos, error_nanos } => {
                self.clock_error_nanos = self.clock_error_nanos.max(error_nanos);
                self.clock_readings.push((local_ticks, reference_nanos));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(number: u16, name: &str) -> Definition {
        Definition::Function { number, name: name.into() }
    }

    #[test]
    fn members_are_runs() {
        for ranks in
            [vec![], vec![4], vec![0, 1, 2, 3], vec![3, 7, 11, 0], vec![5, 5, 5], vec![2, 1, 0, 9, 4]]
        {
            let members = Members::from_ranks(ranks.iter().copied());
            assert_eq!(members.ranks().collect::<Vec<_>>(), ranks);
            assert_eq!(members.len(), ranks.len());
            for (i, rank) in ranks.iter().enumerate() {
                assert_eq!(members.get(i as u32), Some(*rank));
            }
            assert_eq!(members.get(ranks.len() as u32), None);
        }
        let column = Members::from_ranks((0..1000).map(|i| i * 64));
        assert_eq!(serde_json::to_string(&column).unwrap(), "[[0,1000,64]]");
    }

    #[test]
    fn a_line_looks_as_documented() {
        let line = serde_json::to_string(&Definition::Communicator {
            index: 0,
            context: 1,
            name: "MPI_COMM_WORLD".into(),
            members: Members::from_ranks(0..4),
            remote: None,
        });
        assert_eq!(
            line.unwrap(),
            r#"{"define":"communicator","index":0,"context":1,"name":"MPI_COMM_WORLD","members":[[0,4,1]]}"#
        );
        let line = serde_json::to_string(&Definition::Stream {
            number: 1,
            kind: StreamKind::Events,
            thread: 0,
            source: Some(2),
        });
        assert_eq!(line.unwrap(), r#"{"define":"stream","number":1,"kind":"events","thread":0,"source":2}"#);
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_an_unknown_one_counted() {
        let mut text = serde_json::to_vec(&function(3, "MPI_Send")).unwrap();
        text.extend_from_slice(b"\n{\"define\":\"from the future\"}\n");
        let whole = Definitions::parse(&text);
        assert_eq!(whole.functions[&3], "MPI_Send");
        assert_eq!(whole.not_understood, 1);
        text.extend_from_slice(&serde_json::to_vec(&function(4, "MPI_Recv")).unwrap());
        assert_eq!(Definitions::parse(&text), whole);
        assert_eq!(Definitions::parse(b""), Definitions::default());
    }
}
