//! What stands out in the load of links, and what to do. Each rule is silent where it cannot be sure.

use mel_log::number::size;
use mel_log::profile::text::layout::percent;
use serde::Serialize;

use crate::bottleneck::{Seen, bottleneck};
use crate::fabric::{Fabric, LinkEnd};
use crate::levels::{OfLevel, levels};
use crate::load::Load;
use crate::planes::Shares;
use crate::routes::How;

/// A link with less than so many times the mean of its level is not worth a word.
const UNEVEN: f64 = 1.5;
/// Nor is what less than this part of the bytes between hosts is about.
const LEAST_SHARE: f64 = 0.05;
/// A plane with less than this part of what it should have is out of use.
const LEAST_OF_PLANE: f64 = 0.5;

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `lossy_link`, `bottleneck`, `hot_link`, `hot_host`, `idle_plane` or `detour`.
    pub rule: &'static str,
    /// What is so.
    pub text: String,
    /// What to do.
    pub advice: String,
}

/// The rules.
pub fn advice(fabric: &Fabric, load: &Load, shares: &Shares, seen: &Seen) -> Vec<Finding> {
    if load.between == 0 {
        return Vec::new();
    }
    let bottleneck = bottleneck(fabric, load, shares, seen);
    let named = bottleneck.as_ref().map(|(_, end)| end.edge());
    let hot = hot_link(fabric, load, shares).filter(|(_, end)| Some(end.edge()) != named).map(|(hot, _)| hot);
    let bottleneck = bottleneck.map(|(finding, _)| finding);
    let rules = [idle_plane(fabric, load, shares), bottleneck, hot, detour(fabric, load)];
    rules.into_iter().flatten().collect()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The pairs of ranks that load an end most, in words.
pub fn pairs(load: &Load, end: LinkEnd, most: usize) -> String {
    let kept = &load.pairs[end.place()];
    let words: Vec<String> = kept
        .iter()
        .take(most)
        .map(|(from, to, bytes)| format!("{from} to {to} ({})", size(*bytes as f64)))
        .collect();
    let more = (load.pair_counts[end.place()] as usize).saturating_sub(words.len());
    words.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// The most loaded link, if it has far more than the others of its level. Of links between switches only where each route is known.
fn hot_link(fabric: &Fabric, load: &Load, shares: &Shares) -> Option<(Finding, LinkEnd)> {
    let all = levels(fabric, load);
    let hot = all.iter().filter(|of| stands_out(fabric, load, shares, of)).max_by_key(|of| of.most)?;
    let (end, part) = (hot.hottest, share(hot.most, load.between));
    let [from, to] = fabric.nodes_of(end).map(|node| fabric.graph[node].name.as_str());
    let amount = format!(
        "{}, {} of what goes between hosts and {:.1} times the mean of the {} links of its kind",
        size(hot.most as f64),
        percent(part),
        hot.imbalance(),
        hot.ends
    );
    let who = pairs(load, end, 3);
    if hot.level.lower == 0 {
        let (host, does) = if hot.level.up { (from, "sends") } else { (to, "receives") };
        let finding = Finding {
            rule: "hot_host",
            text: format!("Host {host} {does} most, over its link to {}: {amount}. Between ranks: {who}.", if hot.level.up { to } else { from }),
            advice: "Let its ranks do less of the communication, or spread them over more hosts; `mel place --fabric` says whether \
                     another placement cools it."
                .into(),
        };
        return Some((finding, end));
    }
    let finding = Finding {
        rule: "hot_link",
        text: format!("The link from {from} to {to} is the hottest: {amount}. Between ranks: {who}."),
        advice: "Other links of that level have room: `mel place --fabric` looks for a placement that uses them; so may another \
                 routing of the network."
            .into(),
    };
    Some((finding, end))
}

/// Whether a level has a link that is worth a word. Where the model divides bytes over planes, or chooses among equal ways, it is not
/// known.
fn stands_out(fabric: &Fabric, load: &Load, shares: &Shares, of: &OfLevel) -> bool {
    let modelled = load.by_how.get(&How::OneOfSeveral).is_some_and(|bytes| *bytes > 0);
    let is_known = (fabric.planes.len() == 1 || shares.is_observed()) && (of.level.lower == 0 || !modelled);
    is_known && of.ends > 1 && of.imbalance() >= UNEVEN && share(of.most, load.between) >= LEAST_SHARE
}

/// A plane that all hosts of the run are in, and that carries far less than its part, as was observed.
fn idle_plane(fabric: &Fabric, load: &Load, shares: &Shares) -> Option<Finding> {
    let planes = fabric.planes.len();
    if planes < 2 || !shares.is_observed() {
        return None;
    }
    let hosts: Vec<_> = fabric
        .hosts()
        .filter(|host| {
            fabric.graph.edges(*host).any(|edge| {
                let place = petgraph::visit::EdgeRef::id(&edge).index() * 2;
                load.ends[place] > 0 || load.ends[place + 1] > 0
            })
        })
        .collect();
    let serves_all = |plane: u32| hosts.iter().all(|host| fabric.is_in(*host, plane));
    if hosts.is_empty() || !(0..planes as u32).all(serves_all) {
        return None;
    }
    let capacity = |plane: u32| {
        let of_host = fabric.attached.get(&(hosts[0], plane)).into_iter().flatten();
        of_host.map(|link| fabric.graph[link.edge].capacity).sum::<Option<f64>>()
    };
    let capacities: Option<Vec<f64>> = (0..planes as u32).map(capacity).collect();
    let capacities = capacities.unwrap_or_else(|| vec![1.0; planes]);
    let fair = |plane: usize| capacities[plane] / capacities.iter().sum::<f64>();
    let part = |plane: usize| share(load.by_plane[plane], load.between);
    let idle = (0..planes).min_by(|a, b| (part(*a) / fair(*a)).total_cmp(&(part(*b) / fair(*b))))?;
    if part(idle) / fair(idle) >= LEAST_OF_PLANE {
        return None;
    }
    let busy = (0..planes).max_by_key(|plane| load.by_plane[*plane])?;
    let name = |plane: usize| fabric.planes[plane].name.as_str();
    let interfaces: Vec<&str> =
        fabric.planes.iter().flat_map(|plane| plane.interfaces.iter().map(String::as_str)).collect();
    Some(Finding {
        rule: "idle_plane",
        text: format!(
            "Planes are out of balance: {} carries {} of what goes between hosts and {} {}, though all {} hosts are in both.",
            name(busy),
            percent(part(busy)),
            name(idle),
            percent(part(idle)),
            hosts.len()
        ),
        advice: format!(
            "Let the MPI library use all interfaces: with Open MPI over TCP --mca btl_tcp_if_include {}, with UCX UCX_NET_DEVICES.",
            interfaces.join(",")
        ),
    })
}

/// Ways that are longer than need be.
fn detour(fabric: &Fabric, load: &Load) -> Option<Finding> {
    let detours = load.detours.filter(|detours| share(detours.bytes, load.between) >= LEAST_SHARE)?;
    let [from, to] = [detours.example.0, detours.example.1].map(|host| fabric.graph[host].name.as_str());
    Some(Finding {
        rule: "detour",
        text: format!(
            "{} of what goes between hosts takes a longer way than it needs: from {from} to {to} over {} links, where {} would do.",
            percent(share(detours.bytes, load.between)),
            detours.links.0,
            detours.links.1
        ),
        advice: "It crosses levels for nothing: ask who runs the network for the routing (forwarding tables) of these switches.".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flow;
    use crate::planes::Seen as Carried;
    use crate::testing::{network, two_levels};

    fn rules(text: &str, flows: &[(u32, u32, u64)], seen: &[(u32, u32, &str, u64)]) -> Vec<Finding> {
        let fabric = network(text);
        let hosts: Vec<_> = fabric.hosts().map(Some).collect();
        let flows: Vec<Flow> = flows
            .iter()
            .map(|(from, to, bytes)| Flow { from: *from, to: *to, phase: 0, bytes: *bytes })
            .collect();
        let seen: Vec<Carried> = seen
            .iter()
            .map(|(from, to, interface, bytes)| Carried {
                from: hosts[*from as usize].unwrap(),
                to: hosts[*to as usize].unwrap(),
                interface: (*interface).into(),
                bytes: *bytes,
            })
            .collect();
        let shares = Shares::of(&fabric, &seen);
        let load = crate::load(&fabric, &hosts, &flows, &shares);
        advice(&fabric, &load, &shares, &Seen::default())
    }

    /// All pairs of so many.
    fn all(ranks: u32, bytes: u64) -> Vec<(u32, u32, u64)> {
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, bytes)).collect()
    }

    /// Two leaves with four hosts and two spines; each destination has its spine by routes that the file names.
    fn routed(spine_of: impl Fn(u32) -> u32) -> String {
        let mut text = two_levels(2, 4, 2);
        for from in 1..=8u32 {
            for to in (1..=8u32).filter(|to| (from <= 4) != (*to <= 4)) {
                let leaf = |host: u32| (host - 1) / 4 + 1;
                text += &format!(
                    "[[route]]\nfrom = \"node{from}\"\nto = \"node{to}\"\nvia = [\"leaf{}\", \"spine{}\", \"leaf{}\"]\n",
                    leaf(from),
                    spine_of(to),
                    leaf(to)
                );
            }
        }
        text
    }

    #[test]
    fn a_hot_link_is_named_where_routes_are_known_and_nothing_else_is() {
        let hot = rules(&routed(|_| 1), &all(8, 1000), &[]);
        assert_eq!(hot.len(), 1, "{hot:?}");
        assert!(hot[0].rule == "hot_link" && hot[0].text.contains("2.0 times the mean"), "{hot:?}");
        assert!(rules(&routed(|to| to % 2 + 1), &all(8, 1000), &[]).is_empty());
        // All goes to one spine, but by the model's own choice.
        assert!(
            rules(&two_levels(2, 4, 2), &[(0, 4, 1000), (1, 6, 1000), (4, 0, 1000), (6, 2, 1000)], &[])
                .is_empty()
        );
    }

    #[test]
    fn a_host_that_receives_most_is_named() {
        let mut flows = all(8, 100);
        flows.extend((1..8).map(|from| (from, 0, 10_000)));
        let found = rules(&two_levels(2, 4, 2), &flows, &[]);
        assert!(
            found.len() == 1
                && found[0].rule == "hot_host"
                && found[0].text.contains("Host node1 receives most"),
            "{found:?}"
        );
        assert!(rules(&two_levels(2, 4, 2), &all(8, 100), &[]).is_empty());
    }

    const TWO_PLANES: &str = "[[plane]]\nname = \"first\"\ninterfaces = [\"eth0\"]\n[[plane]]\nname = \"second\"\ninterfaces = [\"eth1\"]\n[[host]]\nname = \"n[1-4]\"\n[[switch]]\nname = \"s,t\"\n[[link]]\nfrom = \"n[1-4]\"\nto = \"s\"\nplane = \"first\"\n[[link]]\nfrom = \"n[1-4]\"\nto = \"t\"\nplane = \"second\"\n";

    #[test]
    fn a_plane_out_of_use_is_named_only_where_planes_were_observed() {
        let flows = all(4, 1000);
        let seen = |second: u64| -> Vec<(u32, u32, &str, u64)> {
            let of = |(from, to, bytes): &(u32, u32, u64)| {
                [(*from, *to, "eth0", *bytes), (*from, *to, "eth1", second)]
            };
            flows.iter().flat_map(of).collect()
        };
        let found = rules(TWO_PLANES, &flows, &seen(0));
        assert!(found.len() == 1 && found[0].rule == "idle_plane", "{found:?}");
        assert!(
            found[0].text.contains("first carries 100.0 %") && found[0].advice.contains("eth0,eth1"),
            "{found:?}"
        );
        assert!(rules(TWO_PLANES, &flows, &seen(990)).is_empty());
        assert!(rules(TWO_PLANES, &flows, &[]).is_empty());
    }

    #[test]
    fn a_detour_is_named() {
        let text = two_levels(2, 2, 1)
            + "[[route]]\nfrom = \"node1\"\nto = \"node2\"\nvia = [\"leaf1\", \"spine1\", \"leaf1\"]\n";
        let found = rules(&text, &all(4, 1000), &[]);
        assert!(
            found
                .iter()
                .any(|one| one.rule == "detour" && one.text.contains("over 4 links, where 2 would do")),
            "{found:?}"
        );
        assert!(rules(&two_levels(2, 2, 1), &all(4, 1000), &[]).is_empty());
    }
}
