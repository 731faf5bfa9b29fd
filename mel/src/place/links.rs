//! What the links of the network would carry under each placement.

use mel_log::profile::Profile;
use mel_net::load::is_by_time;
use mel_net::ranks::{Map, place};
use mel_net::{Network, Shares, flows, load};
use mel_place::{Advice, Slots};
use mel_traffic::choice::Asked;
use mel_traffic::{Hosts, Rows};

/// The hottest link under each placement. Modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct OnLinks {
    /// In the order of the candidates: seconds that the link needs at least where `by_time`, else bytes.
    pub peaks: Vec<f64>,
    /// Whether the capacity of all links is known.
    pub by_time: bool,
}

impl OnLinks {
    /// Sends what goes between ranks over the links, under each placement.
    ///
    /// # Errors
    /// The hosts of the slots are not in the network.
    pub fn of(
        profile: &Profile,
        (network, map): (&Network, &Map),
        asked: Asked<'_>,
        (slots, advice): (&Slots, &Advice),
    ) -> anyhow::Result<OnLinks> {
        anyhow::ensure!(
            !map.has_ranks(),
            "--map puts ranks on hosts, and here they are moved: wanted are lines such as c001 = node1"
        );
        let rows = Rows::of(profile);
        let flows = flows(&rows, asked, &Hosts::of(profile, rows.size()).of_rank)?;
        let fabric = &network.fabric;
        let peak = |placement: &[u32]| -> anyhow::Result<f64> {
            let host = |slot: &u32| slots.hosts[slots.slots[*slot as usize].host as usize].as_str();
            let names: Vec<&str> = placement.iter().map(host).collect();
            let placed = place(fabric, &names, map)?;
            anyhow::ensure!(
                placed.unknown.is_empty(),
                "{} of the run are not in the network: --map says which they are",
                placed.unknown.join(", ")
            );
            Ok(load(fabric, &placed.host, &flows.list, &Shares::default()).peak(fabric))
        };
        let peaks: Result<Vec<f64>, _> =
            advice.candidates.iter().map(|candidate| peak(&candidate.placement)).collect();
        Ok(OnLinks { peaks: peaks?, by_time: is_by_time(fabric) })
    }
}
