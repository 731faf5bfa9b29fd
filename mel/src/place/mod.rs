//! A better placement of the ranks of a run: what is found by `mel_place`, for users.
//!
//! - [`terminal`]: as text.
//! - [`json`]: all numbers.
//! - [`traffic`]: the run's bytes and hosts.

pub mod json;
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
}

impl<'a> Found<'a> {
    /// Compares placements.
    pub fn new(profile: &'a Profile, graph: Graph, topology: &Topology, source: &str) -> Found<'a> {
        let slots = Slots::new(topology, &traffic::hosts(profile));
        let advice = mel_place::advise(&graph, &slots);
        Found { profile, source: source.to_owned(), graph, slots, advice }
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
