//! What the links of the network would carry under each placement, and a placement for which they carry less.

use mel_log::profile::Profile;
use mel_net::load::is_by_time;
use mel_net::ranks::{Map, place};
use mel_net::{Network, Shares, arrange, flows, load};
use mel_place::advice::Candidate;
use mel_place::{Advice, Graph, Slots, cost};
use mel_traffic::choice::Asked;
use mel_traffic::{Hosts, Rows};
use petgraph::graph::NodeIndex;

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
