//! A better placement of the ranks of a run: what is found by `mel_place`, for users.
//!
//! - [`terminal`]: as text.
//! - [`json`]: all numbers.
//! - [`links`]: how hot the hottest link of the network gets.
//! - [`traffic`]: the run's bytes and hosts.

pub mod json;
pub mod links;
pub mod terminal;
pub mod traffic;

use mel_log::profile::Profile;
use mel_place::{Advice, Graph, Slots, Topology};

/// What was found for a run.
#[derive(Debug)]
pub struct Found<'a> {
    /// The run.
    pub profile: &'a Profile,
    /// Where the topology is from, as a user would say it.
    pub source: String,
    /// Who exchanges how many bytes with whom.
    pub graph: Graph,
    /// The places that there are.
    pub slots: Slots,
    /// The placements that were compared.
    pub advice: Advice,
    /// What the hottest link of the network carries under each of them, where the network is known.
    pub links: Option<links::OnLinks>,
}

impl<'a> Found<'a> {
    /// Compares placements.
    pub fn new(profile: &'a Profile, graph: Graph, topology: &Topology, source: &str) -> Found<'a> {
        let slots = Slots::new(topology, &traffic::hosts(profile));
        let advice = mel_place::advise(&graph, &slots);
        Found { profile, source: source.to_owned(), graph, slots, advice, links: None }
    }

    /// Leaves out placements whose hottest link is hotter than the run's: the best of the others is advised.
    pub fn score_on(&mut self, links: links::OnLinks) {
        let cools = |place: usize| links.peaks[place] <= links.peaks[0];
        let costs = self.advice.candidates.iter().enumerate().filter(|(place, _)| cools(*place));
        let best = costs.min_by_key(|(place, candidate)| (candidate.cost.bytes_times_distance, *place));
        self.advice.best = best.map_or(0, |(place, _)| place);
        self.links = Some(links);
    }

    /// The placement that is advised: the run's own where no other is worth it.
    pub fn placement(&self) -> &[u32] {
        match self.advice.is_worth_it() {
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
