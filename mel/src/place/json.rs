//! Placements as JSON.

use mel_place::Cost;
use serde_json::{Value, json};

use super::{Found, Of};

/// All numbers.
pub fn json(found: &Found<'_>) -> Value {
    let Found { slots, advice, .. } = found;
    let before = &advice.before().placement;
    let placement = found.placement();
    let new_ranks = mel_place::files::new_ranks(before, placement);
    let candidates: Vec<Value> = advice
        .candidates
        .iter()
        .map(|candidate| json!({ "name": candidate.name, "cost": cost(found.of, &candidate.cost) }))
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
        "crowded_hosts": slots.crowded().collect::<Vec<_>>(),
        "hosts_where_ranks_were_bound": slots.bound_hosts(),
        "before": cost(found.of, &advice.before().cost),
        "after": cost(found.of, &advice.after().cost),
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

fn cost(of: Of, cost: &Cost) -> Value {
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
