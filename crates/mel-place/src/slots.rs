//! The places that the ranks of a run may take, and how far they are from each other.
//!
//! A host has as many slots as it had ranks: a placement exchanges ranks, and never changes how many there are on a node. Where the ranks
//! were bound, each to a place of its own, the slots are these places. Else they are spread evenly over the cores, in order; over hardware
//! threads where there are more ranks than cores. On a host with more ranks than hardware threads no place is better than another.

use crate::Placement;
use crate::topology::{Leaf, Machine, Topology};

/// Levels inside a node: socket, die, third and second cache, core.
pub const INSIDE: usize = 5;

/// The level at which two slots come together: what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing: bytes go between nodes.
    Network,
    /// The node.
    Node,
    /// The socket.
    Socket,
    /// A die or a group of cores.
    Die,
    /// A cache of the third level.
    L3,
    /// A cache of the second level.
    L2,
    /// The core.
    Core,
}

impl Level {
    /// All levels, the outermost first.
    pub const ALL: [Level; INSIDE + 2] =
        [Level::Network, Level::Node, Level::Socket, Level::Die, Level::L3, Level::L2, Level::Core];

    /// The distance of two slots that have this in common, and nothing smaller. A ratio of costs, not a time: what crosses the network
    /// counts four times what crosses sockets, and that twice of what stays in a socket.
    pub const fn distance(self) -> u64 {
        match self {
            Level::Network => 32,
            Level::Node => 8,
            Level::Socket => 4,
            Level::Die => 3,
            Level::L3 => 2,
            Level::L2 => 1,
            Level::Core => 0,
        }
    }
}

/// Where a slot is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The host, as a place in [`Slots::hosts`].
    pub host: u32,
    /// Its hardware thread.
    pub leaf: Leaf,
    /// What it belongs to, from the node to the core; two slots share what is between them where the numbers are equal.
    groups: [u32; INSIDE + 1],
}

/// All slots, in the order of hosts and of their topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Whether the names are made up, because the topology has other nodes than the run had.
    pub names_made_up: bool,
    /// The slots.
    pub slots: Vec<Slot>,
    /// What each host is made of.
    machines: Vec<Machine>,
    /// Where the run's ranks were.
    run: Placement,
    /// On how many hosts that is so because they were bound there.
    bound: usize,
    /// Hosts that had more ranks than hardware threads.
    crowded: Vec<u32>,
}

impl Slots {
    /// The slots for a run whose ranks were on these hosts, in the order of ranks. Where the topology has as many nodes as the run had hosts,
    /// they are these, in the order of their first ranks; where it has another number, its nodes are taken instead, and the ranks are spread
    /// over them evenly, in order. `bound` has for each rank the processors that it might use, by the numbers of the operating system; none
    /// where that is not known.
    pub fn new(topology: &Topology, host_of_rank: &[&str], bound: &[Vec<u32>]) -> Slots {
        let mut hosts: Vec<String> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut host_of: Vec<usize> = host_of_rank
            .iter()
            .map(|host| {
                *places.entry(*host).or_insert_with(|| {
                    hosts.push((*host).to_owned());
                    hosts.len() - 1
                })
            })
            .collect();
        let machines = match topology {
            Topology::Each(machine) => vec![machine.clone(); hosts.len()],
            Topology::Nodes(machines) => machines.clone(),
        };
        let names_made_up = machines.len() != hosts.len();
        if names_made_up {
            let (nodes, ranks) = (machines.len(), host_of.len());
            hosts = (0..nodes).map(|node| format!("node{node}")).collect();
            host_of = (0..ranks).map(|rank| rank * nodes / ranks).collect();
        }
        let mut ranks_of: Vec<Vec<usize>> = vec![Vec::new(); hosts.len()];
        host_of.iter().enumerate().for_each(|(rank, host)| ranks_of[*host].push(rank));
        let mut slots = Slots {
            hosts,
            names_made_up,
            slots: Vec::new(),
            machines,
            run: vec![0; host_of.len()],
            bound: 0,
            crowded: Vec::new(),
        };
        let bound = if names_made_up { &[] } else { bound };
        let mut first_group = 1;
        for (host, ranks) in ranks_of.iter().enumerate() {
            first_group = slots.add_host(host, ranks, bound, first_group);
        }
        slots
    }

    /// Adds the slots of a host, with these ranks in the run. Returns the first number of a group for the next one.
    fn add_host(&mut self, host: usize, ranks: &[usize], bound: &[Vec<u32>], first_group: u32) -> u32 {
        let machine = &self.machines[host];
        let cores = machine.cores();
        let is_crowded = ranks.len() > machine.leaves.len();
        let places = if ranks.len() > cores.len() { machine.leaves.iter().collect() } else { cores };
        let spread =
            |(number, rank): (usize, &usize)| (*rank, places[number * places.len() / ranks.len()].clone());
        let where_bound = bound_places(machine, ranks, bound).filter(|_| !is_crowded);
        self.bound += usize::from(where_bound.is_some());
        let taken = where_bound.unwrap_or_else(|| ranks.iter().enumerate().map(spread).collect());
        for (number, (rank, leaf)) in (0..).zip(taken) {
            let mut groups = [first_group; INSIDE + 1];
            for (group, inside) in groups[1..].iter_mut().zip(leaf.groups) {
                // Of a host with too many ranks two slots have no more in common than the host.
                *group += 1 + if is_crowded { number } else { inside };
            }
            self.run[rank] = self.slots.len() as u32;
            self.slots.push(Slot { host: host as u32, leaf, groups });
        }
        if is_crowded {
            self.crowded.push(host as u32);
        }
        let greatest = machine.leaves.iter().flat_map(|leaf| leaf.groups).max().unwrap_or(0);
        first_group + greatest.max(ranks.len() as u32) + 2
    }

    /// Number of slots, which is that of ranks.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// On how many of the hosts the run's ranks are where they were bound.
    pub fn bound_hosts(&self) -> usize {
        self.bound
    }

    /// The hosts that had more ranks than hardware threads: within them no placement is better than another.
    pub fn crowded(&self) -> impl Iterator<Item = &str> {
        self.crowded.iter().map(|host| self.hosts[*host as usize].as_str())
    }

    /// Where the run's ranks were, as far as is known: where they were bound, or on their hosts, in ascending order over its slots.
    pub fn run(&self) -> &Placement {
        &self.run
    }

    /// What a host is made of.
    pub fn machine(&self, host: u32) -> &Machine {
        &self.machines[host as usize]
    }

    /// What two slots have in common.
    #[inline]
    pub fn common(&self, a: u32, b: u32) -> Level {
        let (a, b) = (&self.slots[a as usize].groups, &self.slots[b as usize].groups);
        Level::ALL[std::iter::zip(a, b).take_while(|(a, b)| a == b).count()]
    }

    /// Their distance ([`Level::distance`]).
    #[inline]
    pub fn distance(&self, a: u32, b: u32) -> u64 {
        self.common(a, b).distance()
    }

    /// Divides a range of slots that have `level` in common into those that have the next level in common.
    pub fn children(&self, range: std::ops::Range<usize>, level: usize) -> Vec<std::ops::Range<usize>> {
        let mut children: Vec<std::ops::Range<usize>> = Vec::new();
        for place in range {
            let same = |last: &std::ops::Range<usize>| {
                self.slots[last.start].groups[level] == self.slots[place].groups[level]
            };
            match children.last_mut() {
                Some(last) if same(last) => last.end = place + 1,
                _ => children.push(place..place + 1),
            }
        }
        children
    }

    /// Whether each core of each host has one rank: then the standard orders of launchers name exactly these slots.
    pub fn is_full(&self) -> bool {
        (0..self.hosts.len() as u32).all(|host| {
            self.slots.iter().filter(|slot| slot.host == host).count() == self.machine(host).cores().len()
        })
    }

    /// The numbers of objects below each object, from the nodes to the slots, where they are the same everywhere: levels with one object
    /// below each are left out. For each the number, and the distance of slots that it divides. None where the tree is uneven.
    pub fn uniform(&self) -> Option<Vec<(usize, u64)>> {
        let mut ranges: Vec<_> = std::iter::once(0..self.len()).collect();
        let mut levels = Vec::new();
        for level in 0..=INSIDE {
            let children: Vec<Vec<_>> =
                ranges.iter().map(|range| self.children(range.clone(), level)).collect();
            let number = children.first()?.len();
            if children.iter().any(|children| children.len() != number) {
                return None;
            }
            if number > 1 {
                levels.push((number, Level::ALL[level].distance()));
            }
            ranges = children.into_iter().flatten().collect();
        }
        let number = ranges.first()?.len();
        if ranges.iter().any(|range| range.len() != number) {
            return None;
        }
        if number > 1 {
            levels.push((number, Level::Core.distance()));
        }
        Some(levels)
    }
}

/// Where the ranks of a host were bound, in the order of the topology: each rank has a hardware thread of its own, and a core of its own
/// where the host has enough cores. `None`: a rank was not bound, or two ranks would have to share a hardware thread.
fn bound_places(machine: &Machine, ranks: &[usize], bound: &[Vec<u32>]) -> Option<Vec<(usize, Leaf)>> {
    let leaves = &machine.leaves;
    let places_of = |rank: usize| -> Option<Vec<usize>> {
        let numbers = bound.get(rank)?;
        let is_one = |leaf: &Leaf| leaf.of_system.is_some_and(|number| numbers.contains(&number));
        let places: Vec<usize> = (0..leaves.len()).filter(|place| is_one(&leaves[*place])).collect();
        (!places.is_empty() && places.len() < leaves.len()).then_some(places)
    };
    let mut wanted: Vec<(usize, Vec<usize>)> =
        ranks.iter().map(|rank| Some((*rank, places_of(*rank)?))).collect::<Option<_>>()?;
    // Who has the least choice chooses first.
    wanted.sort_by_key(|(rank, places)| (places.len(), *rank));
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (rank, places) in wanted {
        let of_core = |place: usize| {
            taken.iter().filter(|(other, _)| leaves[*other].core == leaves[place].core).count()
        };
        let is_free = |place: &usize| taken.iter().all(|(other, _)| other != place);
        let place = places.into_iter().filter(is_free).min_by_key(|place| (of_core(*place), *place))?;
        taken.push((place, rank));
    }
    taken.sort_unstable();
    Some(taken.into_iter().map(|(place, rank)| (rank, leaves[place].clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic;

    fn slots(topology: &str, hosts: &[&str]) -> Slots {
        Slots::new(&synthetic::parse(topology).unwrap(), hosts, &[])
    }

    fn bound(topology: &str, bound: &[&[u32]]) -> Slots {
        let bound: Vec<Vec<u32>> = bound.iter().map(|numbers| numbers.to_vec()).collect();
        Slots::new(&synthetic::parse(topology).unwrap(), &vec!["a"; bound.len()], &bound)
    }

    #[test]
    fn the_run_is_where_its_ranks_were_bound() {
        let found = bound("pack:2 core:2", &[&[3], &[0]]);
        assert_eq!((found.run(), found.bound_hosts()), (&vec![1, 0], 1));
        assert_eq!(found.slots.iter().map(|slot| slot.leaf.core).collect::<Vec<_>>(), [0, 3]);
        // To sockets: each has a core of its own there.
        let found = bound("pack:2 core:2", &[&[2, 3], &[0, 1], &[2, 3], &[0]]);
        assert_eq!(found.run(), &vec![2, 1, 3, 0]);
        // To cores with two threads: one of each.
        let found = bound("core:2 pu:2", &[&[2, 3], &[0, 1]]);
        assert_eq!(found.slots.iter().map(|slot| slot.leaf.core).collect::<Vec<_>>(), [0, 1]);
        for unknown in [&[&[0, 1, 2, 3][..], &[0]][..], &[&[9], &[0]], &[&[1], &[1]], &[&[], &[1]]] {
            let found = bound("pack:2 core:2", unknown);
            assert_eq!((found.run(), found.bound_hosts()), (&vec![0, 1], 0), "{unknown:?}");
        }
    }

    #[test]
    fn on_a_host_with_too_many_ranks_no_place_is_better() {
        let found = slots("node:2 core:2", &["a", "a", "a", "b", "b"]);
        assert_eq!(found.crowded().collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            [found.common(0, 1), found.common(0, 2), found.common(0, 3)],
            [Level::Node, Level::Node, Level::Network]
        );
        assert_eq!(found.common(3, 4), Level::Socket);
    }

    #[test]
    fn distances_grow_outwards() {
        let slots = slots("node:2 pack:2 l3:2 l2:2 core:2", &["a"; 32]);
        let of_first = |other| slots.common(0, other);
        assert_eq!(
            [1, 2, 4, 8, 16].map(of_first),
            [Level::L2, Level::L3, Level::Socket, Level::Node, Level::Network]
        );
        assert_eq!(of_first(0), Level::Core);
        let distances = Level::ALL.map(Level::distance);
        assert!(distances.windows(2).all(|pair| pair[0] > pair[1]), "{distances:?}");
    }

    #[test]
    fn hosts_keep_their_number_of_ranks() {
        let slots = slots("pack:2 core:2", &["b", "a", "b", "b"]);
        assert_eq!((slots.hosts.clone(), slots.names_made_up), (vec!["b".into(), "a".into()], false));
        assert_eq!(slots.run(), &[0, 3, 1, 2]);
        // Three ranks on four cores are spread over both sockets.
        assert_eq!(slots.slots.iter().map(|slot| slot.leaf.core).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert!(!slots.is_full() && slots.uniform().is_none());
    }

    #[test]
    fn other_nodes_are_filled_evenly() {
        let slots = slots("node:2 pack:2 core:4", &["a"; 16]);
        assert!(slots.names_made_up && slots.is_full());
        assert_eq!(slots.hosts, ["node0", "node1"]);
        assert_eq!(slots.run(), &(0..16).collect::<Vec<_>>());
        assert_eq!(slots.uniform(), Some(vec![(2, 32), (2, 8), (4, 4)]));
    }

    #[test]
    fn more_ranks_than_cores_share_them() {
        let slots = slots("core:2 pu:2", &["a"; 4]);
        assert_eq!(slots.slots.iter().map(|slot| slot.leaf.core).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!(slots.distance(0, 1), 0);
        assert_eq!(slots.uniform(), Some(vec![(2, 4), (2, 0)]));
    }
}
