//! Our own format: TOML with hosts, switches, links and routes.

use petgraph::graph::NodeIndex;
use serde::Deserialize;
use toml::Spanned;

use super::new_plane;
use crate::error::Wrong;
use crate::fabric::{Fabric, Kind, Link, Plane};
use crate::names::expand;

/// More links than that are a mistake.
const MOST_LINKS: usize = 1 << 22;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    plane: Vec<PlaneOf>,
    host: Vec<Spanned<NodeOf>>,
    switch: Vec<Spanned<NodeOf>>,
    link: Vec<Spanned<LinkOf>>,
    route: Vec<Spanned<RouteOf>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaneOf {
    name: String,
    #[serde(default)]
    interfaces: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeOf {
    name: String,
    level: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkOf {
    from: String,
    to: String,
    capacity: Option<String>,
    plane: Option<String>,
    count: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteOf {
    from: String,
    to: String,
    via: Vec<String>,
    plane: Option<String>,
}

/// Adds what a text says.
pub(crate) fn read(text: &str, name: &str, fabric: &mut Fabric) -> Result<(), Wrong> {
    let line_of = |start: usize| text.get(..start).map_or(1, |before| before.matches('\n').count() + 1);
    let file: File = toml::from_str(text)
        .map_err(|error| Wrong::new(error.span().map_or(1, |span| line_of(span.start)), error.message()))?;
    let first_plane = fabric.planes.len();
    for plane in &file.plane {
        let of = Plane { interfaces: plane.interfaces.clone(), ..Plane::default() };
        new_plane(fabric, &plane.name, of);
    }
    if file.plane.is_empty() {
        new_plane(fabric, name, Plane::default());
    }
    let planes: Vec<String> = fabric.planes[first_plane..].iter().map(|plane| plane.name.clone()).collect();
    let plane_of = |name: &Option<String>| match name {
        None if planes.len() == 1 => Ok(first_plane as u32),
        None => Err(format!("which plane? add plane = \"{}\"", planes[0])),
        Some(name) => match planes.iter().position(|plane| plane == name) {
            Some(place) => Ok((first_plane + place) as u32),
            None => Err(format!("there is no plane {name}, only {}: add it as [[plane]]", planes.join(", "))),
        },
    };
    for (nodes, kind) in [(&file.host, Kind::Host), (&file.switch, Kind::Switch)] {
        for node in nodes {
            let at = |what: String| Wrong::new(line_of(node.span().start), what);
            let node = node.get_ref();
            for name in expand(&node.name).map_err(at)? {
                let index = fabric.add_node(&name, kind);
                if let (Some(level), Kind::Switch) = (node.level, kind) {
                    let weight = &mut fabric.graph[index];
                    (weight.level, weight.is_level_given) = (level.clamp(1, 64), true);
                }
            }
        }
    }
    for link in &file.link {
        let at = |what: String| Wrong::new(line_of(link.span().start), what);
        let link = link.get_ref();
        let plane = plane_of(&link.plane).map_err(at)?;
        let capacity = link.capacity.as_deref().map(capacity).transpose().map_err(at)?;
        let (from, to) = (known(fabric, &link.from).map_err(at)?, known(fabric, &link.to).map_err(at)?);
        let count = usize::from(link.count.unwrap_or(1));
        let more = from.len().saturating_mul(to.len()).saturating_mul(count);
        if fabric.graph.edge_count().saturating_add(more) > MOST_LINKS {
            return Err(at(format!("these are more than {MOST_LINKS} links")));
        }
        for (a, b) in from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b))) {
            if a == b {
                return Err(at(format!("a link from {} to itself", fabric.graph[a].name)));
            }
            for _ in 0..count {
                fabric.add_link([a, b], Link { ports: [0, 0], capacity, plane }, [0, 0]);
            }
        }
    }
    for route in &file.route {
        let at = |what: String| Wrong::new(line_of(route.span().start), what);
        let route = route.get_ref();
        let plane = plane_of(&route.plane).map_err(at)?;
        add_route(fabric, route, plane).map_err(at)?;
    }
    Ok(())
}

/// The nodes of a list, which must be there.
fn known(fabric: &Fabric, list: &str) -> Result<Vec<NodeIndex>, String> {
    let names = expand(list)?;
    if names.is_empty() {
        return Err("a name is empty".into());
    }
    let of = |name: &String| {
        fabric.node(name).ok_or_else(|| {
            format!(
                "there is no host and no switch {name}: add it as [[host]] or [[switch]], name = \"{name}\""
            )
        })
    };
    names.iter().map(of).collect()
}

fn add_route(fabric: &mut Fabric, route: &RouteOf, plane: u32) -> Result<(), String> {
    let one = |fabric: &Fabric, name: &str| match known(fabric, name)?.as_slice() {
        [one] => Ok(*one),
        _ => Err(format!("a route passes single switches, and {name} are several")),
    };
    let via: Vec<NodeIndex> = route.via.iter().map(|name| one(fabric, name)).collect::<Result<_, _>>()?;
    for from in known(fabric, &route.from)? {
        for to in known(fabric, &route.to)? {
            if from == to {
                continue;
            }
            let path: Vec<NodeIndex> = [from].into_iter().chain(via.iter().copied()).chain([to]).collect();
            for pair in path.windows(2) {
                if fabric.links(pair[0], plane).all(|(_, other)| other != pair[1]) {
                    let name = |node: NodeIndex| fabric.graph[node].name.as_str();
                    return Err(format!(
                        "the route from {} to {} needs a link between {} and {} in plane {}, and there is none",
                        name(from),
                        name(to),
                        name(pair[0]),
                        name(pair[1]),
                        fabric.planes[plane as usize].name
                    ));
                }
            }
            fabric.named.insert((from, to, plane), path);
        }
    }
    Ok(())
}

/// Bytes per second of `10 Gbit/s` or `1.25 GB/s`.
fn capacity(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text} is no capacity: wanted is, for example, \"100 Gbit/s\" or \"12.5 GB/s\"");
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let unit = text[digits..].trim();
    let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).ok_or_else(wrong)?;
    let (power, unit) = match unit.chars().next() {
        Some('k' | 'K') => (1e3, &unit[1..]),
        Some('M') => (1e6, &unit[1..]),
        Some('G') => (1e9, &unit[1..]),
        Some('T') => (1e12, &unit[1..]),
        _ => (1.0, unit),
    };
    let each = match unit {
        "bit" | "b" => 0.125,
        "B" | "byte" => 1.0,
        _ => return Err(wrong()),
    };
    let capacity = number * power * each;
    if capacity > 0.0 && capacity.is_finite() { Ok(capacity) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = r#"
[[host]]
name = "node[1-4]"

[[switch]]
name = "leaf[1-2],spine[1-2]"

[[link]]
from = "node[1-2]"
to = "leaf1"
capacity = "100 Gbit/s"

[[link]]
from = "node[3-4]"
to = "leaf2"

[[link]]
from = "leaf[1-2]"
to = "spine[1-2]"
count = 2

[[route]]
from = "node1"
to = "node[3-4]"
via = ["leaf1", "spine2", "leaf2"]
"#;

    fn error(text: &str) -> Wrong {
        read(text, "x", &mut Fabric::default()).unwrap_err()
    }

    #[test]
    fn a_tree_is_what_the_file_says() {
        let mut fabric = Fabric::default();
        read(TREE, "x", &mut fabric).unwrap();
        fabric.find_levels();
        assert_eq!((fabric.hosts().count(), fabric.switches(), fabric.graph.edge_count()), (4, 4, 12));
        assert_eq!((fabric.levels(), fabric.named.len(), fabric.planes[0].name.as_str()), (2, 2, "x"));
        assert_eq!(fabric.graph.edge_weights().next().unwrap().capacity, Some(12.5e9));
    }

    #[test]
    fn a_mistake_has_its_line_and_a_remedy() {
        let unknown = error(&TREE.replace("to = \"leaf1\"", "to = \"leaf9\""));
        assert!(unknown.line == 8 && unknown.what.contains("add it as [[host]]"), "{unknown:?}");
        let no_link = error(&TREE.replace("\"leaf1\", \"spine2\"", "\"leaf2\", \"spine2\""));
        assert!(no_link.line == 22 && no_link.what.contains("between node1 and leaf2"), "{no_link:?}");
        let capacity = error(&TREE.replace("100 Gbit/s", "fast"));
        assert!(capacity.what.contains("100 Gbit/s"), "{capacity:?}");
        assert!(error("[[plane]]\nname = \"a\"\n[[plane]]\nname = \"b\"\n[[host]]\nname=\"h\"\n[[switch]]\nname=\"s\"\n[[link]]\nfrom=\"h\"\nto=\"s\"").what.contains("which plane"));
        assert_eq!(error("[[host]]\nnme = \"x\"").line, 2);
        assert!(error("[[link]\n").line == 1);
    }
}
