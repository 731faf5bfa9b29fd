//! The link that holds the others up: by the capacities that the files give (modelled), and by what connections have seen (observed).

use mel_log::number::{duration, size};
use mel_log::profile::text::layout::percent;

use crate::advice::{Finding, pairs};
use crate::fabric::{Fabric, LinkEnd};
use crate::levels::level_of;
use crate::load::{Load, is_by_time};
use crate::lossy::{Lossy, Sent, lossy_link};
use crate::planes::Shares;
use crate::routes::How;

/// What a link takes at least is worth a word if the one that comes next takes so many times less.
const FACTOR: f64 = 1.5;
/// And if it is this part of the run.
const LEAST_OF_RUN: f64 = 0.05;

/// What is known besides the bytes.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// What connections have sent, and again.
    pub sent: Vec<Sent>,
    /// Seconds that the run took; 0 where it is not known.
    pub run_s: f64,
}

/// The finding, and the link that it is about: `lossy_link` where connections have seen it, else `bottleneck`. Where both name different
/// links, what was observed counts.
pub(crate) fn bottleneck(
    fabric: &Fabric,
    load: &Load,
    shares: &Shares,
    seen: &Seen,
) -> Option<(Finding, LinkEnd)> {
    let (lossy, thin) = (lossy_link(fabric, &seen.sent), thin(fabric, load, shares, seen.run_s));
    match (lossy, thin) {
        (Some(lossy), thin) => {
            let same = thin.filter(|end| end.edge() == lossy.edge);
            let end = same.or(lossy.end).unwrap_or_else(|| busier(load, &lossy));
            Some((
                Finding {
                    rule: "lossy_link",
                    text: observed(fabric, load, &lossy, same),
                    advice: ADVICE.into(),
                },
                end,
            ))
        }
        (None, Some(end)) => {
            let text = format!("{} {}", name(fabric, end, "is the bottleneck"), modelled(fabric, load, end));
            Some((Finding { rule: "bottleneck", text, advice: ADVICE.into() }, end))
        }
        (None, None) => None,
    }
}

const ADVICE: &str = "`mel place --fabric` looks for a placement whose traffic avoids it. If it should be as fast as the others, have it \
                      looked at: its speed, its errors, a limit that is set on it.";

fn busier(load: &Load, lossy: &Lossy) -> LinkEnd {
    let ends = [0, 1].map(|side| LinkEnd::new(lossy.edge, side));
    if load.ends[ends[1].place()] > load.ends[ends[0].place()] { ends[1] } else { ends[0] }
}

fn name(fabric: &Fabric, end: LinkEnd, is: &str) -> String {
    let [from, to] = fabric.nodes_of(end).map(|node| fabric.graph[node].name.as_str());
    format!("The link from {from} to {to} {is}:")
}

/// The most loaded end by time, if its link needs far longer than any other and has less capacity than others of its level.
fn thin(fabric: &Fabric, load: &Load, shares: &Shares, run_s: f64) -> Option<LinkEnd> {
    let is_chosen = load.by_how.get(&How::OneOfSeveral).is_some_and(|bytes| *bytes > 0);
    let is_known = is_by_time(fabric) && !is_chosen && (fabric.planes.len() == 1 || shares.is_observed());
    let hottest = if is_known { load.hottest(fabric) } else { Vec::new() };
    let first = *hottest.first()?;
    let time = |end: LinkEnd| load.weight(fabric, end, true);
    let next = hottest.iter().find(|end| end.edge() != first.edge()).map_or(0.0, |end| time(*end));
    let capacity = |end: LinkEnd| fabric.graph[end.edge()].capacity.unwrap_or(0.0);
    let level = level_of(fabric, first);
    let widest =
        fabric.ends().filter(|end| level_of(fabric, *end) == level).map(capacity).fold(0.0, f64::max);
    let is_worth_it = run_s <= 0.0 || time(first) >= LEAST_OF_RUN * run_s;
    (is_worth_it && time(first) >= FACTOR * next && capacity(first) < widest).then_some(first)
}

/// What it takes by its capacity, and who loads it.
fn modelled(fabric: &Fabric, load: &Load, end: LinkEnd) -> String {
    let time = |end: LinkEnd| load.weight(fabric, end, true);
    let next = load.hottest(fabric).into_iter().find(|other| other.edge() != end.edge());
    let next = next.map_or(String::new(), |next| format!(", and the next link {}", duration(time(next))));
    let bytes = load.ends[end.place()];
    format!(
        "by its capacity of {}/s it takes {} at least for {}, {} of what goes between hosts{next} (modelled). Between ranks: {}.",
        size(fabric.graph[end.edge()].capacity.unwrap_or(0.0)),
        duration(time(end)),
        size(bytes as f64),
        percent(bytes as f64 / load.between.max(1) as f64),
        pairs(load, end, 3)
    )
}

/// What connections have seen.
fn observed(fabric: &Fabric, load: &Load, lossy: &Lossy, thin: Option<LinkEnd>) -> String {
    let end = thin.or(lossy.end).unwrap_or_else(|| busier(load, lossy));
    let ways = if lossy.end.is_some() { "" } else { " and back" };
    let mut text = format!(
        "{} connections over it{ways}, between {} pairs of hosts, had to send {} of their segments again or more, and those between {} \
         other pairs {} at most (observed, TCP_INFO).",
        name(fabric, end, "loses packets"),
        lossy.pairs,
        percent(lossy.at_least),
        lossy.others,
        percent(lossy.others_at_most)
    );
    match thin {
        Some(end) => text += &format!(" In this direction {}", modelled(fabric, load, end)),
        None => text += &format!(" Between ranks: {}.", pairs(load, end, 3)),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flow;
    use crate::testing::network;

    /// Three leaves with two hosts each; the second leaf's link upwards has this capacity.
    fn tree(of_second: &str) -> String {
        let mut text = "[[host]]\nname = \"n[1-6]\"\n[[switch]]\nname = \"leaf[1-3],root\"\n".to_owned();
        for leaf in 1..=3 {
            let (first, last) = (leaf * 2 - 1, leaf * 2);
            text += &format!(
                "[[link]]\nfrom = \"n[{first}-{last}]\"\nto = \"leaf{leaf}\"\ncapacity = \"1 Gbit/s\"\n"
            );
            let up = if leaf == 2 { of_second } else { "2 Gbit/s" };
            text += &format!("[[link]]\nfrom = \"leaf{leaf}\"\nto = \"root\"\ncapacity = \"{up}\"\n");
        }
        text
    }

    fn found(text: &str, run_s: f64) -> Option<Finding> {
        let fabric = network(text);
        let hosts: Vec<_> = fabric.hosts().map(Some).collect();
        let pairs = (0..6).flat_map(|from| (0..6).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let flows: Vec<Flow> =
            pairs.map(|(from, to)| Flow { from, to, phase: 0, bytes: 10_000_000 }).collect();
        let load = crate::load(&fabric, &hosts, &flows, &Shares::default());
        let seen = Seen { run_s, ..Seen::default() };
        bottleneck(&fabric, &load, &Shares::default(), &seen).map(|(finding, _)| finding)
    }

    #[test]
    fn the_link_that_takes_longest_by_its_capacity_is_named() {
        let finding = found(&tree("200 Mbit/s"), 10.0).unwrap();
        assert_eq!(finding.rule, "bottleneck");
        // 80 MB at 25 MB/s.
        assert!(finding.text.contains("leaf2") && finding.text.contains("3.20 s"), "{}", finding.text);
    }

    #[test]
    fn links_that_are_alike_or_do_not_matter_are_not() {
        assert_eq!(found(&tree("2 Gbit/s"), 10.0), None);
        assert_eq!(found(&tree("1.9 Gbit/s"), 10.0), None);
        assert_eq!(found(&tree("200 Mbit/s"), 1000.0), None);
        assert_eq!(found(&tree("200 Mbit/s").replace("capacity = \"1 Gbit/s\"\n", ""), 10.0), None);
    }

    #[test]
    fn what_was_observed_counts_before_what_is_modelled() {
        let fabric = network(&tree("200 Mbit/s"));
        let hosts: Vec<_> = fabric.hosts().map(Some).collect();
        let all: Vec<(u32, u32)> = (0..6)
            .flat_map(|from| (0..6).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .collect();
        let flows: Vec<Flow> =
            all.iter().map(|(from, to)| Flow { from: *from, to: *to, phase: 0, bytes: 10_000_000 }).collect();
        let load = crate::load(&fabric, &hosts, &flows, &Shares::default());
        let named = |lossy_leaf: u32| {
            let crosses = |from: u32, to: u32| from / 2 != to / 2 && [from / 2, to / 2].contains(&lossy_leaf);
            let sent = all.iter().map(|(from, to)| Sent {
                from: hosts[*from as usize].unwrap(),
                to: hosts[*to as usize].unwrap(),
                plane: 0,
                segments: 1000,
                again: if crosses(*from, *to) { 80 } else { 2 },
            });
            let seen = Seen { sent: sent.collect(), run_s: 10.0 };
            bottleneck(&fabric, &load, &Shares::default(), &seen).unwrap().0
        };
        let both = named(1);
        assert!(
            both.rule == "lossy_link" && both.text.contains("observed") && both.text.contains("modelled"),
            "{both:?}"
        );
        let other = named(2);
        assert!(other.text.contains("leaf3") && !other.text.contains("modelled"), "{other:?}");
    }
}
