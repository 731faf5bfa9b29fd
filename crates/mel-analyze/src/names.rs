//! What the numbers of functions, call sites, communicators and windows stand for, in all ranks of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use mel_convert::callsites::CallSites;
use mel_log::definitions::Communicator;
use mel_log::{Members, RankLog};
use mel_verdict::findings;

use crate::model::{NO_COMMUNICATOR, NO_SITE, Site};

/// A function that the program has called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is; `None` where MPI has none of this name.
    pub about: Option<&'static mpi_functions::Function>,
}

impl Function {
    /// The function of this name.
    pub fn of(name: &str) -> Function {
        Function { name: name.to_owned(), about: mpi_functions::named(name) }
    }
}

/// A communicator, or the processes of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    /// Its name; empty for windows.
    pub name: String,
    /// World ranks of its ranks.
    pub members: Vec<u32>,
    /// World ranks of the other group, if there is one.
    pub remote: Option<Vec<u32>>,
}

impl Processes {
    /// How many there are, in both groups.
    pub fn count(&self) -> usize {
        self.members.len() + self.remote.as_ref().map_or(0, Vec::len)
    }

    /// The world rank that a rank of it, in the remote group if there is one, stands for.
    pub fn world(&self, rank: i32) -> Option<u32> {
        let members = self.remote.as_ref().unwrap_or(&self.members);
        members.get(usize::try_from(rank).ok()?).copied()
    }
}

/// The call at a site in words, as `MPI_Send at app.c:7 (main)`: of this function, else of the one that is known of the line.
pub(crate) fn call_at(lines: &[(String, Option<String>)], site: Site, function: Option<&str>) -> String {
    let line = lines.get(site as usize);
    let function = function.or_else(|| line?.1.as_deref()).unwrap_or("MPI");
    findings::call(function, line.map(|line| line.0.as_str()))
}

/// What the numbers of one log are for all logs.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// Functions, by their numbers in the log.
    pub functions: FxHashMap<u16, u16>,
    /// Communicators.
    pub communicators: FxHashMap<u16, u32>,
    /// Windows.
    pub windows: FxHashMap<u16, u32>,
    /// Phases.
    pub phases: FxHashMap<u16, u32>,
}

/// The names of a run.
#[derive(Debug, Default)]
pub struct Names {
    /// Functions.
    pub functions: Vec<Function>,
    /// Communicators.
    pub communicators: Vec<Processes>,
    /// Windows.
    pub windows: Vec<Processes>,
    /// Phases that the program has named.
    pub phases: Vec<String>,
    /// The paths of the regions that it has named.
    pub regions: Vec<String>,
    regions_by_path: FxHashMap<String, u32>,
    /// Ranks that idle by design, as the user says.
    pub idle: BTreeSet<u32>,
    sites: Mutex<Sites>,
}

#[derive(Debug, Default)]
struct Sites {
    numbers: FxHashMap<(String, u64), Site>,
    /// By site: the position of a log, the address there, and the function that is called.
    examples: Vec<(usize, u64, u16)>,
}

impl Names {
    /// The regions of this path and those that it lies in are known.
    fn add_region(&mut self, path: &str) {
        if path.is_empty() || self.regions_by_path.contains_key(path) {
            return;
        }
        if let Some(end) = path.rfind('/') {
            self.add_region(&path[..end]);
        }
        self.regions_by_path.insert(path.to_owned(), self.regions.len() as u32);
        self.regions.push(path.to_owned());
    }

    /// The region of this path.
    pub fn region(&self, path: &str) -> Option<u32> {
        self.regions_by_path.get(path).copied()
    }

    /// The names in these logs, and what the numbers of each log stand for.
    pub fn of(logs: &[RankLog]) -> (Names, Vec<Local>) {
        let mut names = Names::default();
        let mut functions: BTreeMap<String, u16> = BTreeMap::new();
        let mut communicators: FxHashMap<(u64, Vec<u32>), u32> = FxHashMap::default();
        let mut windows: FxHashMap<(Vec<u32>, usize), u32> = FxHashMap::default();
        let mut locals = Vec::new();
        for log in logs {
            let mut local = Local::default();
            for (number, name) in &log.definitions.functions {
                let known = *functions.entry(name.clone()).or_insert_with(|| {
                    names.functions.push(Function::of(name));
                    (names.functions.len() - 1) as u16
                });
                local.functions.insert(*number, known);
            }
            for (index, communicator) in &log.definitions.communicators {
                let Communicator { context, name, members, remote } = communicator;
                let (members, remote) = (world_ranks(members), remote.as_ref().map(world_ranks));
                let all = match &remote {
                    Some(remote) if remote < &members => [&remote[..], &members].concat(),
                    Some(remote) => [&members[..], remote].concat(),
                    None => members.clone(),
                };
                let known = *communicators.entry((*context, all)).or_insert_with(|| {
                    names.communicators.push(Processes { name: name.clone(), members, remote });
                    (names.communicators.len() - 1) as u32
                });
                local.communicators.insert(*index, known);
            }
            for (number, name) in &log.definitions.phase_names {
                let known = names.phases.iter().position(|known| known == name);
                let known = known.unwrap_or_else(|| {
                    names.phases.push(name.clone());
                    names.phases.len() - 1
                });
                local.phases.insert(*number, known as u32);
            }
            for path in log.definitions.regions.values() {
                names.add_region(path);
            }
            if log.definitions.idle {
                names.idle.insert(log.info.rank);
            }
            let mut made: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
            for (index, members) in &log.definitions.windows {
                let members = world_ranks(members);
                let before = made.entry(members.clone()).or_default();
                *before += 1;
                let known = *windows.entry((members.clone(), *before)).or_insert_with(|| {
                    names.windows.push(Processes { members, ..Processes::default() });
                    (names.windows.len() - 1) as u32
                });
                local.windows.insert(*index, known);
            }
            locals.push(local);
        }
        (names, locals)
    }

    /// The function of this number.
    pub fn function(&self, number: u16) -> Option<&Function> {
        self.functions.get(usize::from(number))
    }

    /// What the function of this number is, where MPI has one of its name.
    pub fn about(&self, number: u16) -> Option<&'static mpi_functions::Function> {
        self.function(number)?.about
    }

    /// The communicator of this number.
    pub fn communicator(&self, number: u32) -> Option<&Processes> {
        (number != NO_COMMUNICATOR).then(|| self.communicators.get(number as usize))?
    }

    /// The number of the call site of an address in the process of the log at this position, from which a function is called.
    pub fn site(&self, (position, log): (usize, &RankLog), address: u64, function: u16) -> Site {
        if address == 0 {
            return NO_SITE;
        }
        let module = log.definitions.module_of(address);
        let key = module.map_or((String::new(), address), |module| {
            (module.path.clone(), address.wrapping_sub(module.bias))
        });
        let mut sites = lock(&self.sites);
        let next = sites.examples.len() as Site;
        let known = *sites.numbers.entry(key).or_insert(next);
        if known == next {
            sites.examples.push((position, address, function));
        }
        known
    }

    /// The lines of all call sites with the functions that are called there, by their numbers.
    pub fn lines(&self, logs: &[RankLog]) -> Vec<(String, Option<String>)> {
        let mut known = CallSites::default();
        let examples = &lock(&self.sites).examples;
        let line = |(position, address, function): &(usize, u64, u16)| {
            let line = known.of(&logs[*position], *address).map(|line| line.to_string());
            (line.unwrap_or_default(), self.function(*function).map(|function| function.name.clone()))
        };
        examples.iter().map(line).collect()
    }
}

fn world_ranks(members: &Members) -> Vec<u32> {
    members.ranks().map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
