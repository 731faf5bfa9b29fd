//! The best placement that is found, and whether moving is worth it.

use crate::exchange::exchange;
use crate::hierarchical::hierarchical;
use crate::scotch::{ScotchError, scotch};
use crate::slots::Level;
use crate::standard::Order;
use crate::{Graph, Placement, Slots};

/// The least part of the cost that a placement has to save: below that the model says nothing.
pub const LEAST_GAIN: f64 = 0.05;
/// About how many steps all exchanges together may take ([`exchange`]).
const STEPS: u64 = 300_000_000;
/// Hierarchical placements that are made of a small run; of large ones fewer.
const SEEDS: u64 = 8;
/// Edges beyond which one is made.
const MANY_EDGES: usize = 100_000;

/// One way to place the ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Where it is from: `run`, `core`, `socket`, `node`, `hierarchical`, `scotch`; of others who add theirs, what they call it.
    pub name: &'static str,
    /// What it costs.
    pub cost: Cost,
    /// The placement.
    pub placement: Placement,
}

/// What is found for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// All that was compared; the first is the run's own.
    pub candidates: Vec<Candidate>,
    /// Which of them is the best, as a place in `candidates`. Of equal ones it is the first, so that the run's own is kept before any other,
    /// and a standard order is preferred to a file.
    pub best: usize,
    /// Why there is none by libscotch.
    pub without_scotch: Option<ScotchError>,
    /// Whether the bytes of all pairs are 0.
    pub is_silent: bool,
}

impl Advice {
    /// What the run had.
    pub fn before(&self) -> &Candidate {
        &self.candidates[0]
    }

    /// The best.
    pub fn after(&self) -> &Candidate {
        &self.candidates[self.best]
    }

    /// Which part of the cost the best saves; never below 0.
    pub fn gain(&self) -> f64 {
        let [before, after] = [self.before(), self.after()].map(|one| one.cost.bytes_times_distance as f64);
        if before > 0.0 { 1.0 - after / before } else { 0.0 }
    }

    /// Whether that is enough to change anything.
    pub fn is_worth_it(&self) -> bool {
        self.gain() >= LEAST_GAIN
    }
}

/// Compares the run's own placement with those of launchers, of the hierarchical method and of libscotch. The result costs never more than
/// the run's, and is the same each time.
pub fn advise(graph: &Graph, slots: &Slots) -> Advice {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut add = |name, placement: Placement| {
        candidates.push(Candidate { name, cost: cost(graph, slots, &placement), placement });
    };
    add("run", slots.run().clone());
    for order in Order::ALL {
        add(order.name(), order.placement(slots));
    }
    let is_silent = graph.total() == 0;
    let mut without_scotch = None;
    if !is_silent {
        let seeds = (SEEDS * MANY_EDGES as u64 / (graph.edges() as u64 * SEEDS).max(1)).clamp(1, SEEDS);
        let steps = STEPS / (seeds + 2);
        let improved = |mut placement: Placement| {
            exchange(graph, slots, &mut placement, steps);
            placement
        };
        let of_seeds = (0..seeds).map(|seed| improved(hierarchical(graph, slots, seed)));
        if let Some(best) =
            of_seeds.min_by_key(|placement| cost(graph, slots, placement).bytes_times_distance)
        {
            add("hierarchical", best);
        }
        match scotch(graph, slots) {
            Ok(placement) => add("scotch", improved(placement)),
            Err(error) => without_scotch = Some(error),
        }
    }
    let costs = candidates.iter().map(|candidate| candidate.cost.bytes_times_distance);
    let best = costs.enumerate().min_by_key(|(_, cost)| *cost).map_or(0, |(best, _)| best);
    Advice { candidates, best, without_scotch, is_silent }
}

/// The cost of a placement. The bytes are observed, and are messages where the graph counts these; the distances, those of [`Level`], are
/// estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Σ bytes × distance over all pairs of ranks.
    pub bytes_times_distance: u128,
    /// Bytes between ranks on different nodes.
    pub between_nodes: u128,
    /// Bytes between ranks on the same node, on different sockets.
    pub between_sockets: u128,
    /// Bytes between ranks on the same socket.
    pub within_sockets: u128,
}

/// The cost of a placement, which has an entry for each rank of the graph.
pub fn cost(graph: &Graph, slots: &Slots, placement: &[u32]) -> Cost {
    let mut cost = Cost::default();
    for (a, b, bytes) in graph.pairs() {
        let (level, bytes) = (slots.common(placement[a as usize], placement[b as usize]), u128::from(bytes));
        cost.bytes_times_distance += bytes * u128::from(level.distance());
        match level {
            Level::Network => cost.between_nodes += bytes,
            Level::Node => cost.between_sockets += bytes,
            _ => cost.within_sockets += bytes,
        }
    }
    cost
}
