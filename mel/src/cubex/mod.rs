//! A profile as a Cube profile: the format of Scalasca and Score-P, which the Cube GUI opens.
//!
//! Three dimensions: metrics; a call tree of the program, with a child for each MPI function at each call site; and a system of nodes,
//! processes and threads. This file has the numbers; [`anchor`] their names; [`archive`] puts both into a file.
//!
//! All metrics are exclusive: the number of a node of the call tree does not have those of its children in it.

pub mod anchor;
pub mod archive;

use std::collections::BTreeMap;

use mel_log::profile::calls::CallProfile;
use mel_log::profile::quantities::calls::{CALLS, LOST};
use mel_log::profile::quantities::{Quantity, Unit};
use mel_log::profile::schema::{Profile, RankProfile};
use mel_log::profile::sums::{Names, calls, is_apart, run_s};

pub use archive::write;

/// A quantity of calls that Cube profiles have.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// What it is.
    pub quantity: &'static Quantity<CallProfile>,
    /// Its name for readers.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
}

/// The metrics of a file; their places are their numbers in it. Time comes first: readers show that.
pub fn metrics() -> Vec<Metric> {
    let of_calls = CALLS.iter().chain(LOST);
    let metric = |quantity: &'static Quantity<CallProfile>| {
        let [name, title] = quantity.cube?;
        Some(Metric { quantity, name, title })
    };
    let mut metrics: Vec<Metric> = of_calls.filter_map(metric).collect();
    metrics.sort_by_key(|metric| metric.name != "time");
    metrics
}

impl Metric {
    /// Whether its numbers are integers.
    pub fn is_integer(&self) -> bool {
        self.quantity.unit != Unit::Seconds
    }

    /// Its unit, as Cube has it.
    pub fn unit(&self) -> &'static str {
        match self.quantity.unit {
            Unit::Count => "occ",
            Unit::Seconds => "sec",
            other => other.symbol(),
        }
    }

    /// What it means; of time and calls, what the program itself has of them.
    pub fn description(&self, profile: &Profile) -> String {
        let of_program = match self.name {
            "time" => "; time of the program itself, between MPI_Init and MPI_Finalize, is outside of MPI",
            "visits" => "; the program itself has one in each process",
            _ => "",
        };
        format!("{}{of_program}; {}", self.quantity.sentence, self.quantity.basis.word_in(profile))
    }
}

/// A child of the program in the call tree: an MPI function at a call site.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// The MPI function.
    pub function: String,
    /// `file:line (function)`; empty where it is not known.
    pub site: String,
    /// The source file; empty where it is not known.
    pub file: String,
    /// The line in it; 0 where it is not known.
    pub line: u32,
}

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The place of its rank in the profile.
    rank: usize,
    /// Its number within the process.
    pub thread: u32,
}

/// What a file has.
#[derive(Debug)]
pub struct Cube<'a> {
    profile: &'a Profile,
    /// What its numbers are.
    metrics: Vec<Metric>,
    /// Children of the program; their numbers in the file are one greater than their places.
    nodes: Vec<Node>,
    /// Locations, those of a host together; their places are their numbers.
    locations: Vec<Location>,
    /// For each metric by the number of the node: a number for each location. Nodes without any are left out.
    values: Vec<BTreeMap<u32, Vec<f64>>>,
}

impl<'a> Cube<'a> {
    /// The cube of a profile.
    pub fn of(profile: &'a Profile) -> Cube<'a> {
        let names = Names::of(profile);
        let node = |call: &CallProfile| {
            let place = call.site.and_then(|place| profile.sites.get(place as usize));
            Node {
                function: call.function.clone(),
                site: names.name(call.site).unwrap_or_default().to_owned(),
                file: place.map(|place| place.file.clone()).unwrap_or_default(),
                line: place.map_or(0, |place| place.line),
            }
        };
        let mut numbers: BTreeMap<Node, u32> = BTreeMap::new();
        for call in profile.ranks.iter().flat_map(calls) {
            numbers.insert(node(call), 0);
        }
        for (number, entry) in (1..).zip(numbers.values_mut()) {
            *entry = number;
        }
        let locations = locations(profile);
        let metrics = metrics();
        let mut values = vec![BTreeMap::<u32, Vec<f64>>::new(); metrics.len()];
        for (place, location) in locations.iter().enumerate() {
            let rank = &profile.ranks[location.rank];
            let of_thread =
                rank.calls.iter().filter(|call| call.thread == location.thread && !is_apart(&call.function));
            let mut add = |metric: usize, node: u32, value: f64| {
                if value != 0.0 {
                    values[metric].entry(node).or_insert_with(|| vec![0.0; locations.len()])[place] += value;
                }
            };
            let mut in_mpi_s = 0.0;
            for call in of_thread {
                in_mpi_s += call.total_s;
                for (metric, Metric { quantity, .. }) in metrics.iter().enumerate() {
                    add(metric, numbers[&node(call)], (quantity.of)(call).unwrap_or(0.0));
                }
            }
            // How long other threads live is not known.
            if location.thread == 0 {
                for (metric, Metric { name, .. }) in metrics.iter().enumerate() {
                    match *name {
                        "time" => add(metric, 0, (run_s(profile, rank) - in_mpi_s).max(0.0)),
                        "visits" => add(metric, 0, 1.0),
                        _ => {}
                    }
                }
            }
        }
        // Readers want each metric to have a number.
        for numbers in values.iter_mut().filter(|numbers| numbers.is_empty()) {
            numbers.insert(0, vec![0.0; locations.len()]);
        }
        Cube { profile, metrics, nodes: numbers.into_keys().collect(), locations, values }
    }

    /// The program, as the root of the call tree.
    fn program(&self) -> &str {
        let program = self.profile.command.first().map_or("program", String::as_str);
        program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("program")
    }

    fn rank(&self, location: Location) -> &RankProfile {
        &self.profile.ranks[location.rank]
    }
}

/// The threads that made calls, and the first of each process: hosts in the order of their first ranks, ranks and threads ascending.
fn locations(profile: &Profile) -> Vec<Location> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut locations = Vec::new();
    for (place, rank) in profile.ranks.iter().enumerate() {
        let host = hosts.iter().position(|host| *host == rank.host).unwrap_or_else(|| {
            hosts.push(&rank.host);
            hosts.len() - 1
        });
        let mut threads: Vec<u32> = calls(rank).map(|call| call.thread).chain([0]).collect();
        threads.sort_unstable();
        threads.dedup();
        locations.extend(threads.into_iter().map(|thread| (host, Location { rank: place, thread })));
    }
    locations.sort_unstable();
    locations.into_iter().map(|(_, location)| location).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::{sample, sums};

    fn sum(cube: &Cube<'_>, name: &str) -> f64 {
        let metric = cube.metrics.iter().position(|metric| metric.name == name).unwrap();
        cube.values[metric].values().flatten().sum()
    }

    #[test]
    fn sums_are_those_of_the_profile() {
        let profile = sample::late_rank(10, 3);
        let (cube, whole) = (Cube::of(&profile), sums::whole(&profile));
        // Computing is the program's own.
        assert!((sum(&cube, "time") - sums::all_runs_s(&profile)).abs() < 1e-9);
        assert_eq!(sum(&cube, "visits"), whole.calls as f64 + 10.0);
        assert_eq!(sum(&cube, "bytes_sent"), whole.bytes_sent as f64);
        let lost =
            ["late_sender", "late_receiver", "wait_collective", "wait_window"].map(|name| sum(&cube, name));
        assert!((lost.iter().sum::<f64>() - whole.lost_s).abs() < 1e-9);
        assert_eq!((lost[1], lost[3]), (0.0, 0.0));
        assert_eq!(cube.nodes.len(), sums::by_site(&profile).len());
    }

    #[test]
    fn each_thread_is_a_location_of_its_host() {
        let mut profile = sample::healthy(3);
        for (rank, host) in ["a", "b", "a"].into_iter().enumerate() {
            profile.ranks[rank].host = host.into();
        }
        profile.ranks[0].calls[1].thread = 2;
        let cube = Cube::of(&profile);
        let of = |location: &Location| (cube.rank(*location).rank, location.thread);
        assert_eq!(cube.locations.iter().map(of).collect::<Vec<_>>(), [(0, 0), (0, 2), (2, 0), (1, 0)]);
    }

    #[test]
    fn a_metric_without_numbers_has_a_zero() {
        let profile = sample::healthy(2);
        assert!(Cube::of(&profile).values.iter().all(|numbers| !numbers.is_empty()));
    }
}
