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

use mel_log::number::{general, size};
use mel_log::profile::Profile;
use mel_place::advice::LEAST_GAIN;
use mel_place::{Advice, Graph, Slots, Topology};

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
    /// The places that there are.
    pub slots: Slots,
    /// The placements that were compared.
    pub advice: Advice,
    /// What the hottest link of the network carries under each of them, where the network is known.
    pub links: Option<links::OnLinks>,
}

impl<'a> Found<'a> {
    /// Compares placements.
    pub fn new(
        profile: &'a Profile,
        (of, graph): (Of, Graph),
        topology: &Topology,
        source: &str,
    ) -> Found<'a> {
        let slots = Slots::new(topology, &mel_traffic::hosts_of_ranks(profile), &bound(profile));
        let advice = mel_place::advise(&graph, &slots);
        Found { profile, source: source.to_owned(), of, graph, slots, advice, links: None }
    }

    /// Leaves out placements whose hottest link is hotter than the run's, or that cost more. Of the others that is advised whose hottest
    /// link is coolest, if it is much cooler than the run's; else that which costs least.
    pub fn score_on(&mut self, links: links::OnLinks) {
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
