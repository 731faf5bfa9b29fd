//! A graph divided into two parts of given sizes, so that few bytes go between them.
//!
//! Multilevel: pairs of vertices with heavy edges are joined until the graph is small; it is divided there by growing a part around a
//! vertex; then it is taken apart again step by step, and each time the border is improved by moving vertices (Karypis and Kumar, SIAM J.
//! Sci. Comput. 20, 1998; Fiduccia and Mattheyses, DAC 1982).

use std::collections::BinaryHeap;

use fastrand::Rng;

/// A graph whose vertices stand for several ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted {
    starts: Vec<usize>,
    edges: Vec<(u32, i64)>,
    sizes: Vec<i64>,
}

/// Vertices that are not joined further.
const COARSEST: usize = 48;
/// How often a division of the coarsest graph is tried.
const TRIES: usize = 12;
/// How often the border of a graph is gone along.
const PASSES: usize = 8;

impl Weighted {
    /// A graph of single ranks from each vertex's neighbours.
    pub(crate) fn of(neighbours: impl Iterator<Item = Vec<(u32, i64)>>) -> Weighted {
        let mut graph = Weighted { starts: vec![0], ..Weighted::default() };
        for edges in neighbours {
            graph.edges.extend(edges);
            graph.starts.push(graph.edges.len());
            graph.sizes.push(1);
        }
        graph
    }

    fn len(&self) -> usize {
        self.sizes.len()
    }

    fn of_vertex(&self, vertex: usize) -> &[(u32, i64)] {
        &self.edges[self.starts[vertex]..self.starts[vertex + 1]]
    }

    /// The same with pairs of vertices joined along their heaviest edges, and the vertex that each has become a part of. `most` is how large
    /// a vertex may become.
    fn coarser(&self, most: i64, random: &mut Rng) -> (Weighted, Vec<u32>) {
        const NONE: u32 = u32::MAX;
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        random.shuffle(&mut order);
        let mut part_of = vec![NONE; self.len()];
        let mut members: Vec<[u32; 2]> = Vec::new();
        for vertex in order {
            if part_of[vertex as usize] != NONE {
                continue;
            }
            let size = self.sizes[vertex as usize];
            let free = |other: &&(u32, i64)| {
                part_of[other.0 as usize] == NONE
                    && other.0 != vertex
                    && size + self.sizes[other.0 as usize] <= most
            };
            let mate = self.of_vertex(vertex as usize).iter().filter(free).max_by_key(|(_, weight)| *weight);
            let mate = mate.map_or(vertex, |mate| mate.0);
            part_of[vertex as usize] = members.len() as u32;
            part_of[mate as usize] = members.len() as u32;
            members.push([vertex, mate]);
        }
        let mut coarse = Weighted { starts: vec![0], ..Weighted::default() };
        // Where the edge to each vertex is in the list of the one that is being made.
        let mut place = vec![usize::MAX; members.len()];
        for (number, [a, b]) in members.iter().enumerate() {
            let both = if a == b { &[*a][..] } else { &[*a, *b][..] };
            let start = coarse.edges.len();
            for vertex in both {
                for (other, weight) in self.of_vertex(*vertex as usize) {
                    let other = part_of[*other as usize] as usize;
                    if other == number {
                        continue;
                    }
                    if place[other] == usize::MAX || place[other] < start {
                        place[other] = coarse.edges.len();
                        coarse.edges.push((other as u32, *weight));
                    } else {
                        coarse.edges[place[other]].1 += weight;
                    }
                }
            }
            coarse.starts.push(coarse.edges.len());
            coarse.sizes.push(both.iter().map(|vertex| self.sizes[*vertex as usize]).sum());
        }
        (coarse, part_of)
    }
}

/// Divides a graph: false for as many vertices as `first` says, true for the others.
pub(crate) fn bisect(graph: &Weighted, first: usize, random: &mut Rng) -> Vec<bool> {
    let mut levels: Vec<(Weighted, Vec<u32>)> = Vec::new();
    let most = (graph.len() as i64 / 16).max(2);
    loop {
        let current = levels.last().map_or(graph, |level| &level.0);
        if current.len() <= COARSEST {
            break;
        }
        let next = current.coarser(most, random);
        if next.0.len() * 20 > current.len() * 19 {
            break;
        }
        levels.push(next);
    }
    let coarsest = levels.last().map_or(graph, |level| &level.0);
    let mut side = grown(coarsest, first as i64, random);
    while let Some((_, part_of)) = levels.pop() {
        let finer = levels.last().map_or(graph, |level| &level.0);
        side = part_of.iter().map(|part| side[*part as usize]).collect();
        improve(finer, &mut side, first as i64);
    }
    side
}

/// The best of some divisions in which the first part has grown around a vertex.
fn grown(graph: &Weighted, first: i64, random: &mut Rng) -> Vec<bool> {
    let mut best: Option<((i64, i64), Vec<bool>)> = None;
    for _ in 0..TRIES {
        let mut side = vec![true; graph.len()];
        let mut size = 0;
        // What it gains to take a vertex.
        let mut heap: BinaryHeap<(i64, u32)> = BinaryHeap::new();
        let mut gains: Vec<i64> = (0..graph.len())
            .map(|vertex| -graph.of_vertex(vertex).iter().map(|edge| edge.1).sum::<i64>())
            .collect();
        let mut others: Vec<u32> = (0..graph.len() as u32).collect();
        random.shuffle(&mut others);
        while size < first {
            let next = match heap.pop() {
                Some((gain, vertex)) if side[vertex as usize] && gains[vertex as usize] == gain => vertex,
                Some(_) => continue,
                None => match others.pop() {
                    Some(vertex) if side[vertex as usize] => vertex,
                    Some(_) => continue,
                    None => break,
                },
            };
            side[next as usize] = false;
            size += graph.sizes[next as usize];
            for (other, weight) in graph.of_vertex(next as usize) {
                gains[*other as usize] += 2 * weight;
                if side[*other as usize] {
                    heap.push((gains[*other as usize], *other));
                }
            }
        }
        let result = improve(graph, &mut side, first);
        if best.as_ref().is_none_or(|(found, _)| result < *found) {
            best = Some((result, side));
        }
    }
    best.map(|(_, side)| side).unwrap_or_default()
}

/// Moves vertices over the border as long as that makes it lighter; the first part gets the size `first`, to within the size of a vertex,
/// and exactly where all are of size 1. Returns how far it is from that, and the weight of the border.
fn improve(graph: &Weighted, side: &mut [bool], first: i64) -> (i64, i64) {
    let mut last = (i64::MAX, i64::MAX);
    for _ in 0..PASSES {
        let result = pass(graph, side, first);
        if result >= last {
            break;
        }
        last = result;
    }
    last
}

/// One pass: each vertex moves at most once; what was best on the way is kept.
fn pass(graph: &Weighted, side: &mut [bool], first: i64) -> (i64, i64) {
    let largest = graph.sizes.iter().copied().max().unwrap_or(1);
    let allowed = if largest == 1 { 0 } else { largest };
    let sum =
        |vertices: &mut dyn Iterator<Item = usize>| vertices.map(|vertex| graph.sizes[vertex]).sum::<i64>();
    let mut size = sum(&mut (0..graph.len()).filter(|vertex| !side[*vertex]));
    let mut gains = vec![0_i64; graph.len()];
    let mut cut = 0;
    for vertex in 0..graph.len() {
        for (other, weight) in graph.of_vertex(vertex) {
            let crosses = side[vertex] != side[*other as usize];
            gains[vertex] += if crosses { *weight } else { -*weight };
            cut += if crosses { *weight } else { 0 };
        }
    }
    cut /= 2;
    // One heap for each side; entries that are out of date are dropped when they come up.
    let mut heaps: [BinaryHeap<(i64, u32)>; 2] = Default::default();
    (0..graph.len()).for_each(|vertex| heaps[usize::from(side[vertex])].push((gains[vertex], vertex as u32)));
    let mut moved = vec![false; graph.len()];
    let mut way: Vec<u32> = Vec::new();
    let off = |size: i64| ((size - first).abs() - allowed).max(0);
    let mut best = ((off(size), cut), 0);
    let patience = (graph.len() / 8).clamp(64, 2048);
    while way.len() - best.1 < patience || best.0.0 > 0 {
        let mut top = |from: usize| {
            while let Some((gain, vertex)) = heaps[from].peek() {
                let is_current = side[*vertex as usize] == (from == 1) && gains[*vertex as usize] == *gain;
                if is_current && !moved[*vertex as usize] {
                    return Some((*gain, *vertex));
                }
                heaps[from].pop();
            }
            None
        };
        let (of_first, of_second) = (top(0), top(1));
        // From the side that has too much; from either where both are right.
        let from = match size.cmp(&first) {
            std::cmp::Ordering::Greater => of_first,
            std::cmp::Ordering::Less => of_second,
            std::cmp::Ordering::Equal => of_first.max(of_second),
        };
        let Some((gain, vertex)) = from else { break };
        let vertex = vertex as usize;
        size += if side[vertex] { graph.sizes[vertex] } else { -graph.sizes[vertex] };
        side[vertex] = !side[vertex];
        moved[vertex] = true;
        way.push(vertex as u32);
        cut -= gain;
        for (other, weight) in graph.of_vertex(vertex) {
            let other = *other as usize;
            gains[other] += if side[other] == side[vertex] { -2 * weight } else { 2 * weight };
            if !moved[other] {
                heaps[usize::from(side[other])].push((gains[other], other as u32));
            }
        }
        if (off(size), cut) < best.0 {
            best = ((off(size), cut), way.len());
        }
    }
    for vertex in &way[best.1..] {
        side[*vertex as usize] = !side[*vertex as usize];
    }
    best.0
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use proptest::prelude::*;

    fn cut(graph: &Weighted, side: &[bool]) -> i64 {
        let of = |vertex: usize| {
            let crossing =
                graph.of_vertex(vertex).iter().filter(move |edge| side[edge.0 as usize] != side[vertex]);
            crossing.map(|edge| edge.1).sum::<i64>()
        };
        (0..graph.len()).map(of).sum::<i64>() / 2
    }

    fn grid(width: u32, height: u32) -> Weighted {
        Weighted::of((0..width * height).map(|vertex| {
            let (x, y) = (vertex % width, vertex / width);
            let mut edges = Vec::new();
            (x > 0).then(|| edges.push((vertex - 1, 1)));
            (x + 1 < width).then(|| edges.push((vertex + 1, 1)));
            (y > 0).then(|| edges.push((vertex - width, 1)));
            (y + 1 < height).then(|| edges.push((vertex + width, 1)));
            edges
        }))
    }

    #[test]
    fn a_grid_is_cut_straight() {
        for (width, height) in [(4, 4), (8, 4), (16, 16), (40, 20)] {
            let graph = grid(width, height);
            let half = (width * height / 2) as usize;
            let best = (0..4)
                .map(|seed| cut(&graph, &bisect(&graph, half, &mut Rng::with_seed(seed))))
                .min()
                .unwrap();
            assert!(best <= i64::from(height) + i64::from(height) / 20, "{width} x {height}: {best}");
        }
    }

    proptest! {
        #[test]
        fn parts_have_their_sizes(
            edges in proptest::collection::vec((0..90_u32, 0..90_u32, 1..1000_i64), 0..400),
            first in 0..=90_usize,
            seed in any::<u64>(),
        ) {
            let mut neighbours = vec![Vec::new(); 90];
            for (a, b, weight) in edges.into_iter().filter(|(a, b, _)| a != b) {
                neighbours[a as usize].push((b, weight));
                neighbours[b as usize].push((a, weight));
            }
            let graph = Weighted::of(neighbours.into_iter());
            let side = bisect(&graph, first, &mut Rng::with_seed(seed));
            prop_assert_eq!(side.iter().filter(|second| !**second).count(), first);
        }
    }
}
