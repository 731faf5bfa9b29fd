//! A better placement of the ranks of a run: what is found by `mel_place`, for users.
//!
//! - [`graph`]: the run's bytes.
//! - [`OnLinks`]: how hot the hottest link of the network gets.
//! - [`json`](fn@json): all numbers; [`terminal`]: as text.

pub mod terminal;
pub mod trial;

use mel_log::number::{general, size};
use mel_log::profile::Profile;
use mel_net::load::is_by_time;
use mel_net::ranks::{Map, place};
use mel_net::{Network, Shares, arrange, flows, load};
use mel_place::advice::{Candidate, LEAST_GAIN};
use mel_place::{Advice, Cost, Graph, Slots, Topology, cost};
use mel_traffic::choice::Asked;
use mel_traffic::{Cell, Choice, ChoiceError, Hosts, Matrix, Rows};
use petgraph::graph::NodeIndex;
use serde_json::{Value, json};

/// Hottest links up to this many times as hot as the coolest of them count the same.
const ALIKE: f64 = 1.02;

/// What counts between two ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Of {
    /// How many bytes they send each other
    #[default]
    Bytes,
    /// How many messages they send each other
    Messages,
}

impl Of {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Of::Bytes => "bytes",
            Of::Messages => "messages",
        }
    }

    /// An amount of it, with its unit.
    pub fn amount(self, number: u128) -> String {
        match self {
            Of::Bytes => size(number as f64),
            Of::Messages => general(number as f64),
        }
    }
}

/// For each rank the processors that it might use; none where that is not known.
fn bound(profile: &Profile) -> Vec<Vec<u32>> {
    let mut bound = vec![Vec::new(); profile.world_size as usize];
    for rank in &profile.ranks {
        let (Some(processors), Some(of_rank)) = (&rank.processors, bound.get_mut(rank.rank as usize)) else {
            continue;
        };
        of_rank.extend(processors.allowed.ranks().filter_map(|number| u32::try_from(number).ok()));
    }
    bound
}

/// What was found for a run.
#[derive(Debug)]
pub struct Found<'a> {
    /// The run.
    pub profile: &'a Profile,
    /// Where the topology is from, as a user would say it.
    pub source: String,
    /// What is counted between ranks.
    pub of: Of,
    /// Who exchanges how much of that with whom.
    pub graph: Graph,
    /// Collective operations of which that are the messages that the library has made of them.
    pub inside: Vec<String>,
    /// The places that there are.
    pub slots: Slots,
    /// The placements that were compared.
    pub advice: Advice,
    /// What the hottest link of the network carries under each of them, where the network is known.
    pub links: Option<OnLinks>,
}

impl<'a> Found<'a> {
    /// Compares placements.
    pub fn new(
        profile: &'a Profile,
        of: Of,
        (graph, inside): (Graph, Vec<String>),
        topology: &Topology,
        source: &str,
    ) -> Found<'a> {
        let slots = Slots::new(topology, &mel_traffic::hosts_of_ranks(profile), &bound(profile));
        let advice = mel_place::advise(&graph, &slots);
        Found { profile, source: source.to_owned(), of, graph, inside, slots, advice, links: None }
    }

    /// Leaves out placements whose hottest link is hotter than the run's, or that cost more. Of the others that is advised whose hottest
    /// link is coolest, if it is much cooler than the run's; else that which costs least.
    pub fn score_on(&mut self, links: OnLinks) {
        let cost = |place: usize| self.advice.candidates[place].cost.bytes_times_distance;
        let is_no_worse = |place: &usize| links.peaks[*place] <= links.peaks[0] && cost(*place) <= cost(0);
        let all: Vec<usize> = (0..self.advice.candidates.len()).filter(is_no_worse).collect();
        let coolest = all.iter().map(|place| links.peaks[*place]).fold(f64::INFINITY, f64::min);
        let is_cool = coolest <= (1.0 - LEAST_GAIN) * links.peaks[0];
        let limit = if is_cool { coolest * ALIKE } else { f64::INFINITY };
        let best = all.into_iter().filter(|place| links.peaks[*place] <= limit);
        self.advice.best = best.min_by_key(|place| (cost(*place), *place)).unwrap_or(0);
        self.links = Some(links);
    }

    /// Whether moving is worth it: it saves enough of the cost, or cools the hottest link by as much.
    pub fn is_worth_it(&self) -> bool {
        self.advice.is_worth_it() || self.link_gain() >= LEAST_GAIN
    }

    /// By which part of its load the advised placement cools the hottest link; 0 where the network is not known.
    pub fn link_gain(&self) -> f64 {
        let peaks = self.links.as_ref().map(|links| (links.peaks[0], links.peaks[self.advice.best]));
        peaks.filter(|(before, _)| *before > 0.0).map_or(0.0, |(before, after)| 1.0 - after / before)
    }

    /// The placement that is advised: the run's own where no other is worth it.
    pub fn placement(&self) -> &[u32] {
        match self.is_worth_it() {
            true => &self.advice.after().placement,
            false => &self.advice.before().placement,
        }
    }

    /// The option of `mpirun` that does the same, where there is one: each core has a rank, and the order is one of Open MPI's.
    pub fn map_by(&self) -> Option<&'static str> {
        let order = mel_place::standard::Order::ALL
            .into_iter()
            .find(|order| order.placement(&self.slots) == self.placement())?;
        self.slots.is_full().then(|| order.name())
    }
}

/// Who exchanges how much with whom, in what was asked for; without any choice in all that the program asks for, with collective operations as
/// the library sends them where that was observed: the names of these operations.
///
/// # Errors
/// [`ChoiceError`]: the profile does not say so, or has nothing of such a name.
pub fn graph(profile: &Profile, asked: Asked<'_>, of: Of) -> Result<(Graph, Vec<String>), ChoiceError> {
    let rows = Rows::of(profile);
    let mut choice = Choice::of(&rows, asked)?;
    if asked.kinds.is_none() {
        choice = choice.as_inside(&rows);
    }
    let matrix = Matrix::of(&rows, &choice);
    let weight = |cell: &Cell| match of {
        Of::Bytes => cell.bytes,
        Of::Messages => cell.messages,
    };
    let cells = matrix.cells.into_iter().map(|(sender, receiver, cell)| (sender, receiver, weight(&cell)));
    Ok((Graph::new(rows.size(), cells), choice.inside().map(str::to_owned).collect()))
}

/// Steps of the search for a placement: some seconds.
const STEPS: u64 = 40_000_000;

/// The hottest link under each placement. Modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct OnLinks {
    /// In the order of the candidates: seconds that the link needs at least where `by_time`, else bytes.
    pub peaks: Vec<f64>,
    /// Whether the capacity of all links is known.
    pub by_time: bool,
}

impl OnLinks {
    /// Adds a placement whose links carry less to the candidates, and sends what goes between ranks over the links under each of them.
    ///
    /// # Errors
    /// The hosts of the slots are not in the network.
    pub fn of(
        profile: &Profile,
        (network, map): (&Network, &Map),
        asked: Asked<'_>,
        graph: &Graph,
        (slots, advice): (&Slots, &mut Advice),
    ) -> anyhow::Result<OnLinks> {
        anyhow::ensure!(
            !map.has_ranks(),
            "--map puts ranks on hosts, and here they are moved: wanted are lines such as c001 = node1"
        );
        let rows = Rows::of(profile);
        let flows = flows(&rows, asked, &Hosts::of(profile, rows.size()).of_rank)?;
        let fabric = &network.fabric;
        let names: Vec<&str> =
            slots.slots.iter().map(|slot| slots.hosts[slot.host as usize].as_str()).collect();
        let placed = place(fabric, &names, map)?;
        anyhow::ensure!(
            placed.unknown.is_empty(),
            "{} of the run are not in the network: --map says which they are",
            placed.unknown.join(", ")
        );
        let host_of_slot: Vec<NodeIndex> = placed.host.into_iter().flatten().collect();
        if !advice.is_silent {
            let placement =
                arrange(fabric, &host_of_slot, &advice.candidates[0].placement, &flows.list, STEPS);
            advice.candidates.push(Candidate {
                name: "links",
                cost: cost(graph, slots, &placement),
                placement,
            });
        }
        let peak = |candidate: &Candidate| {
            let host = |slot: &u32| Some(host_of_slot[*slot as usize]);
            let host_of_rank: Vec<_> = candidate.placement.iter().map(host).collect();
            load(fabric, &host_of_rank, &flows.list, &Shares::default()).peak(fabric)
        };
        let peaks = advice.candidates.iter().map(peak).collect();
        Ok(OnLinks { peaks, by_time: is_by_time(fabric) })
    }
}

/// All numbers.
pub fn json(found: &Found<'_>) -> Value {
    let Found { slots, advice, .. } = found;
    let before = &advice.before().placement;
    let placement = found.placement();
    let new_ranks = mel_place::files::new_ranks(before, placement);
    let candidates: Vec<Value> = advice
        .candidates
        .iter()
        .map(|candidate| json!({ "name": candidate.name, "cost": json_of_cost(found.of, &candidate.cost) }))
        .collect();
    let of_rank = |rank: usize| {
        let slot = &slots.slots[placement[rank] as usize];
        let host = &slots.hosts[slot.host as usize];
        json!({ "rank": rank, "host": host, "socket": slot.leaf.socket, "core": slot.leaf.core, "split_key": new_ranks[rank] })
    };
    json!({
        "ranks": slots.len(),
        "topology": found.source,
        "hosts": slots.hosts,
        "host_names_made_up": slots.names_made_up,
        "of": found.of.name(),
        found.of.name(): capped(found.graph.total()),
        "as_the_library_sends": found.inside,
        "crowded_hosts": slots.crowded().collect::<Vec<_>>(),
        "hosts_where_ranks_were_bound": slots.bound_hosts(),
        "before": json_of_cost(found.of, &advice.before().cost),
        "after": json_of_cost(found.of, &advice.after().cost),
        "best": advice.after().name,
        "gain": advice.gain(),
        "move": found.is_worth_it(),
        "hottest_link": found.links.as_ref().map(|links| json!({
            "unit": if links.by_time { "s" } else { "bytes" },
            "before": links.peaks[0],
            "after": links.peaks[advice.best],
        })),
        "map_by": found.map_by(),
        "candidates": candidates,
        "without_scotch": advice.without_scotch.as_ref().map(ToString::to_string),
        "placement": (0..slots.len()).map(of_rank).collect::<Vec<_>>(),
    })
}

fn json_of_cost(of: Of, cost: &Cost) -> Value {
    let of = of.name();
    json!({
        format!("{of}_times_distance"): capped(cost.bytes_times_distance),
        format!("{of}_between_nodes"): capped(cost.between_nodes),
        format!("{of}_between_sockets"): capped(cost.between_sockets),
        format!("{of}_within_sockets"): capped(cost.within_sockets),
    })
}

/// The greatest number that JSON is sure to carry is that of 64 bits.
fn capped(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mel_log::profile::RankProfile;

    #[test]
    fn a_profile_without_traffic_has_no_graph() {
        let profile = Profile { world_size: 2, ranks: vec![RankProfile::default()], ..Profile::default() };
        assert!(
            graph(&profile, Asked::default(), Of::Bytes)
                .unwrap_err()
                .to_string()
                .contains("--profile matrix")
        );
    }
}
